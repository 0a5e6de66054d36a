import type { Settings } from './config/settings.ts';
import { EventLog, STORE_RUN } from './core/event-log.ts';
import type { Clock } from './core/ports.ts';
import { type HealthReport, healthReport } from './mcp/tools/health.ts';
import type { Log } from './observe/log.ts';
import { openSqliteStore, type SqliteStore } from './store/sqlite.ts';

export interface KeptParts {
  readonly log: Log;
  readonly version: string;
  readonly clock: Clock;
}

/** What is kept, and whether it can be: all that a server needs to say how it is. */
export interface Kept {
  readonly store: SqliteStore;
  /** What happens is told here. */
  readonly events: EventLog;
  /** @param backendState - of the backend, once there is one */
  health(backendState?: string): HealthReport;
}

/** Opens the store. One that cannot be opened is no error here: what needs it says so. */
export function openKept(settings: Settings, { log, version, clock }: KeptParts): Kept {
  const store = openSqliteStore({
    path: settings.dbPath,
    clock,
    ttlMs: settings.pruneIdTtlS * 1000,
    maxBytes: settings.storeMaxBytes,
    maxEvents: settings.maxEvents,
    log,
    onSwept: (did) => {
      const about = { tsMs: clock.nowMs(), level: 'info', runId: STORE_RUN, opId: null } as const;
      events.add([{ ...about, kind: 'swept', payload: { ...did } }]);
    },
  });
  const events = new EventLog({
    store,
    maxEvents: settings.maxEvents,
    onLost: (err, count) => log.warn({ err, events: count }, 'events could not be written'),
  });
  const mode = settings.enabled ? settings.mode : 'off';
  return {
    store,
    events,
    health: (backendState) =>
      healthReport(version, clock, {
        store: store.problem()?.reason ?? 'ok',
        mode,
        backend: settings.backend,
        ...(backendState !== undefined && { backend_state: backendState }),
      }),
  };
}
