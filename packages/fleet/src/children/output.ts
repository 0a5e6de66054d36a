import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { parsed } from 'mcp-pruner/wires/json/value.ts';
import type { ChildLogLine } from '../ports.ts';

const MAX_LINE_CHARS = 4_000;
const CHUNK_BYTES = 64 * 1024;
/** Maximum number of log lines per second, child and stream; further lines are only counted. */
const LINES_PER_SECOND = 2_000;
const TOKEN = /\b[0-9a-f]{32}\b/g;

interface OutputOptions {
  readonly file: string;
  readonly stream: 'stdout' | 'stderr';
  readonly position: number;
  readonly secrets: readonly string[];
  readonly tokenHash: string | null;
}

interface OutputRead {
  readonly lines: readonly ChildLogLine[];
  /** Byte offset after the last complete line. */
  readonly position: number;
  readonly isMore: boolean;
}

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export class OutputReader {
  readonly #options: OutputOptions;
  #position: number;
  #second = 0;
  #linesOfSecond = 0;
  #dropped = 0;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#position = options.position;
  }

  get position(): number {
    return this.#position;
  }

  /** @param isLast - the file will not grow any more, so an unterminated last line is complete */
  read(nowMs: number, isLast: boolean): OutputRead {
    const bytes = readAt(this.#options.file, this.#position);
    const newline = bytes.lastIndexOf(0x0a);
    // lines longer than one chunk are logged in pieces
    const isFull = bytes.length === CHUNK_BYTES;
    const end = newline >= 0 ? newline + 1 : isLast || isFull ? bytes.length : 0;
    const lines: ChildLogLine[] = [];
    if (end > 0) {
      const text = new StringDecoder('utf8').write(bytes.subarray(0, end));
      for (const line of text.replace(/\n$/, '').split('\n')) this.#add(lines, line.replace(/\r$/, ''), nowMs);
    }
    this.#position += end;
    const isMore = end > 0 && (isFull || (isLast && end < bytes.length));
    if (isLast && !isMore) this.#logDropped(lines);
    return { lines, position: this.#position, isMore };
  }

  #add(lines: ChildLogLine[], line: string, nowMs: number): void {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#logDropped(lines);
      [this.#second, this.#linesOfSecond] = [second, 0];
    }
    if (++this.#linesOfSecond > LINES_PER_SECOND) {
      this.#dropped++;
      return;
    }
    const message = this.#clean(line).slice(0, MAX_LINE_CHARS).toWellFormed();
    const { stream } = this.#options;
    const isJson = stream === 'stdout' && /^[[{]/.test(message);
    lines.push({ stream, message, parsed: isJson ? (parsed(message) ?? null) : null });
  }

  #logDropped(lines: ChildLogLine[]): void {
    if (this.#dropped === 0) return;
    const message = `${this.#dropped} lines of ${this.#options.stream} were dropped`;
    lines.push({ stream: 'meta', message, parsed: null });
    this.#dropped = 0;
  }

  #clean(line: string): string {
    let clean = line;
    for (const secret of this.#options.secrets) clean = clean.replaceAll(secret, '[redacted]');
    const { tokenHash } = this.#options;
    // after a restart, only the token's hash is known
    return tokenHash === null
      ? clean
      : clean.replace(TOKEN, (word) => (hashToken(word) === tokenHash ? '[redacted]' : word));
  }
}

function readAt(file: string, position: number): Buffer {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return Buffer.alloc(0);
  }
  try {
    const bytes = Buffer.alloc(CHUNK_BYTES);
    return bytes.subarray(0, readSync(fd, bytes, 0, CHUNK_BYTES, position));
  } finally {
    closeSync(fd);
  }
}
