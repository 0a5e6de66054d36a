import type { ProjectConversation, SegmentStore, StoredConversation } from '../core/ports/segments.ts';
import { bounded, type Rows } from './sql/rows.ts';

const MAX_CONVERSATIONS = 1_000;
const MAX_NAMED = 100;
const STORED = 'id AS "row", name, task, turns, base_turn AS "baseTurn", messages, seen_ms AS "seenMs"';
const IN_ORDER = 'ORDER BY seen_ms DESC, id DESC LIMIT ?';
const OF_TASK = 'AND (task = ? OR EXISTS (SELECT 1 FROM main.segment WHERE conversation = c.id AND task = ?))';

/** The read methods of `SegmentStore` for conversations. */
export class SegmentLists
  implements Pick<SegmentStore, 'conversations' | 'recentConversations' | 'conversationsNamed' | 'prunesOf'>
{
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  conversations(project: string, task?: string): Promise<readonly StoredConversation[]> {
    const [ofTask, named] = task === undefined ? ['', []] : [OF_TASK, [task, task]];
    const sql = `SELECT ${STORED} FROM main.conversation c WHERE project = ? ${ofTask} ${IN_ORDER}`;
    return this.#rows.all(sql, [project, ...named, MAX_CONVERSATIONS]);
  }

  recentConversations({
    after = { seenMs: Number.MAX_SAFE_INTEGER, row: 0 },
    limit,
  }: Parameters<SegmentStore['recentConversations']>[0]): Promise<readonly ProjectConversation[]> {
    const sql = `SELECT ${STORED}, project FROM main.conversation WHERE (seen_ms, id) < (?, ?) ${IN_ORDER}`;
    return this.#rows.all(sql, [after.seenMs, after.row, bounded(limit)]);
  }

  conversationsNamed(name: string): Promise<readonly ProjectConversation[]> {
    const sql = `SELECT ${STORED}, project FROM main.conversation WHERE name = ? ${IN_ORDER}`;
    return this.#rows.all(sql, [name, MAX_NAMED]);
  }

  async prunesOf(rows: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>> {
    const pairs = await this.#rows.all<{ readonly segment: number; readonly prune_id: string }>(
      'SELECT segment, prune_id FROM main.segment_prune WHERE segment IN LIST(?) ORDER BY segment, prune_id',
      [rows],
    );
    const found = new Map<number, string[]>();
    for (const { segment, prune_id } of pairs) {
      const prunes = found.get(segment);
      if (prunes) prunes.push(prune_id);
      else found.set(segment, [prune_id]);
    }
    return found;
  }
}
