import { all, change, number, one, type Steps, type Transactions } from 'mcp-pruner/store/sql/steps.ts';
import type { BoardEntry, BoardEvent, BoardEvents, BoardWrite, FleetEvent } from '../ports.ts';
import { recordEvents } from './record.ts';

/** A stored entry. Value and tags stay JSON until needed. */
interface EntryRow {
  readonly key: string;
  readonly namespace: string;
  readonly value: string;
  readonly tags: string;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly expires_ms: number | null;
  readonly version: number;
}

const MAX_ENTRIES = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_EVENTS = 10_000;
/** Limit for the total size of events, which contain values before and after, so that they cannot fill the disk. */
const MAX_EVENT_BYTES = 128 * 1024 * 1024;
/** Maximum number of entries expired per transaction; the next one continues. */
const EXPIRED_AT_ONCE = 200;
const ENTRIES =
  'SELECT key, namespace, value, tags, created_ms, updated_ms, expires_ms, version FROM main.fleet_board WHERE';
const LIVING = '(expires_ms IS NULL OR expires_ms > ?)';

type Counter = 'board_version' | 'board_entries' | 'board_bytes' | 'board_event_bytes' | 'board_dropped';

/** Key-value store with one version sequence over all changes. Expired entries are never returned. */
export class BoardStore {
  readonly #access: Transactions;

  constructor(access: Transactions) {
    this.#access = access;
  }

  /** Writes all entries or none; `null` if there is no room. */
  set(writes: readonly BoardWrite[], events: BoardEvents): Promise<readonly BoardEntry[] | null> {
    return this.#access.write(function* (nowMs): Steps<readonly BoardEntry[] | null> {
      if (!(yield* hasRoomFor(writes))) return null;
      const entries: EntryRow[] = [];
      const recorded: FleetEvent[] = [];
      for (const write of writes) {
        const previous = yield* living(write.key, nowMs, events, recorded);
        const entry = yield* put(write, previous, nowMs);
        recorded.push(...events({ kind: 'set', key: write.key, version: entry.version }));
        entries.push(entry);
      }
      yield* finish(entries.at(-1)?.version ?? 0, recorded, nowMs);
      return entries.map(entryOf);
    });
  }

  async get(key: string): Promise<BoardEntry | null> {
    const sql = `${ENTRIES} key = ? AND ${LIVING}`;
    const row = await this.#access.read((nowMs) => one<EntryRow>(sql, [key, nowMs]));
    return row && entryOf(row);
  }

  delete(key: string, events: BoardEvents): Promise<boolean> {
    return this.#access.write(function* (nowMs) {
      const recorded: FleetEvent[] = [];
      const entry = yield* living(key, nowMs, events, recorded);
      const version = entry === null ? 0 : yield* drop(entry, 'delete', nowMs, events, recorded);
      yield* finish(version, recorded, nowMs);
      return entry !== null;
    });
  }

  /** Entries with a version below `before`, newest first. */
  async query(query: {
    readonly keys?: readonly string[];
    readonly tags: readonly string[];
    readonly namespace: string | null;
    readonly before: number | null;
    readonly limit: number;
  }): Promise<readonly BoardEntry[]> {
    const { keys, tags, namespace, before, limit } = query;
    const wanted: (readonly [condition: string, value: unknown])[] = [];
    if (keys) wanted.push(['key IN LIST(?)', keys]);
    for (const tag of tags) wanted.push(['key IN (SELECT key FROM main.fleet_board_tag WHERE tag = ?)', tag]);
    if (namespace !== null) wanted.push(['namespace = ?', namespace]);
    if (before !== null) wanted.push(['version < ?', before]);
    const where = [LIVING, ...wanted.map(([condition]) => condition)].join(' AND ');
    const values = wanted.map(([, value]) => value);
    const sql = `${ENTRIES} ${where} ORDER BY version DESC LIMIT ?`;
    return (await this.#access.read((nowMs) => all<EntryRow>(sql, [nowMs, ...values, limit]))).map(entryOf);
  }

  /**
   * Changes with a version above `after`, ascending.
   *
   * @returns `dropped`: the highest deleted version, 0 if none
   */
  changes({ after, namespace, limit }: { after: number; namespace: string | null; limit: number }) {
    const where = namespace === null ? 'version > ?' : 'version > ? AND namespace = ?';
    const values = namespace === null ? [after, limit] : [after, namespace, limit];
    const sql = `SELECT version, kind, key, ts_ms AS "tsMs", reason, entry, previous FROM main.fleet_board_event
                 WHERE ${where} ORDER BY version LIMIT ?`;
    return this.#access.read(function* () {
      const rows = yield* all<BoardEvent & Record<'entry' | 'previous', string | null>>(sql, values);
      const parsed = (text: string | null) => (text === null ? null : (JSON.parse(text) as BoardEntry));
      const events = rows.map(
        ({ entry, previous, ...row }): BoardEvent => ({ ...row, entry: parsed(entry), previous: parsed(previous) }),
      );
      return { events, dropped: yield* counter('board_dropped') };
    });
  }

  /** Removes expired entries and records events for them; returns whether there were any. */
  async expire(events: BoardEvents): Promise<boolean> {
    const due = `${ENTRIES} expires_ms <= ? ORDER BY expires_ms, version LIMIT ?`;
    if ((await this.#access.read((nowMs) => one(due, [nowMs, 1]))) === null) return false;
    return this.#access.write(function* (nowMs) {
      const overdue = yield* all<EntryRow>(due, [nowMs, EXPIRED_AT_ONCE]);
      const recorded: FleetEvent[] = [];
      let version = 0;
      for (const entry of overdue) version = yield* drop(entry, 'expire', nowMs, events, recorded);
      yield* finish(version, recorded, nowMs);
      return overdue.length > 0;
    });
  }

  namespaces({ prefix, limit }: { readonly prefix: string; readonly limit: number }) {
    return this.#access.read((nowMs) =>
      all<{ readonly namespace: string; readonly entries: number; readonly updatedMs: number }>(
        `SELECT namespace, count(*) AS entries, max(updated_ms) AS "updatedMs" FROM main.fleet_board
         WHERE ${LIVING} AND substr(namespace, 1, length(?)) = ?
         GROUP BY namespace ORDER BY "updatedMs" DESC LIMIT ?`,
        [nowMs, prefix, prefix, limit],
      ),
    );
  }

  lastVersion(): Promise<number> {
    return this.#access.read(() => counter('board_version'));
  }
}

