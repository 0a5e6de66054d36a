import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { childEnvironment, maySet, secretsOf } from '../../src/fleet/children/environment.ts';
import { Places } from '../../src/fleet/children/places.ts';
import { tempFolder } from '../helpers/afterwards.ts';

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

describe('the list of commands', () => {
  it('is passed by no other file, however it is named', () => {
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

  it('names agents that are looked for in the server’s own PATH alone', () => {
    const { of } = places();
    expect(['codex', 'CODEX', 'claude', '../codex', ''].map((name) => of.allowsAgent(name))).toEqual([
      true,
      ...Array.from({ length: 4 }, () => false),
    ]);
    expect(() => of.agentFile('codex')).toThrow('E-CHILD-COMMAND');
  });
});

describe('the roots', () => {
  it('are left by no link and no dots', () => {
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

describe('the environment of a child', () => {
  it('holds none of the server’s own settings, whoever names them, and no secret that nobody named', () => {
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
    expect(reserved.filter(maySet)).toEqual([]);
    expect(secretsOf({ MY_API_KEY: 'a long value', KEYBOARD: 'a long value', SHORT_TOKEN: 'abc' })).toEqual([
      'a long value',
    ]);
  });
});
