import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import { MCP_RUN } from '../core/event-log.ts';
import { Ownership } from '../core/ownership.ts';
import type { Budget } from '../core/ports/budgets.ts';
import type { Admitted, KeyGate } from '../core/ports/key-gate.ts';
import type { KeyStore } from '../core/ports/keys.ts';
import type { LedgerReader } from '../core/ports/ledger.ts';
import type { ProjectStore, Viewer } from '../core/ports/projects.ts';
import { immutableHistoryProject } from '../core/segments/immutable-history-project.ts';
import { PrunerError } from '../errors.ts';
import { Gate } from '../keys/gate.ts';
import { Identities } from '../keys/identity.ts';
import { KeyRing } from '../keys/key-ring.ts';
import { NarrowedStore } from '../keys/narrowed/store.ts';
import { Refusals } from '../keys/refusals.ts';
import { PageAccess, type PageKeys } from '../page/access.ts';
import { admitted, viewerOf } from '../proxy/doors/admitted.ts';
import { KeyDoor } from '../proxy/doors/key-door.ts';
import type { Destinations } from '../proxy/upstream/destinations.ts';
import { openContextGc, openIdempotency, openPruners, openRecall, openResources } from './compose.ts';
import { type Context, callersOf, type Events, signInsOf, withoutAddresses } from './context.ts';
import type { MountParts, View, ViewParts } from './mounts.ts';
import { openTools, type ToolFace } from './tools.ts';

/** Keys as this server asks for them. */
export interface OpenKeys {
  readonly gate: KeyGate;
  readonly owners: Ownership;
  readonly projects: () => Promise<ProjectStore>;
  /** Whose a key is that is known by its id; `null` where there is none, or it is void. */
  viewer(keyId: string | null): Viewer | null;
  door(destinations: Destinations): KeyDoor;
  /** Writes pending events and last uses. Never rejects. */
  close(): Promise<void>;
  /** Budgets of keys. */
  readonly budgets: () => readonly Budget[];
}

/** What belonged to nobody is given its owners once the store can be written. */
const ADOPT_AGAIN_MS = 10_000;

/** Reads the keys, and follows them. Loaded only where requests must name one. */
export async function openKeys({ settings, store, events, clock, log, failures }: Context): Promise<OpenKeys> {
  const onFailure = failures.of('keys');
  const keys = kept<KeyStore>(() => store.keys());
  const projects = kept<ProjectStore>(() => store.projects());
  const ring = new KeyRing({ keys, clock, onKeys: (listener) => store.onKeys(listener), onFailure });
  const refusals = new Refusals(events, clock);
  const gate = new Gate({ ring, keys, refusals, clock, onFailure });
  await ring.start();
  if (ring.size === 0 && settings.trustedAuthHeader === null)
    log.warn('keys are required and there is none: mcp-pruner keys create makes one');
  let adopting: NodeJS.Timeout | undefined;
  const adopt = async (): Promise<void> => {
    try {
      await (await projects()).adopt();
    } catch (cause) {
      onFailure('not_adopted', cause);
      adopting = setTimeout(() => void adopt(), ADOPT_AGAIN_MS).unref();
    }
  };
  await adopt();
  return {
    gate,
    owners: new Ownership(projects, store),
    projects,
    viewer: (keyId) => (keyId === null ? null : (gate.known(keyId)?.admitted.viewer ?? null)),
    door: (destinations) => new KeyDoor({ gate, identities: identitiesOf(settings), destinations, onFailure }),
    budgets: () => ring.budgets(),
    async close() {
      clearTimeout(adopting);
      refusals.flush();
      await ring.close();
    },
  };
}

function identitiesOf(settings: Context['settings']): Identities | undefined {
  const { trustedAuthHeader: userHeader, trustedGroupsHeader: groupsHeader, trustedProxies: proxies } = settings;
  if (userHeader === null) return undefined;
  return new Identities({ userHeader, groupsHeader, proxies, groupProjects: settings.groupProjects });
}

/** What is opened once, with its first use. */
function kept<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  return () => {
    opened ??= open();
    return opened;
  };
}

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
  const context = { ...parts, store, events };
  const narrowed = {
    ...context,
    ...openPruners(context, own),
    contextGc: openContextGc(context, async () => {
      await Promise.all([parts.recorder.flush(), parts.keeper.flush()]);
    }),
    recall: openRecall(context, parts.keeper),
    resources: openResources(context),
    idempotency: openIdempotency(context),
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
