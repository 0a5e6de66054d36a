import stringWidth from 'string-width';
import type { Io } from './command.ts';

/** Where output goes to a file or a pipe no line is broken. */
const UNLIMITED = Number.POSITIVE_INFINITY;
/** Narrower than this a paragraph is a column of single words. */
const LEAST_COLUMNS = 30;

/**
 * A text in lines that fit the terminal.
 *
 * @param prefix - stands before each line; `rest` before all but the first
 */
export function wrapped(text: string, prefix: string, io: Pick<Io, 'columns'>, rest = prefix): string {
  const width = io.columns === undefined ? UNLIMITED : Math.max(io.columns, LEAST_COLUMNS);
  return `${filled(text.split(' '), width, prefix, rest)}\n`;
}

export interface TableOptions {
  /**
   * Number of leading columns that contain words. They are left-aligned and repeated in each part of a divided table.
   */
  readonly textColumns?: number;
  /** Maximum number of columns of the terminal in a line; if it is absent, the table is not divided. */
  readonly width?: number | undefined;
}

/**
 * Rows of cells as aligned columns. A table that is wider than the terminal is divided by columns into parts, one below
 * the other, each beginning with the word columns, so that no line wraps.
 */
export function table(rows: readonly (readonly string[])[], { textColumns = 1, width }: TableOptions = {}): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const whole = Array.from({ length: columns }, (_, i) => Math.max(...rows.map((row) => stringWidth(row[i] ?? ''))));
  const widths = fittedWidths(whole, textColumns, width ?? Number.POSITIVE_INFINITY);
  return parts(widths, textColumns, width ?? Number.POSITIVE_INFINITY)
    .map((shown) => rows.map((row) => line(row, shown, widths, textColumns)).join('\n'))
    .join('\n\n');
}

const GAP = 2;
/** A word column is made no narrower than this. */
const LEAST_WORD = 8;
/** The share of a line that word columns may take if the table must be divided. */
const WORDS_SHARE = 0.5;

/** Widths of columns: words are cut short until the widest figure fits next to them. */
function fittedWidths(widths: readonly number[], textColumns: number, width: number): number[] {
  const whole = widths.reduce((sum, wide) => sum + wide + GAP, -GAP);
  // in a table that must be divided, long names leave room for more than one figure beside them
  const isDivided = whole > width && widths.length > textColumns + 1;
  const most = isDivided ? Math.max(LEAST_WORD, Math.floor((WORDS_SHARE * width) / Math.max(1, textColumns))) : width;
  const fits = widths.map((wide, i) => (i < textColumns ? Math.min(wide, most) : wide));
  const figures = Math.max(0, ...widths.slice(textColumns));
  const excess = (): number => fits.slice(0, textColumns).reduce((sum, wide) => sum + wide + GAP, 0) + figures - width;
  while (excess() > 0) {
    const widest = fits.indexOf(Math.max(...fits.slice(0, textColumns)));
    const wide = fits[widest] ?? 0;
    if (widest < 0 || wide <= LEAST_WORD) break;
    fits[widest] = Math.max(LEAST_WORD, wide - excess());
  }
  return fits;
}

/** The columns of each part of the table. */
function parts(widths: readonly number[], textColumns: number, width: number): number[][] {
  const lead = widths.slice(0, textColumns).map((_, i) => i);
  const leadWidth = lead.reduce((sum, i) => sum + (widths[i] ?? 0) + GAP, 0);
  const all: number[][] = [];
  let part = [...lead];
  let used = leadWidth;
  for (let i = textColumns; i < widths.length; i++) {
    const wide = (widths[i] ?? 0) + GAP;
    if (part.length > lead.length && used + wide - GAP > width) {
      all.push(part);
      part = [...lead];
      used = leadWidth;
    }
    part.push(i);
    used += wide;
  }
  return [...all, part];
}

function line(row: readonly string[], shown: readonly number[], widths: readonly number[], words: number): string {
  return shown
    .map((i) =>
      i < words ? short(row[i] ?? '', widths[i] ?? 0) : padding(row[i] ?? '', widths[i] ?? 0) + (row[i] ?? ''),
    )
    .join(' '.repeat(GAP))
    .trimEnd();
}

/** The blanks that a text lacks to a width. */
function padding(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - stringWidth(text)));
}

/** A text of exactly `width` columns. Whole characters are left out, of which some take two columns. */
function short(text: string, width: number): string {
  if (stringWidth(text) <= width) return text + padding(text, width);
  let start = '';
  for (const { segment } of characters.segment(text)) {
    if (stringWidth(start + segment) > width - 1) break;
    start += segment;
  }
  const end = wholeWords(start, text.slice(start.length));
  return `${end}…${padding(`${end}…`, width)}`;
}

/** A beginning without its last word if that is incomplete; a name without blanks stays as it is. */
function wholeWords(start: string, rest: string): string {
  const blank = start.lastIndexOf(' ');
  return /^\s/.test(rest) || blank < start.length / 2 ? start.trimEnd() : start.slice(0, blank);
}

/** A line of at most `width` columns; the end of a longer one is left out. */
export function clipped(text: string, width: number | undefined): string {
  return width === undefined || stringWidth(text) <= width ? text : short(text, width).trimEnd();
}

const characters = new Intl.Segmenter();

/** Text in lines of at most `width` columns, broken at blanks; lines after the first begin with `indent` blanks. */
export function wrap(text: string, width: number | undefined, indent = 0): string {
  if (width === undefined || stringWidth(text) <= width) return text;
  return filled(text.split(/(?<=\S) /), Math.max(width, indent + 20), '', ' '.repeat(indent));
}

/** Words in lines of at most `width` columns if they fit; `first` begins the first line, `rest` each further one. */
export function filled(words: readonly string[], width: number, first: string, rest: string): string {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of words) {
    if (!isEmpty && stringWidth(line) + 1 + stringWidth(word) > width) {
      lines.push(line);
      line = rest;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line].join('\n');
}
