import type { NotedResult, RecallFound, RecallQuery, RecallStore, TaskScope } from 'mcp-pruner/core/ports/recall.ts';
import type { Committed, StoreBatch } from 'mcp-pruner/core/ports.ts';
import { foundIn, type SearchedStore, saveFilters, scanIn } from 'mcp-pruner/store/recall/find.ts';
import { continuedBy, noteResults, seenIn, storedHashes, withoutRefused } from 'mcp-pruner/store/recall/noted.ts';
import { type Transactions, writesInTurn } from 'mcp-pruner/store/sql/steps.ts';
import { openText, type StoredText } from 'mcp-pruner/store/text-codec.ts';
import type { DatabaseParts } from './database-sql.ts';
import { fromPg, toPg } from './text.ts';

const BYTES = { column: 's.data', join: '' };
/** Results whose filters are stored after a search, because that takes place between the requests. */
const FILTERS_AT_ONCE = 256;

type Commit = (batch: StoreBatch, waitMs: number) => Promise<Committed>;

/** Maximum wait for other writers when storing originals in the background, in milliseconds. */
const KEEP_WAIT_MS = 5_000;

export class DatabaseRecall implements RecallStore {
  readonly #parts: DatabaseParts;
  readonly #steps: Transactions;
  readonly #commit: Commit;
  readonly #searched: SearchedStore;
  readonly #readonly: boolean;

  /** @param commit - stores originals, in one round trip */
  constructor(parts: DatabaseParts, commit: Commit, isReadonly: boolean) {
    this.#parts = parts;
    this.#searched = { rows: parts.rows, bytes: BYTES };
    this.#readonly = isReadonly;
    this.#commit = commit;
    this.#steps = writesInTurn(parts.rows, 'recall');
  }

  async keep(originals: readonly StoreBatch[], results: readonly NotedResult[]): Promise<void> {
    if (results.length === 0) return;
    const committed: Committed[] = [];
    for (const batch of originals) committed.push(await this.#commit(batch, KEEP_WAIT_MS));
    const kept = withoutRefused(results, originals, committed);
    await this.#steps.write(() => noteResults(kept), { background: 'recall' });
  }

  stored(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    return storedHashes(this.#parts.rows, hashes);
  }

  async find(query: RecallQuery): Promise<RecallFound> {
    const found = await scanIn(this.#searched, query);
    const unfiltered = found.unfiltered.slice(0, FILTERS_AT_ONCE);
    if (!this.#readonly) void saveFilters(this.#searched, unfiltered).catch(() => undefined); // the next search reads these texts too
    return foundIn(this.#parts.rows, found);
  }

  seenIn(rows: readonly number[], of: TaskScope): Promise<ReadonlySet<number>> {
    return seenIn(this.#parts.rows, rows, of);
  }

  async texts(pruneIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#parts.database.query<StoredText & { prune_id: string }>(
      `SELECT p.prune_id, s.encoding, s.packing, s.text_bytes, s.data
       FROM mcp_pruner.prune p JOIN mcp_pruner.snapshot s ON s.id = p.snapshot WHERE p.prune_id = ANY ($1)`,
      [pruneIds.map(toPg)],
    );
    const texts = new Map<string, string>();
    for (const row of rows) texts.set(row.prune_id, await openText(row));
    return texts;
  }

  async names(project: string, of: 'tool' | 'path'): Promise<readonly string[]> {
    const rows = await this.#parts.database.query<{ name: string }>(
      `SELECT DISTINCT ${of} AS name FROM mcp_pruner.recall WHERE project = $1 LIMIT 20000`,
      [toPg(project)],
    );
    return rows.map(({ name }) => fromPg(name));
  }

  continuedBy(project: string, task: string): Promise<readonly string[]> {
    return this.#steps.read(() => continuedBy(project, task));
  }
}
