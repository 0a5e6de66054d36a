import { eachTerm, FRAGMENT, foreignWords, isAscii, isTermAt } from './terms.ts';

/** Facts about a text apart from its content. */
export interface ScannedText {
  readonly id: number;
  readonly path: string;
  /** What the call requested; searched like the text itself. */
  readonly about: string;
}

/** Result of a scan. */
export interface Scanned {
  /** Number of texts, and their mean length in UTF-16 units. */
  readonly results: number;
  readonly meanChars: number;
  /** Number of texts that contain a term; terms that occur in none are absent. */
  readonly withTerm: ReadonlyMap<string, number>;
  /** The texts most likely to answer the query, best first, at most `limit`. */
  readonly ids: readonly number[];
  /** Whether more texts contain a term. */
  readonly more: boolean;
}

/** Terms of a query, each with a flag for whether it is part of a name. */
export type ScannedTerms = ReadonlyMap<string, boolean>;

/** Occurrences counted per text and term; more change the score little (`K1`). */
const MOST_COUNTED = 12;
/** Weight of an occurrence within a longer word, if no text has the term as a word. */
const FRAGMENT_WEIGHT = 0.7;
/** Weight factor for terms that are part of a file or tool name. */
const NAMED_GAIN = 2;
/** Occurrences that one in the path or call of a text counts as. */
const ABOUT_COUNT = 3;
/** Gain of a text whose file the query names, as a multiple of the query's weight. */
const FILE_GAIN = 2;
/** Parameters of BM25: the saturation of repeated terms, and the penalty for long texts. */
const K1 = 1.2;
const B = 0.6;

interface Found {
  readonly id: number;
  readonly chars: number;
  /** Occurrences per term, as a word and within words. */
  readonly words: Uint8Array;
  readonly parts: Uint8Array;
  readonly hasFile: boolean;
}

/**
 * Searches texts for the terms of a query one by one, and ranks them by BM25. Texts are searched as they are, not split
 * into terms: that takes a tenth of the time.
 */
export class TextScan {
  readonly #terms: readonly string[];
  readonly #isNamed: readonly boolean[];
  readonly #files: readonly string[];
  readonly #isAscii: readonly boolean[];
  readonly #found: Found[] = [];
  #results = 0;
  #chars = 0;

  /** @param files - file names in the query, in lower case */
  constructor(terms: ScannedTerms, files: readonly string[]) {
    this.#terms = [...terms.keys()];
    this.#isNamed = [...terms.values()];
    this.#files = files;
    this.#isAscii = this.#terms.map(isAscii);
  }

  add({ id, path, about }: ScannedText, text: string): void {
    this.#results++;
    this.#chars += text.length;
    const words = new Uint8Array(this.#terms.length);
    const parts = new Uint8Array(this.#terms.length);
    const call = about.includes(path) ? about : `${path}\n${about}`;
    this.#count(call, words, parts);
    for (let i = 0; i < words.length; i++) words[i] = ABOUT_COUNT * Math.min(1, words[i] ?? 0);
    this.#count(text, words, parts);
    const name = path.toLowerCase();
    const hasFile = this.#files.some((file) => name.endsWith(file));
    if (hasFile || words.some(Boolean) || parts.some(Boolean))
      this.#found.push({ id, chars: text.length, words, parts, hasFile });
  }

  ranked(limit: number): Scanned {
    const counts = this.#terms.map((_, i) => this.#found.filter(({ words }) => words[i]).length);
    const meanChars = this.#results === 0 ? 1 : this.#chars / this.#results;
    const weights = this.#terms.map((term, i) =>
      weightOf(term, this.#isNamed[i] === true, counts[i] ?? 0, this.#results),
    );
    const all = weights.reduce((sum, weight) => sum + weight, 0);
    const scored = this.#found.flatMap(({ id, chars, words, parts, hasFile }) => {
      const length = 1 - B + B * (chars / meanChars);
      let score = hasFile ? FILE_GAIN * all : 0;
      weights.forEach((weight, i) => {
        const count = (counts[i] ?? 0) > 0 ? (words[i] ?? 0) : (parts[i] ?? 0);
        score += (weight * count * (K1 + 1)) / (count + K1 * length);
      });
      return score > 0 ? { id, score } : [];
    });
    scored.sort((a, b) => b.score - a.score || b.id - a.id);
    const withTerm = this.#terms.flatMap((term, i) => (counts[i] ? [[term, counts[i] ?? 0] as const] : []));
    return {
      ...{ results: this.#results, meanChars, withTerm: new Map(withTerm) },
      ...{ ids: scored.slice(0, limit).map(({ id }) => id), more: scored.length > limit },
    };
  }

  /** Adds the occurrences of the terms in a text. */
  #count(text: string, words: Uint8Array, parts: Uint8Array): void {
    const lower = text.toLowerCase();
    const isAligned = lower.length === text.length; // `İ` becomes two characters
    let bare: string | null = null;
    for (const [i, term] of this.#terms.entries()) {
      if (!this.#isAscii[i]) continue;
      let places = 0;
      for (let at = lower.indexOf(term); at >= 0 && places < MOST_COUNTED; at = lower.indexOf(term, at + 1)) {
        places++;
        if (!isAligned || isTermAt(text, at, term)) words[i] = (words[i] ?? 0) + 1;
        else if (term.length > FRAGMENT) parts[i] = (parts[i] ?? 0) + 1;
      }
      if (words[i] || term.length < MIN_JOINED || !lower.includes('_')) continue;
      bare ??= lower.replaceAll('_', '');
      for (let at = bare.indexOf(term); at >= 0 && places >= 0; at = bare.indexOf(term, at + 1)) places--;
      if (places < 0) words[i] = 1; // `get_user` for the term `getuser`
    }
    for (const word of foreignWords(text)) {
      eachTerm(word, (term) => {
        const i = this.#terms.indexOf(term);
        if (i >= 0) words[i] = Math.min(MOST_COUNTED, (words[i] ?? 0) + 1);
      });
    }
  }
}

/** Minimum length of a term that is looked for across underscores. */
const MIN_JOINED = 5;

/** Weight of a term, which is higher for rarer terms. `withTerm` of `results` texts contain it. */
export function weightOf(term: string, isNamed: boolean, withTerm: number, results: number): number {
  const rarity = Math.log(1 + (Math.max(results, withTerm) - withTerm + 0.5) / (withTerm + 0.5));
  const weight = isNamed ? NAMED_GAIN * rarity : rarity;
  return isFragment(term, withTerm) ? weight * FRAGMENT_WEIGHT : weight;
}

/** Whether a term that occurs as a word in `withTerm` texts is looked for within words. */
export function isFragment(term: string, withTerm: number): boolean {
  return withTerm === 0 && term.length > FRAGMENT;
}
