import { rankByMeasures } from '../../rank/prose.ts';
import { LOG_WEIGHTS } from '../../rank/weights.ts';
import { evenUnits } from '../../text/units.ts';
import { protectByContract } from '../contract.ts';
import { always, type Kind, type RowScope, type Shapes } from '../kind.ts';
import { informativeTerms } from './informative-terms.ts';
import { LOG_SHAPES } from './lines.ts';
import { natureOfCut, withoutNewLines } from './nature.ts';
import { keepNews, keepOddLines } from './news.ts';
import { protectLog } from './protect.ts';
import { measureLog } from './rank.ts';
import { mayBeRow } from './rows.ts';

/** Lines per block. Set by hand: logs have no inherent blocks. */
const LINES_OF_A_BLOCK = 12;

/** Minimum shares of lines by which a text is recognised as a log. Set by hand, like those below. */
const PRINTED = 0.3;
const FAILING = 0.25;
/** Minimum shares by which a log is compiler output, a test run, a trace, or a log with timestamps. */
const COMPILED = 0.05;
const TESTED = 0.1;
const TRACED = 0.4;
const STAMPED = 0.5;

/** Compilers and traces have their own rules for each line. */
const ROWS: Readonly<Record<string, RowScope>> = {
  'build-log': 'all',
  'test-run': 'all',
  log: 'tables',
  'grepped-log': 'tables',
};

/** Output of running programs: logs, test runs, builds, compilers, traces. */
export const log: Kind = {
  family: 'log',
  sourceType: 'logs',
  names: { log: 'log out jsonl ndjson', 'test-run': '', compiler: '', 'build-log': '', trace: '' },
  shapes: LOG_SHAPES,
  looksLike: (seen) => (seen.stamped > seen.lines * 0.6 ? 0.7 : 0),
  units: (view) => evenUnits(view.n, LINES_OF_A_BLOCK),
  protect(text, protect) {
    protectByContract(text, protect);
    if (text.sourceType !== 'logs') protectLog(text, protect);
  },
  informativeTerms,
  rows: (name) => ROWS[name] ?? 'none',
  mayBeRow,
  protectMatches(reading, keep) {
    keepOddLines(reading, keep);
    keepNews(reading, keep);
  },
  rank: (reading) => rankByMeasures(log.measure?.(reading) ?? [], reading.view.n),
  measure: (reading) => [{ measures: measureLog(reading), weights: LOG_WEIGHTS, factor: 1 }],
  // logs are repetitive, so a high ratio cuts them deeply
  boldness: { atCeiling: { ...always(1), command: 1.2 }, mild: 0.19, deep: 0.75 },
  // not `build-log`: as the fallback name, it may also apply to an issue or a comment
  cutWhenSmall: ['log', 'test-run', 'compiler', 'trace'],
  divide: withoutNewLines,
  natureOf: natureOfCut,
};

/** Whether enough lines are program output. */
export function isLog(s: Shapes): boolean {
  return (
    s.stamped + s.testing + s.frames > s.lines * PRINTED ||
    s.compiler > s.lines * COMPILED ||
    s.failing > s.lines * FAILING
  );
}

/** The finer name of a log. */
export function logName(s: Shapes): string {
  if (s.testing > s.lines * TESTED) return 'test-run';
  if (s.compiler > s.lines * COMPILED) return 'compiler';
  if (s.frames > s.lines * TRACED) return 'trace';
  return s.stamped > s.lines * STAMPED ? 'log' : 'build-log';
}
