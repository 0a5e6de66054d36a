import { isBlankLine, type View } from '../../text/view.ts';
import type { Inner, Protect, RowScope } from '../kind.ts';
import { type Columns, columnNames, columnsOf, eachColumn, numberIn, valueCount, valueHash } from './columns.ts';
import { keyEnd, READ_CHARS, type RowGroup, rowGroups } from './layout.ts';
import {
  COUNTS_FAULTS,
  farNumbers,
  farthestNumbers,
  LEAST_NUMBERS as LEAST_FOR_COLUMNS,
  MOST_SHARE,
  MOST_VALUES,
  type NumberInRow,
  OF_STATE,
  RARE_ROWS,
  RARE_SHARE,
  USUAL_SHARE,
} from './numbers.ts';
import { FAILED_ROW, stateOf, UNFINISHED_ROW } from './state-words.ts';

/** Minimum number of rows of one layout for failure words to count. Set by hand, like all below. */
const LEAST_ROWS = 3;
/** Up to this many rows with failure words stay in any table. */
const FEW_FAILED = 5;
/** An unfinished state is unusual if it occurs in at most this share or number of rows. */
const UNFINISHED_SHARE = 0.05;
const UNFINISHED_ROWS = 3;
/** Numbers are treated like other values if nearly all rows share the same few. */
const FEW_NUMBERS = 3;
/** Maximum length of a row of plain words in which a failure word is a state, not part of a sentence; in words. */
const SHORT_ROW = 6;
/** Maximum length of a cell in which a failure word is a state, in words. */
const SHORT_CELL = 6;
/** Maximum number of continuation lines kept with a row, and of lines of a record. */
const MOST_CONTINUED = 8;
const MOST_RECORD = 16;

/**
 * Keeps rows that stand out among similar rows: by a rare value in a column with few values, by a word for a failed or
 * unfinished state, or by an outlier in a column of state numbers. Columns are derived from the rows. Continuation
 * lines stay with their row.
 *
 * @param isCandidate - whether a line may be a row. Default: all.
 */
export function protectRows(
  view: View,
  { first, end }: Inner,
  scope: Exclude<RowScope, 'none'>,
  protect: Protect,
  isCandidate: (line: number) => boolean = () => true,
): void {
  const groups = rowGroups(view, first, end, scope, isCandidate);
  const isRow = new Uint8Array(view.n);
  for (const { rows } of groups) if (rows.length >= LEAST_FOR_COLUMNS) for (const i of rows) isRow[i] = 1;
  for (const i of oddLines(groups)) protect(i, 'state');
  // short rows of plain words differ in their number of words
  const short = groups.filter(({ layout }) => layout === 'words').flatMap(({ rows }) => rows);
  for (const i of statedRows(view, { layout: 'words', words: 0, rows: short })) protect(i, 'state');
  // rows that an overflowing cell shifts have a layout of their own
  const few = groups.filter(({ layout, rows }) => layout === 'aligned' && rows.length < LEAST_ROWS);
  for (const i of statedRows(view, { layout: 'aligned', words: 0, rows: few.flatMap(({ rows }) => rows) }))
    protect(i, 'state');
  for (const group of groups) {
    if (group.rows.length < LEAST_ROWS) continue;
    const keep = (i: number, rule: 'state' | 'outlier'): void => {
      protect(i, rule);
      if (group.layout === 'key') keepRecord(view, i, first, end, protect);
      else keepContinued(view, group, i, end, isRow, protect);
    };
    // JSON has its own rules for failures
    if (group.layout !== 'words' && scope !== 'keys') for (const i of statedRows(view, group)) keep(i, 'state');
    if (group.rows.length < LEAST_FOR_COLUMNS) continue;
    if (group.layout === 'aligned') for (const i of unevenRows(view, group)) keep(i, 'state');
    const columns = columnsOf(view, group);
    for (const i of rareRows(view, group, columns)) keep(i, 'state');
    if (group.layout === 'tabs') {
      // cells may contain several columns of words
      const words: RowGroup = { ...group, layout: 'words' };
      for (const i of rareRows(view, words, columnsOf(view, words))) keep(i, 'state');
    }
    for (const i of outlyingRows(view, group, columns, first)) keep(i, 'outlier');
  }
}

/** Minimum share of the predominant layout; the few other rows are then unusual. */
const MAIN_SHARE = 0.9;

/** Rows with this many words are not sentences. */
const FEW_WORDS = 3;

