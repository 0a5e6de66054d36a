import type { Readable } from 'node:stream';

/** A line of the client, or what is known of one that is too long to be kept. */
export type Line =
  | { readonly tooLong: false; readonly bytes: Buffer }
  | { readonly tooLong: true; readonly bytes: null };

const LF = 0x0a;

/**
 * Cuts a stream of bytes into lines. The last one counts without its line end too. Ends with the stream; a stream that
 * breaks ends it as well, since a client that has gone needs no more.
 *
 * @param maxBytes - longer lines are skipped, so that a client cannot fill the memory with one
 */
export async function* readLines(input: Readable, maxBytes: number): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let size = 0;
  const line = (): Line => {
    const whole: Line =
      size > maxBytes ? { tooLong: true, bytes: null } : { tooLong: false, bytes: Buffer.concat(parts) };
    parts = [];
    size = 0;
    return whole;
  };
  const keep = (part: Buffer): void => {
    size += part.length;
    if (size <= maxBytes) parts.push(part);
    else parts = [];
  };

  try {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      let start = 0;
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
        keep(chunk.subarray(start, end));
        yield line();
        start = end + 1;
      }
      keep(chunk.subarray(start));
    }
  } catch {
    return; // the pipe broke
  }
  if (size > 0) yield line();
}
