import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { compiled } from '../../../test/helpers/built.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody } from '../../../test/helpers/messages.ts';
import { hasPostgres, sharedDatabase } from '../../../test/helpers/postgres.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { printLine } from '../src/statusline/main.ts';
import { LimitBooks } from './provider.ts';

/** A result that is large enough to be kept. */
const LINES = serverLog(300, 1);

/** Runs the built program with a text on stdin. */
function line(
  args: readonly string[],
  stdin: string,
  env: Record<string, string>,
): Promise<{ code: number; out: string; err: string }> {
  const child = spawn(process.execPath, [compiled('cli.js'), 'statusline', ...args], {
    env: { PATH: process.env.PATH, ...env },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  return new Promise((resolve) => child.on('close', (code) => resolve({ code: code ?? -1, out, err })));
}

describe('mcp-pruner statusline', () => {
  it('prints the figures of the given session, or otherwise of the latest one', async () => {
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
    const shown = await until(async () => {
      const printed = await line([], JSON.stringify({ session_id: 'sess' }), env);
      return printed.out.includes('5h 6%') ? printed : null; // figures follow an answer within a second
    });
    expect(shown).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^ctx 84k(?: of \d+k)? · cache [34]:\d\d · next \$0\.04 · 5h 6% \(this 3\.0\) · week 3%/,
      ),
    });
    const latest = await line(['--latest', '--parts', 'ctx,5h,x'], '', env);
    expect(latest.out).toMatch(/^ctx 84k(?: of \d+k)? · 5h 6% \(this 3\.0\)\n$/);
    expect(latest.err).toBe('--parts: left out x; the parts are ctx, cache, next, seam, 5h, week, saved, compact\n');
    expect((await line([], '{}', env)).out).toMatch(/^5h 6% · week 3%/);
    expect((await line(['--parts', 'ctx'], '{}', env)).out).toBe('mcp-pruner: no figures yet\n');
    expect((await line(['--session', 'other', '--parts', '5h'], '', env)).out).toBe('5h 6%\n');
    await proxy.stop();
    expect(await line([], JSON.stringify({ session_id: 'sess' }), env)).toMatchObject({
      code: 0,
      out: 'mcp-pruner: no proxy answers\n',
    });
    expect(await line(['--unknown'], 'no json', env)).toMatchObject({ code: 0, out: 'mcp-pruner: no proxy answers\n' });
  });
});

const sharedUrl = sharedDatabase();

describe.each([
  { on: 'a file', runs: true, database: async () => ({}) },
  { on: 'PostgreSQL', runs: hasPostgres, database: async () => ({ MCP_PRUNER_DATABASE_URL: await sharedUrl() }) },
])('the hook after a compaction, on $on', ({ runs, database }) => {
  it.skipIf(!runs)('reports how many results of the session can still be searched, and the newest reads', async () => {
    const upstream = await startUpstream((_request, res) =>
      json(res, 200, { id: 'm', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 900 } }),
    );
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_AUTH_TOKEN: 'a-token', ...(await database()) } });
    const ask = async (session: string, ...paths: readonly string[]) => {
      const messages = paths.flatMap((path, i) => [
        { role: 'assistant', content: [{ type: 'tool_use', id: `t${i}`, name: 'Read', input: { file_path: path } }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: `t${i}`, content: `${session} ${path}\n${LINES}` }],
        },
      ]);
      const body = messagesBody([{ role: 'user', content: session }, ...messages], { model: 'claude-opus-4-5' });
      const headers = { 'x-claude-code-session-id': session };
      await (await fetch(`${proxy.url}/v1/messages`, { method: 'POST', headers, body })).text();
    };
    await ask('sess', 'src/old.ts', 'src/new\u001b[31m.ts');
    await ask('other', 'src/other.ts');
    const out: string[] = [];
    const line = async (stdin: object, env: Record<string, string> = {}) => {
      out.length = 0;
      await printLine(
        { searchable: true, session: (stdin as { session_id?: string }).session_id },
        {
          ...{
            platform: 'linux',
            homeDir: tempFolder(),
            cwd: '/',
            nowMs: Date.now,
            out: (text) => out.push(text),
            err: () => {},
          },
          env: { MCP_PRUNER_PORT: String(proxy.port), MCP_PRUNER_AUTH_TOKEN: 'a-token', ...env },
        },
      );
      return out.join('');
    };
    const shown = await until(async () => (await line({ session_id: 'sess' })) || null);
    expect(shown).toMatch(
      /^2 tool results of this session can still be searched, newest reads: src\/new \[31m\.ts, src\/old\.ts; the tool recall finds them\.\n$/,
    );
    expect(await line({ session_id: 'nobody' })).toBe('');
    expect(await line({ session_id: 'sess' }, { MCP_PRUNER_AUTH_TOKEN: 'wrong' })).toBe('');
  });
});

