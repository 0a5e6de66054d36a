import type { ProjectStore } from 'mcp-pruner/core/ports/projects.ts';
import type { SegmentStore, StoredConversation } from 'mcp-pruner/core/ports/segments.ts';
import { verifiedHistoryProject } from 'mcp-pruner/core/segments/verified-history-project.ts';

/** Segments and directives, narrowed to some projects. Other projects appear empty. */
export function narrowedSegments(
  unscoped: SegmentStore,
  projects: readonly string[],
  stored: () => Promise<ProjectStore>,
): SegmentStore {
  const own = new Set(projects.flatMap((project) => [project, verifiedHistoryProject(project)]));
  // only conversations returned by this object may be passed back: callers cannot forge row ids
  const issued = new WeakSet<StoredConversation>();
  const issue = <T extends StoredConversation>(conversations: readonly T[]): readonly T[] => {
    for (const conversation of conversations) issued.add(conversation);
    return conversations;
  };
  return {
    directivesVersion: () => unscoped.directivesVersion(),
    directives: async (project, known) =>
      own.has(project) ? unscoped.directives(project, known) : { generation: 0, directives: [], steps: [] },
    async change(change) {
      if (!own.has(change.project)) throw new Error('segments of another project cannot be changed');
      await unscoped.change(change);
    },
    note: (batches) => unscoped.note(batches.filter(({ project }) => own.has(project))),
    conversations: async (project, task) =>
      own.has(project) ? issue(await unscoped.conversations(project, task)) : [],
    segments: async (conversation, page) => (issued.has(conversation) ? unscoped.segments(conversation, page) : []),
    async conversationsNamed(name) {
      const found = await unscoped.conversationsNamed(name);
      return issue(found.filter(({ project }) => own.has(project)));
    },
    // excludes prunes that only other projects own
    async prunesOf(rows) {
      const found = await unscoped.prunesOf(rows);
      const owned = await (await stored()).owned(projects, [...new Set([...found.values()].flat())]);
      const visible = [...found].map(([row, ids]) => [row, ids.filter((id) => owned.has(id))] as const);
      return new Map(visible.filter(([, ids]) => ids.length > 0));
    },
    findSegments: async (project, ids) => (own.has(project) ? unscoped.findSegments(project, ids) : new Map()),
  };
}
