import type { ChildLogRecord, Records, Reply } from '../../core/ports/records.ts';
import { childLogRows } from '../log-rows.ts';
import { RecordLists } from '../record-lists.ts';
import type { Sql } from '../sql/steps.ts';
import type { Database } from './database.ts';
import { addToLog } from './logs.ts';
import type { ReplicaView } from './replica-view.ts';
import { fromPg, toPg } from './text.ts';

const BACKGROUND_WAIT_MS = 5_000;

/** Dependencies of the store's parts. */
export interface DatabaseParts {
  readonly database: Database;
  readonly view: ReplicaView;
  readonly rows: Sql;
}

/** `Records` on PostgreSQL. */
export class DatabaseRecords extends RecordLists implements Records {
  readonly #parts: DatabaseParts;
  readonly #maxEntries: number;

  /** @param maxEntries - most stored entries of agent logs */
  constructor(parts: DatabaseParts, maxEntries: number) {
    super(parts.rows);
    this.#parts = parts;
    this.#maxEntries = maxEntries;
  }

  async addChildLogs(entries: readonly ChildLogRecord[]): Promise<void> {
    if (entries.length === 0) return;
    const { database } = this.#parts;
    await database.transaction(
      (client) => addToLog(client, childLogRows(entries), this.#maxEntries),
      BACKGROUND_WAIT_MS,
    );
  }

  async claimReply(tool: string, key: string, argsHash: string, ttlMs: number): Promise<Reply | null> {
    const nowMs = this.#parts.rows.nowMs();
    const named = [toPg(tool), toPg(key)];
    const { database } = this.#parts;
    const claimed = await database.write(
      `INSERT INTO mcp_pruner.reply AS r (tool, key, args_hash, bytes, expires_ms) VALUES ($1, $2, $3, 0, $4)
       ON CONFLICT (tool, key) DO UPDATE SET args_hash = excluded.args_hash, text = NULL, bytes = 0,
         expires_ms = excluded.expires_ms WHERE r.expires_ms <= $5 RETURNING id`,
      [...named, argsHash, Math.trunc(nowMs + ttlMs), nowMs],
    );
    if (claimed.length > 0) return null;
    const [row] = await database.query<{ args_hash: string; text: string | null }>(REPLY, named);
    return row ? { argsHash: row.args_hash, text: row.text === null ? null : fromPg(row.text) } : null;
  }

  async holdReply(tool: string, key: string, ttlMs: number): Promise<void> {
    await this.#parts.database.write(
      'UPDATE mcp_pruner.reply SET expires_ms = $1 WHERE tool = $2 AND key = $3 AND text IS NULL',
      [Math.trunc(this.#parts.rows.nowMs() + ttlMs), toPg(tool), toPg(key)],
    );
  }

  async keepReply(tool: string, key: string, argsHash: string, text: string, ttlMs: number): Promise<string> {
    const named = [toPg(tool), toPg(key)];
    const expiresMs = Math.trunc(this.#parts.rows.nowMs() + ttlMs);
    await this.#parts.database.write(
      `INSERT INTO mcp_pruner.reply AS r (tool, key, args_hash, text, bytes, expires_ms) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (tool, key) DO UPDATE SET text = excluded.text, bytes = excluded.bytes, expires_ms = excluded.expires_ms
       WHERE r.text IS NULL AND r.args_hash = excluded.args_hash`,
      [...named, argsHash, toPg(text), Buffer.byteLength(text), expiresMs],
    );
    const [row] = await this.#parts.database.query<{ args_hash: string; text: string | null }>(REPLY, named);
    return row?.args_hash === argsHash && row.text !== null ? fromPg(row.text) : text;
  }

  async dropReply(tool: string, key: string, kept: boolean): Promise<void> {
    await this.#parts.database.write(
      `DELETE FROM mcp_pruner.reply WHERE tool = $1 AND key = $2 ${kept ? '' : 'AND text IS NULL'}`,
      [toPg(tool), toPg(key)],
    );
  }
}

const REPLY = 'SELECT args_hash, text FROM mcp_pruner.reply WHERE tool = $1 AND key = $2';
