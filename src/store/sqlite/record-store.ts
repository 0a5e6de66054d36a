import type { ChildLogRecord, Records, Reply } from '../../core/ports/records.ts';
import { childLogRows } from '../log-rows.ts';
import { RecordLists } from '../record-lists.ts';
import { type Access, BACKGROUND_WAIT_MS } from './access.ts';
import { addToLog } from './logs.ts';

/** `Records` on the tables of a store's file. */
export class FileRecords extends RecordLists implements Records {
  readonly #access: Access;
  readonly #maxEntries: number;

  /** @param maxEntries - most stored entries of agent logs */
  constructor(access: Access, maxEntries: number) {
    super(access);
    this.#access = access;
    this.#maxEntries = maxEntries;
  }

  async addChildLogs(entries: readonly ChildLogRecord[]): Promise<void> {
    if (entries.length === 0) return;
    await this.#access.write(({ sql }) => addToLog(sql, childLogRows(entries), this.#maxEntries), {
      waitMs: BACKGROUND_WAIT_MS,
    });
  }

  claimReply(tool: string, key: string, argsHash: string, ttlMs: number): Promise<Reply | null> {
    return this.#access.write(({ replies }, nowMs) => replies.claim(tool, key, argsHash, nowMs, nowMs + ttlMs), {
      verify: true,
    });
  }

  holdReply(tool: string, key: string, ttlMs: number): Promise<void> {
    return this.#access.write(({ replies }, nowMs) => replies.hold(tool, key, nowMs + ttlMs));
  }

  keepReply(tool: string, key: string, argsHash: string, text: string, ttlMs: number): Promise<string> {
    return this.#access.write(({ replies }, nowMs) => replies.keep(tool, key, argsHash, text, nowMs + ttlMs), {
      verify: true,
    });
  }

  dropReply(tool: string, key: string, kept: boolean): Promise<void> {
    return this.#access.write(({ replies }) => replies.drop(tool, key, kept));
  }
}
