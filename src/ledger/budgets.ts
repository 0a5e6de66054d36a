import type { FailureReporter } from '../base/failures.ts';
import type { Budget, BudgetGate, OverBudget } from '../core/ports/budgets.ts';
import type { LedgerTurn } from '../core/ports/ledger.ts';
import type { LedgerStore } from '../core/ports/ledger-store.ts';
import type { Clock } from '../core/ports.ts';
import { dayOf } from './prices.ts';

export interface BudgetsOptions {
  readonly store: Pick<LedgerStore, 'spent'>;
  readonly clock: Clock;
  /** The budgets in force. */
  readonly budgets: () => readonly Budget[];
  /** Called once a month for each budget of which `WARN_SHARE` is used. */
  readonly onWarn: (budget: Budget, dollars: number) => void;
  readonly onFailure: FailureReporter;
  /** Poll interval in milliseconds; default: 2,000. */
  readonly refreshMs?: number;
}

/** Share of a budget at which a warning is reported. */
const WARN_SHARE = 0.8;
const REFRESH_MS = 2_000;
/** Weight of the newest bill in the mean. */
const RECENT_SHARE = 0.2;
/** `Retry-After` in seconds if only requests in progress use up a budget. */
const UNDER_WAY_RETRY_S = 5;
/** Requests of earlier days may be billed after midnight, so the whole month is read again after this time. */
const WHOLE_MS = 3_600_000;

type Dollars = ReadonlyMap<string, number>;

/**
 * Enforces monthly budgets of keys and projects in dollars. The amount spent is the sum of bills on all replicas: it is
 * read every two seconds, and bills of this process are added in between. Requests in progress in this process count
 * with the mean of recent bills. Hence a budget can be exceeded by the requests that other replicas have in progress
 * when it is reached, and no running request is aborted.
 */
export class Budgets implements BudgetGate {
  readonly #options: BudgetsOptions;
  readonly #warned = new Set<string>();
  /** Dollars by key and project: of the earlier days of this month, and of the current day. */
  #before: Dollars = new Map();
  #today: Dollars = new Map();
  #day = '';
  #wholeAt = Number.NEGATIVE_INFINITY;
  /** Dollars billed by this process since `#today` was read. */
  #since = new Map<string, number>();
  #limits = new Map<string, Budget>();
  /** Number of requests in progress in this process, and the mean of its recent bills. */
  readonly #underWay = new Map<string, number>();
  readonly #typical = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #failing = false;

  constructor(options: BudgetsOptions) {
    this.#options = options;
  }

  /** Starts reading the amounts spent at intervals. Never rejects. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.refresh(), this.#options.refreshMs ?? REFRESH_MS).unref();
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

  over(keyId: string | undefined, project: string): OverBudget | null {
    if (this.#limits.size === 0) return null;
    return (
      this.#refusal('key_dollars_used_up', nameOf('key', keyId ?? '')) ??
      this.#refusal('project_dollars_used_up', nameOf('project', project))
    );
  }

  enter(keyId: string | undefined, project: string): () => void {
    const names = [nameOf('key', keyId ?? ''), nameOf('project', project)].filter((name) => this.#limits.has(name));
    const count = (more: number): void => {
      for (const name of names) {
        const now = (this.#underWay.get(name) ?? 0) + more;
        if (now > 0) this.#underWay.set(name, now);
        else this.#underWay.delete(name);
      }
    };
    count(1);
    return () => {
      count(-1);
      names.length = 0;
    };
  }

  /** Adds a request that this process billed. */
  add({ keyId, project, dollars }: Pick<LedgerTurn, 'keyId' | 'project' | 'dollars'>): void {
    if (this.#limits.size === 0 || dollars === null) return;
    for (const name of [nameOf('key', keyId ?? ''), nameOf('project', project)]) {
      if (!this.#limits.has(name)) continue;
      this.#since.set(name, (this.#since.get(name) ?? 0) + dollars);
      const typical = this.#typical.get(name) ?? dollars;
      this.#typical.set(name, typical + RECENT_SHARE * (dollars - typical));
    }
  }

  /** Dollars of this month. */
  spent(of: Budget['of'], name: string): number {
    return this.#spent(nameOf(of, name));
  }

  /**
   * Reads the budgets and the amounts spent. Never rejects: while the store is not available, the last figures are
   * used.
   */
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
      const rows = await store.spent({ sinceDay: isWhole ? month : day });
      const of = (isThen: (rowDay: string) => boolean): Dollars => addedUp(rows.filter((row) => isThen(row.day)));
      if (isWhole) {
        if (day.slice(0, 7) !== this.#day.slice(0, 7)) this.#warned.clear();
        this.#before = of((rowDay) => rowDay < day);
        this.#wholeAt = nowMs;
        this.#day = day;
      }
      this.#today = of((rowDay) => rowDay >= day);
      this.#failing = false;
    } catch (cause) {
      for (const [name, dollars] of since) this.#since.set(name, (this.#since.get(name) ?? 0) + dollars);
      if (!this.#failing) onFailure('budgets_not_read', cause);
      this.#failing = true;
    }
    this.#warn();
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
    return (this.#before.get(name) ?? 0) + (this.#today.get(name) ?? 0) + (this.#since.get(name) ?? 0);
  }

  #refusal(code: OverBudget['code'], name: string): OverBudget | null {
    const budget = this.#limits.get(name);
    if (budget === undefined) return null;
    const left = budget.dollars - this.#spent(name);
    const expected = (this.#underWay.get(name) ?? 0) * (this.#typical.get(name) ?? 0);
    if (left > 0) return expected >= left ? { code, retryAfterS: UNDER_WAY_RETRY_S } : null;
    const nowMs = this.#options.clock.nowMs();
    const now = new Date(nowMs);
    const endMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    return { code, retryAfterS: Math.max(1, Math.ceil((endMs - nowMs) / 1000)) };
  }
}

function nameOf(of: Budget['of'], name: string): string {
  return `${of}\n${name}`;
}

function addedUp(
  rows: readonly { readonly of: Budget['of']; readonly name: string; readonly dollars: number }[],
): Dollars {
  const added = new Map<string, number>();
  for (const { of, name, dollars } of rows) added.set(nameOf(of, name), (added.get(nameOf(of, name)) ?? 0) + dollars);
  return added;
}
