import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { secretsOf } from '@mcp-pruner/agents/secrets.ts';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { childEnvironment, maySet } from '../src/children/environment.ts';
import { Places } from '../src/children/places.ts';

/** A root with an allowed program in it, and another program and a folder outside. */
function places() {
  const folder = tempFolder();
  const [root, outside] = [join(folder, 'root'), join(folder, 'outside')];
  for (const one of [root, outside, join(root, 'bin')]) mkdirSync(one);
  const program = (path: string) => {
    writeFileSync(path, '#!/bin/true\n');
    chmodSync(path, 0o755);
    return path;
  };
  const [allowed, other] = [program(join(root, 'bin', 'agent')), program(join(outside, 'agent'))];
  return { root, outside, allowed, other, of: new Places([allowed, 'codex'], [root], outside) };
}

describe('the list of allowed commands', () => {
  it('admits no unlisted file, whatever its name', () => {
    const { root, allowed, other, of } = places();
    const link = join(root, 'bin', 'link');
    symlinkSync(other, link);
    const copy = join(root, 'copy');
    copyFileSync(allowed, copy);
    const relative = 'bin/agent';
    const dots = join(root, 'bin').concat('/../../outside/agent');
    const upper = join(root, 'bin', 'AGENT');
    for (const command of [other, link, copy, relative, 'agent', dots, upper, join(root, 'bin'), `${allowed}\0`, '']) {
      expect(() => of.commandFile(command), command).toThrow('E-CHILD-COMMAND');
    }
    expect(of.commandFile(allowed)).toBe(allowed);
  });

  it('contains agent names, which are looked up only in the server’s own PATH', () => {
    const { of } = places();
    expect(['codex', 'CODEX', 'claude', '../codex', ''].map((name) => of.allowsAgent(name))).toEqual([
      true,
      ...Array.from({ length: 4 }, () => false),
    ]);
    expect(() => of.agentFile('codex')).toThrow('E-CHILD-COMMAND');
  });
});

describe('the allowed root folders', () => {
  it('cannot be escaped through symbolic links or dot segments', () => {
    const { root, outside, of } = places();
    symlinkSync(outside, join(root, 'way-out'));
    writeFileSync(join(outside, 'codex.json'), '{}');
    symlinkSync(join(outside, 'codex.json'), join(root, 'codex.json'));
    for (const cwd of ['way-out', '..', '../outside', outside, '/', `${root}-beside`]) {
      expect(() => of.folder(cwd), cwd).toThrow('E-CHILD-COMMAND');
    }
    for (const path of ['codex.json', 'way-out/codex.json', '../outside/codex.json', 'bin']) {
      expect(() => of.manifest(path, 1_000), path).toThrow('E-CHILD-MANIFEST');
    }
  });
});

