import type { ProjectStore } from '../../core/ports/projects.ts';
import type {
  DirectiveChange,
  ProjectConversation,
  ProjectDirectives,
  SegmentBatch,
  SegmentStore,
  StoredConversation,
  StoredSegment,
} from '../../core/ports/segments.ts';

export interface NarrowedSegmentsParts {
  readonly projects: () => Promise<ProjectStore>;
  readonly boundProject: (project: string) => string;
}

const NO_DIRECTIVES: ProjectDirectives = { generation: 0, directives: [], steps: [] };

/** Segments and directives of some projects; another project is one of which nothing was ever seen. */
export class NarrowedSegments implements SegmentStore {
  readonly #wide: SegmentStore;
  readonly #mine: ReadonlySet<string>;
  readonly #parts: NarrowedSegmentsParts;
  readonly #projects: readonly string[];
  /** Conversations that were given out: a row is nobody's to make up. */
  readonly #given = new WeakSet<StoredConversation>();

  constructor(wide: SegmentStore, mine: readonly string[], parts: NarrowedSegmentsParts) {
    this.#wide = wide;
    this.#parts = parts;
    this.#projects = mine;
    this.#mine = new Set(mine.flatMap((project) => [project, parts.boundProject(project)]));
  }

  directivesVersion(): string {
    return this.#wide.directivesVersion();
  }

  directives(project: string, known?: number): Promise<ProjectDirectives | null> {
    return this.#mine.has(project) ? this.#wide.directives(project, known) : Promise.resolve(NO_DIRECTIVES);
  }

  change(change: DirectiveChange): Promise<void> {
    if (this.#mine.has(change.project)) return this.#wide.change(change);
    return Promise.reject(new Error('segments of another project were found'));
  }

  note(batches: readonly SegmentBatch[]): Promise<void> {
    return this.#wide.note(batches.filter(({ project }) => this.#mine.has(project)));
  }

  async conversations(project: string, task?: string): Promise<readonly StoredConversation[]> {
    return this.#mine.has(project) ? this.#give(await this.#wide.conversations(project, task)) : [];
  }

  segments(
    conversation: StoredConversation,
    page: Parameters<SegmentStore['segments']>[1],
  ): Promise<readonly StoredSegment[]> {
    return this.#given.has(conversation) ? this.#wide.segments(conversation, page) : Promise.resolve([]);
  }

  async recentConversations({
    after,
    limit,
  }: Parameters<SegmentStore['recentConversations']>[0]): Promise<readonly ProjectConversation[]> {
    const all = await Promise.all(
      [...this.#mine].map(async (project) =>
        (await this.#wide.conversations(project)).map((one): ProjectConversation => ({ ...one, project })),
      ),
    );
    const isBehind = ({ seenMs, row }: StoredConversation): boolean =>
      after === undefined || seenMs < after.seenMs || (seenMs === after.seenMs && row < after.row);
    const found = all.flat().filter(isBehind);
    return this.#give(found.sort((a, b) => b.seenMs - a.seenMs || b.row - a.row).slice(0, limit));
  }

  async conversationsNamed(name: string): Promise<readonly ProjectConversation[]> {
    const found = await this.#wide.conversationsNamed(name);
    return this.#give(found.filter(({ project }) => this.#mine.has(project)));
  }

  /** A segment may name prunes whose text it did not bring: they are left out. */
  async prunesOf(rows: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>> {
    const found = await this.#wide.prunesOf(rows);
    const projects = await this.#parts.projects();
    const owned = await projects.owned(this.#projects, [...new Set([...found.values()].flat())]);
    const mine = [...found].map(([row, ids]) => [row, ids.filter((id) => owned.has(id))] as const);
    return new Map(mine.filter(([, ids]) => ids.length > 0));
  }

  async findSegments(project: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSegment>> {
    return this.#mine.has(project) ? this.#wide.findSegments(project, ids) : new Map();
  }

  #give<T extends StoredConversation>(conversations: readonly T[]): readonly T[] {
    for (const conversation of conversations) this.#given.add(conversation);
    return conversations;
  }
}
