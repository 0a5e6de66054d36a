import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import type { Services } from 'mcp-pruner/app/compose.ts';
import type { Finding } from 'mcp-pruner/app/finding.ts';
import type { OpenView, View, Viewing } from 'mcp-pruner/app/mounts.ts';
import { PageAccess, type PageKeys } from 'mcp-pruner/app/page/access.ts';
import { started } from 'mcp-pruner/base/work.ts';
import { MCP_RUN } from 'mcp-pruner/core/event-log.ts';
import type { Ownership } from 'mcp-pruner/core/ownership.ts';
import type { ProjectStore, Viewer } from 'mcp-pruner/core/ports/projects.ts';
import { PrunerError } from 'mcp-pruner/errors/errors.ts';
import type { HealthReport } from 'mcp-pruner/mcp/tools/health.ts';
import { admitted, viewerOf } from 'mcp-pruner/proxy/doors/gatekeeper.ts';
import { keyError } from '../errors.ts';
import type { Gate } from '../gate.ts';
import { narrowedStore } from '../narrowed/store.ts';

const MAX_VIEWS = 200;
const NOBODY: Viewer = { projects: [], project: '' };

interface KeyParts {
  readonly gate: Gate;
  readonly owners: Ownership;
  readonly projects: () => Promise<ProjectStore>;
}

/**
 * Answers each request from its viewer's view: tools, `/prune` and page over a store restricted to the viewer's
 * projects. These do not depend on keys, and cannot access other data.
 */
export function viewsByKey(keys: KeyParts, { parts, allowed, onSignedIn, openView }: OpenView): View {
  setMaxListeners(0, parts.stopping); // each page with an event stream listens for the server's end
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

/** Viewer of a key by id; `null` for none or an invalid key. */
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
  const wide = { store: parts.store, projects };
  return {
    project: viewer.project,
    events: eventsOf(parts.events, viewer.project),
    own: (pruneIds) => started(owners.claim(viewer.project, pruneIds)),
    projects: viewer.projects === 'all' ? null : viewer.projects,
    store: viewer.projects === 'all' ? null : narrowedStore(wide, viewer, viewer.projects),
    pageAccess: access,
    findings: viewerFindings,
    chargeTexts: chargeOf(gate),
  };
}

function chargeOf(gate: Gate): Viewing['chargeTexts'] {
  return async (req, texts) => {
    const by = admitted.get(req);
    const over = by && (await gate.takeCalls(by, texts));
    if (!over) return;
    gate.refused(over.code, by.keyId);
    throw new PrunerError(keyError(over.code), { retry_after_ms: over.retryAfterS * 1000 });
  };
}

/** Wraps the event log: every added event belongs to the project, and other projects' actions on a prune are hidden. */
function eventsOf(events: Services['events'], project: string): Services['events'] {
  return {
    add: (added) => events.add(added.map((event) => ({ ...event, project }))),
    runOf: () => MCP_RUN,
    flush: () => events.flush(),
    onWritten: (listener) => events.onWritten(listener),
  };
}

/**
 * Findings for a viewer of some projects: whether the proxy and its store work. All other `mcp-pruner doctor` findings
 * are server-wide: counts, keys, agents, URLs.
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
