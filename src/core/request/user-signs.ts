import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import { isCorrection } from '../../wires/transcript/work-signs.ts';

/** What a user's message shows, without its text. */
export interface UserSigns {
  /** It contains words of the user. */
  readonly hasWords: boolean;
  /** They correct the model. */
  readonly corrects: boolean;
}

/** Signs of messages that were read, for as long as a message is remembered. */
const signs = new WeakMap<ScannedMessage, UserSigns>();

/** Notes the user's words in a message when it is read, so that nobody decodes them again. */
export function noteUserWords(message: ScannedMessage, words: string): void {
  signs.set(message, { hasWords: words !== '', corrects: isCorrection(words.trim()) });
}

/** Absent if the message was not read. */
export function userSigns(message: ScannedMessage): UserSigns | undefined {
  return signs.get(message);
}
