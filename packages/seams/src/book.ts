import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import { change, one, type Sql, type Steps } from 'mcp-pruner/store/sql/steps.ts';
import { COLUMNS } from './tables.ts';

/**
 * `asked`: the request is under way. `ready`: the block was stored, and no request had it yet. `used`: a request with it was
 * sent. `kept`: the provider accepted one. `failed`: no block came. `refused`: the first request with it was refused, so it
 * is given up for good. `late`: a request that began after it went out without it, so that it no longer fits. `lost`: no
 * compaction, but a conversation that went out without one that it may have had: it goes on whole, without what the model
 * thought in its first `messages` messages, from `usedMessages` on. `switched`: no compaction, but from here on another
 * model answers a conversation with a block, or the model of the block again.
 */
export type State = 'asked' | 'ready' | 'used' | 'kept' | 'failed' | 'refused' | 'late' | 'lost' | 'switched';

/** A compaction, without its block. */
export interface Compaction {
  readonly id: number;
  readonly wire: string;
  readonly model: string;
  readonly host: string;
  readonly prefix: string;
  readonly messages: number;
  readonly state: State;
  readonly line: string;
  readonly linePrefix: string;
  readonly pictures: number;
  readonly weight: number;
  readonly leftOver: number;
  readonly dollars: number;
  readonly askedMs: number;
  readonly readyMs: number;
  readonly usedMs: number;
  readonly usedMessages: number;
}

/** A compaction that is about to be requested. */
export interface AskedCompaction {
  readonly project: string;
  readonly conversation: string;
  readonly shown: string;
  readonly keyId: string;
  readonly wire: string;
  readonly model: string;
  readonly host: string;
  readonly prefix: string;
  readonly messages: number;
  readonly pictures: number;
  readonly weight: number;
  readonly askedMs: number;
}

/** States of compactions, which people see. */
export type ShownState = Exclude<State, 'switched'>;

/** A row that is no compaction. */
export type OtherRow = Omit<AskedCompaction, 'pictures' | 'weight'>;

/** A conversation that goes on without what the model thought. */
export interface LostCompaction extends OtherRow {
  readonly usedMessages: number;
}

/** A compaction as in the store, for `why`. */
export interface ShownRow {
  readonly atMs: number;
  readonly state: ShownState;
  readonly cause: string;
  readonly weight: number;
  readonly dollars: number;
}

/** A model that is not asked for summaries for a while, and the cause of its last failure. */
export interface OffModel {
  readonly untilMs: number;
  readonly cause: string;
}

const MAX_SHOWN = 100;
const SELECT = `SELECT id, wire, model, host, prefix, messages, state, line, line_prefix AS "linePrefix", pictures, weight,
  left_over AS "leftOver", dollars, asked_ms AS "askedMs", ready_ms AS "readyMs", used_ms AS "usedMs",
  used_messages AS "usedMessages" FROM main.seam_compaction`;
const INSERT = `INSERT INTO main.seam_compaction (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')}) RETURNING id`;
const MAX_OF_CONVERSATION = 200;
const MAX_BLOCKS = 500;
/** Of all blocks in memory: one of OpenAI has the user's newest messages in it. */
const MAX_BLOCK_CHARS = 16 * 1024 * 1024;
/** Interval at which each process with requests checks whether the store has compactions, until it finds one. */
export const LOOK_MS = 1_000;
/** A check that found none is trusted this long. After that, each request queries the store. */
export const KNOWN_MS = 2 * LOOK_MS;
/** Minimum time between asking for a block and its use. By then, no process relies on an older check. */
export const SHARED_MS = KNOWN_MS + 1_000;
/** Running compactions end within this time; what is older was lost with its process. */
export const LOST_MS = 6 * 60_000;

/** Cause of compactions that ended with their process, which is no failure of the model. */
export const STOPPED = 'stopped';

