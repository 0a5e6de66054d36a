import type { Database } from 'better-sqlite3';
import type {
  Directive,
  DirectiveAction,
  DirectiveChange,
  ProjectDirectives,
  Step,
} from '../../core/ports/segments.ts';

/** Past so many the oldest go. */
const MAX_DIRECTIVES = 50_000;

interface DirectiveRow {
  readonly segment: string;
  readonly action: DirectiveAction;
  readonly scope: string;
  readonly up_to: number;
}

/** What was asked of single segments, by whom it was asked or by the proxy itself. */
export class DirectiveTable {
  readonly #ofProject;
  readonly #stepsOf;
  readonly #generation;
  readonly #insert;
  readonly #insertIfNew;
  readonly #clear;
  readonly #insertStep;
  readonly #prunesOf;
  readonly #needed;
  readonly #neededIn;
  readonly #trim;
  readonly #dropOf;
  readonly #dropSteps;
  readonly #dropGenerations;

  constructor(db: Database) {
    this.#ofProject = db.prepare<[string], DirectiveRow>(
      'SELECT segment, action, scope, up_to FROM directive WHERE project = ?',
    );
    this.#stepsOf = db.prepare<[string], Step>(
      'SELECT scope, conversation, messages FROM step WHERE project = ? ORDER BY id',
    );
    this.#generation = db
      .prepare<[string], number>('SELECT generation FROM directive_generation WHERE project = ?')
      .pluck();
    const values = 'INTO directive (project, segment, scope, action, up_to) VALUES (?, ?, ?, ?, ?)';
    this.#insert = db.prepare<[string, string, string, string, number]>(`INSERT ${values}`);
    this.#insertIfNew = db.prepare<[string, string, string, string, number]>(`INSERT OR IGNORE ${values}`);
    this.#clear = db.prepare<[string, string]>('DELETE FROM directive WHERE project = ? AND segment = ?');
    this.#insertStep = db.prepare<[string, string, string, number]>(
      'INSERT OR IGNORE INTO step (project, scope, conversation, messages) VALUES (?, ?, ?, ?)',
    );
    this.#prunesOf = db
      .prepare<[string, string], string>(
        `SELECT prune_id FROM segment_prune p JOIN segment s ON s.id = p.segment WHERE s.project = ? AND s.name = ?`,
      )
      .pluck();
    const needed = `SELECT 1 FROM segment_prune p JOIN segment s ON s.id = p.segment WHERE p.prune_id = ? AND NOT EXISTS (
      SELECT 1 FROM directive d
      WHERE d.project = s.project AND d.segment = s.name AND d.scope = '' AND d.action = 'delete')`;
    this.#needed = db.prepare<[string], number>(`${needed} LIMIT 1`).pluck();
    this.#neededIn = db
      .prepare<[string, string], number>(`${needed} AND ? IN (s.project, ${unbound('s.project')}) LIMIT 1`)
      .pluck();
    this.#trim = db.prepare<[number]>(
      'DELETE FROM directive WHERE id IN (SELECT id FROM directive ORDER BY id LIMIT ?)',
    );
    const steps = `SELECT t.id FROM step t JOIN conversation c ON c.project = t.project AND c.name = t.conversation
      WHERE c.id = ?`;
    this.#dropOf = db.prepare<[number]>(
      `DELETE FROM directive WHERE id IN (
         SELECT d.id FROM step t JOIN directive d ON d.project = t.project AND d.scope = t.scope WHERE t.id IN (${steps}))`,
    );
    this.#dropSteps = db.prepare<[number]>(`DELETE FROM step WHERE id IN (${steps})`);
    this.#dropGenerations = db.prepare(
      `DELETE FROM directive_generation
       WHERE NOT EXISTS (SELECT 1 FROM directive d WHERE d.project = directive_generation.project)
       AND generation < (SELECT value FROM meter WHERE name = 'directive_generation') - 1000`,
    );
  }

  /** Changes with every change to the project's directives; 0 before the first. */
  generation(project: string): number {
    return this.#generation.get(project) ?? 0;
  }

  ofProject(project: string): ProjectDirectives {
    const generation = this.generation(project);
    if (generation === 0) return { generation, directives: [], steps: [] };
    const directives = this.#ofProject
      .all(project)
      .map(({ segment, action, scope, up_to }): Directive => ({ segment, action, scope, upTo: up_to }));
    return { generation, directives, steps: this.#stepsOf.all(project) };
  }

  /** Inside the caller's transaction. Returns the prunes that nobody of the project may find any more. */
  change({ project, set, clear, step, erase = [] }: DirectiveChange): string[] {
    for (const segment of clear) this.#clear.run(project, segment);
    if (step) this.#insertStep.run(project, step.scope, step.conversation, step.messages);
    for (const { segment, scope, action, upTo } of set) {
      // a step never takes the place of what somebody asked for
      if (scope === '') this.#clear.run(project, segment);
      (scope === '' ? this.#insert : this.#insertIfNew).run(project, segment, scope, action, upTo);
    }
    const deleted = set.filter(({ action }) => action === 'delete');
    return deleted.flatMap(({ segment }) => this.ofDeleted(project, segment, erase));
  }

  /** The prunes that hold lines of a deleted segment, and `more` of them, but for those that another of the project needs. */
  ofDeleted(project: string, segment: string, more: readonly string[]): string[] {
    const all = new Set([...more, ...this.#prunesOf.all(project, segment)]);
    const [plain = ''] = project.split('\n', 1);
    return [...all].filter((pruneId) => this.#neededIn.get(pruneId, plain) === undefined);
  }

  /** Whether a segment of any project needs a prune. */
  isNeeded(pruneId: string): boolean {
    return this.#needed.get(pruneId) !== undefined;
  }

  /** Deletes the oldest directives beyond the bound; returns how many. */
  trim(count: number, limit: number): number {
    this.#dropGenerations.run();
    return count <= MAX_DIRECTIVES ? 0 : this.#trim.run(Math.min(count - MAX_DIRECTIVES, limit)).changes;
  }

  /** Deletes the steps of a conversation that goes. */
  dropSteps(conversation: number): void {
    this.#dropOf.run(conversation);
    this.#dropSteps.run(conversation);
  }
}

/** A project's own name, where conversations are noted apart, behind a line break. */
export function unbound(column: string): string {
  return `CASE WHEN instr(${column}, char(10)) > 0 THEN substr(${column}, 1, instr(${column}, char(10)) - 1) ELSE ${column} END`;
}
