import type { Directive, DirectiveChange, ProjectDirectives, Step } from '../../core/ports/segments.ts';
import type { Queryable } from './database.ts';
import { fromPg, toPg } from './text.ts';

/** The directives of a project with their generation, read consistently. */
export async function directivesOf(client: Queryable, project: string): Promise<ProjectDirectives> {
  const [row] = await client.query<{
    generation: number | null;
    directives: readonly { segment: string; action: Directive['action']; scope: string; up_to: number }[] | null;
    steps: readonly Step[] | null;
  }>(
    `SELECT (SELECT generation FROM mcp_pruner.directive_generation WHERE project = $1) AS generation,
       (SELECT json_agg(json_build_object('segment', segment, 'action', action, 'scope', scope, 'up_to', up_to) ORDER BY segment, scope)
        FROM mcp_pruner.directive WHERE project = $1) AS directives,
       (SELECT json_agg(json_build_object('scope', scope, 'conversation', conversation, 'messages', messages) ORDER BY id)
        FROM mcp_pruner.step WHERE project = $1) AS steps`,
    [toPg(project)],
  );
  const directives = (row?.directives ?? []).map(
    ({ segment, action, scope, up_to }): Directive => ({
      segment: fromPg(segment),
      action,
      scope: fromPg(scope),
      upTo: up_to,
    }),
  );
  const steps = (row?.steps ?? []).map(
    (step): Step => ({
      ...step,
      scope: fromPg(step.scope),
      conversation: fromPg(step.conversation),
    }),
  );
  return { generation: row?.generation ?? 0, directives, steps };
}

/** Changes directives inside the caller's transaction. Returns the prunes that the project can no longer find. */
export async function changeDirectives(client: Queryable, change: DirectiveChange): Promise<readonly string[]> {
  const { project, set, clear, step, erase = [] } = change;
  const everywhere = set.filter(({ scope }) => scope === '');
  const inSteps = set.filter(({ scope }) => scope !== '');
  const cleared = [...new Set([...clear, ...everywhere.map(({ segment }) => segment)])];
  // directive changes of a project are serialised: concurrent ones must not interleave
  await client.query("SELECT pg_advisory_xact_lock(hashtext('mcp_pruner.directives ' || $1))", [toPg(project)]);
  if (cleared.length > 0) {
    await client.query('DELETE FROM mcp_pruner.directive WHERE project = $1 AND segment = ANY ($2)', [
      toPg(project),
      cleared.map(toPg),
    ]);
  }
  if (step) {
    await client.query(
      `INSERT INTO mcp_pruner.step (project, scope, conversation, messages) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
      [toPg(project), toPg(step.scope), toPg(step.conversation), step.messages],
    );
  }
  // the last directive for a segment wins
  await insert(client, project, [...new Map(everywhere.map((one) => [one.segment, one])).values()]);
  await insert(client, project, inSteps);
  const deleted = set.filter(({ action }) => action === 'delete').map(({ segment }) => segment);
  return deleted.length === 0 ? [] : prunesOfDeleted(client, project, deleted, erase);
}

async function insert(client: Queryable, project: string, directives: readonly Directive[]): Promise<void> {
  if (directives.length === 0) return;
  await client.query(
    `INSERT INTO mcp_pruner.directive (project, segment, scope, action, up_to)
     SELECT $1, s, c, a, u FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) WITH ORDINALITY x (s, c, a, u, n)
     ORDER BY n ON CONFLICT DO NOTHING`,
    [
      toPg(project),
      directives.map(({ segment }) => toPg(segment)),
      directives.map(({ scope }) => toPg(scope)),
      directives.map(({ action }) => action),
      directives.map(({ upTo }) => upTo),
    ],
  );
}

/** The prunes with lines of deleted segments, and `more`, except those that another segment of the project needs. */
export async function prunesOfDeleted(
  client: Queryable,
  project: string,
  segments: readonly string[],
  more: readonly string[],
): Promise<readonly string[]> {
  const rows = await client.query<{ prune_id: string }>(
    `SELECT DISTINCT g.prune_id FROM (
       SELECT unnest($3::text[]) AS prune_id
       UNION SELECT p.prune_id FROM mcp_pruner.segment_prune p JOIN mcp_pruner.segment s ON s.id = p.segment
         WHERE s.project = $1 AND s.name = ANY ($2)
     ) g WHERE NOT EXISTS (${NEEDED} AND split_part(s.project, chr(10), 1) = split_part($1, chr(10), 1))`,
    [toPg(project), segments.map(toPg), more.map(toPg)],
  );
  return rows.map(({ prune_id }) => prune_id);
}

/** A segment that is not deleted and contains lines of the prune `g`. */
const NEEDED = `
  SELECT 1 FROM mcp_pruner.segment_prune p JOIN mcp_pruner.segment s ON s.id = p.segment
  WHERE p.prune_id = g.prune_id AND NOT EXISTS (
    SELECT 1 FROM mcp_pruner.directive d
    WHERE d.project = s.project AND d.segment = s.name AND d.scope = '' AND d.action = 'delete')`;

/**
 * Erases prunes of a project, their texts unless another prune needs them, and stored answers that may contain their
 * lines. Prunes that also belong to another project stay with that one. Returns the number of erased prunes.
 */
export async function erasePrunes(client: Queryable, project: string, named: readonly string[]): Promise<number> {
  if (named.length === 0) return 0;
  await client.query(
    `DELETE FROM mcp_pruner.recall r USING mcp_pruner.prune p
     WHERE p.id = r.prune AND p.prune_id = ANY ($1) AND r.project = split_part($2, chr(10), 1)`,
    [named, toPg(project)],
  );
  const pruneIds = await released(client, project, named);
  if (pruneIds.length === 0) return 0;
  const gone = await client.query<{ snapshot: number }>(
    'DELETE FROM mcp_pruner.prune WHERE prune_id = ANY ($1) RETURNING snapshot',
    [pruneIds],
  );
  // the reason of a cut may contain words of the text
  await client.query(
    'DELETE FROM mcp_pruner.sent s USING unnest($1::text[]) AS erased (id) WHERE strpos(s.body, erased.id) > 0',
    [pruneIds],
  );
  if (gone.length === 0) return 0;
  await client.query('SELECT mcp_pruner.drop_orphans($1)', [gone.map(({ snapshot }) => snapshot)]);
  await client.query("DELETE FROM mcp_pruner.reply WHERE text IS NOT NULL AND strpos(text, 'prn_') > 0");
  return gone.length;
}

/** Removes prunes from a project. Returns those that no project owns or needs now. */
async function released(client: Queryable, project: string, pruneIds: readonly string[]): Promise<string[]> {
  const [owner = ''] = project.split('\n', 1); // history-bound conversations have a suffix after a line break
  await client.query(
    `DELETE FROM mcp_pruner.prune_owner o USING mcp_pruner.prune p
     WHERE p.id = o.prune AND p.prune_id = ANY ($1) AND o.project = $2`,
    [pruneIds, toPg(owner)],
  );
  const rows = await client.query<{ prune_id: string }>(
    `SELECT g.prune_id FROM unnest($1::text[]) g (prune_id) WHERE NOT EXISTS (${NEEDED}) AND NOT EXISTS (
       SELECT 1 FROM mcp_pruner.prune p JOIN mcp_pruner.prune_owner o ON o.prune = p.id WHERE p.prune_id = g.prune_id)`,
    [pruneIds],
  );
  return rows.map(({ prune_id }) => prune_id);
}
