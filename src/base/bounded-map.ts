import { LRUCache } from 'lru-cache';

/**
 * Map of at most `max` entries, which keeps at least the half of them that was used last. Two plain maps, of which the
 * older one is dropped as a whole: an exact order of use, as lru-cache keeps it, takes ten calls for each access, and
 * these maps are asked a dozen times for each request.
 */
export class BoundedMap<Key extends {}, Value extends {}> {
  readonly #half: number;
  #newer = new Map<Key, Value>();
  #older = new Map<Key, Value>();

  constructor(max: number) {
    this.#half = Math.max(1, Math.floor(max / 2));
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
    if (this.#newer.size >= this.#half && !this.#newer.has(key)) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(key, value);
    return this;
  }

  delete(key: Key): boolean {
    return this.#newer.delete(key) || this.#older.delete(key);
  }

  clear(): void {
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
