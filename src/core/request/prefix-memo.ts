import { LRUCache } from 'lru-cache';
import type { Dialect, RequestHead, ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { Conversation } from '../../wires/goal/conversation.ts';
import { keyOf, meaningOf } from '../hash.ts';

/** The outcome for one text, as it appears in the request's report. */
export interface TextOutcome {
  readonly messageIndex: number;
  readonly tool: string;
  readonly kind: string;
  /** `null`: the text was left whole, and `whole` says why. */
  readonly pruneId: string | null;
  readonly whole: string;
  readonly lines: number;
  readonly keptLines: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Tokens that were put aside, as an earlier cut had left them; 0 or absent: none. */
  readonly tokensAside?: number;
  /** The learned level of boldness by which it was decided; absent if none was learned. */
  readonly boldness?: number;
}

/** A replacement inside a string of the body: `[start, end)` are bytes between its quotes. */
export interface BodyEdit {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer;
}

/** The state after some messages, from which the reading of a later body can continue. */
export interface Checkpoint {
  /** Offset of the byte after the last of the messages. */
  readonly at: number;
  readonly messages: number;
  readonly edits: number;
  readonly outcomes: number;
  /** Estimated tokens of all messages so far, unpruned; 0 if no collector is configured. */
  readonly tokens: number;
  /** Immutable here; later requests continue with a fork. */
  readonly conversation: Conversation;
}

/** A rewritten body, kept to recognise it as the beginning of a later one. */
export interface RememberedBody {
  /** The body as received, up to the end of its last message. */
  readonly prefix: PrefixBytes;
  readonly dialect: Dialect['name'];
  /** The fields before its messages. */
  readonly before: RequestHead;
  readonly messages: readonly ScannedMessage[];
  /** For each message a hash of it and of all messages before it. */
  readonly prefixes: readonly string[];
  readonly edits: readonly BodyEdit[];
  readonly outcomes: readonly TextOutcome[];
  /** Checkpoints at the ends of some of the last messages, in ascending order. */
  readonly checkpoints: readonly Checkpoint[];
  /** Answered texts were forwarded whole, and no record showed how they were sent before. */
  readonly rawHistory: boolean;
  /** Store epoch in which all decisions of this body were stored, and the time at which they were. */
  readonly epoch: string;
  readonly storedAtMs: number;
  /**
   * Version of the directives that applied. `steps`: the scopes of the context-GC steps that applied, separated by
   * spaces.
   */
  readonly directives: string;
  readonly steps: string;
}

/** A remembered body and the last checkpoint that the new body shares with it. */
export interface PrefixMatch {
  readonly body: RememberedBody;
  readonly checkpoint: Checkpoint;
}

/** Bodies are grouped by their first bytes before they are compared. */
const HEAD_BYTES = 512;
/** Maximum number of remembered bodies with the same head (sub-agents share their system prompt). */
const MAX_SIBLINGS = 12;

/**
 * Remembers bodies by their bytes, so that a growing conversation costs one comparison of its history, and only new
 * messages are processed. Bounded in bytes.
 */
export class PrefixMemo {
  readonly #byHead: LRUCache<string, RememberedBody[]>;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = Math.max(1, Math.floor(maxBytes));
    this.#byHead = new LRUCache({ maxSize: this.#maxBytes });
  }

  /** The last checkpoint that a body shares with a remembered body accepted by `isUsable`. */
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

  /** Remembers a body. The one that it continues is dropped. */
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

/** Estimated memory of a call or a result recorded in a conversation. */
const NOTE_BYTES = 400;

function costOf(body: RememberedBody): number {
  const edits = body.edits.reduce((sum, edit) => sum + edit.bytes.length, 0);
  const notes = body.checkpoints.at(-1)?.conversation.size ?? 0;
  return body.prefix.memory + edits + 400 * body.messages.length + NOTE_BYTES * notes + 2_000;
}

/** Moves a body to the front. Bodies at the end are dropped first. */
function moveToFront(bodies: RememberedBody[], body: RememberedBody): void {
  bodies.splice(bodies.indexOf(body), 1);
  bodies.unshift(body);
}

function furthest(body: Buffer, { prefix, checkpoints }: RememberedBody): Checkpoint | null {
  return checkpoints.findLast(({ at }) => at <= body.length && body.compare(prefix.bytes, 0, at, 0, at) === 0) ?? null;
}

/** Maximum spare capacity of a buffer that has grown once, in bytes. */
const MAX_SPARE_BYTES = 1024 * 1024;

/** A buffer that several `PrefixBytes` share, each up to its own length. Written bytes never change. */
interface SharedBuffer {
  readonly buffer: Buffer;
  used: number;
}

/**
 * The bytes at the beginning of a conversation, copied so that the body itself can be freed. Each turn appends its new
 * bytes to the same buffer.
 */
export class PrefixBytes {
  readonly bytes: Buffer;
  readonly #storage: SharedBuffer;

  private constructor(storage: SharedBuffer, length: number) {
    this.#storage = storage;
    this.bytes = storage.buffer.subarray(0, length);
  }

  /** Memory that it uses, in bytes. */
  get memory(): number {
    return this.#storage.buffer.length;
  }

  /**
   * Keeps the first `length` bytes of a body.
   *
   * @param before - bytes of an earlier body; the first `shared` of them are also the beginning of this body
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
    const spare = isContinuation ? Math.min(length >> 1, MAX_SPARE_BYTES) : 0;
    const buffer = Buffer.allocUnsafeSlow(length + spare);
    body.copy(buffer, 0, 0, length);
    return new PrefixBytes({ buffer, used: length }, length);
  }
}

/**
 * For each message a hash of its meaning (`meaningOf`) and of all messages before it. Instructions are left out:
 * agents put the date or the state of a repository there, and the records of the other messages must still be found.
 *
 * @param known - hashes of the first messages
 * @param start - a hash of the history before the first message, or `''`
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
