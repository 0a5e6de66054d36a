import type { LedgerSum } from '../../core/ports/ledger-store.ts';
import type { UsageRecord } from '../../core/ports.ts';
import type { TextOutcome } from '../../core/request/prefix-memo.ts';
import type { OutcomeSums } from './report-line.ts';
import type { RequestReport } from './request-report.ts';

const DAY_MS = 86_400_000;
/** Most pending combinations of day, model and tool. */
const MAX_WAITING = 5_000;

type Totals = { -readonly [Field in keyof UsageRecord]: UsageRecord[Field] };

/** Totals of requests by day, model and tool until they are written. */
export class UsageTotals {
  #waiting = new Map<string, Totals>();

  /**
   * @param fresh - its new texts; `savesTokens`: the removed tokens count as saved; also in shadow mode, where they
   * would have been saved
   */
  add({ model }: RequestReport, fresh: readonly TextOutcome[], atMs: number, savesTokens: boolean): void {
    // the request itself counts with the tool of its first text
    const first = this.#of(model, fresh[0]?.tool ?? '', atMs);
    if (first) first.requests++;
    for (const { tool, pruneId, tokensBefore, tokensAfter } of fresh) {
      const totals = this.#of(model, tool, atMs);
      if (!totals) continue;
      totals.candidates++;
      if (savesTokens && pruneId !== null) totals.pruned++;
      totals.tokensBefore += tokensBefore;
      totals.tokensAfter += savesTokens ? tokensAfter : tokensBefore;
    }
  }

  /** Returns and clears the pending totals. */
  take(): readonly UsageRecord[] {
    const all = [...this.#waiting.values()];
    this.#waiting = new Map();
    return all;
  }

  #of(model: string, tool: string, atMs: number): Totals | undefined {
    const key = `${Math.floor(atMs / DAY_MS)}\0${model}\0${tool}`;
    const waiting = this.#waiting.get(key);
    if (waiting || this.#waiting.size >= MAX_WAITING) return waiting;
    const totals = { atMs, model, tool, requests: 0, candidates: 0, pruned: 0, tokensBefore: 0, tokensAfter: 0 };
    this.#waiting.set(key, totals);
    return totals;
  }
}

/** Totals per wire, as the ledger's `field`. */
const FIELDS = ['requests', 'candidates', 'pruned', 'tokens_before', 'tokens_after'] as const;

/** Totals of requests by day and wire until they are written. */
export class WireTotals {
  #waiting = new Map<string, { readonly day: string; readonly wire: string; readonly values: number[] }>();

  /**
   * @param sums - of its new `texts`; `savesTokens`: the removed tokens count as saved; also in shadow mode, where they
   * would have been saved
   */
  add({ wire }: RequestReport, sums: OutcomeSums, texts: number, atMs: number, savesTokens: boolean): void {
    const day = new Date(atMs).toISOString().slice(0, 10);
    const key = `${day} ${wire}`;
    const totals = this.#waiting.get(key) ?? { day, wire, values: FIELDS.map(() => 0) };
    this.#waiting.set(key, totals);
    const after = savesTokens ? sums.tokensAfter : sums.tokensBefore;
    const added = [1, texts, savesTokens ? sums.pruned : 0, sums.tokensBefore, after];
    added.forEach((value, i) => {
      totals.values[i] = (totals.values[i] ?? 0) + value;
    });
  }

  /** Returns and clears the pending totals. */
  take(): readonly LedgerSum[] {
    const all = [...this.#waiting.values()];
    this.#waiting = new Map();
    return all.flatMap(({ day, wire, values }) =>
      FIELDS.map(
        (field, i): LedgerSum => ({
          day,
          project: '',
          slice: 'wire',
          key: wire,
          field,
          value: Math.round(values[i] ?? 0),
        }),
      ),
    );
  }
}
