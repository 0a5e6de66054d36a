import { BoundedMap } from '../base/bounded-map.ts';
import type { CollectedRequest, Collector, OverTokenBudget, SegmentStore } from '../core/ports/segments.ts';
import { conversationKey } from './keys.ts';
import { turnsOf } from './newest.ts';
import { withoutReferredTo } from './referred-to.ts';
import { type StayingOptions, stayingIn } from './staying.ts';
import { freedBy } from './sweep.ts';
import { type SetAside, type StepOptions, takeStep } from './take-step.ts';

/** Prices of a cache read and of a cache write of a model, in the same unit. */
export interface CacheRates {
  readonly read: number;
  readonly write: number;
}

export interface PayingStepsOptions extends StepOptions, StayingOptions {
  readonly store: SegmentStore;
  readonly ratesOf: (model: string) => CacheRates;
}

/** Required ratio of a step's gain to its cost. */
const MARGIN = 2;
/** Newest results that stay. */
const NEWEST_RESULTS = 30;
/** Shorter results stay, in UTF-16 units. */
const LEAST_CHARS = 2_000;
/** Smaller conversations are not scanned; larger ones are scanned again after growing by this share. */
const LEAST_TOKENS = 30_000;
const LEAST_GROWTH = 3_000;
const GROWTH = 0.08;
const MAX_CONVERSATIONS = 10_000;
/** Minimum number of longer conversations of the project whose length is an estimate. */
const LEAST_KNOWN = 5;
/** How long the lengths of a project's conversations are remembered, in milliseconds. */
const LENGTHS_MS = 10 * 60_000;

interface Old extends SetAside {
  readonly freed: number;
}

/**
 * Puts old results aside while the provider's cache is warm, once that pays within the requests that the conversation
 * probably has left. Each step invalidates the cache behind it once, and saves tokens in every later request.
 */
export class PayingSteps implements Collector {
  readonly #options: PayingStepsOptions;
  /** Sizes below which a conversation is not scanned again. */
  readonly #next = new BoundedMap<string, number>(MAX_CONVERSATIONS);
  readonly #lengths = new BoundedMap<string, { readonly atMs: number; readonly turns: readonly number[] }>(1_000);

  constructor(options: PayingStepsOptions) {
    this.#options = options;
  }

  mayNeedStep({ scope: { project }, conversationId, tokens }: CollectedRequest): boolean {
    return tokens > (this.#next.get(conversationKey(project, conversationId)) ?? LEAST_TOKENS);
  }

  async collect(over: OverTokenBudget): Promise<boolean> {
    const { scope, request, tokens } = over;
    const left = await this.#requestsLeft(over);
    const best = bestOf(await this.#oldResults(over), left, this.#options.ratesOf(over.head().model), over);
    const after = tokens - (best?.freed ?? 0);
    const next = after + Math.max(LEAST_GROWTH, after * GROWTH);
    this.#next.set(conversationKey(scope.project, request.conversationId), next);
    if (!best) return false;
    await takeStep(this.#options, { by: 'payoff' }, over, best.chosen, after);
    return true;
  }

  /** Results that may be put aside, newest first. @throws StoreUnavailable */
  async #oldResults(over: OverTokenBudget): Promise<Old[]> {
    const { segments } = over.request;
    const stays = await stayingIn(this.#options, over);
    const old = segments.filter(({ role }) => role === 'tool').slice(0, -NEWEST_RESULTS);
    const free = old.flatMap((segment): Old[] => {
      const { id, ordinal, text, exempt, directed } = segment;
      const freed = freedBy(segment);
      const mayGo = text.length >= LEAST_CHARS && freed > 0 && !exempt && directed === null && !stays(segment);
      return mayGo ? [{ id, upTo: ordinal, freed }] : [];
    });
    return withoutReferredTo(free, segments).reverse();
  }

  /**
   * How many requests a conversation probably has left: the median of the project's conversations that lasted longer,
   * or as many as it has had.
   */
  async #requestsLeft({ scope: { project }, request, nowMs }: OverTokenBudget): Promise<number> {
    const turns = turnsOf(request);
    const known = this.#lengths.get(project);
    const isFresh = known !== undefined && nowMs - known.atMs < LENGTHS_MS;
    const lengths = isFresh ? known.turns : (await this.#options.store.conversations(project)).map((one) => one.turns);
    if (!isFresh) this.#lengths.set(project, { atMs: nowMs, turns: lengths });
    const left = lengths.filter((length) => length > turns).map((length) => length - turns);
    left.sort((a, b) => a - b);
    return left.length < LEAST_KNOWN ? turns : (left[left.length >> 1] ?? turns);
  }
}

/** The most profitable set of results: the newest ones up to some index; `null` if none pays. */
function bestOf(
  old: readonly Old[],
  left: number,
  { read, write }: CacheRates,
  { tokens, shareFrom }: Pick<OverTokenBudget, 'tokens' | 'shareFrom'>,
): { readonly chosen: readonly Old[]; readonly freed: number } | null {
  let best = { gain: 0, count: 0, freed: 0 };
  let freed = 0;
  old.forEach((one, i) => {
    freed += one.freed;
    const readAnew = Math.max(0, tokens * shareFrom(one.upTo) - freed);
    const gain = read * freed * left - MARGIN * Math.max(0, write - read) * readAnew;
    if (gain > best.gain) best = { gain, count: i + 1, freed };
  });
  return best.count === 0 ? null : { chosen: old.slice(0, best.count), freed: best.freed };
}
