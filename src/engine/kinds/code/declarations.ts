import { Matcher } from '../../rules/matcher.ts';
import { DECLARED } from '../../text/units.ts';
import { contentOf, isBlankLine, type View } from '../../text/view.ts';

/** Modifiers: words that may precede a declaration. */
const MODIFIERS =
  /^\s*(?:(?:export|default|abstract|public|private|protected|internal|static|final|sealed|async|unsafe|inline|const|extern|partial|override|virtual|open|data|declare|pub(?:\([^)]*\))?|"C")\s+)+/;

const RULES = new Matcher([
  {
    name: 'import',
    pattern:
      /^\s*(?:import\b|from\s+\S+\s+import\b|#\s*include\b|use\s+[\w:{]|package\s|using\s+[\w.]+\s*;|(?:const|let|var)\s+[\w{},\s]+=\s*require\(|require(?:_relative)?\s+['"]|require_once\b|mod\s+\w+;|extern\s+crate\b)/,
  },
  { name: 'modified', pattern: MODIFIERS },
  {
    name: 'type',
    pattern:
      /^\s*(?:(?:class|interface|enum|struct|trait|impl|union|record|module|namespace|protocol|object)\b[^;]*$|type\s+\w+\s+(?:struct|interface)\b|type\s+\w+.*=|CREATE\s+(?:OR\s+REPLACE\s+)?(?:TABLE|VIEW|TYPE)\b)/i,
  },
  {
    name: 'function',
    pattern:
      /^\s*(?:def\s+[\w.]|fn\s+\w|fun\s+\w|func[\s(]|function\b|defp?\s+\w|sub\s+\w|proc\s+\w|CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE|TRIGGER)\b)/,
  },
  { name: 'method', pattern: /^\s*(?:public|private|protected|static|internal)\b[^=;(]*\([^;]*$/ },
  { name: 'c-head', pattern: /^[A-Za-z_][\w*\t ]*[\t *]\w+\([^;]*$/ },
  { name: 'shell-function', pattern: /^\w[\w-]*\s*\(\)\s*\{?$/ },
]);
const IMPORT = RULES.bitsOf('import');
const MODIFIED = RULES.bitsOf('modified');
const TYPE = RULES.bitsOf('type');
const FUNCTION = RULES.bitsOf('function');
const HEAD = RULES.bitsOf('method', 'c-head', 'shell-function');

/** What each line of a text declares, one of `DECLARED`: imports and the heads of types and functions in common languages. */
export function readDeclarations(view: View): Uint8Array {
  const out = new Uint8Array(view.n);
  for (let i = 0; i < view.n; i++) {
    if (isBlankLine(view, i)) continue;
    const may = RULES.candidates(view, i);
    if (may !== 0) out[i] = declaredBy(contentOf(view, i), may);
  }
  return out;
}

/** What a line declares, by the rules that it may match. */
function declaredBy(line: string, may: number): number {
  if (RULES.fitting(line, may & IMPORT) !== 0) return DECLARED.import;
  // behind modifiers a type or a function may follow whatever the line begins with
  const modifiers = (may & MODIFIED) === 0 ? undefined : MODIFIERS.exec(line)?.[0];
  const rest = line.slice(modifiers?.length ?? 0);
  const which = modifiers === undefined ? may : TYPE | FUNCTION;
  if (RULES.fitting(rest, which & TYPE) !== 0) return DECLARED.type;
  return RULES.fitting(rest, which & FUNCTION) !== 0 || RULES.fitting(line, may & HEAD) !== 0
    ? DECLARED.function
    : DECLARED.none;
}

const CONTROL =
  /^\s*(?:if|else|for|while|switch|catch|return|do|try|with|synchronized|using|lock|case|throw|new|await|yield|unless|until|elif|match)\b/;
const METHOD_LIKE = /^\s*(?:[\w$<>[\],.?&*:~@]+\s+){0,6}[\w$#~]+(?:<[^>]*>)?\([^;]*(?:\{|\)|,|\()\s*$/;
const BOUND_FUNCTION =
  /^\s*(?:export\s+)?(?:const|let|var|static|readonly|public|private)?\s*[\w$.]+\s*(?::[^=]+)?[:=]\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|\w+\s*=>|\($)/;

/** Whether a line may open a function without a keyword: a method, a bound function, a callback. */
export function opensFunction(line: string): boolean {
  const opens = '{),('.includes(line.trimEnd().at(-1) ?? ' ');
  const binds = opens || line.includes('=>') || line.includes('function');
  if (!binds || CONTROL.test(line)) return false;
  return (opens && METHOD_LIKE.test(line)) || BOUND_FUNCTION.test(line);
}