it('the status line loads at most five small files, and no library', () => {
  const loaded = new Map<string, string>();
  const load = (file: string): void => {
    if (loaded.has(file)) return;
    const text = readFileSync(file, 'utf8');
    loaded.set(file, text);
    for (const [, from = ''] of text.matchAll(/(?:^|;)(?:import|export)\b(?:[^"'`;]*from)?\s*["']([^"']+)["']/gm)) {
      if (from.startsWith('.')) load(join(dirname(file), from));
      else expect(['node:fs', 'node:http', 'node:path']).toContain(from);
    }
  };
  const [, entry = ''] =
    /import\(["`](\.\/parts\/main-[^"`]+)["`]\)/.exec(readFileSync(compiled('cli.js'), 'utf8')) ?? [];
  load(join(dirname(compiled('cli.js')), entry));
  expect(loaded.size).toBeGreaterThan(1);
  expect(loaded.size).toBeLessThanOrEqual(5);
  expect([...loaded.values()].join('').length).toBeLessThan(20_000);
});

describe('mcp-pruner setup --hook', () => {
  it.each([
    { agent: 'claude', file: '.claude/settings.json' },
    { agent: 'codex', file: '.codex/hooks.json' },
  ])('adds a hook behind those of $agent, and takes it out again byte for byte', async ({ agent, file }) => {
    const home = tempFolder();
    const path = join(home, file);
    mkdirSync(dirname(path));
    const before = '{"hooks": {"SessionStart": [{"hooks": [{"type":"command", "command": "mine"}]}] }}\r\n';
    writeFileSync(path, before);
    const setup = (...args: string[]) =>
      run(['setup', agent, '--hook', ...args], {
        homeDir: home,
        env: { MCP_PRUNER_PORT: '1', JEEVES_MCP_PRUNER_PATH: compiled('index.js') },
      });
    expect(await setup('--write')).toMatchObject({ code: 0, err: '' });
    const { hooks } = JSON.parse(readFileSync(path, 'utf8')) as { hooks: { SessionStart: readonly object[] } };
    expect(hooks.SessionStart).toEqual([
      { hooks: [{ type: 'command', command: 'mine' }] },
      {
        matcher: 'compact',
        hooks: [
          {
            type: 'command',
            command: expect.stringMatching(/^\/\S+ \S+cli\.js statusline --searchable --url http:\/\/127\.0\.0\.1:1$/),
            timeout: 10,
          },
        ],
      },
    ]);
    expect((await setup('--write')).out).toContain('set already');
    await setup('--undo');
    expect(readFileSync(path, 'utf8')).toBe(before);
    expect(readdirSync(dirname(path))).toEqual([file.split('/').at(-1)]);
  });

  it('is undone without removing a later hook of the user, and is replaced if the address changes', async () => {
    const home = tempFolder();
    const path = join(home, '.claude/settings.json');
    const setup = (port: string, ...args: string[]) =>
      run(['setup', 'claude', '--hook', ...args], {
        homeDir: home,
        env: { MCP_PRUNER_PORT: port, JEEVES_MCP_PRUNER_PATH: compiled('index.js') },
      });
    const hooks = () =>
      (JSON.parse(readFileSync(path, 'utf8')) as { hooks?: { SessionStart: readonly object[] } }).hooks?.SessionStart;
    await setup('1', '--write');
    const later = { hooks: [{ type: 'command', command: 'later' }] };
    const [own] = hooks() ?? [];
    writeFileSync(path, JSON.stringify({ hooks: { SessionStart: [own, later] } }, null, 2));
    await setup('2', '--write');
    expect(JSON.stringify(hooks()).match(/--url [^"]+/g)).toEqual(['--url http://127.0.0.1:2']);
    expect(hooks()).toContainEqual(later);
    await setup('2', '--undo');
    expect(hooks()).toEqual([later]);
  });

  it('adds no second hook if the plugin, which has its own hook, is enabled', async () => {
    const home = tempFolder();
    const path = join(home, '.claude/settings.json');
    mkdirSync(dirname(path));
    const before = JSON.stringify({ enabledPlugins: { 'mcp-pruner@mcp-pruner': true } });
    writeFileSync(path, before);
    const setting = { homeDir: home, env: { JEEVES_MCP_PRUNER_PATH: compiled('index.js') } };
    const { code, out } = await run(['setup', 'claude', '--hook', '--write'], setting);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('plugin mcp-pruner is on') });
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  it('is refused for an agent that does not support hooks', async () => {
    expect(await run(['setup', 'gemini', '--hook'], {})).toMatchObject({ code: 2, out: '' });
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

  it('sets only the status line, and --undo restores the file byte for byte', async () => {
    const before = '{\n\t"model": "opus",\r\n  "env": {"A": 1.0}\n}';
    const { folder, setup, text } = machine(before);
    expect(await setup('--write')).toMatchObject({ code: 0, err: '' });
    expect(lineIn(text())).toMatchObject({
      type: 'command',
      command: expect.stringMatching(/^\/\S+ \S+cli\.js statusline --url http:\/\/127\.0\.0\.1:1$/),
    });
    expect(lineIn(text())).toHaveProperty('refreshInterval', 10);
    expect(JSON.parse(text()).env).toEqual({ A: 1 });
    expect(lineIn(text())?.command).not.toContain('npx');
    expect((await setup('--write')).out).toContain('set already');
    expect(await setup('--undo')).toMatchObject({ code: 0 });
    expect(text()).toBe(before);
    expect(readdirSync(folder)).toEqual(['settings.json']);
  });

  it('creates a missing settings file, and --undo removes it', async () => {
    const { file, setup } = machine(null);
    await setup('--write');
    expect(existsSync(file)).toBe(true);
    await setup('--undo');
    expect(existsSync(file)).toBe(false);
  });

  it('keeps an existing status line, and adds its own after it with --append', async () => {
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

  it('is undone alone with --statusline, and with everything else without it', async () => {
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
    expect(text()).toBe(before);
    expect(readdirSync(folder)).toEqual(['settings.json']);
  });
});
