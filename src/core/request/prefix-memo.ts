import { LRUCache } from 'lru-cache';
import type { Dialect, RequestHead, ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { Conversation } from '../../wires/goal/conversation.ts';
import { keyOf, meaningOf } from '../hash.ts';
import type { HeadSums, RequestScope } from '../ports/segments.ts';
import type { Decision } from '../ports.ts';

/** The outcome for one text, as it appears in the request's report. */
export interface TextOutcome
  extends Pick<
    Decision,
    'tool' | 'kind' | 'pruneId' | 'whole' | 'lines' | 'keptLines' | 'tokensBefore' | 'tokensAfter'
  > {
  readonly messageIndex: number;
  /** Tokens that were put aside, counted after any earlier cut; 0 or absent if none were. */
  readonly tokensAside?: number;
  /** The warning about a written marker stands in front of the text; absent if not. */
  readonly warned?: boolean;
}

/** Index of the first outcome in a message or after it. Outcomes are in message order; older ones are not looked at. */
export function outcomesFrom(outcomes: readonly TextOutcome[], message: number): number {
  let at = outcomes.length;
  while (at > 0 && (outcomes[at - 1]?.messageIndex ?? 0) >= message) at--;
  return at;
}

/** A replacement inside a string of the body; `[start, end)` are byte offsets between its quotes. */
export interface BodyEdit {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer;
}

/** State after some messages, from which parsing of a later body can continue. */
export interface Checkpoint {
  /** Offset of the byte after the last of the messages. */
  readonly at: number;
  readonly messages: number;
  readonly edits: number;
  readonly outcomes: number;
  /** Estimated unpruned tokens of all messages so far; 0 if no collector is configured. */
  readonly tokens: number;
  /** Must not be modified; later requests continue on a fork. */
  readonly conversation: Conversation;
}

/** A rewritten body, kept so that later bodies that begin with it are recognised. */
export interface RememberedBody {
  /** The received body up to the end of its last message. */
  readonly prefix: PrefixBytes;
  readonly dialect: Dialect['name'];
  /** The fields before its messages. */
  readonly before: RequestHead;
  readonly messages: readonly ScannedMessage[];
  /** For each message, a hash over all messages up to it. */
  readonly prefixes: readonly string[];
  readonly edits: readonly BodyEdit[];
  readonly outcomes: readonly TextOutcome[];
  /** Checkpoints after some of the last messages, ascending. */
  readonly checkpoints: readonly Checkpoint[];
  /** Answered texts were forwarded whole, although no record shows how they were sent before. */
  readonly rawHistory: boolean;
  /** Store epoch in which all decisions of this body were stored, and the time of storing. */
  readonly epoch: string;
  readonly storedAtMs: number;
  /** Version of the applied directives. `steps`: scopes of the applied context-GC steps, separated by spaces. */
  readonly directives: string;
  readonly steps: string;
  /** The bytes after the last message. */
  readonly tail: Buffer;
  /** See `ReadBody`. */
  readonly shownId: string;
  readonly begins: boolean;
  /** See `RequestScope`; a client that names no session has conversations of its own. */
  readonly origin: string;
  /** See `RewrittenRequest`. */
  readonly isKept: boolean;
  readonly head: HeadSums;
}

/** A remembered body and the last checkpoint that the new body shares with it. */
export interface PrefixMatch {
  readonly body: RememberedBody;
  readonly checkpoint: Checkpoint;
}

/** Whether a body was remembered for this client, or names its session. */
export function isOfSameClient(
  { origin }: Pick<RememberedBody, 'origin'>,
  scope: Pick<RequestScope, 'origin'>,
): boolean {
  return origin === '' || origin === (scope.origin ?? '');
}

/** Bodies are grouped by this many leading bytes before they are compared. */
const HEAD_BYTES = 512;
/** Maximum number of remembered bodies with the same head (sub-agents share their system prompt). */
const MAX_SIBLINGS = 12;

/**
 * Cache of request bodies. For a growing conversation it reduces the work to one comparison of the history and the
 * processing of new messages. Bounded in bytes.
 */
export class PrefixMemo {
  readonly #byHead: LRUCache<string, RememberedBody[]>;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = Math.max(1, Math.floor(maxBytes));
    this.#byHead = new LRUCache({ maxSize: this.#maxBytes });
  }

  /** Finds the last checkpoint that a body shares with a remembered body accepted by `isUsable`. */
  find(body: Buffer, isUsable: (remembered: RememberedBody) => boolean): PrefixMatch | null {
    let best: PrefixMatch | null = null;
    const siblings = this.#byHead.get(headOf(body)) ?? [];
    for (const remembered of siblings) {
      if (!isUsable(remembered)) continue;
      const checkpoint = furthest(body, remembered);
      if (checkpoint && checkpoint.at > (best?.checkpoint.at ?? 0)) best = { body: remembered, checkpoint };
    }
    if (best) moveToFront(siblings, best.body);
    return best;
  }

  /** Remembers a body, and drops the one that it continues. */
  add(body: RememberedBody, from: RememberedBody | null): void {
    const head = headOf(body.prefix.bytes);
    const others = (this.#byHead.peek(head) ?? []).filter((other) => other !== from);
    const siblings = [body];
    let size = 1 + costOf(body);
    for (const other of others.slice(0, MAX_SIBLINGS - 1)) {
      const cost = costOf(other);
      if (size + cost > this.#maxBytes) break; // the LRU cache rejects an entry larger than its maximum size
      siblings.push(other);
      size += cost;
    }
    this.#byHead.set(head, siblings, { size });
  }
}

function headOf(body: Buffer): string {
  return body.toString('latin1', 0, HEAD_BYTES);
}

/** Estimated memory per call or result recorded in a conversation. */
const NOTE_BYTES = 400;

function costOf(body: RememberedBody): number {
  const edits = body.edits.reduce((sum, edit) => sum + edit.bytes.length, 0);
  const notes = body.checkpoints.at(-1)?.conversation.size ?? 0;
  return body.prefix.memory + body.tail.length + edits + 400 * body.messages.length + NOTE_BYTES * notes + 2_000;
}

/** Moves a body to the front. Bodies at the end are evicted first. */
function moveToFront(bodies: RememberedBody[], body: RememberedBody): void {
  if (bodies[0] === body) return;
  bodies.splice(bodies.indexOf(body), 1);
  bodies.unshift(body);
}

function furthest(body: Buffer, { prefix, checkpoints }: RememberedBody): Checkpoint | null {
  for (let i = checkpoints.length - 1; i >= 0; i--) {
    const checkpoint = checkpoints[i];
    if (checkpoint === undefined || checkpoint.at > body.length) continue;
    const { at } = checkpoint;
    const bytes = at === prefix.bytes.length ? prefix.bytes : prefix.bytes.subarray(0, at);
    if (bytes.equals(body.subarray(0, at))) return checkpoint;
  }
  return null;
}

/** Maximum spare capacity of a grown buffer, in bytes. */
const MAX_SPARE_BYTES = 1024 * 1024;

/** A buffer shared by several `PrefixBytes`, each with its own length. Written bytes never change. */
interface SharedBuffer {
  readonly buffer: Buffer;
  used: number;
}

/**
 * A conversation's leading bytes. Each turn appends its new bytes to a shared buffer, so that its body can be freed. A
 * body that begins anew is kept itself: allocating a copy would cost as much again, and bring the next collection nearer.
 */
export class PrefixBytes {
  readonly bytes: Buffer;
  readonly #storage: SharedBuffer;

  private constructor(storage: SharedBuffer, length: number) {
    this.#storage = storage;
    this.bytes = storage.buffer.subarray(0, length);
  }

  /** Memory used, in bytes. */
  get memory(): number {
    return this.#storage.buffer.length;
  }

  /**
   * Keeps the first `length` bytes of a body.
   *
   * @param before - bytes of an earlier body, whose first `shared` bytes equal this body's
   */
  static of(body: Buffer, length: number, before: PrefixBytes | null, shared: number): PrefixBytes {
    const isContinuation = before !== null && shared === before.bytes.length && shared <= length;
    if (isContinuation) {
      const storage = before.#storage;
      if (storage.used === shared && storage.buffer.length >= length) {
        body.copy(storage.buffer, shared, shared, length);
        storage.used = length;
        return new PrefixBytes(storage, length);
      }
    }
    if (!isContinuation && fills(body, length)) return new PrefixBytes({ buffer: body, used: body.length }, length);
    const spare = isContinuation ? Math.min(length >> 1, MAX_SPARE_BYTES) : 0;
    const buffer = Buffer.allocUnsafeSlow(length + spare);
    body.copy(buffer, 0, 0, length);
    return new PrefixBytes({ buffer, used: length }, length);
  }
}

/** Whether the first bytes of a body are nearly all of its memory, which would be kept alive as a whole. */
function fills(body: Buffer, length: number): boolean {
  return body.buffer.byteLength - length <= length >> 3;
}

/**
 * For each message, a hash of the meanings (`meaningOf`) of all messages up to it. Instructions are left out: agents
 * put the date or repository state there, and the records of the other messages must still be found.
 *
 * @param known - known hashes of the first messages
 * @param start - hash of the history before the first message, or `''`
 */
export function prefixesOf(
  body: Buffer,
  messages: readonly ScannedMessage[],
  known: readonly string[] = [],
  start = '',
): readonly string[] {
  if (known.length === messages.length) return known;
  const prefixes = [...known];
  for (const message of messages.slice(known.length)) {
    const before = prefixes.at(-1) ?? start;
    prefixes.push(message.role === 'other' ? before : keyOf(before, meaningOf(body, message)));
  }
  return prefixes;
}
