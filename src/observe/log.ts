import { write, writeSync } from 'node:fs';
import { type Logger, pino, stdTimeFunctions } from 'pino';

export type Log = Logger;

interface LogOptions {
  readonly level: string;
  /** 1 writes to stdout, 2 to stderr (stdio mode, where stdout belongs to the protocol). */
  readonly fd: number;
  /** Formats a JSON line for people. If absent, JSON is written. */
  readonly render?: (line: string) => string;
}

/**
 * Creates the logger: one JSON object per line, or its rendered form. Writing never blocks and never throws.
 * Credentials are masked in the fields of a line, but not in fields passed to `child`.
 */
export function createLog({ level, fd, render }: LogOptions): Log {
  const writer = new LineWriter(fd);
  return pino(
    {
      level,
      timestamp: stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: hideSecrets,
      },
      serializers: { err: describeError, error: describeError },
    },
    render ? rendered(writer, render) : writer,
  );
}

function rendered(writer: LineWriter, render: (line: string) => string): Pick<LineWriter, 'write' | 'flush'> {
  return {
    write: (line) => writer.write(render(line)),
    flush: (onWritten) => writer.flush(onWritten),
  };
}

/** Limit for characters waiting for a slow reader; beyond it, new lines are dropped. */
const MAX_WAITING_CHARS = 16 * 1024 * 1024;
/** Lines are written in batches, because one write per line would take a tenth of a busy proxy's time. */
const TOGETHER_CHARS = 64 * 1024;
const TOGETHER_MS = 50;
/** Retry interval for a blocked reader, and how long an ending process waits for it. */
const RETRY_MS = 20;
const LAST_RETRIES = 25;

/** Writers with unwritten lines at process exit. */
const unwritten = new Set<LineWriter>();
process.on('exit', () => {
  for (const writer of unwritten) writer.writeRest();
});

/**
 * Writes lines to a file descriptor. Never blocks and never throws: a slow, closed or full destination only loses
 * lines. Pending lines are written at process exit, unless the destination is unwritable (where pino's own destination
 * would loop forever).
 */
class LineWriter {
  readonly #fd: number;
  #waiting = '';
  /** Unwritten part of the last write; precedes `#waiting`. */
  #rest: Buffer = Buffer.alloc(0);
  #writing = false;
  #timer: NodeJS.Timeout | null = null;
  #onWritten: (() => void)[] = [];

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Takes one or more whole lines. */
  write(lines: string): void {
    if (this.#waiting.length + lines.length > MAX_WAITING_CHARS) return;
    this.#waiting += lines;
    unwritten.add(this);
    if (this.#waiting.length >= TOGETHER_CHARS) this.#next();
    else this.#later(TOGETHER_MS);
  }

  /** Calls back once all lines accepted so far are written or lost. */
  flush(onWritten: () => void): void {
    this.#onWritten.push(onWritten);
    this.#next();
  }

  /** A last synchronous attempt to write the rest. */
  writeRest(): void {
    let bytes = this.#take();
    for (let tries = 0; bytes.length > 0 && tries < LAST_RETRIES; ) {
      try {
        bytes = bytes.subarray(writeSync(this.#fd, bytes));
      } catch (error) {
        if (!isBusy(error)) return;
        tries++;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
  }

  #take(): Buffer {
    const bytes = this.#waiting === '' ? this.#rest : Buffer.concat([this.#rest, Buffer.from(this.#waiting)]);
    this.#rest = Buffer.alloc(0);
    this.#waiting = '';
    return bytes;
  }

  #later(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#next();
    }, ms).unref();
  }

  #next(): void {
    if (this.#writing) return;
    const bytes = this.#take();
    if (bytes.length === 0) {
      unwritten.delete(this);
      for (const written of this.#onWritten.splice(0)) written();
      return;
    }
    this.#writing = true;
    write(this.#fd, bytes, 0, bytes.length, null, (error, written) => {
      this.#writing = false;
      if (error === null) this.#rest = bytes.subarray(written);
      else if (isBusy(error)) this.#rest = bytes;
      if (isBusy(error)) this.#later(RETRY_MS);
      else this.#next(); // any other error: these lines are lost
    });
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EBUSY');
}

const REDACTED = '[redacted]';

const SECRET_KEY =
  /^(?:proxy-)?authorization$|^(?:set-)?cookie$|api[-_]?key$|(?:^|auth|access|bearer|refresh)[-_]?token$|passw(?:or)?d$|secret$/i;

/** Cache of field names that do not match the pattern. */
const harmless = new Set<string>();
const MAX_HARMLESS = 1_000;

/** Maximum depth that is searched; log fields are flat or nearly so. */
const MAX_DEPTH = 5;

/**
 * Masks values of credential keys, bearer and basic credentials, and anything nested too deeply. Returns the same
 * object if there is nothing to mask, otherwise a copy.
 */
function hideSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  return hideIn(fields, 0);
}

function hideIn(fields: Record<string, unknown>, depth: number): Record<string, unknown> {
  let out = fields;
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    const isHarmless = harmless.has(key);
    if (isHarmless) {
      const isText = typeof value === 'string';
      if (isText ? (value.charCodeAt(0) | 0x20) !== LETTER_B : typeof value !== 'object' || value === null) continue;
      if (Array.isArray(value) && value.length === 0) continue;
    }
    const shown =
      !isHarmless && isSecret(key) && value !== null && value !== undefined ? REDACTED : hideValue(value, depth);
    if (shown === value) continue;
    if (out === fields) out = { ...fields };
    out[key] = shown;
  }
  return out;
}

function isSecret(key: string): boolean {
  if (SECRET_KEY.test(key)) return true;
  if (harmless.size < MAX_HARMLESS) harmless.add(key);
  return false;
}

/** The first letter of `bearer` and `basic`, checked first because few strings begin with it. */
const LETTER_B = 0x62;

function isCredential(value: string): boolean {
  return (value.charCodeAt(0) | 0x20) === LETTER_B && /^(?:bearer|basic) /i.test(value);
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

interface ErrorFields {
  readonly type: string;
  readonly code?: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: ErrorFields;
}

const MAX_MESSAGE = 300;
const MAX_CAUSES = 4;

/**
 * Describes an error by type, code, message and frames only. Other fields may contain a request's text, and so may the
 * message of a JSON syntax error.
 */
function describeError(error: unknown, depth = 0): ErrorFields {
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
