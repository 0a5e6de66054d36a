import { finished } from 'node:stream/promises';
import type { FallbackCode } from '../errors/errors.ts';
import { ByteBudget } from './byte-budget.ts';
import { decodedLimit, isDecodable, openDecoder } from './encodings.ts';

const MIB = 1024 * 1024;

/**
 * Decoded size up to which a body is kept while it is decoded, whatever its ratio: the text of the largest contexts
 * (two million tokens). A larger body is measured first, and decoded again once there is memory for all of it.
 */
const FREE_BYTES = 8 * MIB;
/** Step in which memory is taken for a body that is being decoded. */
const GROWTH_BYTES = MIB;
/** Bodies decoded at the same time: half of the threads that Node uses for it. Each decoder needs up to 16 MiB. */
const DECODED_AT_ONCE = 2;
/** Maximum wait of a body for memory, in milliseconds. */
const PATIENCE_MS = 30_000;

/** A request's body in plain JSON, or the reason why it must be forwarded unread. */
export type DecodedBody =
  | { readonly kind: 'plain'; readonly body: Buffer; readonly release: () => void }
  | {
      readonly kind: 'unread';
      readonly reason: FallbackCode;
      /** Whether a model may have answered in the conversation; `false` if the whole body was searched in vain. */
      readonly mayBeAnswered: boolean;
    };

/** An encoded body. */
export interface EncodedBody {
  /** The request that it is the body of. */
  readonly request: object;
  readonly body: Buffer;
  /** Value of `content-encoding`; empty for plain JSON. */
  readonly encoding: string;
  /** Maximum decoded size, in bytes. */
  readonly maxBytes: number;
  /** Owner of the body for the budgets. */
  readonly holder?: string | undefined;
  /** Whether memory for `maxBytes` is already reserved. */
  readonly isReserved?: boolean;
}

interface BodyDecoderOptions {
  /** Budget of bodies in memory, in which a body grows while it is decoded. */
  readonly received: Pick<ByteBudget, 'tryTake'>;
  /** Budget of large bodies. A decoded body that does not fit into `received` waits for it. */
  readonly largeBodies: Pick<ByteBudget, 'take'>;
}

/** The size of a decoded body, and its parts unless they had to be dropped. */
interface Measured {
  readonly size: number;
  readonly pieces: readonly Buffer[] | null;
  /** Whether dropped parts hold signs of an answer. */
  readonly mayBeAnswered: boolean;
  readonly release: () => void;
}

/**
 * Decodes request bodies within memory budgets. A few bytes can decode to gigabytes, so the budgets count decoded bytes
 * as they appear, and a body that decodes to far more than its size is not read at all.
 *
 * Nobody waits while holding what others wait for: a body that finds no more memory drops its decoded parts, goes on to
 * be measured, and then waits for its exact size in the budget of large bodies.
 */
export class BodyDecoder {
  readonly #options: BodyDecoderOptions;
  /** Counts bodies, not bytes. */
  readonly #slots = new ByteBudget(DECODED_AT_ONCE);
  /** Decoded bodies of requests whose body was put back. */
  readonly #kept = new WeakMap<object, Buffer>();

  constructor(options: BodyDecoderOptions) {
    this.#options = options;
  }

  /** Keeps the decoded body of a request whose body was put back, where it is asked for again. */
  keep(request: object, body: Buffer): void {
    this.#kept.set(request, body);
  }

  /**
   * Decodes a body, with a promise only if it is encoded. Never throws or rejects.
   *
   * @returns `release` must be called once the body is no longer needed. `encoding_not_understood`: the encoding is
   * unsupported, the bytes are broken, or they decode to more than `maxBytes` or the permitted ratio
   */
  decode(encoded: EncodedBody): DecodedBody | Promise<DecodedBody> {
    const name = encoded.encoding.trim().toLowerCase();
    if (name === '' || name === 'identity') return { kind: 'plain', body: encoded.body, release: () => {} };
    if (!isDecodable(name)) return unread('encoding_not_understood');
    const kept = this.#kept.get(encoded.request);
    const release = kept && this.#options.received.tryTake(kept.length, encoded.holder);
    if (kept && release) return { kind: 'plain', body: kept, release };
    return this.#decoded(encoded, name);
  }

