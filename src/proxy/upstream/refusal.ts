import type { RewrittenRequest } from '../../core/request/rewritten.ts';
import { AnswerReader } from '../../wires/dialects/answers/reader.ts';
import type { Dialect } from '../../wires/dialects/dialect.ts';

/**
 * Statuses that reject a request's content, so that its other form may be accepted. Not 413, because the other form is
 * larger.
 */
export const REFUSALS: ReadonlySet<number> = new Set([400, 422]);

/** Decides which answers are dropped. */
export type Decline = Pick<Refusal, 'byStatus' | 'byBody' | 'byStart'>;

/** Drops answers that refuse a request whose messages were replaced by a summary. */
export const REFUSED_SUMMARY: Decline = {
  byStatus: (status) => (status === 400 ? 'drop' : 'pass'),
  byBody: () => true,
  byStart: () => false,
};

/** Decides which answers are dropped as refusals, to resend the request in another form. */
export class Refusal {
  readonly #dialect: Dialect;
  #rawHistory: boolean;
  readonly #mayGoWhole: boolean;
  /** The provider rejected the history, so an earlier run must have pruned it. */
  ofHistory = false;
  /** The provider cannot continue its stored history. */
  toContinue = false;
  readonly #isKept: boolean;
  /** The other form of the rejected history. */
  other: Buffer | null = null;
  #otherForm: (() => Buffer | null) | undefined;

  /**
   * @param mayResend - the request was pruned and generates an answer (not a token count)
   * @param otherForm - makes the only form in which a rejected history may be resent; `null` if there is none
   */
  constructor(
    dialect: Dialect,
    rewritten: Pick<RewrittenRequest, 'rawHistory' | 'acceptedBefore' | 'isKept'>,
    mayResend: boolean,
    otherForm?: () => Buffer | null,
  ) {
    const { rawHistory, acceptedBefore, isKept } = rewritten;
    this.#dialect = dialect;
    this.#rawHistory = rawHistory && dialect.verifiesHistory === 'always';
    this.#isKept = isKept;
    this.#otherForm = otherForm;
    // after accepted cuts, an unpruned request would change the conversation's history
    this.#mayGoWhole = mayResend && !acceptedBefore;
  }

  /** The history may have been accepted with a summary. @param otherForm - see the constructor */
  mayLackSummary(otherForm: () => Buffer | null): void {
    if (this.#rawHistory) return; // it is pruned again first
    this.#rawHistory = this.#dialect.verifiesHistory === 'always';
    this.#otherForm = otherForm;
  }

  /** `hold`: the complete body decides. `peek`: the first event decides. */
  byStatus(status: number): 'pass' | 'drop' | 'hold' | 'peek' {
    if (status === 200 && this.#mayGoWhole) return 'peek'; // gateways also send refusals with status 200
    if (!REFUSALS.has(status)) return 'pass';
    if (this.#rawHistory || this.#isKept) return 'hold';
    return this.#mayGoWhole ? 'drop' : 'pass';
  }

  /** @param body - decoded; only called for bodies up to 64 KiB */
  byBody(status: number, body: Buffer): boolean {
    this.toContinue = this.#isKept && this.#dialect.refusesToContinue?.(body) === true;
    if (this.toContinue) return false;
    this.ofHistory = this.#rawHistory && this.#dialect.refusesHistory?.(status, body) === true;
    if (this.ofHistory && this.#otherForm) {
      this.other = this.#otherForm();
      this.ofHistory = this.other !== null;
    }
    return this.ofHistory || this.#mayGoWhole;
  }

  /**
   * Whether to drop a `peek`ed answer; `null` if its first event is incomplete.
   *
   * @param start - the received part, decoded
   * @param isWhole - the answer is complete
   */
  byStart(start: Buffer, isWhole: boolean): boolean | null {
    const reader = new AnswerReader();
    reader.data(start);
    if (isWhole) return reader.end().error === 'refused';
    const begin = reader.start();
    return begin === 'unknown' ? null : begin === 'error' && reader.end().error === 'refused';
  }
}