/** The compactions in the store. Methods may reject with `StoreUnavailable`. */
export class CompactionBook {
  readonly #sql: Sql;
  readonly #blocks = new BoundedMap<string, string>(MAX_BLOCK_CHARS, ({ length }) => length);
  readonly #seen = new BoundedMap<string, readonly Compaction[]>(MAX_BLOCKS);
  /** Conversations whose blocks this process sent, and that were erased since. */
  readonly #erased = new BoundedMap<string, Compaction>(MAX_BLOCKS);
  /** Records of lost ones that could not be stored yet. */
  readonly #unsaved = new BoundedMap<string, LostCompaction>(MAX_BLOCKS);
  /** What this process changed since it last read a compaction. */
  readonly #changed = new BoundedMap<number, Partial<Compaction>>(MAX_BLOCKS);

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** @param beforeMs - only compactions that were asked for before */
  async hasAny(beforeMs = Number.MAX_SAFE_INTEGER): Promise<boolean> {
    const sql = 'SELECT 1 AS found FROM main.seam_compaction WHERE asked_ms < ? LIMIT 1';
    return (await this.#sql.all<{ found: number }>(sql, [Math.trunc(beforeMs)])).length > 0;
  }

  /**
   * Compactions of a conversation, newest first, and its switches of models behind them. While the store is unavailable,
   * those that this process saw sent before or lost, because what the model thought since is bound to that. One whose line
   * had no place yet is none of them: another request may have placed it since.
   *
   * @param conversation - content id
   */
  async ofConversation(project: string, conversation: string): Promise<readonly Compaction[]> {
    const key = `${project}\n${conversation}`;
    try {
      const rows = await this.#sql.all<Compaction>(
        `${SELECT} WHERE project = ? AND conversation = ?
           ORDER BY CASE state WHEN 'switched' THEN 1 ELSE 0 END, id DESC LIMIT ${MAX_OF_CONVERSATION}`,
        [project, conversation],
      );
      this.#forgetOthers(key, rows);
      for (const { id } of rows) this.#changed.delete(id);
      const lost = this.#unsaved.get(key);
      if (lost === undefined) return rows;
      await this.lost(lost).catch(() => undefined); // the next request does it again
      return [lostOf(lost), ...rows];
    } catch (cause) {
      const known = this.#seen.get(key)?.map((one): Compaction => ({ ...one, ...this.#changed.get(one.id) })) ?? [];
      const seen = known.filter(({ state }) => SENT.has(state));
      if (seen.length === 0 || seen.some(({ state, linePrefix }) => state !== 'lost' && linePrefix === '')) throw cause;
      return [...seen, ...known.filter(({ state }) => state === 'switched')];
    }
  }

  /** Keeps what a conversation has, and drops the blocks of compactions that were erased. */
  #forgetOthers(key: string, rows: readonly Compaction[]): void {
    const kept = new Set(rows.map(keyOf));
    for (const one of this.#seen.get(key) ?? []) {
      if (kept.has(keyOf(one))) continue;
      if (this.#blocks.delete(keyOf(one)) && rows.length === 0)
        this.#erased.set(key, { ...one, ...this.#changed.get(one.id) });
    }
    if (rows.length > 0) this.#seen.set(key, rows);
    else this.#seen.delete(key);
  }

  /**
   * A compaction of a conversation whose block this process sent and that was erased since. Returned once, to a request
   * that goes on behind the first one with it.
   */
  takeErased(project: string, conversation: string, messages: number): Compaction | undefined {
    const key = `${project}\n${conversation}`;
    const one = this.#erased.get(key);
    if (one === undefined || one.usedMessages >= messages) return undefined;
    this.#erased.delete(key);
    return one;
  }

  /** The block of a compaction; `null` if it was erased. */
  async blockOf(of: Pick<Compaction, 'id' | 'prefix' | 'askedMs'>): Promise<string | null> {
    const key = keyOf(of);
    const known = this.#blocks.get(key);
    if (known !== undefined) return known;
    const sql = 'SELECT block FROM main.seam_compaction WHERE id = ? AND prefix = ? AND asked_ms = ?';
    const [row] = await this.#sql.all<{ block: string }>(sql, [of.id, of.prefix, of.askedMs]);
    if (row === undefined || row.block === '') return null;
    this.#blocks.set(key, row.block);
    return row.block;
  }

