import type { ClientBase } from 'pg';
import { StoreUnavailable } from '../../../errors.ts';
import { tables } from './0001-tables.ts';
import { counting } from './0002-counting.ts';
import { commit } from './0003-commit.ts';
import { ledger } from './0004-ledger.ts';
import { keys } from './0005-keys.ts';
import { fleet } from './0006-fleet.ts';
import { ledgerStates } from './0007-ledger-states.ts';
import { audit } from './0008-audit.ts';
import { ledgerCloud } from './0012-ledger-cloud.ts';
import { recall } from './0013-recall.ts';
import { compactions } from './0014-compactions.ts';
import { toolShelf } from './0015-tool-shelf.ts';
import { conversationAbout } from './0016-conversation-about.ts';
import type { Migration } from './migration.ts';

/** All migrations of the schema, oldest first. A released entry is never edited. */
export const migrations: readonly Migration[] = [
  tables,
  counting,
  commit,
  ledger,
  keys,
  fleet,
  ledgerStates,
  audit,
  ledgerCloud,
  recall,
  compactions,
  toolShelf,
  conversationAbout,
];

/** Advisory lock of the database ("mcpr"), held during migration. */
const LOCK = 0x6d637072;

/**
 * Migrates the schema to the newest version, in one transaction. Replicas that start at the same time wait for each
 * other. The lock ends with the transaction, so that it works behind a pooler.
 *
 * @throws StoreUnavailable `newer_schema` if the database has a later version that this program cannot use
 */
export async function migrate(client: ClientBase, readonly: boolean, known = migrations): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    const found = await versionOf(client);
    const latest = known.at(-1)?.version ?? 0;
    if (found.worksWith > latest) throw new NewerSchema(found.version, latest);
    if (readonly && found.version < latest) {
      throw new StoreUnavailable('error', { cause: new Error('its schema is older; start the server once') });
    }
    for (const { version, worksWith, sql } of known) {
      if (version <= found.version) continue;
      if (version === 1) await client.query(BEGINNING);
      await client.query(sql);
      await client.query('INSERT INTO mcp_pruner.schema_version VALUES ($1, $2)', [version, worksWith]);
    }
    await client.query('COMMIT');
  } catch (cause) {
    await client.query('ROLLBACK').catch(() => undefined); // the connection itself may have failed
    throw cause;
  }
}

const BEGINNING = `
  CREATE SCHEMA IF NOT EXISTS mcp_pruner;
  CREATE TABLE mcp_pruner.schema_version (version int PRIMARY KEY, works_with int NOT NULL);`;

class NewerSchema extends StoreUnavailable {
  constructor(version: number, known: number) {
    super('newer_schema');
    this.message = `the database has schema version ${version}, this program knows up to ${known}; upgrade mcp-pruner`;
  }
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
