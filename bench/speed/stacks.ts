import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A server under test, in a process of its own. */
export interface Stack {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  /** Headers that this stack needs to find the upstream. */
  readonly headers: Readonly<Record<string, string>>;
  /** From the start of the process to its first answer. */
  readonly startMs: number;
  /** Where it keeps what it stores, if it does. */
  readonly folder: string | null;
  stop(): Promise<void>;
}

export interface Places {
  /** The project's folder, with `dist/` built. */
  readonly root: string;
  /** Where the peers are installed, or `null`. */
  readonly peers: string | null;
  /** Another checkout of this project, built, to compare with. */
  readonly before: string | null;
}

async function freePort(): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = address !== null && typeof address === 'object' ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

interface Launch {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly port: number;
  readonly healthPath: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly folder?: string;
}

async function launch({ name, command, args, env, port, healthPath, headers = {}, folder }: Launch): Promise<Stack> {
  const startedAt = performance.now();
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-2_000);
  });
  const url = `http://127.0.0.1:${port}`;
  await untilUp(child, `${url}${healthPath}`, () => `${name} did not start: ${errors}`);
  return {
    name,
    url,
    pid: child.pid ?? 0,
    headers,
    startMs: performance.now() - startedAt,
    folder: folder ?? null,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const hurry = setTimeout(() => child.kill('SIGKILL'), 3_000);
      if (child.exitCode === null) await ended;
      clearTimeout(hurry);
      if (folder) rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilUp(child: ChildProcess, url: string, why: () => string): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (performance.now() < deadline && child.exitCode === null) {
    try {
      await (await fetch(url)).arrayBuffer();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  child.kill('SIGKILL');
  throw new Error(why());
}

export async function startUpstream({ root }: Places): Promise<Stack> {
  const port = await freePort();
  const script = join(root, 'bench/speed/stacks/upstream.mjs');
  return launch({ name: 'direct', command: process.execPath, args: [script, String(port)], port, healthPath: '/' });
}

/** LoopGuard that do nothing but pass on. */
const BARE = [
  ['hpm', 'hpm.mjs'],
  ['undici', 'undici.mjs'],
  ['collect', 'collect.mjs'],
] as const;

type Starter = (upstream: string) => Promise<Stack>;

/** Every stack that can run here; peers and nginx only where they are installed. */
export function starters(places: Places): ReadonlyMap<string, Starter> {
  const { root, peers, before } = places;
  const stack = (name: string): string => join(root, 'bench/speed/stacks', name);
  const all = new Map<string, Starter>();
  all.set('pruner', (upstream) => startPruner('pruner', root, upstream));
  if (before !== null) all.set('before', (upstream) => startPruner('before', before, upstream));
  for (const [name, script] of BARE) {
    all.set(name, async (upstream) => {
      const port = await freePort();
      const args = [stack(script), String(port), upstream];
      return launch({ name, command: process.execPath, args, port, healthPath: '/health' });
    });
  }
  const nginx = ['/usr/sbin/nginx', '/usr/bin/nginx'].find((path) => existsSync(path));
  if (nginx) all.set('nginx', (upstream) => startNginx(nginx, upstream));
  if (peers) {
    const portkey = join(peers, 'node_modules/@portkey-ai/gateway/build/start-server.js');
    const llmtrim = join(peers, 'node_modules/@llmtrim/js/llmtrim_wasm.js');
    if (existsSync(portkey)) {
      all.set('portkey', async (upstream) => {
        const port = await freePort();
        const headers = { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream}/v1` };
        const args = [portkey, `--port=${port}`, '--headless'];
        return launch({ name: 'portkey', command: process.execPath, args, port, healthPath: '/', headers });
      });
    }
    if (existsSync(llmtrim)) {
      all.set('llmtrim', async (upstream) => {
        const port = await freePort();
        const args = ['--experimental-wasm-modules', stack('collect.mjs'), String(port), upstream, llmtrim];
        return launch({ name: 'llmtrim', command: process.execPath, args, port, healthPath: '/health' });
      });
    }
  }
  return all;
}

async function startPruner(name: string, root: string, upstream: string): Promise<Stack> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-bench-'));
  const env = {
    MCP_PRUNER_PORT: String(port),
    MCP_PRUNER_UPSTREAM_URL: `${upstream}/v1`,
    MCP_PRUNER_DB_PATH: join(folder, 'bench.db'),
  };
  const args = [join(root, 'dist/cli.js'), 'serve'];
  return launch({ name, command: process.execPath, args, env, port, healthPath: '/health', folder });
}

async function startNginx(command: string, upstream: string): Promise<Stack> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-nginx-'));
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 4096; }
http {
  access_log off; client_max_body_size 100m; client_body_buffer_size 32m; ${paths.join(' ')}
  upstream model { server ${upstream.replace('http://', '')}; keepalive 128; }
  server {
    listen 127.0.0.1:${port};
    location = /health { return 200; }
    location / { proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }
  }
}
`,
  );
  return launch({
    name: 'nginx',
    command,
    args: ['-p', folder, '-c', join(folder, 'nginx.conf')],
    port,
    healthPath: '/health',
    folder,
  });
}

const TICKS_PER_S = 100;

/** CPU time that a process has used so far, in milliseconds (Linux; 10 ms steps). */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_S;
}

/** Resident memory of a process, in MiB (Linux). */
export function rssMib(pid: number): number {
  const match = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1] ?? 0) / 1024;
}

const QUIET_MS = 3_000;
const MAX_WAIT_MS = 60_000;

/** What a stack holds on disk, in bytes, once it has not changed for some seconds; `null` where it stores nothing. */
export async function storeBytes({ folder }: Stack): Promise<number | null> {
  if (folder === null || !existsSync(join(folder, 'bench.db'))) return null;
  const size = (): number => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  const deadline = performance.now() + MAX_WAIT_MS;
  let last = size();
  for (let changedAt = performance.now(); performance.now() < deadline; ) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = size();
    if (now !== last) changedAt = performance.now();
    else if (performance.now() - changedAt > QUIET_MS) break;
    last = now;
  }
  return last;
}
