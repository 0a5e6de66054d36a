import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run as runCommand } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { keys, newKey, onFile, startTeam } from '../../team/test/team.ts';
import { anyProgram, clients } from '../src/clients/all.ts';
import { mcpAccess } from '../src/run/mcp.ts';
import { RunLifecycle } from '../src/run-states.ts';

const KEY = `mpk_${'k'.repeat(43)}`;
const PROXY = 'https://pruner.example';
const FILES: Readonly<Record<string, readonly string[]>> = {
  claude: ['.claude/settings.json', '.claude.json'],
  codex: ['.codex/config.toml'],
  opencode: ['.config/opencode/opencode.json'],
  qwen: ['.qwen/settings.json'],
};

function machine(env: Readonly<Record<string, string>> = {}) {
  const home = tempFolder();
  const run = (...args: string[]) =>
    runCommand(args, { env: { MCP_PRUNER_PORT: '1', ...env }, homeDir: home, cwd: home });
  return { home, run };
}

describe('the key of a shared proxy', () => {
  it.each(Object.keys(FILES))('is written only to private files of %s, and never printed', async (agent) => {
    const { home, run } = machine({ MCP_PRUNER_KEY: KEY });
    const args = ['setup', agent, '--proxy', `${PROXY}/v1/`, '--model', 'openai/m'];
    const printed = await run(...args);
    const written = await run(...args, '--write');
    expect([printed.code, written.code, printed.err + written.err]).toEqual([0, 0, '']);
    expect(printed.out + written.out).not.toContain(KEY);
    expect(printed.out).toContain(`${PROXY}/k/<key>`);
    for (const name of FILES[agent] ?? []) {
      const file = join(home, name);
      expect(readFileSync(file, 'utf8')).toContain(`${PROXY}/k/${KEY}`);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
    expect((await run('setup', agent, '--undo')).code).toBe(0);
  });

  it('is printed in shell commands only as the name of its variable', async () => {
    const { run } = machine({ MCP_PRUNER_KEY: KEY });
    const { out } = await run('setup', 'gemini', '--proxy', PROXY);
    expect(out).toContain(`export GOOGLE_GEMINI_BASE_URL=${PROXY}/k/$MCP_PRUNER_KEY\n`);
    expect(out).not.toContain(KEY);
  });

  it('is refused without being printed if it is invalid, and with --mcp stdio or an invalid --proxy', async () => {
    const wrong = await machine({ MCP_PRUNER_KEY: 'sk-of-the-provider' }).run('setup', 'qwen');
    expect(wrong).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^mcp-pruner: MCP_PRUNER_KEY is not a key[^\n]*\n$/),
    });
    expect(wrong.err).not.toContain('sk-of');
    const { run } = machine({ MCP_PRUNER_KEY: KEY });
    expect(await run('setup', 'qwen', '--proxy', PROXY, '--mcp', 'stdio')).toMatchObject({ code: 2 });
    expect(await run('setup', 'qwen', '--proxy', 'pruner.example')).toMatchObject({ code: 2 });
  });

  it('is passed to an agent that is started for one run, and appears on no command line', () => {
    const origin = `${PROXY}/k/${KEY}`;
    const place = { env: {}, homeDir: '/home/none', readFile: () => null };
    const said: string[] = [];
    const lifecycle = new RunLifecycle(({ line }) => said.push(line));
    for (const client of [...clients.filter(({ launch }) => launch !== null), anyProgram('agent')]) {
      const proxy = { url: PROXY, about: '', sameStore: false, token: null, key: KEY, close: async () => {} };
      const io = { env: {}, cwd: '/' } as never;
      const mcp = mcpAccess({ io, client, proxy, storeEnv: {}, socket: '', tokenFile: null, lifecycle });
      const keyed = { origin: PROXY, variable: 'MCP_PRUNER_KEY' };
      const wiring = { baseUrl: `${origin}/v1`, origin, mcp, model: 'm', keyed };
      const { args = [], env = {}, files = [] } = client.launch?.(wiring, place, '/tmp/x') ?? {};
      expect([client.name, args.join(' ')]).not.toContain(KEY);
      expect([client.name, args.some((arg) => arg.includes(KEY))]).toEqual([client.name, false]);
      const written = [...Object.values(env), ...files.map(({ text }) => text), ...args].join('\n');
      expect([client.name, written.includes(origin) || written.includes('"MCP_PRUNER_KEY"')]).toEqual([
        client.name,
        true,
      ]);
    }
    expect(said.join('\n')).not.toContain(KEY);
  });

  it('is tested by doctor at the configured proxy, and never printed', async () => {
    const place = await onFile();
    const stage = await startTeam(place);
    const key = await newKey(place, 'web');
    const { run } = machine({ MCP_PRUNER_KEY: key });
    await run('setup', 'claude', '--proxy', stage.url, '--write');
    const good = await run('doctor');
    expect(good.out).toMatch(new RegExp(`ok {4}${stage.url} accepts the key in \\S+$`, 'm'));
    await keys(place, 'revoke', 'of web');
    await expect.poll(async () => (await run('doctor')).out).toMatch(/FAIL {2}\S+ answers 401 to the key in/);
    expect(good.out + (await run('doctor', '--json')).out).not.toContain(key);
  });
});
