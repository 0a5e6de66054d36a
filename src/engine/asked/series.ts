import { columnNames, columnsOf, eachColumn } from '../kinds/rows/columns.ts';
import { type RowGroup, rowGroups } from '../kinds/rows/layout.ts';
import { isBlankLine, type View } from '../text/view.ts';
import { type Amount, amountsIn, factorOfName, type Measure, measureOfName } from './amounts.ts';

/** Numbers of a text that can be compared: a column, the values of a key, or all durations. */
export interface Series {
  /** The column's heading or the key; `''` if there is none. */
  readonly name: string;
  readonly measure: Measure;
  readonly points: readonly Point[];
}

export interface Point {
  readonly i: number;
  readonly value: number;
}

/** Minimum number of values to compare. Set by hand, like the next two. */
const LEAST_POINTS = 4;
/** Maximum number of keys whose values are compared. */
const MOST_KEYS = 200;
/** Maximum number of words per line whose numbers are compared by their place. */
const MOST_WORDS = 16;
/** Characters read per value of a row, and per line. */
const CELL_CHARS = 40;
const LINE_CHARS = 1_000;

/** All comparable numbers of the lines `[first, end)`. */
export function seriesOf(view: View, first: number, end: number): Series[] {
  const byKey = new Map<string, { name: string; measure: Measure; points: Point[] }>();
  const add = (key: string, name: string, measure: Measure, i: number, value: number): void => {
    const series = byKey.get(key);
    if (series === undefined) {
      if (byKey.size < MOST_KEYS) byKey.set(key, { name, measure, points: [{ i, value }] });
    } else series.points.push({ i, value });
  };
  const byLine: AmountsByLine = new Map();
  for (let i = first; i < end; i++) {
    if (isBlankLine(view, i)) continue;
    const start = view.firstNonBlank[i] ?? 0;
    const stop = view.to[i] ?? 0;
    const line = view.text.slice(start, Math.min(stop, start + LINE_CHARS));
    const amounts = amountsIn(line);
    byLine.set(i, amounts);
    let words = 0;
    let read = 0;
    for (const amount of amounts) {
      const { name, measure, value } = amount;
      // a long cell moves the columns of its row, but not its words
      for (; read < amount.start; read++) if (line[read] === ' ' && line[read - 1] !== ' ') words++;
      if (words < MOST_WORDS && (amount.start === 0 || line[amount.start - 1] === ' '))
        add(`word ${words} ${measure}`, '', measure, i, value);
      if (name !== '') add(`key ${name} ${measure}`, name, measure || measureOfName(name), i, value);
      if (measure !== '') add(`unit ${measure}`, '', measure, i, value);
    }
    const trailing = amounts.at(-1);
    if (trailing?.end === stop - start) add('trailing', '', trailing.measure, i, trailing.value);
  }
  const columns = rowGroups(view, first, end, 'all', () => true).flatMap((group) =>
    group.layout === 'key' || group.rows.length < LEAST_POINTS ? [] : columnSeries(view, group, first, byLine),
  );
  return [...columns, ...byKey.values()].filter(({ points }) => points.length >= LEAST_POINTS);
}

/** The numbers of each line, by its index; offsets count from the first character that is not blank. */
type AmountsByLine = Map<number, readonly Amount[]>;

/** The number with which a value begins. */
function cellAmount(view: View, amounts: readonly Amount[], i: number, at: number, end: number): Amount | undefined {
  const origin = view.firstNonBlank[i] ?? 0;
  return amounts.find(({ start }) => start + origin >= at && start + origin <= at + 1 && start + origin < end);
}

function columnSeries(view: View, group: RowGroup, first: number, byLine: AmountsByLine): Series[] {
  return columnsOf(view, group).flatMap((columns) => {
    const points = Array.from({ length: columns.count }, (): Point[] => []);
    const measures = new Map<number, Measure>();
    for (const i of group.rows) {
      eachColumn(view, i, group, columns, (k, start, end) => {
        // commas separate values here, not thousands
        const amount =
          group.layout === 'commas'
            ? amountsIn(view.text.slice(start, Math.min(end, start + CELL_CHARS)), 1)[0]
            : cellAmount(view, byLine.get(i) ?? [], i, start, end);
        if (amount === undefined || (group.layout === 'commas' && amount.start > 1)) return;
        points[k]?.push({ i, value: amount.value });
        if (amount.measure !== '') measures.set(k, amount.measure);
      });
    }
    const names = columnNames(view, group, columns, first);
    return points.map((list, k) => {
      const name = names.get(k) ?? '';
      return { name, measure: measures.get(k) ?? measureOfName(name), points: list };
    });
  });
}

/** Values of a bare-number series in base units, if its name says the unit. */
export function inBaseUnits({ name, points }: Series): readonly Point[] {
  const factor = factorOfName(name);
  return factor === 1 ? points : points.map(({ i, value }) => ({ i, value: value * factor }));
}
