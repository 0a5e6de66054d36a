import type { RecallFound, RecallStore } from 'mcp-pruner/core/ports/recall.ts';
import { unsupported } from './unsupported.ts';

const NOTHING: RecallFound = { results: 0, meanChars: 1, withTerm: new Map(), candidates: [], more: false };

/**
 * Results, narrowed to some projects. Other projects appear empty.
 *
 * @param ownedOf - the prunes owned by the viewer's projects; only these give access to a text
 */
export function narrowedRecall(
  unscoped: RecallStore,
  ownProjects: readonly string[],
  ownedOf: (pruneIds: readonly string[]) => Promise<ReadonlySet<string>>,
): RecallStore {
  return {
    // results are recorded by the process that forwards the requests
    keep: unsupported,
    stored: unsupported,
    async find(query) {
      if (!ownProjects.includes(query.project)) return NOTHING;
      const found = await unscoped.find(query);
      const owned = await ownedOf(found.candidates.map(({ pruneId }) => pruneId));
      return { ...found, candidates: found.candidates.filter(({ pruneId }) => owned.has(pruneId)) };
    },
    seenIn: (rows, of) => unscoped.seenIn(rows, of),
    async texts(pruneIds) {
      const owned = await ownedOf(pruneIds);
      return unscoped.texts(pruneIds.filter((id) => owned.has(id)));
    },
    names: async (project, of) => (ownProjects.includes(project) ? unscoped.names(project, of) : []),
    continuedBy: async (project, task) => (ownProjects.includes(project) ? unscoped.continuedBy(project, task) : []),
  };
}
