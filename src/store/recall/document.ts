import { namesIn } from '../../engine/search/names.ts';
import { termsOf } from '../../engine/search/terms.ts';

/** The indexed content of a result. */
export interface RecallDocument {
  /** Its distinct words, separated by spaces. */
  readonly words: string;
  /** Names that can be found by any part, separated by spaces. */
  readonly names: string;
  /** Its approximate size in the index, in bytes. */
  readonly bytes: number;
}

/** Bytes in the index per word and per character of names: means over recorded sessions. */
const BYTES_OF_WORD = 1.7;
const BYTES_OF_NAME_CHAR = 0.45;

/**
 * The indexed content of a result. It must be deterministic forever, because an entry is removed from the index by
 * computing it again. A change of terms or names requires re-indexing all results.
 */
export function documentOf(text: string, about: string): RecallDocument {
  const all = `${about}\n${text}`;
  const words = termsOf(all);
  const names = namesIn(all);
  const bytes = Math.ceil(BYTES_OF_WORD * words.length + BYTES_OF_NAME_CHAR * names.length);
  return { words: words.join(' '), names, bytes };
}

/** The last part of a path, by which files are looked up. */
export function fileOf(path: string): string {
  return (path.split(/[\\/]/).at(-1) ?? '').toLowerCase();
}
