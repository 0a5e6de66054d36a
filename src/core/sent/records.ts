import type { ScannedMessage } from '../../dialects/dialect.ts';
import type { RenderOptions } from '../../engine/text/render.ts';
import { keyOf } from '../hash.ts';
import type { SentMessage, SentText } from '../ports/sent.ts';
import type { Decision } from '../ports.ts';
import type { FoundText } from '../request/find-texts.ts';
import type { TextOutcome } from '../request/prefix-memo.ts';

/** A text below this many bytes is cut by no setting that makes sense. */
const MIN_BYTES = 200;
const CUT: ReadonlySet<string> = new Set(['result', 'words', 'document']);

/** Whether a message holds texts of a kind that is ever cut. */
export function holdsResultOrWords({ texts }: ScannedMessage): boolean {
  return texts.some(({ use }) => CUT.has(use));
}

/** Whether other settings might cut something in a message. */
export function mayBeCut({ role, opaque, texts }: ScannedMessage): boolean {
  if (role === 'other' || role === 'assistant' || opaque) return false;
  return texts.some(({ use, literal }) => CUT.has(use) && literal.end - literal.start >= MIN_BYTES);
}

/**
 * The record of a message that goes whole. Where the provider checks the past that must be kept as well: an answer that
 * was made from the whole text holds for the whole text, though another answer to it may be asked for later.
 */
export function wholeRecord(prefix: string): SentMessage {
  return { prefix, annotateLines: false, includeMarkers: true, texts: [] };
}

/**
 * The prefix under which stands that a provider took the cuts of a message: a record of its own, for the message's is
 * written before anything is sent.
 */
export function takenPrefix(prefix: string): string {
  return keyOf('taken', prefix);
}

/** The prefix under which stands that a conversation is left whole, to compare others with: it stays so. */
export function controlPrefix(conversationId: string): string {
  return keyOf('control', conversationId);
}

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
