import { type Prices, type Rates, ratesFor } from '@mcp-pruner/money/prices.ts';
import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { EndedExchange } from 'mcp-pruner/core/ports/guest.ts';
import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { ContextFigures } from './line-figures.ts';

interface Session {
  readonly project: string;
  readonly request: EndedExchange;
  readonly tokens: number;
  readonly conversations: readonly string[];
}

const MAX_SESSIONS = 1_000;
const MAX_CONVERSATIONS = 20;
const HOUR_MS = 3_600_000;
const MILLION = 1_000_000;
/** Requests to another model below this share of the context are side requests, for example for a title. */
const SIDE_SHARE = 0.25;
/** Size of a context after a compaction, and of the summary, in tokens; medians of recorded ones. */
const COMPACTED_TOKENS = 25_000;
const SUMMARY_TOKENS = 2_500;

/** Tracks the contexts of the newest thousand sessions, in memory. */
export class SessionMeter {
  readonly #sessions = new BoundedMap<string, Session>(MAX_SESSIONS);
  readonly #prices: Prices;

  constructor(prices: Prices) {
    this.#prices = prices;
  }

  record(request: EndedExchange): void {
    const tokens = request.usage?.promptTokens ?? 0;
    const { project, status, isAnswer, conversationId } = request;
    const session = request.session || conversationId;
    if (!isAnswer || tokens <= 0 || status >= 300 || session === '') return;
    const key = keyOf(project, session);
    const before = this.#sessions.get(key);
    const isSide =
      before !== undefined && before.request.model !== request.model && tokens < before.tokens * SIDE_SHARE;
    if (isSide) return;
    const conversations = [...(before?.conversations ?? []).filter((one) => one !== conversationId), conversationId];
    this.#sessions.set(key, { project, request, tokens, conversations: conversations.slice(-MAX_CONVERSATIONS) });
  }

  /**
   * The last request of a session.
   *
   * @param name - the client's session id; `null` for the most recently active session
   * @param project - restricts the search to this project
   */
  find(name: string | null, project?: string): Session | null {
    if (name === null) {
      return [...this.#sessions.values()].find((one) => project === undefined || one.project === project) ?? null;
    }
    if (project !== undefined) return this.#sessions.peek(keyOf(project, name)) ?? null;
    const named = [...this.#sessions.values()].filter(
      ({ request }) => (request.session || request.conversationId) === name,
    );
    return named.reduce<Session | null>(
      (newest, one) => (newest === null || one.request.endedMs > newest.request.endedMs ? one : newest),
      null,
    );
  }

  /** The newest session whose last request belongs to this conversation. */
  ofConversation(conversation: string): Session | null {
    return [...this.#sessions.values()].find(({ request }) => request.conversationId === conversation) ?? null;
  }

  contextOf(
    { request, tokens }: Session,
    { threshold, isLearned }: Pick<ContextFigures, 'threshold' | 'isLearned'>,
  ): ContextFigures {
    const { model, cloud, startedMs, usage } = request;
    const price = this.#prices.of(model, startedMs, cloud);
    const isHour = request.hourCache || (usage?.cacheWrite1hTokens ?? 0) > 0;
    const caches = (usage?.cachedTokens ?? 0) + (usage?.cacheWriteTokens ?? 0) > 0;
    const cacheMs = isHour ? HOUR_MS : price?.cacheMs;
    const rates = price && ratesFor(price, tokens);
    const next = rates && nextTurn(rates, tokens, isHour, caches);
    return {
      model,
      tokens,
      threshold,
      isLearned,
      cacheUntilMs: caches && cacheMs !== undefined ? startedMs + cacheMs : null,
      next,
      compactPaysAfter: rates && caches ? compactPaysAfter(rates, tokens, isHour) : null,
    };
  }
}

function keyOf(project: string, session: string): string {
  return `${project}\n${session}`;
}

function nextTurn(rates: Rates, tokens: number, isHour: boolean, caches: boolean): { warm: number; cold: number } {
  const cold = (tokens * (caches ? writeRate(rates, isHour) : rates.input)) / MILLION;
  return { warm: caches ? (tokens * rates.read) / MILLION : cold, cold };
}

function writeRate(rates: Rates, isHour: boolean): number {
  return Math.max(rates.input, isHour ? rates.write1h : rates.write5m);
}

/** Turns until the savings of a compaction exceed its cost of reading the context and writing a summary. */
export function compactPaysAfter(rates: Rates, tokens: number, isHour: boolean): number | null {
  const savedTokens = tokens - COMPACTED_TOKENS;
  if (savedTokens <= 0 || rates.read <= 0) return null;
  const cost = tokens * rates.read + SUMMARY_TOKENS * rates.output + COMPACTED_TOKENS * writeRate(rates, isHour);
  return Math.ceil(cost / (savedTokens * rates.read));
}

/** Sums up the dollars saved by cuts in a session's conversations, net of regret, reading each bill but the last once. */
export class SavedDollars {
  readonly #turns: LedgerStore['turns'];
  readonly #known = new BoundedMap<string, { readonly last: string; readonly dollars: number }>(MAX_SESSIONS);

  constructor(turns: LedgerStore['turns']) {
    this.#turns = turns;
  }

  /** @throws StoreUnavailable */
  async read(project: string, conversations: readonly string[]): Promise<number> {
    let sum = 0;
    for (const conversationId of conversations) sum += await this.#of(project, conversationId);
    return sum;
  }

  async #of(project: string, conversationId: string): Promise<number> {
    const key = keyOf(project, conversationId);
    const known = this.#known.get(key);
    const after = known === undefined ? {} : { after: known.last };
    const turns =
      conversationId === '' ? [] : await this.#turns({ conversationId, project, limit: MAX_TURNS, ...after });
    const before = (known?.dollars ?? 0) + savedBy(turns.slice(0, -1));
    // a later recovery adds its regret to the newest request
    const last = turns.at(-2)?.requestId;
    if (last !== undefined) this.#known.set(key, { last, dollars: before });
    return before + savedBy(turns.slice(-1));
  }
}

function savedBy(turns: readonly LedgerTurn[]): number {
  return turns.reduce(
    (sum, { dollars, dollarsWithout, regretDollars }) =>
      sum + (dollarsWithout ?? 0) - (dollars ?? 0) - (regretDollars ?? 0),
    0,
  );
}

const MAX_TURNS = 10_000;
