import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakePruner } from './helpers/fake-pruner.ts';
import { type Answer, buildServer, post, pruneArgs, request, send, startRpcServer } from './helpers/rpc-server.ts';

const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' });
const pong = (id: unknown) => ({ jsonrpc: '2.0', id, result: {} });
const refusal = (id: unknown, code: number) => ({ jsonrpc: '2.0', id, error: { code, message: expect.any(String) } });

describe('the server with a single message', () => {
  it.each(['', '{', 'hello', '{"jsonrpc":"2.0","id":1,"method":"ping"', '[1,', '\ufeff'])(
    'answers input that is not JSON (%j) with -32700 and id null',
    async (body) => {
      const { port } = await startRpcServer();
      const raw = await send(port, body);
      expect(raw.status).toBe(200);
      expect(JSON.parse(raw.body)).toEqual(refusal(null, -32700));
    },
  );

  it('answers bytes that are not UTF-8 with -32700', async () => {
    const { port } = await startRpcServer();
    const body = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":"'),
      Buffer.from([0xff]),
      Buffer.from('","method":"ping"}'),
    ]);
    expect(JSON.parse((await send(port, body)).body)).toEqual(refusal(null, -32700));
  });

  it('ignores a byte order mark', async () => {
    const { port } = await startRpcServer();
    expect(JSON.parse((await send(port, `\ufeff${JSON.stringify(ping(1))}`)).body)).toEqual(pong(1));
  });

  it.each([
    [1, null],
    ['ping', null],
    [null, null],
    [{}, null],
    [{ foo: 'boo' }, null],
    [{ id: 5, method: 'ping' }, 5],
    [{ jsonrpc: '1.0', id: 5, method: 'ping' }, 5],
    [{ jsonrpc: '2.0', id: 'a' }, 'a'],
    [{ jsonrpc: '2.0', id: 5, method: 7, params: 'bar' }, 5],
    [{ jsonrpc: '2.0', id: {}, method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: true, method: 'ping' }, null],
    [[], null],
  ])('answers %j with -32600', async (message, id) => {
    const { port } = await startRpcServer();
    expect(await post(port, message)).toEqual(refusal(id, -32600));
  });

  it.each([[[]], ['bar'], [7], [true]])('answers params that are not an object (%j) with -32602', async (params) => {
    const { port } = await startRpcServer();
    expect(await request(port, 'ping', params)).toMatchObject({ id: 1, error: { code: -32602 } });
  });

  it.each([0, 7, -1, 1.5, '7', '', 'déjà', null])('echoes the id %j with its type', async (id) => {
    const { port } = await startRpcServer();
    expect(await post(port, ping(id))).toEqual(pong(id));
  });

  it.each([
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: [] },
    { jsonrpc: '2.0', method: 'notifications/unheard-of', params: {} },
    { jsonrpc: '2.0', method: 'ping', params: 'bar' },
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'no' } },
  ])('accepts %j without an answer: 202 and no body', async (message) => {
    const { port } = await startRpcServer();
    const raw = await send(port, JSON.stringify(message));
    expect({ status: raw.status, body: raw.body }).toEqual({ status: 202, body: '' });
  });

  it('does not run a tool for a call that has no id', async () => {
    const { port, pruner } = await startRpcServer();
    const params = { name: 'prune_text', arguments: pruneArgs() };
    expect((await send(port, JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params }))).status).toBe(202);
    expect(pruner.inputs).toEqual([]);
  });
});

