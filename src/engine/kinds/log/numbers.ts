import { DOT, isBlankSign, isDigit, isLetter } from '../../text/chars.ts';
import type { View } from '../../text/view.ts';
import type { Protect, Protectable } from '../kind.ts';
import {
  COUNTS_FAULTS,
  farNumbers,
  LEAST_NUMBERS,
  MOST_SHARE,
  MOST_VALUES,
  type NumberInRow,
  OF_STATE,
  RARE_ROWS,
  RARE_SHARE,
  USUAL_SHARE,
} from '../rows/numbers.ts';

/** Maximum number of characters read per line. Set by hand, like the next two. */
const READ_CHARS = 400;
/** Maximum number of compared numbers per shape. */
const MOST_SLOTS = 6;
const NAME_CHARS = 24;

/** A number that occurs in all lines of a shape. */
interface Slot {
  /** Index among the words of the line that contain a digit. */
  readonly word: number;
  /** The preceding word. */
  readonly name: string;
  readonly numbers: NumberInRow[];
}

/**
 * Keeps the lines of a frequent shape that differ from the others by a number: a rare three-digit status code, or an
 * outlier after a word that denotes a state (`errors=3`).
 */
export function protectNumbers({ view, templates: { shape, count }, inner }: Protectable, protect: Protect): void {
  const bySlot = new Map<number, readonly Slot[]>();
  for (let i = inner.first; i < inner.end; i++) {
    const id = shape[i] ?? 0;
    if ((count[id] ?? 0) < LEAST_NUMBERS) continue;
    let slots = bySlot.get(id);
    if (slots === undefined) {
      slots = slotsOf(view, i);
      bySlot.set(id, slots);
    }
    if (slots.length > 0) addNumbers(view, i, slots);
  }
  for (const slots of bySlot.values()) {
    for (const { name, numbers } of slots) {
      const faults = COUNTS_FAULTS.test(name);
      const isState = faults || OF_STATE.test(name);
      for (const i of isState ? farNumbers(numbers, faults) : rareCodes(numbers)) protect(i, 'outlier');
    }
  }
}

/** Called with each word that contains a digit, numbered in order. */
type WordVisitor = (word: number, start: number, end: number) => void;

function eachNumbered({ codes, firstNonBlank, to }: View, i: number, most: number, found: WordVisitor): void {
  const first = firstNonBlank[i] ?? 0;
  const end = Math.min(to[i] ?? 0, first + READ_CHARS);
  let word = 0;
  for (let at = first; at < end && word <= most; at++) {
    const start = at;
    let figures = 0;
    for (; at < end && (isLetter(codes[at] ?? 0) || isDigit(codes[at] ?? 0)); at++)
      if (isDigit(codes[at] ?? 0)) figures++;
    if (figures > 0) found(word++, figures === at - start ? start : at, at);
  }
}

/** The numbers in a line that may be states. Lines of one shape differ only in their numbers. */
function slotsOf(view: View, i: number): Slot[] {
  const { text, codes } = view;
  const slots: Slot[] = [];
  eachNumbered(view, i, Number.POSITIVE_INFINITY, (word, start, end) => {
    const isFraction = codes[start - 1] === DOT && isDigit(codes[start - 2] ?? 0);
    if (start === end || isFraction || slots.length >= MOST_SLOTS) return;
    const name = nameBefore(text, start);
    if (isCode(Number(text.slice(start, end))) || COUNTS_FAULTS.test(name) || OF_STATE.test(name))
      slots.push({ word, name, numbers: [] });
  });
  return slots;
}

function addNumbers(view: View, i: number, slots: readonly Slot[]): void {
  let next = 0;
  eachNumbered(view, i, slots.at(-1)?.word ?? 0, (word, start, end) => {
    const slot = slots[next];
    if (slot?.word !== word) return;
    next++;
    if (start < end) slot.numbers.push({ i, value: Number(view.text.slice(start, end)) });
  });
}

/** The word before a number, separated only by punctuation and blanks; `''` if there is none. */
function nameBefore(text: string, start: number): string {
  let end = start;
  while (end > 0 && start - end < 4 && '=:"\' ('.includes(text[end - 1] ?? '')) end--;
  if (end === start) return '';
  let from = end;
  while (
    from > 0 &&
    end - from < NAME_CHARS &&
    !isBlankSign(text.charCodeAt(from - 1)) &&
    !'="({,;'.includes(text[from - 1] ?? '')
  )
    from--;
  return text.slice(from, end);
}

/** Whether a number may be a code of three digits such as an HTTP status. */
function isCode(value: number): boolean {
  return value >= 100 && value < 600;
}

/** Lines with rare codes, if nearly all lines have one of a few common codes. */
function rareCodes(numbers: readonly NumberInRow[]): number[] {
  const counts = new Map<number, number>();
  for (const { value } of numbers) {
    if (!isCode(value)) return [];
    counts.set(value, (counts.get(value) ?? 0) + 1);
    if (counts.size > MOST_VALUES) return [];
  }
  const rare = Math.max(RARE_ROWS, Math.floor(numbers.length * RARE_SHARE));
  const found = numbers.filter(({ value }) => (counts.get(value) ?? 0) <= rare);
  const isState = found.length <= numbers.length * Math.min(MOST_SHARE, 1 - USUAL_SHARE);
  return isState ? found.map(({ i }) => i) : [];
}
