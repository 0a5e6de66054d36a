import type { RenderOptions } from '../../engine/text/render.ts';
import type { SentMessage, SentText } from '../ports/sent.ts';
import type { Decision } from '../ports.ts';
import type { FoundText } from '../request/find-texts.ts';
import type { TextOutcome } from '../request/prefix-memo.ts';

/**
 * What is about to be sent of messages, as it is kept: the cuts that the proxy decided about. What somebody asked for
 * (a segment set aside) is none of it, for that somebody may ask for it back.
 *
 * @param found - texts with their outcomes, in the same order; `null` for one that stands in a record already
 * @param prefixOf - what stands for a message and all before it
 */
export function recordsOf(
  found: readonly (FoundText | null)[],
  outcomes: readonly TextOutcome[],
  decisionOf: (text: FoundText) => Decision | null,
  prefixOf: (messageIndex: number) => string,
  { annotateLines, includeMarkers, shortMarkers }: RenderOptions,
): SentMessage[] {
  const byMessage = new Map<number, SentText[]>();
  found.forEach((text, i) => {
    const decision = text && decisionOf(text);
    if (!text || !decision || text.job.cutWhole || (outcomes[i]?.pruneId ?? null) === null) return;
    const { goal: _goal, basis: _basis, ...kept } = decision;
    const sent = { ...text.place, decision: kept };
    const texts = byMessage.get(text.messageIndex);
    if (texts) texts.push(sent);
    else byMessage.set(text.messageIndex, [sent]);
  });
  const render = { annotateLines, includeMarkers, ...(shortMarkers && { shortMarkers }) };
  return [...byMessage].map(([index, texts]) => ({ prefix: prefixOf(index), ...render, texts }));
}
