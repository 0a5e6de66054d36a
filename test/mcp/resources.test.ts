import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { startStdio as serveOverStdio } from '@mcp-pruner/stdio/serve.ts';
import { describe, expect, it } from 'vitest';
import { edition } from '../../src/edition.ts';
import { createLog } from '../../src/observe/log.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { manualClock } from '../contract/store.suite.ts';
import { afterwards, tempFolder } from '../helpers/afterwards.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { settingsOf, startProxy, type TestProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';
import { ask, connectTo, converse, logArgs, startProduct } from './helpers/product.ts';

const env = { MCP_PRUNER_ENABLE: 'resources,events-bus' };

interface Event {
  readonly seq: number;
  readonly kind: string;
  readonly runId: string;
  readonly opId: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
}

interface Item {
  readonly uri: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

interface Watched {
  readonly uri: string;
  readonly kind: string;
  readonly events: readonly Event[];
  readonly next_seq: number;
}

async function itemsOf(proxy: TestProxy, prefix: string): Promise<readonly Item[]> {
  return (await ask<{ items: Item[] }>(proxy, 'resources_list', { prefix })).items;
}

/** The resource of the one conversation, once its request was told. */
function runOf(proxy: TestProxy): Promise<Item> {
  return until(async () => (await itemsOf(proxy, 'sc://runs/')).find(({ uri }) => !/runs\/(?:mcp|store)\//.test(uri)));
}

describe('resources_list', () => {
  it('lists only runs and snapshots, filtered by prefix and limit', async () => {
    const proxy = await startProduct(env);
    expect((await ask<{ items: Item[] }>(proxy, 'resources_list')).items).toEqual([]);
    await converse(proxy);
    const run = await runOf(proxy);
    expect(run).toEqual({
      uri: expect.stringMatching(/^sc:\/\/runs\/[^/]+\/events$/),
      kind: 'run_events',
      metadata: { runId: expect.any(String), firstSeq: 1, lastSeq: expect.any(Number), lastTs: expect.any(Number) },
    });
    const [snapshot] = await itemsOf(proxy, 'sc://snapshots/prn_');
    expect(snapshot).toMatchObject({ kind: 'snapshot', metadata: { tool: 'bash', sourceType: 'logs', lines: 400 } });
    const { items } = await ask<{ items: Item[] }>(proxy, 'resources_list');
    expect(items.map(({ uri }) => uri).sort()).toEqual([run.uri, snapshot?.uri].sort());
    expect((await ask<{ items: Item[] }>(proxy, 'resources_list', { limit: 1 })).items).toHaveLength(1);
    expect(await itemsOf(proxy, run.uri)).toEqual([run]);
    expect(await itemsOf(proxy, 'sc://runs/zzz')).toEqual([]);
    expect(await itemsOf(proxy, 'file://')).toEqual([]);
  });

  it('refuses invalid arguments', async () => {
    const proxy = await startProduct(env);
    for (const [args, field] of [
      [{ limit: 0 }, 'limit'],
      [{ limit: 501 }, 'limit'],
      [{ prefix: '  ' }, 'prefix'],
      [{ kind: 'graph' }, 'kind'],
    ] as const) {
      expect(await proxy.call('resources_list', args)).toMatchObject({
        error: { code: -32602, data: { issues: [{ field }] } },
      });
    }
  });
});

describe('the events of a conversation', () => {
  it('contain the request, each candidate, cuts and kept texts, with every event field', async () => {
    const proxy = await startProduct(env);
    const log = serverLog(400);
    // both results stand behind the last answer: of what was answered before nothing new is decided
    const [, , second, short] = oneResult('short '.repeat(900), { id: 'call_2' });
    const [system, user, first, large] = oneResult(log);
    const messages = [system, user, second, first, large, short].flatMap((message) => message ?? []);
    await (await proxy.chat(chatBody(messages))).text();
    const { uri } = await runOf(proxy);
    const read = await ask<{ kind: string; payload: { runId: string; events: Event[] } }>(proxy, 'resources_read', {
      uri,
    });
    const { runId, events } = read.payload;
    expect(read).toMatchObject({ uri, kind: 'run_events' });
    expect(events.map(({ kind }) => kind)).toEqual(['request', 'candidate', 'pruned', 'candidate', 'left_whole']);
    for (const event of events) {
      expect(Object.keys(event)).toEqual(
        'seq ts kind level jobId runId opId graphId nodeId childId payload'.split(' '),
      );
      expect(event).toMatchObject({ runId, opId: expect.stringMatching(/^[0-9A-Z]{26}$/), jobId: null, childId: null });
    }
    expect(events[0]?.payload).toMatchObject({ model: 'gpt-test', candidates: 2, status: 200, end: 'answered' });
    expect(events[2]?.payload).toMatchObject({ prune_id: expect.stringMatching(/^prn_/), tool: 'bash', lines: 400 });
    expect(events[4]?.payload).toMatchObject({ reason: expect.any(String), tool: 'bash' });
    const text = JSON.stringify(events);
    for (const secret of ['sk-test', 'checkout', 'payment', 'INFO', 'npm start']) expect(text).not.toContain(secret);
  });

  it('include recoveries in the same run, and tool calls in a separate run, without client texts', async () => {
    const proxy = await startProduct(env);
    await converse(proxy);
    const { uri } = await runOf(proxy);
    const { events } = await ask<Watched>(proxy, 'resources_watch', { uri });
    await proxy.recover(String(events.find(({ kind }) => kind === 'pruned')?.payload.prune_id), 1, 3);
    const later = await ask<Watched>(proxy, 'resources_watch', { uri, from_seq: events.length + 1 });
    expect(later.events).toMatchObject([{ kind: 'recovered', payload: { ranges: 1, lines: 3 } }]);

    await ask(proxy, 'prune_text', logArgs(5));
    await proxy.call('recover_text', { prune_id: 'my secret', ranges: [], include_line_numbers: false });
    const mcp = await ask<Watched>(proxy, 'resources_watch', { uri: 'sc://runs/mcp/events' });
    expect(mcp.events).toMatchObject([
      { kind: 'prune_text', payload: { source_type: 'logs', lines: 300 } },
      { kind: 'recover_failed', payload: { prune_id: '', reason: 'prune_id_not_found' } },
    ]);
    expect(JSON.stringify(mcp)).not.toContain('secret');
  });

  it('contain failures of the upstream and of the client, and a request without a conversation as its own run', async () => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(503).end('{}');
    });
    const proxy = await startProxy(upstream, { env });
    await (await proxy.chat(chatBody(oneResult('x')))).text();
    await (await proxy.chat('not json')).text();
    const { events } = await until(async () => {
      const all = await ask<Watched>(proxy, 'events_watch');
      return all.events.filter(({ kind }) => kind === 'upstream_failed').length === 2 && all;
    });
    const kinds = new Map(events.map((event) => [`${event.kind} ${event.runId === event.opId}`, event]));
    expect([...kinds.keys()].sort()).toEqual([
      'fallback true',
      'request false',
      'request true',
      'upstream_failed false',
      'upstream_failed true',
    ]);
    expect(kinds.get('fallback true')?.payload).toEqual({ reason: 'body_not_understood' });
    expect(kinds.get('upstream_failed false')?.payload).toEqual({ reason: 'status', status: 503 });
  });

  it('are limited to the configured number, which may be zero', async () => {
    const none = await startProduct({ ...env, MCP_PRUNER_MAX_EVENTS: '0' });
    await converse(none);
    await none.requestLines(1);
    expect(await itemsOf(none, 'sc://runs/')).toEqual([]);
    const few = await startProduct({ ...env, MCP_PRUNER_MAX_EVENTS: '2' });
    await converse(few);
    await few.requestLines(1);
    const { events } = await until(async () => {
      const watched = await ask<Watched>(few, 'events_watch');
      return watched.events.length > 0 && watched;
    });
    expect(events.map(({ kind }) => kind)).toEqual(['candidate', 'pruned']);
  });
});

