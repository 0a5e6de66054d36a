import { openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Edition } from '../../src/app/guest.ts';
import { type RunningServer, startHttp } from '../../src/app/serve.ts';
import { loadSettings } from '../../src/config/load.ts';
import type { Settings } from '../../src/config/settings.ts';
import type { Clock } from '../../src/core/ports.ts';
import { edition } from '../../src/edition.ts';
import { createLog } from '../../src/observe/log.ts';
import { afterwards, tempFolder } from './afterwards.ts';
import type { FakeUpstream } from './fake-upstream.ts';
import { makeStore } from './new-store.ts';
import { until } from './until.ts';

/** Tests wait for written rows: a second each time would be most of their time. */
const WRITE_EVERY_MS = 100;

/** One line of the log. */
export type LogLine = Readonly<Record<string, unknown>>;

export interface ProxyOptions {
  /** Environment variables in addition to those that the test needs anyway. */
  readonly env?: Readonly<Record<string, string>>;
  readonly dbPath?: string;
  readonly clock?: Clock;
  /** Requests in a row without a saving that raise the alarm. */
  readonly alarmAfter?: number;
  /** Changes to the product's edition. */
  readonly edition?: Partial<Edition> | undefined;
}

/** The product on a free port, in this process, with a real store and a real log. */
export class TestProxy {
  readonly #settings: Settings;
  readonly #clock: Clock | undefined;
  readonly #logFile: string;
  #app: RunningServer | null = null;
  #flush: () => Promise<void> = async () => {};

  readonly #more: Pick<ProxyOptions, 'alarmAfter' | 'edition'>;

  constructor(
    settings: Settings,
    clock: Clock | undefined,
    logFile: string,
    more: Pick<ProxyOptions, 'alarmAfter' | 'edition'> = {},
  ) {
    this.#more = more;
    this.#settings = settings;
    this.#clock = clock;
    this.#logFile = logFile;
  }

  get url(): string {
    if (!this.#app) throw new Error('the proxy does not run');
    return this.#app.url;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  get dbPath(): string {
    return this.#settings.dbPath;
  }

  async start(): Promise<void> {
    const log = createLog({ level: 'debug', fd: openSync(this.#logFile, 'a') });
    this.#flush = () => new Promise((resolve) => log.flush(() => resolve()));
    this.#app = await startHttp(this.#settings, {
      edition: { ...edition, ...this.#more.edition },
      log,
      version: '0.0.0-test',
      ...(this.#clock && { clock: this.#clock }),
      ...(this.#more.alarmAfter !== undefined && { alarmAfter: this.#more.alarmAfter }),
      writeEveryMs: WRITE_EVERY_MS,
      env: { PATH: process.env.PATH, HOME: process.env.HOME },
      cwd: tmpdir(),
    });
  }

  async stop(): Promise<void> {
    await this.#app?.close();
    this.#app = null;
    await this.#flush();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Everything that the log holds so far, as written. */
  async logText(): Promise<string> {
    await this.#flush();
    return readFileSync(this.#logFile, 'utf8');
  }

  async logLines(): Promise<LogLine[]> {
    const text = await this.logText();
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogLine);
  }

  /** The lines about requests to a model, once there are at least `count` of them. */
  requestLines(count: number): Promise<LogLine[]> {
    return until(async () => {
      const lines = (await this.logLines()).filter(({ msg }) => msg === 'model request');
      return lines.length >= count && lines;
    });
  }

  /** Sends a chat request as it stands and reads the answer. */
  chat(body: Buffer | string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-test', ...headers },
      body,
    });
  }

  /** Calls a tool over `/rpc`. */
  async call(name: string, args: object): Promise<RpcAnswer> {
    const answer = await fetch(`${this.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    });
    return (await answer.json()) as RpcAnswer;
  }

  /** Original lines behind a prune id, through `recover_text`. */
  async recover(pruneId: string, startLine: number, endLine: number): Promise<string> {
    const ranges = [{ start_line: startLine, end_line: endLine }];
    const { result, error } = await this.call('recover_text', {
      prune_id: pruneId,
      ranges,
      include_line_numbers: false,
    });
    if (!result) throw new Error(`recover_text ${pruneId}: ${JSON.stringify(error)}`);
    const { raw_text } = JSON.parse(result.content[0]?.text ?? '') as { raw_text: string };
    return raw_text;
  }
}

export interface RpcAnswer {
  readonly result?: { readonly content: readonly { readonly text: string }[] };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** The settings of a machine on which only these variables are set. */
export function settingsOf(env: Readonly<Record<string, string>>): Settings {
  const readFile = (path: string): string => {
    throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' });
  };
  return loadSettings({ table: edition.settings, env, platform: 'linux', homeDir: '/nowhere', cwd: '/', readFile })
    .settings;
}

/** Starts the product in front of an upstream; it ends with the test. */
export async function startProxy(upstream: FakeUpstream | string, options: ProxyOptions = {}): Promise<TestProxy> {
  const folder = tempFolder();
  const dbPath = options.dbPath ?? join(folder, 'store.db');
  if (dbPath.startsWith(folder)) makeStore(dbPath, edition.tables);
  const settings = settingsOf({
    MCP_PRUNER_PORT: '0',
    MCP_PRUNER_UPSTREAM_URL: typeof upstream === 'string' ? upstream : upstream.url,
    MCP_PRUNER_ANTHROPIC_URL: typeof upstream === 'string' ? upstream : upstream.url,
    MCP_PRUNER_DB_PATH: dbPath,
    MCP_PRUNER_DRAIN_TIMEOUT_MS: '2000',
    // Two busy cores must not turn a test of something else into one of the time limit.
    MCP_PRUNER_TIMEOUT_MS: '10000',
    ...options.env,
  });
  const proxy = new TestProxy(settings, options.clock, join(folder, 'proxy.log'), options);
  await proxy.start();
  afterwards(() => proxy.stop());
  return proxy;
}
