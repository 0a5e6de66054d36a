import { write, writeSync } from 'node:fs';

/** Most characters waiting for a slow reader; beyond it new lines are dropped. */
const MAX_WAITING_CHARS = 16 * 1024 * 1024;
/** Lines are written in batches: one write per line would cost a busy proxy a tenth of its time. */
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
 * Writes lines to a file descriptor. Never blocks and never throws: with a slow, closed or full destination only lines
 * are lost. The rest is written at process exit, which is never delayed by an unwritable destination. (pino's own
 * destination loops forever there: a pipe whose reader left, a full disk.)
 */
export class LineWriter {
  readonly #fd: number;
  #waiting = '';
  /** The unwritten part of the last write; precedes `#waiting`. */
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
      else this.#next(); // any other error: those lines are lost
    });
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EBUSY');
}
