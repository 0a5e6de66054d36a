import type { Database } from 'better-sqlite3';
import type {
  BoldnessStep,
  CutPlace,
  LedgerConversation,
  LedgerStore,
  LedgerSum,
  LedgerTurn,
} from '../../core/ports/ledger.ts';
import {
  addedUp,
  bounded,
  CONVERSATION_COLUMNS,
  type ConversationRow,
  conversationOf,
  MAX_SUMS_PER_DAY,
  MAX_SUMS_READ,
  MAX_TURNS,
  plainProject,
  TURN_COLUMNS,
  type TurnRow,
  turnOf,
  turnRow,
} from '../ledger-rows.ts';
import { type Access, BACKGROUND_WAIT_MS } from './access.ts';

interface StepRow extends Omit<BoldnessStep, 'atMs'> {
  readonly at_ms: number;
}

/** The ledger's statements on one connection. */
class LedgerTables {
  readonly addTurn;
  readonly trim;
  readonly addSum;
  readonly newSum;
  readonly sumsOfDay;
  readonly sums;
  readonly turns;
  readonly conversations;
  readonly placeOf;
  readonly newestOf;
  readonly steps;
  readonly addStep;

  constructor(db: Database) {
    const columns = TURN_COLUMNS.join(', ');
    this.addTurn = db.prepare<[TurnRow]>(
      `INSERT OR IGNORE INTO ledger_turn (${columns}) VALUES (${TURN_COLUMNS.map((name) => `@${name}`).join(', ')})`,
    );
    this.trim = db.prepare<[number, number]>(
      'DELETE FROM ledger_turn WHERE id IN (SELECT id FROM ledger_turn WHERE id <= (SELECT max(id) FROM ledger_turn) - ? ORDER BY id LIMIT ?)',
    );
    this.addSum = db.prepare<[LedgerSum]>(
      `UPDATE ledger_sum SET value = value + @value
       WHERE day = @day AND project = @project AND slice = @slice AND key = @key AND field = @field`,
    );
    this.newSum = db.prepare<[LedgerSum]>(
      'INSERT INTO ledger_sum (day, project, slice, key, field, value) VALUES (@day, @project, @slice, @key, @field, @value)',
    );
    this.sumsOfDay = db.prepare<[string], number>('SELECT count(*) FROM ledger_sum WHERE day = ?').pluck();
    this.sums = db.prepare<[string, string | null, string | null, string | null, string | null], LedgerSum>(
      `SELECT day, project, slice, key, field, value FROM ledger_sum
       WHERE day >= ? AND (? IS NULL OR project = ?) AND (? IS NULL OR slice = ?)
       ORDER BY day DESC, project, slice, key, field LIMIT ${MAX_SUMS_READ}`,
    );
    this.turns = db.prepare<[string, string | null, string | null, number], TurnRow>(
      `SELECT ${columns} FROM ledger_turn WHERE conversation = ?
       AND (? IS NULL OR id > (SELECT id FROM ledger_turn WHERE request_id = ?)) ORDER BY id LIMIT ?`,
    );
    this.conversations = db.prepare<[number, string | null, string | null, number], ConversationRow>(
      `SELECT ${CONVERSATION_COLUMNS} FROM ledger_turn WHERE at_ms >= ? AND conversation <> '' AND (? IS NULL OR project = ?)
       GROUP BY conversation, project ORDER BY last_ms DESC, conversation LIMIT ?`,
    );
    this.placeOf = db.prepare<[string], { readonly project: string; readonly conversation: string }>(
      `SELECT s.project, c.name AS conversation FROM segment_prune p JOIN segment s ON s.id = p.segment
       JOIN conversation c ON c.id = s.conversation WHERE p.prune_id = ? ORDER BY c.seen_ms DESC LIMIT 1`,
    );
    this.newestOf = db.prepare<[string, string], TurnRow>(
      `SELECT ${columns} FROM ledger_turn WHERE conversation = ? AND project = ? ORDER BY id DESC LIMIT 1`,
    );
    this.steps = db.prepare<[], StepRow>(
      `SELECT id AS number, project, tool, kind, step, at_ms, texts, regretted FROM ledger_step
       WHERE id IN (SELECT max(id) FROM ledger_step GROUP BY project, tool, kind) ORDER BY id`,
    );
    this.addStep = db.prepare<[Omit<StepRow, 'number'> & { readonly after: number }]>(
      `INSERT INTO ledger_step (project, tool, kind, step, at_ms, texts, regretted)
       SELECT @project, @tool, @kind, @step, @at_ms, @texts, @regretted WHERE NOT EXISTS
         (SELECT 1 FROM ledger_step WHERE project = @project AND tool = @tool AND kind = @kind AND id > @after)`,
    );
  }
}

