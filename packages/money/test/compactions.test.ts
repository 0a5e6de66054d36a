import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { ownLengths } from '@mcp-pruner/agents/clients/compact-at.ts';
import { compactingClient, containsSummary } from 'mcp-pruner/core/compactions/signs.ts';
import type { ContextPeak, StoredCompaction } from 'mcp-pruner/core/ports/compactions.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { aTurn } from '../../../test/contract/ledger-store.suite.ts';
import { aResult } from '../../../test/contract/recall.suite.ts';
import { chatBody, type Message, oneResult } from '../../../test/helpers/chat.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';
import { type ClientRow, clientRowOf, installedClientRows, setOwnLengths } from '../src/client-lengths.ts';
import { AvoidedCompactions, compactionsOf, LearnedThresholds, readThreshold } from '../src/compactions.ts';

describe('a compaction prompt', () => {
  it.each([
    ['claude-code', 'Your task is to create a detailed summary of the conversation so far, paying close attention'],
    [
      'claude-code',
      'CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n- Tool calls will be REJECTED\n\nYour task is to create a detailed summary of the RECENT portion of the conversation',
    ],
    ['codex', 'You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM'],
    [
      'opencode',
      'Here is the conversation so far:\n\n<conversation>\nuser: hi\n</conversation>\n\nCreate a new anchored summary from the conversation history in the <conversation> tags above so another',
    ],
    [
      'gemini-cli',
      'Generate a new <state_snapshot> based on the provided history.\n\nFirst, reason in your scratchpad. Then, generate the updated <state_snapshot>.',
    ],
    ['cline', 'Summarize this session for continuation. Be concise and factual.\n\nuser: hi'],
    [
      'pi',
      '<conversation>\n[User]: hi\n</conversation>\n\nThe messages above are a conversation to summarize. Create a structured context checkpoint summary that another LLM will use',
    ],
    [
      'pi',
      '<conversation>\n[User]: hi\n</conversation>\n\n<previous-summary>\nfish\n</previous-summary>\n\nThe messages above are NEW conversation messages to incorporate into the existing summary provided in',
    ],
    [
      'pi',
      '<conversation>\n[User]: hi\n</conversation>\n\nThe messages above are earlier context from an ongoing conversation. Later messages are stored separately',
    ],
  ])('of %s is recognised', (client, text) => {
    expect(compactingClient(text)).toBe(client);
  });

  it.each([
    'Please create a detailed summary of the conversation so far.',
    'What does "Your task is to create a detailed summary of the conversation so far" mean?',
    'Summarize this session for me',
    'Compact the context of this file',
    'The messages above are a conversation to summarize. Create a structured context checkpoint summary',
    '',
  ])("is not recognised in a user's own words: %s", (text) => {
    expect(compactingClient(text)).toBeNull();
  });

  it('is followed by a history that begins with the summary', () => {
    expect(
      containsSummary('This session is being continued from a previous conversation that ran out of context.'),
    ).toBe(true);
    const pi = 'The conversation history before this point was compacted into the following summary:\n\n<summary>fish';
    expect(containsSummary(pi)).toBe(true);
    expect(containsSummary('Continue the session')).toBe(false);
  });
});

