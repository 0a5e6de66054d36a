import type { ProjectStore } from 'mcp-pruner/core/ports/projects.ts';
import type {
  DirectiveChange,
  ProjectConversation,
  ProjectDirectives,
  SegmentBatch,
  SegmentStore,
  StoredConversation,
  StoredSegment,
} from 'mcp-pruner/core/ports/segments.ts';

interface NarrowedSegmentsParts {
  readonly projects: () => Promise<ProjectStore>;
  readonly verifiedHistoryProject: (project: string) => string;
}

const NO_DIRECTIVES: ProjectDirectives = { generation: 0, directives: [], steps: [] };

/** Segments and directives, narrowed to some projects. Other projects appear empty. */
export class NarrowedSegments implements SegmentStore {
  readonly #unscoped: SegmentStore;
  readonly #ownProjects: ReadonlySet<string>;
  readonly #parts: NarrowedSegmentsParts;
  readonly #projects: readonly string[];
  /** Only conversations returned by this object may be passed back: callers cannot forge row ids. */
  readonly #issued = new WeakSet<StoredConversation>();

  constructor(unscoped: SegmentStore, ownProjects: readonly string[], parts: NarrowedSegmentsParts) {
    this.#unscoped = unscoped;
    this.#parts = parts;
    this.#projects = ownProjects;
    this.#ownProjects = new Set(ownProjects.flatMap((project) => [project, parts.verifiedHistoryProject(project)]));
  }

  directivesVersion(): string {
    return this.#unscoped.directivesVersion();
  }

  directives(project: string, known?: number): Promise<ProjectDirectives | null> {
    return this.#ownProjects.has(project) ? this.#unscoped.directives(project, known) : Promise.resolve(NO_DIRECTIVES);
  }

  change(change: DirectiveChange): Promise<void> {
    if (this.#ownProjects.has(change.project)) return this.#unscoped.change(change);
    return Promise.reject(new Error('segments of another project cannot be changed'));
  }

  note(batches: readonly SegmentBatch[]): Promise<void> {
    return this.#unscoped.note(batches.filter(({ project }) => this.#ownProjects.has(project)));
  }

  async conversations(project: string, task?: string): Promise<readonly StoredConversation[]> {
    return this.#ownProjects.has(project) ? this.#give(await this.#unscoped.conversations(project, task)) : [];
  }

  segments(
    conversation: StoredConversation,
    page: Parameters<SegmentStore['segments']>[1],
  ): Promise<readonly StoredSegment[]> {
    return this.#issued.has(conversation) ? this.#unscoped.segments(conversation, page) : Promise.resolve([]);
  }

  async conversationsNamed(name: string): Promise<readonly ProjectConversation[]> {
    const found = await this.#unscoped.conversationsNamed(name);
    return this.#give(found.filter(({ project }) => this.#ownProjects.has(project)));
  }

  /** Excludes prunes that only other projects own. */
  async prunesOf(rows: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>> {
    const found = await this.#unscoped.prunesOf(rows);
    const projects = await this.#parts.projects();
    const owned = await projects.owned(this.#projects, [...new Set([...found.values()].flat())]);
    const visible = [...found].map(([row, ids]) => [row, ids.filter((id) => owned.has(id))] as const);
    return new Map(visible.filter(([, ids]) => ids.length > 0));
  }

  async findSegments(project: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSegment>> {
    return this.#ownProjects.has(project) ? this.#unscoped.findSegments(project, ids) : new Map();
  }

  #give<T extends StoredConversation>(conversations: readonly T[]): readonly T[] {
    for (const conversation of conversations) this.#issued.add(conversation);
    return conversations;
  }
}
