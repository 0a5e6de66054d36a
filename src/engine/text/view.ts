import { isBlankSign, isDigit, SPACE, TAB } from './chars.ts';
import { type Lines, lineAt, startOf } from './lines.ts';
import { estimateLines, estimateTokens } from './tokens.ts';

/** The engine's view of a text: the offsets of each line's content, without number prefix and line ending. */
export interface View {
  readonly lines: Lines;
  readonly text: string;
  /** The text's UTF-16 units. */
  readonly codes: Uint16Array;
  /** Estimated tokens of each line's content and line ending, without a tool's line number. */
  readonly tokens: Float64Array;
  /** Unrounded cost of whole lines, in thousandths of a token. */
  readonly costs: Float64Array;
  /** Offset after each line's number, from which tokens are counted, followed by the end of the text. */
  readonly contentStart: Uint32Array;
  /** Number of lines; arrays below are indexed from 0 for line 1. */
  readonly n: number;
  /** Offset after a number prefix (`12→`), where the content with its indentation begins. */
  readonly from: Uint32Array;
  /** Offset of the first non-blank character; equals `to` on a blank line. */
  readonly firstNonBlank: Uint32Array;
  /** Offset after the last non-blank character. */
  readonly to: Uint32Array;
  /** Columns of indentation (tabs to multiples of four), at most 255; blank lines take the next line's indentation. */
  readonly indent: Uint8Array;
  readonly numbered: boolean;
}

/** Columns of a tab. Set by hand: the usual indentation of code. */
const TAB_WIDTH = 4;
/** The deepest indentation that fits a byte. */
const DEEPEST = 255;

/** Creates the view of a text. The first `skip` lines are a client's header without numbers. */
export function viewText(text: string, skip: number): View {
  const codes = codesOf(text);
  const { count: n, starts, firstNonBlank, to, tokens, costs } = estimateLines(text, codes);
  const lines: Lines = { text, count: n, starts };
  const numbering = findNumbering(lines, skip);
  const numbered = numbering !== null;
  const from = numbered ? new Uint32Array(n) : starts.subarray(0, n);
  const contentStart = numbered ? starts.slice() : starts;
  const indent = new Uint8Array(n);
  const view = { lines, text, codes, tokens, costs, contentStart, n, from, firstNonBlank, to, indent, numbered };
  if (numbered) {
    skipNumbers(view, numbering.contentStart);
    discountNumbers(view, numbering);
  }
  measureIndents(view);
  return view;
}

/** Recomputes the tokens of numbered lines without their numbers. */
function discountNumbers({ text, lines: { starts }, to, contentStart, tokens }: View, numbering: Numbering): void {
  for (let i = 0; i < tokens.length; i++) {
    const start = starts[i] ?? 0;
    const at = numbering.contentStart(text, start, to[i] ?? 0);
    if (at === start) continue;
    contentStart[i] = at;
    tokens[i] = estimateTokens(text, at, starts[i + 1] ?? 0);
  }
}

/** The same view, with the content of every line starting after a tool's prefix. */
export function viewBehind(view: View, contentStart: Numbering['contentStart']): View {
  const { n } = view;
  const own = { from: new Uint32Array(n), firstNonBlank: new Uint32Array(n), indent: new Uint8Array(n) };
  const behind = { ...view, ...own, numbered: false };
  skipNumbers(behind, contentStart);
  measureIndents(behind);
  return behind;
}

/** Sets `from` to the offset after each number, and `firstNonBlank` to the first non-blank character from there on. */
function skipNumbers(view: View, contentStart: Numbering['contentStart']): void {
  const { text, codes, from, firstNonBlank, to } = view;
  const { starts } = view.lines;
  for (let i = 0; i < from.length; i++) {
    const end = to[i] ?? 0;
    // the tab after a blank line's number was trimmed, so the offset may exceed `end`
    let at = Math.min(end, contentStart(text, starts[i] ?? 0, end));
    from[i] = at;
    while (at < end && isBlankSign(codes[at] ?? 0)) at++;
    firstNonBlank[i] = at;
  }
}

