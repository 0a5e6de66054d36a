import type { Migration } from './migration.ts';

/**
 * Keys by the hash of their text, what is counted of them, and which projects an original belongs to. `commit_owned` is
 * `commit_batch` for a project whose originals these are: still one round trip. A prune is owned by whoever brought its
 * text, which its hash says; a decision that was refused owns nothing.
 */
export const keys: Migration = {
  version: 5,
  worksWith: 3,
  sql: `
    CREATE TABLE mcp_pruner.access_key (
      id text COLLATE "C" PRIMARY KEY,
      hash text COLLATE "C" NOT NULL UNIQUE,
      name text NOT NULL,
      projects text NOT NULL,
      requests_per_minute bigint,
      tokens_per_day bigint,
      created_ms bigint NOT NULL,
      expires_ms bigint,
      revoked_ms bigint
    );
    CREATE TABLE mcp_pruner.key_count (
      key text COLLATE "C" NOT NULL REFERENCES mcp_pruner.access_key (id) ON DELETE CASCADE,
      span text COLLATE "C" NOT NULL,
      at bigint NOT NULL,
      used bigint NOT NULL,
      most bigint NOT NULL,
      PRIMARY KEY (key, span)
    );
    CREATE TABLE mcp_pruner.prune_owner (
      prune bigint NOT NULL REFERENCES mcp_pruner.prune (id) ON DELETE CASCADE,
      project text COLLATE "C" NOT NULL,
      PRIMARY KEY (prune, project)
    );
    CREATE INDEX prune_owner_project ON mcp_pruner.prune_owner (project, prune);
    ALTER TABLE mcp_pruner.event ADD COLUMN project text COLLATE "C";
    CREATE INDEX event_project ON mcp_pruner.event (project, seq) WHERE project IS NOT NULL;

    INSERT INTO mcp_pruner.meter VALUES ('key_generation', 0), ('prunes_adopted', 0),
      ('store_id', floor(random() * 9007199254740991)::bigint);
    CREATE FUNCTION mcp_pruner.tell_keys() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE mcp_pruner.meter SET value = value + 1 WHERE name = 'key_generation';
      PERFORM pg_notify('mcp_pruner', '');
      RETURN NULL;
    END $$;
    CREATE TRIGGER access_key_told AFTER INSERT OR UPDATE OR DELETE ON mcp_pruner.access_key
      FOR EACH STATEMENT EXECUTE FUNCTION mcp_pruner.tell_keys();

    CREATE FUNCTION mcp_pruner.commit_owned(
      of_project text,
      now_ms bigint, ttl_ms bigint, wait_ms int, room bigint, share bigint, of_conversation text, as_a_whole boolean,
      keys text[], prune_ids text[], hashes text[], bodies text[], encodings int[], packings int[], lengths bigint[],
      texts bytea[], touched text[], sent_ttl_ms bigint, sent_prefixes text[], sent_bodies text[]
    ) RETURNS TABLE (what text, id text, prune_id text, body text, until_ms bigint) LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    BEGIN
      RETURN QUERY SELECT * FROM mcp_pruner.commit_batch(now_ms, ttl_ms, wait_ms, room, share, of_conversation, as_a_whole,
        keys, prune_ids, hashes, bodies, encodings, packings, lengths, texts, touched, sent_ttl_ms, sent_prefixes, sent_bodies);
      INSERT INTO mcp_pruner.prune_owner (prune, project)
        SELECT DISTINCT p.id, of_project FROM unnest(prune_ids, hashes) u (given_id, hash)
          JOIN mcp_pruner.prune p ON p.prune_id = u.given_id
          JOIN mcp_pruner.snapshot s ON s.id = p.snapshot AND s.hash = u.hash
        ORDER BY 1 ON CONFLICT DO NOTHING;
    END $$;
  `,
};
