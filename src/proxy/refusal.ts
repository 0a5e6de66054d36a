import type { Rewritten } from '../core/request/rewritten.ts';
import type { Dialect } from '../dialects/dialect.ts';
import type { Decline } from './upstream/pass-on.ts';

/** Statuses by which an upstream rejects a request's content. */
export const REFUSALS: ReadonlySet<number> = new Set([400, 413, 422]);

/** Decides which refusals are answered by resending the request in another form. */
export class Refusal implements Decline {
  readonly #dialect: Dialect;
  readonly #rawHistory: boolean;
  readonly #mayGoWhole: boolean;
  /** The provider rejected the history, so an earlier run must have pruned it. */
  ofHistory = false;

  /** @param cut - the request was pruned, and is one that a model answers */
  constructor(dialect: Dialect, { rawHistory, acceptedBefore }: Rewritten, cut: boolean) {
    this.#dialect = dialect;
    this.#rawHistory = rawHistory && dialect.verifiesHistory;
    // once the provider has accepted cuts of this conversation, the unpruned request would change its history
    this.#mayGoWhole = cut && !acceptedBefore;
  }

  byStatus(status: number): 'pass' | 'drop' | 'hold' {
    if (!REFUSALS.has(status)) return 'pass';
    if (this.#rawHistory) return 'hold';
    return this.#mayGoWhole ? 'drop' : 'pass';
  }

  byBody(status: number, body: Buffer): boolean {
    this.ofHistory = this.#dialect.refusesHistory(status, body);
    return this.ofHistory || this.#mayGoWhole;
  }
}
