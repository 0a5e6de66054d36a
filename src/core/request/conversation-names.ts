import { crc32 } from 'node:zlib';
import { BoundedMap } from '../../base/bounded-map.ts';
import {
  BRANCH_CHARS,
  contentIdOf,
  lettersOf,
  openerIn,
  SESSION_CHARS,
  shownIdOf,
} from '../../base/conversation-ids.ts';
import type { Dialect, Purpose } from '../../wires/dialects/dialect.ts';
import { keyOf, textHash } from '../hash.ts';
import type { Clock } from '../ports.ts';

/** Facts of a request that identify its conversation. */
export interface NamedRequest {
  /** Size and, if it begins a conversation, checksum of the body. */
  readonly bytes: number;
  readonly sum: number;
  readonly project: string;
  readonly requestId: string;
  /** The client's session id, or `''`. */
  readonly session: string;
  /** See `RequestScope`. */
  readonly origin: string;
  readonly contentId: string;
  /** The request contains no answer of the model. */
  readonly begins: boolean;
  /** See `ReadBody`. */
  readonly prefixes: readonly string[];
  /** Id of the stored answer that the request continues, or `''`. */
  readonly previous: string;
  readonly purpose: Purpose;
  readonly wire: Dialect['name'];
}

/** A first request of a conversation, without any model answer. */
interface Opening {
  readonly name: string;
  readonly bytes: number;
  readonly sum: number;
  readonly atMs: number;
  /** The model has answered it. */
  answered: boolean;
}

/** Limits for remembered request ends, conversations, and first words. */
const MAX_ENDS = 40_000;
const MAX_CONVERSATIONS = 10_000;
/** Maximum number of conversations remembered per first words, and per message list. */
const MAX_ALIKE = 8;
/** An unanswered first request with identical bytes within this time counts as a retry. */
const RETRY_MS = 600_000;

/**
 * Assigns shown ids to conversations, so that conversations with the same first words stay distinct: by client session
 * (or by wire, client and run without one), and within a session by the messages that this process has seen. For unseen
 * conversations the id is derived from the first words.
 */
export class ConversationNames {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #isKnown: IsKnown;
  /** Conversations with a request that ended with these messages, newest last. */
  readonly #ends = new BoundedMap<string, readonly string[]>(MAX_ENDS);
  /** End of the newest request per conversation. */
  readonly #newest = new BoundedMap<string, string>(MAX_CONVERSATIONS);
  /** Keyed by project, session and first words. */
  readonly #openings = new BoundedMap<string, readonly Opening[]>(MAX_CONVERSATIONS);

  /** @param isKnown - whether a conversation was stored under this name before the process started */
  constructor(clock: Pick<Clock, 'nowMs'>, isKnown: IsKnown = () => false) {
    this.#clock = clock;
    this.#isKnown = isKnown;
  }

  /** The shown id of a request's conversation. Idempotent until the request is answered. */
  nameOf(request: NamedRequest): string {
    const { contentId, prefixes, purpose, project } = request;
    if (contentId === '') return '';
    const usual = this.#usual(request);
    const opener = openerIn(usual);
    const name = this.#find(request, usual, opener);
    const last = prefixes.at(-1) ?? '';
    if (purpose !== 'generate' || last === '') return name;
    const end = endKey(project, opener, contentId, last);
    const names = this.#ends.get(end);
    if (names?.at(-1) !== name) this.#ends.set(end, names === undefined ? [name] : withNewest(names, name));
    this.#newest.set(`${project}\n${name}`, last);
    return name;
  }

