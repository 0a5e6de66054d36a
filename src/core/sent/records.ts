import type { ScannedMessage } from '../../dialects/dialect.ts';
import type { RenderOptions } from '../../engine/text/render.ts';
import { keyOf } from '../hash.ts';
import type { SentMessage, SentText } from '../ports/sent.ts';
import type { Decision } from '../ports.ts';
import type { FoundText } from '../request/find-texts.ts';
import type { TextOutcome } from '../request/prefix-memo.ts';

/** Smaller texts are never cut, whatever the settings, in bytes. */
const MIN_BYTES = 200;
const CUT: ReadonlySet<string> = new Set(['result', 'words', 'document']);

/** Whether a message contains texts of a kind that can be cut. */
export function holdsResultOrWords({ texts }: ScannedMessage): boolean {
  return texts.some(({ use }) => CUT.has(use));
}

/** Whether a message contains texts that some setting allows to cut. */
export function mayBeCut({ role, opaque, texts }: ScannedMessage): boolean {
  if (role === 'other' || role === 'assistant' || opaque) return false;
  return texts.some(({ use, literal }) => CUT.has(use) && literal.end - literal.start >= MIN_BYTES);
}

/**
 * The record of a message that is forwarded whole. If the provider verifies the history, an answer is valid only with
 * the text that it was made from, so that a whole text needs a record too.
 */
export function wholeRecord(prefix: string): SentMessage {
  return { prefix, annotateLines: false, includeMarkers: true, texts: [] };
}

/**
 * The key that records that a provider accepted the cuts of a message. It is a separate record, because that of the
 * message is written before anything is sent.
 */
export function acceptedPrefix(prefix: string): string {
  return keyOf('taken', prefix);
}

/** The key, among the prefixes of cut messages, of a conversation's shortened tools. */
export function shelfPrefix(conversationId: string): string {
  return keyOf('shelf', conversationId);
}

/** The key that records that a conversation belongs to the control group, for ever. */
export function controlPrefix(conversationId: string): string {
  return keyOf('control', conversationId);
}

/**
 * Records of the messages that are about to be sent: the cuts that the proxy decided about. Segments that were set
 * aside on request are not recorded, because they may be requested again.
 *
 * @param found - texts with their outcomes, in the same order; `null` for a text that has a record already
 * @param prefixOf - the prefix of a message
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
  const render = { annotateLines, includeMarkers, shortMarkers };
  return [...byMessage].map(([index, texts]) => ({ prefix: prefixOf(index), ...render, texts }));
}
