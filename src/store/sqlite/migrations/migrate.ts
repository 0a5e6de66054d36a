import type { Database } from 'better-sqlite3';
import { StoreFileError } from '../errors.ts';
import { originals } from './0001-originals.ts';
import { history } from './0002-history.ts';
import { segments } from './0003-segments.ts';
import { records } from './0004-records.ts';
import { shares } from './0005-shares.ts';
import { fleet } from './0006-fleet.ts';
import { sent } from './0007-sent.ts';
import { ledger } from './0008-ledger.ts';
import { keys } from './0009-keys.ts';
import { ledgerStates } from './0010-ledger-states.ts';
import { audit } from './0011-audit.ts';
import { ledgerCloud } from './0015-ledger-cloud.ts';
import { recall } from './0016-recall.ts';
import { compactions } from './0017-compactions.ts';
import { toolShelf } from './0018-tool-shelf.ts';
import { conversationAbout } from './0019-conversation-about.ts';
import type { Migration } from './migration.ts';

/**
 * All migrations of the schema, oldest first. A new table or column is a new file and a new last entry here; a released
 * entry is never edited.
 */
export const migrations: readonly Migration[] = [
  originals,
  history,
  segments,
  records,
  shares,
  fleet,
  sent,
  ledger,
  keys,
  ledgerStates,
  audit,
  ledgerCloud,
  recall,
  compactions,
  toolShelf,
  conversationAbout,
];

/** Marks a file as ours (`PRAGMA application_id`), so that we never add tables to another program's database. */
const APPLICATION_ID = 0x6d637072; // "mcpr"

/**
 * Checks, reading only, whether this program may use a file.
 *
 * @returns the file's schema version; 0 for an empty one
 * @throws StoreFileError `newer_schema` for a file of a later version, `error` for another program's database
 */
export function checkSchema(db: Database, path: string, known: readonly Migration[] = migrations): number {
  const version = Number(db.pragma('user_version', { simple: true }));
  const latest = known.at(-1)?.version ?? 0;
  const owner = Number(db.pragma('application_id', { simple: true }));
  const empty = version === 0 && owner === 0 && tableCount(db) === 0;
  if (!empty && owner !== APPLICATION_ID) {
    throw new StoreFileError('error', path, 'it is a database of another program; choose another path');
  }
  if (version > latest) {
    const detail = `it has schema version ${version}, this program knows up to ${latest}; upgrade mcp-pruner or choose another path`;
    throw new StoreFileError('newer_schema', path, detail);
  }
  return version;
}

/** Migrates a file to the newest schema, each step in its own transaction. Two processes may do so at the same time. */
export function migrate(db: Database, known: readonly Migration[] = migrations): void {
  for (const migration of known) {
    if (versionOf(db) >= migration.version) continue;
    const step = db.transaction(() => {
      if (versionOf(db) >= migration.version) return; // another process was faster
      migration.up(db);
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${migration.version}`);
    });
    step.immediate();
  }
}

function versionOf(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

function tableCount(db: Database): number {
  return Number(db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get());
}
