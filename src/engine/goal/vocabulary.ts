import type { View } from '../text/view.ts';
import { ALL_WORDS, listWords, type Wanted, WordList } from './words.ts';

/** The wanted words of each line, as ids. */
export interface Vocabulary {
  /** Word ids of all lines in sequence, with repetitions. */
  readonly ids: Int32Array;
  /** `ids[first[i]] … ids[first[i + 1] - 1]` belong to line index `i`. */
  readonly first: Uint32Array;
  /** For each entry of `ids`, the number of preceding words, including unwanted ones. */
  readonly ordinal: Uint32Array;
  /** Number of words on each line, including unwanted ones. */
  readonly spoken: Uint32Array;
  /** Total number of words, including unwanted ones. */
  readonly total: number;
  /** Number of lines that contain a word, by word id. */
  readonly lineCount: Int32Array;
  readonly size: number;
  /** Offset of the first occurrence of each word, by word id. */
  readonly start: Uint32Array;
  readonly end: Uint32Array;
  /** The id of a word by its hash, or -1. */
  find(hash: number): number;
}

/** Reads the words of a text once; all, unless only some are wanted. */
export function readVocabulary(view: View, wanted: Wanted = ALL_WORDS): Vocabulary {
  const first = new Uint32Array(view.n + 1);
  const spoken = new Uint32Array(view.n);
  const list = takeList();
  listLines(view, list, wanted, first, spoken);
  const { size, seen: total } = list;
  const ids = new Int32Array(size);
  const ordinal = list.ordinal.slice(0, size);
  const table = new IdTable();
  numberWords(list, first, table, ids);
  keepList(list);
  const find = (hash: number): number => table.find(hash);
  const { start, end, lineCount } = table;
  return { ids, first, ordinal, spoken, total, lineCount, size: table.size, start, end, find };
}

/** Maximum size of a word list that is kept for reuse, in words (1.1 MB). Set by hand. */
const MAX_SPARE_WORDS = 1 << 16;

/** A word list kept for reuse, because it is the largest allocation when reading a text. */
let spare: WordList | null = null;

function takeList(): WordList {
  const list = spare ?? new WordList(MAX_SPARE_WORDS / 8);
  spare = null;
  list.size = 0;
  list.seen = 0;
  return list;
}

/** Keeps a list for reuse, unless it is too large. */
function keepList(list: WordList): void {
  if (list.hash.length <= MAX_SPARE_WORDS) spare = list;
}

function listLines(
  { codes, firstNonBlank, to, n }: View,
  list: WordList,
  wanted: Wanted,
  first: Uint32Array,
  spoken: Uint32Array,
): void {
  for (let line = 0; line < n; line++) {
    const before = list.seen;
    listWords(codes, firstNonBlank[line] ?? 0, to[line] ?? 0, list, wanted);
    first[line + 1] = list.size;
    spoken[line] = list.seen - before;
  }
}

/** Assigns word ids, and records each word's first occurrence and number of lines. */
function numberWords(list: WordList, first: Uint32Array, table: IdTable, ids: Int32Array): void {
  const { hash, start, end } = list;
  for (let line = 1; line < first.length; line++) {
    const behind = first[line] ?? 0;
    for (let k = first[line - 1] ?? 0; k < behind; k++) {
      const known = table.size;
      const id = table.idOf(hash[k] ?? 0);
      ids[k] = id;
      if (id === known) table.place(id, start[k] ?? 0, end[k] ?? 0);
      table.count(id, line);
    }
  }
}

// maximum number of probes; afterwards a slot is shared, so that crafted hashes cannot make the scan quadratic. set by
// hand
const MAX_PROBES = 24;
/** Initial capacity in words, a power of two. A table grows when half full. */
const INITIAL_IDS = 512;

/** Numbers distinct hashes from 0 by first occurrence, and stores facts about each by its number. */
class IdTable {
  size = 0;
  start = new Uint32Array(INITIAL_IDS);
  end = new Uint32Array(INITIAL_IDS);
  lineCount = new Int32Array(INITIAL_IDS);
  #lastLine = new Int32Array(INITIAL_IDS);
  #mask = 2 * INITIAL_IDS - 1;
  #hashes = new Int32Array(2 * INITIAL_IDS);
  #ids = new Int32Array(2 * INITIAL_IDS);

  /** The id of a hash. A new hash gets the next id, which is the previous `size`. */
  idOf(hash: number): number {
    if (this.size * 2 > this.#mask) this.#grow();
    const hashes = this.#hashes;
    const mask = this.#mask;
    let slot = hash & mask;
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const found = hashes[slot] ?? 0;
      if (found === hash) return this.#ids[slot] ?? 0;
      if (found === 0) {
        hashes[slot] = hash;
        this.#ids[slot] = this.size;
        return this.size++;
      }
      slot = (slot + 1) & mask;
    }
    return this.#ids[hash & mask] ?? 0;
  }

  place(id: number, start: number, end: number): void {
    if (id >= this.start.length) this.#makeRoom();
    this.start[id] = start;
    this.end[id] = end;
  }

  /** Counts a line for a word, at most once per line. Lines must come in ascending order, from 1. */
  count(id: number, line: number): void {
    if (this.#lastLine[id] === line) return;
    this.#lastLine[id] = line;
    this.lineCount[id] = (this.lineCount[id] ?? 0) + 1;
  }

  #makeRoom(): void {
    const { start, end, lineCount } = this;
    const lastLine = this.#lastLine;
    const room = start.length * 2;
    this.start = new Uint32Array(room);
    this.end = new Uint32Array(room);
    this.lineCount = new Int32Array(room);
    this.#lastLine = new Int32Array(room);
    this.start.set(start);
    this.end.set(end);
    this.lineCount.set(lineCount);
    this.#lastLine.set(lastLine);
  }

  /** The id of a hash, or -1. */
  find(hash: number): number {
    let slot = hash & this.#mask;
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const found = this.#hashes[slot] ?? 0;
      if (found === hash) return this.#ids[slot] ?? -1;
      if (found === 0) return -1;
      slot = (slot + 1) & this.#mask;
    }
    return -1;
  }

  #grow(): void {
    const oldHashes = this.#hashes;
    const oldIds = this.#ids;
    const capacity = oldHashes.length * 2;
    const mask = capacity - 1;
    const hashes = new Int32Array(capacity);
    const ids = new Int32Array(capacity);
    for (let i = 0; i < oldHashes.length; i++) {
      const hash = oldHashes[i] ?? 0;
      if (hash === 0) continue;
      let slot = hash & mask;
      for (let probe = 0; probe < MAX_PROBES && hashes[slot] !== 0; probe++) slot = (slot + 1) & mask;
      if (hashes[slot] !== 0) continue;
      hashes[slot] = hash;
      ids[slot] = oldIds[i] ?? 0;
    }
    this.#hashes = hashes;
    this.#ids = ids;
    this.#mask = mask;
  }
}
