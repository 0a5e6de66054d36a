/** PostgreSQL's additional statements, by version. Not loaded by servers on SQLite. */
export const postgresAdditions: Readonly<Record<number, string>> = {
  // the meter's row stays locked until the commit, so that generations become visible in order
  105: `
      CREATE FUNCTION mcp_pruner.note_keys() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        generation_now bigint;
      BEGIN
        IF EXISTS (SELECT 1 FROM rows) THEN
          UPDATE mcp_pruner.meter SET value = value + 1 WHERE name = 'key_generation' RETURNING value INTO generation_now;
          INSERT INTO mcp_pruner.key_change SELECT id, generation_now FROM rows
            ON CONFLICT (key) DO UPDATE SET number = excluded.number;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER access_key_created AFTER INSERT ON mcp_pruner.access_key
        REFERENCING NEW TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION mcp_pruner.note_keys();
      CREATE TRIGGER access_key_updated AFTER UPDATE ON mcp_pruner.access_key
        REFERENCING NEW TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION mcp_pruner.note_keys();
    `,
  // without the word and name lists, the rows read by a search take a fifth of the pages
  106: 'ALTER TABLE mcp_pruner.recall SET (toast_tuple_target = 256);',
};
