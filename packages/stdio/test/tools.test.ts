import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalClient, RawClient } from './helpers/client.ts';

let folder: string;
let server: RawClient;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-stdio-'));
  mkdirSync(join(folder, 'sub'));
  writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n');
  writeFileSync(join(folder, 'sub/b.txt'), 'two deep\n-dash\n');
  server = new RawClient({ env: { MCP_PRUNER_CWD: folder }, cwd: '/', keep: true });
});

afterAll(() => {
  server.child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

const read = (file_path: string) => server.call('read', { file_path });
const bash = (command: string) => server.call('bash', { command });
const grep = (pattern: string, path?: string) =>
  server.call('grep', { pattern, ...(path === undefined ? {} : { path }) });

describe('read', () => {
  it.each([
    ['white space at both ends', '  \n\n text \t\n\n'],
    ['CR LF, no last line end', 'a\r\nb\r\nc'],
    ['a byte order mark', '\ufeffx\n'],
    ['NUL and control characters', 'a\u0000b\u001b[0m\u007f\u2028\n'],
    ['characters of all lengths', 'é€😀\n'],
    ['nothing', ''],
    ['quotes and backslashes', '{"a":"\\n"}\n'],
  ])('returns a file unchanged: %s', async (_, text) => {
    writeFileSync(join(folder, 'case'), text);
    expect(await read('case')).toBe(text);
  });

  it('shows bytes that are not UTF-8 as replacement characters', async () => {
    writeFileSync(join(folder, 'case'), Buffer.from([0x61, 0xff, 0xe2, 0x82, 0x0a]));
    expect(await read('case')).toBe('a\ufffd\ufffd\n');
  });

  it('accepts absolute paths, and relative ones from MCP_PRUNER_CWD, in any folder', async () => {
    expect(await read(join(folder, 'a.txt'))).toBe('one\ntwo\n');
    expect(await read('sub/b.txt')).toBe('two deep\n-dash\n');
    expect(await read('sub/../a.txt')).toBe('one\ntwo\n');
    expect(await read(`${'../'.repeat(20)}etc/hostname`)).toBe(await bash('cat /etc/hostname'));
  });

  it("reports the file system's reason for a failure", async () => {
    const missing = join(folder, 'missing');
    expect(await read('missing')).toBe(`Error reading file: ENOENT: no such file or directory, open '${missing}'`);
    expect(await read('.')).toBe('Error reading file: EISDIR: illegal operation on a directory, read');
    expect(await read('')).toMatch(/^Error reading file: EISDIR/);
    expect(await read('a.txt/x')).toMatch(/^Error reading file: ENOTDIR/);
    expect(await read('a\u0000b')).toMatch(/^Error reading file: .*null bytes/);
    symlinkSync('loop', join(folder, 'loop'));
    expect(await read('loop')).toMatch(/^Error reading file: ELOOP/);
  });

  it('does not wait for a process to write to a named pipe', async () => {
    await bash('mkfifo pipe');
    expect(await read('pipe')).toBe('');
  });

  it('ignores unknown arguments', async () => {
    expect(await server.call('read', { file_path: 'a.txt', offset: 1, limit: 1 })).toBe('one\ntwo\n');
  });
});

describe('bash', () => {
  it.each([
    ['echo out', 'out\n'],
    ['printf out', 'out'],
    ['printf out; printf err >&2', 'out\n[stderr]\nerr'],
    ['echo err >&2', '\n[stderr]\nerr\n'],
    ['echo out; exit 3', 'out\n\n[exit code: 3]'],
    ['exit 1', '\n[exit code: 1]'],
    ['printf out; printf err >&2; exit 2', 'out\n[stderr]\nerr\n[exit code: 2]'],
    ['kill -9 $$', '\n[exit code: null]'],
    ['true', '(no output)'],
    ['', '(no output)'],
    ['printf ""; printf "" >&2', '(no output)'],
    ['printf "\\n"', '\n'],
  ])('joins the outputs of %j: %j', async (command, text) => {
    expect(await bash(command)).toBe(text);
  });

  it('reports errors of the shell itself', async () => {
    expect(await bash('no-such-command-here')).toMatch(
      /^\n\[stderr\]\n.*no-such-command-here: command not found\n\n\[exit code: 127\]$/,
    );
  });

  it('runs commands with Bash in MCP_PRUNER_CWD, with the environment of the server', async () => {
    expect(await bash('pwd -P; echo "$MCP_PRUNER_CWD"; [[ -n $BASH_VERSION ]] && echo bash')).toBe(
      `${folder}\n${folder}\nbash\n`,
    );
  });

  it('gives commands no access to the protocol input', async () => {
    const reading = bash('cat; echo end');
    expect(await server.request('ping')).toMatchObject({ result: {} });
    expect(await reading).toBe('end\n');
  });

  it('reports why a command could not be started', async () => {
    const message = /^Error executing command: spawn bash ENOENT$/;
    const elsewhere = new LocalClient({ env: { MCP_PRUNER_CWD: join(folder, 'missing') } });
    expect(await elsewhere.call('bash', { command: 'true' })).toMatch(message);
    const without = new LocalClient({ env: { PATH: folder } });
    expect(await without.call('bash', { command: 'true' })).toMatch(message);
    expect(await bash('a\u0000b')).toMatch(/^Error executing command: .*null bytes/);
    expect(await bash(`: ${'x'.repeat(3_000_000)}`)).toMatch(/^Error executing command: spawn E2BIG$/);
  });
});

describe('grep', () => {
  it('returns matches as grep prints them, from the working directory if no path is given', async () => {
    expect((await grep('two')).split('\n').sort()).toEqual(['', './a.txt:2:two', './sub/b.txt:1:two deep']);
    expect(await grep('two', 'a.txt')).toBe('2:two\n');
    expect(await grep('^t.o$', 'sub/../a.txt')).toBe('2:two\n');
    expect(await grep('deep', join(folder, 'sub'))).toBe(`${folder}/sub/b.txt:1:two deep\n`);
  });

  it('reports when nothing matches', async () => {
    expect(await grep('three')).toBe('(no matches found)');
  });

  it('returns error messages of grep as an error', async () => {
    expect(await grep('[', 'a.txt')).toMatch(/^Error: grep: .+\n$/);
    expect(await grep('two', 'missing')).toBe('Error: grep: missing: No such file or directory\n');
  });

  it('accepts a pattern or a path that begins with a dash', async () => {
    expect(await grep('-dash', 'sub')).toBe('sub/b.txt:2:-dash\n');
    expect(await grep('--version', 'sub')).toBe('(no matches found)');
    expect(await grep('two', '--help')).toBe('Error: grep: --help: No such file or directory\n');
  });

  it('uses the exit code of grep, and returns its output if it fails without an error message', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'grep'), '#!/bin/sh\necho "$*"\nexit 2\n', { mode: 0o755 });
    const client = new LocalClient({ env: { PATH: `${bin}:${process.env.PATH}` } });
    expect(await client.call('grep', { pattern: 'a b' })).toBe('-rn --color=never a b .\n');
    writeFileSync(join(bin, 'grep'), '#!/bin/sh\nexit 2\n');
    expect(await client.call('grep', { pattern: 'x' })).toBe('(no matches found)');
    writeFileSync(join(bin, 'grep'), '#!/bin/sh\necho odd; echo odd >&2; exit 1\n');
    expect(await client.call('grep', { pattern: 'x' })).toBe('(no matches found)');
    writeFileSync(join(bin, 'grep'), '#!/bin/sh\necho match; echo odd >&2\n');
    expect(await client.call('grep', { pattern: 'x' })).toBe('match\n');
  });

  it('reports why grep could not be started', async () => {
    const client = new LocalClient({ env: { PATH: folder } });
    expect(await client.call('grep', { pattern: 'x' })).toBe('Error executing grep: spawn grep ENOENT');
  });
});
