import { scoreLines } from '../../goal/matching.ts';
import { isBlankLine } from '../../text/view.ts';
import type { Reading } from '../kind.ts';
import { RULES } from '../protection.ts';

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
export function keepOddLines({ view, templates: { shape, count } }: Reading, keep: Uint8Array): void {
  const seldom = (i: number): boolean => (count[shape[i] ?? 0] ?? 0) <= SELDOM && !isBlankLine(view, i);
  let odd = 0;
  for (let i = 0; i < view.n; i++) if (seldom(i)) odd++;
  if (odd > view.n * FEW_SHARE) return;
  for (let i = 0; i < view.n; i++) if (keep[i] === 0 && seldom(i)) keep[i] = RULES.indexOf('news');
}

/** Keeps the few log lines with a rare shape that match the goal, regardless of log level. */
export function keepNews({ view, templates: { shape, count }, words, match }: Reading, keep: Uint8Array): void {
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
