import type { Migration } from './migration.ts';

/** The client of each conversation, and the first words of its user where the settings allow to keep them. */
export const conversationAbout: Migration = {
  version: 19,
  up(db) {
    db.exec(`
      ALTER TABLE conversation ADD COLUMN client TEXT NOT NULL DEFAULT '';
      ALTER TABLE conversation ADD COLUMN opening TEXT NOT NULL DEFAULT '';
    `);
  },
};
