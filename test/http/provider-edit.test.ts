import dns from 'node:dns';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ColdStashReport } from '../../src/core/ports/cold-report.ts';
import { AnswerReader } from '../../src/wires/dialects/answers/reader.ts';
import { run } from '../cli/fake-io.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { ClaudeAgent } from '../helpers/claude-agent.ts';
import { type FakeUpstream, json, type SeenRequest, startUpstream } from '../helpers/fake-upstream.ts';
import { sharedDatabase } from '../helpers/postgres.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { manualClock } from '../helpers/rewriter.ts';
import { SigningModel } from '../helpers/signing-upstream.ts';

const FIELD =
  ',"context_management":{"edits":[{"type":"clear_tool_uses_20250919","keep":{"type":"tool_uses","value":12},' +
  '"trigger":{"type":"tool_uses","value":27},"clear_at_least":{"type":"input_tokens","value":3000}}]}}';
const BETA = 'context-management-2025-06-27';
const MINUTE = 60_000;
const DAY = 86_400_000;
const database = sharedDatabase();
const switches: readonly Readonly<Record<string, string>>[] = [
  { MCP_PRUNER_ENABLED: 'false' },
  { MCP_PRUNER_MODE: 'shadow' },
  { MCP_PRUNER_COLD_STASH: 'off' },
];

/** Claude Code at Anthropic's own API, whose name leads to this machine. */
class Session {
  readonly model = new SigningModel();
  agent = new ClaudeAgent(this.model);
  readonly clock = manualClock();
  readonly dbPath = join(tempFolder(), 'store.db');
  readonly upstream: FakeUpstream;
  /** It refuses the field. */
  refuses = false;
  databaseUrl = '';
  #proxy: TestProxy | null = null;
  /** Requests before the proxy began. */
  #before = 0;

  constructor(upstream: FakeUpstream) {
    this.upstream = upstream;
    upstream.answer = (request, res, index) => {
      if (this.refuses && hasField(request)) {
        const message = 'context_management: Extra inputs are not permitted';
        return json(res, 400, { type: 'error', error: { type: 'invalid_request_error', message } });
      }
      return this.model.answer(request, res, index);
    };
  }

  /** What the provider clears of each request from now on, in tokens. */
  clears(tokens: number): void {
    const edits = [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 3, cleared_input_tokens: tokens }];
    this.model.extra = { context_management: { applied_edits: edits } };
  }

  /** The proxy, anew and with other settings over the same store. */
  async with(env: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.stop();
    const [dbPath, clock] = [this.dbPath, this.clock];
    const MCP_PRUNER_ANTHROPIC_URL = this.upstream.url.replace('127.0.0.1', 'api.anthropic.com');
    const usual: Record<string, string> = { MCP_PRUNER_ANTHROPIC_URL, MCP_PRUNER_COLD_STASH: 'provider' };
    const store: Record<string, string> = this.databaseUrl === '' ? {} : { MCP_PRUNER_DATABASE_URL: this.databaseUrl };
    this.#before = this.upstream.requests.length;
    this.#proxy = await startProxy(this.upstream, { env: { ...usual, ...store, ...env }, dbPath, clock });
  }

  get url(): string {
    return this.#proxy?.url ?? '';
  }

  async stop(): Promise<void> {
    await this.#proxy?.stop();
    this.#proxy = null;
  }

  /** A question and its answer. @returns the request as it arrived */
  async turn(headers: Readonly<Record<string, string>> = {}): Promise<SeenRequest> {
    const { agent, upstream } = this;
    agent.user(`Question ${agent.messages.length}: ${'why does it fail? '.repeat(10)}`);
    const { status } = await agent.send(this.url, [], headers);
    if (status !== 200) agent.messages.pop();
    return upstream.last;
  }

  /** So many turns without a pause. They are noted as answered once the proxy has reported them. */
  async turns(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.turn();
    await this.answered();
  }

  /** Once the proxy has reported all requests. */
  async answered(): Promise<void> {
    await this.#proxy?.requestLines(this.upstream.requests.length - this.#before);
  }

  /** A question that the provider does not answer. */
  async fails(): Promise<void> {
    this.model.fails = { status: 529, body: '{"type":"error"}' };
    await this.turn();
  }

  pause(minutes: number): void {
    this.clock.now += minutes * MINUTE;
  }

  async report(): Promise<ColdStashReport['cold_stash']> {
    await this.stop();
    const env = { MCP_PRUNER_DB_PATH: this.dbPath, MCP_PRUNER_COLD_STASH: 'provider' };
    const { out } = await run(['report', '--json'], { env, clock: { nowMs: () => this.clock.now } });
    return (JSON.parse(out) as ColdStashReport).cold_stash;
  }
}

