import { randomBytes } from 'node:crypto';
import { openSync, renameSync, statSync } from 'node:fs';
import { devNull } from 'node:os';
import { dirname, join } from 'node:path';
import { isHttpUrl } from '../base/http-url.ts';
import { localTokenFile, makeLocalToken } from '../config/local-token.ts';
import { dataFolder } from '../config/paths.ts';
import type { Settings } from '../config/settings.ts';
import { SettingsError } from '../config/settings-error.ts';
import { isAlarmCause, type SavingAlarm } from '../core/saving-alarm.ts';
import { makeFolder } from '../store/sqlite/make-folder.ts';
import { type ProviderFacts, providerFacts } from '../wires/providers/facts.ts';
import { type Call, type Io, textOption, UsageError } from './command.ts';
import { accessToken } from './local-access.ts';

export interface RunProxy {
  /** Listening URL without a path. */
  readonly url: string;
  /** How the proxy was started or found, in words. */
  readonly about: string;
  /** Whether it stores originals in this machine's configured store. */
  readonly sameStore: boolean;
  /** The token for its `/rpc` and `/prune`, or `null`. */
  readonly token: string | null;
  /** This user's key for a proxy on another machine; passed to the agent only. */
  readonly key: string | null;
  /** Why the proxy neither prunes nor records, in one sentence; absent if it does both. */
  readonly problem?: string;
  close(): Promise<void>;
}

/** Log size above which `run.log` is rotated to `run.log.1`. */
const LOG_BYTES = 5 * 1024 * 1024;
/** Generous for loaded machines, since a missing listener fails at once. */
const HEALTH_MS = 5_000;

/** Fields of a proxy's `/health` that the command line uses. */
export interface ProxyHealth {
  /** Origins of upstreams, by field of `/health`; older versions lack some. */
  readonly upstreams: ReadonlyMap<ProviderFacts['field'], string>;
  /** Id of the proxy's store; absent while that store is unavailable. */
  readonly storeId?: string;
  /** Why that store is unusable, as a short code. */
  readonly storeProblem?: string;
  /** Number of requests since the start that were not understood, by reason. */
  readonly notUnderstood?: ReadonlyMap<string, number>;
  /** Changed histories reported by providers, as `reported` and `requests`. */
  readonly prefixBreaks?: ReadonlyMap<string, number>;
  /** Present while requests with large results save nothing. */
  readonly savingAlarm?: SavingAlarm;
}

/** The URL given by `--proxy` without a path, unless it is the configured proxy. @throws UsageError */
export function namedProxy(call: Call): string | null {
  const url = textOption(call, 'proxy')?.replace(/(?<!\/)\/+(?:v1\/*)?$/, '');
  if (url === undefined) return null;
  if (!isHttpUrl(url)) throw new UsageError(`--proxy ${JSON.stringify(url)} is not an http(s) address`);
  return url;
}

export async function isProxy(url: string): Promise<boolean> {
  return (await proxyHealth(url)) !== null;
}

/** `/health` of one of our proxies at a URL; `null` if there is none. */
export async function proxyHealth(url: string, limitMs = HEALTH_MS): Promise<ProxyHealth | null> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(limitMs) });
    const report: unknown = await response.json();
    if (typeof report !== 'object' || report === null) return null;
    const fields: Readonly<Record<string, unknown>> = { ...report };
    if (fields.server !== 'mcp-pruner') return null;
    const upstreams = new Map<ProviderFacts['field'], string>();
    for (const { field } of providerFacts) {
      const origin = fields[field];
      if (typeof origin === 'string' && URL.canParse(origin)) upstreams.set(field, origin);
    }
    const storeId = typeof fields.store_id === 'string' && { storeId: fields.store_id };
    const storeProblem = typeof fields.store === 'string' && fields.store !== 'ok' && { storeProblem: fields.store };
    const savingAlarm = alarmIn(fields.saving_alarm);
    const notUnderstood = countsIn(fields.not_understood);
    const prefixBreaks = countsIn(fields.prefix_breaks);
    return {
      upstreams,
      ...storeId,
      ...storeProblem,
      notUnderstood,
      prefixBreaks,
      savingAlarm: savingAlarm ?? undefined,
    };
  } catch {
    return null; // nothing, or another program, listens there
  }
}

function countsIn(value: unknown): Map<string, number> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return new Map(entries.filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
}