describe('the variables that a call may set', () => {
  // each makes some program load a file, start another one, or read settings from elsewhere
  const dangerous = [
    ...['BASH_ENV', 'ENV', 'SHELLOPTS', 'PS4', 'PROMPT_COMMAND', 'IFS', 'CDPATH', 'ZDOTDIR', 'FPATH', 'PATH', 'SHELL'],
    ...[
      'PERL5OPT',
      'PERL5LIB',
      'PERLLIB',
      'PYTHONPATH',
      'PYTHONSTARTUP',
      'PYTHONHOME',
      'PYTHONINSPECT',
      'PYTHONWARNINGS',
    ],
    ...['RUBYOPT', 'RUBYLIB', 'GEM_HOME', 'BUNDLE_GEMFILE', 'JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS'],
    ...[
      'GIT_SSH_COMMAND',
      'GIT_EXTERNAL_DIFF',
      'GIT_CONFIG_COUNT',
      'GIT_DIR',
      'GIT_PAGER',
      'GIT_EDITOR',
      'PAGER',
      'EDITOR',
    ],
    ...['HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_DIRS', 'APPDATA', 'USERPROFILE', 'TMPDIR', 'BROWSER', 'LESSOPEN'],
    ...[
      'CODEX_HOME',
      'CLAUDE_CONFIG_DIR',
      'GEMINI_CLI_HOME',
      'OPENCODE_CONFIG',
      'OPENCODE_CONFIG_CONTENT',
      'COPILOT_HOME',
    ],
    ...[
      'NODE_OPTIONS',
      'NODE_PATH',
      'NODE_EXTRA_CA_CERTS',
      'NPM_CONFIG_PREFIX',
      'npm_config_script_shell',
      'BUN_INSTALL',
    ],
    ...['LD_PRELOAD', 'LD_AUDIT', 'DYLD_INSERT_LIBRARIES', 'GLIBC_TUNABLES', 'GCONV_PATH', 'LOCPATH', 'TERMINFO'],
    ...['OPENSSL_CONF', 'SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'HTTP_PROXY', 'https_proxy', 'ALL_PROXY', 'NO_PROXY'],
    ...[
      'OPENAI_BASE_URL',
      'ANTHROPIC_BASE_URL',
      'MCP_PRUNER_DB_PATH',
      'RUSTC_WRAPPER',
      'CARGO_HOME',
      'GOFLAGS',
      'LUA_INIT',
    ],
    ...[
      'DOTNET_STARTUP_HOOKS',
      'PHPRC',
      'PHP_INI_SCAN_DIR',
      'R_PROFILE',
      'JULIA_LOAD_PATH',
      'KUBECONFIG',
      'AWS_CONFIG_FILE',
    ],
    ...['MY', 'my_setting', 'MY_setting', 'XMY_SETTING', 'MY_\n', 'LC_', 'TASKS_X', ''],
  ];

  it('include only harmless ones: no other name is accepted, whatever its prefix', () => {
    expect(dangerous.filter((name) => maySet(name))).toEqual([]);
    for (const name of ['MY_SETTING', 'TASK_ID', 'JOB_1', 'LANG', 'LC_ALL', 'TZ', 'NO_COLOR', 'OPENAI_API_KEY']) {
      expect(maySet(name), name).toBe(true);
    }
  });

  it('include those that the configuration allows', () => {
    const allowed = ['PYTHONPATH', 'GIT_AUTHOR_*'];
    const asked = ['PYTHONPATH', 'PYTHONHOME', 'GIT_AUTHOR_NAME', 'GIT_DIR', 'PATH'];
    expect(asked.filter((name) => maySet(name, allowed))).toEqual(['PYTHONPATH', 'GIT_AUTHOR_NAME']);
  });
});

describe('the environment of a child', () => {
  it('contains none of the server’s own settings, even if listed, and no secret that is not listed', () => {
    const server = {
      PATH: '/bin',
      OPENAI_API_KEY: 'of the provider',
      GEMINI_API_KEY: 'named',
      MCP_PRUNER_AUTH_TOKEN: 'secret',
      MCP_PRUNER_DATABASE_URL: 'postgres://user:secret@host/db',
      DEEPINFRA_API_KEY: 'secret',
      AWS_SECRET_ACCESS_KEY: 'secret',
    };
    const named = ['GEMINI_API_KEY', 'MCP_PRUNER_AUTH_TOKEN', 'MCP_PRUNER_DATABASE_URL', 'DEEPINFRA_API_KEY'];
    const address = { childId: 'c', token: 'the-token', url: 'http://127.0.0.1:1/child/the-token' };
    const env = childEnvironment(server, named, {}, { OWN: 'set' }, address);
    expect(env).toMatchObject({ PATH: '/bin', OPENAI_API_KEY: 'of the provider', GEMINI_API_KEY: 'named', OWN: 'set' });
    expect(JSON.stringify(env)).not.toContain('secret');
    expect(env.GOOGLE_GEMINI_BASE_URL).toBe(address.url);
    const reserved = ['PATH', 'LD_PRELOAD', 'NODE_OPTIONS', 'MCP_PRUNER_CHILD_TOKEN', 'GOOGLE_GEMINI_BASE_URL'];
    expect(reserved.filter((name) => maySet(name, ['*']))).toEqual([]);
    expect(secretsOf({ MY_API_KEY: 'a long value', KEYBOARD: 'a long value', SHORT_TOKEN: 'abc' })).toEqual([
      'a long value',
    ]);
  });
});
