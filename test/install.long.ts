import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { installNode } from './helpers/install-node.ts';
import { projectFiles, projectRoot } from './helpers/project-files.ts';

/** Far more than an installation takes on a busy machine. */
const MAX_MS = 3_600_000;

/** The program of npm itself, as a JavaScript file. */
function npmProgram(): string {
  const { npm_execpath: running } = process.env;
  if (running !== undefined) return running;
  return join(execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim(), 'npm/bin/npm-cli.js');
}

it.each([22, 24])(
  'a clone installs from its lock file and serves on Node %i with only node and npm in PATH',
  async (major) => {
    const folder = mkdtempSync(join(tmpdir(), `mcp-pruner-install-${major}-`));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }), MAX_MS);
    const node = installNode(major, join(folder, 'node'));
    const bin = join(folder, 'bin');
    const copy = join(folder, 'copy');
    mkdirSync(bin);
    symlinkSync(node, join(bin, 'node'));
    writeFileSync(join(bin, 'npm'), `#!${node}\nrequire(${JSON.stringify(npmProgram())})`, { mode: 0o755 });
    for (const file of projectFiles()) {
      mkdirSync(dirname(join(copy, file)), { recursive: true });
      cpSync(join(projectRoot, file), join(copy, file));
    }
    // without what a surrounding npm sets: the clone's own .npmrc has to do
    const outer = Object.entries(process.env).filter(
      ([name]) => !/^npm_(?:config_(?:ignore|nodedir)|lifecycle|package)/.test(name),
    );
    const env = { ...Object.fromEntries(outer), PATH: bin };
    execFileSync(join(bin, 'npm'), ['install', '--no-audit', '--no-fund'], { cwd: copy, env, stdio: 'pipe' });
    const lock = 'package-lock.json'; // a changed one conflicts with the next git pull
    expect(readFileSync(join(copy, lock), 'utf8')).toBe(readFileSync(join(projectRoot, lock), 'utf8'));
    execFileSync(node, ['build/build.mjs'], { cwd: copy, env, stdio: 'pipe' });
    const server = spawn(node, ['dist/cli.js', 'serve'], {
      cwd: copy,
      env: { ...env, HOME: folder, MCP_PRUNER_PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => {
      server.kill('SIGKILL');
    });
    let url = '';
    const lines: string[] = [];
    for await (const line of createInterface({ input: server.stdout })) {
      lines.push(line);
      url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? '';
      if (url !== '') break;
    }
    expect(url, lines.join('\n')).not.toBe('');
    const health = await (await fetch(`${url}/health`)).json();
    expect(health, lines.join('\n')).toMatchObject({ status: 'healthy', store: 'ok' });
  },
  MAX_MS,
);
