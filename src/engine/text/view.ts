import { isBlankSign, TAB } from './chars.ts';
import { codesOf } from './codes.ts';
import type { Lines } from './lines.ts';
import { findNumbering, type Numbering } from './numbering.ts';
import { estimateLines, estimateTokens } from './tokens.ts';

/** A text as the engine looks at it: where each line's judged content lies, without number prefix and line ending. */
export interface View {
  readonly lines: Lines;
  readonly text: string;
  /** The text's UTF-16 units. */
  readonly codes: Uint16Array;
  /** Estimated tokens of each line's judged content with its ending: a number in front is what a tool added, and counts for nothing. */
  readonly tokens: Float64Array;
  /** The same of whole lines, unrounded, in thousandths. */
  readonly costs: Float64Array;
  /** Where the judged content of each line begins, beyond its last sign where it has none; and at last where the text ends. */
  readonly judged: Uint32Array;
  /** Number of lines; arrays below are indexed from 0 for line 1. */
  readonly n: number;
  /** Offset behind a number prefix (`12→`), where the content with its indentation begins. */
  readonly from: Uint32Array;
  /** Offset of the first character that is no blank; equals `to` on a blank line. */
  readonly firstNonBlank: Uint32Array;
  /** Offset behind the last character that is no blank. */
  readonly to: Uint32Array;
  /** Columns of indentation, tabs to the next multiple of four, at most 255; blank lines take the next line's. */
  readonly indent: Uint8Array;
  /** Whether the lines carry number prefixes. */
  readonly numbered: boolean;
}

/** Columns of a tab. Chosen: what most code is indented by. */
const TAB_WIDTH = 4;
/** The deepest indentation that fits a byte. */
const DEEPEST = 255;

/** Lays out a text; `skip` lines at the head are a client's frame and carry no number. */
export function viewText(text: string, skip: number): View {
  const codes = codesOf(text);
  const { count: n, starts, firstNonBlank, to, tokens, costs } = estimateLines(text, codes);
  const lines: Lines = { text, count: n, starts };
  const numbering = findNumbering(lines, skip);
  const numbered = numbering !== null;
  const from = numbered ? new Uint32Array(n) : starts.subarray(0, n);
  const judged = numbered ? starts.slice() : starts;
  if (numbered) {
    skipNumbers(text, codes, starts, numbering, from, firstNonBlank, to);
    judgeContent(text, starts, numbering, to, judged, tokens);
  }
  const indent = new Uint8Array(n);
  measureIndents(codes, from, firstNonBlank, to, indent);
  return { lines, text, codes, tokens, costs, judged, n, from, firstNonBlank, to, indent, numbered };
}

/** Counts each numbered line without its number, as if it had none. */
function judgeContent(
  text: string,
  starts: Uint32Array,
  numbering: Numbering,
  to: Uint32Array,
  judged: Uint32Array,
  tokens: Float64Array,
): void {
  for (let i = 0; i < tokens.length; i++) {
    const start = starts[i] ?? 0;
    const at = numbering.contentStart(text, start, to[i] ?? 0);
    if (at === start) continue;
    judged[i] = at;
    tokens[i] = estimateTokens(text, at, starts[i + 1] ?? 0);
  }
}

/** The same text with every line judged from another offset on: behind what a tool put in front of it. */
export function viewBehind(view: View, contentStart: Numbering['contentStart']): View {
  const { text, codes, lines, n, to } = view;
  const from = new Uint32Array(n);
  const firstNonBlank = new Uint32Array(n);
  const indent = new Uint8Array(n);
  skipNumbers(text, codes, lines.starts, { contentStart }, from, firstNonBlank, to);
  measureIndents(codes, from, firstNonBlank, to, indent);
  return { ...view, from, firstNonBlank, indent, numbered: false };
}

/** Fills `from` with where the content behind each number begins, and moves `firstNonBlank` behind it. */
function skipNumbers(
  text: string,
  codes: Uint16Array,
  starts: Uint32Array,
  numbering: Numbering,
  from: Uint32Array,
  firstNonBlank: Uint32Array,
  to: Uint32Array,
): void {
  for (let i = 0; i < from.length; i++) {
    const end = to[i] ?? 0;
    // the tab behind the number of a blank line is trimmed
    let at = Math.min(end, numbering.contentStart(text, starts[i] ?? 0, end));
    from[i] = at;
    while (at < end && isBlankSign(codes[at] ?? 0)) at++;
    firstNonBlank[i] = at;
  }
}

function measureIndents(
  codes: Uint16Array,
  from: Uint32Array,
  firstNonBlank: Uint32Array,
  to: Uint32Array,
  indent: Uint8Array,
): void {
  let column = 0;
  for (let i = indent.length - 1; i >= 0; i--) {
    const end = firstNonBlank[i] ?? 0;
    // a blank line takes the next line's
    if (end !== to[i]) {
      column = 0;
      for (let at = from[i] ?? 0; at < end; at++)
        column = codes[at] === TAB ? column + TAB_WIDTH - (column % TAB_WIDTH) : column + 1;
    }
    indent[i] = Math.min(column, DEEPEST);
  }
}

/** What a line is shows within so many characters, where nothing else is said. Chosen. */
const CONTENT_CHARS = 400;

/** The judged content of line index `i`, at most `cap` characters of it. */
export function contentOf(view: View, i: number, cap = CONTENT_CHARS): string {
  const start = view.from[i] ?? 0;
  return view.text.slice(start, Math.min(view.to[i] ?? 0, start + cap));
}

/** Whether line index `i` holds nothing but blanks (behind its number, if it has one). */
export function isBlankLine(view: View, i: number): boolean {
  return view.firstNonBlank[i] === view.to[i];
}

/** Whether line index `i` bears a number; false outside the text. */
export function bearsNumber(view: View, i: number): boolean {
  return (view.from[i] ?? 0) > (view.lines.starts[i] ?? 0);
}

/** Whether line index `i` of a numbered text bears no number: the tool that numbered the others put it there itself. */
export function isUnnumbered(view: View, i: number): boolean {
  return view.numbered && !bearsNumber(view, i) && !isBlankLine(view, i);
}