/** The few lines whose layout differs from nearly all others. */
function oddLines(groups: readonly RowGroup[]): number[] {
  const layouts = groups.filter(({ layout }) => layout !== 'key');
  const all = layouts.reduce((sum, { rows }) => sum + rows.length, 0);
  // long rows of plain words may be sentences, which vary in length
  const main = layouts.reduce((most, { layout, rows, words }) => {
    return layout === 'words' && words > FEW_WORDS ? most : Math.max(most, rows.length);
  }, 0);
  const odd = layouts.filter(({ rows }) => rows.length <= Math.max(RARE_ROWS, all * RARE_SHARE));
  return all < LEAST_FOR_COLUMNS || main < all * MAIN_SHARE ? [] : odd.flatMap(({ rows }) => rows);
}

/** The few rows with more or fewer values than nearly all others. */
function unevenRows(view: View, { layout, rows }: RowGroup): number[] {
  const byCount = new Map<number, number[]>();
  for (const i of rows) {
    const count = valueCount(view, i, layout);
    const found = byCount.get(count);
    if (found) found.push(i);
    else byCount.set(count, [i]);
  }
  const lists = [...byCount.values()];
  if (Math.max(...lists.map((list) => list.length)) < rows.length * MAIN_SHARE) return [];
  return lists.filter((list) => list.length <= Math.max(RARE_ROWS, rows.length * RARE_SHARE)).flat();
}

/** Rows with failure words, and rows with words for an unfinished state if these are few. */
function statedRows(view: View, { layout, rows }: RowGroup): number[] {
  if (layout === 'key' && rows.length < LEAST_FOR_COLUMNS) return [];
  const failed: number[] = [];
  const unfinished: number[] = [];
  for (const i of rows) {
    const start = view.firstNonBlank[i] ?? 0;
    const state = stateOf(view.text, view.codes, start, Math.min(view.to[i] ?? 0, start + READ_CHARS));
    if (state === 0 || !isState(view, i, layout)) continue;
    if (state === FAILED_ROW) failed.push(i);
    else if (state === UNFINISHED_ROW) unfinished.push(i);
  }
  const mayFail = failed.length <= Math.max(FEW_FAILED, rows.length * MOST_SHARE);
  const mayWait = unfinished.length <= Math.max(UNFINISHED_ROWS, rows.length * UNFINISHED_SHARE);
  return [...(mayFail ? failed : []), ...(mayWait ? unfinished : [])];
}

/** A state in brackets, as `git branch -vv` prints it before the text of a commit. */
const BRACKETED = /\[(?:[^\][\s]{1,200}: )?(?:gone|[^\][\s,\d]{2,12})\](?=\s|$)/;

/** Whether a row with a failure word consists of columns rather than of a sentence. */
function isState({ text, firstNonBlank, to }: View, i: number, layout: RowGroup['layout']): boolean {
  if (layout === 'bars' || layout === 'tabs' || layout === 'commas') return true;
  const row = text.slice(firstNonBlank[i], Math.min(to[i] ?? 0, (firstNonBlank[i] ?? 0) + READ_CHARS));
  if (BRACKETED.test(row)) return true;
  if (layout === 'words') return row.split(' ').length <= SHORT_ROW;
  const value = layout === 'key' ? row.slice(keyEnd(row, 0) + 1).trim() : row;
  return value.split(/ {2,}|\t/).some((part) => part.split(' ').length <= SHORT_CELL && stateOfText(part) !== 0);
}

function stateOfText(part: string): number {
  return stateOf(
    part,
    Uint16Array.from(part, (char) => char.charCodeAt(0)),
    0,
    part.length,
  );
}

/** Rows with a rare value in some column, most regular columns first. */
function rareRows(view: View, group: RowGroup, columns: readonly Columns[]): Iterable<number> {
  const { rows } = group;
  const found = columns
    .filter(({ assignment }) => assignment !== 'end')
    .flatMap((one) => rareInColumns(view, group, one))
    .sort((a, b) => a.length - b.length);
  const all = new Set<number>();
  for (const list of found) {
    const added = list.filter((i) => !all.has(i));
    if (all.size + added.length > rows.length * MOST_SHARE) break;
    for (const i of added) all.add(i);
  }
  return all;
}

/** Number of rows after which a column of states is expected to have shown all common values. */
const WARM_UP = 64;

interface ColumnValues {
  readonly counts: Map<number, number>;
  /** Hashes by row, 0 for none. */
  readonly values: Int32Array;
  numbers: number;
}

