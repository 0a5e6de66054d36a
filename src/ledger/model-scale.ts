import type { AddedMessages, MessageFacts, RequestFacts } from '../core/ports/request-facts.ts';
import { clearsAlike, type Known, shared } from './known.ts';
import { MESSAGES, THOUGHTS, TokenModel } from './token-model.ts';

/** Minimum number of new tokens for a request to be used for calibration. */
const MIN_GUESSED = 200;
/** Maximum weight of one request, to limit the effect of a single wrong figure. */
const MAX_GUESSED = 20_000;
/** Bounds for a plausible ratio. */
const [LEAST, MOST] = [0.25, 4];
/**
 * Counts that differ from the expectation by more than this share plus this number of standard deviations have other
 * causes, and are ignored.
 */
const [UNLIKELY_SHARE, UNLIKELY_DEVIATIONS] = [0.3, 3];
/** Standard deviation between actual and estimated tokens of texts, as a share. Does not shrink with evidence. */
const TEXT_DEVIATION = 0.03;
/** Version of the data format. Data in other formats counts as unknown. */
const FORMAT_VERSION = 3;

const NOTHING: NewTokens = { reported: 0, guessed: 0 };

interface StoredScale {
  readonly form: number;
  readonly counted: NewTokens;
  readonly tokens: ReturnType<TokenModel['evidence']>;
  readonly reportsCache: boolean;
}

/** Learned facts about a model: token counts of texts, and whether the provider reports cache figures. */
export class ModelScale {
  #counted: NewTokens = NOTHING;
  #tokens = new TokenModel();
  #reportsCache = false;

  static decode(data: string): ModelScale | null {
    const { form, counted, tokens, reportsCache } = JSON.parse(data) as StoredScale;
    if (form !== FORMAT_VERSION) return null;
    const scale = new ModelScale();
    scale.#counted = counted;
    scale.#tokens = new TokenModel(tokens);
    scale.#reportsCache = reportsCache;
    return scale;
  }

  copy(): ModelScale {
    const scale = new ModelScale();
    scale.#counted = this.#counted;
    scale.#tokens = this.#tokens.copy();
    scale.#reportsCache = this.#reportsCache;
    return scale;
  }

  encode(): string {
    const stored: StoredScale = {
      form: FORMAT_VERSION,
      counted: this.#counted,
      tokens: this.#tokens.evidence(),
      reportsCache: this.#reportsCache,
    };
    return JSON.stringify(stored);
  }

  /** Whether the provider has reported cache figures for this model, now or earlier. */
  sawCache(now: boolean): boolean {
    this.#reportsCache ||= now;
    return this.#reportsCache;
  }

  /** Provider tokens per token estimated from characters. */
  get calibration(): number {
    const { reported, guessed } = this.#counted;
    return guessed < 10 * MIN_GUESSED || reported <= 0 ? 1 : Math.min(MOST, Math.max(LEAST, reported / guessed));
  }

  /** Provider tokens cut from a message; negative only if `removed` is (shadow mode). */
  removedFrom({ cut, removed }: Pick<MessageFacts, 'cut' | 'removed'>): number {
    if (cut === undefined) return removed * this.calibration;
    const tokens = this.#tokens.tokens(cut);
    return removed < 0 ? Math.min(0, tokens) : Math.max(0, tokens);
  }

