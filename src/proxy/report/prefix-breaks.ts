import type { SumGroup } from '../../core/ports/ledger-store.ts';
import { prefixKeyOf } from '../../core/ports/prefix-breaks.ts';
import type { RequestReport } from './request-report.ts';

const MOST_NAMED = 20;

/** Number of requests on wires that verify the history, and of reported changes of the history. */
interface PrefixBreakCounts {
  readonly requests: number;
  readonly reported: number;
}

/** Counts changed histories reported by providers since the start. A request counts once. */
export class PrefixBreaks {
  #requests = 0;
  #reported = 0;
  #named = { day: '', count: 0 };

  /** @returns whether the request's answer reports a changed history; `null` if it does not count */
  count({ verifiesHistory, facts, reports }: RequestReport): boolean | null {
    if (verifiesHistory === 'never' || !facts) return null;
    const isReported = (reports?.prefixMismatches ?? 0) > 0;
    this.#requests++;
    if (isReported) this.#reported++;
    return isReported;
  }

  /** Whether to record the id of a reported request: only the first ones of each day (UTC). */
  isNamed(atMs: number): boolean {
    const day = new Date(atMs).toISOString().slice(0, 10);
    if (day !== this.#named.day) this.#named = { day, count: 0 };
    return this.#named.count++ < MOST_NAMED;
  }

  report(): PrefixBreakCounts {
    return { reported: this.#reported, requests: this.#requests };
  }
}

/** Ledger figures of a counted request. */
export function prefixSums({ model, facts }: RequestReport, isReported: boolean, atMs: number): SumGroup[] {
  const day = new Date(atMs).toISOString().slice(0, 10);
  const at = { day, project: facts?.project ?? '', slice: 'prefix' } as const;
  const ofModel = { key: prefixKeyOf('model', model), fields: { requests: 1, reported: isReported ? 1 : 0 }, ...at };
  if (!isReported) return [ofModel];
  const conversation = facts?.conversationId ?? '';
  return [ofModel, { key: prefixKeyOf('conversation', conversation), fields: { reported: 1 }, ...at }];
}
