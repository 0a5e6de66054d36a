import { BoundedMap } from '../../base/bounded-map.ts';
import type { LedgerStore } from '../../core/ports/ledger-store.ts';
import type { RequestFacts } from '../../core/ports/request-facts.ts';
import type { HeadSums } from '../../core/ports/segments.ts';
import { conversationKey } from '../keys.ts';

/** An answer in a conversation: end time, request head, and cache lifetime. */
export interface LastAnswer extends HeadSums {
  readonly atMs: number;
  /** Time after which the provider drops its cache; `Infinity` if caching is not time-based. */
  readonly lifetimeMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Providers drop caches later than documented: five minutes are added, or one to the shortest lifetime. */
const MARGIN_MS = 5 * MINUTE_MS;
const SHORT_MS = 6 * MINUTE_MS;
const UNKNOWN_MS = 30 * MINUTE_MS;
/** Number of turns read to determine the cache lifetime. */
const TURNS = 20;
const MAX_CONVERSATIONS = 10_000;
/** Maximum number of remembered models and heads per conversation. */
const MAX_HEADS = 6;

type Facts = Pick<RequestFacts, 'project' | 'conversationId' | 'wire' | 'cacheUpTo' | 'cacheHourUpTo'> &
  HeadSums & { readonly retentionHours?: number | undefined };

/** Known answers of one conversation. */
interface Noted {
  /** Time since which this process has recorded all its answers; earlier ones are only in the ledger. */
  readonly sinceMs: number;
  /** Newest first. */
  readonly answers: readonly LastAnswer[];
}

/**
 * Remembers the last answer of each conversation per request head: side requests of a client (a title, a plan by
 * another model) have separate caches. Answers before a restart and of other processes come from the ledger, which
 * lacks their tools and instructions.
 */
export class LastAnswers {
  readonly #turns: Pick<LedgerStore, 'turns'>;
  readonly #noted = new BoundedMap<string, Noted>(MAX_CONVERSATIONS);
  /** Tokens that would have been put aside at the last request, by conversation. */
  readonly #measured = new BoundedMap<string, number>(MAX_CONVERSATIONS);

  constructor(turns: Pick<LedgerStore, 'turns'>) {
    this.#turns = turns;
  }

  /** Answers known to this process, newest first; `undefined` if the ledger may have more. */
  known(project: string, conversationId: string): readonly LastAnswer[] | undefined {
    return this.#noted.get(conversationKey(project, conversationId))?.answers;
  }

  /** Records an answer. @param isLocal - whether the upstream is local and its cache has no time limit */
  note(facts: Facts, atMs: number, isLocal: boolean): void {
    const { project, conversationId, model, tools, system, summary = '' } = facts;
    const lifetimeMs = isLocal ? Number.POSITIVE_INFINITY : lifetimeOf(facts);
    const key = conversationKey(project, conversationId);
    const { sinceMs, answers } = this.#noted.get(key) ?? { sinceMs: atMs, answers: [] };
    const head = { model, tools, system, summary };
    const others = answers.filter((one) => !isSame(one, head));
    const latest = [{ atMs, lifetimeMs, ...head }, ...others].slice(0, MAX_HEADS);
    this.#noted.set(key, { sinceMs, answers: latest });
  }

  /** Tokens that would have been put aside in the answered request. Returned only once. */
  takeMeasured(project: string, conversationId: string): number {
    const key = conversationKey(project, conversationId);
    const tokens = this.#measured.get(key) ?? 0;
    this.#measured.delete(key);
    return tokens;
  }

  measure(project: string, conversationId: string, tokens: number): void {
    const key = conversationKey(project, conversationId);
    this.#measured.set(key, (this.#measured.get(key) ?? 0) + tokens);
  }

  /**
   * Adds answers that only the ledger has: per model, the last one from before this process's records, or from another
   * process since.
   *
   * @returns newest first; empty if there are none
   * @throws StoreUnavailable
   */
  async read(
    project: string,
    conversationId: string,
    isLocal: (wire: string) => boolean,
  ): Promise<readonly LastAnswer[]> {
    const turns = await this.#turns.turns({ conversationId, project, newestFirst: true, limit: TURNS });
    const key = conversationKey(project, conversationId);
    const { sinceMs, answers } = this.#noted.get(key) ?? { sinceMs: Number.POSITIVE_INFINITY, answers: [] };
    const newestMs = answers[0]?.atMs ?? Number.NEGATIVE_INFINITY;
    const others = turns.filter(({ atMs }) => atMs < sinceMs || atMs > newestMs);
    const byModel = new Map(others.toReversed().map((turn) => [turn.model, turn]));
    const read = [...byModel.values()].map(({ atMs, model, wire }): LastAnswer => {
      const written = turns.find((turn) => turn.model === model && turn.write5m + turn.write1h > 0);
      const breakpoint = written && (written.write1h > 0 ? 'hour' : 'minutes');
      const lifetimeMs = isLocal(wire)
        ? Number.POSITIVE_INFINITY
        : breakpointLifetime(wire === 'messages' ? breakpoint : undefined);
      return { atMs, lifetimeMs, model, tools: '', system: '' };
    });
    const all = [...answers, ...read].toSorted((a, b) => b.atMs - a.atMs).slice(0, MAX_HEADS);
    if (all.length > 0) this.#noted.set(key, { sinceMs: Number.NEGATIVE_INFINITY, answers: all });
    return all;
  }
}

/** Whether an answer belongs to this head. Unknown fields match anything, and so does a request without a model. */
export function hasHead(answer: HeadSums, { model, tools, system, summary = '' }: HeadSums): boolean {
  const fits = (known: string, now: string): boolean => known === '' || known === now;
  const isCompacted = answer.summary !== undefined && answer.summary !== summary;
  return (
    (model === '' || answer.model === model) && fits(answer.tools, tools) && fits(answer.system, system) && !isCompacted
  );
}

function isSame(a: HeadSums, b: HeadSums): boolean {
  return a.model === b.model && a.tools === b.tools && a.system === b.system && a.summary === b.summary;
}

function lifetimeOf({ wire, cacheUpTo, cacheHourUpTo, retentionHours }: Facts): number {
  if (retentionHours !== undefined) return retentionHours * HOUR_MS + MARGIN_MS;
  if (wire !== 'messages') return UNKNOWN_MS;
  return breakpointLifetime((cacheHourUpTo ?? null) !== null ? 'hour' : cacheUpTo !== null ? 'minutes' : undefined);
}

function breakpointLifetime(breakpoint: 'hour' | 'minutes' | undefined): number {
  if (breakpoint === 'hour') return HOUR_MS + MARGIN_MS;
  return breakpoint === 'minutes' ? SHORT_MS : UNKNOWN_MS;
}
