import type { Loaded } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { EventLog, STORE_RUN } from '../core/event-log.ts';
import type { Clock } from '../core/ports.ts';
import { type HealthReport, healthReport } from '../mcp/tools/health.ts';
import type { Log } from '../observe/log.ts';
import type { FindingShown } from '../page/shapes.ts';
import { providerFacts } from '../providers/facts.ts';
import type { StoreHandle } from '../store/handle.ts';
import { Failures } from './failures.ts';
import { type Ids, ids } from './request-ids.ts';
import { openStore } from './store.ts';

/** What whoever starts the product gives: everything is built over it. */
export interface Base {
  readonly settings: Settings;
  readonly log: Log;
  readonly version: string;
  readonly clock: Clock;
  /** The environment and the folder of this process, for the programs that it starts. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Where the settings came from, and what there is to say of them. */
  readonly loaded?: Pick<Loaded, 'origins' | 'warnings'>;
  /** Where the built files of the page are, if not where the build puts them. */
  readonly pageFolder?: string;
  /** Requests in a row without a saving that raise the alarm; for tests. Default: 50. */
  readonly alarmAfter?: number;
  /** Runs the checks of `mcp-pruner doctor` on this installation. */
  readonly examine?: () => Promise<readonly FindingShown[]>;
}

/** The log of events as whoever adds to it or follows it knows it. */
export type Events = Pick<EventLog, 'add' | 'runOf' | 'flush' | 'onWritten'>;

/** What is kept, and whether it can be: all that a server needs to say how it is. */
export interface Storage extends Base {
  readonly store: StoreHandle;
  /** Reports failures that did not stop a request. */
  readonly failures: Failures;
  /** Makes ids that nothing else has, and words that nobody can guess. */
  readonly ids: Ids;
  /** The log of events. */
  readonly events: Events;
  /** @param backendState - of the backend, once there is one */
  health(backendState?: string): HealthReport;
}

/** Opens the store and the log of events over it. */
export async function openStorage(base: Base): Promise<Storage> {
  const { settings, log, version, clock } = base;
  const failures = new Failures(log);
  const store = await openStore(settings, {
    clock,
    log,
    onSwept: (did) => {
      const about = { tsMs: clock.nowMs(), level: 'info', runId: STORE_RUN, opId: null } as const;
      events.add([{ ...about, kind: 'swept', payload: { ...did } }]);
    },
    onDamaged: (pruneIds) => {
      const about = { tsMs: clock.nowMs(), level: 'error', kind: 'corrupt', opId: null } as const;
      events.add(pruneIds.map((id) => ({ ...about, runId: events.runOf(id), payload: { prune_id: id } })));
    },
  });
  const events = new EventLog({
    store,
    maxEvents: settings.maxEvents,
    onFailure: failures.of('events'),
  });
  const idOf = idOnceKnown(store);
  const mode = settings.enabled ? settings.mode : 'off';
  return {
    ...base,
    ids,
    failures,
    store,
    events,
    health: (backendState) => {
      const ofStore = storeHealth(store);
      const storeId = idOf();
      const details = {
        ...ofStore,
        store_id: storeId ?? undefined,
        mode,
        backend: settings.backend,
        // no more than the origin: an address may hold a key
        ...upstreamOrigins(settings),
        backend_state: backendState,
      };
      return healthReport(version, clock, details, ofStore.store === 'ok' ? 'healthy' : 'degraded');
    },
  };
}

/** Returns the store's id from memory, `null` until the store has answered; each call asks again while it has not. */
function idOnceKnown(store: StoreHandle): () => string | null {
  let id: string | null = null;
  let asking = false;
  const ask = async (): Promise<void> => {
    asking = true;
    id = await store.id().catch(() => null); // the state of the store is reported beside it
    asking = false;
  };
  void ask();
  return () => {
    if (id === null && !asking) void ask();
    return id;
  };
}

/** How the store is; `ok` only while it can be written as well. */
function storeHealth(store: StoreHandle): { readonly store: string; readonly store_failing_since?: string } {
  const reason = store.problem()?.reason ?? 'ok';
  const sinceMs = store.failingSinceMs();
  return { store: reason, store_failing_since: sinceMs === null ? undefined : new Date(sinceMs).toISOString() };
}

function upstreamOrigins(settings: Settings): Record<string, string> {
  const origins: Record<string, string> = {};
  for (const { field, key } of providerFacts) {
    const url = settings[key];
    if (url !== null) origins[field] = new URL(url).origin;
  }
  return origins;
}
