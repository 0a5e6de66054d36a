import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalClient } from './helpers/client.ts';
import { bytes, FakeSwePruner, json, type Reaction } from './helpers/fake-pruner.ts';
import { soon } from './helpers/soon.ts';

const pruner = new FakeSwePruner();
const PRUNED = 'pruned!';
let url: string;
let folder: string;
let server: LocalClient;

/** A server of its own, for settings that the shared one does not have. */
const startServer = (env: Record<string, string> = {}, keep = false) =>
  new LocalClient({ env: { PRUNER_URL: url, MCP_PRUNER_CWD: folder, ...env }, keep });

beforeAll(async () => {
  url = await pruner.start();
  folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-focus-'));
  writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n');
  writeFileSync(join(folder, 'empty.txt'), '');
  server = startServer({}, true);
});

afterAll(async () => {
  await server.close();
  await pruner.close();
  rmSync(folder, { recursive: true });
});

const question = { context_focus_question: 'why?' };

describe('the request to the pruner', () => {
  it('is one POST request that contains only code and query', async () => {
    pruner.will(json({ pruned_code: PRUNED }));
    expect(await server.call('read', { file_path: 'a.txt', ...question })).toBe(PRUNED);
    expect(pruner.asked).toEqual([
      {
        method: 'POST',
        path: '/prune',
        headers: expect.objectContaining({ 'content-type': 'application/json' }),
        body: JSON.stringify({ code: 'one\ntwo\n', query: 'why?' }),
      },
    ]);
  });

  it.each([
    ['MCP_PRUNER_AUTH_TOKEN', 'localhost', 'Bearer the-token-of-the-server'],
    ['PRUNER_TOKEN', '127.0.0.1', 'Bearer the-token-of-the-server'],
  ])('carries the token of %s to this machine under any loopback name', async (variable, host, expected) => {
    pruner.will(json({ pruned_code: PRUNED }));
    const own = startServer({ PRUNER_URL: url.replace('127.0.0.1', host), [variable]: 'the-token-of-the-server' });
    expect(await own.call('read', { file_path: 'a.txt', ...question })).toBe(PRUNED);
    expect(pruner.asked[0]?.headers.authorization).toBe(expected);
  });

  it('contains the question unchanged', async () => {
    pruner.will(json({ pruned_code: PRUNED }));
    for (const query of [' \n padded\t', ' ', '"quoted" \\ é 😀 \u0000', 'x'.repeat(100_000)]) {
      await server.call('read', { file_path: 'a.txt', context_focus_question: query });
      expect(JSON.parse(pruner.asked.at(-1)?.body ?? '')).toEqual({ code: 'one\ntwo\n', query });
    }
  });

  it.each([
    ['read', { file_path: 'a.txt' }, 'one\ntwo\n'],
    ['read', { file_path: 'empty.txt' }, ''],
    ['bash', { command: 'echo out' }, 'out\n'],
    ['bash', { command: 'printf out; printf err >&2; exit 4' }, 'out\n[stderr]\nerr\n[exit code: 4]'],
    ['bash', { command: 'exit 1' }, '\n[exit code: 1]'],
    ['grep', { pattern: 'two', path: 'a.txt' }, '2:two\n'],
  ])('is the output of %s %j', async (name, args, code) => {
    pruner.will(json({ pruned_code: PRUNED }));
    expect(await server.call(name, { ...args, ...question })).toBe(PRUNED);
    expect(JSON.parse(pruner.asked[0]?.body ?? '')).toEqual({ code, query: 'why?' });
  });
});

describe('the pruner is not called', () => {
  it.each([
    ['read', { file_path: 'missing' }, /^Error reading file: /],
    ['bash', { command: 'true' }, /^\(no output\)$/],
    ['bash', { command: 'a\u0000b' }, /^Error executing command: /],
    ['grep', { pattern: 'three' }, /^\(no matches found\)$/],
    ['grep', { pattern: 'two', path: 'missing' }, /^Error: grep: /],
    ['grep', { pattern: 'a\u0000b' }, /^Error executing grep: /],
  ])('for %s %j', async (name, args, text) => {
    pruner.will(json({ pruned_code: PRUNED }));
    expect(await server.call(name, { ...args, ...question })).toMatch(text);
    expect(pruner.asked).toEqual([]);
  });

  it('without a question, or with an empty one', async () => {
    pruner.will(json({ pruned_code: PRUNED }));
    expect(await server.call('read', { file_path: 'a.txt' })).toBe('one\ntwo\n');
    expect(await server.call('read', { file_path: 'a.txt', context_focus_question: '' })).toBe('one\ntwo\n');
    expect(pruner.asked).toEqual([]);
  });

  it('when PRUNER_URL is empty', async () => {
    pruner.will(json({ pruned_code: PRUNED }));
    const off = startServer({ PRUNER_URL: '' });
    expect(await off.call('read', { file_path: 'a.txt', ...question })).toBe('one\ntwo\n');
    expect(pruner.asked).toEqual([]);
    expect(off.stderr).not.toContain('warning');
  });
});

