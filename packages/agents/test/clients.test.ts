import { describe, expect, it } from 'vitest';
import { anyProgram, clients, findClient } from '../src/clients/all.ts';
import type { Client, ClientPlace, Wiring } from '../src/clients/client.ts';
import { snippet } from '../src/edit-text.ts';

const baseUrl = 'http://127.0.0.1:8006/v1';
const stdio: Wiring = {
  baseUrl,
  origin: 'http://127.0.0.1:8006',
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

describe.each(clients.filter(({ launch, usesMcp }) => launch !== null && usesMcp))('$title', (client) => {
  it('is started with the MCP server, over stdio and over HTTP', () => {
    expect(launched(client, stdio)).toMatch(/pruner/);
    expect(launched(client, stdio)).toContain('/cli.js');
    expect(launched(client, stdio)).toContain('http://p/');
    expect(launched(client, http)).toContain('http://127.0.0.1:8006/rpc');
    expect(launched(client, bare)).not.toContain('/cli.js');
  });
});

describe.each(clients.filter(({ usesMcp }) => usesMcp))('$title', (client) => {
  it('is set up with the MCP server, over stdio and over HTTP', () => {
    expect(written(client, stdio)).toContain('/cli.js');
    expect(written(client, http)).toContain('http://127.0.0.1:8006/rpc');
    expect(written(client, bare)).not.toContain('/cli.js');
  });

  it('gets the server token only in secret files, never in its launch arguments', () => {
    const guarded: Wiring = {
      ...stdio,
      mcp: { transport: 'http', url: 'http://127.0.0.1:8006/rpc', token: 'tok-123' },
    };
    expect(written(client, guarded)).toContain('Bearer tok-123');
    const holds = client.edits(guarded, place).filter((edit) => snippet(edit).includes('tok-123'));
    expect(holds.map(({ secret }) => secret)).toEqual([true]);
    if (!client.keepsToken) return;
    expect(launched(client, guarded)).toContain('tok-123');
    expect(client.launch?.(guarded, place, '/tmp/run').args.join(' ')).not.toContain('tok-123');
  });
});

describe('Claude Code, whose tool search hides the tools of MCP servers', () => {
  it('loads the recovery tools all the same, by run and by setup, over stdio and over HTTP', () => {
    const claude = findClient('claude');
    if (claude === undefined) throw new Error('claude is missing');
    for (const wiring of [stdio, http]) {
      expect(launched(claude, wiring)).toContain('"alwaysLoad":true');
      expect(written(claude, wiring)).toContain('"alwaysLoad": true');
    }
  });
});

describe.each(clients)('$title', (client) => {
  it('sends its requests to the proxy, at the address for its wire', () => {
    const isBare = client.wire === 'messages' || client.wire === 'gemini';
    const address = isBare ? /"http:\/\/127\.0\.0\.1:8006"/ : /http:\/\/127\.0\.0\.1:8006\/v1(?:\/responses)?"/;
    if (client.launch !== null) {
      const { env } = client.launch(stdio, place, '/tmp/run');
      expect(`"${Object.values(env).join('"')}"${launched(client, stdio)}`).toMatch(address);
    }
    const variables = client.exports?.(stdio); // has no file for it
    if (variables) expect(Object.values(variables)).toContain(isBare ? stdio.origin : baseUrl);
    else expect(written(client, stdio)).toMatch(address);
  });

  it('is set up only with files below the home folder, and without any key in them', () => {
    expect(written(client, stdio)).not.toContain('sk-secret');
    for (const { file } of client.edits(stdio, place)) expect(file).toMatch(/^\/home\/me\//);
  });
});

describe('Gemini CLI', () => {
  it('keeps the login type that its user chose in a file or a variable', () => {
    const gemini = findClient('gemini');
    const typeFor = (at: Partial<ClientPlace>): unknown => {
      const launch = gemini?.launch?.(http, { ...place, ...at }, '/tmp/run');
      return (JSON.parse(launch?.files[0]?.text ?? '{}') as { security?: { auth?: unknown } }).security?.auth;
    };
    expect(typeFor({})).toEqual({ selectedType: 'gemini-api-key' });
    const chosen = '{ "security": { "auth": { "selectedType": "oauth-personal" } } }';
    expect(typeFor({ readFile: () => chosen })).toEqual({ selectedType: 'oauth-personal' });
    expect(typeFor({ env: { GOOGLE_GENAI_USE_VERTEXAI: 'true' } })).toBeUndefined();
    expect(gemini && written(gemini, bare)).toContain('"selectedType": "gemini-api-key"');
  });
});

describe('pi and Kimi Code, for one run', () => {
  const own: Record<string, string> = {
    '/home/me/.pi/agent/models.json': '{ "providers": { "mine": { "baseUrl": "http://m" } } }',
    '/home/me/.kimi-code/mcp.json': '{ "mcpServers": { "mine": { "url": "http://m" } } }',
  };
  const at: ClientPlace = {
    ...place,
    readFile: (path) => own[path] ?? null,
    listFolder: () => ['models.json', 'mcp.json', 'sessions'],
  };

  it.each([
    ['pi', 'PI_CODING_AGENT_DIR', '/tmp/run/pi-home', 'pi-home/models.json', '/home/me/.pi/agent/sessions'],
    ['kimi', 'KIMI_CODE_HOME', '/tmp/run/kimi-home', 'kimi-home/mcp.json', '/home/me/.kimi-code/sessions'],
  ])('%s has a home with its own files and what its user configured', (name, variable, home, file, sessions) => {
    const launch = findClient(name)?.launch?.(http, at, '/tmp/run');
    expect(launch?.env[variable]).toBe(home);
    expect(launch?.files.map((each) => each.name)).toContain(file);
    expect(launch?.files[0]?.text).toContain('"mine"');
    expect(launch?.links?.map(({ target }) => target)).toContain(sessions);
    const own = new Set(launch?.files.map((each) => each.name));
    expect(launch?.links?.filter((link) => own.has(link.name))).toEqual([]);
  });
});

describe('a client with its own configuration', () => {
  it('keeps the configuration from its variable (opencode)', () => {
    const env = { OPENCODE_CONFIG_CONTENT: '{"theme":"dark","mcp":{"mine":{"type":"remote"}}}' };
    const content = findClient('opencode')?.launch?.(stdio, { ...place, env }, '/tmp/run').env.OPENCODE_CONFIG_CONTENT;
    expect(JSON.parse(content ?? '')).toMatchObject({ theme: 'dark', mcp: { mine: {}, pruner: { type: 'local' } } });
  });

  it('keeps the configuration from its files (Cline)', () => {
    const own = {
      providers: { 'openai-compatible': { settings: { apiKey: 'mine', baseUrl: 'http://old/v1' } }, x: {} },
    };
    const readFile = (path: string) => (path.endsWith('/providers.json') ? JSON.stringify(own) : null);
    const files = findClient('cline')?.launch?.(stdio, { ...place, readFile }, '/tmp/run').files ?? [];
    expect(JSON.parse(files[0]?.text ?? '')).toMatchObject({
      providers: { 'openai-compatible': { settings: { apiKey: 'mine', baseUrl } }, x: {} },
    });
  });

  it('is edited at the paths that its variables name', () => {
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
    expect(files('claude')).toEqual(['/d/settings.json', '/d/.claude.json']);
    expect(files('opencode')).toEqual(['/x/opencode/opencode.json']);
    expect(files('cline')).toEqual(['/e/data/settings/providers.json', '/e/data/settings/cline_mcp_settings.json']);
    expect(files('copilot')).toEqual(['/f/mcp-config.json']);
  });
});

describe('Cline on a fresh home', () => {
  it('gets a provider that it accepts, and no daemon that would outlive the run', () => {
    const cline = findClient('cline');
    const launch = cline?.launch?.(http, place, '/tmp/run');
    const [providers] = launch?.files ?? [];
    const provider = (JSON.parse(providers?.text ?? '') as { providers: Record<string, unknown> }).providers;
    expect(provider['openai-compatible']).toMatchObject({ updatedAt: expect.stringMatching(/^\d{4}-/) });
    expect(launch?.env).toMatchObject({ CLINE_SESSION_BACKEND_MODE: 'local' });
    const [edit] = cline?.edits(http, place) ?? [];
    expect(edit && snippet(edit)).toContain('updatedAt');
  });

  it('is reported as broken if its provider entry lacks updatedAt', () => {
    const file = '{"providers":{"openai-compatible":{"settings":{}}}}';
    const readFile = (path: string) => (path.endsWith('/providers.json') ? file : null);
    expect(findClient('cline')?.problem?.({ ...place, readFile })).toMatch(/updatedAt/);
    expect(findClient('cline')?.problem?.(place)).toBeNull();
  });
});

describe('Claude Code on a cloud', () => {
  const claude = findClient('claude');
  const variablesIn = (env: Record<string, string>, cloudBypassesProxy = false): Record<string, string> => ({
    ...claude?.launch?.({ ...http, cloudBypassesProxy }, { ...place, env }, '/tmp/run').env,
  });

  it('gets only the base URL of that cloud, and conflicting variables are emptied', () => {
    const foundry = { CLAUDE_CODE_USE_FOUNDRY: '1', ANTHROPIC_FOUNDRY_RESOURCE: 'mine' };
    expect(variablesIn(foundry)).toEqual({
      ANTHROPIC_FOUNDRY_BASE_URL: `${http.origin}/anthropic`,
      ANTHROPIC_FOUNDRY_RESOURCE: '',
      ENABLE_TOOL_SEARCH: 'true',
    });
    expect(claude?.cloud?.({ ...place, env: foundry })).toMatchObject({
      key: 'azureUrl',
      upstream: 'https://mine.services.ai.azure.com',
    });
    expect(variablesIn({ CLAUDE_CODE_USE_VERTEX: 'true' })).toMatchObject({
      ANTHROPIC_VERTEX_BASE_URL: `${http.origin}/v1`,
    });
    expect(variablesIn({ CLAUDE_CODE_USE_BEDROCK: '0' })).toMatchObject({ ANTHROPIC_BASE_URL: http.origin });
    expect(variablesIn({ CLAUDE_CODE_USE_BEDROCK: '1' }, true)).toEqual({});
  });

  it.each([
    [{}, 'unknown'],
    [{ AWS_BEARER_TOKEN_BEDROCK: 'x' }, 'none'],
    [{ CLAUDE_CODE_SKIP_BEDROCK_AUTH: '1' }, 'none'],
    [{ AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's' }, 'own'],
  ])('with %j has the Bedrock signing mode %s', (env, signing) => {
    const cloud = claude?.cloud?.({ ...place, env: { CLAUDE_CODE_USE_BEDROCK: '1', AWS_REGION: 'eu-west-1', ...env } });
    expect(cloud).toMatchObject({ signing, upstream: 'https://bedrock-runtime.eu-west-1.amazonaws.com' });
  });

  it('gets the base URL in its settings, which override the environment', () => {
    const readFile = (): string => '{"env":{"CLAUDE_CODE_USE_VERTEX":"1"}}';
    const [edit] = claude?.edits(http, { ...place, readFile }) ?? [];
    expect(edit && snippet(edit)).toContain(`"ANTHROPIC_VERTEX_BASE_URL": "${http.origin}/v1"`);
  });
});

describe('the current upstream of an agent', () => {
  const upstream = (name: string, files: Readonly<Record<string, string>>, env: Record<string, string> = {}) =>
    findClient(name)?.upstream?.({ ...place, env, readFile: (path) => files[path] ?? null });
  const codex = '/home/me/.codex';

  it('is read from the settings, otherwise from the environment, otherwise from the login', () => {
    const settings = { '/home/me/.claude/settings.json': '{"env":{"ANTHROPIC_BASE_URL":"https://gateway.example/"}}' };
    expect(upstream('claude', settings, { ANTHROPIC_BASE_URL: 'https://other' })).toBe('https://gateway.example/v1');
    expect(upstream('claude', {}, { ANTHROPIC_BASE_URL: 'https://other' })).toBe('https://other/v1');
    expect(upstream('claude', {})).toBeNull();
    expect(upstream('codex', { [`${codex}/auth.json`]: '{"tokens":{"access_token":"x"}}' })).toBe(
      'https://chatgpt.com/backend-api/codex',
    );
    expect(upstream('codex', { [`${codex}/auth.json`]: '{"OPENAI_API_KEY":"sk-x"}' })).toBeNull();
    const own = 'model_provider = "mine"\n[model_providers.mine]\nbase_url = "https://mine/v1"\n';
    expect(upstream('codex', { [`${codex}/config.toml`]: own })).toBe('https://mine/v1');
  });

  it('is replaced within the provider that the user defined in Codex', () => {
    const own = 'model_provider = "mine"\n[model_providers.mine]\nbase_url = "https://mine/v1"\n';
    const readFile = (path: string) => (path.endsWith('config.toml') ? own : null);
    const args = findClient('codex')?.launch?.(http, { ...place, readFile }, '/tmp/run').args ?? [];
    expect(args).toContain(`model_providers.mine.base_url="${baseUrl}"`);
    expect(args.join(' ')).not.toContain('model_provider=');
  });

  it('is replaced for both logins of Codex: ChatGPT and OPENAI_API_KEY', () => {
    const args = (env: Record<string, string>, auth: string | null) =>
      findClient('codex')
        ?.launch?.(http, { ...place, env, readFile: (path) => (path.endsWith('auth.json') ? auth : null) }, '/tmp/run')
        .args.join(' ');
    expect(args({}, '{"tokens":{}}')).toContain('requires_openai_auth=true');
    expect(args({ OPENAI_API_KEY: 'k' }, null)).toContain('env_key="OPENAI_API_KEY"');
  });
});

describe('opencode', () => {
  it.each([
    ['gpt-x', '"model": "mcp-pruner/gpt-x"', '"@ai-sdk/openai-compatible"'],
    ['openai/gpt-x', '"model": "openai/gpt-x"', '"openai": {'],
    ['anthropic/claude-x', '"model": "anthropic/claude-x"', '"anthropic": {'],
  ])('uses the wire of the model %s', (model, ...pieces) => {
    const [edit] = findClient('opencode')?.edits({ ...http, model }, place) ?? [];
    for (const piece of [...pieces, `"baseURL": "${baseUrl}"`]) expect(edit && snippet(edit)).toContain(piece);
  });

  it('is set up in opencode.jsonc if the user has that file', () => {
    const readFile = (path: string) => (path.endsWith('.jsonc') ? '{}' : null);
    const [edit] = findClient('opencode')?.edits(http, { ...place, readFile }) ?? [];
    expect(edit).toMatchObject({ file: '/home/me/.config/opencode/opencode.jsonc', comments: true });
  });
});

describe('any other program', () => {
  it('gets the address in environment variables, and no MCP server', () => {
    const client = anyProgram('aider');
    expect(client).toMatchObject({ command: 'aider', usesMcp: false });
    expect(client.launch?.(stdio, place, '/tmp/run')).toEqual({
      args: [],
      env: { OPENAI_BASE_URL: baseUrl, OPENAI_API_BASE: baseUrl, GOOGLE_GEMINI_BASE_URL: new URL(baseUrl).origin },
      files: [],
    });
  });
});
