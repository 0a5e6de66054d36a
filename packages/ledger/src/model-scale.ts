import { clearsAlike, type Known, shared } from '@mcp-pruner/money/known.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';

/** Minimum number of new tokens for a request to be used for calibration. */
const MIN_GUESSED = 200;
/** Counts that differ from the expectation by more than this factor have other causes, and are ignored. */
const UNLIKELY = 2.5;
/** Overhead of a message at the provider, in tokens. */
const FRAME_TOKENS = 4;
/** Standard deviation between counted and estimated tokens of new texts: as a share, and in tokens. */
const [NOISE_SHARE, NOISE_TOKENS] = [0.05, 5];
/** Standard deviation between a resent answer's tokens and its output tokens, and its estimate, as shares. */
const [OUTPUT_NOISE, SAID_NOISE] = [0.02, 0.1];
/**
 * Output tokens are attributed to the resent answer if they and its estimate differ by at most this factor plus this
 * many tokens.
 */
const [SAME_ANSWER, SAME_ANSWER_TOKENS] = [2, 50];
/** Means and standard deviations before any evidence: of the ratio, and of the share of hidden reasoning that is read again. */
const RATIO = { mean: 1, deviation: 0.18 } as const;
const RETURNED = { mean: 0.5, deviation: 0.5 } as const;
/** Standard deviation between the ratio of cut texts and that of all new texts, as a share. Does not shrink with evidence. */
const TEXT_DEVIATION = 0.06;
/** Version of the data format. Data in other formats counts as unknown. */
const FORMAT_VERSION = 4;

/** New tokens of a request: counted by the provider, without the model's answer, and estimated from characters. */
export interface NewTokens {
  readonly reported: number;
  readonly guessed: number;
}

const NOTHING: NewTokens = { reported: 0, guessed: 0 };

/** Weighted sums over all requests, of products of estimated tokens, hidden reasoning, and counted tokens. */
interface Evidence {
  readonly guessed2: number;
  readonly guessedThoughts: number;
  readonly thoughts2: number;
  readonly guessedCounted: number;
  readonly thoughtsCounted: number;
}

const NO_EVIDENCE: Evidence = {
  guessed2: 0,
  guessedThoughts: 0,
  thoughts2: 0,
  guessedCounted: 0,
  thoughtsCounted: 0,
};

/** What was new in a request. */
interface Row {
  readonly guessed: number;
  /** Hidden reasoning that the provider may have read again, in tokens. */
  readonly thoughts: number;
  /** Counted by the provider, with this standard deviation. */
  readonly counted: number;
  readonly deviation: number;
}

/**
 * How many of the provider's tokens an estimated token is, for one client and model, learned from the provider's counts
 * of what is new in each request; and whether the provider reports cache figures.
 */
export class ModelScale {
  readonly #evidence: Evidence;
  readonly #reportsCache: boolean;
  /** The ratio, and the share of hidden reasoning that the provider reads again. */
  readonly calibration: number;
  readonly #returned: number;

  constructor(evidence: Evidence = NO_EVIDENCE, reportsCache = false) {
    this.#evidence = evidence;
    this.#reportsCache = reportsCache;
    const { guessed2, guessedThoughts, thoughts2, guessedCounted, thoughtsCounted } = evidence;
    const [ofRatio, ofShare] = [RATIO.deviation ** -2, RETURNED.deviation ** -2];
    const [a, b, c] = [guessed2 + ofRatio, guessedThoughts, thoughts2 + ofShare];
    const [x, y] = [guessedCounted + ofRatio * RATIO.mean, thoughtsCounted + ofShare * RETURNED.mean];
    const determinant = a * c - b * b;
    this.calibration = (c * x - b * y) / determinant;
    this.#returned = Math.min(1, Math.max(0, (a * y - b * x) / determinant));
  }

  static decode(data: string): ModelScale | null {
    const { form, evidence, reportsCache } = JSON.parse(data) as {
      readonly form: number;
      readonly evidence: Evidence;
      readonly reportsCache: boolean;
    };
    return form === FORMAT_VERSION ? new ModelScale(evidence, reportsCache) : null;
  }