describe('an answer from the pruner', () => {
  it.each([
    [{ pruned_code: 'a', content: 'b', text: 'c' }, 'a'],
    [{ text: 'c', content: 'b' }, 'b'],
    [{ text: 'c', score: 1 }, 'c'],
    [{ pruned_code: 7, content: null, text: 'c' }, 'c'],
    [{ pruned_code: '' }, ''],
    [{ pruned_code: '', content: 'b' }, ''],
    [{ pruned_code: 'é😀\n\u0000' }, 'é😀\n\u0000'],
  ])('%j replaces the output by %j', async (answer, text) => {
    pruner.will(json(answer));
    expect(await server.call('read', { file_path: 'a.txt', ...question })).toBe(text);
  });

  it.each([201, 202, 206, 299])('is also accepted with status %i', async (status) => {
    pruner.will(json({ pruned_code: PRUNED }, status));
    expect(await server.call('read', { file_path: 'a.txt', ...question })).toBe(PRUNED);
  });

  const failures: readonly [string, Reaction, RegExp][] = [
    [
      'status 401',
      bytes('', 401),
      /status: 401: the service requires a token.*set PRUNER_TOKEN or MCP_PRUNER_AUTH_TOKEN/,
    ],
    ['status 403', bytes('', 403), /status: 403: .*MCP_PRUNER_ALLOWED_HOSTS/],
    ['status 400', json({ pruned_code: PRUNED }, 400), /status: 400/],
    ['status 404', json({ pruned_code: PRUNED }, 404), /status: 404/],
    ['status 500', bytes('oops', 500), /status: 500/],
    ['status 503 and no end', (res) => void res.writeHead(503).write('x'), /status: 503/],
    ['a redirect', (res) => res.writeHead(307, { location: url }).end(), /status: 307/],
    ['no content', (res) => res.writeHead(204).end(), /not_json/],
    ['no JSON', bytes('<html>'), /not_json/],
    ['half of a JSON text', bytes('{"pruned_code":"x'), /not_json/],
    ['an empty body', bytes(''), /not_json/],
    ['no known field', json({ result: 'x' }), /wrong_shape: no pruned_code/],
    ['fields that are no strings', json({ pruned_code: 1, content: ['x'], text: {} }), /wrong_shape/],
    ['a list', json(['x']), /wrong_shape/],
    ['a bare string', json('x'), /wrong_shape/],
    ['null', json(null), /wrong_shape/],
    ['a connection that breaks at once', (res) => res.destroy(), /unreachable/],
    [
      'a connection that breaks in the body',
      (res) => {
        res.writeHead(200, { 'content-length': '100' }).write('{"pruned_code":');
        setTimeout(() => res.destroy(), 20);
      },
      /unreachable/,
    ],
  ];
  it.each(failures)('that is %s leaves the output whole, with the reason on stderr', async (_, reaction, why) => {
    pruner.will(reaction);
    const before = server.stderr.length;
    expect(await server.call('bash', { command: 'echo out; exit 2', ...question })).toBe('out\n\n[exit code: 2]');
    await soon(() => server.stderr.slice(before)).toMatch(why);
  });

  it.each([
    ['does not begin', () => {}],
    ['does not end', (res) => void res.writeHead(200).write('{')],
  ] as readonly [string, Reaction][])('that %s in time leaves the output whole', async (_, reaction) => {
    pruner.will(reaction);
    const hasty = startServer({ PRUNER_TIMEOUT_MS: '100' });
    expect(await hasty.call('read', { file_path: 'a.txt', ...question })).toBe('one\ntwo\n');
    await soon(() => hasty.stderr).toMatch(/: timeout$/m);
    expect(hasty.stderr).not.toContain('warning');
  });
});

describe('a pruner address', () => {
  it('without a listener leaves the output whole', async () => {
    const gone = new FakeSwePruner();
    const address = await gone.start();
    await gone.close();
    const alone = startServer({ PRUNER_URL: address });
    expect(await alone.call('read', { file_path: 'a.txt', ...question })).toBe('one\ntwo\n');
    await soon(() => alone.stderr).toMatch(/unreachable: econnrefused/);
  });

  it.each(['not an address', 'ftp://127.0.0.1/x', 'http://user:hunter2@127.0.0.1:1/'])(
    'that is unusable (%s) leaves the output whole, and is not repeated on stderr',
    async (address) => {
      const odd = startServer({ PRUNER_URL: address });
      expect(await odd.call('read', { file_path: 'a.txt', ...question })).toBe('one\ntwo\n');
      await soon(() => odd.stderr).toMatch(/pruning failed, returning the whole output/);
      expect(odd.stderr).not.toContain('hunter2');
    },
  );
});

describe('stderr', () => {
  it('contains reports of failures, but never the texts', async () => {
    pruner.will(bytes('', 500));
    const client = startServer();
    await client.call('bash', { command: 'echo secret-output', context_focus_question: 'secret question' });
    await client.call('read', { file_path: 'a.txt' });
    await soon(() => client.stderr).toMatch(/read done/);
    expect(client.stderr).not.toMatch(/secret|two/);
    for (const line of client.stderr.trimEnd().split('\n')) expect(line).toMatch(/^mcp-pruner: /);
  });
});
