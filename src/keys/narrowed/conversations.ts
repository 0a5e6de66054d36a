import type {
  ConversationFacets,
  ConversationQuery,
  ConversationStore,
  ListedCompaction,
  ListedConversation,
} from '../../core/ports/conversations.ts';

/** Conversations of some projects. */
export class NarrowedConversations implements ConversationStore {
  readonly #unscoped: ConversationStore;
  readonly #ownProjects: readonly string[];

  constructor(unscoped: ConversationStore, ownProjects: readonly string[]) {
    this.#unscoped = unscoped;
    this.#ownProjects = ownProjects;
  }

  list({ projects, ...query }: ConversationQuery): Promise<readonly ListedConversation[]> {
    const asked =
      projects === undefined ? this.#ownProjects : projects.filter((one) => this.#ownProjects.includes(one));
    return this.#unscoped.list({ ...query, projects: asked });
  }

  facets(): Promise<ConversationFacets> {
    return this.#unscoped.facets(this.#ownProjects);
  }

  compactions(names: readonly string[]): Promise<readonly ListedCompaction[]> {
    return this.#unscoped.compactions(names, this.#ownProjects);
  }

  showing(pruneIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.#unscoped.showing(pruneIds, this.#ownProjects);
  }

  costs(requestIds: readonly string[]): Promise<ReadonlyMap<string, number | null>> {
    return this.#unscoped.costs(requestIds, this.#ownProjects);
  }
}