function measureIndents({ codes, from, firstNonBlank, to, indent }: View): void {
  let column = 0;
  for (let i = indent.length - 1; i >= 0; i--) {
    const end = firstNonBlank[i] ?? 0;
    // a blank line takes the next line's indentation
    if (end !== to[i]) {
      column = 0;
      for (let at = from[i] ?? 0; at < end; at++)
        column = codes[at] === TAB ? column + TAB_WIDTH - (column % TAB_WIDTH) : column + 1;
    }
    indent[i] = Math.min(column, DEEPEST);
  }
}

/** Default for the maximum number of characters read per line. Set by hand. */
const CONTENT_CHARS = 400;

/** The content of line index `i`, at most `cap` characters. */
export function contentOf(view: View, i: number, cap = CONTENT_CHARS): string {
  const start = view.from[i] ?? 0;
  return view.text.slice(start, Math.min(view.to[i] ?? 0, start + cap));
}

/** Whether line index `i` is blank (after its number, if it has one). */
export function isBlankLine(view: View, i: number): boolean {
  return view.firstNonBlank[i] === view.to[i];
}

/** Whether line index `i` has a number; false outside the text. */
export function bearsNumber(view: View, i: number): boolean {
  return (view.from[i] ?? 0) > (view.lines.starts[i] ?? 0);
}

/** Whether line index `i` of a numbered text lacks a number, so that the tool must have added it. */
export function isUnnumbered(view: View, i: number): boolean {
  return view.numbered && !bearsNumber(view, i) && !isBlankLine(view, i);
}

/**
 * The line numbers that a tool printed before the lines of a text (`cat -n`, an agent's `12|`, `12: `, `12→`, `12. `).
 */
interface Numbering {
  /** What stands between a number and the content, without blanks around it. */
  readonly separator: string;
  /**
   * Offset after the number prefix of the line in `[start, end)`, or `start` if it has none. `end` excludes trailing
   * blanks, so the offset may exceed it if the line contains only the prefix.
   */
  contentStart(text: string, start: number, end: number): number;
}

/** Number of examined lines. Set by hand, like all below. */
const SAMPLE = 60;
/** Minimum number of lines; fewer may begin with consecutive numbers by chance. */
const LEAST_LINES = 3;
/** Minimum share of numbered lines, and among these, of consecutive numbers. */
const NUMBERED_SHARE = 0.8;
const CONSECUTIVE_SHARE = 0.9;
/**
 * Maximum number of blanks before a number, maximum characters read per line, and the pattern of a number with
 * separator.
 */
const MOST_BLANKS = 8;
const READ_CHARS = 24;
const PREFIX = /^ {0,8}(\d{1,7})(\t|→|: ?|\. ?|│ ?| ?\| ?| {2}|$)/;

/** Recognises consecutive numbers with a common separator at the beginning of most lines; otherwise `null`. */
export function findNumbering(lines: Lines, skip: number): Numbering | null {
  const first = Math.min(skip, lines.count);
  const last = Math.min(lines.count, first + SAMPLE);
  const looked = last - first;
  if (looked < LEAST_LINES) return null;
  const separators = new Map<string, number>();
  let consecutive = 0;
  let numbered = looked;
  let previous = -1;
  for (let line = first + 1; line <= last; line++) {
    const match = mayBeNumbered(lines.text, startOf(lines, line)) ? PREFIX.exec(beginningOf(lines, line)) : null;
    if (match === null) {
      numbered--;
      if (numbered < looked * NUMBERED_SHARE) return null;
      continue;
    }
    const number = Number(match[1]);
    if (number === previous + 1) consecutive++;
    previous = number;
    const separator = (match[2] ?? '').trim() || (match[2] ?? '');
    separators.set(separator, (separators.get(separator) ?? 0) + 1);
  }
  if (consecutive < (numbered - 1) * CONSECUTIVE_SHARE) return null;
  const [separator] = [...separators].filter(([s]) => s !== '').sort((a, b) => b[1] - a[1])[0] ?? [];
  if (separator === undefined) return null;
  return { separator, contentStart: (text, start, end) => behindPrefix(text, start, end, separator) };
}

