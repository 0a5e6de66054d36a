import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { startServerProcess } from '../../../test/helpers/server-process.ts';
import { until } from '../../../test/helpers/until.ts';
import { BillingUpstream, conversation, priceFile, turnsOf } from './team.ts';

const TURNS = 6;
const KILLED_AFTER = 4;

/** Plays a conversation through a process; a killed one is followed by another on the same file. */
async function play(killed: boolean) {
  const upstream = new BillingUpstream();
  const { port } = await upstream.start();
  const dbPath = join(tempFolder(), 'store.db');
  const env = {
    MCP_PRUNER_DB_PATH: dbPath,
    MCP_PRUNER_ANTHROPIC_URL: `http://127.0.0.1:${port}/v1`,
    MCP_PRUNER_PRICES: priceFile(),
    MCP_PRUNER_TIMEOUT_MS: '10000',
  };
  const billed = async (count: number) =>
    until(async () => (await turnsOf(openStore(dbPath))).length >= count && Promise.resolve(true));
  let server = await startServerProcess({ env });
  const messages = conversation('case', TURNS);
  for (let turn = 1; turn <= TURNS; turn++) {
    await upstream.send(server.url, messages.slice(0, 2 * turn - 1));
    if (turn === KILLED_AFTER - 1) await billed(turn);
    if (turn === KILLED_AFTER && killed) {
      server.kill('SIGKILL');
      await server.ended();
      server = await startServerProcess({ env });
    }
  }
  server.kill('SIGTERM');
  await server.ended();
  return { turns: await turnsOf(openStore(dbPath)), upstream };
}

describe('a process that ends', () => {
  it('loses no row on SIGTERM, only the last rows on SIGKILL, and no figure of a later row', async () => {
    const [whole, lossy] = [await play(false), await play(true)];
    expect(whole.turns).toHaveLength(TURNS);
    expect(lossy.turns.length).toBeGreaterThanOrEqual(TURNS - 1);
    const later = lossy.turns.slice(-(TURNS - KILLED_AFTER));
    const same = whole.turns.slice(-(TURNS - KILLED_AFTER));
    expect(later.map(({ miss }) => miss)).toEqual(same.map(() => null));
    for (const [i, turn] of later.entries()) {
      expect(turn.dollars).toBeCloseTo(same[i]?.dollars ?? 0, 9);
      // cuts are estimated, and a lost row taught nothing of how: to 5 %
      expect(Math.abs(turn.removedNew / (same[i]?.removedNew ?? 0) - 1)).toBeLessThan(0.05);
      expect(Math.abs((turn.dollarsWithout ?? 0) / (same[i]?.dollarsWithout ?? 0) - 1)).toBeLessThan(0.05);
    }
  });
});