const hasField = ({ body }: SeenRequest): boolean => body.toString().endsWith(FIELD);
const betaOf = ({ headers }: SeenRequest): string => String(headers['anthropic-beta'] ?? '');

async function paused(env: Readonly<Record<string, string>> = {}, databaseUrl = '', minutes = 7): Promise<Session> {
  const session = new Session(await startUpstream());
  session.databaseUrl = databaseUrl;
  await session.with(env);
  await session.turns(3);
  session.pause(minutes);
  return session;
}

beforeEach(() => {
  const lookup = dns.lookup;
  const local = (name: string, ...rest: unknown[]): void =>
    Reflect.apply(lookup, dns, [name === 'api.anthropic.com' ? '127.0.0.1' : name, ...rest]);
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(local as typeof dns.lookup);
  return () => spy.mockRestore();
});

describe('with `provider`, a conversation that continues after its cache has expired', () => {
  it('has the field from then on, even after a restart and under every switch, with the same history', async () => {
    const session = await paused();
    expect(session.upstream.requests.some(hasField)).toBe(false);
    const first = await session.turn({ 'anthropic-beta': 'a-1,b-2' });
    expect([hasField(first), betaOf(first)]).toEqual([true, `a-1,b-2,${BETA}`]);
    const sent = JSON.parse(first.body.toString()) as Record<string, unknown>;
    expect(Object.keys(sent).at(-1)).toBe('context_management');
    const next = await session.turn();
    expect([hasField(next), betaOf(next)]).toEqual([true, BETA]);
    await session.agent.count(session.url);
    expect([session.upstream.last.url, hasField(session.upstream.last)]).toEqual([
      '/v1/messages/count_tokens?beta=true',
      true,
    ]);
    for (const env of switches) {
      await session.with(env);
      expect(hasField(await session.turn()), JSON.stringify(env)).toBe(true);
    }
    await session.with();
    expect(hasField(await session.turn({ 'x-mcp-pruner': 'off' }))).toBe(true);
    session.agent.user('Your task is to create a detailed summary of the conversation so far.');
    await session.agent.send(session.url);
    expect(hasField(session.upstream.last)).toBe(true);
    expect(session.model.mismatches).toEqual([]);
  });

  it('has the field at another replica on the same database', async () => {
    const session = await paused({}, await database());
    expect(hasField(await session.turn())).toBe(true);
    const other = new Session(session.upstream);
    other.databaseUrl = session.databaseUrl;
    other.agent = session.agent;
    other.clock.now = session.clock.now;
    await other.with({ MCP_PRUNER_COLD_STASH: 'on' });
    expect(hasField(await other.turn())).toBe(true);
  });

  it.each([
    ['within the lifetime of its cache', 0, {}, {}],
    ['if `on` is set', 7, { MCP_PRUNER_COLD_STASH: 'on' }, {}],
    ['if only `measure` is set', 7, { MCP_PRUNER_COLD_STASH: 'measure' }, {}],
    ['for the login of a subscription', 7, {}, { authorization: 'Bearer sk-ant-oat01-x' }],
    ['under the kill switch', 7, { MCP_PRUNER_ENABLED: 'false' }, {}],
  ])('does not begin %s', async (_, minutes, env, headers) => {
    const session = new Session(await startUpstream());
    await session.with(env);
    await session.turns(3);
    session.pause(minutes);
    expect(hasField(await session.turn(headers))).toBe(false);
    expect(betaOf(session.upstream.last)).not.toContain(BETA);
  });

  it('gets the field after a restart only if the pause was long enough', async () => {
    const session = await paused({}, '', 4);
    await session.with();
    expect(hasField(await session.turn())).toBe(false);
    await session.answered();
    session.pause(31); // the ledger of this model has no writes to the cache
    await session.with();
    expect(hasField(await session.turn())).toBe(true);
  });

  it('gets the field if the project’s own setting enables it, and not if the setting disables it', async () => {
    const session = await paused({ MCP_PRUNER_COLD_STASH: 'off' });
    const set = async (setting: string): Promise<void> => {
      const io = { env: { MCP_PRUNER_DB_PATH: session.dbPath }, clock: { nowMs: () => session.clock.now } };
      expect(await run(['projects', 'set', 'default', '--cold-stash', setting], io)).toMatchObject({ code: 0 });
    };
    await set('off');
    await session.with();
    expect(hasField(await session.turn())).toBe(false);
    await session.answered();
    session.pause(31);
    await set('provider');
    await session.with({ MCP_PRUNER_COLD_STASH: 'off' });
    expect(hasField(await session.turn())).toBe(true);
  });

  it.each([
    ['a request that failed', (session: Session) => session.fails()],
    ['a count of tokens', (session: Session) => session.agent.count(session.url)],
  ])('counts the pause from the last answer, not from %s', async (_, between) => {
    const session = await paused({}, '', 4);
    await between(session);
    await session.answered();
    session.pause(3);
    expect(hasField(await session.turn())).toBe(true);
  });

  it('does not get the field at another upstream', async () => {
    const upstream = await startUpstream();
    const session = new Session(upstream);
    await session.with({ MCP_PRUNER_ANTHROPIC_URL: upstream.url.replace('127.0.0.1', 'api.anthropic.com.example') });
    const lookup = vi.mocked(dns.lookup).getMockImplementation();
    vi.mocked(dns.lookup).mockImplementation(((name: string, ...rest: unknown[]) =>
      Reflect.apply(lookup ?? dns.lookup, dns, [name.replace(/\.example$/, ''), ...rest])) as typeof dns.lookup);
    await session.turns(3);
    session.pause(7);
    expect(hasField(await session.turn())).toBe(false);
  });

  it('does not get a second field if the client sends its own', async () => {
    const session = await paused();
    const body = Buffer.from(
      JSON.stringify({ model: 'claude-test', context_management: { edits: [] }, messages: session.agent.messages }),
    );
    await fetch(`${session.url}/v1/messages`, { method: 'POST', body });
    expect(session.upstream.last.body.equals(body)).toBe(true);
  });

  it('does not get the field in a request for a summary', async () => {
    const session = await paused();
    session.agent.user('Your task is to create a detailed summary of the conversation so far.');
    await session.agent.send(session.url);
    expect(hasField(session.upstream.last)).toBe(false);
  });
});

