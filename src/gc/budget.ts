import { LRUCache } from 'lru-cache';
import type {
  Collector,
  Directive,
  OverBudget,
  RequestScope,
  SeenRequest,
  SegmentStore,
} from '../core/ports/segments.ts';
import type { Clock, EventRecord, Store } from '../core/ports.ts';
import type { TellFailure } from '../failures.ts';
import { factsOf } from './facts.ts';
import { goesFirst, planOf } from './plan.ts';
import { type Candidate, Sweep } from './sweep.ts';

export interface BudgetOptions {
  readonly store: SegmentStore;
  readonly events: Pick<Store, 'addEvents'>;
  readonly clock: Clock;
  /** Tokens of a request above which a step is taken. */
  readonly tokens: number;
  readonly onStep: (step: TakenStep) => void;
  readonly onFailure: TellFailure;
}

/** What a step did, for the log. */
export interface TakenStep {
  readonly requestId: string;
  readonly project: string;
  readonly conversationId: string;
  readonly segments: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** A step brings a conversation down to this share of its budget, so that the next one is far away. */
const DOWN_TO = 0.6;
/** Each step makes the provider read the conversation anew; one that frees less than this share is not worth it. */
const WORTHWHILE = 0.1;
/** One that leaves the conversation over its budget, because what must stay is larger, frees at least this share of it. */
const WORTHWHILE_OVER = 1 / 3;
/** The newest messages are never touched: so many, and the results of the newest turns however many these are. */
const NEWEST_MESSAGES = 12;
const NEWEST_TURNS = 3;
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

  async collect({ scope, request, tokens, step }: OverBudget): Promise<boolean> {
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
    const set = chosen.map(
      ({ id }): Directive => ({ segment: id, action: 'stash', scope: step.scope, upTo: step.messages }),
    );
    await this.#options.store.change({ project: scope.project, set, clear: [], step });
    await this.#tell(scope, request.conversationId, chosen, tokens, after);
    return true;
  }

  async #tell(
    { project, requestId }: RequestScope,
    conversationId: string,
    chosen: readonly Candidate[],
    tokensBefore: number,
    tokensAfter: number,
  ): Promise<void> {
    const { clock, events, onStep, onFailure } = this.#options;
    onStep({ requestId, project, conversationId, segments: chosen.length, tokensBefore, tokensAfter });
    const event: EventRecord = {
      tsMs: clock.nowMs(),
      kind: 'stashed',
      level: 'info',
      runId: conversationId,
      opId: requestId === '' ? null : requestId,
      payload: {
        project,
        by: 'budget',
        segments: chosen.length,
        segment_ids: chosen.slice(0, MOST_NAMED).map(({ id }) => id),
        tokens_before: tokensBefore,
        tokens_after: tokensAfter,
      },
    };
    await events.addEvents([event]).catch((cause: unknown) => onFailure('event_not_kept', cause));
  }
}

/** How many messages at the end belong to the newest turns; results of calls made together stand in a row. */
function newestOf({ messages, segments }: SeenRequest): number {
  let turns = 0;
  let start = messages + 1;
  for (let i = segments.length - 1; i >= 0; i--) {
    const { role, ordinal = 0 } = segments[i] ?? {};
    if (role !== 'tool' || ordinal === start) continue;
    if (ordinal < start - 1 && ++turns > NEWEST_TURNS) break;
    start = ordinal;
  }
  return Math.max(NEWEST_MESSAGES, messages - start);
}

const NO_IDS: ReadonlySet<string> = new Set();
/** Segments that the event names. */
const MOST_NAMED = 100;
