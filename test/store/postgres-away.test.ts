import { describe, expect, it } from 'vitest';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { faultyWay } from '../helpers/faulty-way.ts';
import { hasPostgres, newDatabase } from '../helpers/postgres.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

describe.skipIf(!hasPostgres)('a proxy whose database becomes unreachable', () => {
  it('is degraded and ready, sends known turns as before and new texts whole, and recovers automatically', async () => {
    const way = await faultyWay(await newDatabase());
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_DATABASE_URL: way.url } });
    const health = async () => (await (await fetch(`${proxy.url}/health`)).json()) as Record<string, unknown>;
    const sent = async (body: Buffer): Promise<Buffer | undefined> => {
      expect((await proxy.chat(body)).status).toBe(200);
      return upstream.requests.at(-1)?.body;
    };
    const known = chatBody(oneResult(serverLog(300, 1), { args: { command: 'job' } }));
    const unknown = chatBody(oneResult(serverLog(300, 2), { args: { command: 'other job' } }));
    const before = await sent(known);
    expect(before?.length).toBeLessThan(known.length);
    expect(await health()).toMatchObject({ status: 'healthy', store: 'ok' });

    way.cut();
    expect(await sent(known)).toEqual(before);
    expect(await sent(unknown)).toEqual(unknown);
    expect(await health()).toMatchObject({ status: 'degraded', store: 'unreachable' });
    expect((await fetch(`${proxy.url}/health/ready`)).status).toBe(200);

    way.mend();
    await until(async () => (await health()).status === 'healthy', 15_000);
    expect(await sent(known)).toEqual(before);
  });
});
