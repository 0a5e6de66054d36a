import type { Migration } from './migration.ts';

/** Events of the audit class, which no other event pushes out, and indexes for what is deleted by age. */
export const audit: Migration = {
  version: 8,
  worksWith: 3,
  sql: `
    ALTER TABLE mcp_pruner.event ADD COLUMN audit int NOT NULL DEFAULT 0;
    UPDATE mcp_pruner.event SET audit = 1 WHERE kind IN ('key_created', 'key_revoked', 'key_rotated', 'key_refused');
    CREATE INDEX event_audit ON mcp_pruner.event (ts_ms) WHERE audit = 1;
    CREATE INDEX event_plain ON mcp_pruner.event (seq) WHERE audit = 0;`,
};
