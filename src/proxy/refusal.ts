import type { Rewritten } from '../core/request/rewritten.ts';
import type { Dialect } from '../dialects/dialect.ts';
import type { Decline } from './upstream/pass-on.ts';

/** Statuses with which an upstream refuses what it was sent. */
export const REFUSALS: ReadonlySet<number> = new Set([400, 413, 422]);

/** Which refusals of a request are answered by sending it once more, in another way. */
export class Refusal implements Decline {
  readonly #dialect: Dialect;
  readonly #rawHistory: boolean;
  readonly #mayGoWhole: boolean;
  /** It was refused because of what stands before an answer: that must have been sent otherwise. */
  ofHistory = false;

  /** @param cut - the request was cut, and is one that a model answers */
  constructor(dialect: Dialect, { rawHistory, acceptedBefore }: Rewritten, cut: boolean) {
    this.#dialect = dialect;
    this.#rawHistory = rawHistory && dialect.binding === 'must';
    // once the provider took cuts of this conversation, the whole request would be an edit of what it knows
    this.#mayGoWhole = cut && !acceptedBefore;
  }

  byStatus(status: number): 'pass' | 'drop' | 'hold' {
    if (!REFUSALS.has(status)) return 'pass';
    if (this.#rawHistory) return 'hold';
    return this.#mayGoWhole ? 'drop' : 'pass';
  }

  byBody(status: number, body: Buffer): boolean {
    this.ofHistory = this.#dialect.refusesPast(status, body);
    return this.ofHistory || this.#mayGoWhole;
  }
}
