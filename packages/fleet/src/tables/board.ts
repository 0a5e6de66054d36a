import type { Steps, Transactions } from 'mcp-pruner/store/sql/steps.ts';
import type { BoardEntry, BoardEvents, BoardStore, BoardWrite, FleetEvent } from '../ports.ts';
import { BoardTable, type EntryRow, entryOf } from './board-table.ts';
import { recordEvents } from './record.ts';

/** Maximum number of entries expired per transaction; the next one continues. */
const EXPIRED_AT_ONCE = 200;

const board = new BoardTable();

/** `BoardStore` on the tables of either database. */
export class StoredBoard implements BoardStore {
  readonly #access: Transactions;

  constructor(access: Transactions) {
    this.#access = access;
  }

  set(writes: readonly BoardWrite[], events: BoardEvents): Promise<readonly BoardEntry[] | null> {
    return this.#access.write(function* (nowMs): Steps<readonly BoardEntry[] | null> {
      if (!(yield* board.hasRoomFor(writes))) return null;
      const entries: EntryRow[] = [];
      const recorded: FleetEvent[] = [];
      for (const write of writes) {
        const previous = yield* living(write.key, nowMs, events, recorded);
        const entry = yield* board.set(write, previous, nowMs);
        recorded.push(...events({ kind: 'set', key: write.key, version: entry.version }));
        entries.push(entry);
      }
      yield* finish(entries.at(-1)?.version ?? 0, recorded, nowMs);
      return entries.map(entryOf);
    });
  }

  get(key: string): Promise<BoardEntry | null> {
    return this.#access.read(function* (nowMs) {
      const entry = yield* board.entry(key);
      return entry !== null && isLiving(entry, nowMs) ? entryOf(entry) : null;
    });
  }

  delete(key: string, events: BoardEvents): Promise<boolean> {
    return this.#access.write(function* (nowMs) {
      const recorded: FleetEvent[] = [];
      const entry = yield* living(key, nowMs, events, recorded);
      let version = 0;
      if (entry !== null) {
        version = yield* board.drop(entry, 'delete', yield* board.namespaceOf(key), nowMs);
        recorded.push(...events({ kind: 'delete', key, version }));
      }
      yield* finish(version, recorded, nowMs);
      return entry !== null;
    });
  }

  query(query: Parameters<BoardStore['query']>[0]): Promise<readonly BoardEntry[]> {
    return this.#access.read((nowMs) => board.query(query, nowMs));
  }

  changes({ after, namespace, limit }: Parameters<BoardStore['changes']>[0]) {
    return this.#access.read(function* () {
      const events = yield* board.changes(after, namespace, limit);
      return { events, dropped: yield* board.counter('board_dropped') };
    });
  }

  async expire(events: BoardEvents): Promise<boolean> {
    const due = await this.#access.read((nowMs) => board.overdue(nowMs, 1));
    if (due.length === 0) return false;
    return this.#access.write(function* (nowMs) {
      const overdue = yield* board.overdue(nowMs, EXPIRED_AT_ONCE);
      const recorded: FleetEvent[] = [];
      let version = 0;
      for (const entry of overdue) version = yield* expire(entry, nowMs, events, recorded);
      yield* finish(version, recorded, nowMs);
      return overdue.length > 0;
    });
  }

  namespaces({ prefix, limit }: Parameters<BoardStore['namespaces']>[0]) {
    return this.#access.read((nowMs) => board.namespaces(prefix, limit, nowMs));
  }

  lastVersion(): Promise<number> {
    return this.#access.read(() => board.counter('board_version'));
  }
}

/** The live entry of a key. If it has expired, records the expiry. */
function* living(key: string, nowMs: number, events: BoardEvents, recorded: FleetEvent[]): Steps<EntryRow | null> {
  const entry = yield* board.entry(key);
  if (entry === null || isLiving(entry, nowMs)) return entry;
  yield* expire(entry, nowMs, events, recorded);
  return null;
}

function isLiving({ expires_ms }: EntryRow, nowMs: number): boolean {
  return expires_ms === null || expires_ms > nowMs;
}

function* expire(entry: EntryRow, nowMs: number, events: BoardEvents, recorded: FleetEvent[]): Steps<number> {
  const version = yield* board.drop(entry, 'expire', yield* board.namespaceOf(entry.key), nowMs);
  recorded.push(...events({ kind: 'expire', key: entry.key, version }));
  return version;
}

/** Records all changes of a transaction as one batch of events. @param version - the latest version */
function* finish(version: number, recorded: readonly FleetEvent[], nowMs: number): Steps<void> {
  if (version > 0) yield* board.trimHistory(version);
  yield* recordEvents(recorded, nowMs);
}
