import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { CollectedRequest, OverTokenBudget, SeenSegment, SegmentStore } from 'mcp-pruner/core/ports/segments.ts';
import type { StepTaker } from './collector.ts';
import { conversationKey } from './keys.ts';
import { turnsOf } from './newest.ts';
import { oldArguments } from './old-arguments.ts';
import { withoutReferredTo } from './referred-to.ts';
import { currentReadings, type StayingOptions, stayingIn } from './staying.ts';
import { freedBy } from './sweep.ts';
import { type SetAside, type StepOptions, takeStep } from './take-step.ts';

/** Prices of a cache read and of a cache write of a model, in the same unit. */
export interface CacheRates {
  readonly read: number;
  readonly write: number;
}

interface PayingStepsOptions extends StepOptions, StayingOptions {
  readonly store: SegmentStore;
  readonly ratesOf: (model: string) => CacheRates;
}

/** Required ratio of a step's gain to its cost. */
const MARGIN = 2;
/** Newest results that stay. */
const NEWEST_RESULTS = 30;
/** Shorter results stay, in UTF-16 units. */
const LEAST_CHARS = 2_000;
/** Bytes of a request per token. */
const BYTES_PER_TOKEN = 4;
/** Smaller conversations are not scanned, in bytes; larger ones are scanned again after growing by this share. */
const LEAST_BYTES = 120_000;
const LEAST_GROWTH = 12_000;
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
 * Puts old results, and old arguments of calls, aside while the provider's cache is warm, once that pays within the requests that the conversation
 * probably has left. Each step invalidates the cache behind it once, and saves tokens in every later request.
 */
export class PayingSteps implements StepTaker {
  readonly #options: PayingStepsOptions;
  /** Sizes below which a conversation is not scanned again. */
  readonly #next = new BoundedMap<string, number>(MAX_CONVERSATIONS);
  readonly #lengths = new BoundedMap<string, { readonly atMs: number; readonly turns: readonly number[] }>(1_000);

  constructor(options: PayingStepsOptions) {
    this.#options = options;
  }

  mayNeedStep({ scope: { project }, conversationId, bytes }: CollectedRequest): boolean {
    return bytes > (this.#next.get(conversationKey(project, conversationId)) ?? LEAST_BYTES);
  }

  refused({ scope: { project }, conversationId, bytes }: CollectedRequest): void {
    this.#scanAfter(conversationKey(project, conversationId), bytes);
  }

  #scanAfter(conversation: string, bytes: number): void {
    this.#next.set(conversation, bytes + Math.max(LEAST_GROWTH, bytes * GROWTH));
  }

  async collect(over: OverTokenBudget): Promise<boolean> {
    const { scope, request, bytes } = over;
    const tokens = bytes / BYTES_PER_TOKEN;
    const left = await this.#requestsLeft(over);
    const best = bestOf(await this.#oldTexts(over), left, this.#options.ratesOf(over.head().model), {
      ...over,
      tokens,
    });
    const freed = best?.freed ?? 0;
    this.#scanAfter(conversationKey(scope.project, request.conversationId), bytes - freed * BYTES_PER_TOKEN);
    if (!best) return false;
    const size = Math.round(tokens);
    await takeStep(this.#options, { by: 'payoff' }, { ...over, tokens: size }, best.chosen, size - freed);
    return true;
  }

  /** Results and arguments that may be put aside, newest first. @throws StoreUnavailable */
  async #oldTexts(over: OverTokenBudget): Promise<Old[]> {
    const { asked, request } = over;
    const { segments } = request;
    const stays = await stayingIn(this.#options, over);
    const current = new Set([...currentReadings(segments).values()].flat());
    // most files that an agent reads in order to edit them were read since the user's last words
    const inWork = (segment: SeenSegment): boolean => segment.ordinal > asked && current.has(segment);
    const results = segments.filter(({ role }) => role === 'tool');
    const free = results.slice(0, -NEWEST_RESULTS).flatMap((segment): Old[] => {
      const { id, ordinal, text, exempt, directed } = segment;
      const freed = freedBy(segment);
      const mayGo = text.length >= LEAST_CHARS && freed > 0 && !exempt && directed === null;
      return mayGo && !inWork(segment) && !stays(segment) ? [{ id, upTo: ordinal, freed }] : [];
    });
    const written = await oldArguments(this.#options, over, results.at(-NEWEST_RESULTS)?.ordinal ?? 0);
    return [...withoutReferredTo(free, segments), ...written].sort((a, b) => b.upTo - a.upTo);
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

/** The most profitable set of texts: the newest ones up to some index; `null` if none pays. */
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
