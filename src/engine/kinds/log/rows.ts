import { LinePattern } from '../../rules/matcher.ts';
import { COLON, isDigit, OPENING_BRACE } from '../../text/chars.ts';
import type { View } from '../../text/view.ts';
import type { Protectable } from '../kind.ts';
import { possibleReports, reportBits } from './lines.ts';

const PASSED = reportBits('passed');
/** Lines with a shape of at least this frequency are not table rows. Set by hand, like the next. */
const COMMON = 8;
/**
 * Lines of a build that are no rows: a command that Jenkins repeats, a message of Maven other than the result of a module
 * (`[INFO] shop-web ......... SKIPPED`).
 */
const SPOKEN = new LinePattern(/^\s*(?:> \S|\[[A-Z]{4,7}\] (?!.{0,200}\.{3} ))/);
const SPOKEN_CHARS = 300;
/** Number of leading characters of a line searched for its time. */
const TIME_CHARS = 28;

/**
 * Narrows down the lines that may be rows of states, because each is parsed: in a log, lines of a rare shape without a
 * time; in a test run, lines that do not report a passed test.
 */
export function mayBeRow(
  { view, templates: { shape, count } }: Pick<Protectable, 'view' | 'templates'>,
  name: string,
): (line: number) => boolean {
  if (name === 'build-log') return (i) => !SPOKEN.fits(view, i, SPOKEN_CHARS);
  if (name === 'test-run') {
    const possible = possibleReports(view);
    return (i) => ((possible[i] ?? 0) & PASSED) === 0;
  }
  return (i) => (count[shape[i] ?? 0] ?? 0) < COMMON && !isLogLine(view, i);
}

/** Whether a line begins with a time, or is JSON. */
function isLogLine({ codes, firstNonBlank, to }: View, i: number): boolean {
  const start = firstNonBlank[i] ?? 0;
  if (codes[start] === OPENING_BRACE) return true;
  const end = Math.min((to[i] ?? 0) - 1, start + TIME_CHARS);
  for (let at = start + 1; at < end; at++) {
    if (codes[at] === COLON && isDigit(codes[at - 1] ?? 0) && isDigit(codes[at + 1] ?? 0)) return true;
  }
  return false;
}
