import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { faultyWay } from '../helpers/faulty-way.ts';
import { messagesBody, oneCall } from '../helpers/messages.ts';
import { hasPostgres, newDatabase } from '../helpers/postgres.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

describe.skipIf(!hasPostgres)('a proxy whose database becomes unreachable', () => {
  it('is degraded and ready, sends known turns as before and new texts whole, and recovers by itself', async () => {
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

describe.skipIf(!hasPostgres)('a replica that finds the tables locked', () => {
  it('asks for a request again whose history it does not know, and sends it as before once they are free', async () => {
    const url = await newDatabase();
    const upstream = await startUpstream();
    const env = { MCP_PRUNER_DATABASE_URL: url, MCP_PRUNER_DATABASE_WAIT_MS: '1' };
    const [one, other] = [await startProxy(upstream, { env }), await startProxy(upstream, { env })];
    const send = ({ url: base }: { readonly url: string }, turns: number) => {
      const more = Array.from({ length: turns }, (_, i) => [
        { role: 'assistant', content: `Step ${i}.` },
        { role: 'user', content: 'Go on.' },
      ]).flat();
      const body = messagesBody([...oneCall(serverLog(300, 1)), ...more]);
      return fetch(`${base}/v1/messages`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    };
    expect((await send(one, 0)).status).toBe(200);
    const sent = upstream.last.body.toString('utf8');
    expect(sent.length).toBeLessThan(messagesBody(oneCall(serverLog(300, 1))).length);

    const holder = new pg.Client({ connectionString: url });
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE mcp_pruner.sent IN ACCESS EXCLUSIVE MODE');
    const busy = await send(other, 1);
    expect([busy.status, busy.headers.get('retry-after'), upstream.requests.length]).toEqual([503, '5', 1]);
    expect(await busy.json()).toMatchObject({ type: 'error', error: { type: 'api_error' } });
    await holder.query('COMMIT');
    await holder.end();
    expect((await send(other, 1)).status).toBe(200);
    expect(upstream.last.body.toString('utf8').startsWith(sent.slice(0, sent.lastIndexOf(']')))).toBe(true);
  });
});
