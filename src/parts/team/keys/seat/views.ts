import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import type { Services } from '../../../../app/compose.ts';
import type { Finding } from '../../../../app/finding.ts';
import type { OpenView, View, Viewing } from '../../../../app/mounts.ts';
import { PageAccess, type PageKeys } from '../../../../app/page/access.ts';
import { MCP_RUN } from '../../../../core/event-log.ts';
import type { Ownership } from '../../../../core/ownership.ts';
import type { ProjectStore, Viewer } from '../../../../core/ports/projects.ts';
import { verifiedHistoryProject } from '../../../../core/segments/verified-history-project.ts';
import { PrunerError } from '../../../../errors/errors.ts';
import type { HealthReport } from '../../../../mcp/tools/health.ts';
import { admitted, viewerOf } from '../../../../proxy/doors/admitted.ts';
import { keyError } from '../errors.ts';
import type { Gate } from '../gate.ts';
import { NarrowedStore } from '../narrowed/store.ts';

/** Viewers whose routes are kept. */
const MAX_VIEWS = 200;
/** A caller who has shown no key sees nothing. */
const NOBODY: Viewer = { projects: [], project: '' };

/** The parts from which the views of keys are built. */
interface KeyParts {
  readonly gate: Gate;
  readonly owners: Ownership;
  readonly projects: () => Promise<ProjectStore>;
}

/**
 * Answers each request from the view of its viewer: the tools, `/prune` and the page over a store that contains only
 * the viewer's projects. They do not depend on keys, and cannot reach beyond their store.
 */
export function viewsByKey(keys: KeyParts, { parts, allowed, onSignedIn, openView }: OpenView): View {
  setMaxListeners(0, parts.stopping); // each page that follows events listens for the end of the server
  const access = new PageAccess({ allowed, token: null, keys: pageKeys(keys.gate), clock: parts.clock, onSignedIn });
  const views = new LRUCache<string, View>({ max: MAX_VIEWS });
  return (req, res, next) => {
    const viewer = viewerOf(req) ?? viewerByKey(keys.gate, access.keyOf(req)) ?? NOBODY;
    const name = JSON.stringify(viewer);
    const view = views.get(name) ?? openView(viewingOf(keys, parts, viewer, access));
    views.set(name, view);
    view(req, res, next);
  };
}

/** The viewer of a key that is known by its id; `null` for none, or for a void one. */
function viewerByKey(gate: Gate, keyId: string | null): Viewer | null {
  return keyId === null ? null : (gate.known(keyId)?.admitted.viewer ?? null);
}

function pageKeys(gate: Gate): PageKeys {
  return {
    async enter(shown) {
      const found = await gate.admit(shown, '');
      if (typeof found !== 'string') return found.keyId;
      gate.refused('key_unknown', null);
      return null;
    },
    secretOf: (keyId) => gate.known(keyId)?.hash ?? null,
    cameWithKey: (req) => viewerOf(req) !== null,
  };
}

function viewingOf({ gate, owners, projects }: KeyParts, parts: Services, viewer: Viewer, access: PageAccess): Viewing {
  const wide = { store: parts.store, projects, verifiedHistoryProject };
  return {
    project: viewer.project,
    events: eventsOf(parts.events, viewer.project),
    own: (pruneIds) => owners.claim(viewer.project, pruneIds),
    store: viewer.projects === 'all' ? null : new NarrowedStore(wide, viewer, viewer.projects),
    pageAccess: access,
    findings: viewerFindings,
    chargeTexts: chargeOf(gate),
  };
}

/** Counts texts to be pruned among the requests of a key. */
function chargeOf(gate: Gate): Viewing['chargeTexts'] {
  return async (req, texts) => {
    const by = admitted.get(req);
    const over = by && (await gate.takeCalls(by, texts));
    if (!over) return;
    gate.refused(over.code, by.keyId);
    throw new PrunerError(keyError(over.code), { retry_after_ms: over.retryAfterS * 1000 });
  };
}

/**
 * The same log, in which every added event belongs to a project. Actions of other projects on a prune are not reported.
 */
function eventsOf(events: Services['events'], project: string): Services['events'] {
  return {
    add: (added) => events.add(added.map((event) => ({ ...event, project }))),
    runOf: () => MCP_RUN,
    flush: () => events.flush(),
    onWritten: (listener) => events.onWritten(listener),
  };
}

/**
 * The checks for a viewer of some projects: whether the proxy and its store work. All other findings of `mcp-pruner
 * doctor` are about the whole server: counts, keys, agents, addresses.
 */
function viewerFindings({ version, store, mode }: HealthReport): Finding[] {
  const away =
    'Requests go through unpruned meanwhile, and originals cannot be read. The operator of this proxy can fix it.';
  return [
    { level: 'ok', what: `this proxy answers: mcp-pruner ${version}` },
    store === 'ok'
      ? { level: 'ok', what: 'originals can be stored and read' }
      : { level: 'failure', what: `the store cannot be used now: ${String(store)}`, advice: away },
    mode === 'prune'
      ? { level: 'ok', what: 'requests are pruned' }
      : { level: 'note', what: `requests are not pruned: the mode is ${String(mode)}` },
    {
      level: 'note',
      what: 'everything else concerns the whole server',
      advice: 'The operator of this proxy sees it with mcp-pruner doctor.',
    },
  ];
}
