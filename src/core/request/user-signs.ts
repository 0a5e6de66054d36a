import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import { isCorrection } from '../../wires/transcript/work-signs.ts';

/** Facts about a user message, without its text. */
export interface UserSigns {
  /** The message contains the user's own words. */
  readonly hasWords: boolean;
  /** The words correct the model. */
  readonly corrects: boolean;
}

/** Facts about parsed messages, for as long as a message is remembered. */
const signs = new WeakMap<ScannedMessage, UserSigns>();

/** Records facts about the user's words when a message is read, so that it is not decoded again. */
export function noteUserWords(message: ScannedMessage, words: string): void {
  signs.set(message, { hasWords: words !== '', corrects: isCorrection(words.trim()) });
}

/** Returns the recorded facts; absent if the message was not read. */
export function userSigns(message: ScannedMessage): UserSigns | undefined {
  return signs.get(message);
}
