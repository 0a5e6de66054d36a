/** Trailers and references that do not describe the purpose of a change. */
const TRAILERS = new Set(
  `signed-off-by, co-authored-by, co-developed-by, reviewed-by, acked-by, tested-by, reported-by, suggested-by,
  helped-by, assisted-by, approved-by, cc, change-id, bug, issue, closes, close, fixes, resolves, refs, ref, see,
  see also, related, related to, changelog, pr-url, pr-close, reviewed-on, backport-of, git-svn-id,
  cherry-picked-from, release-notes, link, differential revision`.split(/,\s+/),
);

/** `Key: value` with a known key, or a bare reference such as `Fixes #12` or `(cherry picked from …)`. */
function isTrailer(line: string): boolean {
  const text = line.trim();
  if (text.toLowerCase().startsWith('(cherry picked from')) return true;
  const [word = '', next = ''] = text.split(' ', 2);
  const colon = text.indexOf(':');
  if (colon > 0 && TRAILERS.has(text.slice(0, colon).toLowerCase())) {
    const key = text.slice(0, colon).toLowerCase();
    const value = text.slice(colon + 1).trim();
    // "fix"-like keys may open a subject line ("Fixes: crash when …"); a reference holds a number or an address.
    return key.includes('-') || /^(?:#|gh-|https?:|[\w./-]*#\d)/i.test(value) || value.includes('@');
  }
  return TRAILERS.has(word.toLowerCase()) && /^(?:#|gh-|https?:|[\w./-]{0,80}#\d)/i.test(next);
}

/** Removes ` (#123)`, ` (gh-123)` and ` #123` from a line. */
function withoutNumbers(line: string): string {
  return line.replaceAll(/ ?\((?:gh-|#)\d{1,9}\)/gi, '').replaceAll(/ #\d{1,9}\b/g, '');
}

/**
 * The goal from a commit message: the message without trailers, lone addresses and issue numbers, at most 3,000
 * characters.
 */
export function goalFromMessage(message: string): string {
  const kept: string[] = [];
  for (const raw of message.slice(0, 20_000).split('\n')) {
    const line = raw.trimEnd();
    const bare = line.trim().replace(/^[*-] /, '');
    const isAddress = /^https?:\/\//i.test(bare) && !bare.includes(' ');
    if (isTrailer(line) || isAddress) continue;
    if (line === '' && (kept.length === 0 || kept.at(-1) === '')) continue;
    kept.push(withoutNumbers(line));
  }
  return kept.join('\n').trim().slice(0, 3000).trim();
}
