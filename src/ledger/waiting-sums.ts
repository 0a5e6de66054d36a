import type { LedgerSum, Others } from '../core/ports/ledger-store.ts';

/** Figures of one part of a day: what belongs to a `LedgerSum`, field by field. */
export interface SumGroup extends Omit<LedgerSum, 'field' | 'value'> {
  readonly fields: Readonly<Record<string, number>>;
}

const OTHERS: Others = '(others)';
/** Parts that wait to be written at most, of projects by their names and of `(others)`; past it they are added to `(others)`. */
const MAX_GROUPS = 5_000;
const MAX_OTHERS = 1_000;

interface Waiting extends Omit<LedgerSum, 'field' | 'value'> {
  readonly fields: Map<string, number>;
}

/** Adds figures up until they are written: each request has some forty, and most of them belong to a few parts. */
export class WaitingSums {
  #groups = new Map<string, Waiting>();

  get isEmpty(): boolean {
    return this.#groups.size === 0;
  }

  add(group: SumGroup): void {
    const { fields } = group;
    const waiting = this.#groupOf(group);
    for (const field in fields) {
      const value = fields[field] ?? 0;
      if (value !== 0) waiting.fields.set(field, (waiting.fields.get(field) ?? 0) + value);
    }
  }

  /** What could not be written waits again. */
  putBack(sums: readonly LedgerSum[]): void {
    for (const { field, value, ...of } of sums) this.add({ ...of, fields: { [field]: value } });
  }

  #groupOf({ day, project, slice, key }: SumGroup): Waiting {
    const id = `${day}\0${project}\0${slice}\0${key}`;
    const known = this.#groups.get(id);
    if (known) return known;
    const { size } = this.#groups;
    if (size >= MAX_GROUPS && project !== OTHERS)
      return this.#groupOf({ day, project: OTHERS, slice, key, fields: {} });
    if (size >= MAX_GROUPS + MAX_OTHERS && key !== OTHERS && key !== '') {
      return this.#groupOf({ day, project, slice, key: OTHERS, fields: {} });
    }
    const waiting: Waiting = { day, project, slice, key, fields: new Map() };
    this.#groups.set(id, waiting);
    return waiting;
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
