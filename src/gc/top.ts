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

/** A binary heap whose top is the one that goes last. Scores stand beside the items, so that most comparisons stay there. */
class LastFirst<T extends Rated> {
  readonly #items: T[] = [];
  readonly #scores: number[] = [];

  get size(): number {
    return this.#items.length;
  }

  get top(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    const scores = this.#scores;
    const { score } = item;
    let at = items.push(item) - 1;
    scores.push(score);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent];
      const aboveScore = scores[parent] ?? 0;
      if (above === undefined || aboveScore < score || (aboveScore === score && !goesBefore(above, item))) break;
      items[at] = above;
      scores[at] = aboveScore;
      at = parent;
    }
    items[at] = item;
    scores[at] = score;
  }

  pop(): T | undefined {
    const items = this.#items;
    const scores = this.#scores;
    const top = items[0];
    const last = items.pop();
    const score = scores.pop() ?? 0;
    const size = items.length;
    if (last === undefined || size === 0) return top;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const other = child + 1;
      if (other < size && this.#isLater(other, child)) child = other;
      const item = items[child];
      const childScore = scores[child] ?? 0;
      if (item === undefined || childScore > score || (childScore === score && !goesBefore(last, item))) break;
      items[at] = item;
      scores[at] = childScore;
      at = child;
    }
    items[at] = last;
    scores[at] = score;
    return top;
  }

  #isLater(a: number, b: number): boolean {
    const [left = 0, right = 0] = [this.#scores[a], this.#scores[b]];
    if (left !== right) return left < right;
    const [one, other] = [this.#items[a], this.#items[b]];
    return one !== undefined && other !== undefined && goesBefore(other, one);
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
