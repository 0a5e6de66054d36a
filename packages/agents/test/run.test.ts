import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { compiled } from '../../../test/helpers/built.ts';
import { soon } from '../../stdio/test/helpers/soon.ts';

let root: string;
let upstream: Server;
let upstreamUrl: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'mcp-pruner-run-'));
  upstream = createServer(
    (_req, res) => void res.writeHead(200, { 'content-type': 'application/json' }).end('{"from":"upstream"}'),
  );
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
  readonly env: Record<string, string>;
}

let made = 0;

/** A home, and programs by name in PATH; each is a Node script. */
function machine(programs: Readonly<Record<string, string>> = {}): Machine {
  const home = join(root, String(made++));
  for (const folder of ['bin', 'tmp', 'work']) mkdirSync(join(home, folder), { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    const path = join(home, 'bin', name);
    writeFileSync(`${path}.cjs`, script);
    writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${path}.cjs' "$@"\n`);
    chmodSync(path, 0o755);
  }
  const env = {
    PATH: `${join(home, 'bin')}:${process.env.PATH}`,
    HOME: home,
    TMPDIR: join(home, 'tmp'),
    MCP_PRUNER_UPSTREAM_URL: upstreamUrl,
    MCP_PRUNER_PORT: '1', // nothing runs there
  };
  return { home, env };
}

function start({ home, env }: Machine, args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [compiled('cli.js'), ...args], {
    cwd: join(home, 'work'),
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const text = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text.out += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text.err += chunk));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...text }));
  return { child, text, ended };
}

