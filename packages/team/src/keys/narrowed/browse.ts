import type {
  BrowseStore,
  ConversationFacets,
  ConversationQuery,
  ListedCompaction,
  ListedConversation,
  RequestCost,
  SeriesPoint,
  SeriesQuery,
} from 'mcp-pruner/core/ports/browse.ts';
import { Narrowed } from './narrowed.ts';

export class NarrowedBrowse extends Narrowed<BrowseStore> implements BrowseStore {
  conversations({ projects, ...query }: ConversationQuery): Promise<readonly ListedConversation[]> {
    return this.unscoped.conversations({ ...query, projects: this.#visibleProjects(projects) });
  }

  series({ projects, ...query }: SeriesQuery): Promise<readonly SeriesPoint[]> {
    return this.unscoped.series({ ...query, projects: this.#visibleProjects(projects) });
  }

  facets(): Promise<ConversationFacets> {
    return this.unscoped.facets(this.ownProjects);
  }

  compactions(names: readonly string[]): Promise<readonly ListedCompaction[]> {
    return this.unscoped.compactions(names, this.ownProjects);
  }

  showing(pruneIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.unscoped.showing(pruneIds, this.ownProjects);
  }

  asked(pruneIds: readonly string[], projects?: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.unscoped.asked(pruneIds, this.#visibleProjects(projects));
  }

  costs(requestIds: readonly string[]): Promise<ReadonlyMap<string, RequestCost>> {
    return this.unscoped.costs(requestIds, this.ownProjects);
  }

  #visibleProjects(projects: readonly string[] | undefined): readonly string[] {
    return projects === undefined ? this.ownProjects : projects.filter((one) => this.ownProjects.includes(one));
  }
}
