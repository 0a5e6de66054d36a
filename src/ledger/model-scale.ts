import type { RequestFacts } from '../core/ports/ledger.ts';
import type { Bill } from './bill.ts';
import { bounded, Calibration } from './calibration.ts';
import type { Guess } from './figures.ts';
import type { Known } from './known.ts';
import { inputOf } from './prices.ts';

/** New tokens below which a request says nothing about how well tokens are estimated. */
const MIN_GUESSED = 200;
/** One request says so much at the most: a stray figure must not turn the scale. */
const MAX_GUESSED = 20_000;
/** Form of the data; another one is another version's, and counts as unknown. */
const FORM = 1;

/** Tokens that a provider counted, and the same as they were estimated. */
interface Counted {
  reported: number;
  guessed: number;
}

interface StoredScale {
  readonly form: number;
  readonly counted: Counted;
  readonly checked: NonNullable<Bill['checked']>;
  readonly kinds: ReturnType<Calibration['ratios']>;
  readonly reportsCache: boolean;
}

/** How a provider's tokens for one model compare with estimated ones. */
export class ModelScale {
  readonly #counted: Counted = { reported: 0, guessed: 0 };
  readonly #kinds = new Calibration();
  /** Tokens cut, by the provider's count and estimated. */
  readonly #checked = { exact: 0, estimated: 0 };

  #reportsCache = false;

  static decode(data: string): ModelScale | null {
    const { form, counted, checked, kinds, reportsCache } = JSON.parse(data) as StoredScale;
    if (form !== FORM) return null;
    const scale = new ModelScale();
    scale.know(counted);
    scale.check(checked);
    scale.#kinds.restore(kinds);
    scale.#reportsCache = reportsCache;
    return scale;
  }

  copy(): ModelScale {
    return ModelScale.decode(this.encode()) ?? new ModelScale();
  }

  encode(): string {
    return JSON.stringify(this.#stored());
  }

  #stored(): StoredScale {
    return {
      form: FORM,
      counted: this.#counted,
      checked: this.#checked,
      kinds: this.#kinds.ratios(),
      reportsCache: this.#reportsCache,
    };
  }

  /** Takes over what was seen before. */
  know({ reported, guessed }: Counted): void {
    this.#counted.reported += reported;
    this.#counted.guessed += guessed;
  }

  knowKind(kind: string, { reported, guessed }: Counted): void {
    this.#kinds.know(kind, reported, guessed);
  }

  check({ exact, estimated }: NonNullable<Bill['checked']>): void {
    this.#checked.exact += exact;
    this.#checked.estimated += estimated;
  }

  /** Whether the provider has reported cache figures for this model, in this answer or in an earlier one. */
  sawCache(now: boolean): boolean {
    this.#reportsCache ||= now;
    return this.#reportsCache;
  }

  /** Tokens of the provider for each one estimated. */
  get calibration(): number {
    const { reported, guessed } = this.#counted;
    return guessed < 10 * MIN_GUESSED || reported <= 0 ? 1 : bounded(reported / guessed);
  }

  /**
   * Tokens of the provider for each cut token that was estimated: by its own counts once it counted enough of them, else as
   * what is shown of the same kind of text comes to.
   */
  get removed(): (kind: string) => number {
    const { exact, estimated } = this.#checked;
    if (estimated >= 10 * MIN_GUESSED && exact > 0) {
      const counted = bounded(exact / estimated);
      return () => counted;
    }
    const { calibration } = this;
    return (kind) => this.#kinds.ratioOf(kind) ?? calibration;
  }

  /** What a request says of how well tokens are estimated: of what is new in it, and no answer of the model's. */
  count({ fresh, arm }: RequestFacts, bill: Bill, known: Known | null): Guess {
    const nothing = { reported: 0, guessed: 0 };
    if (known === null || bill.estimated || fresh.tokens < MIN_GUESSED) return nothing;
    if (known.messages.length < fresh.from - 1 || known.messages.length > fresh.from) return nothing;
    const reported = inputOf(bill.usage) - known.tokens - known.output;
    // thinking that is not sent back, and clients that change what was said before, show as something else
    if (reported < fresh.tokens / 4 || reported > fresh.tokens * 4) return nothing;
    const share = Math.min(1, MAX_GUESSED / fresh.tokens);
    const told = { reported: reported * share, guessed: fresh.tokens * share };
    this.know(told);
    if (!fresh.kinds || arm === 'control') return told;
    return { ...told, kinds: { reported: this.#kinds.see(fresh.kinds, reported), guessed: fresh.kinds } };
  }
}
