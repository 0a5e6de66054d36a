import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { takeLock } from '../build/lock.mjs';
import { tempFolder } from './helpers/afterwards.ts';
import { projectRoot } from './helpers/project-files.ts';

describe('the lock of a build', () => {
  it('makes a second process wait until the first one releases it', () => {
    const folder = tempFolder();
    const file = join(folder, 'build.lock');
    writeFileSync(file, String(process.ppid)); // a process that lives
    let waits = 0;
    const release = takeLock(file, 'waiting', () => {
      waits++;
      if (waits === 3) rmSync(file);
    });
    expect([waits, readFileSync(file, 'utf8')]).toEqual([3, String(process.pid)]);
    release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is taken over from a dead process, and left to a process that took it over before', () => {
    const file = join(tempFolder(), 'build.lock');
    const { pid } = spawnSync('true');
    writeFileSync(file, String(pid));
    const release = takeLock(file, 'waiting', () => expect.unreachable('it waits for a dead process'));
    expect(readFileSync(file, 'utf8')).toBe(String(process.pid));
    writeFileSync(file, String(process.ppid));
    release();
    expect(readFileSync(file, 'utf8')).toBe(String(process.ppid));
  });
});

describe('the command in a clone', () => {
  it('exists before the first build, and prints what to do in one line', () => {
    const { bin, files } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
      readonly bin: Readonly<Record<'mcp-pruner', string>>;
      readonly files: readonly string[];
    };
    const text = readFileSync(join(projectRoot, bin['mcp-pruner']), 'utf8');
    expect(files).toContain(bin['mcp-pruner'].split('/')[0]);
    const folder = tempFolder();
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const at = join(folder, 'bin.js');
    writeFileSync(at, text.replace('../dist/', './dist/'));
    expect(existsSync(join(folder, 'dist'))).toBe(false);
    const { status, stdout, stderr } = spawnSync(process.execPath, [at, '--version'], { encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: 'mcp-pruner: not built yet: run npm start (or npm run build) first\n',
    });
  });
});
