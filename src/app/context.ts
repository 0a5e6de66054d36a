import { randomBytes, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { encodeTime, incrementBase32 } from 'ulid';
import type { FailureReporter } from '../base/failures.ts';
import { WriteBehind } from '../base/write-behind.ts';
import type { Loaded } from '../config/load.ts';
import type { Settings, SettingTable } from '../config/settings.ts';
import { HIDDEN } from '../config/show.ts';
import { isLoopbackHost } from '../config/warnings.ts';
import { EventLog, STORE_RUN } from '../core/event-log.ts';
import { textHash } from '../core/hash.ts';
import type { Clock, EventRecord } from '../core/ports.ts';
import { type Allowed, allowedCallers } from '../core/web-origin.ts';
import { type HealthReport, healthReport } from '../mcp/tools/health.ts';
import type { Log } from '../observe/log.ts';
import type { StoreHandle } from '../store/handle.ts';
import { providerFacts } from '../wires/providers/facts.ts';
import type { Finding } from './finding.ts';
import type { Edition } from './guest.ts';
import { openStore } from './store.ts';

/** The random part of ids is drawn anew after this time, and counted up until then. */
const RANDOM_MS = 1_000;
const BASE_32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Creates request ids: ulids that ascend within the process. */
export function requestIds(clock: Clock): () => string {
  let random = '';
  let drawnMs = Number.NEGATIVE_INFINITY;
  let lastMs = 0;
  return () => {
    lastMs = Math.max(lastMs, Math.trunc(clock.nowMs()));
    if (lastMs - drawnMs < RANDOM_MS) random = incrementBase32(random);
    else {
      random = Array.from(randomBytes(16), (byte) => BASE_32[byte % 32]).join('');
      drawnMs = lastMs;
    }
    return encodeTime(lastMs) + random;
  };
}

interface Ids {
  /** A unique id. */
  readonly uuid: () => string;
  /** 128 random bits in hex, for secrets. */
  readonly secret: () => string;
}

export const ids: Ids = { uuid: () => randomUUID(), secret: () => randomBytes(16).toString('hex') };

/** Run id of audit events, which belong to no conversation. */
const SERVER_RUN = 'server';
const HASH_CHARS = 8;
const MAX_NAMES = 100;

/** Records sign-ins on the page. */
export function signInsOf({ events, clock }: Pick<Context, 'events' | 'clock'>): (keyId: string) => void {
  return (keyId) => {
    events.add([auditEvent(clock.nowMs(), 'signed_in', { key_id: keyId === '' ? null : keyId })]);
  };
}

/**
 * Adds an event if the settings changed since the last start on this store, with the changed names but no values. Never
 * rejects.
 */
export async function noteSettings({ edition, settings, store, events, clock, failures }: Context): Promise<void> {
  try {
    await store.ready();
    const values = hashesOf(settings, edition.settings);
    const before = await store.replaceNote('settings', JSON.stringify(values));
    if (before === null) return;
    const known = JSON.parse(before) as Readonly<Record<string, string>>;
    const changed = Object.keys(values).filter((name) => values[name] !== known[name]);
    if (changed.length === 0) return;
    events.add([auditEvent(clock.nowMs(), 'settings_changed', { settings: changed.slice(0, MAX_NAMES).join(', ') })]);
  } catch (cause) {
    failures.of('events')('settings_not_noted', cause);
  }
}

/** A short hash of each setting's displayed value; for secrets, only of whether they are set. */
function hashesOf(settings: Settings, { rows }: SettingTable): Record<string, string> {
  return Object.fromEntries(
    rows.map(({ key, setting }) => {
      const value = settings[key];
      const shown = setting.secret && value !== null ? HIDDEN : value;
      return [setting.env[0], textHash(JSON.stringify(shown)).slice(0, HASH_CHARS)];
    }),
  );
}

function auditEvent(tsMs: number, kind: string, payload: EventRecord['payload']): EventRecord {
  return { tsMs, kind, level: 'info', runId: SERVER_RUN, opId: null, payload, audit: true };
}

/** Callers permitted by the settings. */
export function callersOf({ allowedHosts, allowedOrigins, host }: Settings): Allowed {
  return allowedCallers([...allowedHosts, host], allowedOrigins, !isLoopbackHost(host));
}

/** Log level and message for the failures of each part. */
const parts = {
  projects: { level: 'warn', message: 'settings of projects could not be read' },
  pruning: { level: 'warn', message: 'pruning fell back' },
  forwarding: { level: 'warn', message: 'forwarded unchanged' },
  segments: { level: 'warn', message: 'segments could not be recorded' },
  recall: { level: 'warn', message: 'results could not be kept for recall' },
  compactions: { level: 'warn', message: 'a compaction could not be noted' },
  answers: { level: 'warn', message: 'an answer could not be kept' },
  events: { level: 'warn', message: 'events could not be written' },
  ledger: { level: 'error', message: 'the ledger failed' },
  counts: { level: 'debug', message: 'the provider did not return a token count' },
  reports: { level: 'warn', message: 'a request could not be reported' },
  subscriptions: { level: 'debug', message: 'a resource could not be read' },
  upkeep: { level: 'debug', message: 'upkeep of the store failed' },
  rpc: { level: 'error', message: 'rpc failed' },
  prune: { level: 'error', message: 'prune failed' },
  child: { level: 'error', message: 'request of a child failed' },
  admin: { level: 'error', message: 'the admin API could not answer' },
  page: { level: 'error', message: 'the page could not answer' },
  loading: { level: 'error', message: 'a part of the program could not be loaded: restart it' },
} as const;

/** The only place that reports failures of background work. */
export class Failures {
  readonly #log: Pick<Logger, 'debug' | 'warn' | 'error'>;

  constructor(log: Pick<Logger, 'debug' | 'warn' | 'error'>) {
    this.#log = log;
  }

  /** The failure reporter of a part, or of a named extension. */
  of(part: keyof typeof parts | { readonly extension: string }): FailureReporter {
    const { level, message } =
      typeof part === 'string' ? parts[part] : ({ level: 'warn', message: part.extension } as const);
    return (reason, err, about) => {
      try {
        this.#log[level]({ ...about, reason, err }, message);
      } catch {
        // the log itself failed, which must not affect the caller
      }
    };
  }
}

/** Inputs of a start. */
export interface Base {
  readonly edition: Edition;
  readonly settings: Settings;
  readonly log: Log;
  readonly version: string;
  readonly clock: Clock;
  /** Environment and working directory of this process, for child programs. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Sources of the settings, and warnings about them. */
  readonly loaded?: Pick<Loaded, 'origins' | 'warnings'>;
  /** Folder of the built page. Default: where the build puts it. */
  readonly pageFolder?: string;
  /** Number of consecutive requests without savings that raises the alarm; for tests. Default: 50. */
  readonly alarmAfter?: number;
  /** Maximum delay of background writes in milliseconds; for tests. Default: 1,000. */
  readonly writeEveryMs?: number | undefined;
  /** Runs the `mcp-pruner doctor` checks on this installation. */
  readonly examine?: () => Promise<readonly Finding[]>;
}

/** The event log, for parts that add or follow events. */
export type Events = Pick<EventLog, 'add' | 'runOf' | 'flush' | 'onWritten'>;

/** Base inputs, the store and its state: everything needed to report health. */
export interface Context extends Base {
  readonly store: StoreHandle;
  /** Reports failures that did not stop a request. */
  readonly failures: Failures;
  /** Creates unique ids and secrets. */
  readonly ids: Ids;
  /** The log of events. */
  readonly events: Events;
  /** Write-behind queue shared by all parts. */
  readonly behind: WriteBehind;
  /** @param backendState - state of the backend, once it is open */
  health(backendState?: string): HealthReport;
}

/** Opens the store and its event log. */
export async function openContext(base: Base): Promise<Context> {
  const { edition, settings, log, version, clock } = base;
  const failures = new Failures(log);
  const store = await openStore(settings, {
    edition,
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
  const behind = new WriteBehind(base.writeEveryMs);
  const events = new EventLog({
    store,
    behind,
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
    behind,
    health: (backendState) => {
      const ofStore = storeHealth(store);
      const storeId = idOf();
      const details = {
        ...ofStore,
        store_id: storeId ?? undefined,
        mode,
        backend: settings.backend,
        // only the origin, because a URL may contain a key
        ...upstreamOrigins(settings),
        backend_state: backendState,
      };
      return healthReport(version, clock, details, ofStore.store === 'ok' ? 'healthy' : 'degraded');
    },
  };
}

/** Returns the store's id once known; until then `null`, and each call queries the store again. */
function idOnceKnown(store: StoreHandle): () => string | null {
  let id: string | null = null;
  let asking = false;
  const ask = async (): Promise<void> => {
    asking = true;
    id = await store.id().catch(() => null); // a store failure is already part of the health report
    asking = false;
  };
  void ask();
  return () => {
    if (id === null && !asking) void ask();
    return id;
  };
}

/** State of the store; `ok` only while it is writable. */
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

const ADDRESSES = new Set<string>(providerFacts.map(({ field }) => field));

/** Removes upstream URLs from a report, for callers who must not see them. */
export function withoutAddresses(report: HealthReport): HealthReport {
  const shown = Object.entries(report).filter(([field]) => !ADDRESSES.has(field));
  return Object.fromEntries(shown) as HealthReport;
}
