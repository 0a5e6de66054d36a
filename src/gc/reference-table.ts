const FIRST_SLOTS = 1_024;
/** Slots are in use up to this share; beyond it, looking for a free one takes too long. */
const FULL = 0.6;
const FREE = 0;

/**
 * Who refers to what, by key: how many references, the newest message with one, and how strongly roots lead there. Lives
 * in typed arrays, because a long conversation asks it a dozen times for each segment.
 */
export class ReferenceTable {
  #keys = new Uint32Array(FIRST_SLOTS);
  #counts = new Uint32Array(FIRST_SLOTS);
  #ordinals = new Int32Array(FIRST_SLOTS);
  #reaches = new Float32Array(FIRST_SLOTS);
  #size = 0;

  /** Notes a reference; the newest message must come first. 0 is no key. */
  add(key: number, ordinal: number, reach: number): void {
    if (key === FREE) return;
    let slot = this.find(key);
    if (this.#keys[slot] === FREE) {
      if (this.#size >= this.#keys.length * FULL) {
        this.#grow();
        slot = this.find(key);
      }
      this.#size++;
      this.#keys[slot] = key;
      this.#ordinals[slot] = ordinal;
    }
    this.#counts[slot] = this.count(slot) + 1;
    if (reach > this.reach(slot)) this.#reaches[slot] = reach;
  }

  /** Where a key is, or would be: its `count` is then 0. */
  find(key: number): number {
    const mask = this.#keys.length - 1;
    let slot = (Math.imul(key, 0x9e3779b1) >>> 8) & mask;
    for (let held = this.#keys[slot]; held !== key && held !== FREE; held = this.#keys[slot]) slot = (slot + 1) & mask;
    return slot;
  }

  count(slot: number): number {
    return this.#counts[slot] ?? 0;
  }

  /** Index of the newest message that refers to it. */
  ordinal(slot: number): number {
    return this.#ordinals[slot] ?? 0;
  }

  /** 0..1. */
  reach(slot: number): number {
    return this.#reaches[slot] ?? 0;
  }

  #grow(): void {
    const [keys, counts, ordinals, reaches] = [this.#keys, this.#counts, this.#ordinals, this.#reaches];
    const slots = keys.length * 2;
    this.#keys = new Uint32Array(slots);
    this.#counts = new Uint32Array(slots);
    this.#ordinals = new Int32Array(slots);
    this.#reaches = new Float32Array(slots);
    keys.forEach((key, from) => {
      if (key === FREE) return;
      const slot = this.find(key);
      this.#keys[slot] = key;
      this.#counts[slot] = counts[from] ?? 0;
      this.#ordinals[slot] = ordinals[from] ?? 0;
      this.#reaches[slot] = reaches[from] ?? 0;
    });
  }
}
