/** Rounds of unescaping: each gateway before the provider may unescape once more. */
const MAX_ROUNDS = 8;

/** `.` and `..`, also with what lenient servers cut off: parameters, blanks, a NUL, an escaped query. */
const DOT_SEGMENT = /^\.{1,2}[\0- ]*(?:[;?#]|$)/;

/**
 * Whether a URL's path has a segment `.` or `..` in any spelling: escaped (`%2e`, `%252E`, `%25%32%65`), in overlong
 * UTF-8 (`%c0%ae`), with backslashes, or with parameters (`..;x=1`). Such a path may escape the base path of the
 * upstream. A path with more than eight layers of escapes counts as one. Queries are not checked.
 */
export function hasDotSegments(url: string): boolean {
  if (!url.includes('.') && !url.includes('%')) return false;
  let path = /^[^?#]*/.exec(url)?.[0] ?? '';
  for (let round = 0; path.includes('%'); round++) {
    const unescaped = path
      .replace(/%(?:25)+/g, '%')
      .replace(/%c0%ae/gi, '.')
      .replace(/%c0%af/gi, '/')
      .replace(/%([0-7][0-9a-f])/gi, charOf);
    if (unescaped === path) break;
    if (round === MAX_ROUNDS) return true;
    path = unescaped;
  }
  return path.split(/[/\\]/).some((segment) => DOT_SEGMENT.test(segment));
}

function charOf(_escape: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}
