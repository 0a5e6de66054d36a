import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import { MCP_RUN } from '../core/event-log.ts';
import type { Admitted, KeyGate } from '../core/ports/key-gate.ts';
import type { LedgerReader } from '../core/ports/ledger.ts';
import type { Viewer } from '../core/ports/projects.ts';
import { immutableHistoryProject } from '../core/segments/immutable-history-project.ts';
import { PrunerError } from '../errors.ts';
import { NarrowedStore } from '../keys/narrowed/store.ts';
import { PageAccess, type PageKeys } from '../page/access.ts';
import { admitted, viewerOf } from '../proxy/doors/admitted.ts';
import { signInsOf } from './audit.ts';
import { callersOf } from './callers.ts';
import type { OpenKeys } from './keys.ts';
import type { MountParts, View, ViewParts } from './mounts.ts';
import { openContextGc, openIdempotency, openPruners, openRecall, openResources } from './services.ts';
import type { Events } from './storage.ts';
import { openTools, type ToolFace } from './tools.ts';
import { withoutAddresses } from './viewer-health.ts';

/** Kinds of viewers whose routes are kept. */
const MAX_VIEWS = 200;
/** Whoever has shown no key: there is nothing to be seen. */
const NOBODY: Viewer = { projects: [], project: '' };

/**
 * What is answered to whom: the tools, `/prune` and the page, built anew for each viewer over a store that holds nothing
 * but what is the viewer's. None of them knows of keys, and none can reach beyond its store.
 *
 * @param mount - puts the routes of one viewer together
 */
export function keyViews(parts: MountParts, keys: OpenKeys, face: ToolFace, mount: (parts: ViewParts) => View): View {
  const { settings, clock, stopping } = parts;
  setMaxListeners(0, stopping); // each page that follows events listens for the end of the server
  const access = new PageAccess({
    allowed: callersOf(settings),
    token: null,
    keys: pageKeys(keys),
    clock,
    onSignedIn: signInsOf(parts),
  });
  const views = new LRUCache<string, View>({ max: MAX_VIEWS });
  return (req, res, next) => {
    const viewer = viewerOf(req) ?? keys.viewer(access.keyOf(req)) ?? NOBODY;
    const name = JSON.stringify(viewer);
    const view = views.get(name) ?? mount(viewPartsOf(parts, keys, face, viewer, access));
    views.set(name, view);
    view(req, res, next);
  };
}

function pageKeys({ gate }: OpenKeys): PageKeys {
  const usable = (found: Admitted | string): string | null => {
    if (typeof found !== 'string') return found.keyId;
    gate.refused('key_unknown', null);
    return null;
  };
  return {
    enter: async (shown) => usable(await gate.admit(shown, '')),
    secretOf: (keyId) => gate.known(keyId)?.hash ?? null,
    cameWithKey: (req) => viewerOf(req) !== null,
  };
}

function viewPartsOf(
  parts: MountParts,
  keys: OpenKeys,
  face: ToolFace,
  viewer: Viewer,
  pageAccess: PageAccess,
): ViewParts {
  const own = (ids: readonly string[]): Promise<void> => keys.owners.claim(viewer.project, ids);
  const ofPruner = openPruners({ ...parts, events: eventsOf(parts.events, viewer.project) }, own);
  const chargeTexts = chargeOf(keys.gate);
  if (viewer.projects === 'all') return { ...parts, ...ofPruner, pageAccess, chargeTexts };
  const wide = { store: parts.store, projects: keys.projects, immutableHistoryProject };
  const store = new NarrowedStore(wide, viewer, viewer.projects);
  const events = eventsOf(parts.events, viewer.project);
  const storage = { ...parts, store, events };
  const narrowed = {
    ...storage,
    ...openPruners(storage, own),
    contextGc: openContextGc(storage, async () => {
      await Promise.all([parts.recorder.flush(), parts.keeper.flush()]);
    }),
    recall: openRecall(storage, parts.keeper),
    resources: openResources(storage),
    idempotency: openIdempotency(storage),
    isNarrow: true,
    viewerProject: viewer.project,
    health: () => withoutAddresses(parts.health()),
  };
  return { ...narrowed, tools: openTools(narrowed, face), pageLedger: ledgerOf(parts, store), pageAccess, chargeTexts };
}

/** Counts texts to be pruned among the requests of a key. */
function chargeOf(gate: KeyGate): NonNullable<ViewParts['chargeTexts']> {
  return async (req, texts) => {
    const by = admitted.get(req);
    const over = by && (await gate.takeCalls(by, texts));
    if (!over) return;
    gate.refused(over.code, by.keyId);
    throw new PrunerError(over.code, { retry_after_ms: over.retryAfterS * 1000 });
  };
}

/** The same log, in which everything that is added belongs to a project. Actions of other projects on a prune are not reported. */
function eventsOf(events: Events, project: string): Events {
  return {
    add: (added) => events.add(added.map((event) => ({ ...event, project }))),
    runOf: () => MCP_RUN,
    flush: () => events.flush(),
    onWritten: (listener) => events.onWritten(listener),
  };
}

function ledgerOf({ ledger }: MountParts, { ledger: store }: NarrowedStore): LedgerReader {
  return {
    async report(query) {
      await ledger.flush();
      return ledger.reportOf(store, query);
    },
    async turns(query) {
      await ledger.flush();
      return store.turns(query);
    },
  };
}
