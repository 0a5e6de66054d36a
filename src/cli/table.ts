import stringWidth from 'string-width';
import type { Io } from './command.ts';

/** Output to a file or pipe is not wrapped. */
const UNLIMITED = Number.POSITIVE_INFINITY;
/** Minimum wrap width; narrower text would be a column of single words. */
const LEAST_COLUMNS = 30;

/**
 * Wraps a text to the terminal width.
 *
 * @param prefix - prefix of each line; `rest` is used for all but the first
 */
export function wrapped(text: string, prefix: string, io: Pick<Io, 'columns' | 'asTyped'>, rest = prefix): string {
  const width = io.columns === undefined ? UNLIMITED : Math.max(io.columns, LEAST_COLUMNS);
  return `${filled((io.asTyped?.(text) ?? text).split(' '), width, prefix, rest)}\n`;
}

interface TableOptions {
  /**
   * Number of leading columns that contain words. They are left-aligned, and repeated in each part of a split table.
   */
  readonly textColumns?: number;
  /** Terminal width in columns; if absent, the table is not split. */
  readonly width?: number | undefined;
}

/**
 * Rows of cells as aligned columns. A table wider than the terminal is split by columns into parts below each other,
 * each starting with the word columns.
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
/** Minimum width of a word column. */
const LEAST_WORD = 8;
/** Maximum share of a line for word columns if the table must be split. */
const WORDS_SHARE = 0.5;

/** Column widths: words are truncated until the widest figure fits beside them. */
function fittedWidths(widths: readonly number[], textColumns: number, width: number): number[] {
  const whole = widths.reduce((sum, wide) => sum + wide + GAP, -GAP);
  // in a split table, long names leave room for more than one figure
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

function padding(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - stringWidth(text)));
}

/** Fits a text to exactly `width` columns. Drops whole characters, some of which are two columns wide. */
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

/** Drops an incomplete last word; names without blanks stay unchanged. */
function wholeWords(start: string, rest: string): string {
  const blank = start.lastIndexOf(' ');
  return /^\s/.test(rest) || blank < start.length / 2 ? start.trimEnd() : start.slice(0, blank);
}

export function clipped(text: string, width: number | undefined): string {
  return width === undefined || stringWidth(text) <= width ? text : short(text, width).trimEnd();
}

const characters = new Intl.Segmenter();

/** Wraps text at blanks to at most `width` columns; lines after the first are indented by `indent` blanks. */
export function wrap(text: string, width: number | undefined, indent = 0): string {
  if (width === undefined || stringWidth(text) <= width) return text;
  return filled(text.split(/(?<=\S) /), Math.max(width, indent + 20), '', ' '.repeat(indent));
}

/** Fills lines of at most `width` columns with words; `first` prefixes the first line, `rest` all others. */
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
