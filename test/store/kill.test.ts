import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildStore } from './build-store.ts';
import { afterwards, openStore, sweepAll, tempPath } from './helpers.ts';

/** Commits batch after batch, names each one's ids once it is acknowledged, and sweeps all the while. */
const PROGRAM = `
  import { openSqliteStore } from process.env.STORE;
  const [path, round] = process.argv.slice(2);
  const clock = { nowMs: () => Date.now() };
  const store = openSqliteStore({ path, clock, ttlMs: 1e9, maxBytes: 1e9, maxEvents: 50 });
  const decision = (id) => ({
    key: 'key ' + id, pruneId: 'prn_' + id, textHash: 'hash ' + id, cuts: [], sourceType: 'logs', kind: 'k', whole: '',
    warnings: [], lines: 1, keptLines: 1, tokensBefore: 1, tokensAfter: 1, goal: '', tool: '',
  });
  void (async () => {
    for (;;) await store.sweep();
  })();
  for (let n = 0; ; n++) {
    const ids = [0, 1, 2].map((i) => [round, n, i].join('-'));
    const decisions = ids.map((id) => ({ decision: decision(id), text: ('text of ' + id + '\\n').repeat(300) }));
    await store.commit({ decisions, touch: [] }, 5000);
    await new Promise((done) => process.stdout.write(ids.join(' ') + '\\n', done));
  }
`;

let built: ReturnType<typeof buildStore>;
beforeAll(() => {
  built = buildStore();
});
afterAll(() => built.remove());

describe('a store whose process was killed', () => {
  it('contains every acknowledged commit, whenever the process was killed', async () => {
    const path = tempPath();
    const program = `${path}.mjs`;
    writeFileSync(program, PROGRAM.replace('process.env.STORE', JSON.stringify(built.module)));
    const acknowledged: string[] = [];

    for (let round = 0; round < 6; round++) {
      const child = spawn(process.execPath, [program, path, String(round)], { stdio: ['ignore', 'pipe', 'inherit'] });
      afterwards(() => child.kill('SIGKILL'));
      let batches = 0;
      const killAt = 1 + round * 7;
      const closed = once(child, 'close');
      for await (const line of createInterface(child.stdout)) {
        acknowledged.push(...line.split(' '));
        if (++batches === killAt) setTimeout(() => child.kill('SIGKILL'), (round * 37) % 11);
      }
      await closed;

      const store = openStore(path);
      expect(store.problem()).toBeNull();
      for (const id of acknowledged) {
        expect(await store.findOriginal(`prn_${id}`)).toBe(`text of ${id}\n`.repeat(300));
      }
      await store.close();
    }
    expect(acknowledged.length).toBeGreaterThan(200);

    const store = openStore(path);
    await sweepAll(store);
    const { prunes, snapshots } = await store.stats();
    expect(prunes).toBeGreaterThanOrEqual(acknowledged.length);
    expect(snapshots).toBe(prunes); // a batch is there whole or not at all
    expect(prunes % 3).toBe(0);
  });
});
