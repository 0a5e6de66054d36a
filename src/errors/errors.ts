import type { ErrorRow } from './rows/error-row.ts';
import { errorsOfCalls } from './rows/of-calls.ts';
import { type FallbackCode, fallbackTable } from './rows/of-fallbacks.ts';
import { errorsOfRequests } from './rows/of-requests.ts';

/** Every failure of the product itself that a client can see. Public: add rows, never renumber. */
export const errorTable = { ...errorsOfCalls, ...errorsOfRequests };

export { type FallbackCode, fallbackTable };

export type ErrorCode = keyof typeof errorTable;

/** A row with its code. Optional parts have failures of their own, and pass them on as such rows. */
export interface CodedRow extends ErrorRow {
  readonly code: string;
}

/** The row of a code; a row that already has its code is returned unchanged. */
export function errorRow(code: ErrorCode | CodedRow): CodedRow {
  return typeof code === 'string' ? { code, ...errorTable[code] } : code;
}

/**
 * A failure that the caller can act on. Anything else thrown is a bug, of which a client sees only `internal_error`.
 */
export class PrunerError extends Error {
  override readonly name: string = 'PrunerError';
  readonly code: string;
  readonly #row: CodedRow; // private: logs show an error with its fields
  /** Fields for the client besides the code; a `hint` among them takes precedence over that of the row. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode | CodedRow, details: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    const row = errorRow(code);
    super(row.code, options); // a client reads the code as the message
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

  /** Message of the JSON-RPC error. */
  get rpcMessage(): string {
    return this.code;
  }

  /** Further fields of a client's error besides number and code: the details and the remedy. */
  get data(): Readonly<Record<string, unknown>> {
    const { code, details } = this;
    return details.hint === undefined ? { code, ...details, hint: this.#row.hint } : { code, ...details };
  }
}

/** The store cannot serve now (locked, full, gone, broken). Callers fail open; `reason` is a short constant code. */
export class StoreUnavailable extends PrunerError {
  override readonly name = 'StoreUnavailable';
  /**
   * `locked`, `full`, `readonly`, `corrupt`, `newer_schema`, `unreachable`, `refused`, `unsupported`, `closed` or
   * `error`.
   */
  readonly reason: string;
  /** The write got no answer, so it may have been done. */
  mayBeDone = false;

  /** @param message - one line for a terminal; clients of `/rpc` receive only the code and the reason */
  constructor(reason: string, options?: ErrorOptions, message = `store unavailable: ${reason}`) {
    super('store_unavailable', { reason }, options);
    this.message = message;
    this.reason = reason;
  }
}

/** A failure to be read by whoever sits at the terminal: what was wrong, what is allowed, what to do. */
export class UserError extends Error {
  override readonly name: string = 'UserError';
  /** Each a line of its own. */
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
  return cause instanceof StoreUnavailable ? `store_${cause.reason}` : 'internal_error';
}
