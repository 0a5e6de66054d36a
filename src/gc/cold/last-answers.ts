import { BoundedMap } from '../../base/bounded-map.ts';
import type { LedgerStore } from '../../core/ports/ledger-store.ts';
import type { RequestFacts } from '../../core/ports/request-facts.ts';
import type { HeadSums } from '../../core/ports/segments.ts';

/** The last answer of a conversation: when it ended, what stood before its messages, and how long its cache lives. */
export interface LastAnswer extends HeadSums {
  readonly atMs: number;
  /** After this time the provider has dropped its cache; `Infinity` if no clock says so. */
  readonly lifetimeMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Providers drop caches a little later than they promise: five minutes are added to theirs, one to the shortest. */
const MARGIN_MS = 5 * MINUTE_MS;
const SHORT_MS = 6 * MINUTE_MS;
const UNKNOWN_MS = 30 * MINUTE_MS;
/** Turns of a conversation that are read to find the lifetime of its cache. */
const TURNS = 20;
const MAX_CONVERSATIONS = 10_000;

type Facts = Pick<RequestFacts, 'project' | 'conversationId' | 'wire' | 'model' | 'tools' | 'system'> &
  Pick<RequestFacts, 'cacheUpTo' | 'cacheHourUpTo'> & { readonly retentionHours?: number | undefined };

/** Remembers the last answer of each conversation. After a restart it is read from the ledger. */
export class LastAnswers {
  readonly #turns: Pick<LedgerStore, 'turns'>;
  readonly #answers = new BoundedMap<string, LastAnswer>(MAX_CONVERSATIONS);
  /** Tokens that would be aside if it were switched on, by conversation. */
  readonly #measured = new BoundedMap<string, number>(MAX_CONVERSATIONS);

  constructor(turns: Pick<LedgerStore, 'turns'>) {
    this.#turns = turns;
  }

  /** What this process knows; `undefined`: the ledger may know more. */
  known(project: string, conversationId: string): LastAnswer | undefined {
    return this.#answers.get(keyOf(project, conversationId));
  }

  /** Records an answer. @param isLocal - the upstream is on this machine or its network, and keeps prefixes without a clock */
  note(facts: Facts, atMs: number, isLocal: boolean): void {
    const { project, conversationId, model, tools, system } = facts;
    const lifetimeMs = isLocal ? Number.POSITIVE_INFINITY : lifetimeOf(facts);
    this.#answers.set(keyOf(project, conversationId), { atMs, lifetimeMs, model, tools, system });
  }

  /** Tokens that a request of this conversation would not have. */
  measured(project: string, conversationId: string): number {
    return this.#measured.get(keyOf(project, conversationId)) ?? 0;
  }

  measure(project: string, conversationId: string, tokens: number): void {
    this.#measured.set(keyOf(project, conversationId), this.measured(project, conversationId) + tokens);
  }

  /**
   * Reads the last answer of a conversation from the ledger, which does not know its tools and instructions.
   *
   * @returns `null` if there is none
   * @throws StoreUnavailable
   */
  async read(project: string, conversationId: string, isLocal: (wire: string) => boolean): Promise<LastAnswer | null> {
    const turns = await this.#turns.turns({ conversationId, newestFirst: true, limit: TURNS });
    const own = turns.filter((turn) => turn.project === project);
    const [last] = own;
    if (!last) return null;
    const written = own.find(({ write5m, write1h }) => write5m + write1h > 0);
    const breakpoint = written && (written.write1h > 0 ? 'hour' : 'minutes');
    const lifetimeMs = isLocal(last.wire)
      ? Number.POSITIVE_INFINITY
      : breakpointLifetime(last.wire === 'messages' ? breakpoint : undefined);
    const answer = { atMs: last.atMs, lifetimeMs, model: last.model, tools: '', system: '' };
    this.#answers.set(keyOf(project, conversationId), answer);
    return answer;
  }
}

function keyOf(project: string, conversationId: string): string {
  return `${conversationId} ${project}`;
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
