import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { coldProgram } from '../../../test/helpers/built.ts';
import { PRUNE_OPTIONS } from '../../../test/helpers/prune-options.ts';
import { environment, LocalClient, RawClient, textOf } from './helpers/client.ts';

let folder: string;
let env: Record<string, string>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-all-'));
  env = { HOME: folder, MCP_PRUNER_DB_PATH: join(folder, 'store.db'), MCP_PRUNER_CWD: folder };
  writeFileSync(join(folder, 'a.txt'), 'one\n');
});

afterAll(() => rmSync(folder, { recursive: true }));

const log = Array.from({ length: 400 }, (_, i) => `12:00:${i} INFO served /v1/items/${i} in ${i % 7} ms`);
const text = [...log.slice(0, 200), 'ERROR disk full on /var', ...log.slice(200)].join('\n');
const options = { ...PRUNE_OPTIONS, timeout_ms: 5000 };
const pruneArgs = { text, goal_hint: 'why did the disk fill up', source_type: 'logs', options };

interface Pruned {
  readonly prune_id: string;
  readonly pruned_text: string;
  readonly annotations: readonly { original_start_line: number; original_end_line: number }[];
}

describe('mcp-pruner stdio --tools all', () => {
  it('offers the tools of /rpc in addition to read, bash and grep to the official client', async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [coldProgram(), 'stdio', '--tools', 'all'],
      env: environment(env),
      stderr: 'pipe',
    });
    const client = new Client({ name: 'test', version: '1.0.0' });
    onTestFinished(() => client.close());
    await client.connect(transport);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names.slice(0, 7)).toEqual(['read', 'bash', 'grep', 'prune_text', 'recover_text', 'recall', 'health']);
    expect(client.getInstructions()).toContain('recover_text');
    expect(client.getServerVersion()?.version).toMatch(/^\d+\.\d+\.\d+/);
    expect((await client.listResources()).resources).toEqual([]);

    const answer = await client.callTool({ name: 'prune_text', arguments: pruneArgs });
    const pruned = JSON.parse((answer.content as readonly { text: string }[])[0]?.text ?? '') as Pruned;
    expect(pruned.pruned_text).toContain('ERROR disk full');
    expect(pruned.annotations.length).toBeGreaterThan(0);
  });

  it('offers only the selected tools, and lists the available tools if a selected one is unknown', async () => {
    const client = new LocalClient({ args: ['stdio', '--tools', 'recover_text,health'], env });
    const { result } = await client.request('tools/list');
    expect(result?.tools).toMatchObject([{ name: 'recover_text' }, { name: 'health' }]);
    const { error } = await client.answer(client.start('read', { file_path: 'a.txt' }));
    expect(error?.code).toBe(-32602);

    const plain = new LocalClient({ args: ['stdio', '--tools', 'read'], env });
    expect(await plain.call('read', { file_path: 'a.txt' })).toContain('one');

    const wrong = new LocalClient({ args: ['stdio', '--tools', 'recover'], env });
    expect(await wrong.close()).toBe(2);
    expect(wrong.stderr).toMatch(
      /^mcp-pruner: --tools: Unknown tool recover; available: read, bash, grep, prune_text, recover_text/,
    );
  });

  it('keeps originals in the store of the proxy, where another process finds them', async () => {
    const first = new RawClient({ args: ['stdio', '--tools', 'all'], env });
    const { prune_id, annotations } = JSON.parse(await first.call('prune_text', pruneArgs)) as Pruned;
    first.child.kill('SIGKILL');
    const [cut] = annotations;
    if (cut === undefined) throw new Error('nothing was cut');
    const range = { start_line: cut.original_start_line, end_line: cut.original_end_line };

    const second = new LocalClient({ args: ['stdio', '--tools', 'pruner'], env });
    const args = { prune_id, ranges: [range], include_line_numbers: false };
    expect(JSON.parse(await second.call('recover_text', args))).toMatchObject({
      raw_text: text
        .split('\n')
        .slice(range.start_line - 1, range.end_line)
        .join('\n'),
    });
    const { error } = await second.answer(second.start('recover_text', { ...args, prune_id: 'prn_gone' }));
    expect(error).toMatchObject({ code: -32004, message: 'prune_id_not_found', data: { prune_id: 'prn_gone' } });
    expect((await second.request('health')).result).toMatchObject({ status: 'healthy', store: 'ok' });
  });

  it('offers only the tools of /rpc with --tools pruner, and only read, bash and grep with --tools files', async () => {
    const pruner = new LocalClient({ args: ['stdio', '--tools', 'pruner'], env });
    expect((await pruner.answer(pruner.start('read', { file_path: 'a.txt' }))).error).toMatchObject({ code: -32602 });
    const files = new LocalClient({ args: ['stdio', '--tools=files'], env });
    expect(await files.call('read', { file_path: 'a.txt' })).toBe('one\n');
    expect((await files.answer(files.start('health', {}))).error).toMatchObject({ code: -32602 });
  });

  it('names an invalid field in the error', async () => {
    const client = new LocalClient({ args: ['stdio', '--tools', 'all'], env });
    const { error } = await client.answer(client.start('recover_text', { prune_id: 1 }));
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(/^Invalid params: prune_id/) });
  });

  it('works without a store, except for tools that need it', async () => {
    const client = new RawClient({
      args: ['stdio', '--tools', 'all'],
      env: { ...env, MCP_PRUNER_DB_PATH: join(folder, 'a.txt/x.db') },
    });
    expect(await client.call('read', { file_path: 'a.txt' })).toBe('one\n');
    const args = { prune_id: 'prn_x', ranges: [], include_line_numbers: false };
    expect((await client.answer(client.start('recover_text', args))).error).toMatchObject({ code: -32006 });
    expect(textOf(await client.answer(client.start('prune_text', pruneArgs)))).toContain('recovery_unavailable');
  });

  it('refuses an unknown value for --tools, and an invalid setting, before it starts serving', async () => {
    for (const [args, given] of [
      [['stdio', '--tools', 'some'], {}],
      [['stdio', '--tools', 'all'], { MCP_PRUNER_PORT: 'x' }],
    ] as const) {
      const client = new LocalClient({ args, env: { ...env, ...given } });
      expect(await client.close()).toBe(2);
      expect(client.lines).toEqual([]);
      expect(client.stderr).toMatch(/^mcp-pruner: [^\n]+\n$/);
    }
  });
});
