import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RepeatReport } from '@mcp-pruner/ledger/repeat-report.ts';
import type { ColdStashReport } from 'mcp-pruner/core/ports/cold-report.ts';
import { parseMarker } from 'mcp-pruner/engine/text/marker.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { contentAt, messageBytes, messagesOf } from '../../../test/helpers/chat.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { markersIn } from '../../../test/helpers/markers.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { Agent, skeleton } from './agent.ts';

const LOG = serverLog(300);
const SOURCE = sourceFile(30);

async function setUp(env: Record<string, string> = {}, headers: Record<string, string> = {}) {
  const upstream = await startUpstream();
  const dbPath = join(tempFolder(), 'store.db');
  const proxy = await startProxy(upstream, { env, dbPath });
  return { upstream, proxy, dbPath, agent: new Agent(proxy, upstream, headers) };
}

/** A file that is read and edited, a log, and some turns after it; each large result is sent before it is answered. */
async function work(agent: Agent): Promise<{ read: number; log: number }> {
  const read = agent.tool('read_file', { path: 'src/orders.ts' }, SOURCE);
  await agent.send();
  agent.tool('edit_file', { path: 'src/orders.ts', old: 'a', new: 'b' }, 'The file was changed.');
  const log = agent.tool('bash', { command: 'npm start' }, LOG);
  await agent.send();
  agent.chatter();
  return { read, log };
}

function markerAt(body: Buffer, index: number) {
  const content = contentAt(body, index);
  const marker = parseMarker(content.trimEnd());
  if (!marker || content.trimEnd().includes('\n')) throw new Error(`no lone marker: ${content.slice(0, 200)}`);
  return marker;
}

