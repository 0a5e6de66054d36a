import type { LedgerSum } from '../core/ports/ledger.ts';

/** Figures of one part of a day: what belongs to a `LedgerSum`, field by field. */
export interface SumGroup extends Omit<LedgerSum, 'field' | 'value'> {
  readonly fields: Readonly<Record<string, number>>;
}

/** Parts that wait to be written at most; past it new ones are left out. */
const MAX_GROUPS = 5_000;

interface Waiting extends Omit<LedgerSum, 'field' | 'value'> {
  readonly fields: Map<string, number>;
}

/** Adds figures up until they are written: each request has some forty, and most of them belong to a few parts. */
export class WaitingSums {
  #groups = new Map<string, Waiting>();

  add({ day, project, slice, key, fields }: SumGroup): void {
    const id = `${day}\0${project}\0${slice}\0${key}`;
    let waiting = this.#groups.get(id);
    if (waiting === undefined) {
      if (this.#groups.size >= MAX_GROUPS) return;
      waiting = { day, project, slice, key, fields: new Map() };
      this.#groups.set(id, waiting);
    }
    for (const field in fields) {
      const value = fields[field] ?? 0;
      if (value !== 0) waiting.fields.set(field, (waiting.fields.get(field) ?? 0) + value);
    }
  }

  /** All that waits; it waits no more. */
  take(): readonly LedgerSum[] {
    const groups = this.#groups;
    this.#groups = new Map();
    return [...groups.values()].flatMap(({ day, project, slice, key, fields }) =>
      Array.from(fields, ([field, value]): LedgerSum => ({ day, project, slice, key, field, value })),
    );
  }
}
