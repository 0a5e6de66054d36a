import { describe, expect, it } from 'vitest';
import { findSettingsOf } from '../../src/app/pipeline.ts';
import { type LoadInput, loadSettings } from '../../src/config/load.ts';
import { SettingsError } from '../../src/config/settings-error.ts';
import { HIDDEN, shownSettings } from '../../src/config/show.ts';
import { edition } from '../../src/edition.ts';
import { machine } from './machine.ts';

const USER_FILE = '/home/me/.config/mcp-pruner/config.toml';

function withFile(text: string, given: Partial<LoadInput> = {}) {
  return machine({ ...given, files: { [USER_FILE]: text } });
}

/** The lines with which a start is refused. */
function problemsOf(input: LoadInput): readonly string[] {
  try {
    loadSettings(input);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

function problemsOfEnv(env: Record<string, string>): readonly string[] {
  return problemsOf(machine({ env }));
}

describe('loadSettings', () => {
  it('works without any configuration', () => {
    const { settings, warnings, configFile } = loadSettings(machine());
    expect(settings).toMatchObject({
      host: '127.0.0.1',
      port: 8006,
      upstreamUrl: 'https://api.openai.com/v1',
      minPruneChars: 4000,
      maxPruneRatio: 0.9,
      minKeepLines: 20,
      timeoutMs: 10_000,
      pruneIdTtlS: 604_800,
      mode: 'prune',
      enabled: true,
      backend: 'heuristic',
    });
    expect(warnings).toEqual([]);
    expect(configFile).toBeNull();
  });

  it('prefers the command line to the environment, the environment to the file, the file to the default', () => {
    const file = '[mcp_pruner]\nport = 1111\nmin_keep_lines = 5\ntimeout_ms = 99\n';
    const { settings, origins } = loadSettings(
      withFile(file, {
        env: { MCP_PRUNER_PORT: '2222', MCP_PRUNER_MIN_KEEP_LINES: '6' },
        flags: { port: '3333' },
      }),
    );
    expect(settings).toMatchObject({ port: 3333, minKeepLines: 6, timeoutMs: 99, maxPruneRatio: 0.9 });
    expect(origins.port).toEqual({ from: 'flag', name: '--port' });
    expect(origins.minKeepLines).toEqual({ from: 'env', name: 'MCP_PRUNER_MIN_KEEP_LINES' });
    expect(origins.timeoutMs).toEqual({ from: 'file', name: `${USER_FILE}: mcp_pruner.timeout_ms` });
    expect(origins.maxPruneRatio).toEqual({ from: 'default', name: '' });
  });

  it('returns frozen settings', () => {
    const { settings } = loadSettings(machine({ env: { MCP_PRUNER_NEVER_PRUNE_TOOLS: 'a' } }));
    expect(Object.isFrozen(settings)).toBe(true);
    expect(Object.isFrozen(settings.neverPruneTools)).toBe(true);
  });

  it('treats an empty variable as not set', () => {
    const { settings } = loadSettings(
      withFile('[mcp_pruner]\nport = 1111', { env: { MCP_PRUNER_PORT: ' ', KIMI_PRUNING_BACKEND: '' } }),
    );
    expect(settings).toMatchObject({ port: 1111, backend: 'heuristic' });
  });

  it('treats an empty list or optional address as no value, which overrides the file', () => {
    const { settings } = loadSettings(
      withFile('[mcp_pruner]\nnever_prune_tools = ["x"]\nswe_pruner_url = "http://127.0.0.1:8000/prune"', {
        env: { MCP_PRUNER_NEVER_PRUNE_TOOLS: '', MCP_PRUNER_SWE_PRUNER_URL: '' },
      }),
    );
    expect(settings).toMatchObject({ neverPruneTools: [], swePrunerUrl: null, backend: 'heuristic' });
  });

  it.each([
    ['1', true],
    ['TRUE', true],
    ['yes', true],
    ['On', true],
    ['0', false],
    ['false', false],
    ['no', false],
    ['OFF', false],
  ])('reads the switch %s as %s', (text, value) => {
    expect(loadSettings(machine({ env: { MCP_PRUNER_ENABLED: text } })).settings.enabled).toBe(value);
  });

  it('reads comma-separated lists, and numbers in TOML notation', () => {
    const { settings } = loadSettings(
      machine({
        env: { MCP_PRUNER_NEVER_PRUNE_PATHS: ' **/*.md, docs/** ,', MCP_PRUNER_MAX_INPUT_CHARS: '1_000_000' },
      }),
    );
    expect(settings.neverPrunePaths).toEqual(['**/*.md', 'docs/**']);
    expect(settings.maxInputChars).toBe(1_000_000);
  });

  it('reads hosts in lower case, with a port where they have one', () => {
    const env = { MCP_PRUNER_SEAMS_HOSTS: 'LLM.example.com, 127.0.0.1:4000,[::1]:80' };
    expect(loadSettings(machine({ env })).settings.seamsAlso.hosts).toEqual([
      'llm.example.com',
      '127.0.0.1:4000',
      '[::1]:80',
    ]);
  });

  it('accepts the older name of the cache size, and prefers the newer one', () => {
    const older = { MCP_PRUNER_CACHE_MAX_ENTRIES: '7' };
    expect(loadSettings(machine({ env: older })).settings.cacheMaxItems).toBe(7);
    const both = { ...older, MCP_PRUNER_CACHE_MAX_ITEMS: '8' };
    expect(loadSettings(machine({ env: both })).settings.cacheMaxItems).toBe(8);
  });

  it.each([
    ['https://api.example.com/v1/', 'https://api.example.com/v1'],
    ['http://127.0.0.1:9/openai/v1///', 'http://127.0.0.1:9/openai/v1'],
  ])('drops the slash at the end of an upstream address: %s', (given, expected) => {
    expect(loadSettings(machine({ env: { MCP_PRUNER_UPSTREAM_URL: given } })).settings.upstreamUrl).toBe(expected);
  });
});

describe('an invalid configuration', () => {
  it.each([
    [{ MCP_PRUNER_PORT: '80o6' }, 'MCP_PRUNER_PORT = "80o6"', 'a whole number from 0 to 65535', '8006'],
    [{ MCP_PRUNER_PORT: '70000' }, 'MCP_PRUNER_PORT = 70000', 'a whole number from 0 to 65535', '8006'],
    [{ MCP_PRUNER_MAX_PRUNE_RATIO: '1.5' }, 'MCP_PRUNER_MAX_PRUNE_RATIO = 1.5', 'from 0 to 1', '0.9'],
    [{ MCP_PRUNER_MIN_KEEP_LINES: '2.5' }, 'MCP_PRUNER_MIN_KEEP_LINES = 2.5', 'a whole number, 0 or more', '20'],
    [{ MCP_PRUNER_MODE: 'dry' }, 'MCP_PRUNER_MODE = "dry"', 'one of prune, shadow', 'prune'],
    [{ MCP_PRUNER_ENABLED: 'maybe' }, 'MCP_PRUNER_ENABLED = "maybe"', 'true or false', 'true'],
    [
      { MCP_PRUNER_UPSTREAM_URL: 'api.openai.com' },
      'MCP_PRUNER_UPSTREAM_URL',
      'http:// or https://',
      'api.openai.com/v1',
    ],
    [{ MCP_PRUNER_HOST: 'http://x' }, 'MCP_PRUNER_HOST', 'a host name or an IP address', '127.0.0.1'],
  ])('is refused in one line with key, value, what is allowed and the default: %o', (env, ...parts) => {
    const [problem = '', ...more] = problemsOfEnv(env as unknown as Record<string, string>);
    expect(more).toEqual([]);
    for (const part of parts) expect(problem).toContain(part);
    expect(problem).not.toContain('\n');
  });

  it('is reported with all its problems at once', () => {
    expect(problemsOfEnv({ MCP_PRUNER_PORT: 'x', MCP_PRUNER_MODE: 'y' })).toHaveLength(2);
  });

  it('is reported without secrets, and without passwords in addresses', () => {
    const [token] = problemsOfEnv({ MCP_PRUNER_AUTH_TOKEN: 'with blank s3cr3t' });
    expect(token).toContain('MCP_PRUNER_AUTH_TOKEN');
    expect(token).not.toContain('s3cr3t');
    const [address] = problemsOfEnv({ MCP_PRUNER_UPSTREAM_URL: 'https://me:s3cr3t@api.example.com/v1' });
    expect(address).toContain('***@api.example.com');
    expect(address).not.toContain('s3cr3t');
  });

  it.each([
    'https://api.example.com/v1?key=s3cr3t',
    'https://api.example.com/v1#s3cr3t',
    `https://api.example.com/${'v'.repeat(200)}?key=s3cr3t`,
    `https://me:${'s3cr3t'.repeat(30)}@api.example.com/v1`,
    'HTTPS://a@b:s3cr3t@api.example.com/v1',
  ])('is reported without a possible key in an address: %s', (url) => {
    for (const problem of [
      ...problemsOfEnv({ MCP_PRUNER_UPSTREAM_URL: url }),
      ...problemsOfEnv({ DEEPINFRA_ENDPOINT_URL: url }),
    ]) {
      expect(problem).toContain('_URL = "');
      expect(problem).not.toContain('s3cr3t');
    }
  });

  it.each(['/v1/chat/completions', '/v1/responses/', '/openai/v1/messages'])(
    'includes an endpoint (%s) as base URL, reported with a valid example',
    (path) => {
      const [problem] = problemsOfEnv({ MCP_PRUNER_UPSTREAM_URL: `https://api.example.com${path}` });
      expect(problem).toContain('such as https://api.openai.com/v1');
    },
  );

  it('is reported with long values shortened and control characters removed', () => {
    const [problem = ''] = problemsOfEnv({ MCP_PRUNER_MODE: `a\n\u001b[31m${'x'.repeat(500)}` });
    expect(problem.length).toBeLessThan(300);
    expect(problem).not.toMatch(/\p{Cc}/u);
  });

  it.each(['https://llm.example.com/v1', 'a b', '127.0.0.1:99999', 'hosts = ["a.test"]'])(
    'is refused where a host could fit no request: %s',
    (hosts) =>
      expect(problemsOfEnv({ MCP_PRUNER_SEAMS_HOSTS: hosts })).toEqual([
        expect.stringMatching(
          /^MCP_PRUNER_SEAMS_HOSTS = .* is not valid: allowed is a list of hosts, such as llm.example.com/,
        ),
      ]),
  );

  it.each([
    ['[mcp_pruner]\nport = "8006"', 'mcp_pruner.port = "8006" is not valid'],
    ['port = 8006', 'every setting belongs below [mcp_pruner]'],
    ['[mcp_prunner]\nport = 8006', 'every setting belongs below [mcp_pruner]'],
    ['mcp_pruner = 3', 'mcp_pruner must be a table'],
    ['[mcp_pruner]\nbackend = "magic"', 'one of heuristic, deepinfra, swe-pruner, cloud'],
    ['[mcp_pruner]\nport = ', `${USER_FILE}:2:8 is not valid TOML`],
  ])('is refused if the file contains %j', (text, expected) => {
    const problems = problemsOf(withFile(text));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(expected);
    expect(problems[0]).toContain(USER_FILE);
    expect(problems[0]).not.toContain('\n');
  });

  it.each([
    ['[mcp_pruner]\ndeepinfra_api_key = "sk-s3cr3t"', 'DEEPINFRA_API_KEY'],
    ['[mcp_pruner]\nauth_token = "s3cr3t"', 'MCP_PRUNER_AUTH_TOKEN'],
    ['[mcp_pruner]\nOPENAI_API_KEY = "sk-s3cr3t"', 'environment variable'],
    ['[upstream.headers]\n"x-api-key" = "s3cr3t"', 'environment variable'],
  ])('is refused if the file contains a secret, without showing it: %j', (text, variable) => {
    const problems = problemsOf(withFile(text));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/looks like a secret/);
    expect(problems[0]).toContain(variable);
    expect(problems[0]).not.toContain('s3cr3t');
  });

  it('is reported without quoting a file that is not valid TOML', () => {
    const [problem] = problemsOf(withFile('[mcp_pruner]\napi_key = s3cr3t'));
    expect(problem).toContain('is not valid TOML');
    expect(problem).not.toContain('s3cr3t');
  });

  it('includes a file that is named but missing', () => {
    expect(problemsOfEnv({ MCP_PRUNER_CONFIG: '/nowhere.toml' })[0]).toMatch(
      /\/nowhere\.toml .*MCP_PRUNER_CONFIG.*ENOENT/,
    );
    expect(problemsOf(machine({ configFile: 'mine.toml' }))[0]).toMatch(/\/work\/here\/mine\.toml .*--config.*ENOENT/);
  });
});

describe('the configuration file', () => {
  it('is the file named by --config, otherwise by MCP_PRUNER_CONFIG, otherwise the user’s file', () => {
    const files = {
      '/a.toml': '[mcp_pruner]\nport = 1',
      '/b.toml': '[mcp_pruner]\nport = 2',
      [USER_FILE]: '[mcp_pruner]\nport = 3',
    };
    const env = { MCP_PRUNER_CONFIG: '/b.toml' };
    expect(loadSettings(machine({ files, env, configFile: '/a.toml' })).settings.port).toBe(1);
    expect(loadSettings(machine({ files, env })).settings.port).toBe(2);
    expect(loadSettings(machine({ files })).settings.port).toBe(3);
  });

  it('is never read from the working directory by default', () => {
    const files = { '/work/here/config.toml': '[mcp_pruner]\nport = 1', '/work/here/config/default.toml': 'x' };
    expect(loadSettings(machine({ files })).settings.port).toBe(8006);
  });

  it('follows XDG_CONFIG_HOME, and APPDATA on Windows', () => {
    const text = '[mcp_pruner]\nport = 5';
    const xdg = machine({ env: { XDG_CONFIG_HOME: '/cfg' }, files: { '/cfg/mcp-pruner/config.toml': text } });
    expect(loadSettings(xdg).settings.port).toBe(5);
    const windows = machine({
      platform: 'win32',
      homeDir: 'C:\\Users\\me',
      cwd: 'C:\\',
      env: { APPDATA: 'C:\\Users\\me\\AppData\\Roaming' },
      files: { 'C:\\Users\\me\\AppData\\Roaming\\mcp-pruner\\config.toml': text },
    });
    expect(loadSettings(windows).settings.port).toBe(5);
  });

  it('causes only a warning if it is the default file and cannot be read', () => {
    const readFile = (): string => {
      throw Object.assign(new Error('no'), { code: 'EACCES' });
    };
    const { settings, warnings } = loadSettings({ ...machine(), readFile });
    expect(settings.port).toBe(8006);
    expect(warnings).toEqual([expect.stringContaining('EACCES')]);
  });
});

describe('the path of the store', () => {
  it.each([
    [machine(), '/home/me/.local/share/mcp-pruner/store.db'],
    [machine({ env: { XDG_DATA_HOME: '/data' } }), '/data/mcp-pruner/store.db'],
    [machine({ env: { XDG_DATA_HOME: 'relative' } }), '/home/me/.local/share/mcp-pruner/store.db'],
    [machine({ env: { MCP_PRUNER_DB_PATH: 'x.db' } }), '/work/here/x.db'],
    [machine({ env: { MCP_PRUNER_DB_PATH: '~/x.db' } }), '/home/me/x.db'],
    [machine({ env: { MCP_PRUNER_DB_PATH: ':memory:' } }), ':memory:'],
    [withFile('[mcp_pruner]\ndb_path = "x.db"'), '/home/me/.config/mcp-pruner/x.db'],
    [
      machine({ platform: 'win32', homeDir: 'C:\\Users\\me', cwd: 'C:\\', env: { LOCALAPPDATA: 'C:\\L' } }),
      'C:\\L\\mcp-pruner\\store.db',
    ],
  ])('is absolute whatever the working directory (case %#)', (input, expected) => {
    expect(loadSettings(input).settings.dbPath).toBe(expected);
  });
});

describe('the choice of the backend', () => {
  const file = '[mcp_pruner]\nbackend = "deepinfra"';

  it.each([
    [{}, 'deepinfra'],
    [{ KIMI_PRUNING_BACKEND: '' }, 'deepinfra'],
    [{ KIMI_PRUNING_BACKEND: 'heuristic' }, 'heuristic'],
    [{ KIMI_PRUNING_BACKEND: 'Cloud' }, 'deepinfra'],
    [{ KIMI_PRUNING_BACKEND: 'swe-pruner' }, 'swe-pruner'],
  ])('overrides deepinfra in a file: %o gives %s', (env, expected) => {
    expect(loadSettings(withFile(file, { env })).settings.backend).toBe(expected);
  });

  it('treats an unknown value as heuristic, with a warning, so that nothing leaves the machine', () => {
    const { settings, warnings } = loadSettings(withFile(file, { env: { KIMI_PRUNING_BACKEND: 'magic' } }));
    expect(settings.backend).toBe('heuristic');
    expect(warnings).toEqual([expect.stringMatching(/KIMI_PRUNING_BACKEND = "magic".*heuristic is used/)]);
  });

  it('is swe-pruner if its address is set and no other backend was chosen', () => {
    const env = { MCP_PRUNER_SWE_PRUNER_URL: 'http://127.0.0.1:8000/prune' };
    const { settings, origins } = loadSettings(machine({ env }));
    expect(settings.backend).toBe('swe-pruner');
    expect(origins.backend).toEqual({ from: 'implied', name: 'MCP_PRUNER_SWE_PRUNER_URL' });
    const chosen = { ...env, KIMI_PRUNING_BACKEND: 'heuristic' };
    expect(loadSettings(machine({ env: chosen })).settings.backend).toBe('heuristic');
  });
});

describe('titles of conversations', () => {
  it.each<[Record<string, string>, boolean]>([
    [{}, true],
    [{ MCP_PRUNER_HOST: '0.0.0.0', MCP_PRUNER_AUTH_TOKEN: 't' }, false],
    [{ MCP_PRUNER_DATABASE_URL: 'postgres://u@127.0.0.1/db' }, false],
    [{ MCP_PRUNER_REQUIRE_KEY: 'true' }, false],
    [{ MCP_PRUNER_REQUIRE_KEY: 'true', MCP_PRUNER_CONVERSATION_TITLES: 'true' }, true],
    [{ MCP_PRUNER_CONVERSATION_TITLES: 'false' }, false],
  ])('with %j are kept: %s', (env, expected) => {
    expect(loadSettings(machine({ env })).settings.conversationTitles).toBe(expected);
  });
});

describe('the minimum size of command output', () => {
  it.each([
    [{}, 1_000],
    [{ MCP_PRUNER_MIN_PRUNE_CHARS: '100000' }, 100_000],
    [{ MCP_PRUNER_MIN_PRUNE_CHARS: '2000' }, 1_000],
  ])('follows a raised general minimum size: %j', (env, expected) => {
    expect(findSettingsOf(loadSettings(machine({ env })).settings).minOutputChars).toBe(expected);
  });
});

describe('a setting of several values', () => {
  it('is a table in the file, its entries in the environment, and fills in defaults', () => {
    const { settings } = loadSettings(withFile('[mcp_pruner]\nchildren = { max = 3, roots = ["/w"] }'));
    expect(settings.children).toMatchObject({ max: 3, roots: ['/w'], memory: 4096 });
    const env = { MCP_PRUNER_CHILDREN: 'max = 4, env = ["A", "B"]' };
    expect(loadSettings(machine({ env })).settings.children).toMatchObject({ max: 4, env: ['A', 'B'], timeout: 3600 });
  });

  it('refuses entries that are unknown or not valid, and text that is no list of entries', () => {
    for (const text of ['maximum = 4', 'max = 0', 'max: 4', '4']) {
      const load = () => loadSettings(machine({ env: { MCP_PRUNER_CHILDREN: text } }));
      expect(load, text).toThrow(
        /^MCP_PRUNER_CHILDREN = .* is not valid: allowed is a table with max = a whole number/,
      );
    }
  });

  it('takes earlier settings of its own for an entry, with a warning, so that no limit is lost', () => {
    const env = { MCP_PRUNER_CHILD_COMMANDS: 'codex', MCP_PRUNER_CHILDREN: 'max = 2', MCP_PRUNER_MAX_CHILDREN: '9' };
    const { settings, warnings } = loadSettings(withFile('[mcp_pruner]\nchild_roots = ["/r"]', { env }));
    expect(settings.children).toMatchObject({ commands: ['codex'], max: 2, roots: ['/r'] });
    expect(warnings).toEqual([
      'MCP_PRUNER_MAX_CHILDREN will go; use max in MCP_PRUNER_CHILDREN',
      'MCP_PRUNER_CHILD_COMMANDS will go; use commands in MCP_PRUNER_CHILDREN',
      `${USER_FILE}: mcp_pruner.child_roots will go; use roots in MCP_PRUNER_CHILDREN`,
    ]);
    const wrong = { MCP_PRUNER_MAX_CHILDREN: '0' };
    expect(() => loadSettings(machine({ env: wrong }))).toThrow(/MCP_PRUNER_MAX_CHILDREN = .* is not valid/);
  });

  it('is printed without secrets', () => {
    const env = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_REGION: 'eu-west-1', no_proxy: 'a.test' };
    const shown = shownSettings(loadSettings(machine({ env })));
    const values = Object.fromEntries(shown.map(({ key, value }) => [key, value]));
    const aws = { accessKeyId: HIDDEN, secretAccessKey: null, sessionToken: null, region: 'eu-west-1', sign: 'own' };
    expect(Object.values(values)).toContainEqual(aws);
    expect(Object.values(values)).toContainEqual({ httpProxy: null, httpsProxy: null, noProxy: ['a.test'] });
  });
});

