import type { Migration } from './migration.ts';

/** Events of the audit class, which no other event pushes out, and indexes for what is deleted by age. */
export const audit: Migration = {
  version: 11,
  up(db) {
    db.exec(`
      ALTER TABLE event ADD COLUMN audit INTEGER NOT NULL DEFAULT 0;
      UPDATE event SET audit = 1 WHERE kind IN ('key_created', 'key_revoked', 'key_rotated', 'key_refused');
      CREATE INDEX event_audit ON event (ts_ms) WHERE audit = 1;
      CREATE INDEX event_plain ON event (seq) WHERE audit = 0;
    `);
  },
};
