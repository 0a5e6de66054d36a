import type {
  ColdFigures,
  Compaction,
  CompactionStore,
  ContextPeak,
  StoredCompaction,
} from '../../core/ports/compactions.ts';
import {
  bounded,
  change,
  one,
  type Rows,
  type Sql,
  type Steps,
  type Transactions,
  writesInTurn,
} from '../sql/steps.ts';

/** A repeated compaction within this time is a retry, unless a conversation already continued from the first one. */
const RETRY_MS = 600_000;
/** Maximum time after which a conversation without a session can continue from a compaction of its project. */
const FOLLOW_MS = 3_600_000;
const MAX_LISTED = 10_000;
const SENT = 'fresh + write5m + write1h + read';
const PAUSE_MS = 300_000;
const LONG_PAUSE_MS = 3_600_000;
/** Weighted tokens of a turn, proportional to its dollars: input 1, cache write 1.25 or 2, cache read 0.1, output 5. */
const WEIGHT = 'fresh + 1.25 * write5m + 2.0 * write1h + 0.1 * read + 5.0 * output';

const WHOLE = `${SENT} + CASE WHEN removed > 0 THEN removed ELSE 0 END`;
/** Conversations with a request above a given length, or with a compaction. */
const LONG = `SELECT conversation FROM main.ledger_turn WHERE at_ms >= ? AND ${WHOLE} > ? UNION
  SELECT continues FROM main.compaction WHERE at_ms >= ? UNION SELECT conversation FROM main.compaction WHERE at_ms >= ?`;
/** End time of the request before `t` in the conversation; looked up only for cache misses. */
const BEFORE_MS = `SELECT b.at_ms FROM main.ledger_turn b WHERE b.conversation = t.conversation AND b.id < t.id AND b.project = t.project
  ORDER BY b.id DESC LIMIT 1`;

interface Query {
  readonly sinceMs: number;
  readonly project?: string;
}

/** `CompactionStore` on the tables of either database. */
export class StoredCompactions implements CompactionStore {
  readonly #rows: Rows;
  readonly #steps: Transactions;

  constructor(sql: Sql) {
    this.#rows = sql;
    this.#steps = writesInTurn(sql, 'compactions');
  }

  add(compaction: Compaction): Promise<boolean> {
    return this.#steps.write(() => add(compaction));
  }

  follow(by: Parameters<CompactionStore['follow']>[0]): Promise<string | null> {
    return this.#steps.write(() => follow(by));
  }

  since({ sinceMs, project }: Query): Promise<readonly StoredCompaction[]> {
    return this.#rows.all(
      `SELECT project, continues, conversation, client, product, model, session, tokens, at_ms AS "atMs" FROM main.compaction
       WHERE at_ms >= ? AND project = coalesce(?, project) ORDER BY id LIMIT ${MAX_LISTED}`,
      [Math.trunc(sinceMs), project ?? null],
    );
  }

  peaks(query: Parameters<CompactionStore['peaks']>[0]): Promise<readonly ContextPeak[]> {
    const { sinceMs, project, limit, above } = query;
    const since = Math.trunc(sinceMs);
    const long = above === undefined ? '' : `AND conversation IN (${LONG})`;
    return this.#rows.all(
      `SELECT project, conversation AS "conversationId", max(model) AS model, max(client) AS product, max(${SENT}) AS sent,
         max(${WHOLE}) AS whole
       FROM main.ledger_turn WHERE at_ms >= ? AND project = coalesce(?, project) AND conversation <> '' ${long}
       GROUP BY project, conversation ORDER BY whole DESC LIMIT ?`,
      [since, project ?? null, ...(above === undefined ? [] : [since, above, since, since]), bounded(limit)],
    );
  }

  async cold({ sinceMs, project }: Query): Promise<ColdFigures> {
    const [row] = await this.#rows.all<{ requests: number; usd: number; cost: number; saved: number }>(
      `SELECT coalesce(sum(CASE WHEN miss = 'expired' THEN 1 ELSE 0 END), 0) AS requests,
         coalesce(sum(CASE WHEN miss = 'expired' THEN miss_dollars ELSE 0.0 END), 0.0) AS usd,
         coalesce(sum(CASE WHEN wire = 'messages' AND write5m > 0 THEN dollars * 0.75 * write5m / (${WEIGHT}) ELSE 0.0 END), 0.0) AS cost,
         coalesce(sum(CASE WHEN wire = 'messages' AND miss = 'expired' AND at_ms - (${BEFORE_MS}) BETWEEN ${PAUSE_MS} AND ${LONG_PAUSE_MS}
           THEN miss_dollars ELSE 0.0 END), 0.0) AS saved
       FROM main.ledger_turn t WHERE at_ms >= ? AND project = coalesce(?, project)`,
      [Math.trunc(sinceMs), project ?? null],
    );
    const { requests = 0, usd = 0, cost = 0, saved = 0 } = row ?? {};
    return { requests: Number(requests), usd: Number(usd), hour_cache: { cost: Number(cost), saved: Number(saved) } };
  }
}

function* add({ project, continues, client, product, model, session, tokens, atMs }: Compaction): Steps<boolean> {
  const open = yield* one(
    "SELECT 1 AS found FROM main.compaction WHERE project = ? AND continues = ? AND conversation = '' AND at_ms > ?",
    [project, continues, atMs - RETRY_MS],
  );
  if (open) return false;
  const counted = yield* one<{ tokens: number }>(
    `SELECT ${SENT} AS tokens FROM main.ledger_turn WHERE project = ? AND conversation = ? ORDER BY id DESC LIMIT 1`,
    [project, continues],
  );
  yield* change(
    `INSERT INTO main.compaction (project, continues, conversation, client, product, model, session, summary, tokens, at_ms)
     VALUES (?, ?, '', ?, ?, ?, ?, '', ?, ?)`,
    [project, continues, client, product, model, session, Math.round(counted?.tokens ?? tokens), atMs],
  );
  return true;
}

function* follow({
  project,
  session,
  conversation,
  atMs,
}: Parameters<CompactionStore['follow']>[0]): Steps<string | null> {
  const found = yield* one<{ id: number; continues: string }>(
    `SELECT id, continues FROM main.compaction WHERE project = ? AND conversation = ''
       AND ((session = ? AND session <> '') OR ((session = '' OR ? = '') AND at_ms > ?)) ORDER BY id DESC LIMIT 1`,
    [project, session, session, atMs - FOLLOW_MS],
  );
  if (!found) return null;
  yield* change('UPDATE main.compaction SET conversation = ? WHERE id = ?', [conversation, found.id]);
  return found.continues;
}
