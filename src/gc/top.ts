/** What a plan chooses from. */
export interface Rated {
  readonly id: string;
  /** How little each token of it is worth, 0 or more: higher goes sooner. */
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

const FEWEST_HELD = 1_024;

/**
 * The front of all that is offered, in the order in which they go, until their weights meet a target: exactly what sorting
 * all of them and taking from the front would give. Holds at most twice as many as it needs: whenever it is full it
 * puts them in order and lets the rest go, which is O(n log k) in all for the k chosen.
 */
class Front<T extends Rated> {
  readonly #target: number;
  readonly #weightOf: (tokens: number) => number;
  #held: Held<T> = { items: [], scores: [], tokens: [] };
  #weight = 0;
  #most = FEWEST_HELD;
  /** The last one of a front that meets the target; what goes later than it is not needed. */
  #last: T | null = null;
  #ordered = true;

  constructor(target: number, weightOf: (tokens: number) => number) {
    this.#target = target;
    this.#weightOf = weightOf;
  }

  offer(item: T): void {
    if (this.#target <= 0 || (this.#last !== null && goesBefore(this.#last, item))) return;
    const isMet = this.#weight >= this.#target;
    const { items, scores, tokens } = this.#held;
    items.push(item);
    scores.push(item.score);
    tokens.push(item.tokens);
    this.#weight += this.#weightOf(item.tokens);
    this.#ordered = false;
    // until they meet the target all of them are needed
    if (!isMet) this.#most = Math.max(FEWEST_HELD, 2 * items.length);
    else if (items.length >= this.#most) this.take();
  }

  /** What those chosen so far weigh together. */
  get weight(): number {
    this.take();
    return this.#weight;
  }

  /** The chosen ones so far, in order. */
  take(): readonly T[] {
    if (this.#ordered) return this.#held.items;
    const { front, weight } = frontOf(this.#held, this.#weightOf, this.#target);
    if (weight >= this.#target) this.#last = front.items.at(-1) ?? null;
    this.#held = front;
    this.#weight = weight;
    this.#most = Math.max(FEWEST_HELD, 2 * front.items.length);
    this.#ordered = true;
    return front.items;
  }
}

/** Candidates, and beside them what they are compared by: looking into a million objects is what takes the time. */
interface Held<T> {
  readonly items: T[];
  readonly scores: number[];
  readonly tokens: number[];
}

/**
 * The front of what is held, in order. Sorted are 64-bit numbers, the first half of a score's bits over an index, which
 * takes a tenth of the time that comparing takes; only those whose scores agree so far are compared.
 */
function frontOf<T extends Rated>(
  { items, scores, tokens }: Held<T>,
  weightOf: (tokens: number) => number,
  target: number,
): { front: Held<T>; weight: number } {
  const keys = sortedKeys(scores);
  const front: Held<T> = { items: [], scores: [], tokens: [] };
  let weight = 0;
  const earlier = (a: number, b: number): number => {
    const byScore = (scores[b] ?? 0) - (scores[a] ?? 0);
    if (byScore !== 0) return byScore;
    const bySize = (tokens[b] ?? 0) - (tokens[a] ?? 0);
    if (bySize !== 0) return bySize;
    return (items[a]?.id ?? '') < (items[b]?.id ?? '') ? -1 : 1;
  };
  for (let from = 0; from < items.length && weight < target; ) {
    const high = keys[2 * from + HIGH];
    const alike: number[] = [];
    for (; from < items.length && keys[2 * from + HIGH] === high; from++) alike.push(keys[2 * from + LOW] ?? 0);
    if (alike.length > 1) alike.sort(earlier);
    for (let k = 0; k < alike.length && weight < target; k++) {
      const at = alike[k] ?? 0;
      const item = items[at];
      if (item === undefined) continue;
      front.items.push(item);
      front.scores.push(scores[at] ?? 0);
      front.tokens.push(tokens[at] ?? 0);
      weight += weightOf(tokens[at] ?? 0);
    }
  }
  return { front, weight };
}

/** Two 32-bit halves for each score, the highest score first: of the score, and its index. */
function sortedKeys(scores: readonly number[]): Uint32Array {
  const keys = new BigUint64Array(scores.length);
  const halves = new Uint32Array(keys.buffer);
  const score = new Float64Array(1);
  const bits = new Uint32Array(score.buffer);
  for (let i = 0; i < scores.length; i++) {
    score[0] = (scores[i] ?? 0) + 0; // no negative zero, whose bits stand elsewhere
    halves[2 * i + LOW] = i;
    // the bits of numbers from 0 on are in the order of the numbers
    halves[2 * i + HIGH] = ~(bits[HIGH] ?? 0);
  }
  keys.sort();
  return halves;
}

/** Where the halves of a 64-bit number stand in memory. */
const HIGH = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 1 : 0;
const LOW = 1 - HIGH;

/** Chooses those that go first until a number of tokens is met. */
export class Plan<T extends Rated> {
  readonly #front: Front<T>;

  /** @param target - tokens to be freed; with 0 nothing is chosen */
  constructor(target: number) {
    this.#front = new Front<T>(target, (tokens) => tokens);
  }

  offer(candidate: T): void {
    this.#front.offer(candidate);
  }

  /** What those chosen so far free. */
  get tokens(): number {
    return this.#front.weight;
  }

  /** The chosen ones in the order in which they go. */
  take(): readonly T[] {
    return this.#front.take();
  }
}

/** Keeps a number of those that go first. */
export class Top<T extends Rated> {
  readonly #front: Front<T>;

  constructor(most: number) {
    this.#front = new Front<T>(most, () => 1);
  }

  offer(candidate: T): void {
    this.#front.offer(candidate);
  }

  take(): readonly T[] {
    return this.#front.take();
  }
}