  /** Standard deviation of the total tokens cut from a request, as a share. */
  deviation(request: CutParts): number {
    const cut = cutFrom(request);
    const tokens = Math.abs(this.#tokens.tokens(cut));
    return tokens < 1 ? 0 : Math.hypot(TEXT_DEVIATION, this.#tokens.deviation(cut) / tokens);
  }

  /**
   * Learns from the new tokens of a request.
   *
   * @param total - reported tokens of the whole input; `null` if not reported
   * @returns new tokens, excluding the model's own answer
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

  /** Learns from the provider's count of all tokens removed from a request. */
  seeRemoved(request: CutParts, exact: number): void {
    this.#learn(removedRow(request, exact));
  }

  #learn({ features, tokens, deviation }: Row): void {
    const expected = this.#tokens.tokens(features);
    const allowed = UNLIKELY_DEVIATIONS * Math.hypot(this.#tokens.deviation(features), deviation);
    if (tokens <= 0 || Math.abs(tokens - expected) > UNLIKELY_SHARE * Math.abs(expected) + allowed) return;
    this.#tokens.learn(features, tokens, deviation);
  }
}

/** Standard deviation between counted and estimated tokens of new texts: as a share, and in tokens. */
const [NOISE_SHARE, NOISE_TOKENS] = [0.008, 5];
/** The same for the provider's counts of removed tokens, which cover exactly these texts. */
const [COUNTED_SHARE, COUNTED_TOKENS] = [0.002, 2];
/** Standard deviation between actual and estimated tokens of tools and instructions: in tokens, and as a share. */
const [HEAD_TOKENS, HEAD_SHARE] = [150, 0.25];
/** Standard deviation between a resent answer's tokens and its output tokens, and its estimate, as shares. */
const [OUTPUT_NOISE, SAID_NOISE] = [0.02, 0.1];
/**
 * Output tokens are attributed to the resent answer if they and the estimate from its features differ by at most this
 * factor plus this many tokens.
 */
const [SAME_ANSWER, SAME_ANSWER_TOKENS] = [2, 50];

/** New tokens of a request: counted by the provider, without the model's answer, and estimated from characters. */
export interface NewTokens {
  readonly reported: number;
  readonly guessed: number;
}

/** Features of texts and the provider's token count, with the standard deviation of that count. */
interface Row {
  readonly features: readonly number[];
  readonly tokens: number;
  readonly deviation: number;
}

type SeenRow = Row & { readonly seen: NewTokens };

/** Evidence from a request about a model's tokens; `null` if its new part cannot be separated from the rest. */
function rowOf(model: TokenModel, facts: RequestFacts, known: Known | null, total: number): SeenRow | null {
  const { added } = facts.fresh;
  if (!added) return null;
  if (known !== null && isGrown(facts, known, added.since)) return grownRow(model, facts, added, known, total);
  return known === null && added.before && !added.carriesThoughts ? wholeRow(model, added, added.before, total) : null;
}

/** Evidence from the provider's count of all removed tokens. */
function removedRow(request: CutParts, exact: number): Row {
  return { features: cutFrom(request), tokens: exact, deviation: Math.hypot(COUNTED_SHARE * exact, COUNTED_TOKENS) };
}

/** Facts that contain the cuts of a request. */
type CutParts = Pick<RequestFacts, 'messages'>;

/** Features of everything that was cut from a request; empty if nothing was cut. */
function cutFrom({ messages }: CutParts): number[] {
  const sum: number[] = [];
  for (const { cut } of messages) if (cut) addTo(sum, cut);
  return sum;
}

/** Evidence from the part that is new since the previous request. */
function grownRow(model: TokenModel, facts: RequestFacts, added: AddedMessages, known: Known, total: number): SeenRow {
  const said = Math.max(0, model.tokens(added.said));
  const answer = answerOf(known, said);
  const features = answer === null ? summed([added.texts, added.said]) : [...added.texts];
  features[MESSAGES] = added.messages;
  features[THOUGHTS] = added.carriesThoughts ? (known.reasoning ?? Math.max(0, known.output - said)) : 0;
  const tokens = total - known.tokens - (answer ?? 0);
  const noise = answer === null ? SAID_NOISE * said : OUTPUT_NOISE * answer;
  const deviation = Math.hypot(NOISE_SHARE * tokens, NOISE_TOKENS, noise);
  const [reported, guessed] = [total - known.tokens - (answer ?? said), facts.fresh.tokens];
  return { features, tokens, deviation, seen: reported > 0 && guessed > 0 ? { reported, guessed } : NOTHING };
}

/**
 * Evidence from a whole request. Less certain, because the provider's rendering of tools and instructions is unknown.
 */
function wholeRow(model: TokenModel, added: AddedMessages, before: readonly number[], total: number): SeenRow {
  const features = summed([added.texts, added.said, before]);
  features[MESSAGES] = added.messages + added.since;
  const noise = [HEAD_TOKENS + HEAD_SHARE * model.tokens(before), SAID_NOISE * model.tokens(added.said)];
  return { features, tokens: total, deviation: Math.hypot(NOISE_SHARE * total, ...noise), seen: NOTHING };
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
 * and the sizes match. `null` if the answer must be estimated from its features.
 */
function answerOf({ output, reasoning }: Known, said: number): number | null {
  if (reasoning === null) return null;
  const answer = output - reasoning;
  const isSame = answer <= SAME_ANSWER * said + SAME_ANSWER_TOKENS && said <= SAME_ANSWER * answer + SAME_ANSWER_TOKENS;
  return isSame ? answer : null;
}

function summed(all: readonly (readonly number[])[]): number[] {
  const sum: number[] = [];
  for (const features of all) addTo(sum, features);
  return sum;
}

function addTo(sum: number[], features: readonly number[]): void {
  for (let i = 0; i < features.length; i++) sum[i] = (sum[i] ?? 0) + (features[i] ?? 0);
}
