import { scoreLines } from '../../goal/matching.ts';
import type { GoalTerm } from '../../goal/terms.ts';
import { wordHash } from '../../goal/words.ts';
import { rankByMeasures } from '../../rank/prose.ts';
import { LOG_WEIGHTS } from '../../rank/weights.ts';
import { evenUnits, isBlankLine } from '../../text/view.ts';
import { protectByContract } from '../contract.ts';
import { always, type Kind, type Reading, type RowScope, RULES, type Shapes } from '../kind.ts';
import { LOG_SHAPES } from './lines.ts';
import { natureOfCut, withoutNewLines } from './nature.ts';
import { protectLog } from './protect.ts';
import { measureLog } from './rank.ts';
import { mayBeRow } from './rows.ts';

/** Shapes with at most this many lines are rare. Set by hand, like all below. */
const SELDOM = 2;
/** Minimum match for keeping a line, relative to the best match among unprotected lines. */
const STRONG = 0.5;
/** A word is rare if it occurs on at most this many lines, or at most `MOST_SHARE` of them if that is more. */
const SELDOM_WORD = 3;
/**
 * Maximum number of rare lines kept, or this share of a long log if that is more. Set by hand: an answer is a line or
 * two.
 */
const MOST_LINES = 4;
const MOST_SHARE = 0.01;

/** If at most this share of lines have rare shapes, all of them are kept. */
const FEW_SHARE = 0.02;

/** Keeps the unusual lines of a very regular log. */
function keepOddLines({ view, templates: { shape, count } }: Reading, keep: Uint8Array): void {
  const seldom = (i: number): boolean => (count[shape[i] ?? 0] ?? 0) <= SELDOM && !isBlankLine(view, i);
  let odd = 0;
  for (let i = 0; i < view.n; i++) if (seldom(i)) odd++;
  if (odd > view.n * FEW_SHARE) return;
  for (let i = 0; i < view.n; i++) if (keep[i] === 0 && seldom(i)) keep[i] = RULES.indexOf('news');
}

/** Keeps the few log lines with a rare shape that match the goal, regardless of log level. */
function keepNews({ view, templates: { shape, count }, words, match }: Reading, keep: Uint8Array): void {
  const weight = match.weight.slice();
  const most = Math.max(SELDOM_WORD, view.n * MOST_SHARE);
  for (let id = 0; id < words.size; id++) if ((words.lineCount[id] ?? 0) > most) weight[id] = 0;
  const raw = scoreLines(view, words, { weight, hits: match.hits, first: match.first });
  let best = 0;
  for (let i = 0; i < view.n; i++) if (keep[i] === 0) best = Math.max(best, raw[i] ?? 0);
  if (best === 0) return;
  const news: number[] = [];
  for (let i = 0; i < view.n; i++) {
    const seldom = (count[shape[i] ?? 0] ?? 0) <= SELDOM;
    if (keep[i] === 0 && seldom && (raw[i] ?? 0) >= STRONG * best) news.push(i);
  }
  // if many lines match, only the best ones are kept
  news.sort((a, b) => (raw[b] ?? 0) - (raw[a] ?? 0) || a - b);
  for (const i of news.slice(0, Math.max(MOST_LINES, view.n * MOST_SHARE))) keep[i] = RULES.indexOf('news');
}

/** Words that occur in questions about any log, so that they do not distinguish lines. */
const SAID_OF_EVERY_LOG = new Set(
  `build builds job jobs ci pipeline step steps log logs log message messages status fail failed failing failure
  failures broke broken break red green cause caused crash crashes crashed exit exited code run runs running command
  report reports reported diagnose locate output print prints problem wrong happened happen compile compiles compiler
  compiling échec échoué échouent console service trace stack traceback exception`
    .split(/\s+/)
    .map(wordHash),
);

function informativeTerms(terms: readonly GoalTerm[]): GoalTerm[] {
  return terms.filter(({ hash }) => !SAID_OF_EVERY_LOG.has(hash));
}

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
  hasCells: true,
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

export function isLog(s: Shapes): boolean {
  return (
    s.stamped + s.testing + s.frames > s.lines * PRINTED ||
    s.compiler > s.lines * COMPILED ||
    s.failing > s.lines * FAILING
  );
}

export function logName(s: Shapes): string {
  if (s.testing > s.lines * TESTED) return 'test-run';
  if (s.compiler > s.lines * COMPILED) return 'compiler';
  if (s.frames > s.lines * TRACED) return 'trace';
  return s.stamped > s.lines * STAMPED ? 'log' : 'build-log';
}