  /** Records that the model answered a request in this conversation. */
  answered(project: string, name: string): void {
    for (const opening of this.#openings.get(openingKey(project, contentIdOf(name), openerIn(name))) ?? [])
      if (opening.name === name) opening.answered = true;
  }

  /** Records an answer stored by the provider, for requests that continue from it. */
  kept(project: string, name: string, answerId: string): void {
    this.#ends.set(endKey(project, openerIn(name), contentIdOf(name), keyOf('answer', answerId)), [name]);
  }

  /** Conversations of earlier versions, which did not distinguish clients, go on under their names. */
  #usual(request: NamedRequest): string {
    const { begins, contentId, project, prefixes } = request;
    const usual = usualShownId(contentId, request);
    if (begins || request.session !== '' || request.origin === '') return usual;
    const earlier = usualShownId(contentId, { ...request, origin: '' });
    if (!this.#isKnown(project, earlier) || this.#isKnown(project, usual)) return usual;
    const opener = openerIn(usual);
    return prefixes.some((one) => this.#ends.has(endKey(project, opener, contentId, one))) ? usual : earlier;
  }

  #find(request: NamedRequest, usual: string, opener: string): string {
    const { begins, project, requestId, purpose, bytes, sum, contentId } = request;
    const known = this.#longest(request, opener);
    const key = openingKey(project, contentId, opener);
    const openings = this.#openings.get(key) ?? [];
    if (!begins || purpose !== 'generate') {
      // the usual name is taken from now on
      if (known === null && !begins && openings.length === 0) this.#openings.set(key, [TAKEN]);
      return known?.name ?? (openings.at(-1)?.name || usual);
    }
    const atMs = this.#clock.nowMs();
    let same: Opening | undefined;
    for (let i = openings.length - 1; i >= 0; i--) {
      const opening = openings[i];
      if (opening === undefined || opening.answered || atMs - opening.atMs >= RETRY_MS) continue;
      const isRetry = opening.bytes === bytes && opening.sum === sum;
      if (isRetry || (same === undefined && known?.isWhole === false && opening.name === known.name)) same = opening;
      if (isRetry) break;
    }
    const branch = openings.length === 0 ? '' : crc32(requestId).toString(16).padStart(BRANCH_CHARS, '0');
    const name = same?.name ?? shownIdOf(contentId, opener, branch);
    const came: Opening = { name, bytes, sum, atMs, answered: false };
    const others: Opening[] = [];
    for (const opening of openings) if (opening !== same && opening !== TAKEN) others.push(opening);
    this.#openings.set(key, withNewest(others, came));
    return name;
  }

  /**
   * The conversation whose newest request is the longest prefix of these messages; otherwise the newest conversation
   * with any request that is one.
   */
  #longest(
    { project, prefixes, previous, contentId }: NamedRequest,
    opener: string,
  ): { readonly name: string; readonly isWhole: boolean } | null {
    const start = previous === '' ? '' : keyOf('answer', previous);
    for (let i = prefixes.length - 1; i >= -1; i--) {
      const prefix = i < 0 ? start : (prefixes[i] ?? '');
      if (prefix === '') continue;
      const names = this.#ends.get(endKey(project, opener, contentId, prefix));
      if (names === undefined) continue;
      let at = names.length - 1;
      while (at >= 0 && this.#newest.get(`${project}\n${names[at]}`) !== prefix) at--;
      const name = at < 0 ? names.at(-1) : names[at];
      if (name !== undefined) return { name, isWhole: i === prefixes.length - 1 };
    }
    return null;
  }
}

/** Derives the shown id of a conversation from only its first words, session, wire, client and run. */
export function usualShownId(
  contentId: string,
  { session, wire, origin }: Pick<NamedRequest, 'session' | 'wire' | 'origin'>,
): string {
  if (session !== '') return shownIdOf(contentId, textHash(session).slice(0, SESSION_CHARS));
  if (origin !== '') return shownIdOf(contentId, openerOf(wire, origin));
  return shownIdOf(contentId, wire === 'chat' ? '' : wire);
}

const openers = new BoundedMap<string, string>(1_000);

/** The beginning of the names of a client's conversations on a wire. */
function openerOf(wire: string, origin: string): string {
  const key = `${wire}\n${origin}`;
  const known = openers.get(key);
  if (known !== undefined) return known;
  const opener = lettersOf(textHash(key));
  openers.set(key, opener);
  return opener;
}

/** @see ConversationNames */
export type IsKnown = (project: string, name: string) => boolean;

/** Placeholder for a conversation whose first request this process has not seen. */
const TAKEN: Opening = { name: '', bytes: -1, sum: 0, atMs: 0, answered: true };

function endKey(project: string, opener: string, contentId: string, prefix: string): string {
  return `${prefix} ${opener} ${contentId} ${project}`;
}

/** Key shared by all conversations of a session, or of a wire, with the same first words. */
function openingKey(project: string, contentId: string, opener: string): string {
  return `${contentId} ${opener} ${project}`;
}

/** The list with a value as its newest one, at most `MAX_ALIKE` in all. */
function withNewest<T>(list: readonly T[], value: T): T[] {
  const next: T[] = [];
  for (const other of list) if (other !== value) next.push(other);
  if (next.length >= MAX_ALIKE) next.splice(0, next.length - MAX_ALIKE + 1);
  next.push(value);
  return next;
}
