import { scoreLines } from '../../goal/matching.ts';
import { isBlankLine } from '../../text/view.ts';
import type { Reading } from '../kind.ts';
import { RULES } from '../protection.ts';

/** Lines of a shape that comes so seldom are news. Chosen, as all below. */
const SELDOM = 2;
/** A line is kept that matches the goal so well, measured by the best match among the lines that nothing keeps yet. */
const STRONG = 0.5;
/** Words on more lines than this, or than `MOST_SHARE`, are no news. */
const SELDOM_WORD = 3;
/** So many lines may be news, or this share of a long log where that is more. Chosen: an answer is a line or two. */
const MOST_LINES = 4;
const MOST_SHARE = 0.01;

/** While so small a share of a log's lines are of a seldom shape, each of them is informative. */
const FEW_SHARE = 0.02;

/** Keeps the lines of a log that are like hardly any other, where the log is so regular that these are few. */
export function keepOddLines({ view, templates: { shape, count } }: Reading, keep: Uint8Array): void {
  const seldom = (i: number): boolean => (count[shape[i] ?? 0] ?? 0) <= SELDOM && !isBlankLine(view, i);
  let odd = 0;
  for (let i = 0; i < view.n; i++) if (seldom(i)) odd++;
  if (odd > view.n * FEW_SHARE) return;
  for (let i = 0; i < view.n; i++) if (keep[i] === 0 && seldom(i)) keep[i] = RULES.indexOf('news');
}

/** Keeps the few lines of a log whose shape is seldom and that hold what the goal asks for, at whatever level. */
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
  // where many answer, the best of them do
  news.sort((a, b) => (raw[b] ?? 0) - (raw[a] ?? 0) || a - b);
  for (const i of news.slice(0, Math.max(MOST_LINES, view.n * MOST_SHARE))) keep[i] = RULES.indexOf('news');
}
