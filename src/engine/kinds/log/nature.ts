import { shortList } from '../../text/short-list.ts';
import { contentOf, isBlankLine } from '../../text/view.ts';
import type { CutNature, Reading, Span } from '../kind.ts';
import { possibleReports, reportBits, reportsIn } from './lines.ts';

const PASSED = reportBits('passed');
/** Number of examined lines of a cut. Set by hand: enough to classify most of it. */
const SAMPLE = 24;
/** Shortest run that is described as repeated, in lines. Set by hand. */
const LEAST_REPEATED = 6;
/** A cut counts as passed tests if at least one in this many lines reports a passed test. Set by hand. */
const ONE_IN = 3;
const READ_CHARS = 200;

/** Classifies a cut: passed tests, lines of one shape, or `null` if neither. */
export function natureOfCut(reading: Reading, run: Span): CutNature | null {
  if (reading.name === 'test-run' && mostlyPassed(reading, run)) return { is: 'passed-tests' };
  const like = newLines(reading, run) === 0 ? repeatedShape(reading, run) : '';
  return like === '' ? null : { is: 'repeated', like };
}

/** A shape counts as repeated from this frequency on. Set by hand, like the next. */
const REPEATED = 4;
/** A cut of repeated lines may contain at most this share of lines with a new shape; these are kept. */
const FEW_NEW = 0.2;

function isNew({ view, templates: { shape, count } }: Reading, i: number): boolean {
  return (count[shape[i] ?? 0] ?? 0) < REPEATED && !isBlankLine(view, i);
}

function newLines(reading: Reading, { from, to }: Span): number {
  let count = 0;
  for (let i = from; i <= to; i++) if (isNew(reading, i)) count++;
  return count;
}

/** Splits a cut of repeated lines to keep the few lines with a new shape. Other cuts are unchanged. */
export function withoutNewLines(reading: Reading, run: Span): readonly Span[] {
  const few = newLines(reading, run);
  if (few === 0 || few > (run.to - run.from + 1) * FEW_NEW || repeatedShape(reading, run) === '') return [run];
  if (reading.name === 'test-run' && mostlyPassed(reading, run)) return [run];
  const parts: { from: number; to: number }[] = [];
  let from = run.from;
  for (let i = run.from; i <= run.to + 1; i++) {
    if (i <= run.to && !isNew(reading, i)) continue;
    if (i > from) parts.push({ from, to: i - 1 });
    from = i + 1;
  }
  return parts;
}

function mostlyPassed({ view }: Reading, run: Span): boolean {
  const possible = possibleReports(view);
  const step = Math.max(1, Math.floor((run.to - run.from + 1) / SAMPLE));
  let seen = 0;
  let passed = 0;
  for (let i = run.from; i <= run.to; i += step) {
    seen++;
    if (reportsIn(view, i, (possible[i] ?? 0) & PASSED) !== 0) passed++;
  }
  return passed * ONE_IN >= seen;
}

/** Words of a line with the predominant shape of the run, or `''` if there is none. */
function repeatedShape({ view, templates }: Reading, run: Span): string {
  const lines = run.to - run.from + 1;
  if (lines < LEAST_REPEATED) return '';
  const counts = new Map<number, number>();
  const step = Math.max(1, Math.floor(lines / SAMPLE));
  let looked = 0;
  let best = -1;
  for (let i = run.from; i <= run.to; i += step) {
    const shape = templates.shape[i] ?? 0;
    const count = (counts.get(shape) ?? 0) + 1;
    counts.set(shape, count);
    looked++;
    if (best < 0 || count > (counts.get(templates.shape[best] ?? 0) ?? 0)) best = i;
  }
  if (best < 0 || (counts.get(templates.shape[best] ?? 0) ?? 0) * 2 < looked) return '';
  return shortList(contentOf(view, best, READ_CHARS).match(/(?<![\p{L}\d])[\p{L}_/][\p{L}\d_./-]{2,}/gu) ?? []);
}
