import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from '@mcp-pruner/team/postgres/store.ts';
import { describe } from 'vitest';
import type { StoreHandle } from '../../src/store/handle.ts';
import { browseContract } from '../contract/browse.suite.ts';
import { keysContract } from '../contract/keys.suite.ts';
import { ledgerContract } from '../contract/ledger-store.suite.ts';
import { recallContract } from '../contract/recall.suite.ts';
import { recordsContract } from '../contract/records.suite.ts';
import { segmentsContract } from '../contract/segments.suite.ts';
import { manualClock, storeContract } from '../contract/store.suite.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { hasPostgres, sharedDatabase } from '../helpers/postgres.ts';

const TTL_MS = 80_000;

async function open(url: string, over: Partial<PostgresStoreOptions>): Promise<PostgresStore> {
  const defaults = { clock: manualClock(), ttlMs: TTL_MS, maxBytes: 1e9, maxEvents: 1_000 };
  const store = openPostgresStore({ url, ...defaults, ...over });
  await store.ready();
  return store;
}

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  const emptyDatabase = sharedDatabase();
  const urls = new WeakMap<StoreHandle, string>();

  storeContract('a store', async (setup) => open(await emptyDatabase(), setup));

  recordsContract('a store', async (over) => {
    const store = await open(await emptyDatabase(), over);
    afterwards(() => store.close());
    return store;
  });

  ledgerContract('a store', async () => {
    const store = await open(await emptyDatabase(), {});
    afterwards(() => store.close());
    return store;
  });

  const beside: Parameters<typeof segmentsContract>[1] = async ({ clock, beside }) => {
    const url = (beside && urls.get(beside)) ?? (await emptyDatabase());
    const store = await open(url, clock ? { clock } : {});
    urls.set(store, url);
    afterwards(() => store.close());
    return store;
  };
  segmentsContract('a store', beside);
  keysContract('a store', beside);
  recallContract('a store', beside);
  browseContract('a store', beside);
});
