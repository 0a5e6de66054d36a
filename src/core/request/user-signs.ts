import type { ScannedMessage } from '../../wires/dialects/dialect.ts';

/** Messages that contain the user's own words, for as long as a message is remembered. */
const withWords = new WeakSet<ScannedMessage>();

/** Records whether a message contains the user's words when it is read, so that it is not decoded again. */
export function noteUserWords(message: ScannedMessage, words: string): void {
  if (words !== '') withWords.add(message);
}

/** Whether a message that was read contains the user's own words. */
export function hasUserWords(message: ScannedMessage): boolean {
  return withWords.has(message);
}
