import type { BrowseStore } from 'mcp-pruner/core/ports/browse.ts';
import type { ColdFigures, CompactionStore, ContextPeak, StoredCompaction } from 'mcp-pruner/core/ports/compactions.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { ProjectSettingsRow, ProjectSettingsStore } from 'mcp-pruner/core/ports/project-settings.ts';
import type { ProjectStore, Viewer } from 'mcp-pruner/core/ports/projects.ts';
import type { RecallStore } from 'mcp-pruner/core/ports/recall.ts';
import type { Records } from 'mcp-pruner/core/ports/records.ts';
import type { SegmentStore } from 'mcp-pruner/core/ports/segments.ts';
import type {
  Committed,
  Decision,
  EventRecord,
  LookedUp,
  LookUp,
  SentMessage,
  Store,
  StoreBatch,
  StoredEvent,
  StoredPrune,
} from 'mcp-pruner/core/ports.ts';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { NarrowedBrowse } from './browse.ts';
import { NarrowedLedger } from './ledger.ts';
import { Narrowed, unsupported } from './narrowed.ts';
import { NarrowedRecall } from './recall.ts';
import { NarrowedRecords } from './records.ts';
import { NarrowedSegments } from './segments.ts';

class NarrowedCompactions extends Narrowed<CompactionStore> implements CompactionStore {
  /** Compactions are recorded by the process that forwards the requests. */
  add = unsupported;
  follow = unsupported;

  async since(query: Parameters<CompactionStore['since']>[0]): Promise<readonly StoredCompaction[]> {
    const found = await this.ofEach(query.project, (project) => this.unscoped.since({ ...query, project }));
    return found.flat();
  }

  async peaks(query: Parameters<CompactionStore['peaks']>[0]): Promise<readonly ContextPeak[]> {
    const found = await this.ofEach(query.project, (project) => this.unscoped.peaks({ ...query, project }));
    return found.flat().slice(0, query.limit);
  }

  async cold(query: Parameters<CompactionStore['cold']>[0]): Promise<ColdFigures> {
    const found = await this.ofEach(query.project, (project) => this.unscoped.cold({ ...query, project }));
    const sum = { requests: 0, usd: 0, hour_cache: { cost: 0, saved: 0 } };
    for (const { requests, usd, hour_cache } of found) {
      sum.requests += requests;
      sum.usd += usd;
      sum.hour_cache.cost += hour_cache.cost;
      sum.hour_cache.saved += hour_cache.saved;
    }
    return sum;
  }
}

class NarrowedProjectSettings extends Narrowed<ProjectSettingsStore> implements ProjectSettingsStore {
  /** Only operators change settings. */
  set = unsupported;

  version(): Promise<number> {
    return this.unscoped.version();
  }

  onChanged(listener: () => void): () => void {
    return this.unscoped.onChanged(listener);
  }

  async current(): Promise<readonly ProjectSettingsRow[]> {
    return (await this.unscoped.current()).filter(({ project }) => this.ownProjects.includes(project));
  }

  async history(project: string, limit: number): Promise<readonly ProjectSettingsRow[]> {
    return this.ownProjects.includes(project) ? this.unscoped.history(project, limit) : [];
  }
}

/** A store with its project ownership. */
interface Wide {
  readonly store: StoreHandle;
  readonly projects: () => Promise<ProjectStore>;
  /** The core's `verifiedHistoryProject`: project key of conversations with a verified history. */
  readonly verifiedHistoryProject: (project: string) => string;
}

/**
 * A store restricted to the projects of a key. It implements the same ports as the whole store, so that tools, views
 * and services built on it have no further access. New port methods do not compile until they are narrowed here. Data
 * of other projects is treated like missing data.
 */
export class NarrowedStore implements StoreHandle {
  readonly segments: SegmentStore;
  readonly records: Records;
  readonly ledger: LedgerStore;
  readonly recall: RecallStore;
  readonly compactions: CompactionStore;
  readonly projectSettings: ProjectSettingsStore;
  readonly browse: BrowseStore;
  readonly #unscoped: Wide;
  readonly #ownProjects: readonly string[];
  readonly #viewer: Viewer;

