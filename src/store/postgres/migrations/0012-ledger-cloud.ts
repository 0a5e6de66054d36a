import type { Migration } from './migration.ts';

/** The provider that answered each request. */
export const ledgerCloud: Migration = {
  version: 12,
  worksWith: 3,
  sql: "ALTER TABLE mcp_pruner.ledger_turn ADD COLUMN cloud text NOT NULL DEFAULT ''",
};
