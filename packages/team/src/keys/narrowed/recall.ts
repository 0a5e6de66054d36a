import type {
  RecallCandidate,
  RecallFound,
  RecallQuery,
  RecallStore,
  TaskScope,
} from 'mcp-pruner/core/ports/recall.ts';
import { unsupported } from './narrowed.ts';

const NOTHING: RecallFound = { results: 0, meanChars: 1, withTerm: new Map(), candidates: [], more: false };

/** Results, narrowed to some projects. Other projects appear empty. */
export class NarrowedRecall implements RecallStore {
  readonly #unscoped: RecallStore;
  readonly #projects: readonly string[];
  /** Returns the prunes owned by the viewer's projects; only these give access to a text. */
  readonly #owned: (pruneIds: readonly string[]) => Promise<ReadonlySet<string>>;

  constructor(
    unscoped: RecallStore,
    ownProjects: readonly string[],
    owned: (pruneIds: readonly string[]) => Promise<ReadonlySet<string>>,
  ) {
    this.#unscoped = unscoped;
    this.#projects = ownProjects;
    this.#owned = owned;
  }

  /** Results are recorded by the process that forwards the requests. */
  keep = unsupported;
  stored = unsupported;

  /** Searches one of the viewer's projects; other projects appear empty. */
  async find(query: RecallQuery): Promise<RecallFound> {
    if (!this.#isMine(query.project)) return NOTHING;
    const found = await this.#unscoped.find(query);
    return { ...found, candidates: await this.#ownedOf(found.candidates) };
  }

  seenIn(rows: readonly number[], of: TaskScope): Promise<ReadonlySet<number>> {
    return this.#unscoped.seenIn(rows, of);
  }

  async texts(pruneIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const owned = await this.#owned(pruneIds);
    return this.#unscoped.texts(pruneIds.filter((id) => owned.has(id)));
  }

  names(project: string, of: 'tool' | 'path'): Promise<readonly string[]> {
    return this.#isMine(project) ? this.#unscoped.names(project, of) : Promise.resolve([]);
  }

  continuedBy(project: string, task: string): Promise<readonly string[]> {
    return this.#isMine(project) ? this.#unscoped.continuedBy(project, task) : Promise.resolve([]);
  }

  #isMine(project: string): boolean {
    return this.#projects.includes(project);
  }

  async #ownedOf(found: readonly RecallCandidate[]): Promise<readonly RecallCandidate[]> {
    const owned = await this.#owned(found.map(({ pruneId }) => pruneId));
    return found.filter(({ pruneId }) => owned.has(pruneId));
  }
}
