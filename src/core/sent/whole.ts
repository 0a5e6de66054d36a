import type { ScannedMessage } from '../../dialects/dialect.ts';
import { keyOf } from '../hash.ts';
import type { SentMessage } from '../ports/sent.ts';

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
