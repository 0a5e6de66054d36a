import { describe, expect, it } from 'vitest';
import { anyProgram, clients, findClient } from '../../src/agents/clients/all.ts';
import type { Client, ClientPlace, Wiring } from '../../src/agents/clients/client.ts';
import { snippet } from '../../src/agents/edit-text.ts';

const baseUrl = 'http://127.0.0.1:8006/v1';
const stdio: Wiring = {
  baseUrl,
  model: 'gpt-test',
  mcp: {
    transport: 'stdio',
    server: { command: '/node', args: ['/cli.js', 'stdio'], env: { PRUNER_URL: 'http://p/' } },
  },
};
const http: Wiring = { ...stdio, mcp: { transport: 'http', url: 'http://127.0.0.1:8006/rpc' } };
const bare: Wiring = { ...stdio, mcp: null };
const place: ClientPlace = { env: { OPENAI_API_KEY: 'sk-secret' }, homeDir: '/home/me', readFile: () => null };

/** All that a client is started with, as text. */
function launched(client: Client, wiring: Wiring, at: ClientPlace = place): string {
  const launch = client.launch?.(wiring, at, '/tmp/run');
  if (launch === undefined) throw new Error(`${client.name} cannot be launched`);
  return [...launch.args, ...Object.values(launch.env), ...launch.files.map(({ text }) => text)].join('\n');
}

const written = (client: Client, wiring: Wiring): string => client.edits(wiring, place).map(snippet).join('\n');

describe.each(clients)('$title', (client) => {
  it('is started with the MCP server, over stdio and over HTTP', () => {
    expect(launched(client, stdio)).toMatch(/pruner/);
    expect(launched(client, stdio)).toContain('/cli.js');
    expect(launched(client, stdio)).toContain('http://p/');
    expect(launched(client, http)).toContain('http://127.0.0.1:8006/rpc');
    expect(launched(client, bare)).not.toContain('/cli.js');
  });

  it('is set up with the MCP server, over stdio and over HTTP', () => {
    expect(written(client, stdio)).toContain('/cli.js');
    expect(written(client, http)).toContain('http://127.0.0.1:8006/rpc');
    expect(written(client, bare)).not.toContain('/cli.js');
  });

  it('is sent through the proxy exactly where it speaks chat completions', () => {
    expect(launched(client, stdio).includes(baseUrl)).toBe(client.proxied);
    const variables = client.name === 'copilot'; // has no file for it
    expect(written(client, stdio).includes(baseUrl)).toBe(client.proxied && !variables);
  });

  it('has no key written into its files by setup, and files below the home only', () => {
    expect(written(client, stdio)).not.toContain('sk-secret');
    for (const { file } of client.edits(stdio, place)) expect(file).toMatch(/^\/home\/me\//);
  });
});

describe('a client with a configuration of its own', () => {
  it('keeps it: opencode in its variable', () => {
    const env = { OPENCODE_CONFIG_CONTENT: '{"theme":"dark","mcp":{"mine":{"type":"remote"}}}' };
    const content = findClient('opencode')?.launch?.(stdio, { ...place, env }, '/tmp/run').env.OPENCODE_CONFIG_CONTENT;
    expect(JSON.parse(content ?? '')).toMatchObject({ theme: 'dark', mcp: { mine: {}, pruner: { type: 'local' } } });
  });

  it('keeps it: cline in copies of its files', () => {
    const own = {
      providers: { 'openai-compatible': { settings: { apiKey: 'mine', baseUrl: 'http://old/v1' } }, x: {} },
    };
    const readFile = (path: string) => (path.endsWith('/providers.json') ? JSON.stringify(own) : null);
    const files = findClient('cline')?.launch?.(stdio, { ...place, readFile }, '/tmp/run').files ?? [];
    expect(JSON.parse(files[0]?.text ?? '')).toMatchObject({
      providers: { 'openai-compatible': { settings: { apiKey: 'mine', baseUrl } }, x: {} },
    });
  });

  it('is found where its variables say', () => {
    const env = {
      CODEX_HOME: '/c',
      CLAUDE_CONFIG_DIR: '/d',
      XDG_CONFIG_HOME: '/x',
      CLINE_DIR: '/e',
      COPILOT_HOME: '/f',
    };
    const files = (name: string) =>
      findClient(name)
        ?.edits(stdio, { ...place, env })
        .map(({ file }) => file);
    expect(files('codex')).toEqual(['/c/config.toml']);
    expect(files('claude')).toEqual(['/d/.claude.json']);
    expect(files('opencode')).toEqual(['/x/opencode/opencode.json']);
    expect(files('cline')).toEqual(['/e/data/settings/providers.json', '/e/data/settings/cline_mcp_settings.json']);
    expect(files('copilot')).toEqual(['/f/mcp-config.json']);
  });
});

describe('any other program', () => {
  it('gets the address by environment and no MCP server', () => {
    const client = anyProgram('aider');
    expect(client).toMatchObject({ command: 'aider', usesMcp: false });
    expect(client.launch?.(stdio, place, '/tmp/run')).toEqual({
      args: [],
      env: { OPENAI_BASE_URL: baseUrl, OPENAI_API_BASE: baseUrl },
      files: [],
    });
  });
});