  async #decoded(encoded: EncodedBody, name: string): Promise<DecodedBody> {
    try {
      const measured = await this.#inSlot(encoded, () => this.#measure(encoded, name));
      if (measured === null) return unread('overloaded');
      const { pieces, size, mayBeAnswered, release } = measured;
      if (pieces !== null) return { kind: 'plain', body: Buffer.concat(pieces, size), release };
      return (await this.#decodeLarge(encoded, name, size)) ?? unread('overloaded', mayBeAnswered);
    } catch {
      return unread('encoding_not_understood');
    }
  }

  /** @throws Error if the bytes are broken or decode to more than the limit */
  async #measure({ body, maxBytes, holder }: EncodedBody, name: string): Promise<Measured> {
    const limit = Math.min(maxBytes, decodedLimit(body.length, FREE_BYTES));
    const taken: (() => void)[] = [];
    const release = (): void => {
      for (const give of taken.splice(0)) give();
    };
    let pieces: Buffer[] | null = [];
    const signs = new AnswerSigns();
    let room = 0;
    const grow = (size: number): boolean => {
      if (size > FREE_BYTES) return false;
      while (room < size) {
        const step = this.#options.received.tryTake(GROWTH_BYTES, holder);
        if (step === null) return false;
        taken.push(step);
        room += GROWTH_BYTES;
      }
      return true;
    };
    let size = 0;
    try {
      await decodeTo(body, name, (piece) => {
        size += piece.length;
        if (size > limit) throw new RangeError('the decoded body would be too large');
        if (pieces !== null && grow(size)) pieces.push(piece);
        else {
          for (const dropped of pieces ?? []) signs.add(dropped);
          signs.add(piece);
          pieces = null;
          release();
        }
      });
    } catch (cause) {
      release();
      throw cause;
    }
    return { size, pieces, mayBeAnswered: signs.found, release };
  }

  /** @returns `null` if there is no memory */
  async #decodeLarge(encoded: EncodedBody, name: string, size: number): Promise<DecodedBody | null> {
    const { body, holder, isReserved } = encoded;
    const release = isReserved ? () => {} : await this.#options.largeBodies.take(size, PATIENCE_MS, holder);
    if (release === null) return null;
    const decoded = await this.#inSlot(encoded, async () => {
      const whole = Buffer.allocUnsafeSlow(size);
      let at = 0;
      await decodeTo(body, name, (piece) => {
        at += piece.copy(whole, at);
      });
      return whole;
    }).catch((cause: unknown) => {
      release();
      throw cause;
    });
    if (decoded !== null) return { kind: 'plain', body: decoded, release };
    release();
    return null;
  }

  /** Runs one of a few decoders; `null` if none becomes free in time. */
  async #inSlot<T>({ holder }: EncodedBody, work: () => Promise<T>): Promise<T | null> {
    const leave = await this.#slots.take(1, PATIENCE_MS, holder);
    if (leave === null) return null;
    return work().finally(leave);
  }
}

function unread(reason: FallbackCode, mayBeAnswered = true): DecodedBody {
  return { kind: 'unread', reason, mayBeAnswered };
}

/** Words in the roles or types of what a model made, on the wires whose history may be bound. */
const SIGNS = ['assistant', '_call', 'reasoning', 'previous_response_id'];
const MAX_SIGN_BYTES = Math.max(...SIGNS.map((sign) => sign.length));

/** Searches a body that is not kept for signs of an answer. */
class AnswerSigns {
  found = false;
  /** The end of the piece before: a sign may lie across two pieces. */
  #tail = Buffer.alloc(0);

  add(piece: Buffer): void {
    if (this.found) return;
    const bytes = Buffer.concat([this.#tail, piece]);
    this.found = SIGNS.some((sign) => bytes.includes(sign));
    this.#tail = bytes.subarray(1 - MAX_SIGN_BYTES);
  }
}

/** @throws Error if the bytes are broken, or what `onPiece` throws */
async function decodeTo(body: Buffer, name: string, onPiece: (piece: Buffer) => void): Promise<void> {
  const stream = openDecoder(name, body, 'whole');
  stream.on('data', (piece: Buffer) => {
    try {
      onPiece(piece);
    } catch (cause) {
      stream.destroy(cause instanceof Error ? cause : new Error(String(cause)));
    }
  });
  stream.end(body);
  await finished(stream);
}
