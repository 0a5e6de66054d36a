import { createReadStream } from 'node:fs';

const LINE_FEED = 0x0a;
/** Maximum line length. Set by hand: no model accepts a longer message. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;

/**
 * Streams the lines of a file. Skips empty lines, and lines longer than `maxLineBytes` without buffering them.
 *
 * @param onRead - called with the number of bytes read so far
 */
export async function* linesOf(
  path: string,
  onRead: (bytes: number) => void,
  maxLineBytes = MAX_LINE_BYTES,
): AsyncGenerator<string> {
  let pieces: Buffer[] = [];
  let size = 0;
  let read = 0;
  const take = (): string | null => {
    const line = size > maxLineBytes ? null : Buffer.concat(pieces).toString('utf8');
    pieces = [];
    size = 0;
    return line;
  };
  const add = (piece: Buffer): void => {
    size += piece.length;
    if (size > maxLineBytes) pieces = [];
    else pieces.push(piece);
  };
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>) {
    read += chunk.length;
    onRead(read);
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      add(chunk.subarray(from, end));
      from = end + 1;
      const line = take();
      if (line !== null && line !== '') yield line;
    }
    if (from < chunk.length) add(chunk.subarray(from));
  }
  const last = take();
  if (last !== null && last !== '') yield last;
}
