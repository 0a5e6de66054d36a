import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import type { PartTables } from 'mcp-pruner/store/part-tables.ts';
import {
  additions,
  FIRST_VERSION,
  type Migration,
  UPGRADED_VERSION,
  upgrade,
} from 'mcp-pruner/store/schema/migrations.ts';
import { postgresDefinitions } from 'mcp-pruner/store/sql/common-sql.ts';
import type { ClientBase } from 'pg';
import { postgresPart, postgresSchema, postgresUpgrade } from './schema/postgres.ts';

const migrations: readonly Migration[] = [
  { version: FIRST_VERSION, worksWith: FIRST_VERSION, sql: postgresSchema },
  ...additions.map(({ version, worksWith, common, postgres = '' }) => ({
    version,
    worksWith,
    sql: () => postgresDefinitions(common) + postgres,
  })),
];

/** Advisory lock of the database ("mcpr"), held during migration. */
const LOCK = 0x6d637072;

/**
 * Migrates the schema to the newest version, in one transaction. Replicas that start concurrently wait for each other.
 * The lock ends with the transaction, so it works behind a pooler.
 *
 * @throws StoreUnavailable `newer_schema` if the database has a later version that this program cannot use, `error` if
 * it has the schema of a pre-release
 */
export async function migrate(client: ClientBase, readonly: boolean, parts: readonly PartTables[] = []): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    const found = await versionOf(client);
    const latest = migrations.at(-1)?.version ?? 0;
    if (found.worksWith > latest) throw newerSchema(found.version, latest);
    if (found.version > 0 && found.version < UPGRADED_VERSION) throw preRelease(found.version);
    if (readonly && found.version < latest) {
      throw new StoreUnavailable('error', { cause: new Error('its schema is older; start the server once') });
    }
    if (found.version === 0) await client.query(BEGINNING);
    for (const { version, worksWith, sql } of migrations) {
      if (version <= found.version) continue;
      const isUpgrade = version === FIRST_VERSION && found.version === UPGRADED_VERSION;
      await client.query(isUpgrade ? postgresUpgrade() + postgresDefinitions(upgrade) : sql());
      await client.query('INSERT INTO mcp_pruner.schema_version VALUES ($1, $2)', [version, worksWith]);
    }
    if (!readonly) for (const part of parts) await addTables(client, part);
    await client.query('COMMIT');
  } catch (cause) {
    await client.query('ROLLBACK').catch(() => undefined); // the connection itself may be broken
    throw cause;
  }
}

/** Creates the tables of a part in a database that does not have them yet. */
async function addTables(client: ClientBase, part: PartTables): Promise<void> {
  const [[name]] = part.moved;
  const { rows } = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
    `mcp_pruner.${name}`,
  ]);
  if (rows[0]?.there !== true) await client.query(await postgresPart(part));
}

const BEGINNING = `
  CREATE SCHEMA IF NOT EXISTS mcp_pruner;
  CREATE TABLE mcp_pruner.schema_version (version int PRIMARY KEY, works_with int NOT NULL);`;

function newerSchema(version: number, latest: number): StoreUnavailable {
  const message = `the database has schema version ${version}, this program supports versions up to ${latest}; upgrade mcp-pruner`;
  return new StoreUnavailable('newer_schema', undefined, message);
}

function preRelease(version: number): StoreUnavailable {
  const message = `the database has schema version ${version} of a pre-release, which cannot be upgraded; drop its schema mcp_pruner or use another database`;
  return new StoreUnavailable('error', undefined, message);
}

async function versionOf(client: ClientBase): Promise<{ version: number; worksWith: number }> {
  const there = await client.query<{ there: boolean }>(
    "SELECT to_regclass('mcp_pruner.schema_version') IS NOT NULL AS there",
  );
  if (there.rows[0]?.there !== true) return { version: 0, worksWith: 0 };
  const { rows } = await client.query<{ version: number; works_with: number }>(
    'SELECT version, works_with FROM mcp_pruner.schema_version ORDER BY version DESC LIMIT 1',
  );
  return { version: rows[0]?.version ?? 0, worksWith: rows[0]?.works_with ?? 0 };
}
