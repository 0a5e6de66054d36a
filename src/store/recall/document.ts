import { namesIn } from '../../engine/search/names.ts';
import { termsOf } from '../../engine/search/terms.ts';

/** What the index holds of a result. */
export interface RecallDocument {
  /** Its distinct words, with spaces between. */
  readonly words: string;
  /** Names that are found by any part of them, with spaces between. */
  readonly names: string;
  /** About what it takes up in the index, in bytes. */
  readonly bytes: number;
}

/** Bytes of the index for a word, and for a character of the names: means over recorded sessions. */
const BYTES_OF_WORD = 1.7;
const BYTES_OF_NAME_CHAR = 0.45;

/**
 * What is indexed of a result. The same for the same text and call, for ever: an entry is taken out of the index by being made
 * again. Whoever changes what terms or names are must have all results indexed anew.
 */
export function documentOf(text: string, about: string): RecallDocument {
  const all = `${about}\n${text}`;
  const words = termsOf(all);
  const names = namesIn(all);
  const bytes = Math.ceil(BYTES_OF_WORD * words.length + BYTES_OF_NAME_CHAR * names.length);
  return { words: words.join(' '), names, bytes };
}

/** The last part of a path, as files are looked up. */
export function fileOf(path: string): string {
  return (path.split(/[\\/]/).at(-1) ?? '').toLowerCase();
}
