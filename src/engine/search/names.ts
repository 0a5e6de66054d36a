/** Identifiers and paths: words joined by the separators of code. */
const NAME = /[A-Za-z_$][\w$]*(?:[./:\\-]+[\w$]+)*/g;
/** An identifier of several words, or a path. */
const JOINED = /[a-z][A-Z]|[A-Z]{2}[a-z]|[\w$][_./:\\-][\w$]/;
const MIN_NAME = 5;
const MAX_NAME = 80;
const MAX_NAMES = 4_000;
/** The shortest part of a name that can be searched for. */
export const FRAGMENT = 3;

/**
 * The names in a text that can be found by any part: identifiers of several words and paths, in lower case, without
 * underscores, each once, separated by spaces.
 */
export function namesIn(text: string): string {
  const names = new Set<string>();
  for (const [name] of text.matchAll(NAME)) {
    if (name.length < MIN_NAME || !JOINED.test(name)) continue;
    names.add(plainName(name).slice(0, MAX_NAME));
    if (names.size >= MAX_NAMES) break;
  }
  return [...names].join(' ');
}

/** Whether a word of a query is spelled like an identifier of several words, or like a path. */
export function isJoined(word: string): boolean {
  return JOINED.test(word);
}

/** A name in the form in which it is indexed. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll('_', '');
}

/** The distinct pieces of three characters that make up a name. */
export function fragmentsOf(name: string): string[] {
  const pieces = new Set<string>();
  for (let i = 0; i + FRAGMENT <= name.length; i++) pieces.add(name.slice(i, i + FRAGMENT));
  return [...pieces];
}