describe('resources_watch', () => {
  it('returns all events in order, without gaps or repeats, and stops at the end', async () => {
    const proxy = await startProduct(env);
    await converse(proxy);
    const { uri } = await runOf(proxy);
    const { payload } = await ask<{ payload: { events: Event[] } }>(proxy, 'resources_read', { uri });
    const seen: Event[] = [];
    let from_seq = 0;
    for (;;) {
      const { events, next_seq, ...rest } = await ask<Watched>(proxy, 'resources_watch', { uri, from_seq, limit: 1 });
      expect(rest).toEqual({ uri, kind: 'run_events' });
      expect(next_seq).toBe(events.length > 0 ? (events[0]?.seq ?? 0) + 1 : from_seq);
      if (events.length === 0) break;
      seen.push(...events);
      from_seq = next_seq;
    }
    expect(seen).toEqual(payload.events);
  });

  it('waits for new entries for the requested time', async () => {
    const proxy = await startProduct(env);
    await converse(proxy);
    const { uri, metadata } = await runOf(proxy);
    const from_seq = Number(metadata.lastSeq) + 1;
    const waiting = ask<Watched>(proxy, 'resources_watch', { uri, from_seq, wait_ms: 20_000 });
    await converse(proxy);
    expect((await waiting).events).toMatchObject([{ kind: 'request' }]);
    const startedAt = performance.now();
    const { events, next_seq } = await ask<Watched>(proxy, 'resources_watch', { uri, from_seq: 1_000, wait_ms: 60 });
    expect([events, next_seq]).toEqual([[], 1_000]);
    expect(performance.now() - startedAt).toBeGreaterThan(55);
    expect(await proxy.call('resources_watch', { uri, wait_ms: 30_001 })).toMatchObject({ error: { code: -32602 } });
  });
});

