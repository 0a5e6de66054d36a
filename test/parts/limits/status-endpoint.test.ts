import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../../cli/fake-io.ts';
import { tempFolder } from '../../helpers/afterwards.ts';
import { compiled } from '../../helpers/built.ts';
import { json, startUpstream } from '../../helpers/fake-upstream.ts';
import { messagesBody } from '../../helpers/messages.ts';
import { startProxy } from '../../helpers/proxy.ts';
import { LimitBooks } from './provider.ts';

/** Runs the built program with a text on stdin. */
function line(
  args: readonly string[],
  stdin: string,
  env: Record<string, string>,
): Promise<{ code: number; out: string }> {
  const child = spawn(process.execPath, [compiled('cli.js'), 'statusline', ...args], {
    env: { PATH: process.env.PATH, ...env },
  });
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  return new Promise((resolve) => child.on('close', (code) => resolve({ code: code ?? -1, out })));
}

describe('mcp-pruner statusline', () => {
  it('prints what the proxy knows of the session, and of the latest one', async () => {
    const books = new LimitBooks(Date.now());
    const usage = {
      input_tokens: 10,
      cache_creation_input_tokens: 2_000,
      cache_read_input_tokens: 82_000,
      output_tokens: 20,
    };
    const upstream = await startUpstream((_request, res) => {
      const body = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-4-5', usage };
      json(res, 200, { ...body, content: [{ type: 'text', text: 'Done.' }] }, books.anthropic());
    });
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_AUTH_TOKEN: 'a-token' } });
    for (const words of ['one', 'two']) {
      books.use(3);
      const headers = {
        authorization: 'Bearer sk-ant-oat01-x',
        'x-claude-code-session-id': 'sess',
        'user-agent': 'claude-cli/2.1.332',
      };
      const body = messagesBody([{ role: 'user', content: words }], { model: 'claude-opus-4-5' });
      await (await fetch(`${proxy.url}/v1/messages`, { method: 'POST', headers, body })).text();
    }
    const env = { MCP_PRUNER_PORT: String(proxy.port), MCP_PRUNER_AUTH_TOKEN: 'a-token', HOME: tempFolder() };
    expect((await fetch(`${proxy.url}/statusline`)).status).toBe(401);
    const shown = await line([], JSON.stringify({ session_id: 'sess' }), env);
    expect(shown).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^ctx 84k(?: of \d+k)? · cache [34]:\d\d · next \$0\.04 · 5h 6% \(this 3\.0\) · week 3%/,
      ),
    });
    expect((await line(['--latest', '--parts', 'ctx,5h,x'], '', env)).out).toMatch(
      /^ctx 84k(?: of \d+k)? · 5h 6% \(this 3\.0\)\n$/,
    );
    expect((await line(['--session', 'other', '--parts', '5h'], '', env)).out).toBe('5h 6%\n');
    await proxy.stop();
    expect(await line([], JSON.stringify({ session_id: 'sess' }), env)).toEqual({
      code: 0,
      out: 'mcp-pruner: no proxy answers\n',
    });
    expect(await line(['--unknown'], 'no json', env)).toEqual({ code: 0, out: 'mcp-pruner: no proxy answers\n' });
  });
});

describe('mcp-pruner setup claude --statusline', () => {
  function machine(settings: string | null) {
    const home = tempFolder();
    const folder = join(home, '.claude');
    mkdirSync(folder);
    const file = join(folder, 'settings.json');
    if (settings !== null) writeFileSync(file, settings);
    const setup = (...args: string[]) =>
      run(['setup', 'claude', '--statusline', ...args], {
        homeDir: home,
        env: { MCP_PRUNER_PORT: '1', JEEVES_MCP_PRUNER_PATH: compiled('index.js') },
      });
    return { folder, file, setup, home, text: () => readFileSync(file, 'utf8') };
  }
  const lineIn = (text: string) => (JSON.parse(text) as { statusLine?: { type: string; command: string } }).statusLine;

  it('sets the status line only, and takes it out again byte for byte', async () => {
    const before = '{\n\t"model": "opus",\r\n  "env": {"A": 1.0}\n}';
    const { folder, setup, text } = machine(before);
    expect(await setup('--write')).toMatchObject({ code: 0, err: '' });
    expect(lineIn(text())).toMatchObject({
      type: 'command',
      command: expect.stringMatching(/^\/\S+ \S+cli\.js statusline --url http:\/\/127\.0\.0\.1:1$/),
    });
    expect(JSON.parse(text()).env).toEqual({ A: 1 });
    expect(lineIn(text())?.command).not.toContain('npx');
    expect((await setup('--write')).out).toContain('set already');
    expect(await setup('--undo')).toMatchObject({ code: 0 });
    expect(text()).toBe(before);
    expect(readdirSync(folder)).toEqual(['settings.json']);
  });

  it('makes a file where there is none, and removes it again', async () => {
    const { file, setup } = machine(null);
    await setup('--write');
    expect(existsSync(file)).toBe(true);
    await setup('--undo');
    expect(existsSync(file)).toBe(false);
  });

  it('keeps an existing status line, and goes behind it with --append', async () => {
    const before =
      '{"statusLine": {"type": "command", "command": "cat >/dev/null; echo mine # really", "padding": 0}}\n';
    const { setup, text } = machine(before);
    const kept = await setup('--write');
    expect(kept).toMatchObject({ code: 0, err: '' });
    expect(kept.out).toMatch(/^.*--append.*\n$/);
    expect(text()).toBe(before);
    await setup('--append', '--write');
    const { command = '' } = lineIn(text()) ?? {};
    expect(lineIn(text())).toMatchObject({ padding: 0 });
    const child = spawn('/bin/sh', ['-c', command], { env: { PATH: process.env.PATH, HOME: tempFolder() } });
    let out = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stdin.end('{"context_window":{"current_usage":{"input_tokens":2000}}}');
    await new Promise((resolve) => child.on('close', resolve));
    expect(out).toBe('mine · ctx 2k\n');
    await setup('--undo');
    expect(text()).toBe(before);
  });

  it('is undone apart from the set-up of the proxy, in either order', async () => {
    const before = '{\n  "model": "opus"\n}\n';
    const { home, setup, text, folder } = machine(before);
    const proxy = (...args: string[]) =>
      run(['setup', 'claude', '--mcp', 'none', ...args], {
        homeDir: home,
        env: { MCP_PRUNER_PORT: '1', JEEVES_MCP_PRUNER_PATH: compiled('index.js') },
      });
    await proxy('--write');
    const wired = text();
    await setup('--write');
    await setup('--undo');
    expect(text()).toBe(wired);
    await setup('--write');
    await proxy('--undo');
    expect(JSON.parse(text())).toEqual({ model: 'opus', statusLine: expect.anything() });
    await setup('--undo');
    expect(text()).toBe(before);
    expect(readdirSync(folder)).toEqual(['settings.json']);
  });
});
