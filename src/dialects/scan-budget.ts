import { JsonShapeError } from '../json/cursor.ts';

/**
 * Most messages of a body. The largest context windows hold a million tokens, and a message costs some fifty with its
 * frame: no session comes near it, while a body of 60 MB can contain thirty million.
 */
export const MAX_MESSAGES = 20_000;
/** Most texts and calls in all of them: parallel calls and parts of a content make several to a message. */
const MAX_PIECES = 4 * MAX_MESSAGES;

/** Counts messages and texts during a scan, and stops it at more than any session sends. */
export class ScanBudget {
  #messages: number;
  #pieces = 0;

  /** @param messages - how many are known already */
  constructor(messages = 0) {
    this.#messages = messages;
  }

  /** @throws JsonShapeError `too_many_messages` */
  message(): void {
    if (++this.#messages > MAX_MESSAGES) throw tooMany();
  }

  /** A part of a content, a text or a call. @throws JsonShapeError `too_many_messages` */
  piece(): void {
    if (++this.#pieces > MAX_PIECES) throw tooMany();
  }
}

function tooMany(): JsonShapeError {
  return new JsonShapeError(`more than ${MAX_MESSAGES} messages or ${MAX_PIECES} parts`, { code: 'too_many_messages' });
}
