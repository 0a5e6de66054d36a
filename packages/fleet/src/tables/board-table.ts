import { all, change, number, one, type Steps } from 'mcp-pruner/store/sql/steps.ts';
import type { BoardEntry, BoardEvent, BoardWrite } from '../ports.ts';

/** A stored entry. Value and tags stay JSON until needed. */
export interface EntryRow {
  readonly key: string;
  readonly value: string;
  readonly tags: string;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly expires_ms: number | null;
  readonly version: number;
}

interface EventRow {
  readonly version: number;
  readonly kind: BoardEvent['kind'];
  readonly key: string;
  readonly ts_ms: number;
  readonly reason: 'ttl' | null;
  readonly entry: string | null;
  readonly previous: string | null;
}

const MAX_ENTRIES = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_EVENTS = 10_000;
/** Limit for the total size of events, which contain values before and after, so that they cannot fill the disk. */
const MAX_EVENT_BYTES = 128 * 1024 * 1024;
const COLUMNS = 'key, value, tags, created_ms, updated_ms, expires_ms, version';

type Counter = 'board_version' | 'board_entries' | 'board_bytes' | 'board_event_bytes' | 'board_dropped';

/** The blackboard and the history of its changes. */
export class BoardTable {
  *counter(name: Counter): Steps<number> {
    return yield* number('SELECT value FROM main.fleet_counter WHERE name = ?', [name]);
  }

  /** The entry of a key, expired or not. */
  *entry(key: string): Steps<EntryRow | null> {
    return yield* one<EntryRow>(`SELECT ${COLUMNS} FROM main.fleet_board WHERE key = ?`, [key]);
  }

  /** Whether there is room for these writes, given the entries that they replace. */
  *hasRoomFor(writes: readonly BoardWrite[]): Steps<boolean> {
    const last = new Map(writes.map(({ key, value }) => [key, Buffer.byteLength(value)]));
    let [entries, bytes] = [yield* this.counter('board_entries'), yield* this.counter('board_bytes')];
    for (const [key, size] of last) {
      const old = yield* one<{ bytes: number }>('SELECT bytes FROM main.fleet_board WHERE key = ?', [key]);
      if (old === null) entries++;
      bytes += size - (old?.bytes ?? 0);
    }
    return entries <= MAX_ENTRIES && bytes <= MAX_BYTES;
  }

