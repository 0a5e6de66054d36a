import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { startHttp } from 'mcp-pruner/app/serve.ts';
import { openStore } from 'mcp-pruner/app/store.ts';
import { loadSettings } from 'mcp-pruner/config/load.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { createLog } from 'mcp-pruner/observe/log.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { fakeIo, type Ran, run as runCommand } from '../../../test/cli/fake-io.ts';
import { compiled } from '../../../test/helpers/built.ts';
import { projectRoot } from '../../../test/helpers/project-files.ts';
import { checkNode, examine } from '../src/doctor/doctor.ts';

let root: string;
let upstream: Server;
let upstreamUrl: string;
let made = 0;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'mcp-pruner-setup-'));
  upstream = createServer((_req, res) => void res.end('{}'));
  upstream.keepAliveTimeout = 0; // the process of the tests keeps connections, unlike the program
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

/** Environment with an installed program, which hooks and status lines name. */
function installed(): Record<string, string> {
  return { JEEVES_MCP_PRUNER_PATH: compiled('index.js') };
}

/** Starts a proxy for a home. @returns the environment in which the command line finds it */
async function running(at: Machine, more: Record<string, string> = {}): Promise<Record<string, string>> {
  const place = { platform: 'linux', homeDir: at.home, cwd: at.home, readFile: () => '' } as const;
  const { settings } = loadSettings({
    table: edition.settings,
    ...place,
    env: { ...at.env, ...more, MCP_PRUNER_PORT: '0' },
  });
  const log = createLog({ level: 'silent', fd: 2 });
  const app = await startHttp(settings, { edition, log, version: '1' });
  onTestFinished(() => app.close());
  return { MCP_PRUNER_PORT: new URL(app.url).port };
}

