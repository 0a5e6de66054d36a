import type { BoldnessStep, LedgerStore, LedgerSum, LedgerTurn } from '../../core/ports/ledger.ts';
import { LedgerLists } from '../ledger-lists.ts';
import { addedUp, MAX_SUMS_PER_DAY, MAX_TURNS, TURN_COLUMNS, TURN_FIELDS, turnRow } from '../ledger-rows.ts';
import { type Access, BACKGROUND_WAIT_MS } from './access.ts';

const ADD_TURN = `INSERT OR IGNORE INTO ledger_turn (${TURN_COLUMNS.join(', ')})
  VALUES (${TURN_FIELDS.map((field) => `@${field}`).join(', ')})`;

/** `LedgerStore` on the tables of a store's file. */
export class FileLedger extends LedgerLists implements LedgerStore {
  readonly #access: Access;

  constructor(access: Access) {
    super(access);
    this.#access = access;
  }

  async add(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<void> {
    if (turns.length + sums.length === 0) return;
    await this.#access.write(
      ({ sql }) => {
        let added = 0;
        for (const turn of turns) added += sql.run(ADD_TURN, [turnRow(turn)]);
        const old = 'SELECT id FROM ledger_turn WHERE id <= (SELECT max(id) FROM ledger_turn) - ? ORDER BY id LIMIT ?';
        if (added > 0) sql.run(`DELETE FROM ledger_turn WHERE id IN (${old})`, [MAX_TURNS, added * 2]);
        for (const sum of addedUp(sums)) {
          const grown = sql.run(
            `UPDATE ledger_sum SET value = value + @value
             WHERE day = @day AND project = @project AND slice = @slice AND key = @key AND field = @field`,
            [sum],
          );
          if (grown > 0) continue;
          if ((sql.value('SELECT count(*) FROM ledger_sum WHERE day = ?', [sum.day]) ?? 0) >= MAX_SUMS_PER_DAY)
            continue;
          sql.run(
            `INSERT INTO ledger_sum (day, project, slice, key, field, value)
             VALUES (@day, @project, @slice, @key, @field, @value)`,
            [sum],
          );
        }
      },
      { waitMs: BACKGROUND_WAIT_MS },
    );
  }

  addStep(step: Omit<BoldnessStep, 'number'>, after: number): Promise<BoldnessStep | null> {
    return this.#access.write(({ sql }) => {
      const number = sql.value(
        `INSERT INTO ledger_step (project, tool, kind, step, at_ms, texts, regretted)
         SELECT @project, @tool, @kind, @step, @atMs, @texts, @regretted WHERE NOT EXISTS
           (SELECT 1 FROM ledger_step WHERE project = @project AND tool = @tool AND kind = @kind AND id > @after)
         RETURNING id`,
        [{ ...step, atMs: Math.trunc(step.atMs), after }],
      );
      return number === undefined ? null : { ...step, number };
    });
  }
}
