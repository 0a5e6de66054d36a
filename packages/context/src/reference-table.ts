const FIRST_SLOTS = 1_024;
/** Maximum load factor; beyond it, probing takes too long. */
const FULL = 0.5;
const FREE = 0;
/** Words per slot: key, number of references, newest referring message, reach from the roots. */
const WORDS = 4;
const COUNT = 1;
const ORDINAL = 2;
const REACH = 3;

/** References to any of several keys. */
interface References {
  /** Number of references to the most referenced key. */
  readonly count: number;
  /** Index of the newest referring message; -1 if there is none. */
  readonly ordinal: number;
  /** Reach from the roots, 0..1. */
  readonly reach: number;
}

/**
 * References by key: their number, the newest referring message, and the reach from the roots. The fields of a slot are
 * adjacent in one typed array, because memory access dominates the many look-ups.
 */
export class ReferenceTable {
  #slots = FIRST_SLOTS;
  #words = new Uint32Array(FIRST_SLOTS * WORDS);
  #reaches = new Float32Array(this.#words.buffer);
  #size = 0;

  /** Adds a reference; the newest message must come first. 0 is not a valid key. */
  add(key: number, ordinal: number, reach: number): void {
    if (key === FREE) return;
    let slot = this.find(key);
    if (this.#words[slot] === FREE) {
      if (this.#size >= this.#slots * FULL) {
        this.#grow();
        slot = this.find(key);
      }
      this.#size++;
      this.#words[slot] = key;
      this.#words[slot + ORDINAL] = ordinal;
    }
    this.#words[slot + COUNT] = this.count(slot) + 1;
    if (reach > this.reach(slot)) this.#reaches[slot + REACH] = reach;
  }

  /** Adds a reference to each of the keys. */
  addAll(keys: Uint32Array, ordinal: number, reach: number): void {
    for (let i = 0; i < keys.length; i++) this.add(keys[i] ?? FREE, ordinal, reach);
  }

  /** Combined references to several keys. */
  sum(keys: Uint32Array): References {
    const words = this.#words;
    const reaches = this.#reaches;
    let count = 0;
    let ordinal = -1;
    let reach = 0;
    for (let i = 0; i < keys.length; i++) {
      const slot = this.find(keys[i] ?? FREE);
      const own = words[slot + COUNT] ?? 0;
      if (own === 0) continue;
      if (own > count) count = own;
      const newest = words[slot + ORDINAL] ?? 0;
      if (newest > ordinal) ordinal = newest;
      const strongest = reaches[slot + REACH] ?? 0;
      if (strongest > reach) reach = strongest;
    }
    return { count, ordinal, reach };
  }

  /** The slot of a key, or an empty slot (`count` 0) for it. */
  find(key: number): number {
    const words = this.#words;
    const end = words.length - 1;
    let slot = ((Math.imul(key, 0x9e3779b1) >>> 8) * WORDS) & end;
    for (let held = words[slot]; held !== key && held !== FREE; held = words[slot]) slot = (slot + WORDS) & end;
    return slot;
  }

  count(slot: number): number {
    return this.#words[slot + COUNT] ?? 0;
  }

  /** Index of the newest referring message. */
  ordinal(slot: number): number {
    return this.#words[slot + ORDINAL] ?? 0;
  }

  /** Reach from the roots, 0..1. */
  reach(slot: number): number {
    return this.#reaches[slot + REACH] ?? 0;
  }

  #grow(): void {
    const old = this.#words;
    this.#slots *= 2;
    this.#words = new Uint32Array(this.#slots * WORDS);
    this.#reaches = new Float32Array(this.#words.buffer);
    for (let from = 0; from < old.length; from += WORDS) {
      const key = old[from] ?? FREE;
      if (key === FREE) continue;
      const slot = this.find(key);
      for (let word = 0; word < WORDS; word++) this.#words[slot + word] = old[from + word] ?? 0;
    }
  }
}