const run = (at: Machine, args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  start(at, args, more).ended;

/** An agent that prints what it was started with, and asks the proxy one thing. */
const reporter = `
const { OPENAI_BASE_URL, NO_PROXY } = process.env;
fetch(OPENAI_BASE_URL + '/models').then((res) => res.json()).then((answer) => {
  console.log(JSON.stringify({ args: process.argv.slice(2), OPENAI_BASE_URL, NO_PROXY, answer }));
  process.exitCode = 7;
});
`;

/** An agent in Codex' clothes, which starts the server that it was told of and does \`then\` with it. */
const codex = (then: string) => `
const { spawn } = require('node:child_process');
const config = Object.fromEntries(process.argv.slice(2).filter((arg) => arg.startsWith('mcp_servers.')).map((arg) => {
  const at = arg.indexOf('=');
  return [arg.slice('mcp_servers.pruner.'.length, at), JSON.parse(arg.slice(at + 1))];
}));
const env = Object.fromEntries(Object.entries(config).filter(([key]) => key.startsWith('env.')).map(([key, value]) => [key.slice(4), value]));
const server = spawn(config.command, config.args, { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
server.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\\n');
server.stdout.once('data', (text) => {
  console.log(JSON.stringify({ pid: server.pid, env, tools: JSON.parse(text).result.tools.map((tool) => tool.name) }));
  ${then}
});
`;

describe('mcp-pruner run', () => {
  it('starts any program through a dedicated proxy, and passes on arguments and the exit code', async () => {
    const at = machine({ agent: reporter });
    const { code, out, err } = await run(at, ['run', 'agent', '--', '-p', 'two words', '--', '--help'], {
      HTTPS_PROXY: 'http://127.0.0.1:9',
      NO_PROXY: 'intra.example',
    });
    expect(code).toBe(7);
    expect(JSON.parse(out)).toEqual({
      args: ['-p', 'two words', '--', '--help'],
      OPENAI_BASE_URL: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/run\/[0-9a-f]{32}\/v1$/),
      NO_PROXY: 'intra.example,127.0.0.1,localhost,::1',
      answer: { from: 'upstream' },
    });
    expect(err).toContain('agent ended with code 7');
    expect(readdirSync(join(at.home, 'tmp'))).toEqual([]);
  });

  it('starts the agent without a writable folder, and reports that nothing is pruned or recorded', async () => {
    const at = machine({ agent: reporter });
    const { code, out, err } = await run(at, ['run', 'agent'], { HOME: '/proc/nobody' });
    expect({ code, out: JSON.parse(out) }).toMatchObject({ code: 7, out: { answer: { from: 'upstream' } } });
    expect(err.replaceAll(/\s+/g, ' ')).toMatch(
      /started for this run, without a log.* nothing is pruned or recorded: \w+/,
    );
    // a store that is no database, in a home that can be written
    const file = join(at.home, 'no-database');
    writeFileSync(file, 'no database '.repeat(100));
    expect((await run(at, ['run', 'agent'], { MCP_PRUNER_DB_PATH: file })).err).toContain(
      'nothing is pruned or recorded',
    );
    expect((await run(at, ['run', 'agent'])).err).not.toContain('nothing is pruned');
  });

  it('forwards requests to the OPENAI_BASE_URL of the environment, through the proxy', async () => {
    const at = machine({ agent: reporter });
    const { MCP_PRUNER_UPSTREAM_URL: _, ...env } = at.env;
    const { out } = await run({ ...at, env }, ['run', 'agent'], { OPENAI_BASE_URL: `${upstreamUrl}/` });
    expect(JSON.parse(out)).toMatchObject({ answer: { from: 'upstream' } });
    expect((JSON.parse(out) as { OPENAI_BASE_URL: string }).OPENAI_BASE_URL).not.toBe(upstreamUrl);
  });

  it('gives the agent the MCP server, logs the states of the run, and ends', async () => {
    const at = machine({ codex: codex('server.stdin.end(); server.once("exit", () => process.exit(0));') });
    const { code, out, err } = await run(at, ['run', 'codex', '--', 'exec'], { JEEVES_PRUNER_ENABLED: '1' });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      env: {
        PRUNER_URL: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/prune$/),
        MCP_PRUNER_CWD: join(at.home, 'work'),
        MCP_PRUNER_DB_PATH: join(at.home, '.local/share/mcp-pruner/store.db'),
      },
      tools: expect.arrayContaining(['read', 'bash', 'grep', 'recover_text']),
    });
    const states = err
      .split('\n')
      .flatMap((line) => /run:(\S+) -> run:([a-z_]+)/.exec(line)?.slice(1, 3).join('>') ?? []);
    expect(states).toEqual(['init>starting', 'starting>running', 'running>shutdown']);
  });

  it('continues when the server dies, and reports it', async () => {
    const at = machine({ codex: codex('server.kill("SIGKILL"); setTimeout(() => process.exit(3), 1200);') });
    const { code, err } = await run(at, ['run', 'codex'], { JEEVES_PRUNER_ENABLED: '1' });
    expect(code).toBe(3);
    expect(err).toMatch(/run:running -> run:degraded/);
    expect(err).toMatch(/run:degraded -> run:shutdown/);
  });

  it.each([
    [{ JEEVES_PRUNER_ENABLED: 'false' }, /run:init -> run:mcp_pruner_disabled: no MCP server in this run \(JEEVES/],
    [{ JEEVES_PRUNER_URL: 'nowhere' }, /run:init -> run:mcp_pruner_disabled: .*invalid \(JEEVES_PRUNER_URL/],
    [{ JEEVES_MCP_PRUNER_PATH: '/nowhere.js' }, /run:init -> run:mcp_pruner_disabled: .*invalid \(the entry point/],
  ])('starts the agent without the server for %j', async (env, line) => {
    const at = machine({ codex: 'console.log(process.argv.join(" ").includes("mcp_servers"))' });
    const { code, out, err } = await run(at, ['run', 'codex'], env);
    expect({ code, out }).toEqual({ code: 0, out: 'false\n' });
    expect(err).toMatch(line);
    expect(err).toMatch(/run:mcp_pruner_disabled -> run:shutdown/);
  });

  it('passes on JEEVES_PRUNER_URL and JEEVES_MCP_PRUNER_PATH', async () => {
    const at = machine({ codex: 'console.log(process.argv.slice(2).join("\\n"))' });
    const entry = join(at.home, 'entry.js');
    writeFileSync(entry, '');
    const { out } = await run(at, ['run', 'codex'], { JEEVES_PRUNER_URL: '', JEEVES_MCP_PRUNER_PATH: entry });
    expect(out).toContain('mcp_servers.pruner.env.PRUNER_URL=""');
    expect(out).toContain(`mcp_servers.pruner.args=["${entry}"]`);
  });

  it('kills an agent that is still running 2 s after SIGTERM, with all its child processes', async () => {
    const at = machine({
      agent: `
        process.on('SIGTERM', () => {});
        const child = require('node:child_process').spawn('sleep', ['1000']);
        console.log(child.pid);
        setInterval(() => {}, 1000);`,
    });
    const { child, text, ended } = start(at, ['run', 'agent']);
    await soon(() => text.out).toMatch(/^\d+\n$/);
    const startedAt = performance.now();
    child.kill('SIGTERM');
    expect((await ended).code).toBe(128 + 9);
    expect(text.err).toContain('mcp-pruner: no request to a model came through the proxy\n');
    expect(performance.now() - startedAt).toBeGreaterThan(1_900);
    const pid = Number(text.out);
    await soon(() => existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))).toBe(
      false,
    );
  });

  it('uses a running proxy only if it has the same store', async () => {
    const at = machine({ agent: reporter, qwen: 'console.log(process.argv.join(" "))' });
    const server = start(at, ['serve', '--port', '0']);
    await soon(() => server.text.out).toMatch(/"url":"/);
    const url = /"url":"([^"]+)"/.exec(server.text.out)?.[1] ?? '';
    const env = { MCP_PRUNER_PORT: new URL(url).port };
    const same = await run(at, ['run', 'agent'], env);
    expect(same.err.trim().split('\n')).toEqual([
      `mcp-pruner: agent (agent): chat completions through ${url}/v1, which was running`,
      'mcp-pruner: agent ended with code 7',
      'mcp-pruner: no request to a model came through the proxy',
    ]);
    expect(JSON.parse(same.out)).toMatchObject({
      OPENAI_BASE_URL: expect.stringContaining(`${url}/run/`),
      answer: { from: 'upstream' },
    });

    const elsewhere = { ...env, MCP_PRUNER_DB_PATH: join(at.home, 'other.db') };
    expect((await run(at, ['run', 'agent'], elsewhere)).err).toContain('started for this run');
    // only the proxy can give back what it cuts, even where a server of the agent's own is asked for
    const { MCP_PRUNER_UPSTREAM_URL: _, ...own } = at.env;
    const more = { JEEVES_PRUNER_ENABLED: '1', OPENAI_BASE_URL: 'https://models.example/v1' };
    const named = await run({ ...at, env: own }, ['run', 'qwen', '--proxy', `${url}/v1`], { ...elsewhere, ...more });
    expect(named.err).not.toContain('forwards to'); // where a named proxy forwards to is its own matter
    expect(named.out).toContain(`"httpUrl":"${url}/rpc?tools=recover_text,recall"`);
  });

  it('gives an agent only recover_text and recall at the proxy, with the token of this machine', async () => {
    const at = machine({
      codex: `
        const url = process.argv.find((arg) => arg.startsWith('mcp_servers.pruner.url=')).slice(24, -1);
        const ask = (headers) => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' });
        Promise.all([ask({}), ask({ authorization: 'Bearer ' + process.env.MCP_PRUNER_RUN_TOKEN })]).then((answers) =>
          console.log(JSON.stringify({ url, args: process.argv.join(' '), token: process.env.MCP_PRUNER_RUN_TOKEN, statuses: answers.map((answer) => answer.status) })));`,
    });
    const { out, err } = await run(at, ['run', 'codex'], { MCP_PRUNER_LOCAL_TOKEN: 'auto' });
    const seen = JSON.parse(out) as { url: string; args: string; token: string; statuses: number[] };
    expect(seen.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/rpc\?tools=recover_text,recall$/);
    expect(seen.statuses).toEqual([401, 200]);
    expect(seen.args + err).not.toContain(seen.token);
    expect(err.trim().split('\n')).toEqual([
      expect.stringMatching(/^mcp-pruner: Codex .*through/),
      expect.stringMatching(/ended with code 0$/),
      expect.stringMatching(/no request to a model/),
    ]);
  });

  it('forwards an agent of the messages wire to its own ANTHROPIC_BASE_URL, through the proxy', async () => {
    const at = machine({
      claude: `
        const settings = JSON.parse(process.argv.find((arg) => arg.startsWith('--settings=')).slice(11));
        const { ANTHROPIC_BASE_URL: url } = process.env;
        fetch(url + '/v1/messages?beta=true', { method: 'POST', headers: { authorization: 'Bearer mine' }, body: '{}' })
          .then((answer) => answer.json()).then((answer) => console.log(JSON.stringify({ url, settings, answer })));`,
    });
    const before = { ANTHROPIC_BASE_URL: upstreamUrl.replace('/v1', '') };
    const { MCP_PRUNER_UPSTREAM_URL: _, ...env } = at.env;
    const { out, err } = await run({ ...at, env }, ['run', 'claude'], before);
    const seen = JSON.parse(out) as { url: string; settings: unknown; answer: unknown };
    expect(seen.url).not.toBe(before.ANTHROPIC_BASE_URL);
    expect(seen.settings).toEqual({
      // the upstream is on this machine, whose prompt cache a line that changes would end
      env: { ANTHROPIC_BASE_URL: seen.url, ENABLE_TOOL_SEARCH: 'true', CLAUDE_CODE_ATTRIBUTION_HEADER: '0' },
    });
    expect(seen.answer).toEqual({ from: 'upstream' });
    expect(err).toContain(`the proxy forwards to ${upstreamUrl}, which claude is set up for`);
  });

  it.each([
    ['CLAUDE_CODE_USE_BEDROCK', 'ANTHROPIC_BEDROCK_BASE_URL', '', '/model/m/invoke', { AWS_BEARER_TOKEN_BEDROCK: 'b' }],
    ['CLAUDE_CODE_USE_VERTEX', 'ANTHROPIC_VERTEX_BASE_URL', '/v1', '/projects/p/locations/global/x', {}],
    ['CLAUDE_CODE_USE_FOUNDRY', 'ANTHROPIC_FOUNDRY_BASE_URL', '/anthropic', '/v1/messages', {}],
    [
      'CLAUDE_CODE_USE_MANTLE',
      'ANTHROPIC_BEDROCK_MANTLE_BASE_URL',
      '/anthropic',
      '/v1/messages',
      { AWS_BEARER_TOKEN_BEDROCK: 'b' },
    ],
  ])('sends Claude Code through the proxy to its cloud: %s', async (flag, variable, base, path, more) => {
    const at = machine({
      claude: `
        const url = process.env.${variable};
        fetch(url + '${path}', { method: 'POST', headers: { authorization: 'Bearer mine' }, body: '{}' })
          .then((answer) => answer.json())
          .then((answer) => console.log(JSON.stringify({ url, answer, other: process.env.ANTHROPIC_BASE_URL })));`,
    });
    const origin = upstreamUrl.replace('/v1', '');
    const { out, err } = await run(at, ['run', 'claude'], { [flag]: '1', [variable]: origin + base, ...more });
    const seen = JSON.parse(out) as { url: string; answer: unknown };
    expect(seen).toEqual({ url: expect.stringMatching(/^http:\/\/127/), answer: { from: 'upstream' } });
    expect(seen.url.endsWith(base)).toBe(true);
    expect(seen.url).not.toContain(origin);
    expect(err).toMatch(/messages to .* through http:/);
  });

  it('lets Claude Code bypass the proxy if its requests are signed with keys that the proxy lacks', async () => {
    const at = machine({
      claude: `console.log(JSON.stringify([process.env.ANTHROPIC_BEDROCK_BASE_URL ?? null, process.argv.join(' ')]));`,
    });
    const { out, err } = await run(at, ['run', 'claude'], { CLAUDE_CODE_USE_BEDROCK: '1', AWS_PROFILE: 'work' });
    const [address, args] = JSON.parse(out) as [unknown, string];
    expect([address, args.includes('BASE_URL')]).toEqual([null, false]);
    const lines = err.split('\n').filter((line) => line.includes('unpruned'));
    expect(lines).toEqual([expect.stringContaining('go straight to Amazon Bedrock')]);
  });

  it('forwards Gemini CLI to its own GOOGLE_GEMINI_BASE_URL, through the proxy', async () => {
    const at = machine({
      gemini: `
        const { GOOGLE_GEMINI_BASE_URL: url } = process.env;
        fetch(url + '/v1beta/models/m:generateContent', { method: 'POST', body: '{}' })
          .then((answer) => answer.json()).then((answer) => console.log(JSON.stringify({ url, answer })));`,
    });
    const before = { GOOGLE_GEMINI_BASE_URL: upstreamUrl.replace('/v1', '') };
    const { MCP_PRUNER_UPSTREAM_URL: _, ...env } = at.env;
    const { out, err } = await run({ ...at, env }, ['run', 'gemini'], before);
    const seen = JSON.parse(out) as { url: string; answer: unknown };
    expect(seen.url).not.toBe(before.GOOGLE_GEMINI_BASE_URL);
    expect(seen.answer).toEqual({ from: 'upstream' });
    expect(err).toContain(`the proxy forwards to ${before.GOOGLE_GEMINI_BASE_URL}/v1beta, which gemini is set up for`);
    expect(err).toMatch(/generateContent through http:\S+\/v1beta/);
  });

  it('gives Gemini CLI a temporary home with its own files, a login by key and the MCP server', async () => {
    const at = machine({
      gemini: `
        const { readFileSync, realpathSync } = require('node:fs');
        const home = process.env.GEMINI_CLI_HOME;
        const settings = JSON.parse(readFileSync(home + '/.gemini/settings.json', 'utf8'));
        console.log(JSON.stringify({ home, settings, memory: realpathSync(home + '/.gemini/GEMINI.md') }));`,
    });
    const own = join(at.home, '.gemini');
    mkdirSync(own);
    writeFileSync(
      join(own, 'settings.json'),
      '// mine\n{ "ui": { "theme": "Ayu" }, "mcpServers": { "mine": { "command": "x" } } }',
    );
    writeFileSync(join(own, 'GEMINI.md'), 'Be brief.');
    const { out } = await run(at, ['run', 'gemini']);
    const seen = JSON.parse(out) as { home: string; settings: unknown; memory: string };
    expect(seen.settings).toMatchObject({
      ui: { theme: 'Ayu' },
      security: { auth: { selectedType: 'gemini-api-key' } },
      mcpServers: { mine: { command: 'x' }, pruner: { httpUrl: expect.stringMatching(/\/rpc/) } },
    });
    expect(seen.memory).toBe(realpathSync(join(own, 'GEMINI.md')));
    expect(existsSync(seen.home)).toBe(false);
    expect(readdirSync(own).sort()).toEqual(['GEMINI.md', 'settings.json']);
    expect(readFileSync(join(own, 'settings.json'), 'utf8')).toContain('// mine');
  });

  it('does not report the pruner as disabled while it prunes', async () => {
    const { err } = await run(machine({ agent: reporter }), ['run', 'agent']);
    expect(err).not.toMatch(/pruner disabled/);
    expect(err).toMatch(/chat completions through http/);
  });

  it("passes the store's settings to the server, but no secret", async () => {
    const at = machine({ codex: 'console.log(process.argv.slice(2).join("\\n"))' });
    const { out } = await run(at, ['run', 'codex'], {
      MCP_PRUNER_STORE_MAX_BYTES: '2000000000',
      DEEPINFRA_API_KEY: 'deep-secret',
      JEEVES_PRUNER_ENABLED: '1',
      MCP_PRUNER_AUTH_TOKEN: 'a-very-secret-token',
    });
    expect(out).toContain('mcp_servers.pruner.env.MCP_PRUNER_STORE_MAX_BYTES="2000000000"');
    expect(out).not.toMatch(/secret/);
  });

  it('names a missing argument or program in one line', async () => {
    const at = machine();
    expect(await run(at, ['run', 'no-such-agent'])).toMatchObject({
      code: 1,
      err: 'mcp-pruner: cannot start no-such-agent: it is not installed, or not in PATH\n', // and no proxy before
    });
    expect(await run(at, ['run', 'opencode'])).toMatchObject({ code: 2, err: expect.stringMatching(/--model/) });
    expect(await run(at, ['run'])).toMatchObject({ code: 2 });
    expect(await run(at, ['run', 'agent', '--proxy', 'http://127.0.0.1:1'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no mcp-pruner answers/),
    });
    expect(readdirSync(join(at.home, 'tmp'))).toEqual([]);
  });
});
