import { openings } from '../rules/openings.ts';
import { UnitBuilder, type Units } from '../text/units.ts';
import { contentOf, isBlankLine, type View } from '../text/view.ts';
import { codeUnits, readDeclarations } from './code/units.ts';
import { findElements } from './json-elements.ts';
import type { Kind } from './recognise.ts';

export { DECLARED, type Units } from '../text/units.ts';

/** Divides a text into the blocks that are cut or kept together. */
export function findUnits(view: View, kind: Kind): Units {
  if (kind.family === 'code') return codeUnits(view);
  if (kind.sourceType === 'code') return { ...otherUnits(view, kind), declared: readDeclarations(view) };
  return otherUnits(view, kind);
}

function otherUnits(view: View, kind: Kind): Units {
  if (kind.family === 'docs') return docsUnits(view);
  if (kind.family === 'json') return elementUnits(view);
  if (kind.family === 'diff') return hunkUnits(view);
  return evenUnits(view.n, kind.family === 'log' ? 12 : 1);
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
  const b = new UnitBuilder(view.n);
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
  const units = unitsAt(view, opens);
  for (let i = 0; i < view.n; ) {
    let end = i + 1;
    while (end < view.n && units.unit[end] === units.unit[i]) end++;
    const hunk = contentOf(view, i, 3).startsWith('@@');
    if (hunk && end - i > 2 && end - i <= LONGEST_HUNK) units.glued.fill(1, i + 2, end);
    i = end;
  }
  return units;
}

function unitsAt(view: View, starts: (line: number) => boolean): Units {
  const b = new UnitBuilder(view.n);
  let current = b.open(-1);
  let size = 0;
  for (let i = 0; i < view.n; i++) {
    if (size > 0 && starts(i)) {
      current = b.open(-1);
      size = 0;
    }
    b.unit[i] = current;
    size++;
  }
  return b.done();
}

/** Blocks of so many lines each. */
function evenUnits(n: number, lines: number): Units {
  const unit = new Int32Array(n);
  for (let i = 0; i < n; i++) unit[i] = (i / lines) | 0;
  const count = Math.max(1, Math.ceil(n / lines));
  const parent = new Int32Array(count).fill(-1);
  return { unit, count, parent, glued: new Uint8Array(n), head: new Uint8Array(n), declared: new Uint8Array(n) };
}
