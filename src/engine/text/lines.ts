import { LINE_FEED } from './chars.ts';
/**
 * The line model (used everywhere): a line ends at LF; a final LF ends the last line and opens none; CR stays part of
 * its line; U+2028, FF and VT end nothing. The empty text has no lines.
 */
export interface Lines {
  readonly text: string;
  readonly count: number;
  /** `starts[i]` is the offset (UTF-16 units) of line i + 1; `starts[count]` is the text's length. */
  readonly starts: Uint32Array;
}

/** Finds where the lines of a text begin. */
export function splitLines(text: string): Lines {
  let starts = new Uint32Array(Math.max(16, text.length >> 5));
  let count = 0;
  let at = 0;
  while (at < text.length) {
    if (count + 1 >= starts.length) {
      const grown = new Uint32Array(starts.length * 2);
      grown.set(starts);
      starts = grown;
    }
    starts[count++] = at;
    const lf = text.indexOf('\n', at);
    at = lf < 0 ? text.length : lf + 1;
  }
  starts[count] = text.length;
  return { text, count, starts: starts.slice(0, count + 1) };
}

/** Offset of the first character of a line; `line` is 1-based and may be `count + 1` (the end of the text). */
export function startOf(lines: Lines, line: number): number {
  return lines.starts[line - 1] ?? lines.text.length;
}

/** A line with its ending, byte for byte as in the text. */
export function rawLine(lines: Lines, line: number): string {
  return lines.text.slice(startOf(lines, line), startOf(lines, line + 1));
}

/** A line without its LF. A CR before it stays: it is part of the line. */
export function lineAt(lines: Lines, line: number): string {
  const end = startOf(lines, line + 1);
  const hasLf = end > startOf(lines, line) && lines.text.charCodeAt(end - 1) === LINE_FEED;
  return lines.text.slice(startOf(lines, line), hasLf ? end - 1 : end);
}
