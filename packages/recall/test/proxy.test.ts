import { textHash } from 'mcp-pruner/core/hash.ts';
import type { RecallAnswer } from 'mcp-pruner/core/ports/recall.ts';
import { messageSegmentId } from 'mcp-pruner/core/segments/text-segments.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { aResult } from '../../../test/contract/recall.suite.ts';
import { chatBody, type Message, oneResult, toolTurn } from '../../../test/helpers/chat.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { hasPostgres } from '../../../test/helpers/postgres.ts';
import { type RpcAnswer, startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { members, onFile, onPostgres, startTeam } from '../../team/test/team.ts';

const read = (content: unknown, path = 'src/a.ts', id = 'c1'): Message[] =>
  oneResult(content, { id, tool: 'read_file', args: { path } });

async function sees(proxy: TestProxy, messages: readonly Message[], headers: Record<string, string> = {}) {
  const answer = await proxy.chat(chatBody(messages), headers);
  expect(answer.status).toBe(200);
  await answer.text();
}

async function rpc(proxy: TestProxy, args: object, headers: Record<string, string> = {}): Promise<RpcAnswer> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'recall', arguments: args } };
  const answer = await fetch(`${proxy.url}/rpc?tools=recover_text,recall`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as RpcAnswer;
}

async function recalled(proxy: TestProxy, args: object, headers: Record<string, string> = {}): Promise<RecallAnswer> {
  const { result } = await rpc(proxy, args, headers);
  return JSON.parse(result?.content[0]?.text ?? 'null') as RecallAnswer;
}