/** Rows with a rare value, per column of states. */
function rareInColumns(view: View, group: RowGroup, columns: Columns): number[][] {
  const { rows } = group;
  const open = new Map<number, ColumnValues>();
  for (let k = 0; k < columns.count; k++)
    open.set(k, { counts: new Map(), values: new Int32Array(rows.length), numbers: 0 });
  for (let row = 0; row < rows.length && open.size > 0; row++) {
    const most = Math.min(MOST_VALUES, row < WARM_UP ? MOST_VALUES / 2 + row / 4 : MOST_VALUES);
    eachColumn(view, rows[row] ?? 0, group, columns, (k, start, end) => {
      const seen = open.get(k);
      const value = seen ? valueHash(view, start, end) : 0;
      if (!seen || value === 0) return;
      seen.values[row] = value;
      if (isAmount(view, start, end)) seen.numbers++;
      seen.counts.set(value, (seen.counts.get(value) ?? 0) + 1);
      if (seen.counts.size > most) open.delete(k);
    });
  }
  const rare = Math.max(rows.length < 2 * LEAST_FOR_COLUMNS ? 1 : RARE_ROWS, Math.floor(rows.length * RARE_SHARE));
  return [...open.values()].map(({ counts, values, numbers }) => {
    // for numbers, distance says more than frequency
    if (numbers * 2 > rows.length && counts.size > FEW_NUMBERS) return [];
    let usual = 0;
    for (const count of counts.values()) if (count > rare) usual += count;
    if (usual < rows.length * USUAL_SHARE) return [];
    return rows.filter((_, row) => values[row] !== 0 && (counts.get(values[row] ?? 0) ?? 0) <= rare);
  });
}

/** Whether a value is a number, except three-digit codes such as an HTTP status. */
function isAmount(view: View, start: number, end: number): boolean {
  const first = view.codes[start] ?? 0;
  return !(end - start === 3 && first >= 49 && first <= 53) && !Number.isNaN(numberIn(view, start, end));
}

function outlyingRows(view: View, group: RowGroup, columns: readonly Columns[], first: number): number[] {
  return columns.flatMap((one) => {
    const names = columnNames(view, group, one, first);
    return Array.from({ length: one.count }, (_, k) => k).flatMap((k) => {
      const numbers = numbersIn(view, group, one, k);
      const name = names.get(k) ?? '';
      const faults = COUNTS_FAULTS.test(name);
      return faults || OF_STATE.test(name) ? farNumbers(numbers, faults) : farthestNumbers(numbers);
    });
  });
}

function numbersIn(view: View, group: RowGroup, columns: Columns, column: number): NumberInRow[] {
  const numbers: NumberInRow[] = [];
  for (const i of group.rows) {
    eachColumn(view, i, group, columns, (k, start, end) => {
      const value = k === column ? numberIn(view, start, end) : Number.NaN;
      if (!Number.isNaN(value)) numbers.push({ i, value });
    });
  }
  return numbers;
}

/** Keeps continuation lines below a row: indented deeper, or with an empty first cell. */
function keepContinued(
  view: View,
  { layout }: RowGroup,
  i: number,
  end: number,
  isRow: Uint8Array,
  protect: Protect,
): void {
  const isPart = (line: number): boolean =>
    layout === 'bars'
      ? /^\s*[|│┃║]\s+[|│┃║]/.test(view.text.slice(view.from[line], view.to[line]))
      : isRow[line] === 0 && (view.indent[line] ?? 0) > (view.indent[i] ?? 0);
  if (layout === 'bars' && isPart(i)) {
    for (let line = i - 1; line >= Math.max(0, i - MOST_CONTINUED); line--) {
      protect(line, 'state');
      if (!isPart(line)) break;
    }
  }
  for (let line = i + 1; line < Math.min(end, i + 1 + MOST_CONTINUED); line++) {
    if (isBlankLine(view, line) || !isPart(line)) return;
    protect(line, 'state');
  }
}

/** Keeps the lines of a short record around one of its fields: those between blank lines. */
function keepRecord(view: View, i: number, first: number, end: number, protect: Protect): void {
  let from = i;
  while (from > first && !isBlankLine(view, from - 1) && i - from < MOST_RECORD) from--;
  let to = i;
  while (to + 1 < end && !isBlankLine(view, to + 1) && to - from < MOST_RECORD) to++;
  if (to - from < MOST_RECORD) {
    for (let line = from; line <= to; line++) protect(line, 'state');
    return;
  }
  // without blank lines, the nearest less indented line opens the record
  const indent = view.indent[i] ?? 0;
  for (let line = i - 1; line >= Math.max(first, i - MOST_RECORD); line--) {
    if ((view.indent[line] ?? 0) < indent) {
      protect(line, 'state');
      return;
    }
  }
}
