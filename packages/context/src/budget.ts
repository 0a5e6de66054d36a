import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { CollectedRequest, OverTokenBudget } from 'mcp-pruner/core/ports/segments.ts';
import type { StepTaker } from './collector.ts';
import { conversationKey } from './keys.ts';
import { newestOf } from './newest.ts';
import { oldArguments } from './old-arguments.ts';
import { byPruningOrder, planOf } from './plan.ts';
import { factsOf } from './recorder.ts';
import { withoutReferredTo } from './referred-to.ts';
import { type StayingOptions, stayingIn } from './staying.ts';
import { type Candidate, Sweep } from './sweep.ts';
import { type StepOptions, takeStep } from './take-step.ts';

interface BudgetOptions extends StepOptions, StayingOptions {
  /** Request size in tokens above which a step is taken. */
  readonly tokens: number;
}

/** A step reduces a conversation to this share of its budget, so that the next step is far away. */
const DOWN_TO = 0.6;
/** Each step invalidates the provider's cache, so it must free at least this share of the budget. */
const WORTHWHILE = 0.1;
/** If the protected part alone exceeds the budget, a step must free at least this share of the conversation. */
const WORTHWHILE_OVER = 1 / 3;
const MAX_CONVERSATIONS = 10_000;

/**
 * Keeps conversations within a budget by rare, large and permanent steps. Each step depends only on the request, and
 * selects old tool results and arguments that the work no longer needs (`stayingIn`); everything else stays.
 */
export class ContextBudget implements StepTaker {
  readonly #options: BudgetOptions;
  /** Sizes up to which a conversation has nothing worth freeing. */
  readonly #futile = new BoundedMap<string, number>(MAX_CONVERSATIONS);

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  mayNeedStep({ scope, conversationId, tokens }: CollectedRequest): boolean {
    const futile = this.#futile.get(conversationKey(scope.project, conversationId)) ?? 0;
    return tokens > futile && tokens > this.#options.tokens;
  }

  async collect(over: OverTokenBudget): Promise<boolean> {
    const { scope, request, tokens, step } = over;
    const { tokens: budget } = this.#options;
    const stays = await stayingIn(this.#options, over);
    const candidates: Candidate[] = [];
    const roots = { newest: newestOf(request), ids: NO_IDS, mentions: new Uint32Array(), file: '', task: '' };
    const sweep = new Sweep(roots, request.messages, (candidate) => candidates.push(candidate));
    for (const seen of [...request.segments].reverse()) {
      const may = seen.role === 'tool' && !seen.exempt && !stays(seen);
      // other segments count as references, but are never candidates
      const facts = { ...factsOf(seen), ...(may ? {} : { tokens: 1 }), directed: seen.directed, task: '' };
      sweep.feed(facts, { survived: (request.messages - seen.ordinal) >> 1, hours: 0 });
    }
    const written = await oldArguments(this.#options, over, request.messages - roots.newest);
    const ofWritten = written.reduce((sum, argument) => sum + argument.freed, 0);
    const plan = planOf(candidates.sort(byPruningOrder), tokens - ofWritten - budget * DOWN_TO);
    const chosen = withoutReferredTo(plan.chosen, request.segments);
    const freed = chosen.reduce((sum, candidate) => sum + candidate.tokens, ofWritten);
    const key = conversationKey(scope.project, request.conversationId);
    const after = tokens - freed;
    this.#futile.set(key, after + budget * WORTHWHILE);
    if (freed < budget * WORTHWHILE || (after > budget && freed < tokens * WORTHWHILE_OVER)) {
      this.#futile.set(key, tokens + budget * WORTHWHILE);
      return false;
    }
    const aside = [...written, ...chosen.map(({ id }) => ({ id, upTo: step.messages }))];
    await takeStep(this.#options, { by: 'budget' }, over, aside, after);
    return true;
  }
}

const NO_IDS: ReadonlySet<string> = new Set();
