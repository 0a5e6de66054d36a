import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog, type Log } from '../../src/observe/log.ts';

let folder: string;
let file: string;
let fd: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-log-'));
  file = join(folder, 'log');
  fd = openSync(file, 'w');
});

afterEach(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

/** The log in one file that a process of its own can load. */
async function bundledLog(): Promise<string> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL('../../src/observe/log.ts', import.meta.url)),
    platform: 'node',
    external: ['pino-pretty'],
  });
  const path = join(folder, 'log.mjs');
  await bundle.write({ file: path, format: 'esm' });
  await bundle.close();
  return pathToFileURL(path).href;
}

/** What was written, once it ends with the end of a line. */
async function written(): Promise<string> {
  await expect.poll(() => readFileSync(file, 'utf8')).toMatch(/\n$/);
  return readFileSync(file, 'utf8');
}

async function lineOf(write: (log: Log) => void): Promise<Record<string, unknown>> {
  const log = createLog({ level: 'info', fd });
  write(log);
  return JSON.parse(await written()) as Record<string, unknown>;
}

describe('the log', () => {
  it('writes one JSON object per line, with the level as a word and the time in ISO format', async () => {
    const line = await lineOf((log) => log.info({ tokensSaved: 12, model: 'm' }, 'request'));
    expect(line).toMatchObject({ level: 'info', msg: 'request', tokensSaved: 12, model: 'm' });
    expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('writes no entries below its level', async () => {
    const log = createLog({ level: 'warn', fd });
    log.info('no');
    log.warn('yes');
    expect((await written()).trim().split('\n')).toHaveLength(1);
  });

  it('never writes a credential, wherever it occurs', async () => {
    const line = await lineOf((log) =>
      log.info(
        {
          headers: { Authorization: 'Bearer s3cr3t', 'x-api-key': 's3cr3t', cookie: ['s3cr3t'], accept: 'kept' },
          list: [{ deepinfraApiKey: 's3cr3t' }],
          note: 'Bearer s3cr3t',
          password: 's3cr3t',
          authToken: 's3cr3t',
          tokensBefore: 5,
        },
        'request',
      ),
    );
    expect(JSON.stringify(line)).not.toContain('s3cr3t');
    expect(line).toMatchObject({ headers: { accept: 'kept' }, tokensBefore: 5 });
  });

  it('logs only the type, code, stack frames and cause of an error', async () => {
    const cause = Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED', body: 'private text' });
    const line = await lineOf((log) => log.error({ err: new Error('no upstream', { cause }) }, 'failed'));
    expect(line.err).toMatchObject({
      type: 'Error',
      message: 'no upstream',
      stack: expect.stringContaining('log.test.ts'),
      cause: { code: 'ECONNREFUSED', message: 'connect failed' },
    });
    expect(JSON.stringify(line)).not.toContain('private text');
  });

  it('does not quote the text that could not be parsed', async () => {
    const line = await lineOf((log) => {
      try {
        JSON.parse('{"content": private text}');
      } catch (err) {
        log.warn({ err }, 'body not understood');
      }
    });
    expect(JSON.stringify(line)).not.toContain('private');
    expect(line.err).toMatchObject({ type: 'SyntaxError' });
  });

  it('does not change the logged object', async () => {
    const fields = { headers: { authorization: 'Bearer s3cr3t' } };
    await lineOf((log) => log.info(fields, 'request'));
    expect(fields.headers.authorization).toBe('Bearer s3cr3t');
  });

  it('writes the transformed line if requested', async () => {
    const log = createLog({ level: 'info', fd, render: (line) => `${JSON.parse(line).msg}!\n` });
    log.info({ url: 'http://127.0.0.1:8006' }, 'listening');
    await expect.poll(() => readFileSync(file, 'utf8')).toBe('listening!\n');
  });

  it.runIf(process.platform === 'linux')('continues when the disk is full', async () => {
    const full = openSync('/dev/full', 'w');
    const log = createLog({ level: 'info', fd: full });
    for (let i = 0; i < 3; i++) {
      log.info('lost');
      await new Promise((resolve) => setImmediate(resolve));
    }
    closeSync(full);
  });

  it.runIf(process.platform === 'linux').each(['a pipe without a reader', 'a full disk'])(
    'lets the process exit if the log cannot be written: %s',
    async (where) => {
      const script = `import { openSync } from 'node:fs';
        const { createLog } = await import(${JSON.stringify(await bundledLog())});
        const log = createLog({ level: 'info', fd: ${where === 'a full disk' ? "openSync('/dev/full', 'w')" : '1'} });
        log.info('lost');
        process.exit(7);`;
      const shell = `"$0" --input-type=module -e "$1" | exec true; exit "\${PIPESTATUS[0]}"`;
      const { status } = spawnSync('bash', ['-c', shell, process.execPath, script], { timeout: 20_000 });
      expect(status).toBe(7);
    },
  );

  it('is complete if the process exits right after writing', async () => {
    const module = JSON.stringify(await bundledLog());
    const script = `const { createLog } = await import(${module});
      const log = createLog({ level: 'info', fd: 1 });
      for (let i = 0; i < 500; i++) log.info({ i }, 'x'.repeat(200));
      process.exit(0);`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect(stdout.trim().split('\n')).toHaveLength(500);
  });
});
