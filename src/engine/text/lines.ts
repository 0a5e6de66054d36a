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

/** Counts the lines of a text without storing offsets, because there may be tens of millions. */
export function countLines(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) === LINE_FEED) count++;
  return text.length > 0 && text.charCodeAt(text.length - 1) !== LINE_FEED ? count + 1 : count;
}

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
    at = endOfLine(text, at);
  }
  starts[count] = text.length;
  return { text, count, starts: starts.slice(0, count + 1) };
}

/** Number of characters checked one by one before calling `indexOf`, whose overhead dominates for very short lines. */
const NEAR_UNITS = 4;

/** The offset of the next line, or the end of the text. */
function endOfLine(text: string, from: number): number {
  const near = Math.min(from + NEAR_UNITS, text.length);
  for (let at = from; at < near; at++) if (text.charCodeAt(at) === LINE_FEED) return at + 1;
  const lf = text.indexOf('\n', near);
  return lf < 0 ? text.length : lf + 1;
}

/** Offset of the first character of a line; `line` is 1-based and may be `count + 1` (the end of the text). */
export function startOf(lines: Lines, line: number): number {
  return lines.starts[line - 1] ?? lines.text.length;
}

/** A line with its line ending, byte for byte. */
export function rawLine(lines: Lines, line: number): string {
  return lines.text.slice(startOf(lines, line), startOf(lines, line + 1));
}

/** A line without its LF. A preceding CR is part of the line and stays. */
export function lineAt(lines: Lines, line: number): string {
  const end = startOf(lines, line + 1);
  const hasLf = end > startOf(lines, line) && lines.text.charCodeAt(end - 1) === LINE_FEED;
  return lines.text.slice(startOf(lines, line), hasLf ? end - 1 : end);
}
