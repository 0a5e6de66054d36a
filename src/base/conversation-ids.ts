/**
 * Ids of conversations. The *content id* is a hash of the first words of the user; records of what was sent and steps of
 * context GC are kept by it, so that a session that is resumed under another id finds them. The *shown id* is what people
 * see and what the ledger, events and segments are kept by: the content id, preceded by a hash of the client's session
 * or, without one, by the name of the wire (none for chat), and, for a further conversation with the same first words, by
 * a hash of the request that began it.
 */

const CONTENT_CHARS = 32;
/** Length of the hash of a session in a shown id. */
export const SESSION_CHARS = 12;
/** Length of the hash of a first request in a shown id. */
export const BRANCH_CHARS = 8;
const SESSION = /^([0-9a-f]{12})-/;
/** Eight hexadecimal digits are the hash of a request. */
const OPENER = /^(?:[0-9a-f]{12}|(?![0-9a-f]{8}-)[a-z]{4,12})(?=-)/;

/**
 * The shown id; `''` if the conversation has no words of a user.
 *
 * @param opener - the hash of a session, or the name of a wire; `''` for chat without a session
 */
export function shownIdOf(contentId: string, opener: string, branch = ''): string {
  if (contentId === '') return '';
  return [opener, branch, contentId].filter((part) => part !== '').join('-');
}

/** The content id in a shown id. */
export function contentIdOf(shownId: string): string {
  return shownId.slice(-CONTENT_CHARS);
}

/** What a shown id begins with: the hash of a session, or the name of a wire, or `''`. */
export function openerIn(shownId: string): string {
  return OPENER.exec(shownId)?.[0] ?? '';
}

/** The hash of the session in a shown id; `''` if the client named none. */
export function sessionIn(shownId: string): string {
  return SESSION.exec(shownId)?.[1] ?? '';
}