describe('an agent that collects the garbage of its context', () => {
  it('finds candidates, stashes one, sees the marker, and recovers it', async () => {
    const { proxy, agent } = await setUp();
    const { read, log } = await work(agent);
    const before = await agent.send();
    expect(contentAt(before, log)).toContain('⟦PRUNÉ');

    const analysis = await agent.analyze({ target_tokens: 500 });
    expect(analysis.total_candidates).toBe(analysis.pruning_candidates.length);
    const [first] = analysis.pruning_candidates;
    expect(first?.reason).toContain('src/orders.ts');
    expect(first?.reason).toContain('edited later');
    expect(first?.segment_type).toBe('code');
    expect(analysis.pruning_plan?.segments).toEqual([first]);
    expect(messageBytes(await agent.send())).toEqual(messageBytes(before)); // analysing changed nothing

    const id = first?.segment_id ?? '';
    const pruned = await agent.prune([id]);
    expect(pruned).toEqual({ pruned_segments: [id], tokens_freed: first?.tokens, action: 'stashed', errors: [] });

    const after = await agent.send();
    const marker = markerAt(after, read);
    expect(marker).toMatchObject({ startLine: 1, reason: 'mis de côté' });
    expect(skeleton(after)).toEqual(skeleton(before));
    const others = (body: Buffer) => messagesOf(body).filter((_, i) => i !== read);
    expect(others(after)).toEqual(others(before));
    expect(await proxy.recover(marker.pruneId, 1, marker.endLine)).toBe(SOURCE.replace(/\n$/, ''));
    expect((await agent.analyze()).pruning_candidates.map(({ segment_id }) => segment_id)).not.toContain(id);

    agent.chatter(1);
    const next = await agent.send();
    expect(next.subarray(0, messageBytes(after).length)).toEqual(messageBytes(after));

    expect(await agent.pin([id])).toEqual({ pinned_segments: [id], errors: [] });
    expect(await agent.sendAndSee(read)).toBe(SOURCE);
    expect((await agent.prune([id])).errors).toEqual([expect.stringContaining('pinned')]);
    expect(await agent.sendAndSee(read)).toBe(SOURCE);
    expect(await agent.unpin([id])).toEqual({ unpinned_segments: [id], errors: [] });
    expect(contentAt(await agent.send(), read)).toBe(contentAt(before, read));
    expect((await agent.analyze()).pruning_candidates.map(({ segment_id }) => segment_id)).toContain(id);
  });

  it('gets recovered text whole although an earlier copy of it is stashed', async () => {
    const { proxy, agent } = await setUp();
    const { read } = await work(agent);
    await agent.send();
    await agent.prune([(await agent.candidate('src/orders.ts')).segment_id]);
    const marker = markerAt(await agent.send(), read);
    const args = {
      prune_id: marker.pruneId,
      ranges: [{ start_line: 1, end_line: marker.endLine }],
      include_line_numbers: false,
    };
    const { result } = await proxy.call('recover_text', args);
    const answer = result?.content[0]?.text ?? '';
    const back = agent.tool('mcp__mcp-pruner__recover_text', args, answer);
    const body = await agent.send();
    expect(contentAt(body, back)).toBe(answer);
    expect(markerAt(body, read)).toEqual(marker);
  });

  it('deletes a text from the conversation, from the store and from its file', async () => {
    const env = { MCP_PRUNER_ENABLE: 'idempotency,bulk' };
    const { proxy, agent, dbPath } = await setUp(env);
    const secret = LOG.replaceAll('INFO', 'SECRET-7f3a');
    const log = agent.tool('bash', { command: 'printenv' }, secret);
    await agent.send();
    const { read } = await work(agent);
    const before = await agent.send();
    const [old] = markersIn(contentAt(before, log));
    // an answer that is kept for a repeated call holds lines of it too
    const entry = { prune_id: old?.pruneId, ranges: [{ start_line: 1, end_line: 99 }], include_line_numbers: false };
    const recovered = () => proxy.call('recover_batch', { entries: [entry], idempotency_key: 'again' });
    expect((await recovered()).result?.content[0]?.text).toContain('SECRET-7f3a');
    const candidates = (await agent.analyze()).pruning_candidates.filter(({ reason }) => reason.startsWith('command'));
    const wanted = candidates.map(({ segment_id }) => segment_id);
    expect(wanted).toHaveLength(2);

    const refused = await agent.prune(wanted, 'delete');
    expect(refused).toMatchObject({
      pruned_segments: [],
      tokens_freed: 0,
      errors: [expect.stringContaining('confirm')],
    });
    expect(messageBytes(await agent.send())).toEqual(messageBytes(before));

    const deleted = await agent.prune(wanted, 'delete', { confirm: true });
    expect(deleted).toMatchObject({ pruned_segments: wanted, action: 'deleted', errors: [] });
    await expect(proxy.recover(old?.pruneId ?? '', 1, 5)).rejects.toThrow('prune_id_not_found');
    const after = await agent.send();
    const marker = markerAt(after, log);
    expect(marker.reason).toMatch(/^supprimé/);
    await expect(proxy.recover(marker.pruneId, 1, 5)).rejects.toThrow('prune_id_not_found');
    expect(after.includes('SECRET-7f3a')).toBe(false);
    expect(contentAt(after, read)).toBe(contentAt(before, read));
    expect((await agent.pin(wanted)).errors).toEqual(wanted.map(() => expect.stringContaining('deleted')));
    expect((await agent.prune(wanted, 'delete', { confirm: true })).tokens_freed).toBe(0);

    agent.chatter(1);
    const next = await agent.send();
    expect(next.subarray(0, messageBytes(after).length)).toEqual(messageBytes(after));
    await proxy.stop();
    for (const side of ['', '-wal']) {
      let bytes = Buffer.alloc(0);
      try {
        bytes = readFileSync(dbPath + side);
      } catch {
        continue; // no log is left after a clean stop
      }
      expect(bytes.includes('SECRET-7f3a'), side).toBe(false);
    }
    await proxy.start();
    expect((await recovered()).error?.message).toBe('prune_id_not_found');
  });

  it('can remove its own words and a user’s file, however small, but never the system prompt', async () => {
    const { agent } = await setUp();
    const file = sourceFile(5);
    const attached = agent.say('user', `Here it is:\n<file path="src/small.ts">\n${file}</file>\nWhat do you think?`);
    const thought = agent.say(
      'assistant',
      `I think that it is the queue. ${'It waits and waits for the charge. '.repeat(12)}`,
    );
    const other = agent.say('assistant', 'yes');
    agent.chatter();
    const before = await agent.send();
    const candidates = (await agent.analyze()).pruning_candidates;
    expect(candidates.map(({ reason }) => reason.split(':')[0]).sort()).toEqual([
      'attached file src/small.ts',
      'words of the assistant',
    ]);
    await agent.prune(candidates.map(({ segment_id }) => segment_id));
    const after = await agent.send();
    expect(contentAt(after, attached)).toMatch(
      /^Here it is:\n<file path="src\/small.ts">\n⟦PRUNÉ: prune_id=prn_\w{12} lignes 1-\d+ \(\d+\) raison=mis de côté⟧\n<\/file>\nWhat do you think\?$/,
    );
    expect(markerAt(after, thought).reason).toBe('mis de côté');
    expect(contentAt(after, other)).toBe('yes');
    expect(messagesOf(after)[0]).toEqual(messagesOf(before)[0]);
  });

  it('can repeat a stashed text, and the new copy stays whole', async () => {
    const { agent } = await setUp();
    const words = `Remember: ${'the charge waits for the queue. '.repeat(14)}`;
    const first = agent.say('assistant', words);
    agent.chatter();
    await agent.send();
    await agent.prune([(await agent.candidate('words of the assistant')).segment_id]);
    const again = agent.say('assistant', words);
    const body = await agent.send();
    expect(markerAt(body, first).reason).toBe('mis de côté');
    expect(contentAt(body, again)).toBe(words);
  });
});

