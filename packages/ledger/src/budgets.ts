import { dollarsServed } from '@mcp-pruner/money/bill.ts';
import { dayOf, type Price, type Prices, ratesFor } from '@mcp-pruner/money/prices.ts';
import { pricing } from '@mcp-pruner/money/served-price.ts';
import type { OpenBudgets } from 'mcp-pruner/app/guest.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { Budget, BudgetRequest, OverBudget, Quote, Reservation } from 'mcp-pruner/core/ports/budgets.ts';
import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { ReportedUsage } from 'mcp-pruner/core/ports/request-facts.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { addedUp, nameOf, namesOf } from './budget-names.ts';
import { ALIVE_MS, PROCESSES } from './settlement.ts';

export interface BudgetsOptions {
  readonly store: Pick<LedgerStore, 'spent' | 'processes'>;
  readonly clock: Clock;
  /** The budgets in force. */
  readonly budgets: () => readonly Budget[];
  /** Called once a month for each budget that reaches `WARN_SHARE`. */
  readonly onWarn: (budget: Budget, dollars: number) => void;
  readonly onFailure: FailureReporter;
  readonly prices: Pick<Prices, 'of' | 'ceiling' | 'extras'>;
  /** Maximum wait of a request for the first bill of its key or project, in milliseconds. Default: 30,000. */
  readonly firstBillMs?: number;
}

/** Share of a budget at which a warning is reported. */
const WARN_SHARE = 0.8;
const REFRESH_MS = 2_000;
/** Decay of the largest recent bill with each bill; slow enough that it stays above the mean. */
const FADING = 0.9;
/** `Retry-After` in seconds if only in-flight requests use up a budget. */
const UNDER_WAY_RETRY_S = 5;
const FIRST_BILL_MS = 30_000;
/** Maximum number of requests waiting for a first bill; further ones are refused at once. */
const MAX_WAITING = 1_000;
/**
 * Maximum number of answered requests whose bill is tracked; the dollars of older ones count until the process ends.
 */
const MAX_UNBILLED = 10_000;
/** After this time with a readable store, a missing bill was written by another process, or is lost. */
const UNBILLED_MS = 60_000;
/** Interval for rereading the whole month, because requests of earlier days may be billed after midnight. */
const WHOLE_MS = 3_600_000;

/** Smaller sums differ from zero only by rounding, in dollars. */
const NOTHING = 1e-9;

export type Dollars = ReadonlyMap<string, number>;

/** In-flight requests of a key or a project in this process, and the size of its recent bills. */
interface Account {
  /** Number of in-flight requests, and the dollars reserved for them. */
  underWay: number;
  reserved: number;
  /** Dollars of answered requests that the ledger has not billed yet. */
  unbilled: number;
  /** Largest recent bill, with decay; `null` before the first one. */
  largest: number | null;
}

/** An answered request that the ledger has not billed yet. */
interface Unbilled {
  readonly accounts: readonly Account[];
  readonly dollars: number;
  readonly atMs: number;
}

/**
 * Enforces monthly budgets of keys and projects in dollars. The amount spent is the sum of bills on all replicas, read
 * every two seconds; bills of this process are added in between. An in-flight request counts as much as the largest
 * recent bill, but at least its own estimate; until a first bill is known, requests run one at a time. The remainder is
 * divided among the processes that share the store, because none knows the others' in-flight or just billed requests.
 * Each process may always run one request, so a budget can be exceeded by one request per other process. Running
 * requests are never aborted.
 */
export class Budgets implements OpenBudgets {
  readonly #options: BudgetsOptions;
  readonly #warned = new Set<string>();
  /** Dollars by key and project: of earlier days of this month, and of the current day. */
  #before: Dollars = new Map();
  #today: Dollars = new Map();
  #day = '';
  #wholeAt = Number.NEGATIVE_INFINITY;
  /** Dollars billed by this process since `#today` was read. */
  #since = new Map<string, number>();
  #limits = new Map<string, Budget>();
  /** Accounts of keys and projects with a budget. */
  readonly #accounts = new Map<string, Account>();
  readonly #unbilled = new Map<string, Unbilled>();
  /** Wake-up callbacks of requests that wait for a first bill. */
  readonly #waiting = new Set<() => void>();
  /** Number of processes that bill requests in the store. */
  #processes = 1;
  #timer: NodeJS.Timeout | undefined;
  #failing = false;

  constructor(options: BudgetsOptions) {
    this.#options = options;
  }

