/** Chance that a seed alone decides (splitmix32): the same seed gives the same case on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number of 32 bits. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  }

  /** A whole number from 0 up to, but not with, `limit`. */
  below(limit: number): number {
    return limit <= 1 ? 0 : this.next() % limit;
  }

  /** A whole number, both ends included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** True once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0];
  }

  list<T>(count: number, make: (index: number) => T): T[] {
    return Array.from({ length: count }, (_, index) => make(index));
  }
}

/** The seed of one case of a run. */
export function caseSeed(seed: number, index: number): number {
  return new Random((Math.imul(seed, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35)) >>> 0).next();
}