describe('directives about segments', () => {
  it('apply after a restart, with the same bytes', async () => {
    const { proxy, agent } = await setUp();
    const { read, log } = await work(agent);
    await agent.send();
    const stale = await agent.candidate('src/orders.ts');
    const output = await agent.candidate('command output');
    await agent.prune([stale.segment_id]);
    await agent.pin([output.segment_id]);
    const before = await agent.send();
    markerAt(before, read);
    expect(contentAt(before, log)).toBe(LOG);
    await proxy.restart();
    expect(messageBytes(await agent.send())).toEqual(messageBytes(before));
    expect((await agent.prune([output.segment_id])).errors).toEqual([expect.stringContaining('pinned')]);
    await agent.unpin([output.segment_id]);
    expect(await agent.sendAndSee(log)).toContain('⟦PRUNÉ');
  });

  it('apply in another process on the same store file from its next request', async () => {
    const { upstream, proxy, dbPath, agent } = await setUp();
    const other = await startProxy(upstream, { dbPath });
    const { read, log } = await work(agent);
    const before = await agent.send();
    agent.moveTo(other);
    expect(messageBytes(await agent.send())).toEqual(messageBytes(before));
    const stale = await agent.candidate('src/orders.ts');
    await agent.prune([stale.segment_id]);
    agent.moveTo(proxy);
    const after = await agent.send();
    const marker = markerAt(after, read);
    agent.moveTo(other);
    expect(messageBytes(await agent.send())).toEqual(messageBytes(after));
    expect(await other.recover(marker.pruneId, 1, marker.endLine)).toBe(SOURCE.replace(/\n$/, ''));
    await agent.pin([stale.segment_id]);
    agent.moveTo(proxy);
    const pinned = await agent.send();
    expect(contentAt(pinned, read)).toBe(SOURCE);
    expect(contentAt(pinned, log)).toBe(contentAt(before, log));
  });

  it('apply only to the project that the request names', async () => {
    const { upstream, proxy, agent } = await setUp({}, { 'x-mcp-pruner-project': 'shop' });
    const { read } = await work(agent);
    await agent.send();
    expect(upstream.last.headers['x-mcp-pruner-project']).toBeUndefined();
    expect((await agent.analyze()).pruning_candidates).toEqual([]);
    const { segment_id } = await agent.candidate('src/orders.ts', { project_id: 'shop' });
    expect(await agent.prune([segment_id])).toMatchObject({
      pruned_segments: [],
      errors: [`Segment ${segment_id} not found in project default.`],
    });
    await agent.prune([segment_id], 'stash', { project_id: 'shop' });
    const elsewhere = new Agent(proxy, upstream, {}, agent.messages);
    markerAt(await agent.send(), read);
    expect(await elsewhere.sendAndSee(read)).toContain('loadOrder0');
  });

  it.each([
    ['no markers', { MCP_PRUNER_INCLUDE_MARKERS: 'false' }],
    ['numbered lines', { MCP_PRUNER_ANNOTATE_LINES: 'true' }],
  ])('leave a single marker even with %s', async (_how, env) => {
    const { proxy, agent } = await setUp(env);
    const { read } = await work(agent);
    await agent.send();
    await agent.prune([(await agent.candidate('src/orders.ts')).segment_id]);
    const marker = markerAt(await agent.send(), read);
    expect(await proxy.recover(marker.pruneId, 1, marker.endLine)).toBe(SOURCE.replace(/\n$/, ''));
  });

  it('do not apply to a request that switches pruning off', async () => {
    const { upstream, proxy, agent } = await setUp();
    const { read } = await work(agent);
    await agent.send();
    await agent.prune([(await agent.candidate('src/orders.ts')).segment_id]);
    const off = new Agent(proxy, upstream, { 'x-mcp-pruner': 'off' }, agent.messages);
    expect(await off.sendAndSee(read)).toBe(SOURCE);
  });
});

