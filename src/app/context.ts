import { randomBytes, randomFillSync, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { monotonicFactory } from 'ulid';
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
import type { Edition } from './part.ts';
import { openStore } from './store.ts';

/** Makes the ids of requests: ulids that ascend within the process. */
export function requestIds(): () => string {
  const next = monotonicFactory(pooledRandom());
  return () => next();
}

/** Random numbers in [0, 1) from a pool of bytes: `ulid` would ask the system sixteen times for each id. */
function pooledRandom(): () => number {
  const pool = new Uint8Array(4096);
  let next = pool.length;
  return () => {
    if (next === pool.length) {
      randomFillSync(pool);
      next = 0;
    }
    return (pool[next++] ?? 0) / 256;
  };
}

export interface Ids {
  /** A unique id. */
  readonly uuid: () => string;
  /** 128 random bits in hex, for secrets. */
  readonly secret: () => string;
}

export const ids: Ids = { uuid: () => randomUUID(), secret: () => randomBytes(16).toString('hex') };

/** The run id of audit events, which belong to no conversation. */
const SERVER_RUN = 'server';
const HASH_CHARS = 8;
const MAX_NAMES = 100;

/** Notes who signed in to the page. */
export function signInsOf({ events, clock }: Pick<Context, 'events' | 'clock'>): (keyId: string) => void {
  return (keyId) => {
    events.add([auditEvent(clock.nowMs(), 'signed_in', { key_id: keyId === '' ? null : keyId })]);
  };
}

/**
 * Adds an event if the settings differ from the last start on this store. It has the names of the changed
 * settings, not their values. Never rejects.
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

/** A short hash of the shown value of each setting; for a secret, only of whether it is set. */
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

/** The callers that the settings allow. */
export function callersOf({ allowedHosts, allowedOrigins, host }: Settings): Allowed {
  return allowedCallers([...allowedHosts, host], allowedOrigins, !isLoopbackHost(host));
}

/** The log level and the message for the failures of each part. */
const parts = {
  projects: { level: 'warn', message: 'settings of projects could not be read' },
  pruning: { level: 'warn', message: 'pruning fell back' },
  forwarding: { level: 'warn', message: 'forwarded unchanged' },
  segments: { level: 'warn', message: 'segments could not be recorded' },
  recall: { level: 'warn', message: 'results could not be kept for recall' },
  compactions: { level: 'warn', message: 'a compaction could not be noted' },
  shelf: { level: 'warn', message: 'tools could not be noted' },
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

  /** The failure reporter of a part, or of an extension by its name. */
  of(part: keyof typeof parts | { readonly extension: string }): FailureReporter {
    const { level, message } =
      typeof part === 'string' ? parts[part] : ({ level: 'warn', message: part.extension } as const);
    return (reason, err, about) => {
      try {
        this.#log[level]({ ...about, reason, err }, message);
      } catch {
        // the log itself failed, and its caller must not fail
      }
    };
  }
}

/** The inputs of a start: everything is built over them. */
export interface Base {
  readonly edition: Edition;
  readonly settings: Settings;
  readonly log: Log;
  readonly version: string;
  readonly clock: Clock;
  /** The environment and the folder of this process, for the programs that it starts. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** The sources of the settings, and remarks about them. */
  readonly loaded?: Pick<Loaded, 'origins' | 'warnings'>;
  /** Where the built files of the page are, if not where the build puts them. */
  readonly pageFolder?: string;
  /** Requests in a row without a saving that raise the alarm; for tests. Default: 50. */
  readonly alarmAfter?: number;
  /** Runs the checks of `mcp-pruner doctor` on this installation. */
  readonly examine?: () => Promise<readonly Finding[]>;
}

/** The log of events, for parts that add to it or follow it. */
export type Events = Pick<EventLog, 'add' | 'runOf' | 'flush' | 'onWritten'>;

/** The base parts with the store and its state: everything that a server needs to report its health. */
export interface Context extends Base {
  readonly store: StoreHandle;
  /** Reports failures that did not stop a request. */
  readonly failures: Failures;
  /** Creates unique ids and secrets. */
  readonly ids: Ids;
  /** The log of events. */
  readonly events: Events;
  /** Writes in the background, for all parts together. */
  readonly behind: WriteBehind;
  /** @param backendState - of the backend, once there is one */
  health(backendState?: string): HealthReport;
}

/** Opens the store and the log of events over it. */
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
  const behind = new WriteBehind();
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
    id = await store.id().catch(() => null); // the state of the store is reported as well
    asking = false;
  };
  void ask();
  return () => {
    if (id === null && !asking) void ask();
    return id;
  };
}

/** The state of the store; `ok` only while it can also be written. */
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

/** A report for a caller who must not learn where requests are forwarded to. */
export function withoutAddresses(report: HealthReport): HealthReport {
  const shown = Object.entries(report).filter(([field]) => !ADDRESSES.has(field));
  return Object.fromEntries(shown) as HealthReport;
}
