import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { AGENT, type Client, children, startFleet } from './helpers.ts';

/** A server whose children work in a folder with a manifest file. */
async function startWithManifest(manifest: object) {
  const root = tempFolder();
  const write = (content: object | string) =>
    writeFileSync(join(root, 'codex.json'), typeof content === 'string' ? content : JSON.stringify(content));
  const base = { command: process.execPath, args: [AGENT] };
  write({ ...base, ...manifest });
  return { ...(await startFleet({ MCP_PRUNER_CHILDREN: children(300, { roots: [root] }) })), write, base };
}

const messagesOf = async (client: Client, uri: string): Promise<string[]> =>
  (await client.call('resources_read', { uri })).payload.logs.map(({ message }: { message: string }) => message);

describe('a child defined by a manifest file', () => {
  it('is started as the file specifies, except for the role and limits given in the call', async () => {
    const { client, write, base } = await startWithManifest({
      prompt: JSON.stringify([['say', 'from the file']]),
      role: 'reader',
      limits: { messages: 3, tokens: 100 },
      metadata: { about: 'a test' },
    });
    const made = await client.call('child_spawn_codex', {
      child_id: 'c',
      limits: { messages: 1 },
      child_id_hint: 'boss',
    });
    expect(made).toMatchObject({
      role: 'reader',
      limits: { messages: 1, tokens: 100 },
      metadata: { about: 'a test' },
      manifest_path: 'codex.json',
      child_id_hint: 'boss',
    });
    const ended = await client.call('child_status', { child_id: 'c', wait_ms: 20_000 });
    expect(await messagesOf(client, ended.logs_uri)).toContain('from the file');
    const refusal = async (content: object | string) => {
      write(content);
      return (await client.fails('child_spawn_codex', { child_id: 'other' })).message;
    };
    expect(await refusal('{ no JSON')).toMatch(/^E-CHILD-MANIFEST: /);
    expect(await refusal({ ...base, shell: true })).toMatch(/^E-CHILD-MANIFEST: /);
    expect(await refusal({ ...base, command: '/bin/sh' })).toMatch(/^E-CHILD-COMMAND: /);
    const outside = { child_id: 'other', manifest_path: '../../../etc/hostname' };
    expect((await client.fails('child_spawn_codex', outside)).message).toMatch(/^E-CHILD-MANIFEST: /);
  });

  it('is started once per idempotency key, even in a batch, and again if its batch was rolled back', async () => {
    const { client, proxy } = await startWithManifest({ prompt: JSON.stringify([['stay']]) });
    const first = { child_id: 'a', idempotency_key: 'ka' };
    const failing = [first, { child_id: 'b', manifest_path: 'none.json', idempotency_key: 'kb' }];
    expect((await client.fails('child_batch_create', { entries: failing })).message).toMatch(/^E-CHILD-MANIFEST: /);
    expect((await client.call('child_list')).children).toEqual([]);
    const entries = [first, { child_id: 'b', idempotency_key: 'kb' }];
    const made = await client.call('child_batch_create', { entries });
    expect(made).toMatchObject({ created: 2, idempotent_entries: 0 });
    const again = await client.call('child_batch_create', { entries });
    expect(again).toMatchObject({ created: 0, idempotent_entries: 2 });
    expect(again.children.map(({ pid }: { pid: number }) => pid)).toEqual(
      made.children.map(({ pid }: { pid: number }) => pid),
    );
    // a batch that fails leaves those alone that it did not start
    const mixed = [first, { child_id: 'd', manifest_path: 'none.json' }];
    expect((await client.fails('child_batch_create', { entries: mixed })).message).toMatch(/^E-CHILD-MANIFEST: /);
    expect(await client.call('child_status', { child_id: 'a' })).toMatchObject({ state: 'running', starts: 1 });
    const conflict = await client.fails('child_spawn_codex', { ...first, role: 'other' });
    expect(conflict.message).toBe('idempotency_conflict');
    expect(await proxy.logText()).toContain('child_spawn_codex_replayed');
  });
});
