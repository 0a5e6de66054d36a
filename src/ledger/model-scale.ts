import type { HeadFacts, RequestFacts } from '../core/ports/request-facts.ts';
import type { Known } from './known.ts';
import { TokenModel } from './token-model.ts';
import { cutFrom, type NewTokens, type Row, removedRow, rowOf } from './token-rows.ts';

/** Least number of new tokens in a request that is used to calibrate estimates. */
const MIN_GUESSED = 200;
/** Largest weight of one request, so that a single wrong figure does not change the scale. */
const MAX_GUESSED = 20_000;
/** Bounds of a plausible ratio. */
const [LEAST, MOST] = [0.25, 4];
/**
 * A count that differs from the expected one by more than this share and this number of deviations has other causes,
 * and is ignored.
 */
const [UNLIKELY_SHARE, UNLIKELY_DEVIATIONS] = [0.3, 3];
/**
 * Standard deviation of the tokens of texts from the estimate by their features, as a share. It does not shrink with
 * evidence.
 */
const TEXT_DEVIATION = 0.03;
/** Format of the data. Data in another format counts as unknown. */
const FORM = 3;

const NOTHING: NewTokens = { reported: 0, guessed: 0 };

interface StoredScale {
  readonly form: number;
  readonly counted: NewTokens;
  readonly tokens: ReturnType<TokenModel['evidence']>;
  readonly reportsCache: boolean;
}

/** The knowledge about a model's tokens: the tokens of texts, and whether its provider reports cache figures. */
export class ModelScale {
  #counted: NewTokens = NOTHING;
  #tokens = new TokenModel();
  #reportsCache = false;

  static decode(data: string): ModelScale | null {
    const { form, counted, tokens, reportsCache } = JSON.parse(data) as StoredScale;
    if (form !== FORM) return null;
    const scale = new ModelScale();
    scale.#counted = counted;
    scale.#tokens = new TokenModel(tokens);
    scale.#reportsCache = reportsCache;
    return scale;
  }

  copy(): ModelScale {
    return ModelScale.decode(this.encode()) ?? new ModelScale();
  }

  encode(): string {
    const stored: StoredScale = {
      form: FORM,
      counted: this.#counted,
      tokens: this.#tokens.evidence(),
      reportsCache: this.#reportsCache,
    };
    return JSON.stringify(stored);
  }

  /** Whether the provider has reported cache figures for this model, in this answer or in an earlier one. */
  sawCache(now: boolean): boolean {
    this.#reportsCache ||= now;
    return this.#reportsCache;
  }

  /** The provider's tokens per token estimated from characters. */
  get calibration(): number {
    const { reported, guessed } = this.#counted;
    return guessed < 10 * MIN_GUESSED || reported <= 0 ? 1 : Math.min(MOST, Math.max(LEAST, reported / guessed));
  }

  /** The provider's tokens that were cut from a message, as in `MessageFacts`: below 0 only where they count that way. */
  removedFrom({ cut, removed }: HeadFacts): number {
    if (cut === undefined) return removed * this.calibration;
    const tokens = this.#tokens.tokens(cutFrom([{ cut }]));
    return removed < 0 ? Math.min(0, tokens) : Math.max(0, tokens);
  }

  /** Standard deviation of the sum of tokens cut from messages, as a share of it. */
  deviation(messages: readonly HeadFacts[]): number {
    const cut = cutFrom(messages);
    const tokens = Math.abs(this.#tokens.tokens(cut));
    return tokens < 1 ? 0 : Math.hypot(TEXT_DEVIATION, this.#tokens.deviation(cut) / tokens);
  }

  /**
   * Learns from the new tokens of a request.
   *
   * @param total - tokens of its whole input, as the provider reports them; `null` where it does not
   * @returns new tokens that are not the model's own answer
   */
  see(facts: RequestFacts, known: Known | null, total: number | null): NewTokens {
    const row = total === null ? null : rowOf(this.#tokens, facts, known, total);
    if (row === null) return NOTHING;
    this.#learn(row);
    const { reported, guessed } = row.seen;
    if (guessed < MIN_GUESSED || reported < guessed / 4 || reported > guessed * 4) return NOTHING;
    const share = Math.min(1, MAX_GUESSED / guessed);
    const seen = { reported: reported * share, guessed: guessed * share };
    this.#counted = { reported: this.#counted.reported + seen.reported, guessed: this.#counted.guessed + seen.guessed };
    return seen;
  }

  /** Learns from the provider's count of all that was removed from a request. */
  seeRemoved(messages: readonly HeadFacts[], exact: number): void {
    this.#learn(removedRow(messages, exact));
  }

  #learn({ features, tokens, deviation }: Row): void {
    const expected = this.#tokens.tokens(features);
    const allowed = UNLIKELY_DEVIATIONS * Math.hypot(this.#tokens.deviation(features), deviation);
    if (tokens <= 0 || Math.abs(tokens - expected) > UNLIKELY_SHARE * Math.abs(expected) + allowed) return;
    this.#tokens.learn(features, tokens, deviation);
  }
}
