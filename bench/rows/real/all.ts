import { findPostgres, PostgresServer } from '../../../test/helpers/postgres-server.ts';
import { WrongCase } from '../../tool-results/measure.ts';
import { Unavailable, Workshop } from '../../tool-results/workshop.ts';
import type { Listing } from '../listing.ts';
import { makeListing, type RealListing } from './case.ts';
import { databaseListings } from './databases.ts';
import { gitListings } from './git.ts';
import { idListings } from './ids.ts';
import { programListings } from './programs.ts';
import { systemListings } from './system.ts';

/** All listings that tools of this machine print when the bench runs. */
const realListings: readonly RealListing[] = [
  ...gitListings,
  ...systemListings,
  ...programListings,
  ...databaseListings,
  ...idListings,
];

interface Made {
  readonly listings: readonly Listing[];
  /** Names of the listings that could not be made, with the reason. */
  readonly failures: readonly string[];
}

/** Makes the listings that `wanted` selects. */
export async function makeRealListings(wanted: (item: RealListing) => boolean): Promise<Made> {
  const items = realListings.filter(wanted);
  const workshop = new Workshop(process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd());
  const server = items.some(({ needs }) => needs.includes('psql')) ? await startPostgres() : null;
  const listings: Listing[] = [];
  const failures: string[] = [];
  try {
    for (const item of items) {
      try {
        listings.push(makeListing(workshop, item));
      } catch (cause) {
        if (!(cause instanceof Unavailable) && !(cause instanceof WrongCase)) throw cause;
        failures.push(`${item.name}: ${cause.message}`);
      }
    }
  } finally {
    workshop.close();
    await server?.stop();
  }
  return { listings, failures };
}

/** A server for `psql`, which finds it by its environment. */
async function startPostgres(): Promise<PostgresServer | null> {
  const programs = findPostgres();
  if (programs === null) return null;
  const server = new PostgresServer(programs);
  server.init();
  await server.start();
  Object.assign(process.env, { PGHOST: server.folder, PGUSER: 'pruner', PGDATABASE: 'postgres' });
  return server;
}
