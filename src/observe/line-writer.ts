import { write, writeSync } from 'node:fs';

/** Lines that wait for a slow reader; beyond it new ones are dropped rather than memory filled. */
const MAX_WAITING_CHARS = 16 * 1024 * 1024;
/** Lines that come close together are written together: one write a line would cost a busy proxy a tenth of its time. */
const TOGETHER_CHARS = 64 * 1024;
const TOGETHER_MS = 50;
/** How soon a reader that is behind is tried again, and for how long an ending process waits for it. */
const RETRY_MS = 20;
const LAST_RETRIES = 25;

/** Those with something left to write when the process ends. */
const unwritten = new Set<LineWriter>();
process.on('exit', () => {
  for (const writer of unwritten) writer.writeRest();
});

/**
 * Writes lines to a file descriptor, never blocks and never throws: a reader that is slow, gone or full costs lines and
 * nothing else. What is left is written when the process ends, which it does also where nothing can be written (pino's
 * own destination goes round for ever there: a pipe whose reader left, a full disk).
 */
export class LineWriter {
  readonly #fd: number;
  #waiting = '';
  /** What goes before `#waiting`: the part that a write did not get rid of. */
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

  /** Calls back once all lines taken so far are written, or lost. */
  flush(onWritten: () => void): void {
    this.#onWritten.push(onWritten);
    this.#next();
  }

  /** The last chance, for all that the system has not been given yet. */
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
