/** Rounds of unescaping: a gateway before the provider may unescape as well. */
const MAX_ROUNDS = 4;

/** Escapes of the characters that make a dot segment: `%`, `.`, `/`, `;` and `\`. */
const ESCAPES: Readonly<Record<string, string>> = { '%25': '%', '%2e': '.', '%2f': '/', '%3b': ';', '%5c': '\\' };

/**
 * Whether a URL's path has a segment `.` or `..` in any spelling: escaped (`%2e`, `%252E`), with backslashes, or with
 * parameters (`..;x=1`). Such a path may escape the base path of the upstream. Queries are not checked.
 */
export function hasDotSegments(url: string): boolean {
  if (!url.includes('.') && !url.includes('%')) return false;
  let path = /^[^?#]*/.exec(url)?.[0] ?? '';
  for (let round = 0; round < MAX_ROUNDS && path.includes('%'); round++) {
    path = path.replace(/%(?:25|2e|2f|3b|5c)/gi, (one) => ESCAPES[one.toLowerCase()] ?? one);
  }
  return path.split(/[/\\]/).some((segment) => /^\.{1,2}(?:;|$)/.test(segment));
}
