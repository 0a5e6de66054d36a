import type { Readable } from 'node:stream';

/** A line of the client; without its bytes if it is too long to keep. */
export type Line =
  | { readonly tooLong: false; readonly bytes: Buffer }
  | { readonly tooLong: true; readonly bytes: null };

const LF = 0x0a;

/**
 * Splits a byte stream into lines. The last line needs no line end. Ends with the stream, also when it breaks, because
 * a client that has gone needs no answers.
 *
 * @param maxBytes - longer lines are skipped, so that no client can fill the memory with one line
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