describe('an upstream that refuses the field', () => {
  it('gets one retry without the field, and no process sends the field again for 30 days', async () => {
    const session = await paused();
    session.refuses = true;
    const before = session.upstream.requests.length;
    await session.turn();
    expect(session.upstream.requests.slice(before).map(hasField)).toEqual([true, false]);
    await session.with();
    await session.turns(1);
    session.pause(29 * 24 * 60);
    await session.turns(1);
    expect(session.upstream.requests.slice(before + 2).some(hasField)).toBe(false);
    session.refuses = false;
    session.clock.now += 2 * DAY;
    expect(hasField(await session.turn())).toBe(true);
  });
});

describe('context that the provider cleared', () => {
  it('is booked once, even if later answers report it again', async () => {
    const session = await paused();
    session.clears(40_000);
    await session.turns(2);
    session.clears(55_000);
    await session.turns(1);
    expect(await session.report()).toMatchObject({
      setting: 'provider',
      results: 0,
      by_provider: { edits: 2, tokens: 55_000 },
    });
  });

  it('is read from a streamed answer', () => {
    const reader = new AnswerReader();
    const edits = [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 8, cleared_input_tokens: 50_000 }];
    for (const event of [
      { type: 'message_start', message: { model: 'm', usage: { input_tokens: 10, output_tokens: 1 } } },
      { type: 'message_delta', usage: { output_tokens: 9 }, context_management: { applied_edits: edits } },
    ])
      reader.data(Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
    expect(reader.end().reports.clearedTokens).toBe(50_000);
  });
});
