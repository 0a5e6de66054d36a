import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { startHttp } from '../../src/app/serve.ts';
import { loadSettings } from '../../src/config/load.ts';
import type { Clock } from '../../src/core/ports.ts';
import { edition } from '../../src/edition.ts';
import { createLog } from '../../src/observe/log.ts';

/** One run of the proxy, from its start to its end. */
export interface ProxyRun {
  /** Without a path. */
  readonly url: string;
  /** `null`: it runs in this process. */
  readonly pid: number | null;
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

type Environment = Readonly<Record<string, string>>;

/** Starts the proxy from its sources in this process. It has no threads of its own, and only these variables. */
export async function startHere(env: Environment, clock: Clock): Promise<ProxyRun> {
  const readFile = (path: string): string => {
    throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' });
  };
  const surroundings = { env: { ...env, MCP_PRUNER_PORT: '0' }, homeDir: env.HOME ?? '/', cwd: '/', readFile };
  const { settings } = loadSettings({ table: edition.settings, platform: 'linux', ...surroundings });
  const server = await startHttp(settings, {
    edition: { ...edition, warmsUp: false },
    log: createLog({ level: 'silent', fd: 2 }),
    version: '0.0.0-conformance',
    clock,
    env: { PATH: process.env.PATH, HOME: env.HOME },
    cwd: '/',
  });
  return { url: server.url, pid: null, stop: () => server.close() };
}

/** Starts a program as a process of its own, which ends with this one. */
export async function startProcess(program: string, env: Environment): Promise<ProxyRun> {
  const child = spawn(process.execPath, [program, 'serve', '--port', '0'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  return {
    url: await urlOf(child),
    pid: child.pid ?? null,
    async stop(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      await once(child, 'exit');
    },
  };
}

/** Waits until the server logs its address. Other addresses, such as the database's, have another scheme. */
function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((done, reject) => {
    let output = '';
    let isOpen = false;
    const onData = (chunk: Buffer): void => {
      if (isOpen) return;
      output += chunk.toString();
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
      if (url === undefined) return;
      isOpen = true;
      done(url);
    };
    child.stdout?.on('data', onData);
    child.stderr?.on('data', onData);
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${output.slice(-2000)}`)));
  });
}