describe('sc://snapshots', () => {
  it('contain the original byte for byte, with its annotations, stats and goal', async () => {
    const proxy = await startProduct(env);
    const args = { ...logArgs(), text: `${logArgs().text}\r\nlast 😀` };
    const { prune_id, annotations, stats } = await ask<Record<string, object>>(proxy, 'prune_text', args);
    const uri = `sc://snapshots/${prune_id}`;
    const { payload } = await ask<{ payload: Record<string, unknown> }>(proxy, 'resources_read', { uri });
    expect(payload).toMatchObject({
      pruneId: prune_id,
      original: args.text,
      annotations,
      goal: args.goal_hint,
      tool: 'prune_text',
    });
    const { tokens_est_after: kept, ...rest } = payload.stats as Record<string, number>;
    expect(stats).toMatchObject(rest);
    // one is summed up line by line, the other is that of the whole text
    expect(Math.abs(Number(stats?.['tokens_est_after' as keyof typeof stats]) - Number(kept))).toBeLessThanOrEqual(2);
  });

  it('return distinct errors if unknown, expired, of another kind or not watchable', async () => {
    const clock = manualClock();
    const ttl = { ...env, MCP_PRUNER_PRUNE_ID_TTL_S: '3000' };
    const proxy = await startProxy(await startUpstream(), { clock, env: ttl });
    const { prune_id } = await ask<{ prune_id: string }>(proxy, 'prune_text', logArgs());
    const errorOf = async (tool: string, uri: string) => {
      const { error } = await proxy.call(tool, { uri });
      return [error?.code, error?.message];
    };
    const uri = `sc://snapshots/${prune_id}`;
    expect(await errorOf('resources_watch', uri)).toEqual([-32007, 'resource_wrong_kind']);
    expect(await errorOf('resources_read', 'sc://graphs/g@v1')).toEqual([-32007, 'resource_wrong_kind']);
    for (const unknown of [
      'sc://snapshots/prn_gone',
      'sc://runs/x/events',
      'sc://children/x/logs',
      'http://x/',
      'sc://',
    ]) {
      expect(await errorOf('resources_read', unknown)).toEqual([-32002, 'resource_not_found']);
      if (!unknown.includes('snapshots'))
        expect(await errorOf('resources_watch', unknown)).toEqual([-32002, 'resource_not_found']);
    }
    clock.now += 3_000_001;
    const { error } = await proxy.call('resources_read', { uri });
    // a sweep may have taken it away by now
    expect([-32008, -32002]).toContain(error?.code);
    expect(error?.data).toMatchObject({ uri, hint: expect.any(String) });
  });
});

describe('the logs of an agent', () => {
  it('are listed, read and watched like events', async () => {
    const path = join(tempFolder(), 'store.db');
    const proxy = await startProduct(env, path);
    const store = openSqliteStore({ path, clock: manualClock(), ttlMs: 1e9, maxBytes: 1e9, maxEvents: 3 });
    afterwards(() => store.close());
    const entry = { tsMs: 5, childId: 'qwen 1', runId: null, stream: 'stderr', parsed: null } as const;
    await store.records.addChildLogs(['a', 'b', 'c', 'd'].map((message) => ({ ...entry, message })));
    const [item] = await itemsOf(proxy, 'sc://children/qwen');
    const uri = 'sc://children/qwen%201/logs';
    expect(item).toEqual({ uri, kind: 'child_logs', metadata: { childId: 'qwen 1', lastSeq: 4, lastTs: 5 } });
    const { payload } = await ask<{ payload: object }>(proxy, 'resources_read', { uri });
    const log = (seq: number, message: string) => ({
      seq,
      ts: 5,
      stream: 'stderr',
      message,
      jobId: null,
      runId: null,
      opId: null,
      graphId: null,
      nodeId: null,
      childId: 'qwen 1',
      raw: message,
      parsed: null,
    });
    expect(payload).toEqual({ childId: 'qwen 1', logs: [log(2, 'b'), log(3, 'c'), log(4, 'd')] });
    expect(await ask(proxy, 'resources_watch', { uri, from_seq: 4 })).toEqual({
      uri,
      kind: 'child_logs',
      events: [log(4, 'd')],
      next_seq: 5,
    });
  });
});

