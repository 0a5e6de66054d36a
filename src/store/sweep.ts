import type { Access } from './access.ts';
import type { Connection } from './db.ts';
import type { Snapshots, Unpacked } from './snapshots.ts';
import type { Tables } from './tables.ts';
import { packBytes } from './text-codec.ts';

/** How long one step may hold the event loop (ms) and how many rows it may delete, whichever comes first. */
const STEP_MS = 4;
const STEP_ROWS = 500;
/** How much text one step compresses; a larger one goes alone. */
const STEP_PACK_BYTES = 1_048_576;
const STEP_PACK_COUNT = 16;
/** Free pages are reused; only what exceeds this share of the file, and this number, is given back, so many a step. */
const FREE_SHARE = 0.05;
const FREE_PAGES = 256;
const STEP_VACUUM_PAGES = 256;
const STEP_SLIDES = 2_000;
/** Texts wait for compression before any is evicted for want of room, unless there is so much too much. */
const OVERFULL = 1.25;

/** What one step did; `more` when the next one has something to do as well. */
export interface SweepStep {
  readonly expired: number;
  readonly evicted: number;
  readonly packed: number;
  /** Free pages given back to the file system. */
  readonly pages: number;
  readonly more: boolean;
}

/**
 * One small step of keeping the store in bounds: what has expired goes, then events beyond `maxEvents`, then what was
 * used least recently while there is more than `maxBytes`; waiting texts are compressed on the thread pool; and when
 * nothing else is left to do, the write-ahead log is copied into the file.
 */
export async function sweepStep(access: Access, limits: { maxBytes: number; maxEvents: number }): Promise<SweepStep> {
  if (access.usesWaiting > STEP_SLIDES) {
    // nothing may expire while its use waits to be written
    await access.write(() => undefined, { verify: true, slides: STEP_SLIDES });
    return { expired: 0, evicted: 0, packed: 0, pages: 0, more: true };
  }
  const budget = new Budget();
  const cleared = await access.write(
    (tables, nowMs) => {
      const expired = expire(tables, nowMs, budget);
      const trimmed = tables.events.trim(limits.maxEvents, STEP_ROWS);
      return { done: expired.done, more: expired.more || trimmed >= STEP_ROWS };
    },
    { verify: true, slides: STEP_SLIDES },
  );
  const packed = await packSome(await access.read(({ snapshots }) => nextToPack(snapshots)));
  const evicted = await access.write((tables) => {
    for (const [snapshot, data] of packed) tables.snapshots.setPacked(snapshot, data);
    return evict(tables, limits.maxBytes, budget);
  });
  const shrunk = await access.maintain(shrink);
  const more = cleared.more || evicted.more || shrunk.more || packed.length > 0 || access.usesWaiting > 0;
  if (!more) await access.maintain((connection) => connection.checkpoint('PASSIVE'));
  return { expired: cleared.done, evicted: evicted.done, packed: packed.length, pages: shrunk.done, more };
}

/** What a step may still do. */
class Budget {
  readonly #endMs = performance.now() + STEP_MS;
  #rows = STEP_ROWS;

  /** Takes one row's worth; `false` when the step is used up. */
  take(): boolean {
    return this.#rows-- > 0 && performance.now() < this.#endMs;
  }

  get rows(): number {
    return Math.max(0, this.#rows);
  }
}

/** What a part of a step did. */
interface Part {
  readonly done: number;
  readonly more: boolean;
}

/** Deletes what has expired, oldest first; inside the caller's transaction. */
function expire(tables: Tables, nowMs: number, budget: Budget): Part {
  const { decisions, marks } = tables;
  let done = marks.expire(nowMs, budget.rows);
  const more = done >= budget.rows;
  for (let row = decisions.oldestPrune(); row && row.expires_ms <= nowMs; row = decisions.oldestPrune()) {
    if (!budget.take()) return { done, more: true };
    decisions.removePrune(row.id);
    done++;
  }
  for (let row = decisions.oldestWhole(); row && row.expires_ms <= nowMs; row = decisions.oldestWhole()) {
    if (!budget.take()) return { done, more: true };
    decisions.removeWhole(row.id);
    done++;
  }
  return { done, more };
}

/** Deletes the least recently used until the stored bytes are within the limit; inside the caller's transaction. */
function evict(tables: Tables, maxBytes: number, budget: Budget): Part {
  const { decisions, snapshots } = tables;
  const waiting = snapshots.unpacked(1).length > 0;
  if (tables.meter('stored_bytes') <= (waiting ? maxBytes * OVERFULL : maxBytes)) return { done: 0, more: false };
  let done = 0;
  while (tables.meter('stored_bytes') > maxBytes) {
    if (!budget.take()) return { done, more: true };
    const prune = decisions.oldestPrune();
    const whole = decisions.oldestWhole();
    if (prune && (!whole || prune.expires_ms <= whole.expires_ms)) decisions.removePrune(prune.id);
    else if (whole) decisions.removeWhole(whole.id);
    else break;
    done++;
  }
  return { done, more: false };
}

/** A text and its compressed form; `null` where that is no smaller. */
type Packed = readonly [Unpacked, Buffer | null];

/** Some texts that wait to be compressed. */
function nextToPack(snapshots: Snapshots): [Unpacked, Buffer][] {
  const next: [Unpacked, Buffer][] = [];
  let bytes = 0;
  for (const row of snapshots.unpacked(STEP_PACK_COUNT)) {
    bytes += row.text_bytes;
    if (next.length > 0 && bytes > STEP_PACK_BYTES) break;
    const stored = snapshots.read(row.id);
    if (stored) next.push([row, stored.data]);
  }
  return next;
}

/** Compresses one after the other, so that other users of the thread pool are not held up. */
async function packSome(texts: readonly [Unpacked, Buffer][]): Promise<Packed[]> {
  const packed: Packed[] = [];
  for (const [snapshot, data] of texts) packed.push([snapshot, await packBytes(data)]);
  return packed;
}

/** Gives free pages back to the file system, some at a time. */
function shrink({ db }: Connection): Part {
  const free = Number(db.pragma('freelist_count', { simple: true }));
  const pages = Number(db.pragma('page_count', { simple: true }));
  if (free <= Math.max(FREE_PAGES, pages * FREE_SHARE)) return { done: 0, more: false };
  db.exec(`PRAGMA incremental_vacuum(${STEP_VACUUM_PAGES})`);
  return { done: Math.min(free, STEP_VACUUM_PAGES), more: free > STEP_VACUUM_PAGES };
}
