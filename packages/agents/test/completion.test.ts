import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { typedHere } from 'mcp-pruner/cli/typed-here.ts';
import { commands } from 'mcp-pruner/commands.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';

describe('mcp-pruner setup --completion', () => {
  const listed = Object.entries(commands).flatMap(([name, { group }]) => (group === undefined ? [] : name));

  it.each(['bash', 'zsh', 'fish'])('prints a script for %s with every listed command', async (shell) => {
    const { code, out } = await run(['setup', '--completion', shell]);
    expect(code).toBe(0);
    for (const name of listed) expect(out).toMatch(new RegExp(`\\b${name}\\b`));
  });

  it.skipIf(spawnSync('bash', ['--version']).status !== 0)('completes commands, agents and options', async () => {
    const { out: script } = await run(['completion', 'bash']);
    const complete = (...words: string[]): string[] => {
      const line = `COMP_WORDS=(mcp-pruner ${words.join(' ')}); COMP_CWORD=${words.length}; _mcp_pruner; echo "\${COMPREPLY[@]}"`;
      return execFileSync('bash', ['-c', `${script}\n${line}`], { encoding: 'utf8' })
        .trim()
        .split(' ');
    };
    expect(complete('rec')).toEqual(['recover', 'recall']);
    expect(complete('run', 'cl')).toEqual(['claude', 'cline']);
    expect(complete('setup', 'claude', '--un')).toEqual(['--undo']);
  });

  it('names the shells if it does not know one', async () => {
    expect(await run(['completion', 'ksh'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('bash, zsh, fish'),
    });
  });
});

describe('a hint', () => {
  const names = Object.keys(commands);
  const hint =
    'no proxy runs; mcp-pruner serve starts one. The service mcp-pruner is not installed; npx mcp-pruner why';

  /** A clone, and a folder of PATH with a command that leads to `target`. */
  function machine(target: 'clone' | 'other') {
    const root = tempFolder();
    const [clone, other, bin] = ['clone', 'other', 'bin'].map((name) => join(root, name)) as [string, string, string];
    for (const folder of [join(clone, 'bin'), join(other, 'bin'), bin]) mkdirSync(folder, { recursive: true });
    for (const home of [clone, other]) {
      writeFileSync(join(home, 'bin/mcp-pruner.js'), '');
      chmodSync(join(home, 'bin/mcp-pruner.js'), 0o755);
    }
    symlinkSync(join(target === 'clone' ? clone : other, 'bin/mcp-pruner.js'), join(bin, 'mcp-pruner'));
    return { script: join(clone, 'bin/mcp-pruner.js'), bin };
  }

  it('names the program alone if the shell finds this installation', () => {
    const { script, bin } = machine('clone');
    expect(typedHere(names, { env: { PATH: bin }, argv: ['node', script] })(hint)).toBe(hint);
  });

  it.each(['clone without PATH', 'another installation'])('names npx in a %s', (where) => {
    const { script, bin } = machine(where === 'another installation' ? 'other' : 'clone');
    const path = where === 'another installation' ? bin : '/nowhere';
    expect(typedHere(names, { env: { PATH: path }, argv: ['node', script] })(hint)).toBe(
      'no proxy runs; npx mcp-pruner serve starts one. The service mcp-pruner is not installed; npx mcp-pruner why',
    );
  });

  it('is not misled by the folders that npx adds to PATH', () => {
    const { script } = machine('clone');
    const folder = join(tempFolder(), 'node_modules/.bin');
    mkdirSync(folder, { recursive: true });
    symlinkSync(script, join(folder, 'mcp-pruner'));
    expect(typedHere(names, { env: { PATH: folder }, argv: ['node', script] })('mcp-pruner serve')).toBe(
      'npx mcp-pruner serve',
    );
  });
});