  /** Starts the periodic reads of the amounts spent. Never rejects. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.refresh(), REFRESH_MS).unref();
    await this.refresh();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  get isNeeded(): boolean {
    return this.#limits.size > 0;
  }

  covers(keyId: string | undefined, project: string): boolean {
    return this.#limits.has(nameOf('key', keyId ?? '')) || this.#limits.has(nameOf('project', project));
  }

  quote(models: readonly string[], cloud: string | undefined): Quote {
    const priced = models.flatMap((model) => this.#priceOf(model, cloud) ?? []);
    const [first, ...others] = priced;
    const dearest = first && others.reduce((most, price) => (price.input > most.input ? price : most), first);
    return quoteAt(dearest ?? this.#options.prices.ceiling());
  }

  billed(models: readonly string[], cloud: string | undefined, usage: ReportedUsage): number {
    const { prices } = this.#options;
    const dollarsAt = (price: Price, model: string): number =>
      dollarsServed(usage, pricing(price, { model, usage }, prices));
    for (const model of models) {
      const price = this.#priceOf(model, cloud);
      if (price !== null) return dollarsAt(price, model);
    }
    return usage.cost ?? dollarsAt(prices.ceiling(), models[0] ?? '');
  }

  #priceOf(model: string, cloud: string | undefined): Price | null {
    return this.#options.prices.of(model, this.#options.clock.nowMs(), cloud);
  }

  async enter(request: BudgetRequest): Promise<Reservation | OverBudget> {
    const endMs = performance.now() + (this.#options.firstBillMs ?? FIRST_BILL_MS);
    const names = namesOf(request).filter((name) => this.#limits.has(name));
    while (names.some((name) => this.#awaitsFirstBill(name))) {
      const leftMs = endMs - performance.now();
      if (leftMs <= 0 || request.signal.aborted || this.#waiting.size >= MAX_WAITING) {
        return { code: 'first_bill_awaited', retryAfterS: UNDER_WAY_RETRY_S };
      }
      await this.#settledSoon(leftMs, request.signal);
    }
    const refusal = names.map((name) => this.#refusal(name, request.dollars)).find((over) => over !== null);
    return refusal ?? this.#reserved(names, request);
  }

  enterNow(request: Omit<BudgetRequest, 'signal'>): Reservation | null {
    const names = namesOf(request).filter((name) => this.#limits.has(name));
    for (const name of names) {
      if (this.#awaitsFirstBill(name) || this.#refusal(name, request.dollars) !== null) return null;
    }
    return this.#reserved(names, request);
  }

  #awaitsFirstBill(name: string): boolean {
    const account = this.#accounts.get(name);
    return account !== undefined && account.largest === null && account.underWay > 0;
  }

  /** Waits until a request is settled, at most for the given time. */
  #settledSoon(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done);
      this.#waiting.add(done);
    });
  }

  #reserved(names: readonly string[], { requestId, dollars }: Omit<BudgetRequest, 'signal'>): Reservation {
    const places = names.map((name) => {
      const account = this.#accountOf(name);
      const expected = Math.max(dollars, account.largest ?? 0);
      account.underWay++;
      account.reserved += expected;
      return { account, expected };
    });
    let isSettled = false;
    return {
      settle: (actual, isBilled) => {
        if (isSettled) return;
        isSettled = true;
        for (const { account, expected } of places) {
          account.underWay--;
          account.reserved -= expected;
          if (isBilled) account.largest = Math.max(actual, FADING * (account.largest ?? 0));
        }
        const accounts = places.map(({ account }) => account);
        this.#await(requestId, actual, accounts);
        for (const wake of [...this.#waiting]) wake();
      },
    };
  }

  #accountOf(name: string): Account {
    const account = this.#accounts.get(name) ?? { underWay: 0, reserved: 0, unbilled: 0, largest: null };
    this.#accounts.set(name, account);
    return account;
  }

  /** Counts the dollars of an answered request until it is billed. */
  #await(requestId: string, dollars: number, accounts: readonly Account[]): void {
    if (dollars <= 0) return;
    for (const account of accounts) account.unbilled += dollars;
    this.#unbilled.set(requestId, { accounts, dollars, atMs: performance.now() });
    const [oldest] = this.#unbilled.keys();
    if (this.#unbilled.size > MAX_UNBILLED && oldest !== undefined) this.#unbilled.delete(oldest);
  }

  #forget(requestId: string): void {
    const unbilled = this.#unbilled.get(requestId);
    if (!unbilled) return;
    this.#unbilled.delete(requestId);
    for (const account of unbilled.accounts) account.unbilled -= unbilled.dollars;
  }

  /** Adds a request billed by this process. */
  add(turn: Pick<LedgerTurn, 'requestId' | 'keyId' | 'project' | 'dollars'>): void {
    const { requestId, dollars } = turn;
    if (this.#limits.size === 0 || dollars === null) return;
    const wasAwaited = this.#unbilled.has(requestId);
    this.#forget(requestId);
    for (const name of namesOf(turn)) {
      if (!this.#limits.has(name)) continue;
      this.#since.set(name, (this.#since.get(name) ?? 0) + dollars);
      const account = this.#accountOf(name);
      if (!wasAwaited) account.largest = Math.max(dollars, FADING * (account.largest ?? 0));
    }
  }

  /** Dollars spent this month. */
  spent(of: Budget['of'], name: string): number {
    return this.#spent(nameOf(of, name));
  }

  /** Reads the budgets and the amounts spent. Never rejects: while the store is unavailable, the last figures apply. */
  async refresh(): Promise<void> {
    const { store, budgets, clock, onFailure } = this.#options;
    this.#limits = new Map(budgets().map((budget) => [nameOf(budget.of, budget.name), budget]));
    if (this.#limits.size === 0) return;
    const nowMs = clock.nowMs();
    const day = dayOf(nowMs);
    const month = `${day.slice(0, 7)}-01`;
    const since = this.#since;
    try {
      const isWhole = day !== this.#day || nowMs - this.#wholeAt > WHOLE_MS;
      this.#since = new Map();
      const heartbeats = { lineage: PROCESSES, aliveFromMs: Math.trunc(nowMs) - ALIVE_MS };
      const [rows, processes] = await Promise.all([
        store.spent({ sinceDay: isWhole ? month : day }),
        store.processes(heartbeats),
      ]);
      this.#processes = Math.max(1, processes);
      const of = (isThen: (rowDay: string) => boolean): Dollars => addedUp(rows.filter((row) => isThen(row.day)));
      if (isWhole) {
        if (day.slice(0, 7) !== this.#day.slice(0, 7)) this.#warned.clear();
        this.#before = of((rowDay) => rowDay < day);
        this.#wholeAt = nowMs;
        this.#day = day;
      }
      this.#today = of((rowDay) => rowDay >= day);
      this.#failing = false;
      this.#dropOld();
    } catch (cause) {
      for (const [name, dollars] of since) this.#since.set(name, (this.#since.get(name) ?? 0) + dollars);
      if (!this.#failing) onFailure('budgets_not_read', cause);
      this.#failing = true;
    }
    this.#warn();
  }

  /** Drops bills written by other processes, and accounts without a budget. */
  #dropOld(): void {
    const sinceMs = performance.now() - UNBILLED_MS;
    for (const [requestId, { atMs }] of this.#unbilled) {
      if (atMs > sinceMs) break;
      this.#forget(requestId);
    }
    for (const name of this.#accounts.keys()) if (!this.#limits.has(name)) this.#accounts.delete(name);
  }

  #warn(): void {
    for (const [name, budget] of this.#limits) {
      const dollars = this.#spent(name);
      if (dollars < WARN_SHARE * budget.dollars || this.#warned.has(name)) continue;
      this.#warned.add(name);
      this.#options.onWarn(budget, dollars);
    }
  }

  #spent(name: string): number {
    return this.#read(name) + this.#ownSpent(name);
  }

  /** Dollars billed by all processes as of the last read. */
  #read(name: string): number {
    return (this.#before.get(name) ?? 0) + (this.#today.get(name) ?? 0);
  }

  /** Dollars of answered requests of this process since the last read. */
  #ownSpent(name: string): number {
    return (this.#since.get(name) ?? 0) + (this.#accounts.get(name)?.unbilled ?? 0);
  }

  /** @param dollars - estimated cost of the request */
  #refusal(name: string, dollars: number): OverBudget | null {
    const budget = this.#limits.get(name);
    if (budget === undefined) return null;
    const left = budget.dollars - this.#spent(name);
    const { reserved, underWay, largest } = this.#accountOf(name);
    const expected = Math.max(dollars, largest ?? 0);
    const own = this.#ownSpent(name);
    const share = (budget.dollars - this.#read(name)) / this.#processes;
    const isOnly = underWay === 0 && own < NOTHING && expected <= left;
    if (left > 0 && (own + reserved + expected <= share || isOnly)) return null;
    const code = budget.of === 'key' ? 'key_dollars_used_up' : 'project_dollars_used_up';
    if (left > 0 && expected <= left) return { code, retryAfterS: UNDER_WAY_RETRY_S };
    const nowMs = this.#options.clock.nowMs();
    const now = new Date(nowMs);
    const endMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    return { code, retryAfterS: Math.max(1, Math.ceil((endMs - nowMs) / 1000)) };
  }
}

function quoteAt(price: Price): Quote {
  return {
    inputDollars(tokens) {
      const { input, write5m } = ratesFor(price, tokens);
      return (tokens * Math.max(input, write5m)) / 1_000_000;
    },
  };
}
