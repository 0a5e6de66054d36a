import { errorCode } from '../../base/causes.ts';
import { StoreUnavailable } from '../../errors/errors.ts';

/** The store's file is unusable. `message` is one line for a terminal: path, problem and remedy. */
export class StoreFileError extends StoreUnavailable {
  constructor(reason: string, path: string, detail: string, options?: ErrorOptions) {
    super(reason, options);
    this.message = `cannot use the store ${path}: ${detail}`;
  }
}

/** A failure as reported to callers, and whether to reopen the file, which may have been repaired or replaced. */
export interface Failure {
  readonly error: StoreUnavailable;
  readonly reopen: boolean;
}

/** Converts SQLite and file system errors to `StoreUnavailable`; existing ones pass through. */
export function classify(cause: unknown): Failure {
  if (cause instanceof StoreUnavailable) return { error: cause, reopen: false };
  const [reason, reopen] = isSqliteError(cause) ? sqliteReason(cause) : systemReason(cause);
  return { error: new StoreUnavailable(reason, { cause }), reopen };
}

/** Prefixes of SQLite result codes; the first match applies. */
const SQLITE_CODES: readonly (readonly [prefix: string, reason: string, reopen: boolean])[] = [
  ['SQLITE_BUSY', 'locked', false],
  ['SQLITE_LOCKED', 'locked', false],
  ['SQLITE_FULL', 'full', false],
  ['SQLITE_READONLY', 'readonly', true],
  ['SQLITE_CORRUPT', 'corrupt', true],
  ['SQLITE_NOTADB', 'corrupt', true],
  ['SQLITE_IOERR_SHORT_READ', 'corrupt', true],
  // a quota or size limit: reads still work over this connection
  ['SQLITE_IOERR_WRITE', 'error', false],
  ['SQLITE_IOERR_TRUNCATE', 'error', false],
  ['SQLITE_IOERR', 'error', true],
  ['SQLITE_CANTOPEN', 'error', true],
  ['SQLITE_PROTOCOL', 'locked', true],
  ['SQLITE_CONSTRAINT', 'unwritable', false],
  ['SQLITE_MISMATCH', 'unwritable', false],
  ['SQLITE_TOOBIG', 'unwritable', false],
];

function isSqliteError(cause: unknown): cause is Error & { readonly code: string } {
  return cause instanceof Error && cause.name === 'SqliteError' && 'code' in cause && typeof cause.code === 'string';
}

/**
 * Whether a statement names a table or column that does not exist: the statement is wrong, or the file was emptied or
 * overwritten in place.
 */
export function isMissingName(cause: unknown): boolean {
  return isSqliteError(cause) && cause.code === 'SQLITE_ERROR' && cause.message.startsWith('no such ');
}

function sqliteReason(cause: Error & { readonly code: string }): [reason: string, reopen: boolean] {
  if (isMissingName(cause)) return ['corrupt', true];
  const known = SQLITE_CODES.find(([prefix]) => cause.code.startsWith(prefix));
  return known ? [known[1], known[2]] : ['error', false];
}

function systemReason(cause: unknown): [reason: string, reopen: boolean] {
  if (cause instanceof RangeError) return ['unwritable', false]; // the driver cannot bind a number
  const code = errorCode(cause);
  if (code === 'ENOSPC' || code === 'EDQUOT') return ['full', false];
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') return ['readonly', false];
  return ['error', false];
}
