import { declarationOf, mayDeclare, opensFunction } from './declarations.ts';
import { openings } from './openings.ts';
import { DECLARED, UnitBuilder, type Units } from './unit-builder.ts';
import { contentOf, isBlankLine, type View } from './view.ts';

/** What each line of a text declares, one of `DECLARED`. */
export function readDeclarations(view: View): Uint8Array {
  const out = new Uint8Array(view.n);
  for (let i = 0; i < view.n; i++) {
    const ink = view.ink[i] ?? 0;
    const to = view.to[i] ?? 0;
    if (ink < to && mayDeclare(view.codes, view.from[i] ?? 0, ink, to))
      out[i] = DECLARED[declarationOf(contentOf(view, i))];
  }
  return out;
}

const CLOSING = /^(?:[}\])]|where\b|end\b|fi\b|done\b|esac\b|else\b|elif\b|except\b|finally\b|catch\b|rescue\b)/;
const LEADING = /^(?:@|#\[|\[[A-Za-z][^\]]*\]$|\/\/\/?|\/\*|\*|#(?!\s*(?:include|define|if|endif|else|pragma)))/;
const OPENER = /(?:=>|[=(:,]|\bfunction\b.*)\s*[{[(]$|\)\s*\{$|\)\s*$|:$/;
/** Whether the patterns above may match, by the first character. */
const OPENINGS = openings('}])efdcrw{', '@#/*[');
const MAY_CLOSE = 1;
const MAY_LEAD = 2;
const LONG_UNIT = 40;
const OPENING_BRACE = 123;
const CLOSING_BRACE = 125;

/** A block that is open at a line. */
interface OpenBlock {
  readonly indent: number;
  readonly unit: number;
  readonly type: boolean;
  /** Whether it began with a brace that no line has closed yet. */
  braced: boolean;
}

/** What of a line tells which blocks end before it. */
interface Edge {
  readonly indent: number;
  readonly closing: boolean;
  readonly declares: boolean;
  readonly first: number | undefined;
  readonly last: number | undefined;
}

/**
 * Closes the blocks that end before a line: what is indented no further is no part of them, unless it closes them. A
 * block in braces ends with its brace only: labels, directives and texts may stand in the first column.
 *
 * @returns whether any block was closed
 */
function closeBlocks(stack: OpenBlock[], { indent, closing, declares, first, last }: Edge): boolean {
  const before = stack.length;
  let top = stack.at(-1);
  while (top !== undefined && indent <= top.indent && !(indent === top.indent && closing)) {
    if (top.braced && !declares && first !== CLOSING_BRACE) break;
    stack.pop();
    top = stack.at(-1);
  }
  if (top?.indent === indent) {
    if (last === OPENING_BRACE) top.braced = true;
    else if (first === CLOSING_BRACE) top.braced = false;
  }
  return stack.length < before;
}

/** Whether a line is a return type above the name of its function. */
function isReturnType(view: View, i: number, line: string): boolean {
  if (i + 1 >= view.n || view.ink[i + 1] !== view.from[i + 1]) return false;
  return /^[A-Za-z_][\w\t *]*$/.test(line) && /^\**\w+\(/.test(contentOf(view, i + 1, 80));
}

/** Functions, types and top-level paragraphs, by declarations and indentation. */
export function codeUnits(view: View): Units {
  const b = new UnitBuilder(view.n);
  b.declared = readDeclarations(view);
  const stack: OpenBlock[] = [];
  let current = b.open(-1);
  let size = 0;
  let leading = -1;
  const move = (from: number, to: number, unit: number): void => {
    for (let k = from; k < to; k++) b.unit[k] = unit;
  };
  for (let i = 0; i < view.n; i++) {
    b.unit[i] = current;
    size++;
    if (isBlankLine(view, i)) {
      continue;
    }
    const indent = view.indent[i] ?? 0;
    const line = contentOf(view, i, 300);
    const opening = OPENINGS[view.codes[view.ink[i] ?? 0] ?? 0] ?? 0;
    const bare = opening === 0 ? line : line.trimStart();
    const closing = (opening & MAY_CLOSE) !== 0 && (CLOSING.test(bare) || bare.startsWith('{'));
    const declared = b.declared[i] ?? 0;
    const declares = declared === DECLARED.type || declared === DECLARED.function;
    const first = view.codes[view.ink[i] ?? 0];
    const last = view.codes[(view.to[i] ?? 1) - 1];
    const popped =
      indent <= (stack.at(-1)?.indent ?? -1) && closeBlocks(stack, { indent, closing, declares, first, last });
    const leads =
      declared === DECLARED.none &&
      (((opening & MAY_LEAD) !== 0 && LEADING.test(bare)) || (indent === 0 && !closing && isReturnType(view, i, line)));
    if (leads) {
      if (leading < 0 || isBlankLine(view, i - 1)) leading = i;
      if (popped) {
        current = b.open(stack.at(-1)?.unit ?? -1);
        b.unit[i] = current;
        size = 1;
        leading = i;
      }
      continue;
    }
    const inType = (stack.at(-1)?.type ?? true) && !closing;
    const opens = declares || (inType && (opensFunction(line) || (indent === 0 && OPENER.test(bare))));
    if (declares) b.head[i] = 1;
    if (opens) {
      const from = leading >= 0 ? leading : i;
      const unit = from === 0 && current === 0 ? 0 : b.open(stack.at(-1)?.unit ?? -1);
      move(from, i + 1, unit);
      current = unit;
      size = i + 1 - from;
      if (!declares) b.head[i] = 1;
      stack.push({ indent, unit, type: declared === DECLARED.type, braced: last === OPENING_BRACE });
    } else if (inType && leading > 0 && i - leading < size - 1) {
      // a member with a comment of its own
      current = b.open(stack.at(-1)?.unit ?? -1);
      move(leading, i + 1, current);
      size = i + 1 - leading;
    } else if (popped || (indent === 0 && size > LONG_UNIT && i > 0 && isBlankLine(view, i - 1))) {
      current = b.open(stack.at(-1)?.unit ?? -1);
      b.unit[i] = current;
      size = 1;
    }
    leading = -1;
  }
  return b.done();
}
