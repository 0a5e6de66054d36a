import { BoundedMap, ExactLruMap } from 'mcp-pruner/base/bounded-map.ts';
import type { Committed, Decision, StoreBatch } from 'mcp-pruner/core/ports.ts';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import type { Lifetimes, PendingUses } from 'mcp-pruner/store/lifetimes.ts';
import type { Database } from './database.ts';
import { type CommitRow, type DecisionRow, decisionOf, FIND_DECISIONS } from './decisions.ts';
import { toPg } from './text.ts';

/** Maximum number of prunes with cached expiry, whose uses need no query. */
const MAX_SEEN = 200_000;
/** Maximum number of decisions from a commit or look-up cached for the next look-up. */
const MAX_CACHED_DECISIONS = 1_000;
const CACHED_DECISION_MS = 2_000;

/** Cache of prunes and decisions seen in the database, so that most uses need no query. */
export class KnownPrunes {
  readonly #database: Database;
  readonly #uses: PendingUses;
  readonly #lifetimes: Lifetimes;
  readonly #epoch: () => string;
  readonly #seen = new BoundedMap<string, number>(MAX_SEEN);
  readonly #foundByCommit = new ExactLruMap<string, Decision>(MAX_CACHED_DECISIONS, CACHED_DECISION_MS);
  /** Decisions prefetched by `findSent` for the next `findDecisions`. */
  readonly #prefetched = new ExactLruMap<string, { readonly row: DecisionRow | null }>(
    MAX_CACHED_DECISIONS,
    CACHED_DECISION_MS,
  );
  #seenEpoch = '';

  /** @param epoch - changes with each deletion */
  constructor(database: Database, uses: PendingUses, lifetimes: Lifetimes, epoch: () => string) {
    this.#database = database;
    this.#uses = uses;
    this.#lifetimes = lifetimes;
    this.#epoch = epoch;
  }

  async findDecisions(keys: readonly string[], nowMs: number): Promise<Map<string, Decision>> {
    const prefetched = new Map(keys.flatMap((key) => this.#takePrefetched(key)));
    const queried = keys.filter((key) => !this.#foundByCommit.has(key) && !prefetched.has(key));
    const rows =
      queried.length === 0 ? [] : await this.#database.query<DecisionRow>(FIND_DECISIONS, [queried.map(toPg)]);
    const byKey = new Map(rows.map((row) => [row.key, row]));
    const found = new Map<string, Decision>();
    for (const key of keys) {
      const row = byKey.get(key) ?? prefetched.get(key);
      const just = this.#foundByCommit.get(key);
      if (just) found.set(key, just);
      else if (row && this.#noteDecision(row, nowMs)) found.set(key, decisionOf(row));
    }
    return found;
  }

  /** Remembers the result of a look-up for the next `findDecisions`; `null`: the decision does not exist. */
  prefetch(key: string, row: DecisionRow | null): void {
    this.#prefetched.set(key, { row });
  }

  /** Records the use of prunes; queries only uncached ones. Returns the missing ids. */
  async touch(ids: readonly string[], nowMs: number): Promise<string[]> {
    this.#forgetOldEpoch();
    const missing: string[] = [];
    const queried: string[] = [];
    for (const id of new Set(ids)) {
      const storedMs = this.#seen.get(id);
      if (storedMs === undefined || !this.#uses.use('prune', id, storedMs, nowMs)) queried.push(id);
    }
    if (this.#database.isClosed) throw new StoreUnavailable('closed');
    if (queried.length > 0) {
      const rows = await this.#database.query<{ prune_id: string; expires_ms: number }>(
        'SELECT prune_id, expires_ms FROM mcp_pruner.prune WHERE prune_id = ANY ($1)',
        [queried.map(toPg)],
      );
      const found = new Map(rows.map((row) => [row.prune_id, row.expires_ms]));
      for (const id of queried) {
        const storedMs = found.get(toPg(id));
        if (!this.#uses.use('prune', id, storedMs, nowMs)) missing.push(id);
        else if (storedMs !== undefined) this.#seen.set(id, storedMs);
      }
    }
    return missing;
  }

  committed(batch: StoreBatch, rows: readonly CommitRow[], nowMs: number): Committed {
    this.#forgetOldEpoch();
    const of = (what: CommitRow['what']): CommitRow[] => rows.filter((row) => row.what === what);
    const refused = of('refused').map(({ id }) => id);
    const known = of('known').map(({ id }) => id);
    for (const { id, prune_id, body, until_ms } of of('known')) {
      const row = { key: id, prune_id, body, expires_ms: until_ms ?? 0 };
      if (this.#noteDecision(row, nowMs)) this.#foundByCommit.set(id, decisionOf(row));
    }
    if (!(batch.wholeOrNothing && refused.length > 0)) {
      for (const { decision } of batch.decisions) {
        const { pruneId, key } = decision;
        if (pruneId === null || refused.includes(key)) continue;
        if (known.includes(key)) this.#uses.use('prune', pruneId, this.#seen.get(pruneId), nowMs);
        else this.#seen.set(pruneId, nowMs + this.#lifetimes.ttlMs);
      }
    }
    for (const { id, until_ms } of of('alive')) this.#uses.use('prune', id, until_ms ?? undefined, nowMs);
    const missing = of('missing').filter(
      ({ id, until_ms }) => !this.#uses.use('prune', id, until_ms ?? undefined, nowMs),
    );
    for (const { id, until_ms } of [...of('sent_same'), ...of('sent_before')]) {
      this.#uses.use('sent', id, until_ms ?? undefined, nowMs);
    }
    const sentBefore = of('sent_before').map(({ id }) => id);
    return {
      missing: missing.map(({ id }) => id),
      refused,
      known,
      sentBefore: sentBefore.length > 0 ? sentBefore : undefined,
    };
  }

  /**
   * The prefetched result for a decision, consumed once: `null` means it does not exist, an empty list means it was not
   * prefetched.
   */
  #takePrefetched(key: string): [string, DecisionRow | null][] {
    const prefetched = this.#prefetched.get(key);
    this.#prefetched.delete(key);
    return prefetched ? [[key, prefetched.row]] : [];
  }

  /** Records the use of a decision that was read; `false` if it has expired. */
  #noteDecision({ key, prune_id, expires_ms }: DecisionRow, nowMs: number): boolean {
    if (prune_id === null) return this.#uses.use('whole', key, expires_ms, nowMs);
    if (!this.#uses.use('prune', prune_id, expires_ms, nowMs)) return false;
    this.#seen.set(prune_id, expires_ms);
    return true;
  }

  /** Cached rows are valid only until the next deletion. */
  #forgetOldEpoch(): void {
    const epoch = this.#epoch();
    if (epoch !== this.#seenEpoch) this.#seen.clear();
    this.#seenEpoch = epoch;
  }
}