describe('the compaction report', () => {
  const peak = (id: string, sent: number, whole: number): ContextPeak => ({
    ...{ project: 'p', conversationId: id, model: 'm', product: 'claude-cli', sent, whole },
  });
  const row = (client: string, model: string, tokens: number): ClientRow => ({
    ...{ client, model, tokens, day: '2026-11-27', source: 's' },
  });
  const compaction = (continues: string, conversation: string, tokens: number): StoredCompaction => ({
    ...{ project: 'p', continues, conversation, client: 'claude-code', product: 'claude-cli', model: 'm' },
    ...{ session: 's', tokens, atMs: 1 },
  });

  it('counts a compaction as avoided if the threshold is passed only without cuts', () => {
    const { seen, avoided, conversations } = compactionsOf(
      [],
      [],
      [peak('a', 150_000, 170_000), peak('b', 150_000, 155_000), peak('c', 165_000, 200_000)],
      [row('claude-cli', 'm', 160_000)],
    );
    expect([seen, avoided, conversations.map(({ id }) => id)]).toEqual([0, 1, ['a']]);
  });

  it('counts no avoided compactions for a client with an unknown threshold', () => {
    const peaks = [peak('a', 150_000, 2_000_000)];
    expect(compactionsOf([], [], peaks, [row('codex', 'm', 160_000)]).avoided).toBe(0);
    const [compacted] = compactionsOf([compaction('a', 'b', 90_000)], [], peaks, []).conversations;
    expect(compacted).toMatchObject({ avoided: false, threshold: null });
  });

  it('learns the threshold from at least three compactions, and links conversations', () => {
    const two = [compaction('a', 'b', 90_000), compaction('b', 'c', 100_000)];
    const peaks = [peak('d', 95_000, 120_000), peak('b', 100_000, 100_000)];
    expect(compactionsOf(two, two, peaks).avoided).toBe(0);
    const three = [...two, compaction('c', '', 110_000)];
    const { seen, avoided, conversations } = compactionsOf(three, three, peaks);
    expect([seen, avoided]).toEqual([2, 1]); // nothing went on from the third
    expect(conversations.find(({ id }) => id === 'd')).toMatchObject({
      avoided: true,
      threshold: 100_000,
      continues: null,
    });
    expect(conversations.find(({ id }) => id === 'b')).toMatchObject({ continues: 'a', compacted_by: 'claude-code' });
    expect(conversations.find(({ id }) => id === 'c')).toMatchObject({ continues: 'b', compacted_by: 'claude-code' });
  });

  it('has a threshold for each client, even if two of them use one model in one project', async () => {
    const early = [90_000, 100_000, 110_000].map((tokens, i) => compaction(`a${i}`, '', tokens));
    const late = [290_000, 300_000, 310_000].map((tokens, i) => ({
      ...compaction(`b${i}`, '', tokens),
      ...{ client: 'opencode', product: 'opencode' },
    }));
    const all = [...early, ...late];
    const peaks = [peak('c', 95_000, 250_000), { ...peak('o', 95_000, 250_000), product: 'opencode' }];
    const { avoided, conversations } = compactionsOf([], all, peaks);
    expect([avoided, conversations.map(({ id, threshold }) => [id, threshold])]).toEqual([1, [['c', 100_000]]]);
    const store = { since: async () => all };
    const of = { project: 'p', model: 'm' };
    expect(await readThreshold(store, { ...of, product: 'opencode' })).toEqual({ tokens: 300_000, learned: true });
    expect(await readThreshold(store, { ...of, product: 'codex' })).toBeNull();
    const claude = { project: 'p', model: 'claude-opus-5', product: 'claude-cli/2.1.332' };
    expect(await readThreshold(store, claude)).toEqual({ tokens: 967_000, learned: false });
    const file = (path: string): string | null =>
      path === '/home/.claude/settings.json'
        ? '{ "autoCompactWindow": 153000, "modelSettings": { "claude-opus-5": { "autoCompactWindow": 90000 } } }'
        : path === '/home/.codex/config.toml'
          ? 'model_auto_compact_token_limit = 120000'
          : path === '/home/.gemini/settings.json'
            ? '{ "model": { "compressionThreshold": 0.2 } } // a comment'
            : null;
    setOwnLengths(() => ownLengths({ env: {}, homeDir: '/home', readFile: file }));
    try {
      expect(await readThreshold(store, claude)).toEqual({ tokens: 67_000, learned: false });
      expect(await readThreshold(store, { ...claude, model: 'claude-sonnet-5' })).toMatchObject({ tokens: 120_000 });
      expect(await readThreshold(store, { ...of, product: 'codex_cli_rs/0.171.0' })).toMatchObject({ tokens: 120_000 });
      const gemini = { project: 'p', model: 'gemini-3-pro', product: 'GeminiCLI/0.61.2' };
      expect(await readThreshold(store, gemini)).toMatchObject({ tokens: 209_715 });
      // what was learned earlier says nothing about the new length
      setOwnLengths(() => [{ client: 'opencode', model: '*', tokens: 200_000 }]);
      expect(await readThreshold(store, { ...of, product: 'opencode' })).toEqual({ tokens: 200_000, learned: false });
    } finally {
      setOwnLengths(() => []);
    }
    const thresholds = new LearnedThresholds(store, () => expect.unreachable());
    const watch = new AvoidedCompactions(thresholds);
    const turn = { ...aTurn('1', { project: 'p', model: 'm' }), fresh: 0, write5m: 0, write1h: 0 };
    const billed = (client: string, read: number) =>
      watch.billed({ ...turn, client, conversationId: client, read, removed: 50_000 });
    expect(billed('claude-cli', 10_000)).toBe(false);
    await Promise.resolve(); // the thresholds are read with the first bill
    const counted = ['claude-cli', 'claude-cli', 'opencode'].map((client) => billed(client, 90_000));
    expect(counted).toEqual([true, false, false]);
  });
});

