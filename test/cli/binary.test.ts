import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { compiled } from '../helpers/built.ts';

const program = compiled('cli.js');
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
let folder: string;
const children: ChildProcess[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-bin-'));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

afterAll(() => rmSync(folder, { recursive: true }));

/** The variables of a machine on which nothing is configured. */
function environment(given: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: folder, ...given };
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the program to its end, from a folder that is not its own. */
function run(args: readonly string[], path = program): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(path, args, { cwd: folder, env: environment() }, (_, out, err) =>
      resolve({ code: child.exitCode, out, err }),
    );
    child.stdin?.end();
  });
}

/** Starts the server on a free port and waits until it says where it listens. */
async function startServer(
  env: Record<string, string> = {},
): Promise<{ child: ChildProcess; line: Record<string, string> }> {
  const child = spawn(program, ['serve', '--port', '0'], { cwd: folder, env: environment(env) });
  children.push(child);
  let out = '';
  for await (const chunk of child.stdout) {
    out += String(chunk);
    const line = out.split('\n').find((text) => text.includes('"url"'));
    if (line !== undefined) return { child, line: JSON.parse(line) as Record<string, string> };
  }
  throw new Error(`the server ended: ${out}`);
}

describe('the built program', () => {
  it('runs as a command from any folder, also through a symbolic link', async () => {
    const link = join(folder, 'linked');
    symlinkSync(program, link);
    expect(await run(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
    expect(await run(['--version'], link)).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  it('runs as an MCP server if no command is given, and exits silently when its input ends', async () => {
    expect(await run([])).toEqual({ code: 0, out: '', err: '' });
  });

  it('serves, prints its address, and exits with code 0 on SIGTERM', async () => {
    const { child, line } = await startServer({ MCP_PRUNER_UPSTREAM_URL: 'http://127.0.0.1:9/v1/' });
    expect(line).toMatchObject({
      upstreamUrl: 'http://127.0.0.1:9/v1',
      dbPath: join(folder, '.local/share/mcp-pruner/store.db'),
      OPENAI_BASE_URL: `${line.url}/v1`,
    });
    const health = await fetch(`${line.url}/health`);
    expect(await health.json()).toMatchObject({ status: 'healthy', version });
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('lets a request in progress finish after SIGTERM', async () => {
    const upstream = createServer((_req, res) => res.write('first ')); // answers begin and do not end yet
    const arrived = once(upstream, 'request');
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const address = upstream.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { child, line } = await startServer({ MCP_PRUNER_UPSTREAM_URL: `http://127.0.0.1:${port}/v1` });
    const answer = await fetch(`${line.url}/v1/chat/completions`, { method: 'POST', body: '{"messages":[]}' });
    const [, res] = (await arrived) as [unknown, import('node:http').ServerResponse];
    child.kill('SIGTERM');
    await expect
      .poll(() =>
        fetch(`${line.url}/health`).then(
          () => 'up',
          () => 'down',
        ),
      )
      .toBe('down');
    res.end('last');
    expect(await answer.text()).toBe('first last');
    expect(await once(child, 'exit')).toEqual([0, null]);
    upstream.close();
  });
});
