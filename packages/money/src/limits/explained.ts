/** A request, as far as it explains a movement. */
interface Billed {
  readonly model: string;
  /** See `Reading.weight`. */
  readonly weight: number;
}

/** An `Explained` as JSON. */
export interface ExplainedState {
  readonly pending: readonly (readonly [model: string, weight: number])[];
  readonly rates: readonly (readonly [model: string, rates: readonly number[]])[];
  readonly moved: number;
  readonly weight: number;
}

/** Providers round a share to a percent. In millionths. */
const ROUNDED_TO = 10_000;
/** A movement this much larger than expected is still one of our own requests: their cost is an estimate. */
const TOLERANCE = 1.5;
/** Number of movements from which a model has a rate of its own; below it, the rate of all models is used. */
const ENOUGH = 20;
/** Number of newest movements whose median is a model's rate. */
const MOST_RATES = 101;
const MOST_MODELS = 50;

/**
 * Decides how much of a window's movement our own requests explain: by what they were billed since the last movement,
 * times the rate at which earlier ones moved the window. How much time has passed decides nothing, because the first
 * request after a pause is the dearest of all: nothing is cached.
 */
export class Explained {
  /** Weight since the last movement, by model. */
  #pending = new Map<string, number>();
  /** Movement per weight of earlier movements, by model. */
  #rates = new Map<string, readonly number[]>();
  #moved = 0;
  #weight = 0;

  /** Adds an answered request. */
  add({ model, weight }: Billed): void {
    if (this.#pending.has(model) || this.#pending.size < MOST_MODELS)
      this.#pending.set(model, (this.#pending.get(model) ?? 0) + weight);
  }

  /**
   * The part of a movement that is ours, in millionths. All of it as long as no rate is known.
   *
   * @param moved - the movement, in millionths
   * @param unfinished - requests that ran at the same time, and whose answers end later
   */
  takes(moved: number, unfinished: readonly Billed[]): number {
    const pending = new Map(this.#pending);
    for (const { model, weight } of unfinished) pending.set(model, (pending.get(model) ?? 0) + weight);
    const weight = [...pending.values()].reduce((sum, one) => sum + one, 0);
    const own = Math.min(moved, this.#most(pending, weight));
    const [model, another] = pending.keys();
    if (weight > 0 && own === moved && model !== undefined && another === undefined) this.#learn(model, moved / weight);
    this.#moved += own;
    this.#weight += weight;
    this.#pending = new Map();
    return own;
  }

  /** Inverse of `restored`. */
  save(): ExplainedState {
    const [pending, rates] = [[...this.#pending], [...this.#rates]];
    return { pending, rates, moved: this.#moved, weight: this.#weight };
  }

  static restored({ pending, rates, moved, weight }: ExplainedState): Explained {
    const explained = new Explained();
    explained.#pending = new Map(pending);
    explained.#rates = new Map(rates);
    explained.#moved = moved;
    explained.#weight = weight;
    return explained;
  }

  copy(): Explained {
    return Explained.restored(this.save());
  }

  #most(pending: ReadonlyMap<string, number>, weight: number): number {
    if (weight === 0 || this.#weight === 0) return Number.POSITIVE_INFINITY;
    // what was rounded away so far may show in this movement
    const usual = (this.#moved + ROUNDED_TO) / this.#weight;
    let expected = 0;
    let isGuess = false;
    for (const [model, one] of pending) {
      const rates = this.#rates.get(model) ?? [];
      const isOwn = rates.length >= ENOUGH;
      expected += one * (isOwn ? median(rates) : usual);
      isGuess ||= !isOwn;
    }
    // models differ, so the rate of all of them is a guess for one
    return (Math.ceil((TOLERANCE * expected) / ROUNDED_TO) + Number(isGuess)) * ROUNDED_TO;
  }

  #learn(model: string, rate: number): void {
    if (this.#rates.has(model) || this.#rates.size < MOST_MODELS)
      this.#rates.set(model, [...(this.#rates.get(model) ?? []), rate].slice(-MOST_RATES));
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