  /** Replaces an entry, and writes the event. */
  *set({ key, namespace, value, tags, ttlMs }: BoardWrite, previous: EntryRow | null, nowMs: number): Steps<EntryRow> {
    const entry: EntryRow = {
      ...{ key, value, tags: JSON.stringify(tags), version: yield* this.#nextVersion() },
      ...{ created_ms: previous?.created_ms ?? nowMs, updated_ms: nowMs },
      expires_ms: ttlMs === null ? null : nowMs + ttlMs,
    };
    yield* this.#remove(key);
    yield* change(
      `INSERT INTO main.fleet_board (key, namespace, value, bytes, tags, created_ms, updated_ms, expires_ms, version)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        key,
        namespace,
        value,
        Buffer.byteLength(value),
        entry.tags,
        entry.created_ms,
        nowMs,
        entry.expires_ms,
        entry.version,
      ],
    );
    for (const tag of tags) yield* change('INSERT INTO main.fleet_board_tag VALUES (?, ?)', [tag, key]);
    yield* this.#record({ version: entry.version, kind: 'set', key, nowMs, entry, previous, namespace });
    return entry;
  }

  /** Removes a deleted or expired entry. @returns the version of the removal */
  *drop(previous: EntryRow, kind: 'delete' | 'expire', namespace: string, nowMs: number): Steps<number> {
    const version = yield* this.#nextVersion();
    const { key } = previous;
    yield* this.#remove(key);
    yield* this.#record({ version, kind, key, nowMs, entry: null, previous, namespace });
    return version;
  }

  /** Deletes the oldest changes beyond the limit. @param version - the latest version */
  *trimHistory(version: number): Steps<void> {
    // versions are consecutive, one per event
    yield* change('DELETE FROM main.fleet_board_event WHERE version <= ?', [version - MAX_EVENTS]);
    while ((yield* this.counter('board_event_bytes')) > MAX_EVENT_BYTES) {
      yield* change(
        'DELETE FROM main.fleet_board_event WHERE version = (SELECT min(version) FROM main.fleet_board_event)',
      );
    }
  }

  *namespaceOf(key: string): Steps<string> {
    const row = yield* one<{ namespace: string }>('SELECT namespace FROM main.fleet_board WHERE key = ?', [key]);
    return row?.namespace ?? key;
  }

  /** Up to `limit` expired entries, earliest expiry first. */
  *overdue(nowMs: number, limit: number): Steps<EntryRow[]> {
    const sql = `SELECT ${COLUMNS} FROM main.fleet_board WHERE expires_ms <= ? ORDER BY expires_ms, version LIMIT ?`;
    return yield* all<EntryRow>(sql, [nowMs, limit]);
  }

  *query(
    {
      keys,
      tags,
      namespace,
      before,
      limit,
    }: {
      readonly keys?: readonly string[];
      readonly tags: readonly string[];
      readonly namespace: string | null;
      readonly before: number | null;
      readonly limit: number;
    },
    nowMs: number,
  ): Steps<BoardEntry[]> {
    const conditions = ['(expires_ms IS NULL OR expires_ms > ?)'];
    const values: unknown[] = [nowMs];
    if (keys) {
      conditions.push('key IN LIST(?)');
      values.push(keys);
    }
    for (const tag of tags) {
      conditions.push('key IN (SELECT key FROM main.fleet_board_tag WHERE tag = ?)');
      values.push(tag);
    }
    if (namespace !== null) {
      conditions.push('namespace = ?');
      values.push(namespace);
    }
    if (before !== null) {
      conditions.push('version < ?');
      values.push(before);
    }
    const sql = `SELECT ${COLUMNS} FROM main.fleet_board WHERE ${conditions.join(' AND ')} ORDER BY version DESC LIMIT ?`;
    return (yield* all<EntryRow>(sql, [...values, limit])).map(entryOf);
  }

  *changes(after: number, namespace: string | null, limit: number): Steps<BoardEvent[]> {
    const where = namespace === null ? 'version > ?' : 'version > ? AND namespace = ?';
    const values = namespace === null ? [after] : [after, namespace];
    const sql = `SELECT version, kind, key, ts_ms, reason, entry, previous FROM main.fleet_board_event
                 WHERE ${where} ORDER BY version LIMIT ?`;
    return (yield* all<EventRow>(sql, [...values, limit])).map((row) => ({
      version: row.version,
      kind: row.kind,
      key: row.key,
      tsMs: row.ts_ms,
      reason: row.reason,
      entry: row.entry === null ? null : (JSON.parse(row.entry) as BoardEntry),
      previous: row.previous === null ? null : (JSON.parse(row.previous) as BoardEntry),
    }));
  }

  *namespaces(prefix: string, limit: number, nowMs: number) {
    return yield* all<{ namespace: string; entries: number; updatedMs: number }>(
      `SELECT namespace, count(*) AS entries, max(updated_ms) AS "updatedMs" FROM main.fleet_board
       WHERE (expires_ms IS NULL OR expires_ms > ?) AND substr(namespace, 1, length(?)) = ?
       GROUP BY namespace ORDER BY "updatedMs" DESC LIMIT ?`,
      [nowMs, prefix, prefix, limit],
    );
  }

  *#nextVersion(): Steps<number> {
    return yield* number(
      "UPDATE main.fleet_counter SET value = value + 1 WHERE name = 'board_version' RETURNING value",
    );
  }

  *#remove(key: string): Steps<void> {
    yield* change('DELETE FROM main.fleet_board WHERE key = ?', [key]);
  }

  *#record({ version, kind, key, nowMs, entry, previous, namespace }: Recorded): Steps<void> {
    const [now, before] = [entry && textOf(entry), previous && textOf(previous)];
    const bytes = (now?.length ?? 0) + (before?.length ?? 0);
    const reason = kind === 'expire' ? 'ttl' : null;
    yield* change('INSERT INTO main.fleet_board_event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)', [
      version,
      kind,
      key,
      namespace,
      nowMs,
      reason,
      now,
      before,
      bytes,
    ]);
  }
}

/** A stored change, as recorded for events. */
interface Recorded {
  readonly version: number;
  readonly kind: BoardEvent['kind'];
  readonly key: string;
  readonly nowMs: number;
  readonly entry: EntryRow | null;
  readonly previous: EntryRow | null;
  readonly namespace: string;
}

/** The JSON of a `BoardEntry`, built without parsing the value, which may be large. */
function textOf({ key, value, tags, created_ms, updated_ms, expires_ms, version }: EntryRow): string {
  const times = `"createdMs":${created_ms},"updatedMs":${updated_ms},"expiresMs":${expires_ms}`;
  return `{"key":${JSON.stringify(key)},"value":${value},"tags":${tags},${times},"version":${version}}`;
}

export function entryOf(row: EntryRow): BoardEntry {
  return {
    key: row.key,
    value: JSON.parse(row.value) as unknown,
    tags: JSON.parse(row.tags) as string[],
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
    expiresMs: row.expires_ms,
    version: row.version,
  };
}
