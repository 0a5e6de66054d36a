import type { IncomingMessage } from 'node:http';
import { fittedToHeap } from '../base/fitted-to-heap.ts';
import type { Dialect } from '../wires/dialects/dialect.ts';

const MIB = 1024 * 1024;

/** A body waiting for the budget. */
interface Waiting {
  readonly bytes: number;
  readonly holder: string;
  readonly go: (release: () => void) => void;
}

/**
 * Limits the bytes of bodies that are in memory at the same time. If several holders, such as access keys, share a
 * budget, none gets more than half of it, and the holder with the least bytes is served next.
 */
export class ByteBudget {
  readonly #maxBytes: number;
  #taken = 0;
  /** Bytes by holder. */
  readonly #held = new Map<string, number>();
  readonly #waiting: Waiting[] = [];

  /** @param maxBytes - maximum number of bytes at once; a larger body is admitted alone */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Waits until the budget allows a body. Bodies of one holder are admitted in the order of their arrival.
   *
   * @param holder - owner of the body; `''` if there is only one holder
   * @returns a function that releases the bytes, at once if they are free; `null` after `waitMs`
   */
  take(bytes: number, waitMs: number, holder = ''): (() => void) | Promise<(() => void) | null> {
    const release = this.tryTake(bytes, holder);
    if (release !== null) return release;
    return new Promise((resolve) => {
      const mine: Waiting = {
        bytes,
        holder,
        go: (release) => {
          clearTimeout(timer);
          resolve(release);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(mine), 1);
        resolve(null);
        this.#admit(); // a smaller body behind it may fit now
      }, waitMs);
      this.#waiting.push(mine);
    });
  }

  /**
   * Takes bytes if they are free and nobody waits for them.
   *
   * @returns a function that releases the bytes, or `null`
   */
  tryTake(bytes: number, holder = ''): (() => void) | null {
    return this.enter(bytes, holder) ? () => this.leave(bytes, holder) : null;
  }

  /** Like `tryTake`, without a function. @returns whether the bytes were taken; `leave` releases them */
  enter(bytes: number, holder: string): boolean {
    if (this.#waiting.length > 0 && this.#waiting.some((other) => other.holder === holder || this.#fits(other)))
      return false;
    const isFree = this.#fits({ bytes, holder });
    if (isFree) this.#occupy(bytes, holder);
    return isFree;
  }

  leave(bytes: number, holder: string): void {
    this.#taken -= bytes;
    const left = (this.#held.get(holder) ?? 0) - bytes;
    if (left > 0) this.#held.set(holder, left);
    else this.#held.delete(holder);
    if (this.#waiting.length > 0) this.#admit();
  }

  #fits({ bytes, holder }: Pick<Waiting, 'bytes' | 'holder'>): boolean {
    const held = this.#held.get(holder) ?? 0;
    const isWithinShare = holder === '' || held === 0 || held + bytes <= this.#maxBytes / 2;
    return this.#taken === 0 || (isWithinShare && this.#taken + bytes <= this.#maxBytes);
  }

  #occupy(bytes: number, holder: string): void {
    this.#taken += bytes;
    this.#held.set(holder, (this.#held.get(holder) ?? 0) + bytes);
  }

  #admit(): void {
    for (let next = this.#next(); next && this.#fits(next); next = this.#next()) {
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      const { bytes, holder } = next;
      this.#occupy(bytes, holder);
      next.go(() => this.leave(bytes, holder));
    }
  }

  /** The first body of the holder with the least bytes. */
  #next(): Waiting | undefined {
    const heldBy = ({ holder }: Waiting): number => this.#held.get(holder) ?? 0;
    return this.#waiting.reduce<Waiting | undefined>(
      (least, one) => (least === undefined || heldBy(one) < heldBy(least) ? one : least),
      undefined,
    );
  }
}

/**
 * A request's body: complete; too large (only its beginning was read); or incomplete because the client disconnected.
 */
type Collected =
  | { readonly kind: 'whole'; readonly body: Buffer }
  | { readonly kind: 'too_large'; readonly start: readonly Buffer[] }
  | { readonly kind: 'gone' };

/** Assumed size of a body without a declared length. */
const UNDECLARED_BYTES = MIB;

/** Bytes of memory needed to read a body up to a limit. */
export function receivedBytes({ headers }: IncomingMessage, maxBytes: number): number {
  return Math.min(Number(headers['content-length'] ?? UNDECLARED_BYTES) || 0, maxBytes);
}

/** Maximum size of a body whose buffer is allocated at once from its declared length. */
const MAX_TRUSTED_BYTES = 4 * MIB;

/** If the history may be bound, bodies of this size are read even if the limit is far lower. */
const LEAST_READ_BYTES = 64 * MIB;
/** Largest body that is read; less in a small heap. */
const MOST_READ_BYTES = 256 * MIB;

/**
 * Maximum size in bytes of a body that is read. If the history may be bound, bodies above `maxBodyBytes` are read too,
 * to replay recorded cuts.
 */
export function readLimit({
  dialect,
  maxBodyBytes,
}: {
  readonly dialect: Dialect;
  readonly maxBodyBytes: number;
}): number {
  if (dialect.verifiesHistory === 'never') return maxBodyBytes;
  const most = Math.max(LEAST_READ_BYTES, fittedToHeap(MOST_READ_BYTES));
  return Math.max(maxBodyBytes, Math.min(Math.max(8 * maxBodyBytes, LEAST_READ_BYTES), most));
}

/**
 * Reads a body up to a limit in bytes. Never rejects: `gone` if the client disconnects.
 *
 * @param start - the chunks read by an earlier call with a lower limit
 */
export function collectBody(req: IncomingMessage, maxBytes: number, start: readonly Buffer[] = []): Promise<Collected> {
  req.on('error', () => {}); // reported by 'close'; a later listener may be gone by then
  if (req.destroyed) return Promise.resolve({ kind: 'gone' }); // while the request waited, for example for memory
  const declared = Number(req.headers['content-length'] ?? 0);
  if (declared > maxBytes) return Promise.resolve({ kind: 'too_large', start: [] });
  return new Promise((resolve) => {
    const chunks = [...start];
    let whole: Buffer | null = null; // a copy keeps the chunks short-lived
    let size = start.reduce((sum, { length }) => sum + length, 0);
    const done = (result: Collected): void => {
      req.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      if (size === 0 && chunk.length < declared && declared <= MAX_TRUSTED_BYTES) {
        whole = Buffer.allocUnsafeSlow(declared);
      }
      if (whole) chunk.copy(whole, size);
      else chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) {
        req.pause();
        done({ kind: 'too_large', start: chunks });
      }
    };
    const onEnd = (): void => done({ kind: 'whole', body: whole?.subarray(0, size) ?? joined(chunks, size) });
    const onClose = (): void => done({ kind: 'gone' });
    req.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
    if (req.isPaused()) req.resume(); // paused by an earlier call
  });
}

function joined(chunks: readonly Buffer[], size: number): Buffer {
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size);
}
