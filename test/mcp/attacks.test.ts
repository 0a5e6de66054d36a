import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { errorTable } from '../../src/errors/errors.ts';
import { pruneArgs, send, startRpcServer } from './helpers/rpc-server.ts';

const HEALTH = { jsonrpc: '2.0', id: 'h', method: 'health' };

function post(url: URL, body: string | Uint8Array<ArrayBuffer>): Promise<Response> {
  return fetch(url, { method: 'POST', body });
}

/** More than the buffers of a socket hold: Linux lets them grow to some megabytes, as it finds the way to be. */
const LARGE = 20_000_000;

/** A call whose answer nobody reads: the socket takes what its buffers hold. */
async function callUnread(port: number, body: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.pause();
  socket.write(`POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
}

describe('clients of /rpc that do not read their answers', () => {
  it('occupy a bounded amount of memory together', async () => {
    const large = 'x'.repeat(LARGE);
    let calls = 0;
    const methods = {
      large: () => {
        calls++;
        return { large };
      },
    };
    const { port, url } = await startRpcServer({ maxUnreadBytes: 2.5 * LARGE, server: { methods } });
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'large' });
    for (let i = 0; i < 2; i++) await callUnread(port, body);
    await expect.poll(() => calls).toBe(2);
    const refused = (await (await post(url, body)).json()) as { error: { code: number; message: string } };
    expect(refused.error).toMatchObject({ code: errorTable.answers_not_read.rpc, message: 'answers_not_read' });
    // what is small is answered as ever
    expect(await (await post(url, JSON.stringify(HEALTH))).json()).toHaveProperty('result');
  });

  it('free the memory when their requests end', async () => {
    const methods = { large: () => ({ large: 'x'.repeat(4_000_000) }) };
    const { url } = await startRpcServer({ maxUnreadBytes: 5_000_000, server: { methods } });
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'large' });
    for (let i = 0; i < 4; i++) expect((await (await post(url, body)).text()).length).toBeGreaterThan(4_000_000);
  });
});

describe('clients of /rpc that send slowly', () => {
  it('use a bounded amount of memory together, while others continue', async () => {
    const { port, url, bytesRead } = await startRpcServer({ maxUploadBytes: 3_000_000 });
    const body = JSON.stringify({ ...HEALTH, params: { pad: 'x'.repeat(2_000_000) } });
    const first = connect(port, '127.0.0.1');
    onTestFinished(() => void first.destroy());
    await once(first, 'connect');
    first.write(`POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`);
    first.write(body.slice(0, 1_900_000));
    await expect.poll(bytesRead).toBeGreaterThan(1_900_000); // who comes last is refused
    const small = () => post(url, JSON.stringify(HEALTH));
    await expect.poll(async () => (await post(url, body).catch(() => null))?.status).not.toBe(200);
    expect((await small()).status).toBe(200);
    first.write(body.slice(1_900_000));
    const [head] = (await once(first, 'data')) as [Buffer];
    expect(head.toString('latin1')).toMatch(/^HTTP\/1\.1 200 /);
    await expect.poll(async () => (await post(url, body).catch(() => null))?.status).toBe(200);
  });
});

describe('a body that would take far more memory when parsed', () => {
  const call = (args: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"prune_text","arguments":${args}}}`;

  it.each([
    ['a batch of empty objects', `[${Array(400_000).fill('{}').join(',')}]`],
    ['lists inside lists', `${'['.repeat(600_000)}${']'.repeat(600_000)}`],
    ['half of it', '[{},'.repeat(300_000)],
    ['arguments with empty objects', call(`{"text":[${Array(600_000).fill('{}').join(',')}]}`)],
    ['arguments with many keys', call(`{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":1`).join(',')}}`)],
  ])('is refused before it is parsed: %s', async (_what, body) => {
    const { url } = await startRpcServer();
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parse.mockRestore());
    const answer = await (await post(url, body)).text();
    const parsed = parse.mock.calls.map(([text]) => String(text)).filter((text) => body.includes(text));
    expect(Math.max(0, ...parsed.map(({ length }) => length))).toBeLessThan(1_000);
    expect(JSON.parse(answer)).toMatchObject({ id: null, error: { code: -32600 } });
  });

  it('is parsed if its brackets are only inside a text', async () => {
    const { url, pruner } = await startRpcServer();
    const text = '[{},"\\'.repeat(200_000);
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'prune_text', arguments: pruneArgs({ text }) },
    });
    expect(await (await post(url, body)).json()).toHaveProperty('result');
    expect(pruner.inputs[0]?.text).toBe(text);
  });
});

describe('bodies in memory while they are processed', () => {
  it('are counted at their decompressed size', async () => {
    const release: (() => void)[] = [];
    const methods = { wait: () => new Promise<object>((resolve) => release.push(() => resolve({}))) };
    const { port } = await startRpcServer({ maxUploadBytes: 3_000_000, server: { methods } });
    const packed = gzipSync(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'wait', params: { pad: 'x'.repeat(2_000_000) } }),
    );
    const ask = () => send(port, packed, { headers: { 'content-encoding': 'gzip' } });
    const first = ask();
    await expect.poll(() => release.length).toBe(1);
    expect(JSON.parse((await ask()).body)).toMatchObject({ error: { code: errorTable.too_many_uploads.rpc } });
    // a small call, such as recover_text, has room at any time
    expect(JSON.parse((await send(port, JSON.stringify(HEALTH))).body)).toHaveProperty('result');
    release[0]?.();
    expect((await first).status).toBe(200);
    const third = ask();
    await expect.poll(() => release.length).toBe(2);
    release[1]?.();
    expect((await third).status).toBe(200);
  });
});

it('deeply nested parameters are refused with their field, whatever the method', async () => {
  const { url } = await startRpcServer();
  const params = `{"a":${'['.repeat(600)}${']'.repeat(600)}}`;
  const answer = await (await post(url, `{"jsonrpc":"2.0","id":"h","method":"health","params":${params}}`)).json();
  expect(answer).toMatchObject({ id: 'h', error: { code: -32602, data: { issues: [{ field: 'params' }] } } });
});

describe('input that is not a message', () => {
  const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const call = (args: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"prune_text","arguments":${args}}}`;

  it.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['nothing', ''],
    ['half a message', '{"jsonrpc":"2.0","id":1,"meth'],
    ['bytes that are no UTF-8', new Uint8Array([0x7b, 0xff, 0xfe, 0x7d])],
    ['arrays in arrays', deep(200_000)],
    ['objects in objects', `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`],
    ['arguments a hundred thousand levels deep', call(deep(100_000))],
    ['an option a hundred thousand levels deep', call(`{"text":"a","goal_hint":"b","options":${deep(100_000)}}`)],
    ['a hundred thousand unknown arguments', call(`{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`)}}`)],
    ['a name of a megabyte', JSON.stringify({ ...HEALTH, method: 'm'.repeat(1_000_000) })],
    ['an id that is a list', JSON.stringify({ ...HEALTH, id: [[[]]] })],
    ['a hundred thousand messages at once', `[${Array(100_000).fill('1').join(',')}]`],
    ['__proto__ for arguments', call('{"__proto__":{"text":"a"},"constructor":1}')],
  ])('is answered with an error, and the next call with its result: %s', async (_what, body) => {
    const { url, faults } = await startRpcServer();
    const answer = await post(url, body);
    const text = await answer.text();
    expect(text.length).toBeLessThan(100_000);
    expect([200, 400]).toContain(answer.status);
    expect(text).toContain('"error"');
    expect(await (await post(url, JSON.stringify(HEALTH))).json()).toHaveProperty('result');
    expect(faults).toEqual([]);
  });
});