  /** @param ownProjects - projects of the viewer */
  constructor(unscoped: Wide, viewer: Viewer, ownProjects: readonly string[]) {
    const { store, projects } = unscoped;
    this.#unscoped = unscoped;
    this.#viewer = viewer;
    this.#ownProjects = ownProjects;
    this.segments = new NarrowedSegments(store.segments, ownProjects, unscoped);
    this.records = new NarrowedRecords(store.records, ownProjects, viewer.project, projects);
    this.ledger = new NarrowedLedger(store.ledger, ownProjects);
    this.projectSettings = new NarrowedProjectSettings(store.projectSettings, ownProjects);
    this.compactions = new NarrowedCompactions(store.compactions, ownProjects);
    this.browse = new NarrowedBrowse(store.browse, ownProjects);
    this.recall = new NarrowedRecall(store.recall, ownProjects, (ids) => this.#owned(ids));
  }

  id(): Promise<string | null> {
    return this.#unscoped.store.id();
  }

  ready(): Promise<void> {
    return this.#unscoped.store.ready();
  }

  problem(): StoreUnavailable | null {
    return this.#unscoped.store.problem();
  }

  untilBack(ms: number): Promise<boolean> {
    return this.#unscoped.store.untilBack(ms);
  }

  failingSinceMs(): number | null {
    return this.#unscoped.store.failingSinceMs();
  }

  pressed(): boolean {
    return this.#unscoped.store.pressed();
  }

  epoch(): string {
    return this.#unscoped.store.epoch();
  }

  async findPrune(pruneId: string): Promise<StoredPrune | null> {
    return (await this.#owned([pruneId])).has(pruneId) ? this.#unscoped.store.findPrune(pruneId) : null;
  }

  async findOriginal(pruneId: string): Promise<string | null> {
    return (await this.#owned([pruneId])).has(pruneId) ? this.#unscoped.store.findOriginal(pruneId) : null;
  }

  async knownPruneIds(pruneIds: readonly string[]): Promise<Set<string>> {
    const owned = await this.#owned(pruneIds);
    return this.#unscoped.store.knownPruneIds(pruneIds.filter((id) => owned.has(id)));
  }

  async findDecisions(keys: readonly string[]): Promise<Map<string, Decision>> {
    const found = await this.#unscoped.store.findDecisions(keys);
    const owned = await this.#owned([...found.values()].flatMap(({ pruneId }) => pruneId ?? []));
    return new Map([...found].filter(([, { pruneId }]) => pruneId !== null && owned.has(pruneId)));
  }

  async lookUp({ keys = [] }: LookUp): Promise<LookedUp> {
    return { sent: new Map(), decisions: await this.findDecisions(keys), served: new Set() };
  }

  async commit(batch: StoreBatch, waitMs: number): Promise<Committed> {
    const owned = await this.#owned(batch.touch);
    const touch = batch.touch.filter((id) => owned.has(id));
    const missing = batch.touch.filter((id) => !owned.has(id));
    const done = await this.#unscoped.store.commit({ ...batch, touch, owner: this.#viewer.project }, waitMs);
    return { ...done, missing: [...missing, ...done.missing] };
  }

  /** Sent-message records are found by the hash of all earlier messages, which a viewer does not have. */
  findSent(): Promise<Map<string, SentMessage>> {
    return Promise.resolve(new Map());
  }

  markServed(textHashes: readonly string[]): Promise<void> {
    return this.#unscoped.store.markServed(textHashes);
  }

  wasServed(): Promise<Set<string>> {
    return Promise.resolve(new Set());
  }

  addSent = unsupported;

  markRefused = unsupported;

  refusedConversations(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  replaceNote = unsupported;

  onRefused(): () => void {
    return () => undefined;
  }

  onKeys(): () => void {
    return () => undefined;
  }

  addEvents(events: readonly EventRecord[]): Promise<void> {
    return this.#unscoped.store.addEvents(events.map((event) => ({ ...event, project: this.#viewer.project })));
  }

  async events(query: Parameters<Store['events']>[0]): Promise<readonly StoredEvent[]> {
    return (await this.#unscoped.projects()).events(this.#ownProjects, query);
  }

  async stats(): ReturnType<Store['stats']> {
    const { prunes, snapshots, bytes } = await (await this.#unscoped.projects()).sizes(this.#ownProjects);
    return { prunes, snapshots, bytes };
  }

  /** Upkeep is only available on the whole store. */
  sweep(): Promise<boolean> {
    return Promise.resolve(false);
  }

  /** Tables of extensions are not divided by project. */
  get sql(): never {
    throw new StoreUnavailable('unsupported');
  }

  projects = unsupported;
  keys = unsupported;
  erasure = unsupported;

  /** Closed together with the underlying store. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  async #owned(pruneIds: readonly string[]): Promise<ReadonlySet<string>> {
    return (await this.#unscoped.projects()).owned(this.#ownProjects, pruneIds);
  }
}
