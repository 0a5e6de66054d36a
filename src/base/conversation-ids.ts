/**
 * Conversation ids. The *content id* is a hash of the user's first words; sent-message records and context-GC steps are
 * keyed by it, so that a session resumed under another id finds them. The *shown id* is displayed, and keys the ledger,
 * events and segments. It is the content id, prefixed with a hash of the client's session and, for further conversations
 * with the same first words, a hash of the first request. Without a session, a hash of wire, client and run stands for it;
 * if neither client nor run is known, the wire name, and nothing for chat.
 */

const CONTENT_CHARS = 32;
export const SESSION_CHARS = 12;
export const BRANCH_CHARS = 8;
const SESSION = /^([0-9a-f]{12})-/;
/** A prefix of eight hexadecimal digits would be a request hash, one of twelve a session. */
const OPENER = /^(?:[0-9a-f]{12}|(?![0-9a-f]{8}-)[a-z]{4,12})(?=-)/;

/**
 * Builds the shown id; `''` if the conversation has no user words.
 *
 * @param opener - session hash, hash of a client, or wire name; `''` for chat without any of them
 */
export function shownIdOf(contentId: string, opener: string, branch = ''): string {
  if (contentId === '') return '';
  const of = branch === '' ? contentId : `${branch}-${contentId}`;
  return opener === '' ? of : `${opener}-${of}`;
}

export function contentIdOf(shownId: string): string {
  return shownId.slice(-CONTENT_CHARS);
}

/** The prefix of a shown id: session hash, hash of a client, wire name, or `''`. */
export function openerIn(shownId: string): string {
  return OPENER.exec(shownId)?.[0] ?? '';
}

/** Session hash in a shown id; `''` if the client sent no session. */
export function sessionIn(shownId: string): string {
  return SESSION.exec(shownId)?.[1] ?? '';
}

/** Turns a hexadecimal hash into letters from g to v, so that it is taken for neither a session nor a first request. */
export function lettersOf(hash: string): string {
  return hash
    .slice(0, SESSION_CHARS)
    .replace(/./g, (digit) => String.fromCharCode(LETTERS + Number.parseInt(digit, 16)));
}

const LETTERS = 'g'.charCodeAt(0);
