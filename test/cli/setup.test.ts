import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startHttp } from '../../src/app/http.ts';
import { checkNode } from '../../src/cli/doctor.ts';
import { loadSettings } from '../../src/config/load.ts';
import { createLog } from '../../src/observe/log.ts';
import { type Ran, run as runCommand } from './fake-io.ts';

let root: string;
let upstream: Server;
let upstreamUrl: string;
let made = 0;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'mcp-pruner-setup-'));
  upstream = createServer((_req, res) => void res.end('{}'));
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
});

afterAll(() => {
  upstream.closeAllConnections();
  upstream.close();
  rmSync(root, { recursive: true });
});

interface Machine {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A home of its own, on a machine where no proxy runs. */
function machine(): Machine {
  const home = join(root, String(made++));
  mkdirSync(home);
  return { home, env: { MCP_PRUNER_UPSTREAM_URL: upstreamUrl, MCP_PRUNER_PORT: '1' } };
}

function run({ home, env }: Machine, args: readonly string[], more: Record<string, string> = {}): Promise<Ran> {
  return runCommand(args, { env: { ...env, ...more }, homeDir: home, cwd: home });
}

describe('mcp-pruner setup', () => {
  it('prints without touching anything', async () => {
    const at = machine();
    const { code, out } = await run(at, ['setup', 'qwen']);
    expect(code).toBe(0);
    expect(out).toContain(`# in ${at.home}/.qwen/settings.json`);
    expect(out).toContain('http://127.0.0.1:1/v1');
    expect(out).toContain('http://127.0.0.1:1/rpc');
    expect(existsSync(join(at.home, '.qwen'))).toBe(false);
  });

  it('writes, keeps the file as it was, and takes it back', async () => {
    const at = machine();
    const file = join(at.home, '.codex/config.toml');
    mkdirSync(join(at.home, '.codex'));
    writeFileSync(file, 'model = "mine"\n');
    expect(await run(at, ['setup', 'codex', '--write'])).toMatchObject({ code: 0, err: '' });
    expect(readFileSync(file, 'utf8')).toMatch(/^model = "mine"\n[\s\S]*\[mcp_servers\.pruner\]/);
    expect(await run(at, ['setup', 'codex', '--undo'])).toMatchObject({ code: 0, out: `${file}: restored\n` });
    expect(readFileSync(file, 'utf8')).toBe('model = "mine"\n');
    expect(readdirSync(join(at.home, '.codex'))).toEqual(['config.toml']);
  });

  it('writes no token: with one, agents start the server themselves', async () => {
    const at = machine();
    const { out } = await run(at, ['setup', 'qwen'], { MCP_PRUNER_AUTH_TOKEN: 'a-very-secret-token' });
    expect(out).toContain('"stdio"');
    expect(out).not.toContain('a-very-secret-token');
  });

  it.each([
    [['setup', 'emacs'], 2, /is not one of claude, codex/],
    [['setup', 'opencode'], 2, /--model/],
    [['setup', 'codex', '--write', '--undo'], 2, /exclude/],
    [['setup', 'codex', '--mcp', 'pigeon'], 2, /--mcp/],
  ])('%j is refused in one line', async (args, code, err) => {
    expect(await run(machine(), args)).toMatchObject({ code, out: '', err: expect.stringMatching(err) });
  });

  it('leaves a file that it cannot read', async () => {
    const at = machine();
    writeFileSync(join(at.home, '.claude.json'), '{ // mine\n}');
    const { code, err } = await run(at, ['setup', 'claude', '--write']);
    expect(code).toBe(1);
    expect(err).toMatch(/^mcp-pruner: [^\n]*\.claude\.json is not plain JSON[^\n]*\n$/);
  });
});

describe('mcp-pruner doctor', () => {
  it('finds nothing broken on a machine where nothing runs yet, and says what to do', async () => {
    const { code, out } = await run(machine(), ['doctor']);
    expect(code).toBe(0);
    expect(out).toMatch(/note {2}no proxy runs[^\n]*\n {6}start it: mcp-pruner serve\n/);
    expect(out).toMatch(/ok {4}the upstream/);
    expect(out).toMatch(/ok {4}the store .* will be made/);
    expect(out).toMatch(/note {2}no agent is set up/);
  });

  it.each([
    ['a wrong setting', { MCP_PRUNER_PORT: 'x' }, /FAIL {2}MCP_PRUNER_PORT/],
    ['an open door', { MCP_PRUNER_HOST: '0.0.0.0' }, /FAIL {2}host 0\.0\.0\.0/],
    ['a store that cannot be made', { MCP_PRUNER_DB_PATH: '/etc/hostname/x/store.db' }, /FAIL {2}the store/],
  ])('finds %s, with exit code 1', async (_, env, line) => {
    const { code, out } = await run(machine(), ['doctor'], env);
    expect(code).toBe(1);
    expect(out).toMatch(line);
  });

  it('finds an upstream that does not listen, with exit code 1', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as AddressInfo;
    gone.close();
    await once(gone, 'close');
    const { code, out } = await run(machine(), ['doctor'], { MCP_PRUNER_UPSTREAM_URL: `http://127.0.0.1:${port}/v1` });
    expect(code).toBe(1);
    expect(out).toMatch(/FAIL {2}the upstream .*ECONNREFUSED/);
  });

  it('finds a port that another program has, a broken store, and an agent that was set up for another port', async () => {
    const at = machine();
    await run(at, ['setup', 'qwen', '--write'], { MCP_PRUNER_PORT: '2' });
    const store = join(at.home, 'store.db');
    writeFileSync(store, 'not a database, but long enough to look like one '.repeat(100));
    const { code, out } = await run(at, ['doctor', '--json'], {
      MCP_PRUNER_PORT: new URL(upstreamUrl).port,
      MCP_PRUNER_DB_PATH: store,
    });
    expect(code).toBe(1);
    const failures = (JSON.parse(out) as { level: string; what: string }[]).filter(({ level }) => level === 'failure');
    expect(failures.map(({ what }) => what)).toEqual([
      expect.stringMatching(/another program answers/),
      expect.stringMatching(/the store .* is of no use/),
      expect.stringMatching(/Qwen Code is set up for http:\/\/127\.0\.0\.1:2, not/),
    ]);
  });

  it('knows the proxy that runs, its store and the agents that are set up for it', async () => {
    const at = machine();
    const place = { platform: 'linux', homeDir: at.home, cwd: at.home, readFile: () => '' } as const;
    const { settings } = loadSettings({ ...place, env: { ...at.env, MCP_PRUNER_PORT: '0' } });
    const app = await startHttp(settings, {
      log: await createLog({ level: 'silent', fd: 2, pretty: false }),
      version: '1',
    });
    onTestFinished(() => app.close());
    const { port } = new URL(app.url);
    const env = { MCP_PRUNER_PORT: port, OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` };
    await run(at, ['setup', 'qwen', '--write'], env);
    const { code, out } = await run(at, ['doctor'], env);
    expect(out).not.toMatch(/FAIL|note/);
    expect(code).toBe(0);
    expect(out).toMatch(/the proxy answers[\s\S]*holds 0 prunes[\s\S]*Qwen Code is set up[\s\S]*OPENAI_BASE_URL leads/);
  });

  it.each([
    ['20.18.0', 'failure'],
    ['18.20.4', 'failure'],
    ['20.18.1', 'ok'],
    ['20.19.0', 'ok'],
    ['24.0.0', 'ok'],
  ])('judges Node %s: %s', (version, level) => {
    expect(checkNode(version)).toMatchObject({ level });
  });
});