describe('warnings', () => {
  it.each([
    [{ MCP_PRUNER_PROT: '1' }, 'MCP_PRUNER_PROT is not a setting and is ignored: did you mean MCP_PRUNER_PORT?'],
    [{ MCP_PRUNER_QUITE_ANOTHER_THING: '1' }, 'MCP_PRUNER_QUITE_ANOTHER_THING is not a setting and is ignored'],
    [{ MCP_PRUNER_UPSTREAM_URL: 'http://llm.example.com/v1' }, 'plain http'],
    [{ MCP_PRUNER_ANTHROPIC_URL: 'http://llm.example.com/v1' }, 'plain http'],
    [{ MCP_PRUNER_AUTH_TOKEN: 'short' }, 'short enough to be guessed'],
    [{ KIMI_PRUNING_BACKEND: 'deepinfra' }, 'no DEEPINFRA_API_KEY'],
    [{ MCP_PRUNER_FROB: '1' }, /MCP_PRUNER_FROB is not a setting and is ignored$/],
  ])('are given for %o', (env, expected) => {
    const { warnings } = loadSettings(machine({ env: env as unknown as Record<string, string> }));
    expect(warnings).toEqual([expect.stringMatching(expected)]);
  });

  it('name a key of settings that are given one by one', () => {
    const { warnings } = loadSettings(withFile('[mcp_pruner]\nseams_also = { logins = true }\nseams_logins = true'));
    expect(warnings).toEqual([expect.stringContaining('mcp_pruner.seams_also is not a setting and is ignored')]);
  });

  it('name what is used instead of a retired value', () => {
    const { settings, warnings } = loadSettings(machine({ env: { MCP_PRUNER_COLD_STASH: 'provider' } }));
    expect(settings.coldStash).toBe('on');
    expect(warnings).toEqual([expect.stringMatching(/^MCP_PRUNER_COLD_STASH = provider is read as on: /)]);
  });

  it('name what replaced a retired setting, in the environment and in the file, and never prevent the start', () => {
    const given = withFile('[mcp_pruner]\ntool_shelf = 3\nprot = 1', { env: { MCP_PRUNER_TOOL_SHELF: 'x' } });
    expect(loadSettings(given).warnings).toEqual([
      `${USER_FILE}: mcp_pruner.tool_shelf is not a setting any more and is ignored: clients defer unused tools themselves, and no description is shortened any more`,
      `${USER_FILE}: mcp_pruner.prot is not a setting and is ignored: did you mean port?`,
      expect.stringMatching(/^MCP_PRUNER_TOOL_SHELF is not a setting any more and is ignored: clients defer/),
    ]);
  });

  it('are not given for plain http to this machine, nor for variables of other commands', () => {
    const env = { MCP_PRUNER_UPSTREAM_URL: 'http://localhost:11434/v1', MCP_PRUNER_CWD: '/x', MCP_PRUNER_CONFIG: '' };
    expect(loadSettings(machine({ env })).warnings).toEqual([]);
  });

  it('enables the features of a list and what they imply, without those left out', () => {
    const enabled = (env: Record<string, string>) => loadSettings(machine({ env }));
    const { settings, origins } = enabled({ MCP_PRUNER_ENABLE: 'children,tx,bulk,-bulk' });
    expect(settings.enable).toEqual(['mcp-introspection', 'children', 'tx', 'graphs']);
    expect(origins.enable).toEqual({ from: 'env', name: 'MCP_PRUNER_ENABLE' });
    const file = { files: { '/c.toml': '[mcp_pruner]\nenable = ["fleet", "-locks"]\n' }, configFile: '/c.toml' };
    const fleet = loadSettings(machine(file)).settings.enable;
    expect(fleet).toEqual(expect.arrayContaining(['cnp', 'resources', 'graphs']));
    expect(fleet).not.toContain('locks');
    expect(() => enabled({ MCP_PRUNER_ENABLE: 'childern' })).toThrow(/a list of .*children/);
  });

  it('takes the earlier switch of a feature with a warning', () => {
    const env = { MCP_PRUNER_ENABLE: 'fleet', MCP_PRUNER_ENABLE_BULK: 'false', MCP_PRUNER_ENABLE_CNP: 'true' };
    const { settings, warnings } = loadSettings(machine({ env }));
    expect(settings.enable).toContain('cnp');
    expect(settings.enable).not.toContain('bulk');
    expect(warnings).toEqual([
      'MCP_PRUNER_ENABLE_BULK will go; use -bulk in MCP_PRUNER_ENABLE',
      'MCP_PRUNER_ENABLE_CNP will go; use cnp in MCP_PRUNER_ENABLE',
    ]);
  });

  it('has 70 settings at most', () => {
    expect(edition.settings.rows.length).toBeLessThanOrEqual(70);
  });
});
