/** Maximum length of a pattern, in characters; the rest is ignored. */
const MAX_PATTERN = 500;
const MAX_ALTERNATIVES = 32;

/**
 * Compiles a pattern. A name matches if it ends with the pattern, or matches it as a glob: `*` within a folder, `**`
 * across folders, `?`, and `{a,b}`. A glob may match from any folder of the name on.
 *
 * Matching time is at most proportional to pattern length times name length.
 */
export function nameMatcher(pattern: string): (name: string) => boolean {
  const isGlob = /[*?{]/.test(pattern);
  const globs = isGlob ? alternatives(pattern.slice(0, MAX_PATTERN)).map(tokensOf) : [];
  return (name) => name.endsWith(pattern) || globs.some((tokens) => folders(name).some((tail) => fits(tokens, tail)));
}

/** A name, and each of its suffixes after a separator. */
function folders(name: string): string[] {
  const tails = [name];
  for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) tails.push(name.slice(at + 1));
  return tails;
}

function alternatives(pattern: string): string[] {
  const [, before = '', list = '', after = ''] = /^([^{}]*)\{([^{}]*)\}(.*)$/s.exec(pattern) ?? [];
  if (list === '') return [pattern];
  return list
    .split(',')
    .flatMap((one) => alternatives(before + one + after))
    .slice(0, MAX_ALTERNATIVES);
}

/**
 * Tokens: `ANY` matches any characters, `IN_FOLDER` any characters except slashes, `FOLDERS` whole folder names with
 * their slashes. Each also matches the empty string.
 */
const ANY = '\0';
const IN_FOLDER = '\x01';
const FOLDERS = '\x02';

function tokensOf(pattern: string): string {
  return pattern.replaceAll('**/', FOLDERS).replaceAll('**', ANY).replaceAll('*', IN_FOLDER);
}

/** Whether the tokens match the whole name. Tracks the matched prefixes of the name token by token. */
function fits(tokens: string, name: string): boolean {
  let reach = new Uint8Array(name.length + 1);
  reach[0] = 1;
  for (const token of tokens) {
    const next = new Uint8Array(name.length + 1);
    let isBehind = false;
    for (let i = 0; i <= name.length; i++) {
      const sign = name[i - 1];
      if (token === ANY || token === IN_FOLDER) {
        const goesOn = i > 0 && next[i - 1] === 1 && (token === ANY || sign !== '/');
        next[i] = reach[i] === 1 || goesOn ? 1 : 0;
      } else if (token === FOLDERS) {
        next[i] = reach[i] === 1 || (isBehind && sign === '/') ? 1 : 0;
        isBehind ||= reach[i] === 1;
      } else if (i > 0 && reach[i - 1] === 1 && (sign === token || (token === '?' && sign !== '/'))) next[i] = 1;
    }
    reach = next;
  }
  return reach[name.length] === 1;
}
