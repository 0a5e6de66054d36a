import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from 'mcp-pruner/app/finding.ts';
import { startHttp } from 'mcp-pruner/app/serve.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { createLog } from 'mcp-pruner/observe/log.ts';
import { buildPage } from '../../../build/page.mjs';
import { completion, FakeUpstream } from '../../../test/helpers/fake-upstream.ts';
import { makeStore } from '../../../test/helpers/new-store.ts';
import { type RpcAnswer, settingsOf } from '../../../test/helpers/proxy.ts';

export interface StageOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly examine?: () => Promise<readonly Finding[]>;
  /** Where the page was built; by default it is built from the sources. */
  readonly pageFolder?: string;
  /** Where the store is; by default in the folder of the stage. */
  readonly dbPath?: string;
}

/** The product with its page on a free port, in front of an upstream of its own. */
export interface Stage {
  readonly url: string;
  readonly upstream: FakeUpstream;
  readonly dbPath: string;
  /** All that was logged so far. */
  log(): string;
  /** Calls a tool over `/rpc`. */
  call(name: string, args: object): Promise<RpcAnswer>;
  restart(): Promise<void>;
  close(): Promise<void>;
}

let built: Promise<string> | undefined;

/** The page as the sources have it now, built once for a test file. */
function pageFolder(): Promise<string> {
  built ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-page-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    await buildPage(folder);
    return folder;
  })();
  return built;
}

export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-stage-'));
  const upstream = new FakeUpstream(completion());
  await upstream.listen();
  const dbPath = options.dbPath ?? join(folder, 'store.db');
  if (dbPath.startsWith(folder)) makeStore(dbPath, edition.tables);
  const settings = settingsOf({
    MCP_PRUNER_PORT: '0',
    MCP_PRUNER_UPSTREAM_URL: upstream.url,
    MCP_PRUNER_ANTHROPIC_URL: upstream.url,
    MCP_PRUNER_GEMINI_URL: upstream.url,
    MCP_PRUNER_DB_PATH: dbPath,
    MCP_PRUNER_DRAIN_TIMEOUT_MS: '2000',
    MCP_PRUNER_TIMEOUT_MS: '10000',
    ...options.env,
  });
  const log = createLog({ level: 'debug', fd: openSync(join(folder, 'proxy.log'), 'a') });
  const start = async (port: number) =>
    startHttp(
      { ...settings, port },
      {
        ...{ edition, log, version: '0.0.0-test', env: { PATH: process.env.PATH }, cwd: tmpdir(), writeEveryMs: 100 },
        pageFolder: options.pageFolder ?? (await pageFolder()),
        ...(options.clock && { clock: options.clock }),
        ...(options.examine && { examine: options.examine }),
      },
    );
  let server = await start(0);
  const { url } = server;
  return {
    ...{ url, upstream, dbPath },
    log: () => readFileSync(join(folder, 'proxy.log'), 'utf8'),
    async call(name, args) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
      const headers = { 'content-type': 'application/json' };
      return (await (await fetch(`${url}/rpc`, { method: 'POST', headers, body })).json()) as RpcAnswer;
    },
    async restart() {
      await server.close();
      server = await start(Number(new URL(url).port));
    },
    async close() {
      await server.close();
      await upstream.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