it.each([
  ['claude-cli/2.1.332', 'claude-opus-5-20260401', 967_000],
  ['claude-cli/2.1.401', 'claude-sonnet-5-5', 967_000],
  ['claude-cli/2.1.332', 'anthropic/claude-sonnet-4.6', 167_000],
  ['claude-cli/2.1.99', 'claude-opus-5', undefined],
  ['claude-cli/2.2.0', 'claude-opus-5', undefined],
  ['claude-cli', 'claude-opus-5', undefined],
  ['codex_cli_rs/0.171.2-alpha.1', 'gpt-6.2-sol', 450_000],
  ['codex_exec/0.171.0', 'gpt-6.2-astra', 244_800],
  ['codex_exec/0.94.0', 'gpt-6.2-astra', undefined],
  ['pi/1.5.2', 'gpt-6', 255_616],
  ['GeminiCLI/0.61.0', 'gemini-3-pro', 524_288],
  ['copilot/1.0.102', 'anything', 160_000],
  ['opencode/1.18.33', 'claude-opus-5', 968_000],
  ['codex_exec/0.171.0', 'claude-opus-5', undefined],
  ['curl/8.5.0', 'gpt-6.2-sol', undefined],
])('%s with %s compacts at %s tokens', (product, model, tokens) => {
  expect(clientRowOf(installedClientRows(), { product, model })?.tokens).toBe(tokens);
});

const PROMPT = 'Your task is to create a detailed summary of the conversation so far, paying close attention to it.';
const SUMMARY = 'This session is being continued from a previous conversation that ran out of context. Summary: fish.';

async function sends(proxy: TestProxy, messages: readonly Message[], headers: Record<string, string> = {}) {
  const answer = await proxy.chat(chatBody(messages), headers);
  expect(answer.status).toBe(200);
  await answer.text();
}

async function reported(proxy: TestProxy): Promise<{
  seen: number;
  avoided: number;
  conversations: { id: string; continues: string | null; client: string; threshold: number | null }[];
}> {
  const given = { env: { MCP_PRUNER_DB_PATH: proxy.dbPath }, clock: { nowMs: () => Date.now() } };
  const [report, stats] = await Promise.all([
    run(['report', '--json'], given),
    run(['report', '--tokens', '--json'], given),
  ]);
  const { compactions, cold } = JSON.parse(report.out);
  expect(cold).toEqual({ requests: 0, usd: 0, hour_cache: { cost: expect.any(Number), saved: 0 } });
  expect(JSON.parse(stats.out).compactions).toEqual(compactions);
  return compactions;
}

