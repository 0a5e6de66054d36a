import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { edition } from 'mcp-pruner/edition.ts';
import { openSqliteStore } from 'mcp-pruner/store/sqlite.ts';
import { expect } from 'vitest';
import { send } from '../../../bench/conformance/answering.ts';
import { answerMessages, countMessages } from '../../../bench/conformance/anthropic.ts';
import { Correspondent } from '../../../bench/conformance/correspondent.ts';
import type { Json } from '../../../bench/conformance/types.ts';
import { Random } from '../../../bench/fuzz/random.ts';
import { makeText } from '../../../bench/fuzz/texts.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import {
  type Answer,
  type FakeUpstream,
  type SeenRequest,
  startUpstream,
} from '../../../test/helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { CompactionBook } from '../src/book.ts';

export const BEGAN_MS = Date.parse('2026-11-27T10:00:00Z');
export const MODEL = 'claude-opus-5';
const ENDED = 6;
const LONG = 9;
/** Lines of the log that explain a compaction that did not come. */
const LAST_LINES = 12;

export interface WorldOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly dbPath?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Nobody ever had a summary made in this store: then the first one waits until every process looks for them. */
  readonly isFirst?: boolean;
}

/** Tokens of a request of so many messages. */
export function tokensOf(messages: number): number {
  return 10_000 + 10_000 * messages;
}

export function jsonOf({ body }: SeenRequest): Json {
  return JSON.parse(body.toString('utf8')) as Json;
}

/** Whether a request asks for a summary. */
export function asksForSummary(request: SeenRequest): boolean {
  return 'compaction' in jsonOf(request);
}

/** Anthropic as documented, a proxy before it, and a client with one conversation. */
export class SeamWorld {
  readonly upstream: FakeUpstream;
  proxy: TestProxy;
  readonly clock: { now: number; nowMs(): number };
  readonly agent: Correspondent;
  readonly #headers: Readonly<Record<string, string>>;
  /** Replaces the provider's answer. @returns false: the provider answers */
  readonly intercept: { answer: (...of: Parameters<Answer>) => boolean | Promise<boolean> };
  messages: Json[] = [];
  model = MODEL;
  session = 'one';
  /** What the model runs. */
  command = 'npm test';
  more: Json = {};

  constructor(
    parts: Pick<SeamWorld, 'upstream' | 'proxy' | 'clock' | 'agent' | 'intercept'>,
    headers: Readonly<Record<string, string>>,
  ) {
    this.upstream = parts.upstream;
    this.proxy = parts.proxy;
    this.clock = parts.clock;
    this.agent = parts.agent;
    this.intercept = parts.intercept;
    this.#headers = headers;
  }

  body(): Json {
    const tools = [{ name: 'Bash', description: 'Runs a command.', input_schema: { type: 'object' } }];
    const system = [{ type: 'text', text: 'You are a careful engineer.', cache_control: { type: 'ephemeral' } }];
    const thinking = { type: 'enabled', budget_tokens: 2_000 };
    return {
      model: this.model,
      max_tokens: 4_000,
      stream: true,
      system,
      tools,
      thinking,
      messages: this.messages,
      ...this.more,
    };
  }

