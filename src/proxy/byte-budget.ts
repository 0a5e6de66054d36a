import type { IncomingMessage } from 'node:http';
import type { Dialect } from '../wires/dialects/dialect.ts';

const MIB = 1024 * 1024;

/** Limits the bytes of bodies rewritten at the same time, because their texts are on the heap. */
export class ByteBudget {
  readonly #maxBytes: number;
  #taken = 0;
  readonly #waiting: { readonly bytes: number; readonly go: (release: () => void) => void }[] = [];

  /** @param maxBytes - maximum number of bytes at once; a larger body runs alone */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Waits until the budget allows a body, in order of arrival.
   *
   * @returns a function that releases the bytes, or `null` after `waitMs`: the body is then forwarded unchanged
   */
  take(bytes: number, waitMs: number): Promise<(() => void) | null> {
    if (this.#waiting.length === 0 && this.#fits(bytes)) return Promise.resolve(this.#occupy(bytes));
    return new Promise((resolve) => {
      const mine = {
        bytes,
        go: (release: () => void): void => {
          clearTimeout(timer);
          resolve(release);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(mine), 1);
        resolve(null);
        this.#admit(); // a smaller body behind it may fit
      }, waitMs);
      this.#waiting.push(mine);
    });
  }

  #fits(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.#maxBytes;
  }

  #occupy(bytes: number): () => void {
    this.#taken += bytes;
    return () => {
      this.#taken -= bytes;
      this.#admit();
    };
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      next.go(this.#occupy(next.bytes));
    }
  }
}

/**
 * A request's body: complete; too large (only its beginning was read); or incomplete because the client disconnected.
 */
type Collected =
  | { readonly kind: 'whole'; readonly body: Buffer }
  | { readonly kind: 'too_large'; readonly start: readonly Buffer[] }
  | { readonly kind: 'gone' };

/** Maximum size of a body whose buffer is allocated at once from its declared length. */
const MAX_TRUSTED_BYTES = 4 * MIB;

/**
 * Maximum size in bytes of a body that is read. Where the history may be bound, larger bodies than `maxBodyBytes` are
 * read to repeat what was sent of them.
 */
export function readLimit({
  dialect,
  maxBodyBytes,
}: {
  readonly dialect: Dialect;
  readonly maxBodyBytes: number;
}): number {
  if (dialect.verifiesHistory === 'never') return maxBodyBytes;
  return Math.max(maxBodyBytes, Math.min(8 * maxBodyBytes, 256 * MIB));
}

/**
 * Reads a body up to a limit in bytes. Never rejects: `gone` if the client disconnects.
 *
 * @param start - the chunks that an earlier call with a lower limit has read
 */
export function collectBody(req: IncomingMessage, maxBytes: number, start: readonly Buffer[] = []): Promise<Collected> {
  req.on('error', () => {}); // reported by 'close'; a later listener may be gone by then
  const declared = Number(req.headers['content-length'] ?? 0);
  if (declared > maxBytes) return Promise.resolve({ kind: 'too_large', start: [] });
  return new Promise((resolve) => {
    const chunks = [...start];
    let whole: Buffer | null = null; // one buffer for the body, if its declared length is small: chunks that are copied at once are short-lived
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
    if (req.isPaused()) req.resume(); // by an earlier call
  });
}

function joined(chunks: readonly Buffer[], size: number): Buffer {
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size);
}
