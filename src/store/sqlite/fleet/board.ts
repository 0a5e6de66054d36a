import type { BoardEntry, BoardEvents, BoardStore, BoardWrite } from '../../../core/ports/fleet.ts';
import type { BoardTable } from './board-table.ts';
import type { FleetAccess, Tell } from './fleet-tables.ts';

/** Entries that one transaction lets expire; the rest waits for the next. */
const EXPIRED_AT_ONCE = 200;

/** `BoardStore` on SQLite. */
export class FileBoard implements BoardStore {
  readonly #access: FleetAccess;

  constructor(access: FleetAccess) {
    this.#access = access;
  }

  set(writes: readonly BoardWrite[], events: BoardEvents): Promise<readonly BoardEntry[] | null> {
    return this.#access.write(({ board }, nowMs, tell) => {
      if (!board.hasRoomFor(writes)) return null;
      return writes.map((write) => {
        const previous = living(board, write.key, nowMs, events, tell);
        const entry = board.set(write, previous, nowMs);
        tell(events({ kind: 'set', key: write.key, version: entry.version }));
        return entry;
      });
    });
  }

  get(key: string): Promise<BoardEntry | null> {
    return this.#access.read(({ board }, nowMs) => {
      const entry = board.entry(key);
      return entry !== null && (entry.expiresMs === null || entry.expiresMs > nowMs) ? entry : null;
    });
  }

  delete(key: string, events: BoardEvents): Promise<boolean> {
    return this.#access.write(({ board }, nowMs, tell) => {
      const entry = living(board, key, nowMs, events, tell);
      if (entry === null) return false;
      const version = board.drop(entry, 'delete', board.namespaceOf(key), nowMs);
      tell(events({ kind: 'delete', key, version }));
      return true;
    });
  }

  query(query: Parameters<BoardStore['query']>[0]): Promise<readonly BoardEntry[]> {
    return this.#access.read(({ board }, nowMs) => board.query(query, nowMs));
  }

  changes({ after, namespace, limit }: Parameters<BoardStore['changes']>[0]) {
    return this.#access.read(({ board }) => ({
      events: board.changes(after, namespace, limit),
      dropped: board.counter('board_dropped'),
    }));
  }

  async expire(events: BoardEvents): Promise<boolean> {
    const due = await this.#access.read(({ board }, nowMs) => board.overdue(nowMs, 1).length > 0);
    if (!due) return false;
    return this.#access.write(({ board }, nowMs, tell) => {
      const overdue = board.overdue(nowMs, EXPIRED_AT_ONCE);
      for (const entry of overdue) expire(board, entry, nowMs, events, tell);
      return overdue.length > 0;
    });
  }

  namespaces({ prefix, limit }: Parameters<BoardStore['namespaces']>[0]) {
    return this.#access.read(({ board }, nowMs) => board.namespaces(prefix, limit, nowMs));
  }

  lastVersion(): Promise<number> {
    return this.#access.read(({ board }) => board.counter('board_version'));
  }
}

/** What stands at a key; what has expired there is told as such first. */
function living(board: BoardTable, key: string, nowMs: number, events: BoardEvents, tell: Tell): BoardEntry | null {
  const entry = board.entry(key);
  if (entry === null || entry.expiresMs === null || entry.expiresMs > nowMs) return entry;
  expire(board, entry, nowMs, events, tell);
  return null;
}

function expire(board: BoardTable, entry: BoardEntry, nowMs: number, events: BoardEvents, tell: Tell): void {
  const version = board.drop(entry, 'expire', board.namespaceOf(entry.key), nowMs);
  tell(events({ kind: 'expire', key: entry.key, version }));
}
