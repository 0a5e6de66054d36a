import { LRUCache } from 'lru-cache';
import type { Dialect, RequestHead, ScannedMessage } from '../../dialects/dialect.ts';
import type { Conversation } from '../../goal/conversation.ts';

/** The outcome for one text, as it appears in the request's report. */
export interface TextOutcome {
  readonly messageIndex: number;
  readonly tool: string;
  readonly kind: string;
  /** `null`: left whole, and `whole` says why. */
  readonly pruneId: string | null;
  readonly whole: string;
  readonly lines: number;
  readonly keptLines: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Number of the boldness step that it was decided by; absent where none was ever taken. */
  readonly boldness?: number;
}

/** A replacement inside a string of the body: `[start, end)` are bytes between its quotes. */
export interface BodyEdit {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer;
}

/** The state after a number of messages, from which a later body can be read on. */
export interface Checkpoint {
  /** Byte right behind the last of the messages. */
  readonly at: number;
  readonly messages: number;
  readonly edits: number;
  readonly outcomes: number;
  /** Estimated tokens of all messages so far, unpruned; 0 where no collector is configured. */
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
  /** For each message what stands for it and all before it. */
  readonly prefixes: readonly string[];
  readonly edits: readonly BodyEdit[];
  readonly outcomes: readonly TextOutcome[];
  /** Some of the last message ends, ascending. */
  readonly checkpoints: readonly Checkpoint[];
  /** Answered texts went whole although no record said that they were sent so. */
  readonly rawHistory: boolean;
  /** The store's epoch in which every decision in it is durable, and since when. */
  readonly epoch: string;
  readonly storedAtMs: number;
  /** The mark of the directives, and the scopes of the collection steps that held, joined by a space. */
  readonly directives: string;
  readonly steps: string;
}

/** A remembered body and how far the new one agrees with it. */
export interface PrefixMatch {
  readonly body: RememberedBody;
  readonly checkpoint: Checkpoint;
}

/** Length of the beginning by which bodies are grouped before they are compared. */
const HEAD_BYTES = 512;
/** Bodies with the same head that are kept side by side (sub-agents share their system prompt). */
const MAX_SIBLINGS = 12;

/**
 * Remembers bodies by their bytes, so that a growing conversation costs one comparison of its history and real work
 * for what is new only. Bounded in bytes.
 */
export class PrefixMemo {
  readonly #byHead: LRUCache<string, RememberedBody[]>;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = Math.max(1, Math.floor(maxBytes));
    this.#byHead = new LRUCache({ maxSize: this.#maxBytes });
  }

  /** The furthest checkpoint that a body shares with a remembered one, among those that `fit`. */
  find(body: Buffer, fits: (remembered: RememberedBody) => boolean): PrefixMatch | null {
    let best: PrefixMatch | null = null;
    const siblings = this.#byHead.get(headOf(body)) ?? [];
    for (const remembered of siblings) {
      if (!fits(remembered)) continue;
      const checkpoint = furthest(body, remembered);
      if (checkpoint && checkpoint.at > (best?.checkpoint.at ?? 0)) best = { body: remembered, checkpoint };
    }
    if (best) moveToFront(siblings, best.body);
    return best;
  }

  /** Keeps a body; the one it went on from, if it is a part of it, goes. */
  add(body: RememberedBody, from: RememberedBody | null): void {
    const head = headOf(body.prefix.bytes);
    const others = (this.#byHead.peek(head) ?? []).filter((other) => other !== from);
    const siblings = [body];
    let size = 1 + costOf(body);
    for (const other of others.slice(0, MAX_SIBLINGS - 1)) {
      const cost = costOf(other);
      if (size + cost > this.#maxBytes) break; // more than all memory would not be taken at all
      siblings.push(other);
      size += cost;
    }
    this.#byHead.set(head, siblings, { size });
  }

  clear(): void {
    this.#byHead.clear();
  }
}

function headOf(body: Buffer): string {
  return body.toString('latin1', 0, HEAD_BYTES);
}

/** Estimated memory of a call or a result that a conversation has recorded. */
const NOTE_BYTES = 400;

function costOf(body: RememberedBody): number {
  const edits = body.edits.reduce((sum, edit) => sum + edit.bytes.length, 0);
  const notes = body.checkpoints.at(-1)?.conversation.notes ?? 0;
  return body.prefix.held + edits + 400 * body.messages.length + NOTE_BYTES * notes + 2_000;
}

/** The last of them is the first to go. */
function moveToFront(bodies: RememberedBody[], body: RememberedBody): void {
  bodies.splice(bodies.indexOf(body), 1);
  bodies.unshift(body);
}

function furthest(body: Buffer, { prefix, checkpoints }: RememberedBody): Checkpoint | null {
  return checkpoints.findLast(({ at }) => at <= body.length && body.compare(prefix.bytes, 0, at, 0, at) === 0) ?? null;
}

/** Most spare capacity behind bytes that have grown once and may grow again. */
const MAX_SPARE_BYTES = 1024 * 1024;

/** A buffer that several `PrefixBytes` share, each up to its own length. Written bytes never change. */
interface Room {
  readonly buffer: Buffer;
  used: number;
}

/**
 * The beginning of a conversation's bodies, kept apart from them so that each body can go when it is done with. What a
 * turn adds is written behind what the one before has kept.
 */
export class PrefixBytes {
  readonly bytes: Buffer;
  readonly #room: Room;

  private constructor(room: Room, length: number) {
    this.#room = room;
    this.bytes = room.buffer.subarray(0, length);
  }

  /** Memory that it takes, in bytes. */
  get held(): number {
    return this.#room.buffer.length;
  }

  /**
   * Keeps the first `length` bytes of a body.
   *
   * @param before - kept bytes that the body begins with, as far as `shared`
   */
  static of(body: Buffer, length: number, before: PrefixBytes | null, shared: number): PrefixBytes {
    const goesOn = before !== null && shared === before.bytes.length && shared <= length;
    if (goesOn) {
      const room = before.#room;
      if (room.used === shared && room.buffer.length >= length) {
        body.copy(room.buffer, shared, shared, length);
        room.used = length;
        return new PrefixBytes(room, length);
      }
    }
    const spare = goesOn ? Math.min(length >> 1, MAX_SPARE_BYTES) : 0;
    const buffer = Buffer.allocUnsafeSlow(length + spare);
    body.copy(buffer, 0, 0, length);
    return new PrefixBytes({ buffer, used: length }, length);
  }
}
