import type {
  BoldnessStep,
  CutPlace,
  LedgerConversation,
  LedgerStore,
  LedgerSum,
  LedgerTurn,
  SpentDollars,
} from '../core/ports/ledger.ts';
import {
  MAX_SUMS_READ,
  plainProject,
  SELECTED_CONVERSATION,
  SELECTED_TURN,
  type TurnRow,
  turnOf,
} from './ledger-rows.ts';
import { bounded, type Rows } from './sql/rows.ts';

const TURNS = `SELECT ${SELECTED_TURN} FROM main.ledger_turn`;

/** The read methods of `LedgerStore`. */
export class LedgerLists implements Omit<LedgerStore, 'settle' | 'add' | 'addStep'> {
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  sums({ sinceDay, ...of }: Parameters<LedgerStore['sums']>[0]): Promise<readonly LedgerSum[]> {
    const { project = null, slice = null } = of;
    return this.#rows.all(
      `SELECT day, project, slice, key, field, value FROM main.ledger_sum
       WHERE day >= ? AND (CAST(? AS text) IS NULL OR project = ?) AND (CAST(? AS text) IS NULL OR slice = ?)
       ORDER BY day DESC, project COLLATE BINARY, slice COLLATE BINARY, key COLLATE BINARY, field COLLATE BINARY LIMIT ${MAX_SUMS_READ}`,
      [sinceDay, project, project, slice, slice],
    );
  }

  spent({ sinceDay }: { readonly sinceDay: string }): Promise<readonly SpentDollars[]> {
    return this.#rows.all(
      `SELECT day, CASE slice WHEN 'key' THEN 'key' ELSE 'project' END AS of,
         CASE slice WHEN 'key' THEN key ELSE project END AS name, sum(value) AS dollars
       FROM main.ledger_sum WHERE day >= ? AND slice IN ('all', 'key') AND field = 'dollars' GROUP BY 1, 2, 3`,
      [sinceDay],
    );
  }

  totals({ sinceDay, project = null }: { sinceDay: string; project?: string | null }): Promise<readonly LedgerSum[]> {
    const from = `FROM main.ledger_sum WHERE day >= ? AND (CAST(? AS text) IS NULL OR project = ?) AND`;
    return this.#rows.all(
      `SELECT day, '' AS project, slice, key, field, sum(value) AS value ${from} slice = 'all' GROUP BY day, slice, key, field
       UNION ALL SELECT '' AS day, project, slice, key, field, sum(value) AS value ${from} slice = 'all'
       GROUP BY project, slice, key, field
       UNION ALL SELECT '' AS day, '' AS project, slice, key, field, sum(value) AS value ${from} slice IN ('model', 'key', 'tool', 'miss')
       GROUP BY slice, key, field
       ORDER BY 1 DESC LIMIT ${MAX_SUMS_READ}`,
      [sinceDay, project, project, sinceDay, project, project, sinceDay, project, project],
    );
  }

  async turns({ conversationId, limit, ...page }: Parameters<LedgerStore['turns']>[0]): Promise<readonly LedgerTurn[]> {
    const { after = null } = page;
    const rows = await this.#rows.all<TurnRow>(
      `${TURNS} WHERE conversation = ? AND (CAST(? AS text) IS NULL
         OR id > (SELECT id FROM main.ledger_turn WHERE request_id = ?)) ORDER BY id LIMIT ?`,
      [conversationId, after, after, bounded(limit)],
    );
    return rows.map(turnOf);
  }

  conversations(query: Parameters<LedgerStore['conversations']>[0]): Promise<readonly LedgerConversation[]> {
    const { sinceMs, project = null, limit } = query;
    return this.#rows.all(
      `SELECT ${SELECTED_CONVERSATION} FROM main.ledger_turn t
       WHERE at_ms >= ? AND conversation <> '' AND (CAST(? AS text) IS NULL OR project = ?)
       GROUP BY conversation, project ORDER BY "lastMs" DESC, conversation COLLATE BINARY LIMIT ?`,
      [Math.trunc(sinceMs), project, project, bounded(limit)],
    );
  }

  async cutIn(pruneId: string): Promise<CutPlace | null> {
    const [place] = await this.#rows.all<{ readonly project: string; readonly conversation: string }>(
      `SELECT s.project, c.name AS conversation FROM main.segment_prune p
       JOIN main.segment s ON s.id = p.segment JOIN main.conversation c ON c.id = s.conversation
       WHERE p.prune_id = ? ORDER BY c.seen_ms DESC LIMIT 1`,
      [pruneId],
    );
    if (!place) return null;
    const project = plainProject(place.project);
    const newest = `${TURNS} WHERE conversation = ? AND project = ? ORDER BY id DESC LIMIT 1`;
    const [row] = await this.#rows.all<TurnRow>(newest, [place.conversation, project]);
    return { project, conversationId: place.conversation, newest: row ? turnOf(row) : null };
  }

  steps(): Promise<readonly BoldnessStep[]> {
    return this.#rows.all(
      `SELECT id AS number, project, tool, kind, step, at_ms AS "atMs", texts, regretted FROM main.ledger_step
       WHERE id IN (SELECT max(id) FROM main.ledger_step GROUP BY project, tool, kind) ORDER BY id`,
    );
  }
}
