import type { ProjectStore } from 'mcp-pruner/core/ports/projects.ts';
import type {
  ChildSummary,
  ListedPrune,
  PruneSummary,
  Records,
  Reply,
  RunSummary,
  StoreAges,
  StoredChildLog,
} from 'mcp-pruner/core/ports/records.ts';

/** Lists, narrowed to some projects. Agents belong to no project and are hidden. */
export class NarrowedRecords implements Records {
  readonly #unscoped: Records;
  readonly #ownProjects: readonly string[];
  readonly #project: string;
  readonly #projects: () => Promise<ProjectStore>;

  /** @param project - the project for stored replies */
  constructor(
    unscoped: Records,
    ownProjects: readonly string[],
    project: string,
    projects: () => Promise<ProjectStore>,
  ) {
    this.#unscoped = unscoped;
    this.#ownProjects = ownProjects;
    this.#project = project;
    this.#projects = projects;
  }

  async runs(query: Parameters<Records['runs']>[0]): Promise<readonly RunSummary[]> {
    return (await this.#projects()).runs(this.#ownProjects, query);
  }

  async lastSeqOfRun(runId: string): Promise<number> {
    return (await this.#projects()).lastSeq(this.#ownProjects, runId);
  }

  async lastSeq(): Promise<number> {
    return (await this.#projects()).lastSeq(this.#ownProjects);
  }

  async prunes(query: Parameters<Records['prunes']>[0]): Promise<readonly PruneSummary[]> {
    return (await this.#projects()).prunes(this.#ownProjects, query);
  }

  async prunesByAge(page: Parameters<Records['prunesByAge']>[0]): Promise<readonly ListedPrune[]> {
    return (await this.#projects()).prunesByAge(this.#ownProjects, page);
  }

  async ages(): Promise<StoreAges> {
    const { oldestMs, newestMs, nextExpiryMs, lastExpiryMs } = await (await this.#projects()).sizes(this.#ownProjects);
    return { oldestMs, newestMs, nextExpiryMs, lastExpiryMs };
  }

  async pruneState(pruneId: string): ReturnType<Records['pruneState']> {
    const owned = await (await this.#projects()).owned(this.#ownProjects, [pruneId]);
    return owned.has(pruneId) ? this.#unscoped.pruneState(pruneId) : 'unknown';
  }

  children(): Promise<readonly ChildSummary[]> {
    return Promise.resolve([]);
  }

  lastSeqOfChild(): Promise<number> {
    return Promise.resolve(0);
  }

  childLogs(): Promise<readonly StoredChildLog[]> {
    return Promise.resolve([]);
  }

  /** Agent logs are only written through the whole store. */
  addChildLogs(): Promise<void> {
    return Promise.resolve();
  }

  claimReply(tool: string, key: string, argsHash: string, ttlMs: number): Promise<Reply | null> {
    return this.#unscoped.claimReply(tool, this.#own(key), argsHash, ttlMs);
  }

  holdReply(tool: string, key: string, ttlMs: number): Promise<void> {
    return this.#unscoped.holdReply(tool, this.#own(key), ttlMs);
  }

  keepReply(tool: string, key: string, argsHash: string, text: string, ttlMs: number): Promise<string> {
    return this.#unscoped.keepReply(tool, this.#own(key), argsHash, text, ttlMs);
  }

  dropReply(tool: string, key: string, kept: boolean): Promise<void> {
    return this.#unscoped.dropReply(tool, this.#own(key), kept);
  }

  /** Qualifies an idempotency key by project. Project names contain no line break, so it is a safe separator. */
  #own(key: string): string {
    return `${this.#project}\n${key}`;
  }
}
