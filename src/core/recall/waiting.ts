import { eachTerm, folded } from '../../engine/search/terms.ts';
import type { RecallCandidate, RecallFrequencies } from '../ports/recall.ts';

/** Limits for results that wait although they could be indexed: each search reads them. */
export const MAX_WAITING_RESULTS = 256;
export const MAX_WAITING_CHARS = 2 * 1024 * 1024;

/** A result that is not indexed, with its text. */
export interface WaitingResult {
  readonly candidate: RecallCandidate;
  readonly text: string;
}

/** Number of places in a text at which a term is looked for; further down it seldom stands for the first time. */
const PLACES = 8;
/** Characters read around a place: the longest word that is indexed. */
const AROUND = 64;

/**
 * Results that wait to be indexed, as a query finds them. They are many while a conversation goes on, so their texts
 * are searched for the query's words as they stand, and split into words only around these.
 */
export class WaitingTexts {
  readonly #found: readonly { readonly result: WaitingResult; readonly words: ReadonlySet<string> }[];
  /** Number of results with a word; absent words occur in none. */
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

  /** The frequencies with those of the texts, which the number of results includes already. */
  addTo(indexed: RecallFrequencies): RecallFrequencies {
    const withTerm = new Map(indexed.withTerm);
    for (const [word, count] of this.#counts) withTerm.set(word, (withTerm.get(word) ?? 0) + count);
    return { ...indexed, withTerm };
  }

  /** The results with words of the query, at most `limit`: those whose words weigh most, and of these the first. */
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

/** The words that are terms of a result, not only parts of its words. */
function termsAmong(words: ReadonlySet<string>, { candidate: { about }, text }: WaitingResult): ReadonlySet<string> {
  const found = new Set<string>();
  const take = (term: string): void => {
    if (words.has(term)) found.add(term);
  };
  eachTerm(about, take);
  const lower = text.toLowerCase();
  for (const word of words) {
    let at = lower.length === text.length ? lower.indexOf(word) : -1;
    if (at < 0) found.add(word); // spelt with accents or underscores
    for (let places = 0; at >= 0 && places < PLACES && !found.has(word); places++, at = lower.indexOf(word, at + 1))
      eachTerm(text.slice(Math.max(0, at - AROUND), at + word.length + AROUND), take);
  }
  return found;
}
