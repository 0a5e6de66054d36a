import { LRUCache } from 'lru-cache';
import type { Collector, OverBudget, RequestScope, SeenRequest, SeenSegment } from '../core/ports/segments.ts';
import { newestOf, turnsOf } from './newest.ts';
import { freedBy } from './sweep.ts';
import { type SetAside, type StepOptions, takeStep } from './take-step.ts';

/** What providers ask for a token that is read from their cache, and that is written into it, beside one of plain input. */
const CACHED_PRICE = 0.1;
const WRITTEN_PRICE = 1.25;
/**
 * A step is taken where it wins so many times what it costs, should the conversation last as long again as it has lasted.
 * Chosen by `bench -- bill --set MCP_PRUNER_STASH_SEEN_AGAIN=true`: at 2 one of seven conversations costs more than without.
 */
const MARGIN = 3;
/** What is looked at again is set aside only where so large a part of it was shown again. Chosen in the same way. */
const SHOWN_AGAIN = 0.1;
/** Smaller conversations are not looked through; larger ones again when they have grown so much. */
const LEAST_TOKENS = 8_000;
const LEAST_GROWTH = 1_000;
const GROWTH = 0.02;
const MAX_CONVERSATIONS = 10_000;

/** A segment that was looked at again since. */
interface Old extends SetAside {
  readonly freed: number;
}

/**
 * Sets older readings of a file aside once it was read again, and older results of a call once it was made again, as soon
 * as that pays: each step makes the provider read all behind it anew, and saves its tokens in every request from then on.
 */
export class PayingSteps implements Collector {
  readonly #options: StepOptions;
  /** Sizes below which a conversation is not looked through again. */
  readonly #next = new LRUCache<string, number>({ max: MAX_CONVERSATIONS });

  constructor(options: StepOptions) {
    this.#options = options;
  }

  wants({ project }: RequestScope, conversationId: string, tokens: number): boolean {
    return tokens > (this.#next.get(`${conversationId} ${project}`) ?? LEAST_TOKENS);
  }

  async collect(over: OverBudget): Promise<boolean> {
    const { scope, request, tokens } = over;
    const best = bestOf(seenAgain(request), turnsOf(request), over);
    const after = tokens - (best?.freed ?? 0);
    this.#next.set(`${request.conversationId} ${scope.project}`, after + Math.max(LEAST_GROWTH, after * GROWTH));
    if (!best) return false;
    await takeStep(this.#options, 'payoff', over, best.chosen, after);
    return true;
  }
}

/** What was looked at again since, newest first. */
function seenAgain(request: SeenRequest): Old[] {
  const end = request.messages - newestOf(request);
  /** Most tokens that a later result has of a file, or of a call. */
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

/** From which one on it pays most to set all of them aside; `null` where it does not pay at all. */
function bestOf(
  old: readonly Old[],
  turns: number,
  { tokens, shareFrom }: Pick<OverBudget, 'tokens' | 'shareFrom'>,
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
