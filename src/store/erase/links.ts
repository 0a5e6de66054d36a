import { all, type Steps } from '../sql/steps.ts';

/** The owner of data: a whole project, or some of its conversations. */
export interface Owner {
  readonly project: string;
  /** Names of conversations. */
  readonly conversations: readonly string[];
  /** Whether the whole project, with all conversations, is meant. */
  readonly whole: boolean;
}

interface PruneRow {
  readonly prune_id: string;
}

/**
 * Charges do not name a project, so they are no evidence of ownership if conversations of two projects share a name.
 */
const OF_CONVERSATIONS = `
  SELECT l.prune_id FROM main.segment_prune l JOIN main.segment s ON s.id = l.segment
    JOIN main.conversation c ON c.id = s.conversation WHERE FIRST_LINE(c.project) = ? AND c.name IN LIST(?)
  UNION SELECT p.prune_id FROM main.charge h JOIN main.prune p ON p.id = h.prune WHERE h.conversation IN LIST(?)
    AND NOT EXISTS (SELECT 1 FROM main.conversation o WHERE o.name = h.conversation AND FIRST_LINE(o.project) <> ?)
  UNION SELECT p.prune_id FROM main.recall_seen v JOIN main.recall r ON r.id = v.recall
    JOIN main.prune p ON p.id = r.prune WHERE r.project = ? AND v.conversation IN LIST(?)`;
const OF_PROJECT = `
  SELECT p.prune_id FROM main.prune_owner o JOIN main.prune p ON p.id = o.prune WHERE o.project = ?
  UNION SELECT p.prune_id FROM main.recall r JOIN main.prune p ON p.id = r.prune WHERE r.project = ?
  UNION SELECT l.prune_id FROM main.segment_prune l JOIN main.segment s ON s.id = l.segment WHERE FIRST_LINE(s.project) = ?`;
/** Without keys, texts of tool calls have no conversation and count as data of the project `default`. */
const OF_NOBODY = `
  SELECT p.prune_id FROM main.prune p
  WHERE NOT EXISTS (SELECT 1 FROM main.prune_owner o WHERE o.prune = p.id)
    AND NOT EXISTS (SELECT 1 FROM main.charge h WHERE h.prune = p.id)
    AND NOT EXISTS (SELECT 1 FROM main.recall r WHERE r.prune = p.id)
    AND NOT EXISTS (SELECT 1 FROM main.segment_prune l WHERE l.prune_id = p.prune_id)`;
const NEEDED = `
  SELECT p.prune_id FROM main.prune p JOIN main.prune_owner o ON o.prune = p.id
    WHERE p.prune_id IN LIST(?) AND o.project <> ?
  UNION SELECT p.prune_id FROM main.prune p JOIN main.recall r ON r.prune = p.id
    WHERE p.prune_id IN LIST(?) AND r.project <> ?
  UNION SELECT l.prune_id FROM main.segment_prune l JOIN main.segment s ON s.id = l.segment
    JOIN main.conversation c ON c.id = s.conversation
    WHERE l.prune_id IN LIST(?) AND NOT (FIRST_LINE(c.project) = ? AND (? = 1 OR c.name IN LIST(?)))
  UNION SELECT p.prune_id FROM main.prune p JOIN main.charge h ON h.prune = p.id
    JOIN main.conversation c ON c.name = h.conversation
    WHERE p.prune_id IN LIST(?) AND NOT c.name IN LIST(?)`;
const SEEN_ELSEWHERE = `
  SELECT p.prune_id FROM main.prune p JOIN main.recall r ON r.prune = p.id JOIN main.recall_seen v ON v.recall = r.id
  WHERE p.prune_id IN LIST(?) AND NOT v.conversation IN LIST(?)`;

/** Project of requests that name none. */
const DEFAULT_PROJECT = 'default';
const PRUNE_ID = /\bprn_[0-9A-Z]{12}\b/g;

/** Prune ids in a text. */
export function pruneIdsIn(text: string): readonly string[] {
  return text.match(PRUNE_ID) ?? [];
}

/** Prunes that an owner's requests stored or contained. */
export function* linkedPrunes({ project, conversations, whole }: Owner): Steps<string[]> {
  const found = new Set<string>();
  const add = (rows: readonly PruneRow[]): void => {
    for (const { prune_id } of rows) found.add(prune_id);
  };
  add(yield* all<PruneRow>(OF_CONVERSATIONS, [project, conversations, conversations, project, project, conversations]));
  if (!whole) return [...found];
  add(yield* all<PruneRow>(OF_PROJECT, [project, project, project]));
  const shelf = yield* shelfPrunes();
  const ownShelf = [...shelf].flatMap(([id, projects]) => (projects.has(project) ? id : []));
  const nobodys = project === DEFAULT_PROJECT ? yield* all<PruneRow>(OF_NOBODY) : [];
  add(nobodys.filter(({ prune_id }) => !shelf.has(prune_id)));
  for (const id of ownShelf) found.add(id);
  return [...found];
}

/** Prunes that another project, or another conversation of the project, needs too. */
export function* neededElsewhere(
  { project, conversations, whole }: Owner,
  pruneIds: readonly string[],
): Steps<ReadonlySet<string>> {
  if (pruneIds.length === 0) return new Set();
  const others = [pruneIds, project, whole ? 1 : 0, conversations];
  const rows = yield* all<PruneRow>(NEEDED, [
    ...[pruneIds, project, pruneIds, project, ...others, pruneIds, conversations],
  ]);
  const seen = whole ? [] : yield* all<PruneRow>(SEEN_ELSEWHERE, [pruneIds, conversations]);
  const needed = new Set([...rows, ...seen].map(({ prune_id }) => prune_id));
  const shelf = yield* shelfPrunes();
  for (const id of pruneIds) {
    const projects = shelf.get(id);
    if (projects && (!whole || [...projects].some((one) => one !== project))) needed.add(id);
  }
  return needed;
}

/** Prunes of shortened tool descriptions, with the projects whose conversations contain them. */
function* shelfPrunes(): Steps<Map<string, Set<string>>> {
  const rows = yield* all<{ project: string; cuts: string }>(
    "SELECT DISTINCT project, cuts FROM main.tool_shelf_conversation WHERE cuts <> '[]'",
  );
  const found = new Map<string, Set<string>>();
  for (const { project, cuts } of rows) {
    for (const id of pruneIdsIn(cuts)) found.set(id, (found.get(id) ?? new Set()).add(project));
  }
  return found;
}
