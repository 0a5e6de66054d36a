import { LRUCache } from 'lru-cache';

/**
 * Map of at most `max` entries, which keeps at least the half of them that was used last. Two plain maps, of which the
 * older one is dropped as a whole: an exact order of use, as lru-cache keeps it, takes ten calls for each access, and
 * these maps are asked a dozen times for each request.
 */
export class BoundedMap<Key extends {}, Value extends {}> {
  readonly #half: number;
  readonly #sizeOf: ((value: Value) => number) | null;
  /** Size of the newer map. */
  #size = 0;
  #newer = new Map<Key, Value>();
  #older = new Map<Key, Value>();

  /**
   * @param max - maximum number of entries, or of their sizes, beyond which two entries may lie
   * @param sizeOf - the size of an entry. Default: 1
   */
  constructor(max: number, sizeOf: ((value: Value) => number) | null = null) {
    this.#half = Math.max(1, Math.floor(max / 2));
    this.#sizeOf = sizeOf;
  }

  get size(): number {
    return this.#newer.size + this.#older.size;
  }

  /** The value, which counts as used. */
  get(key: Key): Value | undefined {
    const value = this.#newer.get(key);
    if (value !== undefined) return value;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  /** The value, without counting it as used. */
  peek(key: Key): Value | undefined {
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  has(key: Key): boolean {
    return this.#newer.has(key) || this.#older.has(key);
  }

  set(key: Key, value: Value): this {
    if (this.#older.size > 0) this.#older.delete(key);
    const before = this.#newer.get(key);
    if (before === undefined && this.#size >= this.#half) {
      this.#older = this.#newer;
      this.#newer = new Map();
      this.#size = 0;
    }
    if (this.#sizeOf !== null) this.#size += this.#sizeOf(value) - (before === undefined ? 0 : this.#sizeOf(before));
    else if (before === undefined) this.#size++;
    this.#newer.set(key, value);
    return this;
  }

  delete(key: Key): boolean {
    const value = this.#newer.get(key);
    if (value === undefined) return this.#older.delete(key);
    this.#size -= this.#sizeOf === null ? 1 : this.#sizeOf(value);
    return this.#newer.delete(key);
  }

  clear(): void {
    this.#size = 0;
    this.#newer.clear();
    this.#older.clear();
  }

  /** All entries, last used first as far as known. */
  *entries(): Generator<[Key, Value]> {
    yield* [...this.#newer].reverse();
    yield* [...this.#older].reverse();
  }

  *keys(): Generator<Key> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): Generator<Value> {
    for (const [, value] of this.entries()) yield value;
  }
}

/**
 * Map that drops exactly the least recently used entry beyond `max`, and entries older than `ttl` milliseconds. It grows
 * with its content; lru-cache's option `max` would reserve all slots at once.
 */
export class ExactLruMap<Key extends {}, Value extends {}> extends LRUCache<Key, Value> {
  constructor(max: number, ttl?: number) {
    super({ maxSize: max, sizeCalculation: () => 1, ...(ttl !== undefined && { ttl }) });
  }
}
