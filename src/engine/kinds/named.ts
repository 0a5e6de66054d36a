import { countOf, unionOf } from '../goal/compound-lines.ts';
import type { Reading } from './kind.ts';
import { RULES } from './protection.ts';

/** Largest share of lines on which a rare identifier occurs; one line is always allowed. Chosen. */
const RARE_SHARE = 0.01;
/** Most lines that stay for their names, or this share of a long text. Chosen. */
const MOST_LINES = 4;
const MOST_SHARE = 0.02;

/** Keeps the few lines with an identifier that the goal spells out and that is rare in the text. */
export function keepNamed({ view, terms, words, match }: Reading, keep: Uint8Array): void {
  const rare = new Set<number>();
  const few = Math.max(1, view.n * RARE_SHARE);
  for (const { hash, literal } of terms) {
    const id = literal ? words.find(hash) : -1;
    if (id >= 0 && (words.lineCount[id] ?? 0) <= few) rare.add(id);
  }
  const compounds = [...match.compounds.values()].filter((lines) => countOf(lines) <= few);
  if (rare.size === 0 && compounds.length === 0) return;
  const named = compounds.length === 0 ? new Uint8Array(view.n) : unionOf(compounds);
  for (let i = 0; i < view.n && rare.size > 0; i++) {
    const end = match.first[i + 1] ?? 0;
    for (let h = match.first[i] ?? 0; h < end; h++) if (rare.has(words.ids[match.hits[h] ?? 0] ?? -1)) named[i] = 1;
  }
  let left = Math.max(MOST_LINES, Math.floor(view.n * MOST_SHARE));
  for (let i = 0; i < view.n && left > 0; i++) {
    if (keep[i] !== 0 || named[i] === 0) continue;
    keep[i] = RULES.indexOf('named');
    left--;
  }
}

/** Least match of a line with the goal, relative to the best match of the text, for which it is kept. Chosen. */
const STRONG = 0.8;
/** Most lines that stay for their match. Chosen: an answer is a line or two. */
const MOST_ANSWERS = 3;

/** Keeps the few lines that match the goal best, together with the rest of their hunk or element. */
export function keepBestMatches({ view, match: { raw } }: Reading, keep: Uint8Array): void {
  let best = 0;
  for (let i = 0; i < view.n; i++) best = Math.max(best, raw[i] ?? 0);
  if (best === 0) return;
  const strong: number[] = [];
  for (let i = 0; i < view.n; i++) if ((raw[i] ?? 0) >= STRONG * best) strong.push(i);
  strong.sort((a, b) => (raw[b] ?? 0) - (raw[a] ?? 0) || a - b);
  for (const i of strong.slice(0, MOST_ANSWERS)) if (keep[i] === 0) keep[i] = RULES.indexOf('named');
}
