import { errorCode } from 'mcp-pruner/base/causes.ts';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';

/** Prefixes of PostgreSQL and Node error codes; the first match applies. All others mean `unreachable`. */
const CODES: readonly (readonly [prefix: string, reason: string])[] = [
  ['53100', 'full'],
  ['25006', 'readonly'],
  ['40', 'locked'],
  ['55P03', 'locked'],
  ['57014', 'locked'],
  ['53', 'unreachable'],
  ['57P', 'unreachable'],
  ['08', 'unreachable'],
  ['28', 'refused'],
  ['3D000', 'refused'],
  ['42501', 'refused'],
  ['XX00', 'corrupt'],
  ['58', 'error'],
  ['22', 'unwritable'],
  ['23', 'unwritable'],
  ['2', 'error'],
  ['4', 'error'],
  ['P0', 'error'],
];

/** Converts driver errors to `StoreUnavailable`; existing ones pass through. */
export function failureOf(cause: unknown): StoreUnavailable {
  if (cause instanceof StoreUnavailable) return cause;
  const code = errorCode(cause);
  const known = CODES.find(([prefix]) => code.startsWith(prefix) && /^[0-9A-Z]{5}$/.test(code));
  return new StoreUnavailable(known?.[1] ?? 'unreachable', { cause });
}

/** Whether the same transaction may succeed if retried immediately. */
export function mayBeRepeated(cause: unknown): boolean {
  return ['40001', '40P01'].includes(errorCode(cause));
}

/** Whether the database refuses further connections; existing ones are unaffected. */
export function isExhausted(cause: unknown): boolean {
  return errorCode(cause) === '53300';
}

/** Whether the database is completely unusable, so that further calls are pointless. */
export function isAway({ reason }: StoreUnavailable): boolean {
  return reason === 'unreachable' || reason === 'refused' || reason === 'newer_schema';
}