describe('a compaction of a client', () => {
  it('is counted once including retries, and the next conversation is linked to it and searched with it', async () => {
    const proxy = await startProxy(await startUpstream());
    const session = { 'x-claude-code-session-id': 's1', 'x-mcp-pruner-task': 'fish', 'user-agent': 'claude-cli/2.1' };
    const before = oneResult(aResult('needle'), { tool: 'read_file', args: { path: 'src/a.ts' } });
    await sends(proxy, before, session);
    const asked = [...before, { role: 'assistant', content: 'ok' }, { role: 'user', content: PROMPT }];
    await sends(proxy, asked, session);
    await sends(proxy, asked, session);
    const after: Message[] = [{ role: 'user', content: SUMMARY }];
    const later = { 'x-claude-code-session-id': 's1', 'x-mcp-pruner-task': 'later' };
    await sends(proxy, after, later);
    const other = oneResult(aResult('other'), { tool: 'read_file', args: { path: 'src/b.ts' } }).slice(-2);
    await sends(proxy, [...after, ...other], later);
    const { hits } = await searched(proxy, later);
    expect(hits.map(({ path }) => path)).toEqual(['src/a.ts']);
    await proxy.stop();
    const { seen, conversations } = await reported(proxy);
    expect(seen).toBe(1);
    const linked = conversations.filter(({ continues }) => continues !== null);
    expect(linked).toHaveLength(1);
    expect(conversations.find(({ id }) => id === linked[0]?.continues)).toMatchObject({
      ...{ client: 'claude-cli', compacted_by: 'claude-code', session: expect.stringMatching(/^[0-9a-f]{12}$/) },
    });
  });

  it('has the threshold of the client version in the user agent, and none for unknown versions', async () => {
    const proxy = await startProxy(await startUpstream());
    for (const version of ['2.1.332', '2.1.99']) {
      const headers = { 'user-agent': `claude-cli/${version} (cli)`, 'x-claude-code-session-id': version };
      const asked = [
        { role: 'user', content: `Look at ${version}` },
        { role: 'assistant', content: 'ok' },
        { role: 'user', content: PROMPT },
      ];
      const body = JSON.stringify({ model: 'claude-opus-5', messages: asked });
      await (await proxy.chat(Buffer.from(body), headers)).text();
    }
    await proxy.stop();
    const { conversations } = await reported(proxy);
    expect(conversations.map(({ client }) => client)).toEqual(['claude-cli', 'claude-cli']);
    expect(new Set(conversations.map(({ threshold }) => threshold))).toEqual(new Set([967_000, null]));
  });

  it('is not recognised if a user asks for a summary', async () => {
    const proxy = await startProxy(await startUpstream());
    await sends(proxy, [{ role: 'user', content: 'Give me a detailed summary of the conversation so far' }]);
    await proxy.stop();
    expect(await reported(proxy)).toEqual({ seen: 0, avoided: 0, conversations: [] });
  });

  it('appears in the metrics once a conversation goes on from it', async () => {
    const proxy = await startProxy(await startUpstream());
    await sends(proxy, [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'ok' },
      { role: 'user', content: PROMPT },
    ]);
    await sends(proxy, [{ role: 'user', content: SUMMARY }]);
    await proxy.call('recall', { query: 'x' });
    await expect
      .poll(async () => (await fetch(`${proxy.url}/metrics`)).text())
      .toContain('mcp_pruner_compactions_total{kind="seen"} 1');
    expect(await (await fetch(`${proxy.url}/metrics`)).text()).toContain(
      'mcp_pruner_compactions_total{kind="avoided"} 0',
    );
  });

  it('by Codex is recognised by a trigger as the last item, as in recorded requests', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const folder = new URL('../../../test/fixtures/wires/', import.meta.url);
    for (const n of ['003', '005', '006', '007']) {
      const body = gunzipSync(readFileSync(new URL(`codex-compaction-trigger/${n}.request.json.gz`, folder)));
      const answer = await fetch(`${proxy.url}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      await answer.text();
    }
    await proxy.stop();
    expect((await reported(proxy)).seen).toBeGreaterThanOrEqual(1);
  });
});

async function searched(proxy: TestProxy, headers: Record<string, string>): Promise<{ hits: { path: string }[] }> {
  const params = { name: 'recall', arguments: { query: 'needle', scope: 'conversation' } };
  const answer = await fetch(`${proxy.url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const { result } = (await answer.json()) as { result: { content: [{ text: string }] } };
  return JSON.parse(result.content[0].text) as { hits: { path: string }[] };
}