function beginningOf(lines: Lines, line: number): string {
  return lineAt(lines, line).slice(0, READ_CHARS);
}

/** Whether a digit follows an offset, after at most eight blanks. */
function mayBeNumbered(text: string, start: number): boolean {
  let at = start;
  while (text.charCodeAt(at) === SPACE && at - start < MOST_BLANKS) at++;
  return isDigit(text.charCodeAt(at));
}

/** Separators that are followed by a blank. */
const PADDED: ReadonlySet<string> = new Set([':', '.', '|', '│']);

function behindPrefix(text: string, start: number, end: number, separator: string): number {
  let at = start;
  while (at < end && text.charCodeAt(at) === SPACE) at++;
  const digits = at;
  while (at < end && isDigit(text.charCodeAt(at))) at++;
  if (at === digits) return start;
  if (separator === '|' && text.charCodeAt(at) === SPACE) at++;
  if (!text.startsWith(separator, at)) return at === end ? end : start;
  at += separator.length;
  // a blank after the separator belongs to the prefix, except for `cat -n` and arrows
  return PADDED.has(separator) && text.charCodeAt(at) === SPACE && text.charCodeAt(at - 1) !== TAB ? at + 1 : at;
}

const LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The UTF-16 units of a text as a typed array, which is much faster to scan than the string. */
export function codesOf(text: string): Uint16Array {
  if (!LITTLE_ENDIAN) return Uint16Array.from(text.split(''), (unit) => unit.charCodeAt(0));
  const bytes = Buffer.from(text, 'utf16le');
  return new Uint16Array(bytes.buffer, bytes.byteOffset, text.length);
}

/** The division of a text into blocks. */
export interface Units {
  /** Block number of each line; blocks are contiguous and ascend from 0. */
  readonly unit: Int32Array;
  readonly count: number;
  /** Index of the enclosing block (a method's class) per block, or -1. */
  readonly parent: Int32Array;
  /** 1 if a line must not be separated from the preceding line (inside a fence, a hunk, an element). */
  readonly glued: Uint8Array;
  /** What each line declares, one of `DECLARED`; all 0 for texts other than code. */
  readonly declared: Uint8Array;
  /** 1 if a line opens a block: a declaration, a heading. */
  readonly head: Uint8Array;
}

/** Codes of what a line declares. */
export const DECLARED = { none: 0, import: 1, type: 2, function: 3 } as const;

/** Collects the blocks of a text, line by line. */
export class UnitBuilder {
  readonly unit: Int32Array;
  readonly glued: Uint8Array;
  readonly head: Uint8Array;
  declared: Uint8Array;
  readonly #parents: number[] = [];

  constructor(n: number) {
    this.unit = new Int32Array(n);
    this.glued = new Uint8Array(n);
    this.head = new Uint8Array(n);
    this.declared = new Uint8Array(n);
  }

  get last(): number {
    return this.#parents.length - 1;
  }

  open(parent: number): number {
    this.#parents.push(parent);
    return this.last;
  }

  done(): Units {
    const { unit, glued, head, declared } = this;
    return { unit, count: this.#parents.length, parent: Int32Array.from(this.#parents), glued, head, declared };
  }
}

/** Divides a text into blocks of equal length. */
export function evenUnits(n: number, lines: number): Units {
  const count = Math.max(1, Math.ceil(n / lines));
  const unit = new Int32Array(n);
  for (let i = 0; i < n; i++) unit[i] = Math.floor(i / lines);
  const parent = new Int32Array(count).fill(-1);
  return { unit, count, parent, glued: new Uint8Array(n), head: new Uint8Array(n), declared: new Uint8Array(n) };
}