function alarmIn(value: unknown): SavingAlarm | null {
  if (typeof value !== 'object' || value === null) return null;
  const { cause, requests, code }: Readonly<Record<string, unknown>> = { ...value };
  if (!isAlarmCause(cause) || typeof requests !== 'number' || typeof code !== 'string') return null;
  return { cause, requests, code };
}

/** URL at which this machine reaches the configured proxy. */
export function proxyUrl({ host, port }: Pick<Settings, 'host' | 'port'>): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/**
 * Opens the running proxy, or starts one for this run: on a free loopback port, with the same store.
 *
 * @param shared - whether a running proxy may be used
 */
export async function openProxy(settings: Settings, io: Io, shared: boolean): Promise<RunProxy> {
  const running = proxyUrl(settings);
  const token = accessToken(settings, io, false);
  if (shared && (await keepsOriginalsHere(running, settings, io, token))) {
    return { url: running, about: 'which was running', sameStore: true, token, key: null, close: async () => {} };
  }
  const logFile = openLogFile(join(dataFolder(io, settings.dbPath), 'run.log'));
  const [{ startHttp }, { createLog }] = await Promise.all([import('../app/serve.ts'), import('../observe/log.ts')]);
  const log = createLog({ level: settings.logLevel, fd: logFile.fd });
  // no known token is needed, because only this run uses the proxy
  const ownToken = settings.localToken === 'off' ? null : tokenOfRun(settings, io);
  const guards = io.edition.settings.parts.flatMap(({ guard }) => guard ?? []);
  const unguarded = Object.fromEntries(guards.map((guard) => [guard, false]));
  const here = { ...unguarded, host: '127.0.0.1', port: 0 };
  const own: Settings = { ...settings, ...here, authToken: ownToken, drainTimeoutMs: 0 };
  const app = await startHttp(own, { edition: io.edition, log, version: io.version });
  const about = `started for this run, ${logFile.path === null ? 'without a log' : `log ${logFile.path}`}`;
  const sameStore = settings.dbPath !== ':memory:';
  const problem = app.storeProblem() ?? undefined;
  return { url: app.url, about, sameStore, token: ownToken, key: null, problem, close: () => app.close() };
}

/** This machine's token, or a token for this run only if the file cannot be created. */
function tokenOfRun(settings: Settings, io: Io): string {
  try {
    return makeLocalToken(localTokenFile(io, settings));
  } catch (cause) {
    if (!(cause instanceof SettingsError)) throw cause;
    return randomBytes(32).toString('base64url');
  }
}

/**
 * Tests, by storing a text, whether a proxy uses this machine's configured store. Otherwise an MCP server on this
 * machine could not recover the proxy's cuts.
 */
export async function keepsOriginalsHere(
  url: string,
  settings: Settings,
  io: Io,
  token: string | null,
): Promise<boolean> {
  if ((settings.databaseUrl === null && settings.dbPath === ':memory:') || !(await isProxy(url))) return false;
  try {
    const text = `mcp-pruner run ${process.pid} ${io.clock.nowMs()}`;
    const pruneId = await keptAs(url, text, token);
    const { openStore, storeExists } = await import('../app/store.ts');
    if (!storeExists(settings, (path) => io.fileExists(path))) return false;
    const store = await openStore(settings, { edition: io.edition, readonly: true, clock: io.clock });
    try {
      return (await store.findOriginal(pruneId)) === text;
    } finally {
      await store.close();
    }
  } catch {
    return false; // access was refused, or a store is unusable
  }
}

/** Has a proxy store a text. @returns the prune id */
async function keptAs(url: string, text: string, token: string | null): Promise<string> {
  const options = {
    max_prune_ratio: 0,
    min_keep_lines: 0,
    timeout_ms: 1000,
    annotate_lines: false,
    include_markers: false,
  };
  const args = { text, goal_hint: '', source_type: 'docs', options };
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'prune_text', arguments: args } };
  const response = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token !== null && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(call),
    signal: AbortSignal.timeout(HEALTH_MS),
  });
  const { result } = (await response.json()) as { result: { content: readonly [{ text: string }] } };
  const { prune_id } = JSON.parse(result.content[0].text) as { prune_id: string };
  return prune_id;
}

/** Opens a file for log lines, which must not mix with the agent's screen. `path` is `null` if that fails. */
function openLogFile(path: string): { readonly path: string | null; readonly fd: number } {
  try {
    makeFolder(dirname(path));
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES) renameSync(path, `${path}.1`);
    return { path, fd: openSync(path, 'a', 0o600) };
  } catch {
    return { path: null, fd: openSync(devNull, 'a') };
  }
}
