import { declarationOf, mayDeclare, opensFunction } from './declarations.ts';
import { findElements } from './json-elements.ts';
import type { Kind } from './kinds.ts';
import { openings } from './openings.ts';
import { contentOf, isBlankLine, type View } from './view.ts';

/** How a text falls into blocks. */
export interface Units {
  /** Number of the block that a line belongs to; blocks are contiguous and ascend from 0. */
  readonly unit: Int32Array;
  readonly count: number;
  /** Enclosing block (a method's class), or -1, by block. */
  readonly parent: Int32Array;
  /** 1 where a line may not be parted from the one before (inside a fence, a trace, an element). */
  readonly glued: Uint8Array;
  /** What each line declares, one of `DECLARED`; all 0 for texts that are no code. */
  readonly declared: Uint8Array;
  /** 1 where a line opens a block: a declaration, a heading. */
  readonly head: Uint8Array;
}

/** Codes of what a line declares. */
export const DECLARED = { none: 0, import: 1, type: 2, function: 3 } as const;

/** Divides a text into the blocks that are cut or kept together. */
export function findUnits(view: View, kind: Kind): Units {
  if (kind.family === 'code') return codeUnits(view);
  if (kind.sourceType === 'code') return { ...otherUnits(view, kind), declared: readDeclarations(view) };
  return otherUnits(view, kind);
}

function readDeclarations(view: View): Uint8Array {
  const out = new Uint8Array(view.n);
  for (let i = 0; i < view.n; i++) {
    const ink = view.ink[i] ?? 0;
    const to = view.to[i] ?? 0;
    if (ink < to && mayDeclare(view.codes, view.from[i] ?? 0, ink, to))
      out[i] = DECLARED[declarationOf(contentOf(view, i))];
  }
  return out;
}

function otherUnits(view: View, kind: Kind): Units {
  if (kind.family === 'docs') return docsUnits(view);
  if (kind.family === 'json') return elementUnits(view);
  if (kind.family === 'diff') return hunkUnits(view);
  if (kind.family === 'log') return unitsAt(view, () => false, 12);
  return unitsAt(view, () => true, 1);
}

class Builder {
  readonly unit: Int32Array;
  readonly glued: Uint8Array;
  readonly head: Uint8Array;
  declared: Uint8Array;
  readonly #parents: number[] = [];

  constructor(n: number) {
    this.unit = new Int32Array(n);
    this.glued = new Uint8Array(n);
    this.head = new Uint8Array(n);
    this.declared = new Uint8Array(n);
  }

  get last(): number {
    return this.#parents.length - 1;
  }

  open(parent: number): number {
    this.#parents.push(parent);
    return this.last;
  }

