import { BAR, COMMA, DOT, isDigit, OPENING_BRACKET, PERCENT, QUOTE, SPACE, TAB } from '../../text/chars.ts';
import { isBlankLine, type View } from '../../text/view.ts';
import { isBoxBar, keyEnd, type Layout, READ_CHARS, type RowGroup } from './layout.ts';

/** How values are assigned to columns: by their index in the row, or by the position at which they begin or end. */
type Assignment = 'number' | 'begin' | 'end';

export interface Columns {
  readonly assignment: Assignment;
  /** Column index by the number or position of a value; -1 for none. */
  readonly index: Int16Array;
  readonly count: number;
}

/** Called with the index of a value in its row, and its offsets in the text. */
type ValueVisitor = (k: number, start: number, end: number) => void;

/** Number of rows examined to find columns. Set by hand, like all below. */
const SAMPLE = 48;
/** Minimum share of sampled rows that must have a column. */
const MOST_HAVE = 0.9;
/** Maximum number of compared columns. */
const MOST_COLUMNS = 24;

/** Finds the columns of a group; aligned rows have several assignments. */
export function columnsOf(view: View, group: RowGroup): Columns[] {
  const { layout, rows } = group;
  const step = Math.max(1, Math.floor(rows.length / SAMPLE));
  const sample = rows.filter((_, k) => k % step === 0);
  const most = Math.ceil(sample.length * MOST_HAVE);
  const assignments: readonly Assignment[] = layout === 'aligned' ? ['begin', 'end', 'number'] : ['number'];
  return assignments.flatMap((assignment) => {
    const counts = new Int32Array(READ_CHARS + 2);
    for (const i of sample) {
      eachValue(view, i, layout, (k, start, end) => {
        const place = placeOf(assignment, k, start - (view.from[i] ?? 0), end - (view.from[i] ?? 0));
        counts[place] = (counts[place] ?? 0) + 1;
      });
    }
    const index = new Int16Array(READ_CHARS + 2).fill(-1);
    let count = 0;
    for (let place = 0; place <= READ_CHARS && count < MOST_COLUMNS; place++)
      if ((counts[place] ?? 0) >= most) index[place] = count++;
    return count === 0 ? [] : [{ assignment, index, count }];
  });
}

function placeOf(assignment: Assignment, k: number, start: number, end: number): number {
  return Math.min(READ_CHARS + 1, assignment === 'number' ? k : assignment === 'begin' ? start : end);
}

/** Calls `found` for each value that belongs to a column; `k` is the column index. */
export function eachColumn(view: View, i: number, { layout }: RowGroup, columns: Columns, found: ValueVisitor): void {
  const origin = view.from[i] ?? 0;
  const { assignment, index } = columns;
  eachValue(view, i, layout, (k, start, end) => {
    const column = index[placeOf(assignment, k, start - origin, end - origin)] ?? -1;
    if (column >= 0) found(column, start, end);
  });
}

/** The headings of a group's columns: cells of the first rows, or above them, that begin with a letter. */
export function columnNames(view: View, group: RowGroup, columns: Columns, first: number): Map<number, string> {
  const [head = 0] = group.rows;
  const names = new Map<number, string>();
  for (const i of [head, head - 1, head - 2, first]) {
    if (i < 0 || isBlankLine(view, i)) continue;
    eachColumn(view, i, group, columns, (k, start, end) => {
      const name = view.text.slice(start, Math.min(end, start + READ_CHARS));
      if (!names.has(k) && /^\W?\s?\p{L}/u.test(name)) names.set(k, name);
    });
  }
  return names;
}

export function valueCount(view: View, i: number, layout: Layout): number {
  let count = 0;
  eachValue(view, i, layout, () => count++);
  return count;
}

function isBlank(code: number | undefined): boolean {
  return code === SPACE || code === TAB;
}

/** Calls `found` for each value of a row: a word, a cell between separators, or the text after a key. */
function eachValue({ text, codes, firstNonBlank, to }: View, i: number, layout: Layout, found: ValueVisitor): void {
  const first = firstNonBlank[i] ?? 0;
  const last = Math.min(to[i] ?? 0, first + READ_CHARS);
  let k = 0;
  if (layout === 'words' || layout === 'aligned') {
    for (let at = first; at < last; ) {
      const start = at;
      while (at < last && !isBlank(codes[at])) at++;
      found(k++, start, at);
      while (at < last && isBlank(codes[at])) at++;
    }
    return;
  }
  if (layout === 'key') {
    let start = keyEnd(text, first) + 1;
    while (start < last && isBlank(codes[start])) start++;
    if (start > first) found(0, start, Math.max(start, last));
    return;
  }
  let quoted = false;
  let start = first;
  for (let at = first; at <= last; at++) {
    const code = at < last ? (codes[at] ?? 0) : -1;
    if (code === QUOTE) quoted = !quoted;
    if (code >= 0 && (quoted || !separates(code, layout))) continue;
    let end = at;
    while (start < end && (isBlank(codes[start]) || codes[start] === QUOTE)) start++;
    while (end > start && (isBlank(codes[end - 1]) || codes[end - 1] === QUOTE)) end--;
    found(k++, start, end);
    start = at + 1;
  }
}

function separates(code: number, layout: Layout): boolean {
  if (layout === 'tabs') return code === TAB;
  return layout === 'commas' ? code === COMMA : code === BAR || isBoxBar(code);
}

/** Maximum length of a value that may be a state, in characters. */
const MAX_VALUE = 60;
const DASH = 45;

/** Hash of a value; in values of several words, all numbers hash alike. 0 for values that are too long. */
export function valueHash({ codes }: View, start: number, end: number): number {
  if (end - start > MAX_VALUE) return 0;
  let hash = 0x811c9dc5;
  let isPhrase = false;
  for (let at = start; at < end && !isPhrase; at++) isPhrase = isBlank(codes[at]);
  for (let at = start; at < end; at++) {
    let code = codes[at] ?? 0;
    if (isPhrase && isDigit(code)) {
      while (at + 1 < end && isDigit(codes[at + 1] ?? 0)) at++;
      code = 48;
    }
    hash = Math.imul(hash ^ code, 0x01000193);
  }
  return hash === 0 ? 1 : hash;
}

/** The number at the beginning of a value (`12`, `-3.5`, `98 %`, `5 (3d ago)`); NaN if there is none. */
export function numberIn({ text, codes }: View, start: number, end: number): number {
  let at = start;
  if (codes[at] === DASH) at++;
  const digits = at;
  while (at < end && isDigit(codes[at] ?? 0)) at++;
  if (at === digits) return Number.NaN;
  if (codes[at] === DOT && isDigit(codes[at + 1] ?? 0)) {
    at++;
    while (at < end && isDigit(codes[at] ?? 0)) at++;
  }
  const isWhole =
    at === end ||
    codes[at] === PERCENT ||
    codes[at] === OPENING_BRACKET ||
    isBlank(codes[at]) ||
    (codes[at] === COMMA && at + 1 === end);
  return isWhole ? Number(text.slice(start, at)) : Number.NaN;
}
