/**
 * Triggers that maintain the fleet's counters in PostgreSQL. In a separate file, so that servers on SQLite do not load
 * it.
 */
export const fleetPostgres = `
  CREATE FUNCTION mcp_pruner.count_board() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      UPDATE mcp_pruner.fleet_counter SET value = value + 1 WHERE name = 'board_entries';
      UPDATE mcp_pruner.fleet_counter SET value = value + NEW.bytes WHERE name = 'board_bytes';
    ELSE
      UPDATE mcp_pruner.fleet_counter SET value = value - 1 WHERE name = 'board_entries';
      UPDATE mcp_pruner.fleet_counter SET value = value - OLD.bytes WHERE name = 'board_bytes';
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER fleet_board_counted AFTER INSERT OR DELETE ON mcp_pruner.fleet_board
    FOR EACH ROW EXECUTE FUNCTION mcp_pruner.count_board();
  CREATE FUNCTION mcp_pruner.count_board_event() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      UPDATE mcp_pruner.fleet_counter SET value = value + NEW.bytes WHERE name = 'board_event_bytes';
    ELSE
      UPDATE mcp_pruner.fleet_counter SET value = value - OLD.bytes WHERE name = 'board_event_bytes';
      UPDATE mcp_pruner.fleet_counter SET value = greatest(value, OLD.version) WHERE name = 'board_dropped';
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER fleet_board_event_counted AFTER INSERT OR DELETE ON mcp_pruner.fleet_board_event
    FOR EACH ROW EXECUTE FUNCTION mcp_pruner.count_board_event();
`;
