import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { until } from '../../../test/helpers/until.ts';
import { openWorld } from './provider.ts';

const CHANNEL = 'http.server.request.start';
const REQUESTS = 15;

/** Turns of the event loop between the arrival of each request at the proxy and at the provider. */
function turnsOfRequests(ports: { readonly proxy: number; readonly provider: number }): number[] {
  let [turn, arrived, isOver] = [0, 0, false];
  const turns: number[] = [];
  const next = (): void => {
    turn++;
    if (!isOver) setImmediate(next);
  };
  const onRequest = (message: unknown): void => {
    const { localPort } = (message as { request: IncomingMessage }).request.socket;
    if (localPort === ports.proxy) arrived = turn;
    if (localPort === ports.provider) turns.push(turn - arrived);
  };
  setImmediate(next);
  subscribe(CHANNEL, onRequest);
  afterwards(() => {
    isOver = true;
    unsubscribe(CHANNEL, onRequest);
  });
  return turns;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

it('a request reaches the provider in as many turns of the event loop while a summary is being made', async () => {
  const world = await openWorld();
  const release = world.holdSummaries();
  await world.task('Fix the checkout of the shop, please.', 8);
  const turns = turnsOfRequests({ proxy: world.proxy.port, provider: Number(new URL(world.upstream.url).port) });
  for (let i = 0; i < REQUESTS; i++)
    await world.turn(`Go on, part ${i}.`, { headers: { 'x-mcp-pruner-seams': 'off' } });
  const without = turns.splice(0);
  await world.turn('Now the invoices: why is the total wrong?');
  await until(() => world.asked.length === 1);
  turns.length = 0;
  for (let i = 0; i < REQUESTS; i++) await world.turn(`Further, part ${i}.`);
  expect(world.asked).toHaveLength(1);
  expect([without.length, turns.length]).toEqual([REQUESTS, REQUESTS]);
  expect(median(without)).toBeGreaterThan(0);
  expect(median(turns)).toBeLessThanOrEqual(median(without) + 1);
  release();
  await world.result('made');
});
