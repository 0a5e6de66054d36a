import { WriteBehind } from 'mcp-pruner/base/write-behind.ts';
import type { Io } from 'mcp-pruner/cli/command.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { ChildLogRecord } from 'mcp-pruner/core/ports/records.ts';
import { reasonOf } from 'mcp-pruner/errors/errors.ts';
import { secretsOf } from '../secrets.ts';

/** Records the life of an agent for `sc://children/<childId>/logs`. */
export interface ChildLog {
  readonly on: boolean;
  /** Records a step of the agent's life. Never throws. */
  meta(message: string): void;
  /** Records error output. Never throws. */
  stderr(text: string): void;
  /** Writes pending entries. Never rejects. */
  close(): Promise<void>;
}

const MAX_LINE_CHARS = 4_000;
/** Maximum number of waiting entries; beyond it the oldest are dropped. */
const MAX_WAITING = 5_000;

/** Opens the log; a no-op unless resources are enabled. If the store fails, only the log is lost. */
export async function openChildLog(settings: Settings, name: string, io: Io): Promise<ChildLog> {
  if (!settings.enable.includes('resources')) return { on: false, meta() {}, stderr() {}, async close() {} };
  const { openStore } = await import('mcp-pruner/app/store.ts');
  const store = await openStore(settings, { edition: io.edition, clock: io.clock });
  let lost: unknown = null;
  const log = new LogBuffer(`${name}-${io.clock.nowMs().toString(36)}-${process.pid}`, io, (entries) =>
    store.records.addChildLogs(entries).catch((cause: unknown) => {
      lost ??= cause;
    }),
  );
  return {
    on: true,
    meta: (message) => log.add('meta', message),
    stderr: (text) => log.text(text),
    async close() {
      await log.end();
      await store.close();
      // reported only now, because the agent may have owned the terminal before
      if (lost !== null) io.err(`mcp-pruner: part of the log of ${name} could not be kept: ${reasonOf(lost)}\n`);
    },
  };
}

/** Splits output into lines, masks credentials from the environment, and writes lines in batches. */
class LogBuffer {
  readonly #childId: string;
  readonly #clock: Io['clock'];
  readonly #secrets: readonly string[];
  readonly #write: (entries: readonly ChildLogRecord[]) => Promise<void>;
  #entries: ChildLogRecord[] = [];
  #rest = '';
  readonly #behind = new WriteBehind().writer(() => this.#writeAll());

  constructor(childId: string, { env, clock }: Io, write: (entries: readonly ChildLogRecord[]) => Promise<void>) {
    this.#childId = childId;
    this.#clock = clock;
    this.#write = write;
    this.#secrets = secretsOf(env);
  }

  text(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = (lines.pop() ?? '').slice(0, MAX_LINE_CHARS);
    for (const line of lines) this.add('stderr', line.replace(/\r$/, ''));
  }

  add(stream: ChildLogRecord['stream'], line: string): void {
    let message = line.slice(0, MAX_LINE_CHARS).toWellFormed();
    for (const secret of this.#secrets) message = message.replaceAll(secret, '[redacted]');
    const parsed = null;
    this.#entries.push({ tsMs: this.#clock.nowMs(), childId: this.#childId, runId: null, stream, message, parsed });
    if (this.#entries.length > MAX_WAITING) this.#entries = this.#entries.slice(-MAX_WAITING);
    this.#behind.soon();
  }

  async end(): Promise<void> {
    if (this.#rest !== '') this.add('stderr', this.#rest);
    this.#rest = '';
    await this.#behind.flush();
  }

  #writeAll(): Promise<void> {
    const entries = this.#entries;
    this.#entries = [];
    return this.#write(entries);
  }
}
