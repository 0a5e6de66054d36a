import { LRUCache } from 'lru-cache';
import type { Collector, OverBudget, RequestScope } from '../core/ports/segments.ts';
import { factsOf } from './facts.ts';
import { newestOf } from './newest.ts';
import { goesFirst, planOf } from './plan.ts';
import { type Candidate, Sweep } from './sweep.ts';
import { type StepOptions, takeStep } from './take-step.ts';

export interface BudgetOptions extends StepOptions {
  /** Tokens of a request above which a step is taken. */
  readonly tokens: number;
}

/** A step brings a conversation down to this share of its budget, so that the next one is far away. */
const DOWN_TO = 0.6;
/** Each step makes the provider read the conversation anew; one that frees less than this share is not worth it. */
const WORTHWHILE = 0.1;
/** One that leaves the conversation over its budget, because what must stay is larger, frees at least this share of it. */
const WORTHWHILE_OVER = 1 / 3;
const MAX_CONVERSATIONS = 10_000;

/**
 * Keeps conversations within a budget: rarely, in one big step, and then for good. Chosen from the request alone, among
 * results of tools and attached files; what the user and the assistant said stays.
 */
export class ContextBudget implements Collector {
  readonly #options: BudgetOptions;
  /** Sizes below which there is nothing to be had from a conversation. */
  readonly #futile = new LRUCache<string, number>({ max: MAX_CONVERSATIONS });

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  wants({ project }: RequestScope, conversationId: string, tokens: number): boolean {
    return tokens > Math.max(this.#options.tokens, this.#futile.get(`${conversationId} ${project}`) ?? 0);
  }

  async collect(over: OverBudget): Promise<boolean> {
    const { scope, request, tokens, step } = over;
    const budget = this.#options.tokens;
    const candidates: Candidate[] = [];
    const roots = { newest: newestOf(request), ids: NO_IDS, mentions: new Uint32Array(), file: '', task: '' };
    const sweep = new Sweep(roots, request.messages, (candidate) => candidates.push(candidate));
    for (const seen of [...request.segments].reverse()) {
      const may = (seen.role === 'tool' || seen.effect === 'attached') && !seen.exempt;
      // whatever else is in a conversation refers to segments, but is none of ours to take
      const facts = { ...factsOf(seen), ...(may ? {} : { tokens: 1 }), directed: seen.directed, task: '' };
      sweep.feed(facts, { survived: (request.messages - seen.ordinal) >> 1, hours: 0 });
    }
    const { chosen, tokens: freed } = planOf(candidates.sort(goesFirst), tokens - budget * DOWN_TO);
    const key = `${request.conversationId} ${scope.project}`;
    const after = tokens - freed;
    this.#futile.set(key, after + budget * WORTHWHILE);
    if (freed < budget * WORTHWHILE || (after > budget && freed < tokens * WORTHWHILE_OVER)) {
      this.#futile.set(key, tokens + budget * WORTHWHILE);
      return false;
    }
    const aside = chosen.map(({ id }) => ({ id, upTo: step.messages }));
    await takeStep(this.#options, 'budget', over, aside, after);
    return true;
  }
}

const NO_IDS: ReadonlySet<string> = new Set();