describe('recall', () => {
  it('finds results of requests, cut or whole, which recover_text can return by id and lines', async () => {
    const proxy = await startProxy(await startUpstream());
    await sees(proxy, [
      ...read(aResult('zebrafish')),
      ...toolTurn('c2', 'bash', { command: 'npm start' }, serverLog(400, 1)),
    ]);
    const { hits, more, scope } = await recalled(proxy, { query: 'zebrafish' });
    expect(hits[0]).toMatchObject({ tool: 'read_file', path: 'src/a.ts', lines: expect.stringMatching(/^\d+-\d+$/) });
    expect([more, scope]).toEqual([false, 'project']);
    const [from = 0, to = 0] = (hits[0]?.lines ?? '').split('-').map(Number);
    expect(await proxy.recover(hits[0]?.prune_id ?? '', from, to)).toBe(hits[0]?.text);
    const cut = await recalled(proxy, { query: 'npm start payment' });
    expect(cut.hits[0]).toMatchObject({ tool: 'bash', path: null });
  });

  it('stores a result of 1,000 characters but not one of 999, and reads JSON', async () => {
    const proxy = await startProxy(await startUpstream());
    const text = (word: string, chars: number) => `${word}\n`.padEnd(chars, 'lorem ipsum dolor\n');
    await sees(proxy, [
      ...read(text('longenough', 1_000)),
      ...toolTurn('c2', 'read_file', { path: 'b.ts' }, text('tooshort', 999)),
      ...toolTurn('c3', 'read_file', { path: 'c.ts' }, JSON.stringify({ output: text('wrapped', 1_500), exit: 0 })),
    ]);
    const hitsFor = async (query: string) => (await recalled(proxy, { query })).hits;
    expect(await hitsFor('longenough')).toHaveLength(1);
    expect(await hitsFor('tooshort')).toHaveLength(0);
    expect((await hitsFor('wrapped'))[0]).toMatchObject({ path: 'c.ts', lines: expect.stringMatching(/^1-/) });
  });

  it('refuses wrong types and unknown arguments, and accepts any string', async () => {
    const proxy = await startProxy(await startUpstream());
    for (const args of [
      {},
      { query: 1 },
      { query: 'a', limit: 0 },
      { query: 'a', limit: 1.5 },
      { query: 'a', limit: '3' },
      { query: 'a', path: null },
      { query: 'a', scope: 'all' },
      { query: 'a', project: 'x' },
    ]) {
      expect([args, (await rpc(proxy, args)).error?.code]).toEqual([args, -32602]);
    }
    expect(await recalled(proxy, { query: '', limit: 500 })).toMatchObject({
      hits: [],
      more: false,
      hint: expect.any(String),
    });
  });

  it.each([
    ['shadow mode', { MCP_PRUNER_MODE: 'shadow' }, {}, 2],
    ['x-mcp-pruner: off', {}, { 'x-mcp-pruner': 'off' }, 2],
    ['the kill switch', { MCP_PRUNER_ENABLED: 'false' }, {}, 0],
    ['MCP_PRUNER_RECALL=off', { MCP_PRUNER_RECALL: 'off' }, {}, 1],
  ])('under %s keeps the expected number of results', async (_name, env, headers, kept) => {
    const proxy = await startProxy(await startUpstream(), { env: env as Record<string, string> });
    const log = serverLog(400, 1);
    await sees(
      proxy,
      [...read(aResult('payment')), ...toolTurn('c2', 'bash', { command: 'x' }, log)],
      headers as Record<string, string>,
    );
    expect((await recalled(proxy, { query: 'payment' })).hits).toHaveLength(kept);
  });

  it('searches the project and the conversation that the headers name', async () => {
    const proxy = await startProxy(await startUpstream());
    const mine = { 'x-mcp-pruner-project': 'web', 'x-mcp-pruner-task': 'login' };
    await sees(proxy, read(aResult('needle one')), mine);
    await sees(proxy, read(aResult('needle two'), 'b.ts'), { 'x-mcp-pruner-project': 'web' });
    await sees(proxy, read(aResult('needle three'), 'c.ts'));
    const pathsOf = async (args: object, headers = {}) =>
      (await recalled(proxy, { query: 'needle', ...args }, headers)).hits.map(({ path }) => path).sort();
    expect(await pathsOf({})).toEqual(['c.ts']);
    expect(await pathsOf({}, { 'x-mcp-pruner-project': 'web' })).toEqual(['b.ts', 'src/a.ts']);
    expect(await pathsOf({ scope: 'conversation' }, mine)).toEqual(['src/a.ts']);
    const without = await recalled(proxy, { query: 'needle', scope: 'conversation' });
    expect(without).toMatchObject({ scope: 'project', hits: [{ path: 'c.ts' }] });
  });

  it('keeps results across a restart, and is also available on the command line', async () => {
    const proxy = await startProxy(await startUpstream());
    await sees(proxy, [
      ...read(aResult('needle')),
      ...toolTurn('c2', 'read_file', { path: 'b.md' }, aResult('haystack')),
    ]);
    await proxy.restart();
    expect((await recalled(proxy, { query: 'needle' })).hits).toHaveLength(1);
    const given = { env: { MCP_PRUNER_DB_PATH: proxy.dbPath }, clock: { nowMs: () => Date.now() } };
    const json = await run(['recall', 'needle', '--path', '*.ts', '--json'], given);
    expect([json.code, JSON.parse(json.out)]).toMatchObject([0, { hits: [{ path: 'src/a.ts' }], scope: 'project' }]);
    expect((await run(['recall', 'needle', 'in', 'a', 'haystack'], given)).out).toMatch(/prn_\w{12} {2}b\.md {2}lines/);
    const nothing = await run(['recall', 'zebrafish'], given);
    expect([nothing.code, nothing.out, nothing.err.trim().split('\n').length]).toEqual([1, '', 1]);
    expect((await run(['recall', 'needle', '--limit', '0'], given)).code).toBe(2);
    expect((await run(['recall', 'needle', '--project', 'other'], given)).code).toBe(1);
  });

  it('does not store a deleted text again', async () => {
    const proxy = await startProxy(await startUpstream());
    const messages = read(aResult('needle'));
    await sees(proxy, messages);
    await sees(proxy, [...messages, { role: 'assistant', content: 'done' }, { role: 'user', content: 'go on' }]);
    expect((await recalled(proxy, { query: 'needle' })).hits).toHaveLength(1);
    const segment = messageSegmentId('tool', 'c1', textHash(aResult('needle')));
    const args = { project_id: 'default', segment_ids: [segment], action: 'delete', confirm: true };
    const { result } = await proxy.call('context_gc_prune', args);
    expect(result?.content[0]?.text).toContain(`"pruned_segments":["${segment}"]`);
    expect((await recalled(proxy, { query: 'needle' })).hits).toEqual([]);
    await proxy.restart();
    await sees(proxy, [...messages, { role: 'assistant', content: 'done' }, { role: 'user', content: 'once more' }]);
    expect((await recalled(proxy, { query: 'needle' })).hits).toEqual([]);
  });
});

describe.each([
  { on: 'a file', place: onFile, runs: true },
  { on: 'PostgreSQL', place: onPostgres, runs: hasPostgres },
])('recall with keys on $on', ({ place: open, runs }) => {
  it.skipIf(!runs)('returns no results of other projects, whatever the headers say', async () => {
    const place = await open();
    const stage = await startTeam(place);
    const { web, api } = await members(stage, place, ['web', 'api'] as const);
    const ask = chatBody(read(aResult('needle of web')));
    expect((await web.send('/v1/chat/completions', ask, { authorization: 'Bearer sk' })).status).toBe(200);
    const found = (await web.call('recall', { query: 'needle' })) as RecallAnswer;
    expect(found.hits).toHaveLength(1);
    expect(JSON.stringify(await web.recover(found.hits[0]?.prune_id ?? ''))).toContain('needle');
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'recall', arguments: { query: 'needle' } },
    };
    const asked: Record<string, string>[] = [{}, { 'x-mcp-pruner-project': 'web' }];
    for (const headers of asked) {
      const answer = (await api.send('/rpc', body, headers)).body.toString();
      expect(answer).not.toContain('prn_');
    }
    expect(JSON.stringify(await api.recover(found.hits[0]?.prune_id ?? ''))).not.toContain('needle of');
  });
});
