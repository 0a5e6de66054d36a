import { StoreUnavailable } from '../../errors.ts';

/**
 * The store's file cannot be used at all. `message` is one line for a terminal: the path, what is wrong, what to do.
 * `reason` is as in `StoreUnavailable`.
 */
export class StoreFileError extends StoreUnavailable {
  constructor(reason: string, path: string, detail: string, options?: ErrorOptions) {
    super(reason, options);
    this.message = `cannot use the store ${path}: ${detail}`;
  }
}

/** A failure as callers see it, and whether the file must be opened anew: it may have been repaired or replaced. */
export interface Failure {
  readonly error: StoreUnavailable;
  readonly reopen: boolean;
}

/** Turns whatever SQLite or the file system threw into the one failure that callers know. Ours pass as they are. */
export function classify(cause: unknown): Failure {
  if (cause instanceof StoreUnavailable) return { error: cause, reopen: false };
  const [reason, reopen] = isSqliteError(cause) ? sqliteReason(cause) : systemReason(cause);
  return { error: new StoreUnavailable(reason, { cause }), reopen };
}

/** SQLite's result codes by how they begin; the first match counts. */
const SQLITE_CODES: readonly (readonly [prefix: string, reason: string, reopen: boolean])[] = [
  ['SQLITE_BUSY', 'locked', false],
  ['SQLITE_LOCKED', 'locked', false],
  ['SQLITE_FULL', 'full', false],
  ['SQLITE_READONLY', 'readonly', true],
  ['SQLITE_CORRUPT', 'corrupt', true],
  ['SQLITE_NOTADB', 'corrupt', true],
  ['SQLITE_IOERR_SHORT_READ', 'corrupt', true],
  ['SQLITE_IOERR', 'error', true],
  ['SQLITE_CANTOPEN', 'error', true],
  ['SQLITE_PROTOCOL', 'locked', true],
];

function isSqliteError(cause: unknown): cause is Error & { readonly code: string } {
  return cause instanceof Error && cause.name === 'SqliteError' && 'code' in cause && typeof cause.code === 'string';
}

function sqliteReason(cause: Error & { readonly code: string }): [reason: string, reopen: boolean] {
  // tables that were there at the start have gone: the file was emptied or overwritten in place
  if (cause.code === 'SQLITE_ERROR' && cause.message.startsWith('no such ')) return ['corrupt', true];
  const known = SQLITE_CODES.find(([prefix]) => cause.code.startsWith(prefix));
  return known ? [known[1], known[2]] : ['error', false];
}

function systemReason(cause: unknown): [reason: string, reopen: boolean] {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT') return ['full', false];
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') return ['readonly', false];
  return ['error', false];
}
