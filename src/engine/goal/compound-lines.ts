import { isWordSign } from '../text/chars.ts';
import type { View } from '../text/view.ts';
import type { GoalTerm } from './terms.ts';
import type { Vocabulary } from './vocabulary.ts';

/** For each line index, 1 if the line contains the thing in question. */
export type LineFlags = Uint8Array;

/**
 * Where the compounds of a goal occur in a text, by their spelling. Compounds that the text does not contain are left
 * out.
 */
export function findCompounds(view: View, terms: readonly GoalTerm[]): ReadonlyMap<string, LineFlags> {
  const found = new Map<string, LineFlags>();
  for (const compound of new Set(terms.flatMap(({ compounds }) => compounds))) {
    const lines = linesWith(view, compound);
    if (lines !== null) found.set(compound, lines);
  }
  return found;
}

/** A word of the goal that counts on some lines only. */
export interface BoundWord {
  readonly term: GoalTerm;
  readonly lines: LineFlags;
}

/**
 * For words that the goal has only as parts of compounds, by word id: the lines that contain one of those compounds. If
 * the text contains none of the compounds, the words count like any others.
 */
export function bindWords(
  words: Vocabulary,
  terms: readonly GoalTerm[],
  compounds: ReadonlyMap<string, LineFlags>,
): ReadonlyMap<number, BoundWord> {
  const bound = new Map<number, BoundWord>();
  if (compounds.size === 0) return bound;
  for (const term of terms) {
    const id = term.isPart ? words.find(term.hash) : -1;
    const places = id < 0 ? [] : term.compounds.flatMap((compound) => compounds.get(compound) ?? []);
    const [lines] = places;
    if (lines !== undefined) bound.set(id, { term, lines: places.length === 1 ? lines : unionOf(places) });
  }
  return bound;
}

/** The lines flagged in any of the lists. */
export function unionOf(places: readonly LineFlags[]): LineFlags {
  const all = Uint8Array.from(places[0] ?? []);
  for (const place of places) for (let i = 0; i < all.length; i++) if (place[i] === 1) all[i] = 1;
  return all;
}

/** The number of flagged lines. */
export function countOf(flags: LineFlags): number {
  let count = 0;
  for (const flag of flags) count += flag;
  return count;
}

/** The lines that contain a compound exactly as spelled, or `null` if there are none. */
function linesWith({ text, lines: { starts }, n }: View, compound: string): Uint8Array | null {
  let found: Uint8Array | null = null;
  let line = 0;
  for (let at = text.indexOf(compound); at >= 0; at = text.indexOf(compound, at + compound.length)) {
    if (isWordAt(text, at - 1) || isWordAt(text, at + compound.length)) continue;
    while (line + 1 < n && (starts[line + 1] ?? 0) <= at) line++;
    found ??= new Uint8Array(n);
    found[line] = 1;
  }
  return found;
}

function isWordAt(text: string, at: number): boolean {
  return isWordSign(text.charCodeAt(at));
}
