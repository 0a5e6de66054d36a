import type {
  Directive,
  DirectiveAction,
  DirectiveChange,
  ProjectDirectives,
  Step,
} from '../../core/ports/segments.ts';
import type { Statements } from './statements.ts';

/** Beyond this the oldest are deleted. */
const MAX_DIRECTIVES = 50_000;

interface DirectiveRow {
  readonly segment: string;
  readonly action: DirectiveAction;
  readonly scope: string;
  readonly up_to: number;
}

/** Directives for single segments, requested by a client or by the proxy itself. */
export class DirectiveTable {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Incremented with every change to the project's directives; 0 before the first. */
  generation(project: string): number {
    return this.#sql.value('SELECT generation FROM directive_generation WHERE project = ?', [project]) ?? 0;
  }

  ofProject(project: string): ProjectDirectives {
    const generation = this.generation(project);
    if (generation === 0) return { generation, directives: [], steps: [] };
    const directives = this.#sql
      .all<DirectiveRow>('SELECT segment, action, scope, up_to FROM directive WHERE project = ?', [project])
      .map(({ segment, action, scope, up_to }): Directive => ({ segment, action, scope, upTo: up_to }));
    const steps = this.#sql.all<Step>('SELECT scope, conversation, messages FROM step WHERE project = ? ORDER BY id', [
      project,
    ]);
    return { generation, directives, steps };
  }

  /** Changes directives inside the caller's transaction. Returns the prunes that the project can no longer find. */
  change({ project, set, clear, step, erase = [] }: DirectiveChange): string[] {
    for (const segment of clear) this.#clear(project, segment);
    if (step) {
      this.#sql.run('INSERT OR IGNORE INTO step (project, scope, conversation, messages) VALUES (?, ?, ?, ?)', [
        project,
        step.scope,
        step.conversation,
        step.messages,
      ]);
    }
    for (const { segment, scope, action, upTo } of set) {
      // an automatic step never replaces an explicit directive
      if (scope === '') this.#clear(project, segment);
      this.#sql.run(scope === '' ? INSERT : INSERT_IF_NEW, [project, segment, scope, action, upTo]);
    }
    const deleted = set.filter(({ action }) => action === 'delete');
    return deleted.flatMap(({ segment }) => this.ofDeleted(project, segment, erase));
  }

  #clear(project: string, segment: string): void {
    this.#sql.run('DELETE FROM directive WHERE project = ? AND segment = ?', [project, segment]);
  }

  /** The prunes with lines of a deleted segment, and `more`, except those that another segment of the project needs. */
  ofDeleted(project: string, segment: string, more: readonly string[]): string[] {
    const ofSegment = this.#sql.column<string>(
      'SELECT prune_id FROM segment_prune p JOIN segment s ON s.id = p.segment WHERE s.project = ? AND s.name = ?',
      [project, segment],
    );
    const [plain = ''] = project.split('\n', 1);
    return [...new Set([...more, ...ofSegment])].filter(
      (pruneId) => this.#sql.value(NEEDED_IN, [pruneId, plain]) === undefined,
    );
  }

  /** Whether a segment of any project needs a prune. */
  isNeeded(pruneId: string): boolean {
    return this.#sql.value(`${NEEDED} LIMIT 1`, [pruneId]) !== undefined;
  }

  /** Deletes the oldest directives beyond the bound; returns how many. */
  trim(count: number, limit: number): number {
    this.#sql.run(
      `DELETE FROM directive_generation
       WHERE NOT EXISTS (SELECT 1 FROM directive d WHERE d.project = directive_generation.project)
       AND generation < (SELECT value FROM meter WHERE name = 'directive_generation') - 1000`,
    );
    if (count <= MAX_DIRECTIVES) return 0;
    return this.#sql.run('DELETE FROM directive WHERE id IN (SELECT id FROM directive ORDER BY id LIMIT ?)', [
      Math.min(count - MAX_DIRECTIVES, limit),
    ]);
  }

  /** Deletes the steps of a removed conversation. */
  dropSteps(conversation: number): void {
    this.#sql.run(
      `DELETE FROM directive WHERE id IN (
         SELECT d.id FROM step t JOIN directive d ON d.project = t.project AND d.scope = t.scope WHERE t.id IN (${STEPS_IN}))`,
      [conversation],
    );
    this.#sql.run(`DELETE FROM step WHERE id IN (${STEPS_IN})`, [conversation]);
  }
}

/** The plain project name, without the suffix after a line break of history-bound conversations. */
export function unbound(column: string): string {
  return `CASE WHEN instr(${column}, char(10)) > 0 THEN substr(${column}, 1, instr(${column}, char(10)) - 1) ELSE ${column} END`;
}

const INSERT = 'INSERT INTO directive (project, segment, scope, action, up_to) VALUES (?, ?, ?, ?, ?)';
const INSERT_IF_NEW = INSERT.replace('INSERT', 'INSERT OR IGNORE');
const NEEDED = `SELECT 1 FROM segment_prune p JOIN segment s ON s.id = p.segment WHERE p.prune_id = ? AND NOT EXISTS (
  SELECT 1 FROM directive d
  WHERE d.project = s.project AND d.segment = s.name AND d.scope = '' AND d.action = 'delete')`;
const NEEDED_IN = `${NEEDED} AND ? IN (s.project, ${unbound('s.project')}) LIMIT 1`;
const STEPS_IN = `SELECT t.id FROM step t JOIN conversation c ON c.project = t.project AND c.name = t.conversation
  WHERE c.id = ?`;
