/** Tokens that are estimated, by kind of text; `''` is what is no judged text. */
export type Guessed = Readonly<Record<string, number>>;

/** Estimated tokens from which on a kind's own ratio is used. */
const ENOUGH = 1_000;
/** How far a ratio is from 1 before anything was seen (standard deviation). */
const PRIOR = 0.4;
/** How far a request's tokens are from what the ratios say: a share of them, and some that frame its messages. */
const NOISE_SHARE = 0.05;
const NOISE_TOKENS = 40;
const [LEAST, MOST] = [0.25, 4];
const MAX_KINDS = 40;

interface Ratio {
  value: number;
  variance: number;
  guessed: number;
}

/**
 * Tokens of a provider for each one estimated, told apart by kind of text: digits of a log cost another share than words of a
 * program. What one request says of several kinds at once is shared out among them by how unsure each is (a Kalman filter
 * without covariances).
 */
export class Calibration {
  readonly #kinds = new Map<string, Ratio>();

  /** Takes over what was told of a kind before. */
  know(kind: string, reported: number, guessed: number): void {
    const ratio = guessed > 0 ? this.#of(kind) : undefined;
    if (!ratio) return;
    ratio.value = reported / guessed;
    ratio.guessed += guessed;
    ratio.variance = Math.min(ratio.variance, NOISE_SHARE ** 2);
  }

  /** All that is known, for `restore`. */
  ratios(): Readonly<Record<string, Ratio>> {
    return Object.fromEntries(this.#kinds);
  }

  /** Goes on from what `ratios` gave. */
  restore(ratios: Readonly<Record<string, Ratio>>): void {
    for (const [kind, ratio] of Object.entries(ratios)) this.#kinds.set(kind, { ...ratio });
  }

  /** @returns what was reported, shared out among the kinds */
  see(guessed: Guessed, reported: number): Guessed {
    let expected = 0;
    let spread = (NOISE_SHARE * reported) ** 2 + NOISE_TOKENS ** 2;
    for (const kind in guessed) {
      const tokens = guessed[kind] ?? 0;
      const { value, variance } = this.#of(kind) ?? UNKNOWN;
      expected += value * tokens;
      spread += variance * tokens * tokens;
    }
    const shares: Record<string, number> = {};
    for (const kind in guessed) {
      const tokens = guessed[kind] ?? 0;
      const ratio = this.#of(kind);
      if (!ratio || tokens <= 0) continue;
      const gain = (ratio.variance * tokens) / spread;
      ratio.value = bounded(ratio.value + gain * (reported - expected));
      ratio.variance *= 1 - gain * tokens;
      ratio.guessed += tokens;
      shares[kind] = ratio.value * tokens;
    }
    return shares;
  }

  /** Tokens of the provider for each one estimated; `null` until enough of the kind was seen. */
  ratioOf(kind: string): number | null {
    const ratio = this.#kinds.get(kind);
    return ratio && ratio.guessed >= ENOUGH ? ratio.value : null;
  }

  #of(kind: string): Ratio | undefined {
    const known = this.#kinds.get(kind);
    if (known || this.#kinds.size >= MAX_KINDS) return known;
    const fresh = { value: 1, variance: PRIOR ** 2, guessed: 0 };
    this.#kinds.set(kind, fresh);
    return fresh;
  }
}

const UNKNOWN = { value: 1, variance: PRIOR ** 2 };

/** A ratio, no further from 1 than any is believed. */
export function bounded(ratio: number): number {
  return Math.min(MOST, Math.max(LEAST, ratio));
}