describe('the server with a batch', () => {
  it('answers each request of a mixed batch in order, but no notification', async () => {
    const { port } = await startRpcServer();
    const batch = [
      ping(1),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { foo: 'boo' },
      ping('1'),
      { jsonrpc: '2.0', id: 9, method: 'no/such' },
      { jsonrpc: '2.0', id: 1, result: {} },
      3,
    ];
    expect(await post(port, batch)).toEqual([
      pong(1),
      refusal(null, -32600),
      pong('1'),
      refusal(9, -32601),
      refusal(null, -32600),
    ]);
  });

  it('answers a batch of one with a list of one', async () => {
    const { port } = await startRpcServer();
    expect(await post(port, [ping(1)])).toEqual([pong(1)]);
  });

  it('has no answer for a batch of notifications', async () => {
    const { port } = await startRpcServer();
    const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const raw = await send(port, JSON.stringify([note, note]));
    expect({ status: raw.status, body: raw.body }).toEqual({ status: 202, body: '' });
  });

  it('refuses a batch whose answer would be unreasonably large', async () => {
    const { port } = await startRpcServer();
    expect(await post(port, Array(1001).fill(1))).toEqual(refusal(null, -32600));
  });

  it('runs the first hundred calls, and answers the others with an error and a remedy', async () => {
    const { port } = await startRpcServer();
    const ids = Array.from({ length: 150 }, (_, i) => i);
    const answers = (await post(port, ids.map(ping))) as unknown as readonly Answer[];
    expect(answers.map(({ id }) => id)).toEqual(ids);
    expect(answers.slice(0, 100)).toEqual(ids.slice(0, 100).map(pong));
    for (const { error } of answers.slice(100)) {
      expect(error).toMatchObject({
        code: -32011,
        message: 'batch_too_large',
        data: { code: 'batch_too_large', max_calls: 100 },
      });
      expect(error?.data?.hint).toMatch(/not run.*Send it again by itself/);
    }
  });

  it('runs its calls one at a time', async () => {
    let running = 0;
    let most = 0;
    const slow = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return {};
    };
    const { port } = await startRpcServer({ server: { methods: { slow } } });
    await post(
      port,
      Array.from({ length: 20 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'slow' })),
    );
    expect(most).toBe(1);
  });

  it('stops running calls once their answers together exceed a limit, however short the batch is', async () => {
    let runs = 0;
    const long = () => ({ text: `${++runs}${'é"'.repeat(250_000)}` }); // 500,001 characters, 750,000 in JSON
    const { port } = await startRpcServer({ server: { methods: { long } } });
    const batch = Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'long' }));
    const answers = (await post(port, batch)) as unknown as readonly Answer[];
    expect(answers.flatMap(({ error }) => error?.code ?? 'ran')).toEqual(Array(100).fill('ran', 0, 6).fill(-32011, 6));
    expect(runs).toBe(6);
  });
});

describe('initialize', () => {
  it.each([
    ['2024-11-05', '2024-11-05'],
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['2099-01-01', '2025-11-25'],
    ['', '2025-11-25'],
    [undefined, '2025-11-25'],
    [null, '2025-11-25'],
  ])('answers a client that speaks %s with %s', async (asked, spoken) => {
    const { port } = await startRpcServer();
    const { result } = await request(port, 'initialize', { protocolVersion: asked, capabilities: {} });
    expect(result?.protocolVersion).toBe(spoken);
  });

  it('refuses a protocolVersion that is not a string', async () => {
    const { port } = await startRpcServer();
    const { error } = await request(port, 'initialize', { protocolVersion: 20251125 });
    expect(error).toMatchObject({ code: -32602, message: 'Invalid params: protocolVersion: expected a string' });
  });

  it('explains markers and recovery in four sentences, the tool first', async () => {
    const { port } = await startRpcServer();
    const { result } = await request(port, 'initialize', {});
    expect(String(result?.instructions).match(/\.(?= |$)/g)).toHaveLength(4);
    // some clients cut the instructions after 250 characters
    expect(String(result?.instructions).slice(0, 150)).toMatch(/^recover_text returns lines .*prune_id/);
  });
});

describe('any input', () => {
  it('is answered with well-formed JSON-RPC or with nothing', async () => {
    const server = buildServer(new FakePruner());
    const params = fc.option(fc.oneof(fc.jsonValue(), fc.record({ name: fc.string(), arguments: fc.jsonValue() })), {
      nil: undefined,
    });
    const method = fc.oneof(
      fc.constantFrom('initialize', 'ping', 'tools/list', 'tools/call', 'health'),
      fc.string(),
      fc.jsonValue(),
    );
    const message = fc.record(
      { jsonrpc: fc.constantFrom('2.0', '1.0', 2), id: fc.jsonValue(), method, params },
      { requiredKeys: [] },
    );
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      message.map((m) => JSON.stringify(m)),
      fc.array(message).map((m) => JSON.stringify(m)),
    );
    await fc.assert(
      fc.asyncProperty(text, async (sent) => {
        const reply = await server.connect().receive(sent);
        for (const one of Array.isArray(reply) ? reply : reply === null ? [] : [reply]) {
          expect(one.jsonrpc).toBe('2.0');
          // an integer that no number holds exactly comes back as a bigint
          expect(['string', 'number', 'bigint'].includes(typeof one.id) || one.id === null).toBe(true);
          expect('result' in one !== 'error' in one).toBe(true);
          if ('error' in one) expect(one.error.code).not.toBe(-32603);
        }
      }),
      { numRuns: 500, examples: [['[{"id":-9007199254740992}]'], ['{"id":9007199254740993}']] },
    );
  });
});