function counter(name: Counter): Steps<number> {
  return number('SELECT value FROM main.fleet_counter WHERE name = ?', [name]);
}

function nextVersion(): Steps<number> {
  return number("UPDATE main.fleet_counter SET value = value + 1 WHERE name = 'board_version' RETURNING value");
}

function* hasRoomFor(writes: readonly BoardWrite[]): Steps<boolean> {
  const last = new Map(writes.map(({ key, value }) => [key, Buffer.byteLength(value)]));
  let [entries, bytes] = [yield* counter('board_entries'), yield* counter('board_bytes')];
  for (const [key, size] of last) {
    const old = yield* one<{ bytes: number }>('SELECT bytes FROM main.fleet_board WHERE key = ?', [key]);
    if (old === null) entries++;
    bytes += size - (old?.bytes ?? 0);
  }
  return entries <= MAX_ENTRIES && bytes <= MAX_BYTES;
}

/** The live entry of a key. If it has expired, records the expiry. */
function* living(key: string, nowMs: number, events: BoardEvents, recorded: FleetEvent[]): Steps<EntryRow | null> {
  const entry = yield* one<EntryRow>(`${ENTRIES} key = ?`, [key]);
  if (entry === null || entry.expires_ms === null || entry.expires_ms > nowMs) return entry;
  yield* drop(entry, 'expire', nowMs, events, recorded);
  return null;
}

function* put(write: BoardWrite, previous: EntryRow | null, nowMs: number): Steps<EntryRow> {
  const { key, namespace, value, tags, ttlMs } = write;
  const created_ms = previous?.created_ms ?? nowMs;
  const expires_ms = ttlMs === null ? null : nowMs + ttlMs;
  const version = yield* nextVersion();
  const tagsJson = JSON.stringify(tags);
  yield* change('DELETE FROM main.fleet_board WHERE key = ?', [key]);
  yield* change(
    `INSERT INTO main.fleet_board (key, namespace, value, bytes, tags, created_ms, updated_ms, expires_ms, version)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [key, namespace, value, Buffer.byteLength(value), tagsJson, created_ms, nowMs, expires_ms, version],
  );
  for (const tag of tags) yield* change('INSERT INTO main.fleet_board_tag VALUES (?, ?)', [tag, key]);
  const entry = { key, namespace, value, tags: tagsJson, created_ms, updated_ms: nowMs, expires_ms, version };
  yield* addChange(version, 'set', namespace, entry, previous, nowMs);
  return entry;
}

/** Removes a deleted or expired entry. @returns the version of the removal */
function* drop(
  entry: EntryRow,
  kind: 'delete' | 'expire',
  nowMs: number,
  events: BoardEvents,
  recorded: FleetEvent[],
): Steps<number> {
  const { key, namespace } = entry;
  const version = yield* nextVersion();
  yield* change('DELETE FROM main.fleet_board WHERE key = ?', [key]);
  yield* addChange(version, kind, namespace, null, entry, nowMs);
  recorded.push(...events({ kind, key, version }));
  return version;
}

function* addChange(
  version: number,
  kind: BoardEvent['kind'],
  namespace: string,
  entry: EntryRow | null,
  previous: EntryRow | null,
  nowMs: number,
): Steps<void> {
  const [now, before] = [entry && textOf(entry), previous && textOf(previous)];
  const bytes = (now?.length ?? 0) + (before?.length ?? 0);
  const key = (entry ?? previous)?.key;
  const reason = kind === 'expire' ? 'ttl' : null;
  const values = [version, kind, key, namespace, nowMs, reason, now, before, bytes];
  yield* change('INSERT INTO main.fleet_board_event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)', values);
}

/** Records all changes of a transaction as one batch of events. @param version - the latest version */
function* finish(version: number, recorded: readonly FleetEvent[], nowMs: number): Steps<void> {
  // versions are consecutive, one per event
  if (version > 0) yield* change('DELETE FROM main.fleet_board_event WHERE version <= ?', [version - MAX_EVENTS]);
  const oldest = '(SELECT min(version) FROM main.fleet_board_event)';
  while (version > 0 && (yield* counter('board_event_bytes')) > MAX_EVENT_BYTES) {
    yield* change(`DELETE FROM main.fleet_board_event WHERE version = ${oldest}`);
  }
  yield* recordEvents(recorded, nowMs);
}

/** The JSON of a `BoardEntry`, built without parsing the value, which may be large. */
function textOf({ key, value, tags, created_ms, updated_ms, expires_ms, version }: EntryRow): string {
  const times = `"createdMs":${created_ms},"updatedMs":${updated_ms},"expiresMs":${expires_ms}`;
  return `{"key":${JSON.stringify(key)},"value":${value},"tags":${tags},${times},"version":${version}}`;
}

function entryOf(row: EntryRow): BoardEntry {
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
