import { shortList } from '../../text/short-list.ts';
import { contentOf } from '../../text/view.ts';
import type { CutNature, Reading, Span } from '../kind.ts';
import { possibleReports, reportBits, reportsIn } from './lines.ts';

const PASSED = reportBits('passed');
/** Lines of a cut that are examined. Chosen: enough to know what most of them are. */
const SAMPLE = 24;
/** Shortest run that is described as repeated, in lines. Chosen. */
const LEAST_REPEATED = 6;
/**
 * A cut counts as passed tests if at least one in this many lines reports a passed test; the other lines belong to
 * those tests. Chosen.
 */
const ONE_IN = 3;
const READ_CHARS = 200;

/** Returns what a cut contained: passed tests or lines of one shape, or `null` if neither. */
export function natureOfCut(reading: Reading, run: Span): CutNature | null {
  if (reading.name === 'test-run' && mostlyPassed(reading, run)) return { is: 'passed-tests' };
  const like = repeatedShape(reading, run);
  return like === '' ? null : { is: 'repeated', like };
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

/** Words of a line whose shape most lines of the run share, or `''`. */
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
