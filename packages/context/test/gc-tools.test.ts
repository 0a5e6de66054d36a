import { segmentIdOf, textHash } from 'mcp-pruner/core/hash.ts';
import { messageSegmentId } from 'mcp-pruner/core/segments/text-segments.ts';
import { openSqliteStore } from 'mcp-pruner/store/sqlite.ts';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { Agent } from './agent.ts';

const TOOLS = ['context_gc_analyze', 'context_gc_prune', 'context_gc_pin', 'context_gc_unpin'] as const;

async function setUp(headers: Record<string, string> = {}) {
  const upstream = await startUpstream();
  const proxy = await startProxy(upstream);
  return { upstream, proxy, agent: new Agent(proxy, upstream, headers) };
}

/** Three results that may go, of different sizes. */
async function withCandidates() {
  const parts = await setUp();
  const { agent } = parts;
  agent.tool('read_file', { path: 'src/a.ts' }, sourceFile(4, 1));
  agent.tool('read_file', { path: 'src/b.ts' }, sourceFile(8, 2));
  agent.tool('bash', { command: 'npm start' }, serverLog(40));
  agent.chatter();
  await agent.send();
  const { pruning_candidates } = await agent.analyze();
  return { ...parts, ids: pruning_candidates.map(({ segment_id }) => segment_id), candidates: pruning_candidates };
}

const errorOf = async (proxy: TestProxy, name: string, args: object) => (await proxy.call(name, args)).error;

