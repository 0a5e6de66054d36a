/** What a plan chooses from. */
export interface Rated {
  readonly id: string;
  /** How little each token of it is worth: higher goes sooner. */
  readonly score: number;
  /** What its pruning frees; more than 0. */
  readonly tokens: number;
}

/** The order in which candidates go: by score, of equals the larger one, then by id. Strict: two never tie. */
export function goesBefore(a: Rated, b: Rated): boolean {
  if (a.score !== b.score) return a.score > b.score;
  if (a.tokens !== b.tokens) return a.tokens > b.tokens;
  return a.id < b.id;
}

/** A binary heap whose top is the one that goes last. */
class LastFirst<T extends Rated> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  get top(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent];
      if (above === undefined || !goesBefore(above, item)) break;
      items[at] = above;
      at = parent;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return top;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      let child = items[left];
      if (child === undefined) break;
      let next = left;
      const right = items[left + 1];
      if (right !== undefined && goesBefore(child, right)) {
        child = right;
        next = left + 1;
      }
      if (!goesBefore(last, child)) break;
      items[at] = child;
      at = next;
    }
    items[at] = last;
    return top;
  }

  /** All of it, the one that goes first first; the heap is empty then. */
  drain(): T[] {
    const out: T[] = [];
    for (let item = this.pop(); item !== undefined; item = this.pop()) out.push(item);
    return out.reverse();
  }
}

/**
 * Chooses those that go first until a number of tokens is met: exactly what sorting all of them and taking from the
 * front would give, in O(n log k) time and memory for the k chosen.
 */
export class Plan<T extends Rated> {
  readonly #target: number;
  readonly #heap = new LastFirst<T>();
  #tokens = 0;

  /** @param target - tokens to be freed; with 0 nothing is chosen */
  constructor(target: number) {
    this.#target = target;
  }

  offer(candidate: T): void {
    const last = this.#heap.top;
    const met = this.#tokens >= this.#target;
    if (met && (last === undefined || goesBefore(last, candidate))) return;
    this.#heap.push(candidate);
    this.#tokens += candidate.tokens;
    for (let top = this.#heap.top; top && this.#tokens - top.tokens >= this.#target; top = this.#heap.top) {
      this.#heap.pop();
      this.#tokens -= top.tokens;
    }
  }

  /** What those chosen so far free. */
  get tokens(): number {
    return this.#tokens;
  }

  /** The chosen ones in the order in which they go. Ends the plan. */
  take(): T[] {
    return this.#heap.drain();
  }
}

/** Keeps a number of those that go first. */
export class Top<T extends Rated> {
  readonly #most: number;
  readonly #heap = new LastFirst<T>();

  constructor(most: number) {
    this.#most = most;
  }

  offer(candidate: T): void {
    const last = this.#heap.top;
    if (this.#heap.size >= this.#most && last !== undefined && goesBefore(last, candidate)) return;
    this.#heap.push(candidate);
    if (this.#heap.size > this.#most) this.#heap.pop();
  }

  take(): T[] {
    return this.#heap.drain();
  }
}
