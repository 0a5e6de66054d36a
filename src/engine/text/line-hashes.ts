import { LINE_FEED } from './chars.ts';
import { type Lines, splitLines } from './lines.ts';
import { findNumbering } from './view.ts';

/** The lines of a text as they are compared: without line numbers that a tool printed before them. */
export interface LineHashes {
  readonly text: string;
  readonly count: number;
  /** Offsets of each line's content, and after it, without its LF. A CR belongs to the content. */
  readonly from: Uint32Array;
  readonly end: Uint32Array;
  /** Hash of each line's content. */
  readonly hash: Uint32Array;
  /** Separator between number and content; `''` if the lines are not numbered. */
  readonly numbering: string;
  readonly lines: Lines;
}

const FNV_START = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Hashes the lines of a text. @param skip - number of a client's header lines without numbers */
export function hashLines(text: string, skip: number): LineHashes {
  const lines = splitLines(text);
  const { count, starts } = lines;
  const numbering = findNumbering(lines, skip);
  const from = new Uint32Array(count);
  const end = new Uint32Array(count);
  const hash = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const start = starts[i] ?? 0;
    const next = starts[i + 1] ?? text.length;
    const last = next > start && text.charCodeAt(next - 1) === LINE_FEED ? next - 1 : next;
    const content = numbering === null ? start : Math.min(last, numbering.contentStart(text, start, last));
    let h = FNV_START;
    for (let at = content; at < last; at++) h = Math.imul(h ^ text.charCodeAt(at), FNV_PRIME);
    from[i] = content;
    end[i] = last;
    hash[i] = (h ^ (h >>> 15)) >>> 0;
  }
  return { text, count, from, end, hash, numbering: numbering?.separator ?? '', lines };
}

/** Whether a line of one text has the same content as a line of another. */
export function isSameLine(a: LineHashes, i: number, b: LineHashes, k: number): boolean {
  if (a.hash[i] !== b.hash[k]) return false;
  const [start, other] = [a.from[i] ?? 0, b.from[k] ?? 0];
  const length = (a.end[i] ?? 0) - start;
  return (
    length === (b.end[k] ?? 0) - other && a.text.slice(start, start + length) === b.text.slice(other, other + length)
  );
}

const NUMBER = /\d{1,9}/;

/** The number that a tool printed before a line; 0 if there is none. */
export function numberOf({ text, from, numbering, lines }: LineHashes, line: number): number {
  const start = lines.starts[line] ?? 0;
  if (numbering === '' || from[line] === start) return 0;
  return Number(NUMBER.exec(text.slice(start, from[line]))?.[0] ?? 0);
}
