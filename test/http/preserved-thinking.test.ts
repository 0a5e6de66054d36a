import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';
import { ClaudeAgent } from '../helpers/claude-agent.ts';
import { type FakeUpstream, startUpstream } from '../helpers/fake-upstream.ts';
import { wireMessages } from '../helpers/messages.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { manualClock } from '../helpers/rewriter.ts';
import { SigningModel } from '../helpers/signing-upstream.ts';
import { serverLog } from '../helpers/texts.ts';

const SMALL = { MCP_PRUNER_MIN_PRUNE_CHARS: '1000', MCP_PRUNER_MIN_KEEP_LINES: '5' };
const DAY_MS = 86_400_000;

class Session {
  readonly model = new SigningModel();
  readonly agent = new ClaudeAgent(this.model);
  readonly dbPath = join(tempFolder(), 'store.db');
  readonly clock = manualClock();
  readonly upstream: FakeUpstream;
  #proxy: TestProxy | null = null;

  constructor(upstream: FakeUpstream) {
    this.upstream = upstream;
    upstream.answer = this.model.answer;
  }

  /** The proxy, anew and with other settings over the same store. */
  async with(env: Readonly<Record<string, string>> = {}): Promise<string> {
    await this.#proxy?.stop();
    this.#proxy = await startProxy(this.upstream, {
      env: { ...SMALL, ...env },
      dbPath: this.dbPath,
      clock: this.clock,
    });
    return this.#proxy.url;
  }

  async stop(): Promise<void> {
    await this.#proxy?.stop();
    this.#proxy = null;
  }

  get proxy(): TestProxy {
    if (!this.#proxy) throw new Error('no proxy runs');
    return this.#proxy;
  }

  /** A question, two calls at once, and what they bring. */
  async turn(url: string, seed: number, headers: Readonly<Record<string, string>> = {}): Promise<number[]> {
    this.agent.user(`Why does payment ${seed} fail?`);
    const asked = await this.agent.send(url, [`npm run a${seed}`, `npm run b${seed}`], headers);
    this.agent.results([serverLog(90, seed), serverLog(90, seed + 500)]);
    const answered = await this.agent.send(url, [], headers);
    return [asked.status, answered.status];
  }

  /** The text of the first result in the n-th message that was sent last. */
  sentResult(index: number): string {
    const content = wireMessages(this.upstream.last.body)[index]?.content;
    const first = typeof content === 'string' ? undefined : content?.[0]?.content;
    return typeof first === 'string' ? first : '';
  }
}

async function session(): Promise<Session> {
  return new Session(await startUpstream());
}

const MARK = '⟦PRUNÉ:';
const OK = [200, 200];

describe('messages are repeated as they were sent', () => {
  const changes: Readonly<Record<string, string>>[] = [
    { MCP_PRUNER_ENABLED: 'false' },
    { MCP_PRUNER_MODE: 'shadow' },
    { MCP_PRUNER_MAX_PRUNE_RATIO: '0.2', MCP_PRUNER_ANNOTATE_LINES: 'true' },
    { MCP_PRUNER_NEVER_PRUNE_TOOLS: 'Bash', MCP_PRUNER_MIN_PRUNE_CHARS: '100000' },
  ];

  it('by a proxy with other settings, or with pruning off', async () => {
    const s = await session();
    expect(await s.turn(await s.with(), 1)).toEqual(OK);
    const first = s.sentResult(2);
    expect(first).toContain(MARK);
    for (const [i, env] of changes.entries()) {
      expect(await s.turn(await s.with(env), 10 + i)).toEqual(OK);
      expect(s.sentResult(2)).toBe(first);
    }
    expect(s.model.mismatches).toEqual([]);
  });

  it('for a request that switches pruning off, whose new results pass whole', async () => {
    const s = await session();
    const url = await s.with();
    expect(await s.turn(url, 1)).toEqual(OK);
    expect(await s.turn(url, 2, { 'x-mcp-pruner': 'off' })).toEqual(OK);
    expect(s.sentResult(2)).toContain(MARK);
    expect(s.sentResult(6)).toBe(serverLog(90, 2));
    expect(await s.turn(url, 3)).toEqual(OK);
    expect(s.sentResult(6)).toBe(serverLog(90, 2));
    expect(s.model.mismatches).toEqual([]);
  });

  it('in token counts, which make no new decisions', async () => {
    const s = await session();
    const url = await s.with();
    expect(await s.turn(url, 1)).toEqual(OK);
    s.agent.user('And now?');
    expect((await s.agent.send(url, ['npm test'])).status).toBe(200);
    s.agent.results([serverLog(90, 3)]);
    expect(await s.agent.count(url)).toBe(200);
    expect(s.sentResult(2)).toContain(MARK);
    expect(s.sentResult(6)).toBe(serverLog(90, 3));
    expect((await s.agent.send(url)).status).toBe(200);
    expect(s.sentResult(6)).toContain(MARK);
  });

  it('even if an answer to the whole text is regenerated while pruning is on', async () => {
    const s = await session();
    let url = await s.with({ MCP_PRUNER_ENABLED: 'false' });
    expect(await s.turn(url, 1)).toEqual(OK);
    const other = s.agent.fork();
    other.regenerate();
    url = await s.with();
    expect((await other.send(url)).status).toBe(200);
    expect(await s.turn(url, 2)).toEqual(OK); // on the first answer
    expect(s.model.mismatches).toEqual([]);
  });
});

