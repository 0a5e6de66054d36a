import type { BoardEntry, BoardEvents, BoardStore, BoardWrite } from '../../core/ports/fleet.ts';
import { BoardTable } from './board-table.ts';
import { type FleetAccess, type Steps, tell } from './steps.ts';

/** Entries that one transaction lets expire; the rest waits for the next. */
const EXPIRED_AT_ONCE = 200;

const board = new BoardTable();

/** `BoardStore` on whatever holds its tables. */
export class StoredBoard implements BoardStore {
  readonly #access: FleetAccess;

  constructor(access: FleetAccess) {
    this.#access = access;
  }

  set(writes: readonly BoardWrite[], events: BoardEvents): Promise<readonly BoardEntry[] | null> {
    return this.#access.write(function* (nowMs): Steps<readonly BoardEntry[] | null> {
      if (!(yield* board.hasRoomFor(writes))) return null;
      const entries: BoardEntry[] = [];
      for (const write of writes) {
        const previous = yield* living(write.key, nowMs, events);
        const entry = yield* board.set(write, previous, nowMs);
        yield* tell(events({ kind: 'set', key: write.key, version: entry.version }), nowMs);
        entries.push(entry);
      }
      return entries;
    });
  }

  get(key: string): Promise<BoardEntry | null> {
    return this.#access.read(function* (nowMs) {
      const entry = yield* board.entry(key);
      return entry !== null && (entry.expiresMs === null || entry.expiresMs > nowMs) ? entry : null;
    });
  }

  delete(key: string, events: BoardEvents): Promise<boolean> {
    return this.#access.write(function* (nowMs) {
      const entry = yield* living(key, nowMs, events);
      if (entry === null) return false;
      const version = yield* board.drop(entry, 'delete', yield* board.namespaceOf(key), nowMs);
      yield* tell(events({ kind: 'delete', key, version }), nowMs);
      return true;
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
      for (const entry of overdue) yield* expire(entry, nowMs, events);
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

/** What stands at a key; what has expired there is told as such first. */
function* living(key: string, nowMs: number, events: BoardEvents): Steps<BoardEntry | null> {
  const entry = yield* board.entry(key);
  if (entry === null || entry.expiresMs === null || entry.expiresMs > nowMs) return entry;
  yield* expire(entry, nowMs, events);
  return null;
}

function* expire(entry: BoardEntry, nowMs: number, events: BoardEvents): Steps<void> {
  const version = yield* board.drop(entry, 'expire', yield* board.namespaceOf(entry.key), nowMs);
  yield* tell(events({ kind: 'expire', key: entry.key, version }), nowMs);
}
