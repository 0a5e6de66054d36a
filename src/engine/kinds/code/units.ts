import { Matcher } from '../../rules/matcher.ts';
import { contentOf, DECLARED, isBlankLine, UnitBuilder, type Units, type View } from '../../text/view.ts';

const RULES = new Matcher([
  { name: 'closes', pattern: /^\s*(?:(?:where|end|fi|done|esac|else|elif|except|finally|catch|rescue)\b|[{}\])])/ },
  {
    name: 'leads',
    pattern: /^\s*(?:@|#\[|\[[A-Za-z][^\]]*\]$|\/\/\/?|\/\*|\*|#(?!\s*(?:include|define|if|endif|else|pragma)))/,
  },
]);
const CLOSES = RULES.bitsOf('closes');
const LEADS = RULES.bitsOf('leads');
const OPENER = /(?:=>|[=(:,]|\bfunction\b.*)\s*[{[(]$|\)\s*\{$|\)\s*$|:$/;
/** Number of leading characters of a line searched for a declaration. Set by hand. */
const READ_CHARS = 300;
/** Longer paragraphs of top-level code end at their next blank line. In lines. Set by hand: about a screen. */
const LONG_UNIT = 40;
const OPENING_BRACE = 123;
const CLOSING_BRACE = 125;

interface OpenBlock {
  readonly indent: number;
  readonly unit: number;
  readonly type: boolean;
  /** Whether the block began with a brace that is still open. */
  braced: boolean;
}

/** Whether a line is a return type above the name of its function. */
function isReturnType(view: View, i: number): boolean {
  if (i + 1 >= view.n || view.firstNonBlank[i + 1] !== view.from[i + 1]) return false;
  return /^[A-Za-z_][\w\t *]*$/.test(contentOf(view, i, READ_CHARS)) && /^\**\w+\(/.test(contentOf(view, i + 1, 80));
}

/** Functions, types and top-level paragraphs, by declarations and indentation. */
export function codeUnits(view: View): Units {
  const blocks = new CodeBlocks(view, readDeclarations(view));
  for (let i = 0; i < view.n; i++) blocks.take(i);
  return blocks.done();
}

class CodeBlocks {
  readonly #view: View;
  readonly #out: UnitBuilder;
  readonly #stack: OpenBlock[] = [];
  /** Index of the current block, and its number of lines. */
  #current: number;
  #size = 0;
  /** First line of the comments or decorators that belong to the next block, or -1. */
  #leading = -1;

  constructor(view: View, declared: Uint8Array) {
    this.#view = view;
    this.#out = new UnitBuilder(view.n);
    this.#out.declared = declared;
    this.#current = this.#out.open(-1);
  }

  done(): Units {
    return this.#out.done();
  }

  take(i: number): void {
    const view = this.#view;
    this.#out.unit[i] = this.#current;
    this.#size++;
    const firstNonBlank = view.firstNonBlank[i] ?? 0;
    const to = view.to[i] ?? 0;
    if (firstNonBlank === to) return;
    const indent = view.indent[i] ?? 0;
    const first = view.codes[firstNonBlank] ?? 0;
    const matchBits = RULES.matches(view, i, READ_CHARS);
    const declared = this.#out.declared[i] ?? 0;
    const declares = declared === DECLARED.type || declared === DECLARED.function;
    const closing = (matchBits & CLOSES) !== 0;
    const braced = view.codes[to - 1] === OPENING_BRACE;
    const popped = this.#endBlocks(indent, closing, declares, first === CLOSING_BRACE, braced);
    if (
      declared === DECLARED.none &&
      ((matchBits & LEADS) !== 0 || (indent === 0 && !closing && isReturnType(view, i)))
    )
      this.#lead(i, popped);
    else {
      this.#place(i, indent, closing, declared, popped, braced);
      this.#leading = -1;
    }
  }

  /**
   * Closes the blocks that end before a line. A line ends a block if it is indented no more than the block's first
   * line, unless it closes the block. A block in braces ends only with a closing brace or a declaration, because
   * labels, directives and string contents may begin in the first column.
   *
   * @returns whether any block was closed
   */
  #endBlocks(indent: number, closing: boolean, declares: boolean, endsBraces: boolean, opensBraces: boolean): boolean {
    const stack = this.#stack;
    const before = stack.length;
    let top = stack.at(-1);
    while (top !== undefined && indent <= top.indent && !(indent === top.indent && closing)) {
      if (top.braced && !declares && !endsBraces) break;
      stack.pop();
      top = stack.at(-1);
    }
    if (top !== undefined && top.indent === indent) {
      if (opensBraces) top.braced = true;
      else if (endsBraces) top.braced = false;
    }
    return stack.length < before;
  }

  #lead(i: number, popped: boolean): void {
    if (this.#leading < 0 || isBlankLine(this.#view, i - 1)) this.#leading = i;
    if (!popped) return;
    this.#open(i, i);
    this.#leading = i;
  }

  #place(i: number, indent: number, closing: boolean, declared: number, popped: boolean, braced: boolean): void {
    const declares = declared === DECLARED.type || declared === DECLARED.function;
    const inType = (this.#stack.at(-1)?.type ?? true) && !closing;
    const leading = this.#leading;
    if (declares || (inType && this.#opens(i, indent))) {
      const from = leading >= 0 ? leading : i;
      if (from === 0 && this.#current === 0) this.#move(0, i, 0);
      else this.#open(from, i);
      this.#out.head[i] = 1;
      this.#stack.push({ indent, unit: this.#current, type: declared === DECLARED.type, braced });
    } else if (inType && leading > 0 && i - leading < this.#size - 1) {
      this.#open(leading, i); // a member with its own comment
    } else if (popped || (indent === 0 && this.#size > LONG_UNIT && i > 0 && isBlankLine(this.#view, i - 1))) {
      this.#open(i, i);
    }
  }

  /** Whether a line opens a block without a declaration, such as a callback. */
  #opens(i: number, indent: number): boolean {
    const line = contentOf(this.#view, i, READ_CHARS);
    return opensFunction(line) || (indent === 0 && OPENER.test(line));
  }

  #open(from: number, to: number): void {
    this.#move(from, to, this.#out.open(this.#stack.at(-1)?.unit ?? -1));
  }

  #move(from: number, to: number, unit: number): void {
    this.#out.unit.fill(unit, from, to + 1);
    this.#current = unit;
    this.#size = to + 1 - from;
  }
}

/** Modifiers: words that may precede a declaration. */
const MODIFIERS =
  /^\s*(?:(?:export|default|abstract|public|private|protected|internal|static|final|sealed|async|unsafe|inline|const|extern|partial|override|virtual|open|data|declare|pub(?:\([^)]*\))?|"C")\s+)+/;

const DECLARATIONS = new Matcher([
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
const IMPORT = DECLARATIONS.bitsOf('import');
const MODIFIED = DECLARATIONS.bitsOf('modified');
const TYPE = DECLARATIONS.bitsOf('type');
const FUNCTION = DECLARATIONS.bitsOf('function');
const HEAD = DECLARATIONS.bitsOf('method', 'c-head', 'shell-function');

/** Finds imports and the heads of types and functions in common languages. Returns a `DECLARED` code per line. */
export function readDeclarations(view: View): Uint8Array {
  const out = new Uint8Array(view.n);
  for (let i = 0; i < view.n; i++) {
    if (isBlankLine(view, i)) continue;
    const may = DECLARATIONS.candidates(view, i);
    if (may !== 0) out[i] = declaredBy(contentOf(view, i), may);
  }
  return out;
}

/** What a line declares, by the rules that it may match. */
function declaredBy(line: string, may: number): number {
  if (DECLARATIONS.fitting(line, may & IMPORT) !== 0) return DECLARED.import;
  // after modifiers, always tests for a type or a function
  const modifiers = (may & MODIFIED) === 0 ? undefined : MODIFIERS.exec(line)?.[0];
  const rest = line.slice(modifiers?.length ?? 0);
  const which = modifiers === undefined ? may : TYPE | FUNCTION;
  if (DECLARATIONS.fitting(rest, which & TYPE) !== 0) return DECLARED.type;
  return DECLARATIONS.fitting(rest, which & FUNCTION) !== 0 || DECLARATIONS.fitting(line, may & HEAD) !== 0
    ? DECLARED.function
    : DECLARED.none;
}

const CONTROL =
  /^\s*(?:if|else|for|while|switch|catch|return|do|try|with|synchronized|using|lock|case|throw|new|await|yield|unless|until|elif|match)\b/;
const METHOD_LIKE = /^\s*(?:[\w$<>[\],.?&*:~@]+\s+){0,6}[\w$#~]+(?:<[^>]*>)?\([^;]*(?:\{|\)|,|\()\s*$/;
const BOUND_FUNCTION =
  /^\s*(?:export\s+)?(?:const|let|var|static|readonly|public|private)?\s*[\w$.]+\s*(?::[^=]+)?[:=]\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|\w+\s*=>|\($)/;

/** Whether a line may open a function without a keyword: a method, a bound function, a callback. */
function opensFunction(line: string): boolean {
  const opens = '{),('.includes(line.trimEnd().at(-1) ?? ' ');
  const binds = opens || line.includes('=>') || line.includes('function');
  if (!binds || CONTROL.test(line)) return false;
  return (opens && METHOD_LIKE.test(line)) || BOUND_FUNCTION.test(line);
}
