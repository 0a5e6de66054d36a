import type { View } from './view.ts';
import { scanWords } from './words.ts';

/** Which words stand on which line, as numbers. */
export interface Vocabulary {
  /** Word ids of all lines one after another, repeats included. */
  readonly ids: Int32Array;
  /** `ids[first[i]] … ids[first[i + 1] - 1]` belong to line index `i`. */
  readonly first: Uint32Array;
  /** Number of lines that hold a word, by word id. */
  readonly lineCount: Int32Array;
  /** Number of different words. */
  readonly size: number;
  /** Where each word stands first in the text, by word id. */
  readonly start: Uint32Array;
  readonly end: Uint32Array;
  /** The id of a word by its hash, or -1. */
  find(hash: number): number;
}

// past this many tries a slot is shared: crafted hashes may blur a score, never make the scan quadratic
const MAX_PROBES = 24;

/** Reads all words of a text once. */
export function readVocabulary(view: View): Vocabulary {
  let capacity = 1024;
  let hashes = new Int32Array(capacity);
  let slots = new Int32Array(capacity);
  let size = 0;
  let lineCount = new Int32Array(capacity);
  let startOf = new Uint32Array(capacity);
  let endOf = new Uint32Array(capacity);
  let lastLine = new Int32Array(capacity).fill(-1);
  let ids = new Int32Array(Math.max(256, view.text.length >> 3));
  let used = 0;
  const first = new Uint32Array(view.n + 1);

  const idOf = (hash: number): number => {
    let slot = hash & (capacity - 1);
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const found = hashes[slot] ?? 0;
      if (found === hash) return slots[slot] ?? 0;
      if (found === 0) {
        hashes[slot] = hash;
        slots[slot] = size;
        return size++;
      }
      slot = (slot + 1) & (capacity - 1);
    }
    return slots[hash & (capacity - 1)] ?? 0;
  };
  const grow = (): void => {
    const oldHashes = hashes;
    const oldSlots = slots;
    capacity *= 2;
    hashes = new Int32Array(capacity);
    slots = new Int32Array(capacity);
    for (let i = 0; i < oldHashes.length; i++) {
      const hash = oldHashes[i] ?? 0;
      if (hash === 0) continue;
      let slot = hash & (capacity - 1);
      for (let probe = 0; probe < MAX_PROBES && hashes[slot] !== 0; probe++) slot = (slot + 1) & (capacity - 1);
      if (hashes[slot] !== 0) continue;
      hashes[slot] = hash;
      slots[slot] = oldSlots[i] ?? 0;
    }
    lineCount = resized(lineCount, capacity);
    startOf = widened(startOf, capacity);
    endOf = widened(endOf, capacity);
    const wider = new Int32Array(capacity).fill(-1);
    wider.set(lastLine);
    lastLine = wider;
  };
  let line = 0;
  const take = (hash: number, start: number, end: number): void => {
    if (size * 2 >= capacity) grow();
    const known = size;
    const id = idOf(hash);
    if (size > known) {
      startOf[id] = start;
      endOf[id] = end;
    }
    if (used === ids.length) ids = resized(ids, used * 2);
    ids[used++] = id;
    if (lastLine[id] === line) return;
    lastLine[id] = line;
    lineCount[id] = (lineCount[id] ?? 0) + 1;
  };
  for (; line < view.n; line++) {
    first[line] = used;
    scanWords(view.text, view.ink[line] ?? 0, view.to[line] ?? 0, take);
  }
  first[view.n] = used;
  const find = (hash: number): number => {
    let slot = hash & (capacity - 1);
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const found = hashes[slot] ?? 0;
      if (found === hash) return slots[slot] ?? -1;
      if (found === 0) return -1;
      slot = (slot + 1) & (capacity - 1);
    }
    return -1;
  };
  return { ids, first, lineCount, size, start: startOf, end: endOf, find };
}

function resized(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const out = new Int32Array(length);
  out.set(array);
  return out;
}

function widened(array: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const out = new Uint32Array(length);
  out.set(array);
  return out;
}
