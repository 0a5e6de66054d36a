import type { BoldnessStep, LedgerTurn } from '../core/ports/ledger.ts';
import type {
  CutPlace,
  LedgerConversation,
  LedgerStore,
  LedgerSum,
  SettleQuery,
  SettleWork,
  SpentDollars,
} from '../core/ports/ledger-store.ts';
import {
  MAX_SUMS_READ,
  plainProject,
  SELECTED_CONVERSATION,
  SELECTED_TURN,
  type TurnRow,
  turnOf,
} from './ledger-rows.ts';
import { addToLedger, exchangeNote, settle, settlingOf } from './ledger-writes.ts';
import { bounded, type Rows } from './sql/rows.ts';
import { each, inTurn, one, type Sql, type Steps, type Transactions } from './sql/steps.ts';

const TURNS = `SELECT ${SELECTED_TURN} FROM main.ledger_turn`;

/** How long writing waits for other writers, in milliseconds. */
const WAIT_MS = 5_000;
const ADD_STEP = `INSERT INTO main.ledger_step (project, tool, kind, step, at_ms, texts, regretted) VALUES (?, ?, ?, ?, ?, ?, ?)
  RETURNING id`;

/** `LedgerStore` on the tables of either database. */
export class StoredLedger implements LedgerStore {
  readonly #rows: Rows;
  readonly #transactions: Transactions;

  constructor(sql: Sql) {
    this.#rows = sql;
    this.#transactions = inTurn(sql, 'ledger');
  }

  settle(query: SettleQuery, work: SettleWork): Promise<number> {
    const settled = function* (): Steps<number> {
      return yield* settle(work(yield* settlingOf(query)));
    };
    return this.#transactions.write(settled, { waitMs: WAIT_MS, background: true });
  }

  async add(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<number> {
    if (turns.length + sums.length === 0) return 0;
    return this.#transactions.write(() => addToLedger(turns, sums), { waitMs: WAIT_MS, background: true });
  }

  addStep(step: Omit<BoldnessStep, 'number'>, after: number): Promise<BoldnessStep | null> {
    const { project, tool, kind, atMs, texts, regretted } = step;
    return this.#transactions.write(function* (): Steps<BoldnessStep | null> {
      const later = yield* one(
        'SELECT 1 AS found FROM main.ledger_step WHERE project = ? AND tool = ? AND kind = ? AND id > ? LIMIT 1',
        [project, tool, kind, after],
      );
      if (later) return null;
      const values = [project, tool, kind, step.step, Math.trunc(atMs), texts, regretted];
      const [row] = yield* each<{ id: number }>(ADD_STEP, [values]);
      return row ? { ...step, number: row.id } : null;
    });
  }

  /** As `StoreHandle.exchange`. */
  exchange(name: string, text: string): Promise<string | null> {
    return this.#transactions.write(() => exchangeNote(name, text));
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
