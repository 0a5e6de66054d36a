import { openings } from '../../rules/openings.ts';
import { codesOf } from '../../text/codes.ts';

const QUOTE = 34;
const HASH = 35;
const PARENTHESIS = 40;
const LONGEST_WORD = 16;
const WORD = new Uint8Array(65536).fill(1, 48, 58).fill(1, 65, 91).fill(1, 95, 96).fill(1, 97, 123);

/** What a line of code declares. */
export type Declared = 'none' | 'import' | 'type' | 'function';

const IMPORT =
  /^\s*(?:import\b|from\s+\S+\s+import\b|#\s*include\b|use\s+[\w:{]|package\s|using\s+[\w.]+\s*;|(?:const|let|var)\s+[\w{},\s]+=\s*require\(|require(?:_relative)?\s+['"]|require_once\b|mod\s+\w+;|extern\s+crate\b)/;
const MODIFIERS =
  /^\s*(?:(?:export|default|abstract|public|private|protected|internal|static|final|sealed|async|unsafe|inline|const|extern|partial|override|virtual|open|data|declare|pub(?:\([^)]*\))?|"C")\s+)*/;
const TYPE =
  /^(?:class|interface|enum|struct|trait|impl|union|record|module|namespace|protocol|object)\b[^;]*$|^type\s+\w+\s+(?:struct|interface)\b|^type\s+\w+.*=|^CREATE\s+(?:OR\s+REPLACE\s+)?(?:TABLE|VIEW|TYPE)\b/i;
const FUNCTION =
  /^(?:def\s+[\w.]|fn\s+\w|fun\s+\w|func[\s(]|function\b|defp?\s+\w|sub\s+\w|proc\s+\w|CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE|TRIGGER)\b)/;
const METHOD = /^\s*(?:public|private|protected|static|internal)\b[^=;(]*\([^;]*$/;
const C_HEAD = /^[A-Za-z_][\w*\t ]*[\t *]\w+\([^;]*$/;
const SHELL_FUNCTION = /^\w[\w-]*\s*\(\)\s*\{?$/;

/** Words one of which stands first on every line that declares something, unless it begins in the first column. */
const FIRST_WORDS = new Set(
  `import from use package using const let var require require_relative require_once mod extern export default abstract
  public private protected internal static final sealed async unsafe inline partial override virtual open data declare
  pub class interface enum struct trait impl union record module namespace protocol object type create def defp fn fun
  func function sub proc`
    .split(/\s+/)
    .map(firstWordOf),
);
/** Tells most words that are none of these by their last bits. */
const MAY_BE_FIRST = new Uint8Array(1024);
for (const word of FIRST_WORDS) MAY_BE_FIRST[word & 1023] = 1;

/** A word as `firstWord` reads it. */
export function firstWordOf(word: string): number {
  return firstWord(codesOf(word), 0, word.length);
}

/** The word (letters, digits, `_`) at a place as one number, case aside; 0 where there is none or a long one. */
export function firstWord(codes: Uint16Array, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at++) {
    const code = codes[at] ?? 0;
    if (WORD[code] === 0) return hash;
    if (at - start >= LONGEST_WORD) return 0;
    hash = Math.imul(hash, 31) + (code | 32);
  }
  return hash;
}

/**
 * Whether `declarationOf` may know a line; it need not be asked otherwise.
 *
 * @param from - where the line's content begins, `ink` where the first character that is no blank stands
 */
export function mayDeclare(codes: Uint16Array, from: number, ink: number, to: number): boolean {
  const first = codes[ink] ?? 0;
  if (first > 127 || first === HASH || first === QUOTE) return true;
  if (WORD[first] === 0) return false;
  const word = firstWord(codes, ink, to);
  if (MAY_BE_FIRST[word & 1023] === 1 && FIRST_WORDS.has(word)) return true;
  if (ink > from) return false;
  let at = ink;
  while (at < to && codes[at] !== PARENTHESIS) at++;
  return at < to;
}

/** Recognises imports and the heads of types and functions in the common languages, from one line. */
export function declarationOf(line: string): Declared {
  if (IMPORT.test(line)) return 'import';
  const rest = line.slice(MODIFIERS.exec(line)?.[0].length ?? 0);
  if (TYPE.test(rest)) return 'type';
  if (FUNCTION.test(rest)) return 'function';
  if (METHOD.test(line) || C_HEAD.test(line) || SHELL_FUNCTION.test(line)) return 'function';
  return 'none';
}

const CONTROL =
  /^\s*(?:if|else|for|while|switch|catch|return|do|try|with|synchronized|using|lock|case|throw|new|await|yield|unless|until|elif|match)\b/;
const METHOD_LIKE = /^\s*(?:[\w$<>[\],.?&*:~@]+\s+){0,6}[\w$#~]+(?:<[^>]*>)?\([^;]*(?:\{|\)|,|\()\s*$/;
const BOUND_FUNCTION =
  /^\s*(?:export\s+)?(?:const|let|var|static|readonly|public|private)?\s*[\w$.]+\s*(?::[^=]+)?[:=]\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|\w+\s*=>|\($)/;

const METHOD_ENDS = openings('{),(');

/** Whether a line may open a function that `declarationOf` does not know: methods, bound functions, callbacks. */
export function opensFunction(line: string): boolean {
  const ended = line.trimEnd();
  const opens = METHOD_ENDS[ended.charCodeAt(ended.length - 1)] !== 0;
  const binds = opens || line.includes('=>') || line.includes('function');
  if (!binds || CONTROL.test(line)) return false;
  return (opens && METHOD_LIKE.test(line)) || BOUND_FUNCTION.test(line);
}

const KEYWORD_NAME =
  /\b(?:class|interface|struct|enum|trait|type|def|fn|fun|func|function|module|namespace|record|union|object|impl|const|let|var)\s{1,4}(?:\([^()]{0,80}\)\s{0,4})?(?:self\.)?([A-Za-z_$][\w$]{0,80})/;
const CALLED_NAME = /([A-Za-z_$][\w$]{0,80})\s?\(/;

/** The name that a line gives to the function or type it opens, or `''`. */
export function declaredName(line: string): string {
  return (KEYWORD_NAME.exec(line) ?? CALLED_NAME.exec(line))?.[1] ?? '';
}
