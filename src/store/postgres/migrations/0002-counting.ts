import type { Migration } from './migration.ts';

/** Triggers that count what is stored and tell the replicas what changed. */
export const counting: Migration = {
  version: 2,
  worksWith: 2,
  sql: `
    CREATE FUNCTION mcp_pruner.count_snapshots() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'INSERT' THEN
        INSERT INTO mcp_pruner.meter_delta VALUES ('snapshots', 1), ('stored_bytes', NEW.stored_bytes + 128);
      ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO mcp_pruner.meter_delta VALUES ('snapshots', -1), ('stored_bytes', -OLD.stored_bytes - 128);
      ELSE
        INSERT INTO mcp_pruner.meter_delta VALUES ('stored_bytes', NEW.stored_bytes - OLD.stored_bytes);
        UPDATE mcp_pruner.charge SET bytes = NEW.stored_bytes
          WHERE prune IN (SELECT id FROM mcp_pruner.prune WHERE snapshot = NEW.id);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER snapshot_counted AFTER INSERT OR DELETE OR UPDATE OF stored_bytes ON mcp_pruner.snapshot
      FOR EACH ROW EXECUTE FUNCTION mcp_pruner.count_snapshots();

    CREATE FUNCTION mcp_pruner.count_prunes() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'INSERT' THEN
        INSERT INTO mcp_pruner.meter_delta VALUES ('prunes', 1), ('stored_bytes', octet_length(NEW.body) + 128);
      ELSE
        INSERT INTO mcp_pruner.meter_delta VALUES ('prunes', -1), ('stored_bytes', -octet_length(OLD.body) - 128);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER prune_counted AFTER INSERT OR DELETE ON mcp_pruner.prune
      FOR EACH ROW EXECUTE FUNCTION mcp_pruner.count_prunes();

    CREATE FUNCTION mcp_pruner.count_decisions() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'INSERT' THEN
        INSERT INTO mcp_pruner.meter_delta VALUES ('stored_bytes', coalesce(octet_length(NEW.body), 0) + 128);
      ELSE
        INSERT INTO mcp_pruner.meter_delta VALUES ('stored_bytes', -coalesce(octet_length(OLD.body), 0) - 128);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER decision_counted AFTER INSERT OR DELETE ON mcp_pruner.decision
      FOR EACH ROW EXECUTE FUNCTION mcp_pruner.count_decisions();

    CREATE FUNCTION mcp_pruner.tell_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT 1 FROM gone) THEN
        UPDATE mcp_pruner.meter SET value = value + 1 WHERE name = 'deleted_generation';
        PERFORM pg_notify('mcp_pruner', '');
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER prune_deleted AFTER DELETE ON mcp_pruner.prune
      REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION mcp_pruner.tell_deleted();

    CREATE FUNCTION mcp_pruner.tell_directives() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      generation_now bigint;
      changed bigint;
    BEGIN
      SELECT count(*) INTO changed FROM rows;
      IF changed > 0 THEN
        UPDATE mcp_pruner.meter SET value = value + 1 WHERE name = 'directive_generation'
          RETURNING value INTO generation_now;
        UPDATE mcp_pruner.meter SET value = value + CASE TG_OP WHEN 'INSERT' THEN changed ELSE -changed END
          WHERE name = 'directives';
        INSERT INTO mcp_pruner.directive_generation SELECT DISTINCT project, generation_now FROM rows ORDER BY 1
          ON CONFLICT (project) DO UPDATE SET generation = excluded.generation;
        PERFORM pg_notify('mcp_pruner', '');
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER directive_added AFTER INSERT ON mcp_pruner.directive
      REFERENCING NEW TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION mcp_pruner.tell_directives();
    CREATE TRIGGER directive_removed AFTER DELETE ON mcp_pruner.directive
      REFERENCING OLD TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION mcp_pruner.tell_directives();

    CREATE FUNCTION mcp_pruner.tell() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_notify('mcp_pruner', '');
      RETURN NULL;
    END $$;
    CREATE TRIGGER served_told AFTER INSERT OR UPDATE OF id ON mcp_pruner.served
      FOR EACH STATEMENT EXECUTE FUNCTION mcp_pruner.tell();
    CREATE TRIGGER left_alone_told AFTER INSERT OR UPDATE OF id ON mcp_pruner.left_alone
      FOR EACH STATEMENT EXECUTE FUNCTION mcp_pruner.tell();

    CREATE FUNCTION mcp_pruner.next_seq(of_log text, many bigint) RETURNS bigint LANGUAGE sql AS $$
      UPDATE mcp_pruner.log_seq SET seq = seq + many WHERE log = of_log RETURNING seq - many
    $$;
  `,
};
