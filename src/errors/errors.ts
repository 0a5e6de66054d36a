import type { ErrorRow } from './rows/error-row.ts';
import { errorsOfCalls } from './rows/of-calls.ts';
import { type FallbackCode, fallbackTable } from './rows/of-fallbacks.ts';
import { errorsOfRequests } from './rows/of-requests.ts';

/** All failures of the product itself that clients can see. Public: add rows, never renumber. */
export const errorTable = { ...errorsOfCalls, ...errorsOfRequests };

export { type FallbackCode, fallbackTable };

export type ErrorCode = keyof typeof errorTable;

/** An error row with its code. Optional parts pass their own failures as such rows. */
export interface CodedRow extends ErrorRow {
  readonly code: string;
}

/** Looks up the row of a code; rows with a code are returned unchanged. */
export function errorRow(code: ErrorCode | CodedRow): CodedRow {
  return typeof code === 'string' ? { code, ...errorTable[code] } : code;
}

/** A failure that the caller can act on. Anything else thrown is a bug, which clients see as `internal_error`. */
export class PrunerError extends Error {
  override readonly name: string = 'PrunerError';
  readonly code: string;
  readonly #row: CodedRow; // private, because logs show an error's fields
  /** Fields for the client besides the code; a `hint` overrides the row's hint. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode | CodedRow, details: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    const row = errorRow(code);
    super(row.code, options); // clients read the code as the message
    this.code = row.code;
    this.#row = row;
    this.details = details;
  }

  get row(): CodedRow {
    return this.#row;
  }

  get rpcCode(): number {
    return this.#row.rpc ?? errorTable.internal_error.rpc;
  }

  get rpcMessage(): string {
    return this.code;
  }

  get data(): Readonly<Record<string, unknown>> {
    const { code, details } = this;
    return details.hint === undefined ? { code, ...details, hint: this.#row.hint } : { code, ...details };
  }
}

/** The store is unavailable (locked, full, gone, broken). Callers fail open; `reason` is a short constant code. */
export class StoreUnavailable extends PrunerError {
  override readonly name = 'StoreUnavailable';
  /**
   * `locked`, `full`, `readonly`, `corrupt`, `newer_schema`, `unreachable`, `refused`, `unsupported`, `closed`,
   * `unwritable` (the values of a row are at fault, not the store) or `error`.
   */
  readonly reason: string;
  /** The write got no answer, so it may have been committed. */
  mayBeDone = false;

  /** @param message - one line for a terminal; clients of `/rpc` receive only the code and the reason */
  constructor(reason: string, options?: ErrorOptions, message = `store unavailable: ${reason}`) {
    super('store_unavailable', { reason }, options);
    this.message = message;
    this.reason = reason;
  }
}

/** Whether the store works, but refuses the values that were to be written. */
export function isUnwritable(cause: unknown): boolean {
  return storeReason(cause) === 'unwritable';
}

/** Why the store is unavailable, if that was thrown; otherwise `null`. */
export function storeReason(cause: unknown): string | null {
  return cause instanceof StoreUnavailable ? cause.reason : null;
}

/** What was thrown, if the store is unavailable. @throws anything else that was thrown */
export function storeFailure(cause: unknown): StoreUnavailable {
  if (cause instanceof StoreUnavailable) return cause;
  throw cause;
}

/** A failure for terminal users: what was wrong, what is allowed, what to do. */
export class UserError extends Error {
  override readonly name: string = 'UserError';
  readonly problems: readonly string[];
  /** Exit code of the command: 1 for a failure, 2 for a wrong command line or configuration. */
  readonly exitCode: 1 | 2;

  constructor(problem: string | readonly string[], options?: ErrorOptions, exitCode: 1 | 2 = 1) {
    const problems = typeof problem === 'string' ? [problem] : problem;
    super(problems.join('; '), options);
    this.problems = problems;
    this.exitCode = exitCode;
  }
}

/** A short constant code for a failure. */
export function reasonOf(cause: unknown): string {
  const reason = storeReason(cause);
  return reason === null ? 'internal_error' : `store_${reason}`;
}
