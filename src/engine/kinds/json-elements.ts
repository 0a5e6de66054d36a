import { CLOSING_BRACE, CLOSING_SQUARE, OPENING_BRACE, OPENING_SQUARE } from '../text/chars.ts';
import { isBlankLine, type View } from '../text/view.ts';
import type { Span } from './kind.ts';

/** The division of pretty-printed JSON into elements. */
interface Elements {
  /** Number of each line's element, ascending. */
  readonly element: Int32Array;
  readonly count: number;
  /** 1 for lines that open or close a subdivided element; they carry the structure. */
  readonly frame: Uint8Array;
  /** First and last lines of the subdivided elements, outer ones first; without the text itself. */
  readonly divided: readonly Span[];
}

/** Maximum length of an undivided element, in lines. Set by hand: a record is read as a whole. */
const MOST_LINES = 24;

/**
 * Divides pretty-printed JSON into elements on lines of their own, by indentation: an element ends with the closing
 * bracket at the depth of its first line, or on its first line if that opens no bracket.
 */
export function findElements(view: View): Elements {
  const known = found.get(view);
  if (known) return known;
  const elements = divide(view);
  found.set(view, elements);
  return elements;
}

/** Elements per text, cached because both blocks and protection need them. */
const found = new WeakMap<View, Elements>();

function divide(view: View): Elements {
  const n = view.n;
  const element = new Int32Array(n);
  const frame = new Uint8Array(n);
  const end = elementEnds(view);
  const divided: Span[] = [];
  let count = 0;
  for (let i = 0; i < n; ) {
    const last = end[i] ?? i;
    const lines = last - i + 1;
    element.fill(count++, i, last + 1);
    if (lines <= MOST_LINES && i > 0) {
      i = last + 1;
      continue;
    }
    // a subdivided element: its first and last lines stay, and the lines between are divided in turn
    if (lines > 1 || i === 0) {
      frame[i] = 1;
      frame[last] = 1;
      if (i > 0) divided.push({ from: i, to: last });
    }
    i++;
  }
  return { element, count, frame, divided };
}

/** Index of the last line of the element that begins on each line. */
function elementEnds(view: View): Int32Array {
  const end = new Int32Array(view.n);
  const open: number[] = [];
  for (let i = 0; i < view.n; i++) {
    end[i] = i;
    if (isBlankLine(view, i)) continue;
    const indent = view.indent[i] ?? 0;
    const first = view.text.charCodeAt(view.firstNonBlank[i] ?? 0);
    const closes = first === CLOSING_BRACE || first === CLOSING_SQUARE;
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const depth = view.indent[top] ?? 0;
      if (depth < indent) break;
      open.pop();
      if (depth === indent && closes) {
        end[top] = i;
        break;
      }
    }
    const last = view.text.charCodeAt((view.to[i] ?? 1) - 1);
    if (last === OPENING_BRACE || last === OPENING_SQUARE) open.push(i);
  }
  return end;
}
