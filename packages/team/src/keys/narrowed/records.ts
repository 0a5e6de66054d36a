import type { ProjectStore } from 'mcp-pruner/core/ports/projects.ts';
import type { Records } from 'mcp-pruner/core/ports/records.ts';

/**
 * Lists, narrowed to some projects. Agents belong to no project and are hidden.
 *
 * @param project - the project for stored replies
 */
export function narrowedRecords(
  unscoped: Records,
  ownProjects: readonly string[],
  project: string,
  projects: () => Promise<ProjectStore>,
): Records {
  // project names contain no line break, so it is a safe separator
  const own = (key: string): string => `${project}\n${key}`;
  return {
    runs: async (query) => (await projects()).runs(ownProjects, query),
    lastSeqOfRun: async (runId) => (await projects()).lastSeq(ownProjects, runId),
    lastSeq: async () => (await projects()).lastSeq(ownProjects),
    prunes: async (query) => (await projects()).prunes(ownProjects, query),
    prunesByAge: async (page) => (await projects()).prunesByAge(ownProjects, page),
    async ages() {
      const { oldestMs, newestMs, nextExpiryMs, lastExpiryMs } = await (await projects()).sizes(ownProjects);
      return { oldestMs, newestMs, nextExpiryMs, lastExpiryMs };
    },
    async pruneState(pruneId) {
      const owned = await (await projects()).owned(ownProjects, [pruneId]);
      return owned.has(pruneId) ? unscoped.pruneState(pruneId) : 'unknown';
    },
    children: async () => [],
    lastSeqOfChild: async () => 0,
    childLogs: async () => [],
    addChildLogs: async () => {},
    claimReply: (tool, key, argsHash, ttlMs) => unscoped.claimReply(tool, own(key), argsHash, ttlMs),
    holdReply: (tool, key, ttlMs) => unscoped.holdReply(tool, own(key), ttlMs),
    keepReply: (tool, key, argsHash, text, ttlMs) => unscoped.keepReply(tool, own(key), argsHash, text, ttlMs),
    dropReply: (tool, key, kept) => unscoped.dropReply(tool, own(key), kept),
  };
}