describe('a budget', () => {
  it('makes the proxy stash old results automatically, once, with a log line', async () => {
    const { proxy, agent } = await setUp({
      MCP_PRUNER_CONTEXT_BUDGET_TOKENS: '20000',
    });
    const first = agent.tool('read_file', { path: 'src/orders.ts' }, sourceFile(40));
    let body = await agent.send();
    for (let i = 1; i < 26; i++) {
      agent.tool('read_file', { path: `src/part${i}.ts` }, sourceFile(8, i * 3), `I read part ${i}.`);
      const next = await agent.send();
      const same = next.subarray(0, messageBytes(body).length).equals(messageBytes(body));
      body = next;
      if (!same) break;
    }
    const marker = markerAt(body, first);
    expect(await proxy.recover(marker.pruneId, 1, marker.endLine)).toContain('loadOrder0');
    agent.chatter(1);
    const next = await agent.send();
    expect(next.subarray(0, messageBytes(body).length)).toEqual(messageBytes(body));
    const steps = (await proxy.logLines()).filter(({ msg }) => msg === 'context over its budget, parts stashed');
    expect(steps).toHaveLength(1);
    expect(steps[0]).toMatchObject({ project: 'default', requestId: expect.stringMatching(/^[0-9A-Z]{26}$/) });
    expect(Number(steps[0]?.tokensSaved)).toBeGreaterThan(3_000);
  });
});

describe('a conversation that reads the same lines twice', () => {
  it('has its repeats and the place that it read a third time in the report', async () => {
    const { proxy, agent, dbPath } = await setUp();
    agent.tool('read_file', { path: 'src/a.ts' }, sourceFile(12));
    await agent.send('gpt-4o');
    agent.tool('read_file', { path: 'src/a.ts' }, sourceFile(12));
    expect(JSON.stringify(messagesOf(await agent.send('gpt-4o')))).toContain('déjà montré: read_file src/a.ts');
    agent.tool('read_file', { path: 'src/a.ts' }, sourceFile(12));
    await agent.send('gpt-4o');
    await proxy.requestLines(3);
    await proxy.stop();
    const at = { env: { MCP_PRUNER_DB_PATH: dbPath }, clock: { nowMs: () => Date.now() } };
    const { repeats } = JSON.parse((await run(['report', '--json'], at)).out) as RepeatReport;
    expect(repeats).toMatchObject({ texts: 1, read_again: 1 });
    expect(repeats.lines).toBeGreaterThan(50);
    expect(repeats.tokens).toBeGreaterThan(400);
    expect(repeats.usd).toBeGreaterThan(0);
    expect((await run(['report'], at)).out).toMatch(/Repeats: \d+ lines .* of 1 result stood in an earlier one: saved/);
  });
});

describe('a conversation that continues with another model', () => {
  it('has its old results stashed and one recovered, and the report contains both', async () => {
    const { proxy, agent, dbPath } = await setUp();
    for (let i = 0; i < 12; i++) agent.tool('read_file', { path: `src/part${i}.ts` }, sourceFile(12, i));
    const before = await agent.send();
    await proxy.requestLines(1); // the end of the answer is noted with the log line
    const after = await agent.send('gpt-4o');
    const gone = messagesOf(after).flatMap(({ content }, i) =>
      content !== messagesOf(before)[i]?.content && parseMarker(String(content).trimEnd()) ? [i] : [],
    );
    expect(gone.length).toBeGreaterThan(3);
    const { pruneId } = markerAt(after, gone[0] ?? 0);
    expect((await proxy.recover(pruneId, 1, 3)).split('\n')).toHaveLength(3);
    agent.say('user', 'Go on.');
    expect(messageBytes(await agent.send('gpt-4o')).subarray(0, messageBytes(after).length)).toEqual(
      messageBytes(after),
    );
    const page = await fetch(`${proxy.url}/page/api/contexts?days=2`);
    expect(await page.json()).toMatchObject({ cold_moments: { model: 1 } });
    await proxy.stop();
    const at = { env: { MCP_PRUNER_DB_PATH: dbPath }, clock: { nowMs: () => Date.now() } };
    const { cold_stash } = JSON.parse((await run(['report', '--json'], at)).out) as ColdStashReport;
    expect(cold_stash).toMatchObject({ setting: 'on', conversations: 1, results: gone.length, recovered: 1 });
    expect(cold_stash.tokens).toBeGreaterThan(3_000);
    expect(cold_stash.usd).toBeGreaterThan(0);
    expect((await run(['report'], at)).out).toMatch(
      /Cold caches: \d+ old results .* put aside in 1 conversation at a change of model \(1\): saved .* 1 were needed again/,
    );
    expect((await run(['why', pruneId], at)).out).toMatch(/cut\s+put aside while the provider's cache was cold/);
    expect((await run(['why', '--latest'], at)).out).toContain(
      `${gone.length} old results put aside: another model was asked`,
    );
  });
});
