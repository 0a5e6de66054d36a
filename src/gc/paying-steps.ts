import { BoundedMap } from '../base/bounded-map.ts';
import type { CollectedRequest, Collector, OverTokenBudget, SeenRequest, SeenSegment } from '../core/ports/segments.ts';
import { conversationKey } from './keys.ts';
import { newestOf, turnsOf } from './newest.ts';
import { withoutReferredTo } from './referred-to.ts';
import { freedBy } from './sweep.ts';
import { type SetAside, type StepOptions, takeStep } from './take-step.ts';

/** Prices of a cache read and a cache write, relative to plain input. */
const CACHED_PRICE = 0.1;
const WRITTEN_PRICE = 1.25;
/**
 * Required ratio of a step's gain to its cost, assuming that the conversation continues for as long as it has lasted.
 * Tuned with `bench -- bill --set MCP_PRUNER_STASH_SEEN_AGAIN=true`: with 2, one of seven conversations becomes more
 * expensive.
 */
const MARGIN = 3;
/** Minimum share of a segment that must have been shown again before it is stashed. Tuned in the same way. */
const SHOWN_AGAIN = 0.1;
/** Smaller conversations are not scanned; larger ones are scanned again after growing by this share. */
const LEAST_TOKENS = 8_000;
const LEAST_GROWTH = 1_000;
const GROWTH = 0.02;
const MAX_CONVERSATIONS = 10_000;

/** A segment superseded by a later result. */
interface Old extends SetAside {
  readonly freed: number;
}

/**
 * Stashes older reads of a file after a newer read, and older results of a call after a repeated call, as soon as that
 * pays. Each step invalidates the provider's cache after it once, and saves tokens in every later request.
 */
export class PayingSteps implements Collector {
  readonly #options: StepOptions;
  /** Sizes below which a conversation is not rescanned. */
  readonly #next = new BoundedMap<string, number>(MAX_CONVERSATIONS);

  constructor(options: StepOptions) {
    this.#options = options;
  }

  mayNeedStep({ scope: { project }, conversationId, tokens }: CollectedRequest): boolean {
    return tokens > (this.#next.get(conversationKey(project, conversationId)) ?? LEAST_TOKENS);
  }

  async collect(over: OverTokenBudget): Promise<boolean> {
    const { scope, request, tokens } = over;
    const best = bestOf(withoutReferredTo(seenAgain(request), request.segments), turnsOf(request), over);
    const after = tokens - (best?.freed ?? 0);
    this.#next.set(
      conversationKey(scope.project, request.conversationId),
      after + Math.max(LEAST_GROWTH, after * GROWTH),
    );
    if (!best) return false;
    await takeStep(this.#options, { by: 'payoff' }, over, best.chosen, after);
    return true;
  }
}

/** Superseded segments, newest first. */
function seenAgain(request: SeenRequest): Old[] {
  const end = request.messages - newestOf(request);
  /** Largest later result per file or call, in tokens. */
  const later = new Map<string, number>();
  const old: Old[] = [];
  for (const segment of [...request.segments].reverse()) {
    const { id, ordinal, role, effect, exempt, directed, tokens } = segment;
    if (role !== 'tool' || effect === 'edit' || (directed !== null && directed !== 'pin')) continue;
    const keys = keysOf(segment);
    const shown = keys.reduce((most, key) => Math.max(most, later.get(key) ?? 0), 0);
    const freed = freedBy(segment);
    if (shown >= SHOWN_AGAIN * tokens && ordinal < end && !exempt && directed === null && freed > 0) {
      old.push({ id, upTo: ordinal, freed });
    }
    for (const key of keys) later.set(key, Math.max(tokens, later.get(key) ?? 0));
  }
  return old;
}

function keysOf({ effect, path, callKey }: SeenSegment): string[] {
  const file = effect === 'read' && path !== '' ? [`file ${path.replace(/^\.\//, '')}`] : [];
  return callKey === '' ? file : [...file, `call ${callKey}`];
}

/** The most profitable set of superseded segments: the newest ones up to some index; `null` if none pays. */
function bestOf(
  old: readonly Old[],
  turns: number,
  { tokens, shareFrom }: Pick<OverTokenBudget, 'tokens' | 'shareFrom'>,
): { readonly chosen: readonly Old[]; readonly freed: number } | null {
  let best = { gain: 0, count: 0, freed: 0 };
  let freed = 0;
  old.forEach((one, i) => {
    freed += one.freed;
    const readAnew = Math.max(0, tokens * shareFrom(one.upTo) - freed);
    const gain = CACHED_PRICE * freed * turns - MARGIN * (WRITTEN_PRICE - CACHED_PRICE) * readAnew;
    if (gain > best.gain) best = { gain, count: i + 1, freed };
  });
  return best.count === 0 ? null : { chosen: old.slice(0, best.count), freed: best.freed };
}