describe('mcp-pruner setup', () => {
  it('prints its changes without writing any file', async () => {
    const at = machine();
    const { code, out } = await run(at, ['setup', 'qwen']);
    expect(code).toBe(0);
    expect(out).toContain(`# in ${at.home}/.qwen/settings.json`);
    expect(out).toContain('http://127.0.0.1:1/v1');
    expect(out).toContain('http://127.0.0.1:1/rpc');
    expect(existsSync(join(at.home, '.qwen'))).toBe(false);
  });

  it('changes a file with --write, and restores it with --undo', async () => {
    const at = machine();
    const file = join(at.home, '.codex/config.toml');
    mkdirSync(join(at.home, '.codex'));
    writeFileSync(file, 'model = "mine"\n');
    expect(await run(at, ['setup', 'codex', '--write'])).toMatchObject({ code: 0, err: '' });
    expect(readFileSync(file, 'utf8')).toMatch(/^model = "mine"\n[\s\S]*\[mcp_servers\.pruner\]/m);
    expect(await run(at, ['setup', 'codex', '--undo'])).toMatchObject({ code: 0, out: `${file}: restored\n` });
    expect(readFileSync(file, 'utf8')).toBe('model = "mine"\n');
    expect(readdirSync(join(at.home, '.codex'))).toEqual(['config.toml']);
  });

  it('writes the token into a file that only the user can read, and prints it nowhere', async () => {
    const at = machine();
    const env = { MCP_PRUNER_AUTH_TOKEN: 'a-very-secret-token' };
    const printed = await run(at, ['setup', 'qwen'], env);
    expect(printed.out).toContain('Bearer <token>');
    const written = await run(at, ['setup', 'qwen', '--write'], env);
    expect(printed.out + written.out).not.toContain('a-very-secret-token');
    const file = join(at.home, '.qwen/settings.json');
    expect(readFileSync(file, 'utf8')).toContain('Bearer a-very-secret-token');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("writes this machine's own token if the proxy requires it", async () => {
    const at = machine();
    const env = { MCP_PRUNER_LOCAL_TOKEN: 'auto', MCP_PRUNER_DB_PATH: join(at.home, 'data/store.db') };
    await run(at, ['setup', 'qwen', '--write'], env);
    const token = readFileSync(join(at.home, 'data/local-token'), 'utf8').trim();
    expect(readFileSync(join(at.home, '.qwen/settings.json'), 'utf8')).toContain(`Bearer ${token}`);
  });

  it("marks the proxy as Anthropic's own API for Claude Code only on request and with that upstream", async () => {
    const at = machine();
    const file = join(at.home, '.claude/settings.json');
    const name = '_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL';
    const other = { MCP_PRUNER_ANTHROPIC_URL: 'https://gateway.example/v1' };
    await run(at, ['setup', 'claude', '--write']);
    expect(readFileSync(file, 'utf8')).not.toContain(name);
    const doctor = (env = {}) => run(at, ['doctor'], env);
    expect((await doctor()).out).toContain(`setup claude --first-party --write sets ${name}=1`);
    expect((await doctor(other)).out).not.toContain(name);
    for (const args of [['qwen'], ['claude', '--proxy', 'https://pruner.example']])
      expect(await run(at, ['setup', ...args, '--first-party'])).toMatchObject({ code: 2 });
    expect(await run(at, ['setup', 'claude', '--first-party'], other)).toMatchObject({
      code: 2,
      err: expect.stringContaining("needs Anthropic's own API"),
    });
    await run(at, ['setup', 'claude', '--write', '--first-party']);
    expect(JSON.parse(readFileSync(file, 'utf8')).env[name]).toBe('1');
    expect((await doctor()).out).not.toContain(name);
    expect((await doctor(other)).out).toContain(`remove ${name}`);
    await run(at, ['setup', 'claude', '--undo']);
    expect(readdirSync(at.home)).toEqual([]);
  });

  it('leaves all files unchanged if one is refused, and leaves no files behind after --undo', async () => {
    const at = machine();
    writeFileSync(join(at.home, '.claude.json'), '{ // mine\n}');
    expect(await run(at, ['setup', 'claude', '--write'])).toMatchObject({ code: 1 });
    expect(readdirSync(at.home)).toEqual(['.claude.json']);
    rmSync(join(at.home, '.claude.json'));
    for (const agent of ['claude', 'codex', 'cline', 'opencode', 'kilo', 'qwen', 'copilot', 'gemini']) {
      const args = ['setup', agent, '--model', 'anthropic/x'];
      expect(await run(at, [...args, '--write'])).toMatchObject({ code: 0, err: '' });
      expect(await run(at, ['setup', agent, '--undo'])).toMatchObject({ code: 0, err: '' });
      expect(readdirSync(at.home)).toEqual([]);
    }
  });

  it('undoes hook and status line with the rest, byte for byte, in whichever order they were written', async () => {
    const ways = [[], ['--hook'], ['--statusline']];
    const orders = [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ];
    for (const order of orders) {
      const at = machine();
      const file = join(at.home, '.claude/settings.json');
      const own = '{\n    "theme": "dark",\n  "hooks": {"Stop": [ ]}\n}';
      mkdirSync(join(at.home, '.claude'));
      writeFileSync(file, own);
      for (const way of order) {
        const args = ['setup', 'claude', ...(ways[way] ?? []), '--write'];
        expect(await run(at, args, installed())).toMatchObject({ code: 0, err: '' });
      }
      expect(readFileSync(file, 'utf8')).toMatch(/SessionStart[\s\S]*statusLine|statusLine[\s\S]*SessionStart/);
      const undone = await run(at, ['setup', 'claude', '--undo']);
      expect(undone).toMatchObject({ code: 0, err: '' });
      for (const part of [`${file}: `, `${file} (hook): `, `${file} (status line): `])
        expect(undone.out).toContain(part);
      expect(readFileSync(file, 'utf8')).toBe(own);
      expect(readdirSync(at.home)).toEqual(['.claude']);
      expect(readdirSync(join(at.home, '.claude'))).toEqual(['settings.json']);
    }
  });

  it('leaves nothing behind once the README is followed to the letter', async () => {
    const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8');
    const [, row = ''] = /^\| How do I remove it\? \| (.*) \|$/m.exec(readme) ?? [];
    const commands = [...row.matchAll(/`(mcp-pruner [^`]+)`/g)].map(([, command = '']) => command);
    expect(commands).toEqual(['mcp-pruner setup <agent> --undo', 'mcp-pruner service remove']);
    const [undo = ''] = commands;
    const at = machine();
    const agents = { claude: [[], ['--hook'], ['--statusline']], codex: [[], ['--hook']], qwen: [[]], gemini: [[]] };
    for (const [agent, ways] of Object.entries(agents))
      for (const way of ways)
        expect(await run(at, ['setup', agent, ...way, '--write'], installed())).toMatchObject({ code: 0, err: '' });
    for (const agent of Object.keys(agents)) {
      const args = undo.replace('<agent>', agent).split(' ').slice(1);
      expect(await run(at, args)).toMatchObject({ code: 0, err: '' });
    }
    expect(readdirSync(at.home)).toEqual([]);
  });

  it('takes its parts out of a file that the user changed after setup, and leaves the rest', async () => {
    const at = machine();
    const file = join(at.home, '.claude/settings.json');
    for (const way of [[], ['--hook'], ['--statusline']])
      await run(at, ['setup', 'claude', ...way, '--write'], installed());
    const changed = { ...JSON.parse(readFileSync(file, 'utf8')), theme: 'light' };
    writeFileSync(file, JSON.stringify(changed, null, 2));
    await run(at, ['setup', 'claude', '--undo']);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ theme: 'light' });
  });

  it('edits an opencode.json with comments and keeps them', async () => {
    const at = machine();
    mkdirSync(join(at.home, '.config/opencode'), { recursive: true });
    const file = join(at.home, '.config/opencode/opencode.json');
    writeFileSync(file, '{\n  // mine\n  "theme": "dark",\n}\n');
    expect(await run(at, ['setup', 'opencode', '--model', 'm', '--write'])).toMatchObject({ code: 0 });
    expect(readFileSync(file, 'utf8')).toMatch(/\/\/ mine\n {2}"theme": "dark",[\s\S]*recover_text/);
  });

  it('wraps its notes to a narrow terminal, and only there', async () => {
    const at = machine();
    const options = { env: at.env, homeDir: at.home, cwd: at.home };
    const narrow = await runCommand(['setup', 'qwen'], { ...options, outIsTerminal: true, columns: 60 });
    const notes = narrow.out.split('\n').filter((line) => line.startsWith('# ') && !line.startsWith('# in '));
    expect(notes.length).toBeGreaterThan(3);
    for (const line of notes) expect(line.length).toBeLessThanOrEqual(60);
    expect((await runCommand(['setup', 'qwen'], options)).out).toMatch(
      /^# OPENAI_BASE_URL takes precedence .* OPENAI_MODEL\.$/m,
    );
  });

  it.each([
    [['setup', 'emacs'], 2, /is not one of claude, codex/],
    [['setup', 'cursor'], 2, /cursor sends its requests from its own servers, which bypass a local proxy/],
    [['setup', 'opencode'], 2, /--model/],
    [['setup', 'codex', '--write', '--undo'], 2, /exclude/],
    [['setup', 'codex', '--mcp', 'pigeon'], 2, /--mcp/],
  ])('%j is refused in one line', async (args, code, err) => {
    expect(await run(machine(), args)).toMatchObject({ code, out: '', err: expect.stringMatching(err) });
  });

  it('refuses a file that it cannot parse, in one line', async () => {
    const at = machine();
    writeFileSync(join(at.home, '.claude.json'), '{ // mine\n}');
    const { code, err } = await run(at, ['setup', 'claude', '--write']);
    expect(code).toBe(1);
    expect(err).toMatch(/^mcp-pruner: [^\n]*\.claude\.json is not plain JSON[^\n]*\n$/);
  });
});

describe('mcp-pruner doctor', () => {
  it('reports no faults on a machine where nothing runs yet, and names the next step', async () => {
    const { code, out } = await run(machine(), ['doctor']);
    expect(code, out).toBe(0);
    expect(out).toMatch(/note {2}no proxy runs[^\n]*\n {6}start it: mcp-pruner serve\n/);
    expect(out).toMatch(/ok {4}the upstream/);
    expect(out).toMatch(/ok {4}the store .* will be created/);
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

  it('reports an upstream that does not listen, and exits with code 1', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as AddressInfo;
    gone.close();
    await once(gone, 'close');
    const { code, out } = await run(machine(), ['doctor'], { MCP_PRUNER_UPSTREAM_URL: `http://127.0.0.1:${port}/v1` });
    expect(code).toBe(1);
    expect(out).toMatch(/FAIL {2}the upstream .*ECONNREFUSED/);
  });

  it('checks the upstreams of agents that are set up or ran, and says which it did not check', async () => {
    const at = machine();
    const env = { ...at.env, MCP_PRUNER_DB_PATH: join(at.home, 'store.db') };
    const place = { platform: 'linux', homeDir: at.home, cwd: at.home, readFile: () => '' } as const;
    const loaded = loadSettings({ table: edition.settings, ...place, env });
    // like the real one by default, but on this machine
    const settings = { ...loaded.settings, anthropicUrl: upstreamUrl };
    const { io } = fakeIo({ env, homeDir: at.home, clock: { nowMs: () => Date.now() } });
    const upstreams = async (): Promise<string[]> => {
      const findings = await examine(() => ({ ...loaded, settings }), io);
      return findings.map(({ what }) => what).filter((what) => /upstream|not checked/.test(what));
    };
    const gemini = settings.geminiUrl;
    expect(await upstreams()).toEqual([
      `the upstream ${upstreamUrl} answers`,
      `not checked, because no agent uses it: ${upstreamUrl}, ${gemini}`,
    ]);
    const store = await openStore(settings, { edition, clock: io.clock });
    await store.ready();
    const day = new Date().toISOString().slice(0, 10);
    const use = { day, project: '', slice: 'wire', key: 'messages', field: 'requests', value: 1 } as const;
    await store.ledger.add([], [use]);
    await store.close();
    expect(await upstreams()).toEqual([
      `the upstream ${upstreamUrl} answers`,
      `the upstream of the messages wire, ${upstreamUrl} answers`,
      `not checked, because no agent uses it: ${gemini}`,
    ]);
  });

  it('finds a port used by another program, a broken store, and an agent set up for another port', async () => {
    const at = machine();
    await run(at, ['setup', 'qwen', '--write'], { MCP_PRUNER_PORT: '2' });
    const store = join(at.home, 'store.db');
    writeFileSync(store, 'not a database, but long enough to look like one '.repeat(100));
    const other = createServer((_req, res) => void res.end('hello')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { code, out } = await run(at, ['doctor', '--json'], {
      MCP_PRUNER_PORT: String((other.address() as AddressInfo).port),
      MCP_PRUNER_DB_PATH: store,
    });
    expect(code).toBe(1);
    const failures = (JSON.parse(out) as { level: string; what: string }[]).filter(({ level }) => level === 'failure');
    expect(failures.map(({ what }) => what)).toEqual([
      expect.stringMatching(/another program answers/),
      expect.stringMatching(/the store .* cannot be used/),
      expect.stringMatching(/Qwen Code is set up for http:\/\/127\.0\.0\.1:2, not/),
    ]);
  });

  it('reports base URLs with a port on which nothing listens', async () => {
    const at = machine();
    const dead = 'http://127.0.0.1:2/v1';
    writeFileSync(
      join(at.home, '.bashrc'),
      `alias x=y\n  export OPENAI_BASE_URL="${dead}" # old\n#export OPENAI_API_BASE=${dead}\n`,
    );
    mkdirSync(join(at.home, '.config/fish'), { recursive: true });
    writeFileSync(join(at.home, '.config/fish/config.fish'), `set -gx ANTHROPIC_BASE_URL ${dead}\n`);
    mkdirSync(join(at.home, '.claude'));
    writeFileSync(join(at.home, '.claude/settings.json'), `{"env":{"ANTHROPIC_BASE_URL":"${dead}"}}`);
    mkdirSync(join(at.home, '.codex'));
    writeFileSync(join(at.home, '.codex/config.toml'), `openai_base_url = "${upstreamUrl}"\n`);
    const { code, out } = await run(at, ['doctor'], { OPENAI_API_BASE: dead });
    expect(code).toBe(1);
    const found = [...out.matchAll(/^FAIL {2}(\S+(?: in \S+)?) leads to http:\/\/127\.0\.0\.1:2, where nothing/gm)];
    expect(found.map(([, where = '']) => where.replace(at.home, '~')).toSorted()).toEqual([
      'ANTHROPIC_BASE_URL in ~/.claude/settings.json',
      'ANTHROPIC_BASE_URL in ~/.config/fish/config.fish',
      'OPENAI_API_BASE',
      'OPENAI_BASE_URL in ~/.bashrc',
    ]);
  });

  it('reports a cloud that Claude Code reaches without the proxy, until setup fixes it', async () => {
    const at = machine();
    const env = await running(at);
    await run(at, ['setup', 'claude', '--write'], env);
    const bedrock = { ...env, CLAUDE_CODE_USE_BEDROCK: '1', AWS_REGION: 'us-east-1' };
    const past = await run(at, ['doctor'], { ...bedrock, AWS_BEARER_TOKEN_BEDROCK: 'b' });
    expect(past).toMatchObject({
      code: 1,
      out: expect.stringMatching(/FAIL {2}Claude Code uses Amazon Bedrock directly, not through the proxy/),
    });
    const signed = await run(at, ['setup', 'claude'], bedrock);
    expect(signed.out.replace(/\n# /g, ' ')).toContain('Requests to Amazon Bedrock are signed');
    const written = await run(at, ['setup', 'claude', '--write'], { ...bedrock, AWS_BEARER_TOKEN_BEDROCK: 'b' });
    expect(written.out).toContain('MCP_PRUNER_BEDROCK_URL=https://bedrock-runtime.us-east-1.amazonaws.com');
    const through = await run(at, ['doctor'], { ...bedrock, AWS_BEARER_TOKEN_BEDROCK: 'b' });
    expect(through.out).toMatch(/Claude Code is set up/);
  });

  it('reports Copilot as not set up while its variables do not point to the proxy', async () => {
    const at = machine();
    const env = await running(at);
    await run(at, ['setup', 'copilot', '--model', 'm', '--write'], env);
    const without = await run(at, ['doctor'], env);
    expect(without).toMatchObject({ code: 1, out: expect.stringMatching(/FAIL {2}.*COPILOT_PROVIDER_BASE_URL/) });
    const url = `http://127.0.0.1:${env.MCP_PRUNER_PORT}/v1`;
    writeFileSync(join(at.home, '.zshrc'), `export COPILOT_PROVIDER_BASE_URL=${url}\n`);
    expect((await run(at, ['doctor'], env)).out).toMatch(/ok {4}GitHub Copilot CLI.* is set up/);
  });

  it('reports Gemini CLI as not set up while its variable does not point to the proxy, and checks its upstream', async () => {
    const at = machine();
    const env = await running(at);
    await run(at, ['setup', 'gemini', '--write'], env);
    const without = await run(at, ['doctor'], env);
    const url = `http://127.0.0.1:${env.MCP_PRUNER_PORT}`;
    expect(without).toMatchObject({ code: 1, out: expect.stringContaining(`export GOOGLE_GEMINI_BASE_URL=${url} `) });
    expect(without.out).toContain('upstream of the gemini wire');
    writeFileSync(join(at.home, '.zshrc'), `export GOOGLE_GEMINI_BASE_URL=${url}\n`);
    expect((await run(at, ['doctor'], env)).out).toMatch(/ok {4}Gemini CLI.* is set up/);
  });

  it('shows how to start the proxy that the agent now needs, and installs nothing without consent', async () => {
    const at = machine();
    const args = ['setup', 'claude', '--write'];
    expect((await run(at, args)).out).toMatch(
      /does not run at \S+\. Start it in the background: mcp-pruner service install/,
    );
    const typed = (answer: string) => ({
      ...{ env: at.env, homeDir: at.home, cwd: at.home, inIsTerminal: true, outIsTerminal: true },
      streams: () => ({ input: Readable.from([answer]), output: new PassThrough() }),
    });
    for (const answer of ['\n', 'no\n', '']) expect((await runCommand(args, typed(answer))).code).toBe(0);
    expect(existsSync(join(at.home, '.config/systemd'))).toBe(false);
    const env = await running(at);
    expect((await run(at, args, env)).out).toContain(`the proxy runs at http://127.0.0.1:${env.MCP_PRUNER_PORT}`);
  });

  it('reports an agent whose configured token is refused', async () => {
    const at = machine();
    const env = await running(at, { MCP_PRUNER_AUTH_TOKEN: 'the-right-token' });
    for (const way of ['http', 'stdio']) {
      const args = ['setup', 'codex-chat', '--mcp', way, '--write'];
      await run(at, args, { ...env, MCP_PRUNER_AUTH_TOKEN: 'the-right-token' });
      expect((await run(at, ['doctor'], env)).out).toMatch(/ok {4}Codex.* is set up/);
      await run(at, args, { ...env, MCP_PRUNER_AUTH_TOKEN: 'another-token' });
      const refused = await run(at, ['doctor'], env);
      expect(refused.code).toBe(1);
      expect(refused.out).toMatch(
        way === 'http' ? /rpc answers its requests with 401/ : /prune answers its requests with 401/,
      );
    }
  });

  it('names and tests the HTTP proxy to the upstream', async () => {
    const env = { MCP_PRUNER_UPSTREAM_URL: 'https://api.example/v1', NO_PROXY: 'else.example' };
    const there = await run(machine(), ['doctor'], {
      ...env,
      HTTPS_PROXY: upstreamUrl.replace('http://', 'http://me:secret@'),
    });
    expect(there.out).toContain(
      `ok    the upstream https://api.example/v1 is reached via proxy ${new URL(upstreamUrl).origin}, which answers`,
    );
    expect(there.out).not.toContain('secret');
    const gone = await run(machine(), ['doctor'], { ...env, HTTPS_PROXY: 'http://127.0.0.1:1' });
    expect(gone).toMatchObject({
      code: 1,
      out: expect.stringMatching(/FAIL {2}.*via proxy http:\/\/127\.0\.0\.1:1, which/),
    });
  });

  it('reports the upstream of the running proxy, even if its own environment differs', async () => {
    const at = machine();
    const env = await running(at);
    const elsewhere = { ...env, MCP_PRUNER_UPSTREAM_URL: 'https://nowhere.invalid/v1' };
    const { code, out } = await run(at, ['doctor'], elsewhere);
    expect(code).toBe(0);
    expect(out).toContain(`ok    the upstream ${new URL(upstreamUrl).origin} answers`);
    expect(out).toMatch(
      /note {2}the running proxy forwards to .*, but this environment names https:\/\/nowhere\.invalid/,
    );
  });

  it('reports an agent that is logged in to a different provider than the proxy forwards to', async () => {
    const at = machine();
    const env = await running(at);
    await run(at, ['setup', 'codex', '--write'], env);
    writeFileSync(join(at.home, '.codex/auth.json'), '{"tokens":{"access_token":"x"}}');
    const { out } = await run(at, ['doctor'], env);
    expect(out).toMatch(/FAIL {2}Codex is logged in for https:\/\/chatgpt\.com, but the proxy forwards to/);
  });

  it('recognises the running proxy, its store and the agents set up for it', async () => {
    const at = machine();
    const given = await running(at);
    const env = { ...given, OPENAI_BASE_URL: `http://127.0.0.1:${given.MCP_PRUNER_PORT}/v1` };
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
  ])('rates Node %s as %s', (version, level) => {
    expect(checkNode(version)).toMatchObject({ level });
  });
});
