import type { Migration } from './migration.ts';

/** The client of each conversation, and the first words of its user where the settings allow to keep them. */
export const conversationAbout: Migration = {
  version: 16,
  worksWith: 3,
  sql: `
    ALTER TABLE mcp_pruner.conversation ADD COLUMN client text NOT NULL DEFAULT '',
      ADD COLUMN opening text NOT NULL DEFAULT '';
  `,
};
