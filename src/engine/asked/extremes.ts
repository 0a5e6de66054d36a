import type { GoalTerm } from '../goal/terms.ts';
import { scanWords } from '../goal/words.ts';
import type { View } from '../text/view.ts';
import { type Clock, orderOf } from './clocks.ts';
import { linesWithWord } from './literals.ts';
import { inBaseUnits, type Point, type Series } from './series.ts';
import type { Limit, NumberQuestion, OrderQuestion } from './superlatives.ts';

/** Lists of lines that hold the extremes that a goal asks for, the surest list first. */
export function extremes(series: readonly Series[], question: NumberQuestion, terms: readonly GoalTerm[]): number[][] {
  const named = series.filter(({ name }) => isNamed(name, terms));
  const measured = question.measure === '' ? [] : series.filter(({ measure }) => measure === question.measure);
  const both = named.filter((one) => measured.includes(one));
  const meant = [both, named, measured].find((list) => list.length > 0) ?? series;
  const limited = question.limits.map((limit) =>
    beyond(meant === series ? series : [...meant, ...measuredLike(series, limit)], limit),
  );
  if (!question.most && !question.least) return limited;
  const others = meant === series ? [] : series.filter((one) => !meant.includes(one));
  return [
    ...limited,
    ...meant.map((one) => ends(one, question, question.count)),
    // the words may mean another column than the one they seem to name
    ...others.map((one) => ends(one, question, 1)),
  ];
}

function measuredLike(series: readonly Series[], { measure }: Limit): Series[] {
  return measure === '' ? [] : series.filter((one) => one.measure === measure);
}

function isNamed(name: string, terms: readonly GoalTerm[]): boolean {
  if (name === '') return false;
  let named = false;
  scanWords(name, 0, name.length, (hash) => {
    named ||= terms.some((term) => term.hash === hash);
  });
  return named;
}

/** The lines at the ends of a series. A rate is high where its time is short. */
function ends({ points, measure }: Series, question: NumberQuestion, count: number): number[] {
  const turned = measure === 'rate' && question.measure === 'time';
  const [high, low] = turned ? [question.least, question.most] : [question.most, question.least];
  const sorted = points.toSorted((a, b) => b.value - a.value || a.i - b.i);
  // where all values are equal there is no extreme
  if (sorted[0]?.value === sorted.at(-1)?.value) return [];
  return [...(high ? sorted.slice(0, count) : []), ...(low ? sorted.slice(-count) : [])].map(({ i }) => i);
}

/** The lines of values beyond a limit, the farthest first. */
function beyond(series: readonly Series[], { above, value: limit, measure }: Limit): number[] {
  const found = series.flatMap((one): readonly Point[] => {
    if (measure !== '' && one.measure !== measure) return [];
    const points = measure === '' ? one.points : inBaseUnits(one);
    return points.filter(({ value }) => (above ? value > limit : value < limit));
  });
  return found.toSorted((a, b) => (above ? b.value - a.value : a.value - b.value) || a.i - b.i).map(({ i }) => i);
}

/** Lines at either end of the order in time. Set by hand. */
const FEW = 2;

/** The lines with the oldest or newest clocks, and the first or last lines that hold what is asked for. */
export function ordered(
  view: View,
  clocks: readonly (readonly Clock[])[],
  { first, last, of }: OrderQuestion,
): number[][] {
  const dated = clocks.flatMap(([clock], i) => (clock === undefined ? [] : [{ i, at: orderOf(clock) }]));
  const sorted = dated.toSorted((a, b) => a.at - b.at || a.i - b.i);
  const rising = sorted.every(({ i }, k) => i === dated[k]?.i);
  const lists: number[][] = [];
  // in a log the first and the last line are the extremes, and stay without this
  if (!rising && first) lists.push(sorted.slice(0, FEW).map(({ i }) => i));
  if (!rising && last) lists.push(sorted.slice(-FEW).map(({ i }) => i));
  for (const word of of.slice(0, 8)) {
    const lines = linesWithWord(view, word.length > 4 ? word.replace(/(?:es|s)$/, '') : word);
    if (lines.length === 0 || lines.length > view.n / 2) continue;
    if (first) lists.push(lines.slice(0, FEW));
    if (last) lists.push(lines.slice(-FEW));
    break;
  }
  return lists;
}