describe('a history that was answered already', () => {
  it('stays whole, and only new texts are pruned', async () => {
    const s = await session();
    expect(await s.turn(await s.with({ MCP_PRUNER_ENABLED: 'false' }), 1)).toEqual(OK);
    expect(await s.turn(await s.with(), 2)).toEqual(OK);
    expect(s.sentResult(2)).toBe(serverLog(90, 1));
    expect(s.sentResult(6)).toContain(MARK);
    expect(s.model.mismatches).toEqual([]);
  });

  it('is resent with its inferred cuts if the store is lost and the provider refuses it whole', async () => {
    const s = await session();
    expect(await s.turn(await s.with(), 1)).toEqual(OK);
    expect(await s.turn(await s.with(), 2)).toEqual(OK);
    await s.stop();
    rmSync(dirname(s.dbPath), { recursive: true });
    const url = await s.with();
    expect(await s.turn(url, 3)).toEqual(OK);
    expect(s.sentResult(2)).toContain(MARK);
    expect(s.model.mismatches).toHaveLength(1);
    expect(await s.turn(url, 4)).toEqual(OK);
    expect(await s.turn(await s.with(), 5)).toEqual(OK);
    expect(s.model.mismatches).toHaveLength(1);
  });
});

describe('a refusal of a pruned request', () => {
  const refusal = { status: 400, body: '{"type":"error","error":{"type":"invalid_request_error","message":"no"}}' };

  it('is followed by the unpruned request if no cut was accepted before', async () => {
    const s = await session();
    const url = await s.with();
    s.agent.user('Why?');
    await s.agent.send(url, ['npm test']);
    s.agent.results([serverLog(90, 1)]);
    s.model.fails = refusal;
    expect((await s.agent.send(url)).status).toBe(200);
    expect(s.sentResult(2)).toBe(serverLog(90, 1));
    expect(await s.turn(url, 2)).toEqual(OK);
    expect(s.model.mismatches).toEqual([]);
  });

  it('reaches the client once a cut was accepted, and the conversation continues', async () => {
    const s = await session();
    const url = await s.with();
    expect(await s.turn(url, 1)).toEqual(OK);
    s.agent.user('And?');
    s.model.fails = refusal;
    const requests = s.upstream.requests.length;
    expect(await s.agent.send(url)).toEqual({ status: 400, text: refusal.body });
    expect(s.upstream.requests).toHaveLength(requests + 1);
    const lines = await s.proxy.requestLines(3);
    expect(lines.at(-1)).toMatchObject({ fallbacks: ['upstream_refused_400'] });
    expect((await s.agent.send(url)).status).toBe(200);
    expect(s.model.mismatches).toEqual([]);
  });

  it('also reaches the client if the accepted answer is being regenerated', async () => {
    const s = await session();
    const url = await s.with();
    expect(await s.turn(url, 1)).toEqual(OK);
    const other = s.agent.fork();
    other.regenerate();
    s.model.fails = refusal;
    expect((await other.send(url)).status).toBe(400);
    expect(await s.turn(url, 2)).toEqual(OK);
    expect(s.model.mismatches).toEqual([]);
  });
});

describe('the acceptance of cuts by a provider', () => {
  const refusal = { status: 400, body: '{"type":"error","error":{"type":"invalid_request_error","message":"no"}}' };

  it('is remembered by a restarted proxy, even if no answer follows', async () => {
    const s = await session();
    expect(await s.turn(await s.with(), 1)).toEqual(OK);
    const sent = s.sentResult(2);
    const other = s.agent.fork();
    other.regenerate();
    const url = await s.with();
    s.model.fails = refusal;
    // sent whole instead, it would be an edit of what the first answer was made from
    expect((await other.send(url)).status).toBe(400);
    expect(s.sentResult(2)).toBe(sent);
    expect(await s.turn(url, 2)).toEqual(OK);
    expect((await other.send(url)).status).toBe(200);
    expect(s.model.mismatches).toEqual([]);
  });
});

describe('a session resumed after weeks', () => {
  it('continues unchanged, and its originals can be recovered', async () => {
    const s = await session();
    expect(await s.turn(await s.with(), 1)).toEqual(OK);
    const first = s.sentResult(2);
    const id = /prune_id=(prn_\w{12})/.exec(first)?.[1] ?? '';
    await s.stop();
    s.clock.now += 30 * DAY_MS;
    expect(await s.turn(await s.with(), 2)).toEqual(OK);
    expect(s.sentResult(2)).toBe(first);
    expect(s.model.mismatches).toEqual([]);
    expect(await s.proxy.recover(id, 1, 90)).toBe(serverLog(90, 1).trimEnd());
  });
});

describe('the option block_binding: drop', () => {
  it('is forwarded unchanged, and blocks dropped by the provider are reported', async () => {
    const s = await session();
    const url = await s.with();
    expect(await s.turn(url, 1)).toEqual(OK);
    const body = JSON.stringify({
      model: 'claude-test',
      max_tokens: 1_000,
      thinking: { type: 'enabled', budget_tokens: 1024, block_binding: 'drop' },
      messages: s.agent.messages.slice(0, 3),
    });
    const beta = 'thinking-binding-controls-2026-08-01';
    const headers = { 'content-type': 'application/json', 'anthropic-beta': beta };
    const answer = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body });
    expect(s.upstream.last.headers['anthropic-beta']).toBe(beta);
    expect(s.upstream.last.body.toString()).toContain('"block_binding":"drop"');
    // there are no instructions in this one: the model tells so
    expect(await answer.json()).toMatchObject({ input_transformations: [{ type: 'prefix_binding_mismatch' }] });
    const [line] = (await s.proxy.requestLines(3)).slice(-1);
    expect(line).toMatchObject({ prefixMismatches: 1, fallbacks: ['prefix_binding_mismatch'] });
    const health: unknown = await (await fetch(`${url}/health`)).json();
    expect(health).toMatchObject({ not_understood: { prefix_binding_mismatch: 1 } });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toMatch(/reason="prefix_binding_mismatch"\} 1/);
  });
});
