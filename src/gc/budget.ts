import { BoundedMap } from '../base/bounded-map.ts';
import type { CollectedRequest, Collector, OverTokenBudget } from '../core/ports/segments.ts';
import { conversationKey } from './keys.ts';
import { newestOf } from './newest.ts';
import { byPruningOrder, planOf } from './plan.ts';
import { factsOf } from './recorder.ts';
import { type Candidate, Sweep } from './sweep.ts';
import { type StepOptions, takeStep } from './take-step.ts';

export interface BudgetOptions extends StepOptions {
  /** Size of a request, in tokens, above which a step is taken. */
  readonly tokens: number;
}

/** A step reduces a conversation to this share of its budget, so that the next step is far away. */
const DOWN_TO = 0.6;
/** Each step invalidates the provider's cache, so it must free at least this share of the budget. */
const WORTHWHILE = 0.1;
/**
 * A step that leaves the conversation over its budget, because the protected part alone exceeds it, must free at least
 * this share of the conversation.
 */
const WORTHWHILE_OVER = 1 / 3;
const MAX_CONVERSATIONS = 10_000;

/**
 * Keeps conversations within a budget by rare, large and permanent steps. Each step depends only on the request, and
 * selects among tool results and attached files; words of the user and the assistant stay.
 */
export class ContextBudget implements Collector {
  readonly #options: BudgetOptions;
  /** Sizes below which a conversation offers nothing to free. */
  readonly #futile = new BoundedMap<string, number>(MAX_CONVERSATIONS);

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  mayNeedStep({ scope: { project }, conversationId, tokens }: CollectedRequest): boolean {
    return tokens > Math.max(this.#options.tokens, this.#futile.get(conversationKey(project, conversationId)) ?? 0);
  }

  async collect(over: OverTokenBudget): Promise<boolean> {
    const { scope, request, tokens, step } = over;
    const budget = this.#options.tokens;
    const candidates: Candidate[] = [];
    const roots = { newest: newestOf(request), ids: NO_IDS, mentions: new Uint32Array(), file: '', task: '' };
    const sweep = new Sweep(roots, request.messages, (candidate) => candidates.push(candidate));
    for (const seen of [...request.segments].reverse()) {
      const may = (seen.role === 'tool' || seen.effect === 'attached') && !seen.exempt;
      // other segments count as references, but are never selected
      const facts = { ...factsOf(seen), ...(may ? {} : { tokens: 1 }), directed: seen.directed, task: '' };
      sweep.feed(facts, { survived: (request.messages - seen.ordinal) >> 1, hours: 0 });
    }
    const { chosen, tokens: freed } = planOf(candidates.sort(byPruningOrder), tokens - budget * DOWN_TO);
    const key = conversationKey(scope.project, request.conversationId);
    const after = tokens - freed;
    this.#futile.set(key, after + budget * WORTHWHILE);
    if (freed < budget * WORTHWHILE || (after > budget && freed < tokens * WORTHWHILE_OVER)) {
      this.#futile.set(key, tokens + budget * WORTHWHILE);
      return false;
    }
    const aside = chosen.map(({ id }) => ({ id, upTo: step.messages }));
    await takeStep(this.#options, { by: 'budget' }, over, aside, after);
    return true;
  }
}

const NO_IDS: ReadonlySet<string> = new Set();
