import { join } from 'node:path';
import { expect, it } from 'vitest';
import { KINDS } from '../../bench/engine-speed/texts.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { startServerProcess } from '../helpers/server-process.ts';
import { goldenConversations, reading } from './bodies.ts';
import { digest } from './digest.ts';

/** Decisions wait for their CPU time, however busy the machine is. */
const PATIENT = { MCP_PRUNER_TIMEOUT_MS: '60000' };
const GOAL = 'why does the retry of order_payload time out?';

it('the built program forwards the same bytes as the sources', async () => {
  const upstream = await startUpstream((_request, res) => json(res, 200, {}));
  const { url } = upstream;
  const sources = await startProxy(upstream, { env: PATIENT });
  const built = await startServerProcess({
    env: { ...PATIENT, MCP_PRUNER_UPSTREAM_URL: url, MCP_PRUNER_DB_PATH: join(tempFolder(), 'store.db') },
  });
  const samples = KINDS.map(({ name, make, path, command }) => ({
    name,
    text: make(12_000),
    hints: { path, command },
  }));
  const conversations = [
    ...goldenConversations().filter(({ parts, bodies }) => parts === undefined && bodies.length === 1),
    { name: 'a sample of each kind', bodies: reading(samples.map((sample) => ({ ...sample, goal: GOAL }))) },
  ];
  const differing: string[] = [];
  const sizes = { arrived: 0, forwarded: 0 };
  for (const { name, bodies } of conversations) {
    for (const [k, body] of bodies.entries()) {
      const forwarded: Buffer[] = [];
      for (const server of [sources, built]) {
        await (await server.chat(body)).arrayBuffer();
        forwarded.push(upstream.last.body);
      }
      const [one, other] = forwarded;
      sizes.arrived += body.length;
      sizes.forwarded += one?.length ?? 0;
      if (one && other && !one.equals(other))
        differing.push(`${name} ${k + 1}: ${digest(one)} is not ${digest(other)}`);
    }
  }
  expect(differing).toEqual([]);
  expect(sizes.forwarded).toBeLessThan(sizes.arrived * 0.8); // much was decided
}, 300_000);
