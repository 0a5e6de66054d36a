import { createHash } from 'node:crypto';
import type { Lifetimes } from '../lifetimes.ts';
import { readNote, replaceNote } from '../notes.ts';
import { change, each, type Rows, type Sql, type Steps } from '../sql/steps.ts';
import { pruneIdsIn } from './links.ts';

/** Lineage of the states that name erased prunes, and name of the note with those that a file has seen. They expire like states without requests, as late as records do. */
const ERASED = 'erased';
const IDS_PER_ROW = 1_000;
/** Characters of a hash: with a million ids, one in 10^9 records is erased without need. */
const HASH_CHARS = 16;
/** Records per transaction. */
const ROWS = 500;

/** The id itself would be a trace of the text. */
function hashOf(pruneId: string): string {
  return createHash('sha256').update(pruneId).digest('base64url').slice(0, HASH_CHARS);
}

/** Records in a shared store that prunes are erased, for replicas with records of their own. */
export function* noteErased(pruneIds: readonly string[], nowMs: number): Steps<void> {
  const rows: (readonly unknown[])[] = [];
  for (let at = 0; at < Math.max(1, pruneIds.length); at += IDS_PER_ROW) {
    const data = pruneIds
      .slice(at, at + IDS_PER_ROW)
      .map(hashOf)
      .join('\n');
    rows.push([`${ERASED}\n${Math.trunc(nowMs)}\n${hashOf(data)}`, ERASED, Math.trunc(nowMs), 1, data]);
  }
  yield* each(
    `INSERT INTO main.ledger_state (name, lineage, at_ms, version, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    rows,
  );
}

/**
 * Applies erasures of a shared store to a replica's own records: erases those that name an erased prune, or were not
 * used for a text's lifetime and name a prune that no longer exists. Each erasure is applied once, because a conversation
 * that goes on may send the same cuts again.
 *
 * @param openOwn - opens the replica's file; called only if there are erasures
 * @returns the number of erased records
 * @throws StoreUnavailable
 */
export async function applyErasures(
  shared: Rows,
  openOwn: () => Promise<Sql>,
  { ttlMs, sentTtlMs }: Lifetimes,
): Promise<number> {
  const rows = await shared.all<{ name: string }>('SELECT name FROM main.ledger_state WHERE lineage = ?', [ERASED]);
  if (rows.length === 0) return 0;
  const own = await openOwn();
  const applied = new Set((await readNote(own, ERASED))?.split('\0') ?? []);
  const names = rows.map(({ name }) => name);
  const fresh = names.filter((name) => !applied.has(name));
  if (fresh.length === 0) return 0;
  const hashes = new Set<string>();
  for (const name of fresh) {
    const [row] = await shared.all<{ data: string }>('SELECT data FROM main.ledger_state WHERE name = ?', [name]);
    for (const hash of row?.data.split('\n') ?? []) hashes.add(hash);
  }
  const oldMs = own.nowMs() + sentTtlMs - ttlMs;
  let erased = 0;
  for (let after: number | null = 0; after !== null; ) {
    const page: readonly SentRow[] = await own.all<SentRow>(
      `SELECT id, body, expires_ms FROM main.sent WHERE id > ? ORDER BY id LIMIT ${ROWS}`,
      [after],
    );
    const known = await knownPrunes(
      shared,
      page.filter(({ expires_ms }) => Number(expires_ms) <= oldMs),
    );
    const gone = page.filter(({ body, expires_ms }) =>
      pruneIdsIn(body).some((id) => hashes.has(hashOf(id)) || (Number(expires_ms) <= oldMs && !known.has(id))),
    );
    if (gone.length > 0)
      erased += await own.write(() => change('DELETE FROM main.sent WHERE id IN LIST(?)', [gone.map(({ id }) => id)]));
    after = page.length < ROWS ? null : (page.at(-1)?.id ?? null);
  }
  await own.write(() => replaceNote(ERASED, names.join('\0')));
  return erased;
}

interface SentRow {
  readonly id: number;
  readonly body: string;
  readonly expires_ms: number;
}

async function knownPrunes(shared: Rows, rows: readonly SentRow[]): Promise<ReadonlySet<string>> {
  const ids = [...new Set(rows.flatMap(({ body }) => pruneIdsIn(body)))];
  if (ids.length === 0) return new Set();
  const stored = await shared.all<{ prune_id: string }>('SELECT prune_id FROM main.prune WHERE prune_id IN LIST(?)', [
    ids,
  ]);
  return new Set(stored.map(({ prune_id }) => prune_id));
}
