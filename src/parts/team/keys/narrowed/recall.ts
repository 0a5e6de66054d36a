import type {
  RecallCandidate,
  RecallFrequencies,
  RecallQuery,
  RecallScope,
  RecallStore,
  TaskScope,
} from '../../../../core/ports/recall.ts';
import { unsupported } from './narrowed.ts';

const NOTHING: RecallFrequencies = { results: 0, meanChars: 1, withTerm: new Map() };

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
  merge = unsupported;
  stored = unsupported;

  index(): Promise<boolean> {
    return this.#unscoped.index();
  }

  isBehind(): Promise<boolean> {
    return this.#unscoped.isBehind();
  }

  /** Word frequencies of one of the viewer's projects; other projects appear empty. */
  frequencies(project: string, terms: readonly string[]): Promise<RecallFrequencies> {
    return this.#isMine(project) ? this.#unscoped.frequencies(project, terms) : Promise.resolve(NOTHING);
  }

  async candidates(query: RecallQuery): Promise<readonly RecallCandidate[]> {
    return this.#isMine(query.project) ? this.#ownedOf(await this.#unscoped.candidates(query)) : [];
  }

  async waiting(scope: RecallScope, limit: number): Promise<readonly RecallCandidate[]> {
    return this.#isMine(scope.project) ? this.#ownedOf(await this.#unscoped.waiting(scope, limit)) : [];
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
