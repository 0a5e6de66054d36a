import type { View } from './view.ts';
import { listWords, WordList } from './words.ts';

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

/** Reads all words of a text once. */
export function readVocabulary({ codes, ink, to, n }: View): Vocabulary {
  const list = new WordList(Math.max(256, codes.length >> 2));
  const first = new Uint32Array(n + 1);
  for (let line = 0; line < n; line++) {
    first[line] = list.size;
    listWords(codes, ink[line] ?? 0, to[line] ?? 0, list);
  }
  first[n] = list.size;
  const table = new IdTable();
  const ids = list.hash; // a hash gives way to its id
  const firstAt = new Uint32Array(list.size);
  const lineCount = new Int32Array(list.size);
  const lastLine = new Int32Array(list.size);
  for (let line = 0; line < n; line++) {
    const behind = first[line + 1] ?? 0;
    for (let k = first[line] ?? 0; k < behind; k++) {
      const known = table.size;
      const id = table.idOf(ids[k] ?? 0);
      if (id === known) firstAt[id] = k;
      ids[k] = id;
      if (lastLine[id] === line + 1) continue;
      lastLine[id] = line + 1;
      lineCount[id] = (lineCount[id] ?? 0) + 1;
    }
  }
  const { size } = table;
  return {
    ids,
    first,
    lineCount,
    size,
    start: firstAt.subarray(0, size).map((k) => list.start[k] ?? 0),
    end: firstAt.subarray(0, size).map((k) => list.end[k] ?? 0),
    find: (hash) => table.find(hash),
  };
}

// past this many tries a slot is shared: crafted hashes may blur a score, never make the scan quadratic
const MAX_PROBES = 24;

/** Numbers different hashes from 0 in the order of their coming. */
class IdTable {
  size = 0;
  #mask = 1023;
  #hashes = new Int32Array(1024);
  #ids = new Int32Array(1024);

  /** The id of a hash; its new one, `size` until now, when it comes first. */
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