describe('the context GC tools', () => {
  it('are listed with exactly the parameters of the contract', async () => {
    const { proxy } = await setUp();
    const answer = await fetch(`${proxy.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    const { result } = (await answer.json()) as {
      result: { tools: { name: string; inputSchema: { properties: object; required: string[] } }[] };
    };
    const schemas = Object.fromEntries(
      result.tools.map(({ name, inputSchema }) => [name, [Object.keys(inputSchema.properties), inputSchema.required]]),
    );
    expect(TOOLS.map((name) => schemas[name])).toEqual([
      [['context_descriptors', 'project_id', 'task_id', 'target_tokens'], ['project_id']],
      [
        ['project_id', 'segment_ids', 'action', 'confirm'],
        ['project_id', 'segment_ids', 'action'],
      ],
      [
        ['project_id', 'segment_ids'],
        ['project_id', 'segment_ids'],
      ],
      [
        ['project_id', 'segment_ids'],
        ['project_id', 'segment_ids'],
      ],
    ]);
  });

  it.each([
    ['context_gc_analyze', {}, 'project_id'],
    ['context_gc_analyze', { project_id: '' }, 'project_id'],
    ['context_gc_analyze', { project_id: 'p', target_tokens: 'many' }, 'target_tokens'],
    ['context_gc_analyze', { project_id: 'p', target_tokens: -1 }, 'target_tokens'],
    ['context_gc_analyze', { project_id: 'p', unheard: 1 }, 'unheard'],
    ['context_gc_prune', { project_id: 'p', segment_ids: ['a'] }, 'action'],
    ['context_gc_prune', { project_id: 'p', segment_ids: ['a'], action: 'burn' }, 'action'],
    ['context_gc_prune', { project_id: 'p', segment_ids: 'a', action: 'stash' }, 'segment_ids'],
    ['context_gc_prune', { project_id: 'p', segment_ids: [1], action: 'stash' }, 'segment_ids[0]'],
    ['context_gc_prune', { project_id: 'p', segment_ids: ['a'], action: 'delete', confirm: 'yes' }, 'confirm'],
    ['context_gc_pin', { project_id: 'p' }, 'segment_ids'],
    ['context_gc_unpin', { segment_ids: [] }, 'project_id'],
  ])('refuse %s with %j and name the field', async (name, args, field) => {
    const { proxy } = await setUp();
    expect(await errorOf(proxy, name, args)).toMatchObject({ code: -32602, message: expect.stringContaining(field) });
  });

  it('accept null for optional parameters, as callers from Python send it', async () => {
    const { agent } = await withCandidates();
    const nothing = { context_descriptors: null, task_id: null, target_tokens: null };
    expect((await agent.analyze(nothing)).total_candidates).toBe(3);
  });

  it('report that the store cannot be used, without changing anything', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { dbPath: tempFolder() });
    for (const name of TOOLS) {
      const args = { project_id: 'p', ...(name === 'context_gc_analyze' ? {} : { segment_ids: ['seg_1'] }) };
      const error = await errorOf(proxy, name, name === 'context_gc_prune' ? { ...args, action: 'stash' } : args);
      expect(error).toMatchObject({ message: 'store_unavailable', data: { code: 'store_unavailable' } });
    }
    await new Agent(proxy, upstream).send(); // and the proxy works on
  });
});

describe('context_gc_analyze', () => {
  it('rates every candidate, best first, with exactly the fields of the contract', async () => {
    const { agent, candidates } = await withCandidates();
    const analysis = await agent.analyze();
    expect(Object.keys(analysis)).toEqual(['pruning_candidates', 'total_candidates', 'estimated_tokens_freed']);
    expect(analysis.total_candidates).toBe(3);
    expect(analysis.estimated_tokens_freed).toBe(candidates.reduce((sum, { tokens }) => sum + tokens, 0));
    for (const candidate of candidates) {
      expect(Object.keys(candidate)).toEqual(['segment_id', 'score', 'tokens', 'reason', 'segment_type', 'age_hours']);
      expect(candidate.segment_id).toMatch(/^seg_[0-9A-HJKMNP-TV-Z]{12}$/);
      expect(candidate.score).toBeGreaterThan(0);
      expect(candidate.age_hours).toBeLessThan(0.1);
    }
    expect(candidates.map(({ score }) => score)).toEqual(candidates.map(({ score }) => score).sort((a, b) => b - a));
  });

  it('plans from the highest score down until the target is met, and stops there', async () => {
    const { agent, candidates } = await withCandidates();
    const [first, second] = candidates;
    const plan = async (target: number) => (await agent.analyze({ target_tokens: target })).pruning_plan;
    expect(await plan(0)).toEqual({ segments: [], estimated_tokens_freed: 0 });
    expect(await plan(1)).toEqual({ segments: [first], estimated_tokens_freed: first?.tokens });
    expect((await plan((first?.tokens ?? 0) + 1))?.segments).toEqual([first, second]);
  });

  it('warns of a target that cannot be met, and plans as much as possible', async () => {
    const { agent } = await withCandidates();
    const { pruning_plan, warning, estimated_tokens_freed } = await agent.analyze({ target_tokens: 1_000_000 });
    expect(pruning_plan?.segments).toHaveLength(3);
    expect(pruning_plan?.estimated_tokens_freed).toBe(estimated_tokens_freed);
    expect(warning).toContain(`only ${estimated_tokens_freed} can be freed`);
  });

  it('explains an empty plan: an unknown project, no candidates, everything pinned', async () => {
    const { agent, ids } = await withCandidates();
    const nowhere = await agent.analyze({ project_id: 'nowhere', target_tokens: 10 });
    expect(nowhere).toMatchObject({ pruning_candidates: [], total_candidates: 0, estimated_tokens_freed: 0 });
    expect(nowhere.pruning_plan).toEqual({ segments: [], estimated_tokens_freed: 0 });
    expect(nowhere.message).toContain('x-mcp-pruner-project');
    await agent.prune(ids);
    expect((await agent.analyze()).message).toContain('No candidates');
    expect((await agent.analyze()).error).toBeUndefined();
  });

  it('suggests unpinning if all candidates are pinned', async () => {
    const { agent, ids } = await withCandidates();
    await agent.pin(ids);
    const { message } = await agent.analyze();
    expect(message).toContain(`${ids.length} pinned: context_gc_unpin makes them candidates again.`);
  });

  it('suggests unpinning when all segments are pinned', async () => {
    const { upstream, proxy } = await setUp();
    const file = sourceFile(12);
    const question = { role: 'user', content: `Look at this:\n<file path="src/a.ts">\n${file}</file>\n` };
    const agent = new Agent(proxy, upstream, { 'x-mcp-pruner-project': 'pinned' }, [question]);
    await agent.send();
    const id = segmentIdOf('file', 'src/a.ts', textHash(file));
    expect(await agent.pin([id], { project_id: 'pinned' })).toEqual({ pinned_segments: [id], errors: [] });
    const analysis = await agent.analyze({ project_id: 'pinned' });
    expect(analysis).toMatchObject({ pruning_candidates: [], error: expect.stringContaining('context_gc_unpin') });
  });

  it('keeps segments that the caller is using', async () => {
    const { agent } = await setUp();
    agent.tool('read_file', { path: 'src/a.ts' }, sourceFile(8, 1));
    agent.tool('read_file', { path: 'src/b.ts' }, sourceFile(8, 2));
    const words = `I think ${'that the queue waits for the charge. '.repeat(15)}`;
    agent.say('assistant', words);
    agent.chatter();
    await agent.send();
    const left = async (context_descriptors: object) =>
      (await agent.analyze({ context_descriptors })).pruning_candidates
        .map(({ reason }) => /src\/.\.ts|words/.exec(reason)?.[0])
        .sort();
    expect(await left({})).toEqual(['src/a.ts', 'src/b.ts', 'words']);
    expect(await left({ current_file: { path: '/work/src/a.ts', current_line: 7 } })).toEqual(['src/b.ts', 'words']);
    expect(await left({ current_file: 'src/b.ts' })).toEqual(['src/a.ts', 'words']);
    expect(await left({ recent_messages: [{ role: 'assistant', content: words }] })).toEqual(['src/a.ts', 'src/b.ts']);
    expect(
      await left({ recent_messages: [{ role: 'user', content: [{ type: 'text', text: 'see src/a.ts' }] }, 'x', 7] }),
    ).toEqual(['src/b.ts', 'words']);
    expect(await left({ token_usage: { current: 10, limit: 5 }, task_info: { name: 'no id' }, more: 1 })).toHaveLength(
      3,
    );
  });

  it('counts segments that only the caller supplied, and uses the caller’s task', async () => {
    const { agent } = await withCandidates();
    const segment_summaries = [
      { segment_id: 'mine', type: 'log', tokens: 3_000, created_at: '2026-01-01T00:00:00Z', preview: '…' },
      { segment_id: 'no size', type: 'log' },
      'nonsense',
    ];
    const analysis = await agent.analyze({
      context_descriptors: { segment_summaries, task_info: { task_id: 'unheard' } },
    });
    expect(analysis.total_candidates).toBe(4);
    expect(analysis.pruning_candidates.map(({ segment_id }) => segment_id)).toContain('mine');
    expect(analysis.message).toContain('No request of that task was seen');
    expect((await agent.prune(['mine'])).errors).toEqual([expect.stringContaining('not found')]);
  });

  it('warns if pruning all candidates would still leave the context above its limit', async () => {
    const { agent } = await withCandidates();
    const usage = (current: number) => ({ context_descriptors: { token_usage: { current, limit: 1_000 } } });
    expect((await agent.analyze(usage(2_000))).warning).toBeUndefined();
    expect((await agent.analyze(usage(200_000))).warning).toContain('would exceed its limit by about');
  });
});

describe('context_gc_prune', () => {
  it('prunes known ids, and reports unknown, repeated and pinned ones', async () => {
    const { agent, ids, candidates } = await withCandidates();
    const [a = '', b = '', c = ''] = ids;
    await agent.pin([b]);
    const answer = await agent.prune([a, 'seg_NOTTHERE0000', a, b, c, a]);
    expect(answer.pruned_segments).toEqual([a, c]);
    expect(answer.tokens_freed).toBe((candidates[0]?.tokens ?? 0) + (candidates[2]?.tokens ?? 0));
    expect(answer.errors).toEqual([
      'Segment seg_NOTTHERE0000 not found in project default.',
      `Segment ${b} is pinned; unpin it first.`,
    ]);
    expect(await agent.prune([a])).toEqual({ pruned_segments: [a], tokens_freed: 0, action: 'stashed', errors: [] });
  });

  it('does nothing for an empty list or for a deletion without confirmation, and reports why', async () => {
    const { agent, ids } = await withCandidates();
    expect(await agent.prune([])).toMatchObject({ pruned_segments: [], errors: [expect.stringContaining('empty')] });
    for (const confirm of [undefined, false]) {
      const answer = await agent.prune(ids, 'delete', confirm === undefined ? {} : { confirm });
      expect(answer).toMatchObject({ pruned_segments: [], tokens_freed: 0, action: 'deleted' });
      expect(answer.errors).toEqual([expect.stringContaining('confirm: true')]);
    }
    expect((await agent.analyze()).total_candidates).toBe(3);
  });

  it('keeps segments that are no larger than their marker', async () => {
    const { agent } = await withCandidates();
    const answer = agent.messages.find(({ tool_call_id }) => tool_call_id === 'call_4')?.content;
    const id = messageSegmentId('tool', 'call_4', textHash(String(answer)));
    expect((await agent.prune([id])).errors).toEqual([expect.stringContaining('no larger than the marker')]);
    expect((await agent.prune([id], 'delete', { confirm: true })).pruned_segments).toEqual([id]);
  });
});

describe('context_gc_pin and context_gc_unpin', () => {
  it('are harmless when repeated, and report unknown ids', async () => {
    const { agent, ids } = await withCandidates();
    const [a = '', b = ''] = ids;
    for (const _ of [1, 2]) {
      expect(await agent.pin([a, 'nope', a])).toEqual({
        pinned_segments: [a],
        errors: ['Segment nope not found in project default.'],
      });
    }
    expect((await agent.analyze()).total_candidates).toBe(2);
    for (const _ of [1, 2]) expect(await agent.unpin([a, b])).toEqual({ unpinned_segments: [a, b], errors: [] });
    expect((await agent.analyze()).total_candidates).toBe(3);
    expect((await agent.pin([])).errors).toEqual([expect.stringContaining('empty')]);
  });

  it('do not restore a stashed segment when it is unpinned', async () => {
    const { agent, ids } = await withCandidates();
    const [a = ''] = ids;
    await agent.prune([a]);
    await agent.unpin([a]);
    expect((await agent.analyze()).total_candidates).toBe(2);
  });
});

describe('every change', () => {
  it('is recorded as an event of its conversation, without any text of the segment', async () => {
    const { agent, proxy, ids } = await withCandidates();
    const [a = '', b = '', c = ''] = ids;
    await agent.analyze({ target_tokens: 100 });
    await agent.prune([a]);
    await agent.pin([b]);
    await agent.unpin([b]);
    await agent.prune([c], 'delete', { confirm: true });
    await proxy.stop();
    const clock = { nowMs: () => Date.now() };
    const store = openSqliteStore({ path: proxy.dbPath, clock, ttlMs: 1e9, maxBytes: 1e9, maxEvents: 1e3 });
    const events = (await store.events({ fromSeq: 0, limit: 1_000 })).filter(({ payload }) => payload.by === 'agent');
    await store.close();
    await proxy.start();
    expect(events.map(({ kind, payload }) => [kind, payload.segment_ids])).toEqual([
      ['stashed', [a]],
      ['pinned', [b]],
      ['unpinned', [b]],
      ['deleted', [c]],
      ['erased', [c]], // the same, in the audit trail
    ]);
    expect(new Set(events.map(({ runId }) => runId)).size).toBe(1);
    expect(events[0]?.payload).toMatchObject({ project: 'default', segments: 1, tokens: expect.any(Number) });
    expect(JSON.stringify(events)).not.toMatch(/loadOrder|items|src\//);
  });
});

describe('a conversation with verified history', () => {
  const log = serverLog(200);
  const segment = segmentIdOf('tool', 't1', textHash(log));

  async function claudeTurn(url: string): Promise<void> {
    const messages = [
      { role: 'user', content: 'Why does the checkout fail?' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'npm start' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: log }] },
    ];
    await fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model: 'claude-test', max_tokens: 10, messages }),
    });
  }

  it('is never offered for stashing, because a later change would end the session', async () => {
    const { proxy, upstream, agent } = await setUp();
    await claudeTurn(proxy.url);
    expect(upstream.last.body.includes('PRUN')).toBe(true);
    // a conversation of the chat wire, noted after it, is there: what was noted has been written
    agent.tool('bash', { command: 'npm start' }, serverLog(40));
    agent.chatter();
    await agent.send();
    const analysis = await agent.analyze();
    expect(analysis.pruning_candidates).toHaveLength(1);
    expect(analysis.message).toContain(
      '1 conversation is on a wire whose provider refuses changes to earlier messages',
    );
  });

  it.each(['stash', 'delete'] as const)('refuses to %s, with the reason and a remedy', async (action) => {
    const { proxy, upstream, agent } = await setUp();
    await claudeTurn(proxy.url);
    const sent = upstream.last.body;
    const { pruned_segments, errors } = await agent.prune([segment], action, { confirm: true });
    expect(pruned_segments).toEqual([]);
    expect(errors.join()).toMatch(/stays as it was sent: the provider .* refuses changes.*\/compact in Claude Code/);
    await claudeTurn(proxy.url);
    expect(upstream.last.body.equals(sent)).toBe(true);
  });

  it('refuses pins, because sent messages are repeated unchanged', async () => {
    const { proxy, agent } = await setUp();
    await claudeTurn(proxy.url);
    const { pinned_segments, errors } = await agent.pin([segment]);
    expect(pinned_segments).toEqual([]);
    expect(errors.join()).toContain('To get back lines that were cut, call recover_text.');
  });

  it('is not collected when it exceeds its budget, and the log names the fallback', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_CONTEXT_BUDGET_TOKENS: '1' } });
    await claudeTurn(proxy.url);
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ wire: 'messages', pruned: 1, fallbacks: ['budget_waits_for_client'] });
  });
});
