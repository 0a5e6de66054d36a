import { mayHave, type TermFilter, termHash } from './term-filter.ts';
import { eachTerm, FRAGMENT, foreignWords, isAscii, isTermAt } from './terms.ts';

export interface ScannedText {
  readonly id: number;
  readonly path: string;
  /** What the call requested; searched like the text itself. */
  readonly about: string;
  /** Length of the text, in UTF-16 units. */
  readonly chars: number;
}

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
type ScannedTerms = ReadonlyMap<string, boolean>;

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
/**
 * Parameters of BM25: the saturation of repeated terms, and the penalty for long texts. Which terms a text has counts
 * more here than how often; `rankText` weighs the best ones again.
 */
const K1 = 0.3;
const B = 0.9;

interface CountedText extends ScannedText {
  /** Occurrences per term, as a word and within words. */
  readonly words: Uint8Array;
  readonly parts: Uint8Array;
  readonly hasFile: boolean;
  /** Whether the text itself was searched. */
  isRead: boolean;
}

/**
 * Searches texts for the terms of a query one by one, and ranks them by BM25. Texts are searched as they are, not split
 * into terms: that takes a fourth of the time.
 */
export class TextScan {
  readonly #terms: readonly string[];
  readonly #isNamed: readonly boolean[];
  readonly #isAscii: readonly boolean[];
  readonly #hashes: readonly number[];
  readonly #files: readonly string[];
  readonly #found: CountedText[] = [];
  readonly #filtered = new Map<number, CountedText>();
  #results = 0;
  #chars = 0;

  /** @param files - file names in the query, in lower case */
  constructor(terms: ScannedTerms, files: readonly string[]) {
    this.#terms = [...terms.keys()];
    this.#isNamed = [...terms.values()];
    this.#isAscii = this.#terms.map(isAscii);
    this.#hashes = this.#terms.map(termHash);
    this.#files = files;
  }

  add(of: ScannedText, text: string): void {
    const found = this.#begin(of);
    this.#count(text, found.words, found.parts);
    found.isRead = true;
    if (found.hasFile || found.words.some(Boolean) || found.parts.some(Boolean)) this.#found.push(found);
  }

  /** Adds a text by its filter. `toRead` selects the texts that must then be searched. */
  addFiltered(of: ScannedText, filter: TermFilter): void {
    const found = this.#begin(of);
    for (const [i, hash] of this.#hashes.entries())
      if (mayHave(filter, hash)) found.words[i] = Math.max(1, found.words[i] ?? 0);
    this.hasFiltered = true;
    if (!found.hasFile && !found.words.some(Boolean)) return;
    this.#found.push(found);
    this.#filtered.set(found.id, found);
  }

  /** Ids of the best texts among those added by their filters, at most `limit` and `maxChars` in all. */
  toRead(limit: number, maxChars: number): number[] {
    let chars = 0;
    const best = this.#ranking().slice(0, limit);
    return best.flatMap(({ of: { id, isRead, chars: length } }) => {
      if (isRead || chars > maxChars) return [];
      chars += length;
      return id;
    });
  }

  /** Searches a text that was added by its filter. */
  read(id: number, text: string): void {
    const found = this.#filtered.get(id);
    if (found === undefined) return;
    found.words.fill(0);
    this.#countCall(found, found.words, found.parts);
    this.#count(text, found.words, found.parts);
    found.isRead = true;
  }

  hasFiltered = false;

  /** Whether no text has a term as a word. */
  get isEmpty(): boolean {
    return this.#found.every(({ words }) => !words.some(Boolean));
  }

  #begin({ id, path, about, chars }: ScannedText): CountedText {
    this.#results++;
    this.#chars += chars;
    const words = new Uint8Array(this.#terms.length);
    const parts = new Uint8Array(this.#terms.length);
    const name = path.toLowerCase();
    const hasFile = this.#files.some((file) => name.endsWith(file));
    const found = { id, path, about, chars, words, parts, hasFile, isRead: false };
    this.#countCall(found, words, parts);
    return found;
  }

  /** Counts the terms in the path and the call of a text. */
  #countCall({ path, about }: ScannedText, words: Uint8Array, parts: Uint8Array): void {
    this.#count(about.includes(path) ? about : `${path}\n${about}`, words, parts);
    for (let i = 0; i < words.length; i++) words[i] = ABOUT_COUNT * Math.min(1, words[i] ?? 0);
  }

  ranked(limit: number): Scanned {
    const ranking = this.#ranking();
    const counts = this.#terms.map((term, i) => [term, this.#withTerm(i)] as const);
    return {
      results: this.#results,
      meanChars: this.#meanChars(),
      withTerm: new Map(counts.filter(([, count]) => count > 0)),
      ids: ranking.slice(0, limit).map(({ of }) => of.id),
      more: ranking.length > limit,
    };
  }

  #withTerm(i: number): number {
    return this.#found.reduce((sum, { words }) => sum + Math.min(1, words[i] ?? 0), 0);
  }

  #meanChars(): number {
    return this.#results === 0 ? 1 : this.#chars / this.#results;
  }

  /** The texts with their scores, best first. */
  #ranking(): { readonly of: CountedText; readonly score: number }[] {
    const meanChars = this.#meanChars();
    const counts = this.#terms.map((_, i) => this.#withTerm(i));
    const weights = this.#terms.map((term, i) =>
      weightOf(term, this.#isNamed[i] === true, counts[i] ?? 0, this.#results),
    );
    const all = weights.reduce((sum, weight) => sum + weight, 0);
    const scored = this.#found.flatMap((of) => {
      const length = 1 - B + B * (of.chars / meanChars);
      let score = of.hasFile ? FILE_GAIN * all : 0;
      for (const [i, weight] of weights.entries()) {
        const count = ((counts[i] ?? 0) > 0 ? of.words[i] : of.parts[i]) ?? 0;
        score += (weight * count * (K1 + 1)) / (count + K1 * length);
      }
      return score > 0 ? { of, score } : [];
    });
    return scored.sort((a, b) => b.score - a.score || b.of.id - a.of.id);
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
