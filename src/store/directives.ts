import type { Directive, DirectiveAction, DirectiveChange, ProjectDirectives, Step } from '../core/ports/segments.ts';
import { plainProject } from './ledger-rows.ts';
import { all, change, each, erase, number, type Steps, turn, unindex } from './sql/steps.ts';

/** The change counter of a project's directives; 0 before the first one. */
export const GENERATION = 'SELECT generation AS value FROM main.directive_generation WHERE project = ?';
const ADD = `INSERT INTO main.directive (project, segment, scope, action, up_to) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;
const ADD_STEP = `INSERT INTO main.step (project, scope, conversation, messages) VALUES (?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;
/** Prunes with lines of a segment that is not deleted. */
const NEEDED = `SELECT DISTINCT p.prune_id FROM main.segment_prune p JOIN main.segment s ON s.id = p.segment
  WHERE p.prune_id IN LIST(?) AND NOT EXISTS (
    SELECT 1 FROM main.directive d
    WHERE d.project = s.project AND d.segment = s.name AND d.scope = '' AND d.action = 'delete')`;
const OWNED = `SELECT p.prune_id FROM main.prune p WHERE p.prune_id IN LIST(?)
  AND EXISTS (SELECT 1 FROM main.prune_owner o WHERE o.prune = p.id)`;
const OF_PRUNES = 'prune IN (SELECT id FROM main.prune WHERE prune_id IN LIST(?))';

interface PruneRow {
  readonly prune_id: string;
}

/** The directives of a project with their generation. */
export function* directivesOf(project: string): Steps<ProjectDirectives> {
  const generation = yield* number(GENERATION, [project]);
  if (generation === 0) return { generation, directives: [], steps: [] };
  const directives = yield* all<Omit<Directive, 'upTo'> & { readonly up_to: number; readonly action: DirectiveAction }>(
    'SELECT segment, action, scope, up_to FROM main.directive WHERE project = ? ORDER BY segment, scope',
    [project],
  );
  const steps = yield* all<Step>('SELECT scope, conversation, messages FROM main.step WHERE project = ? ORDER BY id', [
    project,
  ]);
  return { generation, directives: directives.map(({ up_to, ...of }) => ({ ...of, upTo: up_to })), steps };
}

/** Changes directives. @returns the prunes that the project can no longer find */
export function* changeDirectives({ project, set, clear, step, erase: more = [] }: DirectiveChange): Steps<string[]> {
  yield* turn(`directives ${project}`);
  const everywhere = set.filter(({ scope }) => scope === '');
  const inSteps = set.filter(({ scope }) => scope !== '');
  const cleared = [...clear, ...everywhere.map(({ segment }) => segment)];
  if (cleared.length > 0)
    yield* change('DELETE FROM main.directive WHERE project = ? AND segment IN LIST(?)', [project, cleared]);
  if (step) yield* change(ADD_STEP, [project, step.scope, step.conversation, step.messages]);
  const lastOnes = new Map(everywhere.map((directive) => [directive.segment, directive])).values();
  // an automatic step never replaces an explicit directive
  for (const directives of [[...lastOnes], inSteps]) {
    yield* each(
      ADD,
      directives.map(({ segment, scope, action, upTo }) => [project, segment, scope, action, upTo]),
    );
  }
  const deleted = set.filter(({ action }) => action === 'delete').map(({ segment }) => segment);
  return deleted.length === 0 ? [] : yield* prunesOfDeleted(project, deleted, more);
}

/** The prunes with lines of deleted segments, and `more`, except those that another segment of the project needs. */
export function* prunesOfDeleted(
  project: string,
  segments: readonly string[],
  more: readonly string[],
): Steps<string[]> {
  const own = yield* all<PruneRow>(
    `SELECT p.prune_id FROM main.segment_prune p JOIN main.segment s ON s.id = p.segment
     WHERE s.project = ? AND s.name IN LIST(?)`,
    [project, segments],
  );
  const found = [...new Set([...more, ...own.map(({ prune_id }) => prune_id)])];
  return without(
    found,
    yield* all<PruneRow>(`${NEEDED} AND FIRST_LINE(s.project) = ?`, [found, plainProject(project)]),
  );
}

/**
 * Erases prunes of a project, their texts unless another prune needs them, and stored answers that may contain their
 * lines. Prunes that another project owns or needs stay with that one. @returns the number of erased prunes
 */
export function* erasePrunes(project: string, pruneIds: readonly string[]): Steps<number> {
  if (pruneIds.length === 0) return 0;
  const owner = plainProject(project);
  yield* unindex(owner, pruneIds);
  yield* change(`DELETE FROM main.recall WHERE project = ? AND ${OF_PRUNES}`, [owner, pruneIds]);
  yield* change(`DELETE FROM main.prune_owner WHERE project = ? AND ${OF_PRUNES}`, [owner, pruneIds]);
  const unowned = without(pruneIds, yield* all<PruneRow>(OWNED, [pruneIds]));
  const gone = without(unowned, yield* all<PruneRow>(NEEDED, [unowned]));
  const erased = yield* erase(gone);
  // the reason of a cut may contain words of the text
  yield* each(
    'DELETE FROM main.sent WHERE body LIKE ?',
    gone.map((pruneId) => [`%${pruneId}%`]),
  );
  if (erased > 0) yield* change("DELETE FROM main.reply WHERE text LIKE '%prn!_%' ESCAPE '!'");
  return erased;
}

function without(pruneIds: readonly string[], rows: readonly PruneRow[]): string[] {
  const left = new Set(pruneIds);
  for (const { prune_id } of rows) left.delete(prune_id);
  return [...left];
}
