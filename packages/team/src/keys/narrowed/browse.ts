import type { BrowseStore } from 'mcp-pruner/core/ports/browse.ts';

export function narrowedBrowse(unscoped: BrowseStore, ownProjects: readonly string[]): BrowseStore {
  const visible = (projects: readonly string[] | undefined): readonly string[] =>
    projects === undefined ? ownProjects : projects.filter((one) => ownProjects.includes(one));
  return {
    conversations: ({ projects, ...query }) => unscoped.conversations({ ...query, projects: visible(projects) }),
    series: ({ projects, ...query }) => unscoped.series({ ...query, projects: visible(projects) }),
    facets: () => unscoped.facets(ownProjects),
    compactions: (names) => unscoped.compactions(names, ownProjects),
    showing: (pruneIds) => unscoped.showing(pruneIds, ownProjects),
    asked: (pruneIds, projects) => unscoped.asked(pruneIds, visible(projects)),
    costs: (requestIds) => unscoped.costs(requestIds, ownProjects),
  };
}