  /** Sends the conversation as it is. */
  async send(
    headers: Readonly<Record<string, string>> = {},
    path = '/v1/messages',
  ): Promise<{ status: number; text: string }> {
    const own = { 'content-type': 'application/json', 'x-api-key': 'sk-one', 'anthropic-version': '2023-06-01' };
    const answer = await fetch(`${this.proxy.url}${path}`, {
      method: 'POST',
      headers: { ...own, 'x-claude-code-session-id': this.session, ...this.#headers, ...headers },
      body: JSON.stringify(this.body()),
    });
    const text = await answer.text();
    this.clock.now += 10_000;
    return { status: answer.status, text };
  }

  /** A turn: words of the user, or results of the calls before; and the model's answer. */
  async turn(content: unknown, { calls = 0, headers = {} }: { calls?: number; headers?: Record<string, string> } = {}) {
    this.messages.push({ role: 'user', content });
    const names = Array.from({ length: calls }, () => ({ name: 'Bash', args: { command: this.command } }));
    this.agent.script = { ...this.agent.script, calls: names, says: calls === 0 ? 'Done with “this” part.' : '' };
    const { status } = await this.send(headers);
    expect(status).toBe(200);
    this.messages.push(...this.agent.answer);
    this.upstream.requests.at(-1);
  }

  /** Works on one task, with a result a turn. */
  async task(words: string, turns: number): Promise<void> {
    await this.turn(words, { calls: 1 });
    for (let i = 1; i <= turns; i++) {
      const last = this.messages.at(-1)?.content as Json[];
      const { id } = last.find(({ type }) => type === 'tool_use') as { id: string };
      const content = makeText(new Random(i), 120);
      await this.turn([{ type: 'tool_result', tool_use_id: id, content }], { calls: i < turns ? 1 : 0 });
    }
  }

  /** Requests for summaries that arrived. */
  get asked(): SeenRequest[] {
    return this.upstream.requests.filter(asksForSummary);
  }

  /** Requests of the client that arrived. */
  get turns(): SeenRequest[] {
    return this.upstream.requests.filter((request) => !asksForSummary(request));
  }

  /** Waits for a result of a compaction in the metrics. */
  async result(result: 'made' | 'failed', count = 1): Promise<void> {
    const line = `mcp_pruner_seam_compactions_total{result="${result}"} ${count}`;
    const isCounted = async () => (await (await fetch(`${this.proxy.url}/metrics`)).text()).includes(line);
    await until(isCounted).catch(async (cause: unknown) => {
      const lines = (await this.proxy.logLines()).filter(({ msg }) => msg !== 'model request').slice(-LAST_LINES);
      throw new Error(`no compaction was ${result}: ${JSON.stringify(lines)}`, { cause });
    });
  }

  /** Holds the provider's answers to requests for summaries. @returns a function that lets them go */
  holdSummaries(): () => void {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.intercept.answer = async (request) => {
      if (asksForSummary(request)) await held;
      return false;
    };
    return () => release();
  }

  /** Works until finished work is heavy, and begins the next task, at which a summary is made. */
  async toSummary(): Promise<void> {
    await this.task('Fix the checkout of the shop, please.', 8);
    await this.turn('Now the invoices: why is the total wrong?');
    await this.result('made');
  }

  /** Messages of the client's last request, as the provider got them. */
  get forwarded(): Json[] {
    return jsonOf(this.turns.at(-1) as SeenRequest).messages as Json[];
  }

  get isSwapped(): boolean {
    return JSON.stringify(this.forwarded[0]).includes('"type":"compaction"');
  }
}

let seeded: Promise<Buffer> | undefined;

/** A world in which conversations of the project have ended before, so that the pace is known. */
export async function openWorld({
  env = {},
  dbPath,
  headers = {},
  isFirst = false,
}: WorldOptions = {}): Promise<SeamWorld> {
  const path = dbPath ?? (env.MCP_PRUNER_DATABASE_URL === undefined ? await copyOfSeeded(isFirst) : undefined);
  const world = await opened({
    env: { MCP_PRUNER_SEAMS: 'on', ...env },
    headers,
    ...(path !== undefined && { dbPath: path }),
  });
  if (path === undefined) {
    await endSome(world);
    await world.proxy.restart(); // the rows of those conversations are written before the clock moves on
  }
  world.clock.now += 2 * 3_600_000;
  return world;
}

async function copyOfSeeded(isFirst: boolean): Promise<string> {
  seeded ??= seed();
  const path = join(tempFolder(), 'store.db');
  writeFileSync(path, await seeded);
  if (!isFirst) await addOldSummary(path);
  return path;
}

/** Adds one that failed long ago, in another project. */
async function addOldSummary(path: string): Promise<void> {
  const kept = { ttlMs: 1e9, maxBytes: 1e9, maxEvents: 1_000 };
  const store = openSqliteStore({ path, clock: { nowMs: () => BEGAN_MS }, ...kept, parts: edition.tables });
  const book = new CompactionBook(store.sql);
  const names = {
    project: 'old',
    conversation: 'old',
    shown: 'old',
    keyId: '',
    wire: 'messages',
    model: 'old',
    host: '',
  };
  const askedMs = BEGAN_MS - 80 * 86_400_000;
  const id = Number(await book.ask({ ...names, prefix: 'old', messages: 1, pictures: 0, weight: 1, askedMs }));
  await book.failed(id, 'stopped', 0);
  await store.close();
}

async function seed(): Promise<Buffer> {
  const world = await opened({ env: {}, headers: {} });
  await endSome(world);
  await world.proxy.stop();
  return readFileSync(world.proxy.dbPath);
}

/** Conversations that went on for a while at any length. */
async function endSome(world: SeamWorld): Promise<void> {
  const { agent } = world;
  const was = agent.tokensOf;
  agent.tokensOf = () => 900_000;
  for (let i = 0; i < ENDED; i++) {
    world.session = `ended-${i}`;
    world.messages = [];
    agent.rewrite();
    for (let turn = 0; turn < LONG; turn++)
      await world.turn(`Task ${i}, part ${turn}: go on.`, { headers: { 'x-mcp-pruner-seams': 'off' } });
  }
  agent.tokensOf = was;
  agent.rewrite();
  world.messages = [];
  world.session = 'one';
  world.upstream.requests.length = 0;
}

/** Allows compaction on this host, unless `env` names others. */
export function withHost(env: Readonly<Record<string, string>>, host: string): Record<string, string> {
  return { MCP_PRUNER_SEAMS_HOSTS: host, ...env };
}

async function opened({ env = {}, dbPath, headers = {} }: WorldOptions): Promise<SeamWorld> {
  const clock = { now: BEGAN_MS, nowMs: () => clock.now };
  const agent = new Correspondent('one', 'messages', true);
  agent.tokensOf = tokensOf;
  const intercept: SeamWorld['intercept'] = { answer: () => false };
  const [stored, summaries] = [new Map(), new Map()];
  const upstream = await startUpstream(async (request, res, index) => {
    if (await intercept.answer(request, res, index)) return;
    const [path = ''] = request.url.split('?');
    const exchange = { path, headers: request.headers, body: jsonOf(request), agent, stored, summaries };
    agent.requests++;
    send(res, path.endsWith('/count_tokens') ? countMessages(exchange) : answerMessages(exchange));
  });
  const host = new URL(upstream.url).host;
  const proxy = await startProxy(upstream, {
    clock,
    env: withHost(env, host),
    ...(dbPath !== undefined && { dbPath }),
  });
  return new SeamWorld({ upstream, proxy, clock, agent, intercept }, headers);
}