describe('the standard MCP resource methods', () => {
  it('list the same resources to the official client', async () => {
    const proxy = await startProduct(env);
    await converse(proxy);
    const run = await runOf(proxy);
    const client = await connectTo(proxy);
    expect(client.getServerCapabilities()?.resources).toEqual({ subscribe: false, listChanged: false });
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain(run.uri);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'sc://runs/{runId}/events',
      'sc://snapshots/{pruneId}',
      'sc://children/{childId}/logs',
    ]);
    const { contents } = await client.readResource({ uri: run.uri });
    const { payload } = await ask<{ payload: object }>(proxy, 'resources_read', { uri: run.uri });
    expect(contents).toMatchObject([{ uri: run.uri, mimeType: 'application/json' }]);
    expect(JSON.parse((contents[0] as { text: string }).text)).toEqual(payload);
    await expect(client.readResource({ uri: 'sc://runs/none/events' })).rejects.toMatchObject({ code: -32002 });
    await expect(client.subscribeResource({ uri: run.uri })).rejects.toThrow(/resource subscriptions|No subscriptions/);
  });

  it('list nothing and are not announced without the flag, which errors name', async () => {
    const proxy = await startProduct();
    await converse(proxy);
    const client = await connectTo(proxy);
    expect(client.getServerCapabilities()?.resources).toBeUndefined();
    expect((await client.listResources()).resources).toEqual([]);
    for (const method of ['resources/read', 'resources/subscribe']) {
      const answer = await fetch(`${proxy.url}/rpc`, {
        method: 'POST',
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { uri: 'sc://runs/x/events' } }),
      });
      const message = expect.stringContaining('--enable-resources');
      expect(await answer.json()).toMatchObject({ error: { code: -32601, message } });
    }
  });

  it('notify a subscriber on stdio of every update, until it unsubscribes', async () => {
    const proxy = await startProduct(env);
    await converse(proxy);
    const { uri } = await runOf(proxy);
    const stdio = await startStdio(proxy.dbPath);
    expect((await stdio.request('initialize', { protocolVersion: '2025-11-25' })).result).toMatchObject({
      capabilities: { resources: { subscribe: true } },
    });
    expect((await stdio.request('resources/subscribe', { uri })).result).toEqual({});
    expect((await stdio.request('resources/subscribe', { uri: 'sc://runs/x/events' })).error).toMatchObject({
      code: -32002,
    });
    expect((await stdio.request('resources/subscribe', { uri: 7 })).error).toMatchObject({ code: -32602 });
    await converse(proxy);
    expect(await until(() => stdio.notifications()[0])).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri },
    });
    expect((await stdio.request('resources/unsubscribe', { uri })).result).toEqual({});
    const { result } = await stdio.request('tools/call', { name: 'mcp_info', arguments: {} });
    const info = JSON.parse((result as { content: { text: string }[] }).content[0]?.text ?? '');
    expect(info.transports).toMatchObject({ stdio: { enabled: true }, http: { enabled: false, port: null } });
  });
});

/** The server on a pair of streams in this process, on the store of another one. */
async function startStdio(dbPath: string) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const messages: Record<string, unknown>[] = [];
  let rest = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    messages.push(...lines.map((line) => JSON.parse(line) as Record<string, unknown>));
  });
  const settings = settingsOf({ ...env, MCP_PRUNER_DB_PATH: dbPath });
  const log = createLog({ level: 'silent', fd: 2 });
  const app = await serveOverStdio({
    env: {},
    cwd: '/',
    pruner: { url: null, timeoutMs: 1, warnings: [] },
    input,
    output,
    say: () => {},
    store: { tools: 'pruner', edition, settings, log, version: '0', clock: { nowMs: () => Date.now() } },
  });
  afterwards(async () => {
    app.stop();
    await app.done;
  });
  let id = 0;
  return {
    async request(method: string, params: object): Promise<Record<string, unknown>> {
      const own = ++id;
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id: own, method, params })}\n`);
      return until(() => messages.find((message) => message.id === own));
    },
    notifications: () => messages.filter(({ method }) => method !== undefined),
  };
}
