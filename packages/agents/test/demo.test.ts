import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { compiled } from '../../../test/helpers/built.ts';
import { projectRoot } from '../../../test/helpers/project-files.ts';

beforeAll(() => void compiled('cli.js'), 120_000);

interface LockedPackage {
  readonly dev?: boolean;
}

describe('the demonstration', () => {
  it('shows cuts, recovers lines and keeps the prefix, using only installed files', () => {
    const folder = tempFolder();
    cpSync(join(compiled('cli.js'), '..'), join(folder, 'dist'), { recursive: true });
    cpSync(join(projectRoot, 'package.json'), join(folder, 'package.json'));
    const { packages } = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, LockedPackage>>;
    };
    mkdirSync(join(folder, 'node_modules'));
    for (const [path, { dev }] of Object.entries(packages)) {
      const name = path.replace('node_modules/', '');
      // users of Node 20 install its driver themselves
      if ((dev && name !== 'better-sqlite3') || path === '' || name.includes('/')) continue;
      symlinkSync(join(projectRoot, path), join(folder, path));
    }
    const out = execFileSync(process.execPath, [join(folder, 'dist/cli.js'), 'demo'], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH ?? '', HOME: folder },
    });
    expect(out).toMatch(/service log .* 715 -> \d{2} .* -[89]\d %/);
    expect(out).toMatch(/src\/objects\/statement\.cpp .* whole\n/);
    expect(out).toMatch(/src\/objects\/database\.cpp, with a question .* -[2-9]\d %\n/);
    expect(out).toContain('exactly the original');
    expect(out).toMatch(/turn 4 begins with the \d+ bytes forwarded in turn 3: yes/);
  });

  it('names the remedy in one line if the SQLite driver was not compiled, as does doctor', () => {
    const folder = tempFolder();
    cpSync(join(compiled('cli.js'), '..'), join(folder, 'dist'), { recursive: true });
    cpSync(join(projectRoot, 'package.json'), join(folder, 'package.json'));
    const env = { PATH: process.env.PATH ?? '', HOME: folder };
    const run = (command: string) =>
      spawnSync(process.execPath, [join(folder, 'dist/cli.js'), command], { encoding: 'utf8', cwd: folder, env });
    const demo = run('demo');
    expect([demo.status, demo.stdout]).toEqual([1, '']);
    expect(demo.stderr).toMatch(/SQLite's driver cannot be loaded on Node .*(C\+\+ compiler|npm install)/);
    expect(demo.stderr).not.toContain('    at ');
    const doctor = run('doctor');
    expect([doctor.status, doctor.stdout]).toEqual([1, expect.stringMatching(/FAIL {2}SQLite cannot be used/)]);
    // as npm leaves it that runs no scripts: the package without its binary
    for (const name of ['better-sqlite3', 'better-sqlite3-13']) {
      const at = join(folder, 'node_modules', name);
      mkdirSync(at, { recursive: true });
      writeFileSync(
        join(at, 'index.js'),
        'module.exports = class { constructor() { throw new Error("no bindings"); } };',
      );
    }
    const uncompiled = run('demo');
    expect([uncompiled.status, uncompiled.stdout]).toEqual([1, '']);
    expect(uncompiled.stderr).toMatch(/SQLite's driver cannot be loaded on Node .*(C\+\+ compiler|npm install)/);
  });
});
