import { openPostgresStore } from '@mcp-pruner/team/postgres/store.ts';
import { logText } from '../soak/stage.ts';

/** What conversations cost in the database. */
export interface CostRow {
  readonly rows: number;
  readonly tableMb: string;
  readonly indexMb: string;
  /** A sweep that finds nothing to do, in milliseconds. */
  readonly idleMs: string;
  /** A step of a sweep that finds everything expired, in milliseconds: the median and the slowest. */
  readonly stepMs: string;
  /** Originals that such steps let go of in a second. */
  readonly perSecond: string;
}

type Query = <Row>(sql: string) => Promise<Row[]>;

const TTL_MS = 7 * 86_400_000;
/** Cut texts of a conversation, and texts that stay whole. */
const CUT = 4;
const WHOLE = 4;
/** Lines of a cut text: 8 KB, 1 KB compressed. */
const LINES = 150;
const STEPS = 60;

/**
 * Fills a database with what conversations leave there (four cut texts with their prunes, decisions and records each, four
 * decisions to leave a text whole, and the records of both) and measures it. Rows are multiplied in the database from one
 * conversation that the store itself wrote.
 */
export async function costs(url: string, conversations: number, query: Query): Promise<CostRow> {
  let nowMs = Date.now();
  const options = { ttlMs: TTL_MS, maxBytes: 1e12, maxEvents: 100_000 };
  const store = openPostgresStore({ url, clock: { nowMs: () => nowMs }, ...options });
  await store.ready();
  try {
    await store.commit({ decisions: Array.from({ length: CUT + WHOLE }, (_, i) => decision(i)), touch: [] }, 5_000);
    while (await store.sweep());
    await multiply(query, conversations);
    await query('VACUUM ANALYZE');
    while (await store.sweep());
    const idleMs = await timed(() => store.sweep());
    const [size] = await query<{ rows: string; tables: string; indexes: string }>(
      `SELECT (SELECT sum(n) FROM (SELECT count(*) AS n FROM mcp_pruner.snapshot UNION ALL SELECT count(*) FROM mcp_pruner.prune
         UNION ALL SELECT count(*) FROM mcp_pruner.decision UNION ALL SELECT count(*) FROM mcp_pruner.sent) x) AS rows,
         sum(pg_table_size(c.oid)) AS tables, sum(pg_indexes_size(c.oid)) AS indexes
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'mcp_pruner' AND c.relkind = 'r'`,
    );
    nowMs += 100 * TTL_MS;
    const before = (await store.stats()).prunes;
    const times: number[] = [];
    for (let step = 0; step < STEPS; step++) times.push(await timed(() => store.sweep()));
    const allMs = times.reduce((sum, ms) => sum + ms, 0);
    const gone = before - (await store.stats()).prunes;
    times.sort((a, b) => a - b);
    return {
      rows: Number(size?.rows ?? 0),
      tableMb: (Number(size?.tables ?? 0) / 1e6).toFixed(1),
      indexMb: (Number(size?.indexes ?? 0) / 1e6).toFixed(1),
      idleMs: idleMs.toFixed(1),
      stepMs: `${times[STEPS >> 1]?.toFixed(0)}, ${times.at(-1)?.toFixed(0)}`,
      perSecond: ((1_000 * gone) / allMs).toFixed(0),
    };
  } finally {
    await store.close();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}

type NewDecision = Parameters<ReturnType<typeof openPostgresStore>['commit']>[0]['decisions'][number];

function decision(i: number): NewDecision {
  const id = String(i).padStart(12, '0');
  const isCut = i < CUT;
  return {
    decision: {
      key: `key-of-a-decision-with-a-hash-of-${id.repeat(2)}`,
      pruneId: isCut ? `prn_${id}` : null,
      textHash: `hash-of-a-text-which-is-of-64-characters-${id.repeat(2)}`,
      cuts: isCut ? [{ startLine: 2, endLine: 108, reason: 'journal répétitif' }] : [],
      sourceType: 'logs',
      kind: 'log',
      whole: isCut ? '' : 'small',
      warnings: [],
      lines: LINES,
      keptLines: isCut ? 44 : LINES,
      tokensBefore: 4_000,
      tokensAfter: 1_100,
      goal: 'which payment fails, and why',
      tool: 'bash',
    } as unknown as NewDecision['decision'],
    text: logText(i, LINES),
  };
}

/** The first conversation's rows again and again, under other names; triggers do not count them one by one. */
async function multiply(query: Query, conversations: number): Promise<void> {
  await query(`SET session_replication_role = replica;
    INSERT INTO mcp_pruner.snapshot (hash, encoding, packing, text_bytes, stored_bytes, data)
      SELECT md5(hash || n) || md5(n || hash), encoding, packing, text_bytes, stored_bytes, data
      FROM mcp_pruner.snapshot, generate_series(2, ${conversations}) n;
    INSERT INTO mcp_pruner.prune (prune_id, snapshot, decision_key, body, created_ms, expires_ms)
      SELECT 'prn_' || upper(substr(md5(p.prune_id || n), 1, 12)), s.id, md5(p.decision_key || n) || md5(n || p.decision_key), p.body,
        p.created_ms, p.expires_ms
      FROM mcp_pruner.prune p JOIN mcp_pruner.snapshot o ON o.id = p.snapshot, generate_series(2, ${conversations}) n,
        LATERAL (SELECT id FROM mcp_pruner.snapshot WHERE hash = md5(o.hash || n) || md5(n || o.hash)) s
      ON CONFLICT DO NOTHING;
    INSERT INTO mcp_pruner.decision (key, prune, body, expires_ms)
      SELECT decision_key, id, NULL, expires_ms FROM mcp_pruner.prune ON CONFLICT DO NOTHING;
    INSERT INTO mcp_pruner.decision (key, prune, body, expires_ms)
      SELECT md5(key || n) || md5(n || key), NULL, body, expires_ms FROM mcp_pruner.decision, generate_series(2, ${conversations}) n
      WHERE prune IS NULL;
    INSERT INTO mcp_pruner.sent (prefix, body, expires_ms)
      SELECT md5(d.key) || md5('sent' || d.key), repeat('x', 400), d.expires_ms FROM mcp_pruner.decision d`);
}
