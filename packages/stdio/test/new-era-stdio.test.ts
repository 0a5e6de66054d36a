import { PassThrough } from 'node:stream';
import type { McpServerOptions, Method } from 'mcp-pruner/mcp/server.ts';
import type { Peer } from 'mcp-pruner/mcp/tool.ts';
import { describe, expect, it } from 'vitest';
import { FakePruner } from '../../../test/mcp/helpers/fake-pruner.ts';
import { buildServer, pruneArgs } from '../../../test/mcp/helpers/rpc-server.ts';
import { serveStdio } from '../src/stdio-lines.ts';

const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A client of a stdio server in this process. */
function open(options: Partial<McpServerOptions> = {}) {
  const pruner = new FakePruner();
  const [input, output, stop] = [new PassThrough(), new PassThrough(), new AbortController()];
  const faults: unknown[] = [];
  const served = serveStdio({
    server: buildServer(pruner, options),
    input,
    output,
    stop: stop.signal,
    graceMs: 30_000,
    onFailure: (_reason, fault) => faults.push(fault),
  });
  let text = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return {
    pruner,
    faults,
    served,
    input,
    /** Sends a message of the new era. */
    send: (id: number | string | null, method: string, params: object = {}) =>
      input.write(
        `{"jsonrpc":"2.0",${id === null ? '' : `"id":${id},`}"method":"${method}","params":${JSON.stringify({ ...params, _meta })}}\n`,
      ),
    /** Waits for lines that contain a text. */
    lines: async (part: string, count = 1): Promise<string[]> => {
      const found = (): string[] => text.split('\n').filter((line) => line.includes(part));
      await expect.poll(found).toHaveLength(count);
      return found();
    },
  };
}

describe('protocol version 2026-07-28 on stdio', () => {
  it('needs no initialize, answers all requests before the input ends, and serves older clients as before', async () => {
    const { send, input, lines, served, faults } = open();
    input.write('{"jsonrpc":"2.0","id":"old","method":"ping"}\n');
    expect(await lines('"old"')).toEqual(['{"jsonrpc":"2.0","id":"old","result":{}}']);
    send(1, 'server/discover');
    send(2, 'tools/list');
    send(3, 'tools/call', { name: 'prune_text', arguments: pruneArgs() });
    send(4, 'nothing');
    input.write('{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n');
    input.end();
    await served;
    expect((await lines('"supportedVersions"'))[0]).toContain('2026-07-28');
    expect(JSON.parse((await lines('"id":2'))[0] ?? '')).toMatchObject({
      result: { resultType: 'complete', ttlMs: 0 },
    });
    expect((await lines('"id":3'))[0]).toContain('"resultType":"complete"');
    expect((await lines('"id":4'))[0]).toContain('-32601');
    expect((await lines('"id":5'))[0]).toContain('"protocolVersion":"2025-11-25"');
    expect(faults).toEqual([]);
  });

  it('answers -32601 to lists that it does not announce, and lists what it announces', async () => {
    const resources: Method = () => ({ resources: [{ uri: 'sc://a', name: 'a' }] });
    const plain = open();
    const listing = open({ methods: { 'resources/list': resources }, capabilities: { resources: {} } });
    const methods = ['prompts/list', 'prompts/get', 'resources/list', 'resources/templates/list', 'resources/read'];
    for (const [i, method] of methods.entries()) {
      plain.send(i + 10, method);
      expect(JSON.parse((await plain.lines(`"id":${i + 10}`))[0] ?? '')).toMatchObject({ error: { code: -32601 } });
    }
    listing.send(20, 'prompts/list');
    listing.send(21, 'resources/list');
    expect(JSON.parse((await listing.lines('"id":20'))[0] ?? '')).toMatchObject({ error: { code: -32601 } });
    expect((await listing.lines('"id":21'))[0]).toContain('sc://a');
  });

  it('echoes ids digit for digit, and answers both of two requests with the same id', async () => {
    const { send, lines } = open();
    for (const id of ['9007199254740993', '7', '7']) send(id, 'tools/list');
    expect((await lines('"id":9007199254740993'))[0]).toContain('"tools"');
    expect((await lines('"id":7', 2)).every((line) => line.includes('"tools"'))).toBe(true);
  });

  it.each([
    ['with', '"params":{"requestId":9007199254740993,"_meta":{}}'],
    ['without', '"params":{"requestId":9007199254740993}'],
  ])('cancels a call, %s _meta, and serves the next one', async (_, params) => {
    const { send, input, lines, pruner, served } = open();
    send('9007199254740993', 'tools/call', { name: 'prune_text', arguments: pruneArgs({ goal_hint: 'hang' }) });
    await pruner.hanging;
    input.write(`{"jsonrpc":"2.0","method":"notifications/cancelled",${params}}\n`);
    await pruner.aborted;
    send(2, 'tools/list');
    await lines('"id":2');
    input.end();
    await served;
    await lines('9007199254740993', 0);
  });

  it('notifies a subscriber of changes to its subscribed resources until it cancels', async () => {
    const peers = new Map<unknown, Peer | undefined>();
    const subscribe: Method = ({ uri }, { peer }) => {
      peers.set(uri, peer);
      return {};
    };
    const unsubscribe: Method = ({ uri }) => {
      peers.delete(uri);
      return {};
    };
    const { send, lines } = open({
      methods: { 'resources/subscribe': subscribe, 'resources/unsubscribe': unsubscribe },
      capabilities: { resources: { subscribe: true, listChanged: false } },
    });
    send(1, 'subscriptions/listen', { notifications: { resourceSubscriptions: ['sc://a', 'sc://b'] } });
    send(2, 'subscriptions/listen', { notifications: { resourceSubscriptions: ['sc://b'], toolsListChanged: true } });
    await lines('notifications/subscriptions/acknowledged', 2);
    await expect.poll(() => [...peers.keys()]).toEqual(['sc://a', 'sc://b']);
    peers.get('sc://a')?.notify('notifications/resources/updated', { uri: 'sc://a' });
    const [update] = await lines('notifications/resources/updated');
    expect(JSON.parse(update ?? '')).toMatchObject({
      params: { uri: 'sc://a', _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } },
    });
    send(null, 'notifications/cancelled', { requestId: 1 });
    await expect.poll(() => [...peers.keys()]).toEqual(['sc://b']);
  });

  it('identifies a subscription by its id digit for digit, and cancels it by that id', async () => {
    const { send, lines, input } = open({ capabilities: { resources: { subscribe: true, listChanged: false } } });
    for (const id of ['9007199254740993', '9007199254740995']) {
      send(id, 'subscriptions/listen', { notifications: { resourceSubscriptions: ['sc://a'] } });
    }
    for (const [i, line] of (await lines('notifications/subscriptions/acknowledged', 2)).entries()) {
      expect(line).toContain(`"io.modelcontextprotocol/subscriptionId":900719925474099${3 + 2 * i}`);
    }
    input.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993}}\n');
    input.end();
    expect((await lines('"result"', 1))[0]).toContain('"id":9007199254740995');
  });
});
