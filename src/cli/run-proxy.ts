import { mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Settings } from '../config/settings.ts';

/** The proxy of a run. */
export interface RunProxy {
  /** Where it listens, without a path. */
  readonly url: string;
  /** How it came about, in words. */
  readonly about: string;
  close(): Promise<void>;
}

/** Above this the log of earlier runs gives way. */
const LOG_BYTES = 5 * 1024 * 1024;
const HEALTH_MS = 1_000;

/** Whether a proxy of this product answers at an address. */
export async function isProxy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(HEALTH_MS) });
    const report: unknown = await response.json();
    return typeof report === 'object' && report !== null && 'server' in report && report.server === 'mcp-pruner';
  } catch {
    return false; // nothing there, or something else
  }
}

/** The address of the proxy that the settings describe, as this machine reaches it. */
export function proxyUrl({ host, port }: Pick<Settings, 'host' | 'port'>): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/**
 * The proxy that runs already, or one for this run alone: on a free port of the loopback interface, with the same store.
 *
 * @param shared - whether a proxy that runs may be used
 */
export async function openProxy(settings: Settings, version: string, shared: boolean): Promise<RunProxy> {
  const running = proxyUrl(settings);
  if (shared && settings.authToken === null && (await isProxy(running))) {
    return { url: running, about: 'which was running', close: async () => {} };
  }
  const logFile = openLogFile(join(settings.dbPath === ':memory:' ? tmpdir() : dirname(settings.dbPath), 'run.log'));
  const [{ startApp }, { createLog }] = await Promise.all([import('../app.ts'), import('../observe/log.ts')]);
  const log = await createLog({ level: settings.logLevel, fd: logFile.fd, pretty: false });
  // nobody else is to find it, and the agent could not send the token to all of its parts
  const own: Settings = { ...settings, host: '127.0.0.1', port: 0, authToken: null, drainTimeoutMs: 0 };
  const app = await startApp(own, { log, version });
  const about = `started for this run, upstream ${settings.upstreamUrl}, log ${logFile.path}`;
  return { url: app.url, about, close: () => app.close() };
}

/** Its lines must not run through what the agent draws on the terminal. */
function openLogFile(path: string): { readonly path: string; readonly fd: number } {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES) renameSync(path, `${path}.1`);
  return { path, fd: openSync(path, 'a', 0o600) };
}
