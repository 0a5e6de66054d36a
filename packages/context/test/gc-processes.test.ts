import { join } from 'node:path';
import { parseMarker } from 'mcp-pruner/engine/text/marker.ts';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { contentAt, messageBytes } from '../../../test/helpers/chat.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import type { RpcAnswer } from '../../../test/helpers/proxy.ts';
import { startServerProcess } from '../../../test/helpers/server-process.ts';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { Agent, type Endpoint } from './agent.ts';

const SOURCE = sourceFile(30);

/** The compiled server as a process of its own, and its tools. */
async function start(env: Record<string, string>) {
  const process = await startServerProcess({ env });
  const endpoint: Endpoint = {
    url: process.url,
    async call(name, args) {
      const answer = await fetch(`${process.url}/rpc`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
      });
      return (await answer.json()) as RpcAnswer;
    },
  };
  return { process, endpoint };
}

it('two processes on one store file apply directives given to either, even after one is killed', async () => {
  const upstream = await startUpstream();
  const env = {
    MCP_PRUNER_UPSTREAM_URL: upstream.url,
    MCP_PRUNER_DB_PATH: join(tempFolder(), 'store.db'),
    MCP_PRUNER_TIMEOUT_MS: '10000',
  };
  const [one, two] = await Promise.all([start(env), start(env)]);
  const agent = new Agent(one.endpoint, upstream);
  const read = agent.tool('read_file', { path: 'src/orders.ts' }, SOURCE);
  agent.tool('edit_file', { path: 'src/orders.ts' }, 'The file was changed.');
  const log = agent.tool('bash', { command: 'npm start' }, serverLog(200));
  agent.chatter();
  const through = async (endpoint: Endpoint): Promise<Buffer> => {
    agent.moveTo(endpoint);
    return agent.send();
  };
  const before = await through(one.endpoint);
  expect(messageBytes(await through(two.endpoint))).toEqual(messageBytes(before));

  agent.moveTo(one.endpoint);
  const { segment_id } = await agent.candidate('src/orders.ts');
  await agent.prune([segment_id]);
  one.process.kill('SIGKILL'); // at once: what was answered is in the file
  await one.process.ended();

  const after = await through(two.endpoint);
  const marker = parseMarker(contentAt(after, read).trimEnd());
  expect(marker?.reason).toBe('mis de côté');
  const again = await start(env);
  expect(messageBytes(await through(again.endpoint))).toEqual(messageBytes(after));
  expect(await again.process.recover(marker?.pruneId ?? '', 1, marker?.endLine ?? 0)).toBe(SOURCE.replace(/\n$/, ''));

  await agent.pin([segment_id]);
  const pinned = await through(two.endpoint);
  expect(contentAt(pinned, read)).toBe(SOURCE);
  expect(contentAt(pinned, log)).toBe(contentAt(before, log));
});
