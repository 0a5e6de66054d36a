import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';

/** Limits for reading the rest of an answered upload, in bytes and time. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_MS = 120_000;

/**
 * Discards the rest of the body of a request that has already been answered. An upstream may answer (401, 413, 429)
 * before it has read the request. A client that writes its whole request first would then wait forever, and could not
 * reuse the connection. Beyond the limits the connection is closed.
 */
export function discardUpload(req: IncomingMessage): void {
  if (req.complete || req.destroyed) return;
  let left = MAX_BYTES;
  const timer = setTimeout(() => req.socket.destroy(), MAX_MS).unref();
  req.once('close', () => clearTimeout(timer));
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) req.socket.destroy();
  });
  req.unpipe();
  req.resume();
}

/**
 * A request's body as a separate stream, which can be destroyed without closing the client's connection.
 *
 * @param start - chunks already read
 */
export function uploadOf(req: IncomingMessage, start: readonly Buffer[] = []): Readable {
  const { upload, begin } = heldUpload(req, start);
  begin();
  return upload;
}

/** Like `uploadOf`, but emits nothing before `begin`. */
export function heldUpload(
  req: IncomingMessage,
  start: readonly Buffer[] = [],
): { readonly upload: Readable; readonly begin: () => void } {
  const upload = new PassThrough();
  upload.on('error', () => {}); // the sender handles the error
  req.once('close', () => {
    if (!req.complete) upload.destroy(new Error('the client disconnected'));
  });
  const begin = (): void => {
    for (const chunk of start) upload.write(chunk);
    req.pipe(upload);
  };
  return { upload, begin };
}
