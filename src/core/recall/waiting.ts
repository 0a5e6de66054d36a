import { eachTerm, folded } from '../../engine/search/terms.ts';
import type { RecallCandidate, RecallFrequencies } from '../ports/recall.ts';

/** Limits for unindexed results: each search reads them. */
export const MAX_WAITING_RESULTS = 256;
export const MAX_WAITING_CHARS = 2 * 1024 * 1024;

/** An unindexed result with its text. */
export interface WaitingResult {
  readonly candidate: RecallCandidate;
  readonly text: string;
}

/** Places in a text at which a term is looked for; it rarely becomes a whole word only after these. */
const PLACES = 8;
/** Characters read around a place; the maximum length of an indexed word. */
const AROUND = 64;

/**
 * Searches results that are not indexed yet. An active conversation has many, so texts are searched for the query's
 * words directly, and tokenised only around the matches.
 */
export class WaitingTexts {
  readonly #found: readonly { readonly result: WaitingResult; readonly words: ReadonlySet<string> }[];
  /** Number of results per word; words that occur in none are absent. */
  readonly #counts = new Map<string, number>();

  /** @param words - terms of the query */
  constructor(waiting: readonly WaitingResult[], words: readonly string[]) {
    const forms = words.map((word) => ({ word, form: folded(word) }));
    this.#found = waiting.flatMap((result) => {
      const { text, candidate } = result;
      const [whole, call] = [folded(text), folded(`${candidate.path}\n${candidate.about}`)];
      const possible = forms.flatMap(({ word, form }) => (whole.includes(form) || call.includes(form) ? word : []));
      if (possible.length === 0) return [];
      const words = new Set(possible);
      for (const word of termsAmong(words, result)) this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1);
      return [{ result, words }];
    });
  }

  /** Adds the texts' frequencies to those of the index. The number of results already includes them. */
  addTo(indexed: RecallFrequencies): RecallFrequencies {
    const withTerm = new Map(indexed.withTerm);
    for (const [word, count] of this.#counts) withTerm.set(word, (withTerm.get(word) ?? 0) + count);
    return { ...indexed, withTerm };
  }

  /** Results that contain query words, heaviest first, then in order, at most `limit`. */
  best(query: readonly { readonly term: string; readonly weight: number }[], limit: number): readonly WaitingResult[] {
    const weightOf = (words: ReadonlySet<string>): number =>
      query.reduce((sum, { term, weight }) => (words.has(term) ? sum + weight : sum), 0);
    return this.#found
      .map(({ result, words }) => ({ result, weight: weightOf(words) }))
      .sort((a, b) => b.weight - a.weight)
      .slice(0, limit)
      .map(({ result }) => result);
  }
}

/** The words that are whole terms of a result, not only parts of its words. */
function termsAmong(words: ReadonlySet<string>, { candidate: { about }, text }: WaitingResult): ReadonlySet<string> {
  const found = new Set<string>();
  const take = (term: string): void => {
    if (words.has(term)) found.add(term);
  };
  eachTerm(about, take);
  const lower = text.toLowerCase();
  for (const word of words) {
    let at = lower.length === text.length ? lower.indexOf(word) : -1;
    if (at < 0) found.add(word); // spelled with accents or underscores in the text
    for (let places = 0; at >= 0 && places < PLACES && !found.has(word); places++, at = lower.indexOf(word, at + 1))
      eachTerm(text.slice(Math.max(0, at - AROUND), at + word.length + AROUND), take);
  }
  return found;
}
