import { join } from 'node:path';
import { openPostgresStore } from '@mcp-pruner/team/postgres/store.ts';
import { describe, expect, it } from 'vitest';
import { afterwards, tempFolder } from '../../../test/helpers/afterwards.ts';
import { hasPostgres, sharedDatabase } from '../../../test/helpers/postgres.ts';
import { startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';
import { randomFrom } from '../../../test/helpers/random.ts';
import { manualClock, openStore } from '../../../test/helpers/rewriter.ts';
import { BillingUpstream, conversation, figuresOf, priceFile } from './team.ts';

const CONVERSATIONS = 4;
const TURNS = 6;
const HALF_A_CENT = 0.005;

/** Where the ledger lies: how a proxy is pointed at it, and how it is read. */
interface Place {
  readonly options: { readonly dbPath?: string; readonly env?: Readonly<Record<string, string>> };
  open(): Promise<Pick<ReturnType<typeof openStore>, 'ledger'>>;
}

function fileStore(): Promise<Place> {
  const dbPath = join(tempFolder(), 'shared.db');
  return Promise.resolve({ options: { dbPath }, open: () => Promise.resolve(openStore(dbPath)) });
}

const emptyDatabase = sharedDatabase();

async function database(): Promise<Place> {
  const url = await emptyDatabase();
  return {
    options: { env: { MCP_PRUNER_DATABASE_URL: url } },
    async open() {
      const store = openPostgresStore({ url, clock: manualClock(), ttlMs: 1e9, maxBytes: 1e9, maxEvents: 100 });
      afterwards(() => store.close());
      await store.ready();
      return store;
    },
  };
}

/** Plays conversations turn by turn, each turn through a process that `pick` chooses. */
async function play(place: Place, processes: number, restarts = false) {
  const upstream = new BillingUpstream();
  const url = await upstream.start();
  const { env, ...options } = place.options;
  const ledgerEnv = { MCP_PRUNER_PRICES: priceFile() };
  const proxies: TestProxy[] = [];
  for (let i = 0; i < processes; i++) {
    proxies.push(await startProxy(url, { ...options, env: { ...env, ...ledgerEnv } }));
  }
  const next = randomFrom(7);
  const all = Array.from({ length: CONVERSATIONS }, (_, i) => conversation(`case ${'x'.repeat(i)}`, TURNS));
  for (let turn = 1; turn <= TURNS; turn++) {
    for (const messages of all) {
      const proxy = proxies[Math.floor(next() * proxies.length)];
      if (proxy) await upstream.send(proxy.url, messages.slice(0, 2 * turn - 1));
    }
    if (restarts && turn === TURNS / 2) await Promise.all(proxies.map((proxy) => proxy.restart()));
  }
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  const figures = await figuresOf(await place.open());
  return { upstream, figures };
}

const stores: [string, () => Promise<Place>, boolean][] = [
  ['one file', fileStore, true],
  ['one database', database, hasPostgres],
];

describe.each(stores.filter(([, , isHere]) => isHere))('several processes on %s', (_, open) => {
  it('reach the figures of a single process, with a random process per turn and restarts in between', async () => {
    const alone = await play(await open(), 1);
    const together = await play(await open(), 3, true);
    expect(together.figures.requests).toBe(CONVERSATIONS * TURNS);
    expect(Math.abs(together.figures.dollars - together.upstream.billed.dollars)).toBeLessThan(0.000_1);
    expect(Math.abs(together.figures.gross - alone.figures.gross)).toBeLessThan(HALF_A_CENT);
    expect(Math.abs(together.figures.removedNew / alone.figures.removedNew - 1)).toBeLessThan(0.005);
    expect(together.figures.misses).toEqual({ first_request: CONVERSATIONS });
    expect(together.figures.texts).toEqual(alone.figures.texts);
  });
});
