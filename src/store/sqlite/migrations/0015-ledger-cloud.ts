import type { Migration } from './migration.ts';

/** The provider that answered each request. */
export const ledgerCloud: Migration = {
  version: 15,
  up(db) {
    db.exec("ALTER TABLE ledger_turn ADD COLUMN cloud TEXT NOT NULL DEFAULT ''");
  },
};
