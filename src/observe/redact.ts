/** The replacement of a credential in a log line. */
const REDACTED = '[redacted]';

const SECRET_KEY =
  /^(?:proxy-)?authorization$|^(?:set-)?cookie$|api[-_]?key$|(?:^|auth|access|bearer|refresh)[-_]?token$|passw(?:or)?d$|secret$/i;

/** Cache of field names that do not match the pattern. */
const harmless = new Set<string>();
const MAX_HARMLESS = 1_000;

/** Deepest level that is searched; log fields are flat or nearly so. */
const MAX_DEPTH = 5;

/**
 * Replaces values of keys that name a credential, at any depth, and strings that are a bearer credential. Returns the
 * same object if there is nothing to hide, otherwise a copy.
 */
export function hideSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  return hideIn(fields, 0);
}

function hideIn(fields: Record<string, unknown>, depth: number): Record<string, unknown> {
  let out = fields;
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    const shown = isSecret(key) && value !== null && value !== undefined ? REDACTED : hideValue(value, depth);
    if (shown === value) continue;
    if (out === fields) out = { ...fields };
    out[key] = shown;
  }
  return out;
}

function isSecret(key: string): boolean {
  if (harmless.has(key)) return false;
  if (SECRET_KEY.test(key)) return true;
  if (harmless.size < MAX_HARMLESS) harmless.add(key);
  return false;
}

function isCredential(value: string): boolean {
  const first = value.charCodeAt(0) | 0x20;
  return first === 0x62 && /^(?:bearer|basic) /i.test(value); // 'b', checked first because most strings fail it
}

function hideValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return isCredential(value) ? REDACTED : value;
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if (depth >= MAX_DEPTH) return '[deep]';
  if (Array.isArray(value)) {
    const hides = value.some((item) => hideValue(item, depth + 1) !== item);
    return hides ? value.map((item) => hideValue(item, depth + 1)) : value;
  }
  return hideIn(value as Record<string, unknown>, depth + 1);
}

/** An error in a log line. */
export interface ErrorFields {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  /** The stack frames without the message. */
  readonly stack?: string;
  readonly cause?: ErrorFields;
}

const MAX_MESSAGE = 300;
const MAX_CAUSES = 4;

/**
 * Describes an error by type, code, message and frames only. Other fields may contain a request's text, and so may the
 * message of a JSON syntax error.
 */
export function describeError(error: unknown, depth = 0): ErrorFields {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an Error' };
  const message = error instanceof SyntaxError ? 'syntax error' : error.message.slice(0, MAX_MESSAGE);
  const code = 'code' in error && error.code !== undefined ? String(error.code) : undefined;
  const frames = error.stack
    ?.split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
  const causeShown = error.cause !== undefined && depth < MAX_CAUSES;
  return {
    type: error.name,
    code,
    message,
    stack: frames || undefined,
    cause: causeShown ? describeError(error.cause, depth + 1) : undefined,
  };
}