  done(): Units {
    return {
      unit: this.unit,
      count: this.#parents.length,
      parent: Int32Array.from(this.#parents),
      glued: this.glued,
      head: this.head,
      declared: this.declared,
    };
  }
}

const CLOSING = /^(?:[}\])]|end\b|fi\b|done\b|esac\b|else\b|elif\b|except\b|finally\b|catch\b|rescue\b)/;
const LEADING = /^(?:@|#\[|\/\/\/?|\/\*|\*|#(?!\s*(?:include|define|if|endif|else|pragma)))/;
const OPENER = /(?:=>|[=(:,]|\bfunction\b.*)\s*[{[(]$|\)\s*\{$|\)\s*$|:$/;
/** Whether the patterns above may match, by the first character. */
const OPENINGS = openings('}])efdcr{', '@#/*');
const MAY_CLOSE = 1;
const MAY_LEAD = 2;
const LONG_UNIT = 40;

/** Functions, types and top-level paragraphs, by declarations and indentation. */
function codeUnits(view: View): Units {
  const b = new Builder(view.n);
  b.declared = readDeclarations(view);
  const stack: { indent: number; unit: number; type: boolean }[] = [];
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
    let popped = false;
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      if (top === undefined || indent > top.indent || (indent === top.indent && closing)) break;
      stack.pop();
      popped = true;
    }
    const declared = b.declared[i] ?? 0;
    if (declared === DECLARED.none && (opening & MAY_LEAD) !== 0 && LEADING.test(bare)) {
      if (leading < 0 || isBlankLine(view, i - 1)) leading = i;
      if (popped) {
        current = b.open(stack.at(-1)?.unit ?? -1);
        b.unit[i] = current;
        size = 1;
        leading = i;
      }
      continue;
    }
    const declares = declared === DECLARED.type || declared === DECLARED.function;
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
      stack.push({ indent, unit, type: declared === DECLARED.type });
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

const FENCE = /^\s*(```+|~~~+)/;
/** Whether a fence, a heading or an underline may begin so. */
const DOC_OPENINGS = openings('`~', '#', '=-~^');
const MAY_FENCE = 1;
const MAY_HEAD = 2;
const MAY_UNDERLINE = 4;
const READ_CHARS = 200;
const LEAST_FENCE = 3;

/** Sections by heading, paragraphs inside them; fences hold together. */
function docsUnits(view: View): Units {
  const b = new Builder(view.n);
  let current = b.open(-1);
  let size = 0;
  let fence = '';
  for (let i = 0; i < view.n; i++) {
    const opening = DOC_OPENINGS[view.codes[view.ink[i] ?? 0] ?? 0] ?? 0;
    const line = opening === 0 ? '' : contentOf(view, i, READ_CHARS);
    const mark = (opening & MAY_FENCE) === 0 ? undefined : fenceMark(view, i, line);
    if (fence !== '') {
      b.glued[i] = 1;
      b.unit[i] = current;
      if (mark?.startsWith(fence) && line.trim() === mark) fence = '';
      continue;
    }
    const heading = ((opening & MAY_HEAD) !== 0 && /^#{1,6}\s/.test(line)) || underlined(view, i);
    if (heading) b.head[i] = 1;
    if (size > 0 && (heading || (isBlankLine(view, i) && size >= 10))) {
      current = b.open(-1);
      size = 0;
    }
    b.unit[i] = current;
    size++;
    if (mark !== undefined) fence = mark;
  }
  return b.done();
}

const BACKTICK = 96;
const TILDE = 126;

/** What opens or closes a fence on a line, if anything does. */
function fenceMark({ codes, text, from, ink, to }: View, i: number, line: string): string | undefined {
  const start = ink[i] ?? 0;
  const sign = codes[start];
  if (sign !== BACKTICK && sign !== TILDE) return FENCE.exec(line)?.[1];
  const end = Math.min(to[i] ?? 0, (from[i] ?? 0) + READ_CHARS);
  let at = start;
  while (at < end && codes[at] === sign) at++;
  return at - start < LEAST_FENCE ? undefined : text.slice(start, at);
}

function underlined(view: View, i: number): boolean {
  if (i + 1 >= view.n || isBlankLine(view, i)) return false;
  if (((DOC_OPENINGS[view.codes[view.from[i + 1] ?? 0] ?? 0] ?? 0) & MAY_UNDERLINE) === 0) return false;
  return /^(?:={3,}|-{4,}|~{4,}|\^{4,})$/.test(contentOf(view, i + 1, 120));
}

/** Elements of pretty-printed JSON, each held together. */
function elementUnits(view: View): Units {
  const { element, count, frame } = findElements(view);
  const glued = new Uint8Array(view.n);
  for (let i = 1; i < view.n; i++) {
    if (element[i] === element[i - 1] && frame[i] === 0 && frame[i - 1] === 0) glued[i] = 1;
  }
  return {
    unit: element,
    count,
    parent: new Int32Array(count).fill(-1),
    glued,
    head: new Uint8Array(view.n),
    declared: new Uint8Array(view.n),
  };
}

const LONGEST_HUNK = 60;
const AT_SIGN = 64;
const LETTER_D = 100;

/** Hunks, which hold together behind their header unless they are long. */
function hunkUnits(view: View): Units {
  const opens = (i: number): boolean => {
    const first = view.codes[view.from[i] ?? 0];
    return (first === LETTER_D || first === AT_SIGN) && /^(?:diff |@@)/.test(contentOf(view, i, 80));
  };
  const units = unitsAt(view, opens, 1);
  for (let i = 0; i < view.n; ) {
    let end = i + 1;
    while (end < view.n && units.unit[end] === units.unit[i]) end++;
    const hunk = contentOf(view, i, 3).startsWith('@@');
    if (hunk && end - i > 2 && end - i <= LONGEST_HUNK) units.glued.fill(1, i + 2, end);
    i = end;
  }
  return units;
}

function unitsAt(view: View, starts: (line: number) => boolean, most: number): Units {
  const b = new Builder(view.n);
  let current = b.open(-1);
  let size = 0;
  for (let i = 0; i < view.n; i++) {
    if (size > 0 && ((most > 1 && size >= most) || starts(i))) {
      current = b.open(-1);
      size = 0;
    }
    b.unit[i] = current;
    size++;
  }
  return b.done();
}