  /** Adds a compaction, unless another one of its conversation is running. @returns its id, or `null` */
  ask(of: AskedCompaction): Promise<number | null> {
    return this.#sql.write(function* (): Steps<number | null> {
      const running = yield* one(
        "SELECT 1 AS found FROM main.seam_compaction WHERE project = ? AND conversation = ? AND state = 'asked' AND asked_ms > ?",
        [of.project, of.conversation, Math.trunc(of.askedMs - LOST_MS)],
      );
      if (running !== null) return null;
      const { project, conversation, shown, keyId, wire, model, host, prefix, messages, pictures, weight } = of;
      const row = yield* one<{ id: number }>(INSERT, [
        ...[project, conversation, shown, keyId, wire, model, host, prefix, messages],
        ...['asked', '', '', '', '', pictures, Math.round(weight), 0, 0, Math.trunc(of.askedMs), 0, 0, 0, 0],
      ]);
      return row?.id ?? null;
    });
  }

  /** Records that a conversation goes on without what the model thought; while the store cannot be written, in memory. */
  async lost(of: LostCompaction): Promise<void> {
    const key = `${of.project}\n${of.conversation}`;
    this.#unsaved.set(key, of);
    this.#seen.set(key, [lostOf(of), ...(this.#seen.get(key) ?? [])]);
    await this.#add('lost', of, of.usedMessages);
    if (this.#unsaved.get(key) === of) this.#unsaved.delete(key);
  }

  /** Records that from here on another model answers. */
  switched(of: OtherRow): Promise<void> {
    return this.#add('switched', of, 0);
  }

  async #add(state: 'lost' | 'switched', of: OtherRow, usedMessages: number): Promise<void> {
    const { project, conversation, shown, keyId, wire, model, host, prefix, messages } = of;
    const names = [project, conversation, shown, keyId, wire, model, host, prefix, messages];
    const others = [state, '', '', '', '', 0, 0, 0, 0, Math.trunc(of.askedMs), 0, 0, usedMessages, 0];
    await this.#sql.write(() => one(INSERT, [...names, ...others]), { waitMs: OTHER_WAIT_MS });
  }

  /** Stores a block. Durable when it resolves, and only then used. */
  async ready(id: number, block: string, about: { leftOver: number; dollars: number; atMs: number }): Promise<void> {
    await this.#sql.write(() =>
      change(
        "UPDATE main.seam_compaction SET state = 'ready', block = ?, left_over = ?, dollars = ?, ready_ms = ? WHERE id = ? AND state = 'asked'",
        [block, Math.round(about.leftOver), about.dollars, Math.trunc(about.atMs), id],
      ),
    );
  }

  async failed(id: number, cause: string, dollars: number): Promise<void> {
    await this.#sql.write(() =>
      change(
        "UPDATE main.seam_compaction SET state = 'failed', cause = ?, dollars = ? WHERE id = ? AND state = 'asked'",
        [cause.slice(0, 100), dollars, id],
      ),
    );
  }

  /** Claims a block for its first request. @returns whether the state was still `ready` */
  async use(id: number, usedMessages: number, atMs: number): Promise<boolean> {
    const changed = await this.#sql.write(() =>
      change(
        "UPDATE main.seam_compaction SET state = 'used', used_ms = ?, used_messages = ? WHERE id = ? AND state = 'ready'",
        [Math.trunc(atMs), usedMessages, id],
      ),
    );
    if (changed > 0) this.#note(id, { state: 'used', usedMessages, usedMs: Math.trunc(atMs) });
    return changed > 0;
  }

  #note(id: number, change: Partial<Compaction>): void {
    this.#changed.set(id, { ...this.#changed.get(id), ...change });
  }

  /** Records where the line about what is gone stands. @returns the place that is on record, which wins */
  async place(id: number, line: string, linePrefix: string): Promise<{ line: string; linePrefix: string }> {
    const placed = await this.#sql.write(function* (): Steps<{ line: string; linePrefix: string }> {
      yield* change("UPDATE main.seam_compaction SET line = ?, line_prefix = ? WHERE id = ? AND line_prefix = ''", [
        line,
        linePrefix,
        id,
      ]);
      const row = yield* one<{ line: string; linePrefix: string }>(
        'SELECT line, line_prefix AS "linePrefix" FROM main.seam_compaction WHERE id = ?',
        [id],
      );
      return row ?? { line: '', linePrefix: '' };
    });
    this.#note(id, placed);
    return placed;
  }

  /** Records how many tokens of replaced files were read again so far. */
  async readAgain(id: number, tokens: number): Promise<void> {
    await this.#sql.write(() =>
      change('UPDATE main.seam_compaction SET read_again = ? WHERE id = ? AND read_again < ?', [tokens, id, tokens]),
    );
  }

  /** @returns whether it was in one of these states */
  async become(id: number, state: State, from: readonly State[], cause = ''): Promise<boolean> {
    const changed = await this.#sql.write(() =>
      change('UPDATE main.seam_compaction SET state = ?, cause = ? WHERE id = ? AND state IN LIST(?)', [
        state,
        cause,
        id,
        from,
      ]),
    );
    if (changed > 0) this.#note(id, { state });
    return changed > 0;
  }

  /** Compactions of a conversation by the name that people see, oldest first. */
  ofShown(conversation: string): Promise<readonly ShownRow[]> {
    return this.#sql.all<ShownRow>(
      `SELECT asked_ms AS "atMs", state, cause, weight, dollars FROM main.seam_compaction WHERE shown = ? AND state <> 'switched'
         ORDER BY id LIMIT ${MAX_SHOWN}`,
      [conversation],
    );
  }

  /** Number of blocks that providers refused since a time, and the newest conversation with one. */
  async refusedSince(sinceMs: number): Promise<{ readonly count: number; readonly conversation: string }> {
    const rows = await this.#sql.all<{ shown: string }>(
      `SELECT shown FROM main.seam_compaction WHERE state = 'refused' AND asked_ms >= ? ORDER BY id DESC LIMIT ${MAX_SHOWN}`,
      [Math.trunc(sinceMs)],
    );
    return { count: rows.length, conversation: rows[0]?.shown ?? '' };
  }

  /** Models with three failures in a day, with the time from which they may be asked again. */
  async offModels(nowMs: number): Promise<ReadonlyMap<string, OffModel>> {
    const rows = await this.#sql.all<{ model: string; atMs: number; cause: string }>(
      `SELECT model, cause, asked_ms AS "atMs" FROM main.seam_compaction WHERE state IN ('failed', 'refused')
         AND cause <> '${STOPPED}' AND asked_ms > ? ORDER BY id`,
      [Math.trunc(nowMs - 2 * DAY_MS)],
    );
    const off = new Map<string, OffModel>();
    const known = new Map<string, number[]>();
    for (const { model, atMs, cause } of rows) {
      const times = [...(known.get(model) ?? []), Number(atMs)];
      known.set(model, times);
      const third = times.at(-FAILURES);
      if (third !== undefined && Number(atMs) - third < DAY_MS && Number(atMs) + DAY_MS > nowMs)
        off.set(model, { untilMs: Number(atMs) + DAY_MS, cause });
    }
    return off;
  }
}

/** Identifies a compaction for ever: SQLite gives the number of an erased one to the next. */
export function keyOf({ id, prefix, askedMs }: Pick<Compaction, 'id' | 'prefix' | 'askedMs'>): string {
  return `${id} ${askedMs} ${prefix}`;
}

/** Maximum wait of a request to record what is no compaction. */
const OTHER_WAIT_MS = 1_000;

/** As it is read from the store. */
export function lostOf(of: LostCompaction): Compaction {
  const none = { line: '', linePrefix: '', pictures: 0, weight: 0, leftOver: 0, dollars: 0, readyMs: 0, usedMs: 0 };
  return { id: 0, state: 'lost', ...none, ...of };
}

/** States of what requests were sent with. */
const SENT: ReadonlySet<State> = new Set(['used', 'kept', 'lost']);
const DAY_MS = 86_400_000;
/** Failures after which a model is not asked for a day. */
const FAILURES = 3;
