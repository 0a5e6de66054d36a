/** Literals that a next action depends on to the letter. */
const PATTERNS: readonly RegExp[] = [
  // a place: `file.ts:12`
  /[\w@][\w@./-]{0,200}\.\w{1,8}:\d{1,6}\b/g,
  // a commit or another hash
  /\b(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[0-9a-f]{7,40}\b/g,
  // an id: `ses_32a7c692bffe`, a UUID, a number of a run
  /\b[a-z]{2,12}_[A-Za-z0-9]{8,64}\b(?=.|$)/g,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
  /\b\d{5,20}\b/g,
  // a version
  /\bv?\d{1,4}\.\d{1,4}\.\d{1,6}\b/g,
  // how a program ended
  /\bexit(?:ed)?(?: with)?(?: code| status)? \d{1,3}\b/gi,
];
const HAS_DIGIT = /\d/;

/** The gate literals of a text: places, hashes, ids, versions and exit codes. */
export function literalsIn(text: string): Set<string> {
  return new Set(PATTERNS.flatMap((pattern) => text.match(pattern) ?? []).filter((literal) => HAS_DIGIT.test(literal)));
}