  encode(): string {
    return JSON.stringify({ form: FORMAT_VERSION, evidence: this.#evidence, reportsCache: this.#reportsCache });
  }

  /** Whether the provider has ever reported cache figures. */
  get reportsCache(): boolean {
    return this.#reportsCache;
  }

  /** Standard deviation of removed tokens, as a share. */
  get deviation(): number {
    const { guessed2 } = this.#evidence;
    return Math.hypot(TEXT_DEVIATION, (guessed2 + RATIO.deviation ** -2) ** -0.5 / this.calibration);
  }

  /**
   * Learns from a request.
   *
   * @param total - reported tokens of the whole input; `null` if not reported
   * @param reportsCache - whether its answer has cache figures
   * @returns the scale with this request, and its new tokens
   */
  after(
    facts: RequestFacts,
    known: Known | null,
    total: number | null,
    reportsCache: boolean,
  ): { readonly scale: ModelScale; readonly seen: NewTokens } {
    const row = total === null ? null : this.#rowOf(facts, known, total);
    const caches = this.#reportsCache || reportsCache;
    if (row === null) {
      const scale = caches === this.#reportsCache ? this : new ModelScale(this.#evidence, caches);
      return { scale, seen: NOTHING };
    }
    const { guessed, thoughts, counted, deviation } = row;
    const weight = deviation ** -2;
    const { guessed2, guessedThoughts, thoughts2, guessedCounted, thoughtsCounted } = this.#evidence;
    const evidence: Evidence = {
      guessed2: guessed2 + weight * guessed * guessed,
      guessedThoughts: guessedThoughts + weight * guessed * thoughts,
      thoughts2: thoughts2 + weight * thoughts * thoughts,
      guessedCounted: guessedCounted + weight * guessed * counted,
      thoughtsCounted: thoughtsCounted + weight * thoughts * counted,
    };
    const scale = new ModelScale(evidence, caches);
    return { scale, seen: { reported: Math.max(0, counted - scale.#returned * thoughts), guessed } };
  }

  /** What is new since the previous request; `null` if it cannot be separated from the rest. */
  #rowOf(facts: RequestFacts, known: Known | null, total: number): Row | null {
    const { tokens: guessed, answerFrom, said: estimated = 0, carriesThoughts = false } = facts.fresh;
    if (known === null || answerFrom === undefined || guessed < MIN_GUESSED || !isGrown(facts, known, answerFrom)) {
      return null;
    }
    const said = estimated * this.calibration;
    const answer = answerOf(known, said);
    const frames = FRAME_TOKENS * (facts.messages.length - answerFrom);
    const counted = total - known.tokens - (answer ?? said) - frames;
    const thoughts = carriesThoughts ? (known.reasoning ?? Math.max(0, known.output - said)) : 0;
    const expected = guessed * this.calibration + this.#returned * thoughts;
    if (counted <= 0 || counted > UNLIKELY * expected || counted < expected / UNLIKELY) return null;
    const noise = answer === null ? SAID_NOISE * said : OUTPUT_NOISE * answer;
    return { guessed, thoughts, counted, deviation: Math.hypot(NOISE_SHARE * counted, NOISE_TOKENS, noise) };
  }
}

/** Whether a request equals the previous one plus appended messages. */
function isGrown(facts: RequestFacts, known: Known, since: number): boolean {
  return (
    clearsAlike(known, facts) &&
    since === known.messages.length &&
    known.model === facts.model &&
    known.tools === facts.tools &&
    known.system === facts.system &&
    shared(known, facts.messages, true) === since
  );
}

/**
 * Tokens of the model's answer as it is resent: its output without hidden reasoning, if the provider reports reasoning
 * and the sizes match. `null` if the answer must be estimated.
 */
function answerOf({ output, reasoning }: Known, said: number): number | null {
  if (reasoning === null) return null;
  const answer = output - reasoning;
  const isSame = answer <= SAME_ANSWER * said + SAME_ANSWER_TOKENS && said <= SAME_ANSWER * answer + SAME_ANSWER_TOKENS;
  return isSame ? answer : null;
}
