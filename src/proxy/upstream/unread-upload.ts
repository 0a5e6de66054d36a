import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';

/** How much of an upload that nobody wants any more is read, and for how long. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_MS = 120_000;

/**
 * Reads the rest of a body away whose answer has been given already. An upstream may answer (401, 413, 429) before it has
 * read a request; a client that writes its whole request before it reads would wait for ever, and the next request on
 * its connection stands behind the rest. Beyond the bounds the connection closes.
 */
export function readAway(req: IncomingMessage): void {
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
 * The body of a request as a stream of its own: whoever takes it may destroy it, and the client's connection lives on.
 *
 * @param start - what has been read of it already
 */
export function uploadOf(req: IncomingMessage, start: readonly Buffer[] = []): Readable {
  const { upload, begin } = heldUpload(req, start);
  begin();
  return upload;
}

/** As `uploadOf`, but nothing of it comes before `begin`. */
export function heldUpload(
  req: IncomingMessage,
  start: readonly Buffer[] = [],
): { readonly upload: Readable; readonly begin: () => void } {
  const upload = new PassThrough();
  upload.on('error', () => {}); // told to whoever sends it
  req.once('close', () => {
    if (!req.complete) upload.destroy(new Error('the client left'));
  });
  const begin = (): void => {
    for (const chunk of start) upload.write(chunk);
    req.pipe(upload);
  };
  return { upload, begin };
}