/** `LedgerStore` on the tables of a store's file. */
export class FileLedger implements LedgerStore {
  readonly #access: Access;
  readonly #prepared = new WeakMap<Database, LedgerTables>();

  constructor(access: Access) {
    this.#access = access;
  }

  async add(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<void> {
    if (turns.length + sums.length === 0) return;
    await this.#access.write(
      ({ db }) => {
        const tables = this.#on(db);
        let added = 0;
        for (const turn of turns) added += tables.addTurn.run(turnRow(turn)).changes;
        if (added > 0) tables.trim.run(MAX_TURNS, added * 2);
        for (const sum of addedUp(sums)) {
          if (tables.addSum.run(sum).changes > 0) continue;
          if ((tables.sumsOfDay.get(sum.day) ?? 0) < MAX_SUMS_PER_DAY) tables.newSum.run(sum);
        }
      },
      { waitMs: BACKGROUND_WAIT_MS },
    );
  }

  sums({ sinceDay, ...of }: Parameters<LedgerStore['sums']>[0]): Promise<readonly LedgerSum[]> {
    const { project = null, slice = null } = of;
    return this.#read((tables) => tables.sums.all(sinceDay, project, project, slice, slice));
  }

  turns({ conversationId, limit, ...page }: Parameters<LedgerStore['turns']>[0]): Promise<readonly LedgerTurn[]> {
    const after = page.after ?? null;
    return this.#read((tables) => tables.turns.all(conversationId, after, after, bounded(limit)).map(turnOf));
  }

  conversations({
    sinceMs,
    limit,
    ...of
  }: Parameters<LedgerStore['conversations']>[0]): Promise<readonly LedgerConversation[]> {
    const project = of.project ?? null;
    return this.#read((tables) =>
      tables.conversations.all(Math.trunc(sinceMs), project, project, bounded(limit)).map(conversationOf),
    );
  }

  cutIn(pruneId: string): Promise<CutPlace | null> {
    return this.#read((tables) => {
      const place = tables.placeOf.get(pruneId);
      if (!place) return null;
      const project = plainProject(place.project);
      const newest = tables.newestOf.get(place.conversation, project);
      return { project, conversationId: place.conversation, newest: newest ? turnOf(newest) : null };
    });
  }

  steps(): Promise<readonly BoldnessStep[]> {
    return this.#read((tables) => tables.steps.all().map(({ at_ms, ...step }) => ({ ...step, atMs: at_ms })));
  }

  addStep({ atMs, ...step }: Omit<BoldnessStep, 'number'>, after: number): Promise<BoldnessStep | null> {
    return this.#access.write(({ db }) => {
      const { changes, lastInsertRowid } = this.#on(db).addStep.run({ ...step, at_ms: Math.trunc(atMs), after });
      return changes === 0 ? null : { ...step, atMs, number: Number(lastInsertRowid) };
    });
  }

  #read<T>(work: (tables: LedgerTables) => T): Promise<T> {
    return this.#access.read(({ db }) => work(this.#on(db)));
  }

  /** Prepared with the first use on a connection: most processes that open a store never ask. */
  #on(db: Database): LedgerTables {
    const known = this.#prepared.get(db) ?? new LedgerTables(db);
    this.#prepared.set(db, known);
    return known;
  }
}
