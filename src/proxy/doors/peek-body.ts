import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** A body that was read and put back. `gone`: the client disconnected or sent no body. */
export type PeekedBody =
  | { readonly kind: 'whole' | 'start'; readonly bytes: Buffer }
  | { readonly kind: 'gone' | 'empty' };

/**
 * Reads a request's body up to a limit in bytes and puts it back, so that its handler reads it again. Never rejects.
 */
export async function peekBody(req: IncomingMessage, maxBytes: number): Promise<PeekedBody> {
  const declared = req.headers['content-length'];
  if (declared === '0' || (declared === undefined && req.headers['transfer-encoding'] === undefined)) {
    return { kind: 'whole', bytes: Buffer.alloc(0) };
  }
  const peeked = await readStart(req, maxBytes);
  await nextTurn(); // the stream leaves its paused mode
  return peeked;
}

function readStart(req: IncomingMessage, maxBytes: number): Promise<PeekedBody> {
  if (req.destroyed) return Promise.resolve({ kind: 'gone' });
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const done = (kind: PeekedBody['kind']): void => {
      req.off('readable', onReadable).off('end', onEnd).off('close', onGone).off('error', onGone);
      if (kind === 'gone' || kind === 'empty') resolve({ kind });
      else {
        const bytes = Buffer.concat(chunks, size);
        req.unshift(bytes);
        resolve({ kind, bytes });
      }
    };
    const onReadable = (): void => {
      let chunk = req.read() as Buffer | null;
      for (; chunk !== null && size <= maxBytes; chunk = size > maxBytes ? null : (req.read() as Buffer | null)) {
        chunks.push(chunk);
        size += chunk.length;
      }
      if (size > maxBytes) done('start');
      else if (req.complete && size > 0) done('whole');
    };
    const onEnd = (): void => done('empty');
    const onGone = (): void => done('gone');
    req.on('readable', onReadable).on('end', onEnd).on('close', onGone).on('error', onGone);
    onReadable();
  });
}
