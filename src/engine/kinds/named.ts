import { countOf, unionOf } from '../goal/compound-lines.ts';
import type { Reading } from './kind.ts';
import { RULES } from './protection.ts';

/** An identifier is rare that occurs on no larger share of the lines, or on one. Chosen. */
const RARE_SHARE = 0.01;
/** So many lines may stay for their names at most, or this share of a long text. Chosen. */
const MOST_LINES = 4;
const MOST_SHARE = 0.02;

/** Keeps the few lines that hold an identifier which the goal spells out and the text hardly has: one asked for it by name. */
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

/** A line that matches the goal so well, measured by the best match of the text, is what was looked for. Chosen. */
const STRONG = 0.8;
/** So many lines may stay for that at most. Chosen: an answer is a line or two. */
const MOST_ANSWERS = 3;

/** Keeps the few lines that match the goal best; a hunk or an element that holds together stays with its line. */
export function keepBestMatches({ view, match: { raw } }: Reading, keep: Uint8Array): void {
  let best = 0;
  for (let i = 0; i < view.n; i++) best = Math.max(best, raw[i] ?? 0);
  if (best === 0) return;
  const strong: number[] = [];
  for (let i = 0; i < view.n; i++) if ((raw[i] ?? 0) >= STRONG * best) strong.push(i);
  strong.sort((a, b) => (raw[b] ?? 0) - (raw[a] ?? 0) || a - b);
  for (const i of strong.slice(0, MOST_ANSWERS)) if (keep[i] === 0) keep[i] = RULES.indexOf('named');
}
