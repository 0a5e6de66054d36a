import type { CompactionStore } from 'mcp-pruner/core/ports/compactions.ts';
import type { ProjectSettingsStore } from 'mcp-pruner/core/ports/project-settings.ts';
import type { ProjectStore, Viewer } from 'mcp-pruner/core/ports/projects.ts';
import type { Decision } from 'mcp-pruner/core/ports.ts';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { narrowedBrowse } from './browse.ts';
import { narrowedLedger, visibleOf } from './ledger.ts';
import { narrowedRecall } from './recall.ts';
import { narrowedRecords } from './records.ts';
import { narrowedSegments } from './segments.ts';
import { unsupported } from './unsupported.ts';

function narrowedCompactions(unscoped: CompactionStore, ownProjects: readonly string[]): CompactionStore {
  const visible = visibleOf(ownProjects);
  return {
    // compactions are recorded by the process that forwards the requests
    add: unsupported,
    follow: unsupported,
    since: async (query) =>
      (await Promise.all(visible(query.project).map((project) => unscoped.since({ ...query, project })))).flat(),
    async peaks(query) {
      const found = await Promise.all(visible(query.project).map((project) => unscoped.peaks({ ...query, project })));
      return found.flat().slice(0, query.limit);
    },
    async cold(query) {
      const sum = { requests: 0, usd: 0, hour_cache: { cost: 0, saved: 0 } };
      for (const project of visible(query.project)) {
        const { requests, usd, hour_cache } = await unscoped.cold({ ...query, project });
        sum.requests += requests;
        sum.usd += usd;
        sum.hour_cache.cost += hour_cache.cost;
        sum.hour_cache.saved += hour_cache.saved;
      }
      return sum;
    },
  };
}

function narrowedSettings(unscoped: ProjectSettingsStore, ownProjects: readonly string[]): ProjectSettingsStore {
  return {
    set: unsupported, // only operators change settings
    version: () => unscoped.version(),
    onChanged: (listener) => unscoped.onChanged(listener),
    current: async () => (await unscoped.current()).filter(({ project }) => ownProjects.includes(project)),
    history: async (project, limit) => (ownProjects.includes(project) ? unscoped.history(project, limit) : []),
  };
}

/** A store with its project ownership. */
interface Wide {
  readonly store: StoreHandle;
  readonly projects: () => Promise<ProjectStore>;
}

/**
 * A store restricted to the projects of a viewer. It implements the same ports as the whole store, so that tools, views
 * and services built on it have no further access. New port methods do not compile until they are narrowed here. Data
 * of other projects is treated like missing data.
 */
export function narrowedStore(unscoped: Wide, { project }: Viewer, ownProjects: readonly string[]): StoreHandle {
  const { store, projects } = unscoped;
  const ownedOf = async (pruneIds: readonly string[]): Promise<ReadonlySet<string>> =>
    (await projects()).owned(ownProjects, pruneIds);
  const ownDecisions = async (keys: readonly string[]): Promise<Map<string, Decision>> => {
    const found = await store.findDecisions(keys);
    const owned = await ownedOf([...found.values()].flatMap(({ pruneId }) => pruneId ?? []));
    return new Map([...found].filter(([, { pruneId }]) => pruneId !== null && owned.has(pruneId)));
  };
  return {
    segments: narrowedSegments(store.segments, ownProjects, projects),
    records: narrowedRecords(store.records, ownProjects, project, projects),
    ledger: narrowedLedger(store.ledger, ownProjects),
    projectSettings: narrowedSettings(store.projectSettings, ownProjects),
    compactions: narrowedCompactions(store.compactions, ownProjects),
    browse: narrowedBrowse(store.browse, ownProjects),
    recall: narrowedRecall(store.recall, ownProjects, ownedOf),
    // tables of extensions are not divided by project
    get sql(): never {
      throw new StoreUnavailable('unsupported');
    },

    id: () => store.id(),
    ready: () => store.ready(),
    problem: () => store.problem(),
    untilBack: (ms) => store.untilBack(ms),
    failingSinceMs: () => store.failingSinceMs(),
    pressed: () => store.pressed(),
    epoch: () => store.epoch(),
    findPrune: async (pruneId) => ((await ownedOf([pruneId])).has(pruneId) ? store.findPrune(pruneId) : null),
    findOriginal: async (pruneId) => ((await ownedOf([pruneId])).has(pruneId) ? store.findOriginal(pruneId) : null),
    async knownPruneIds(pruneIds) {
      const owned = await ownedOf(pruneIds);
      return store.knownPruneIds(pruneIds.filter((id) => owned.has(id)));
    },
    findDecisions: ownDecisions,
    lookUp: async ({ keys = [] }) => ({ sent: new Map(), decisions: await ownDecisions(keys), served: new Set() }),
    async commit(batch, waitMs) {
      const owned = await ownedOf(batch.touch);
      const touch = batch.touch.filter((id) => owned.has(id));
      const missing = batch.touch.filter((id) => !owned.has(id));
      const done = await store.commit({ ...batch, touch, owner: project }, waitMs);
      return { ...done, missing: [...missing, ...done.missing] };
    },
    // records are found by the hash of all earlier messages, which a viewer does not have
    findSent: async () => new Map(),
    markServed: (textHashes) => store.markServed(textHashes),
    wasServed: async () => new Set(),
    addSent: unsupported,
    markRefused: unsupported,
    refusedConversations: async () => [],
    replaceNote: unsupported,
    onRefused: () => () => undefined,
    onKeys: () => () => undefined,
    addEvents: (events) => store.addEvents(events.map((event) => ({ ...event, project }))),
    events: async (query) => (await projects()).events(ownProjects, query),
    async stats() {
      const { prunes, snapshots, bytes } = await (await projects()).sizes(ownProjects);
      return { prunes, snapshots, bytes };
    },
    projects: unsupported,
    keys: unsupported,
    erasure: unsupported,
    // upkeep and closing are only available on the whole store
    sweep: async () => false,
    close: async () => {},
  };
}
