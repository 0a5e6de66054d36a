import type { ProjectSettingsRow, ProjectSettingsStore } from '../../core/ports/project-settings.ts';
import { bounded, change, type Sql } from '../sql/steps.ts';

/** Far above any real number of rows, but low enough for versions to be exact numbers. */
const MAX_ROWS = 1_000_000;
const ROW = 'id AS number, project, at_ms AS "atMs", author, settings';

/** `ProjectSettingsStore` on the tables of either database. */
export class StoredProjectSettings implements ProjectSettingsStore {
  readonly #sql: Sql;
  readonly #onOthers: (listener: () => void) => () => void;
  readonly #listeners = new Set<() => void>();

  /** @param onOthers - subscribes to possible changes by other processes; returns the unsubscribe function */
  constructor(sql: Sql, onOthers: (listener: () => void) => () => void) {
    this.#sql = sql;
    this.#onOthers = onOthers;
  }

  onChanged(listener: () => void): () => void {
    const forget = this.#onOthers(listener);
    this.#listeners.add(listener);
    return () => {
      forget();
      this.#listeners.delete(listener);
    };
  }

  /** Combines the newest row id with the row count, because a project's rows may be erased. */
  async version(): Promise<number> {
    const [row] = await this.#sql.all<{ newest: number; rows: number }>(
      'SELECT coalesce(max(id), 0) AS newest, count(*) AS rows FROM main.project_setting',
    );
    return Number(row?.newest ?? 0) * MAX_ROWS + Number(row?.rows ?? 0);
  }

  current(): Promise<readonly ProjectSettingsRow[]> {
    return this.#sql.all(
      `SELECT ${ROW} FROM main.project_setting
       WHERE id IN (SELECT max(id) FROM main.project_setting GROUP BY project) ORDER BY project COLLATE BINARY`,
    );
  }

  history(project: string, limit: number): Promise<readonly ProjectSettingsRow[]> {
    return this.#sql.all(`SELECT ${ROW} FROM main.project_setting WHERE project = ? ORDER BY id DESC LIMIT ?`, [
      project,
      bounded(limit),
    ]);
  }

  async set({ project, atMs, author, settings }: Omit<ProjectSettingsRow, 'number'>): Promise<void> {
    await this.#sql.write(function* () {
      yield* change('INSERT INTO main.project_setting (project, at_ms, author, settings) VALUES (?, ?, ?, ?)', [
        project,
        Math.trunc(atMs),
        author,
        settings,
      ]);
    });
    for (const listener of this.#listeners) listener();
  }
}
