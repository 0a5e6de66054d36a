/**
 * `commit_batch` is one commit of the request path in one round trip: originals, prunes, decisions and records of sent
 * messages, all or nothing. Existing rows stay unchanged: the first committed decision under a key is the one that is
 * replayed.
 *
 * Each phase locks in a fixed order, so that two commits with the same texts cannot deadlock. A prune is locked with
 * FOR KEY SHARE while a decision is linked to it, so that upkeep cannot delete it.
 *
 * Returns rows (what, id, prune_id, body, until_ms): `refused` a decision by its key; `known` an existing one, with its
 * content; `missing` a prune in `touched` that does not exist; `alive` one that exists; `sent_before` a message with a
 * different record; `sent_same` one with the same record.
 *
 * `commit_owned` is `commit_batch` for a project that owns the originals, still in one round trip. A project owns a
 * prune if it sent the prune's text, which is checked by the hash; a refused decision gives no ownership.
 */
export const COMMIT_FUNCTIONS = `
  CREATE FUNCTION mcp_pruner.drop_orphans(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM 1 FROM mcp_pruner.snapshot WHERE id = ANY (ids) ORDER BY hash FOR UPDATE;
    DELETE FROM mcp_pruner.snapshot s WHERE id = ANY (ids)
      AND NOT EXISTS (SELECT 1 FROM mcp_pruner.prune WHERE snapshot = s.id);
  END $$;

  CREATE FUNCTION mcp_pruner.put_snapshot(
    the_hash text, the_encoding int, the_packing int, the_data bytea
  ) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    found_id bigint;
  BEGIN
    LOOP
      SELECT id INTO found_id FROM mcp_pruner.snapshot WHERE hash = the_hash FOR KEY SHARE;
      IF found_id IS NOT NULL THEN RETURN found_id; END IF;
      INSERT INTO mcp_pruner.snapshot (hash, encoding, packing, text_bytes, stored_bytes, data)
        VALUES (the_hash, the_encoding, the_packing, octet_length(the_data), octet_length(the_data), the_data)
        ON CONFLICT (hash) DO NOTHING RETURNING id INTO found_id;
      IF found_id IS NOT NULL THEN RETURN found_id; END IF;
    END LOOP;
  END $$;

  CREATE FUNCTION mcp_pruner.commit_batch(
    now_ms bigint, ttl_ms bigint, wait_ms int, room bigint, share bigint, of_conversation text, as_a_whole boolean,
    keys text[], prune_ids text[], hashes text[], bodies text[], encodings int[], packings int[], lengths bigint[],
    texts bytea[], touched text[], sent_ttl_ms bigint, sent_prefixes text[], sent_bodies text[]
  ) RETURNS TABLE (what text, id text, prune_id text, body text, until_ms bigint) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    many int := coalesce(array_length(keys, 1), 0);
    refused boolean[] := array_fill(false, ARRAY[greatest(many, 1)]);
    known boolean[] := array_fill(false, ARRAY[greatest(many, 1)]);
    same boolean[] := array_fill(false, ARRAY[greatest(many, 1)]);
    alive boolean[] := array_fill(false, ARRAY[greatest(many, 1)]);
    row_of bigint[] := array_fill(NULL::bigint, ARRAY[greatest(many, 1)]);
    taken jsonb := '{}';
    used bigint := 0;
    i int;
    p record;
    added bigint;
  BEGIN
    PERFORM set_config('lock_timeout', greatest(wait_ms, 1)::text, true);
    IF share >= 0 THEN
      SELECT coalesce(sum(bytes), 0) INTO used FROM mcp_pruner.charge WHERE conversation = of_conversation;
    END IF;

    FOR i IN 1..many LOOP
      CONTINUE WHEN prune_ids[i] IS NULL;
      SELECT s.hash, q.expires_ms INTO p FROM mcp_pruner.prune q JOIN mcp_pruner.snapshot s ON s.id = q.snapshot
        WHERE q.prune_id = prune_ids[i];
      alive[i] := FOUND AND p.expires_ms > now_ms;
      IF alive[i] THEN
        refused[i] := p.hash <> hashes[i];
      ELSIF taken ? prune_ids[i] THEN
        refused[i] := taken ->> prune_ids[i] <> hashes[i];
      ELSIF share >= 0 AND used + lengths[i] > share THEN
        refused[i] := true;
      ELSE
        used := used + lengths[i];
        taken := taken || jsonb_build_object(prune_ids[i], hashes[i]);
      END IF;
    END LOOP;

    IF NOT (as_a_whole AND true = ANY (refused)) THEN
      IF taken <> '{}' AND (SELECT value FROM mcp_pruner.meter WHERE name = 'stored_bytes') > room THEN
        RAISE EXCEPTION 'the store has reached its limit' USING ERRCODE = 'disk_full';
      END IF;

      FOR i IN SELECT n FROM unnest(hashes) WITH ORDINALITY u (h, n) ORDER BY h COLLATE "C", n LOOP
        CONTINUE WHEN prune_ids[i] IS NULL OR refused[i] OR alive[i];
        row_of[i] := mcp_pruner.put_snapshot(hashes[i], encodings[i], packings[i], texts[i]);
      END LOOP;

      FOR i IN SELECT n FROM unnest(prune_ids) WITH ORDINALITY u (v, n) WHERE v IS NOT NULL ORDER BY v COLLATE "C", n LOOP
        CONTINUE WHEN refused[i];
        LOOP
          SELECT q.id, q.snapshot, q.decision_key, q.body, q.expires_ms, s.hash INTO p
            FROM mcp_pruner.prune q JOIN mcp_pruner.snapshot s ON s.id = q.snapshot
            WHERE q.prune_id = prune_ids[i] FOR KEY SHARE OF q;
          IF FOUND AND p.expires_ms <= now_ms THEN
            DELETE FROM mcp_pruner.prune q WHERE q.id = p.id;
            IF p.hash <> hashes[i] THEN PERFORM mcp_pruner.drop_orphans(ARRAY[p.snapshot]); END IF;
            CONTINUE;
          ELSIF FOUND THEN
            refused[i] := p.hash <> hashes[i];
            known[i] := NOT refused[i];
            same[i] := p.decision_key = keys[i] AND p.body = bodies[i];
            row_of[i] := p.id;
            EXIT;
          END IF;
          IF row_of[i] IS NULL OR alive[i] THEN -- it was there a moment ago and was deleted meanwhile
            row_of[i] := mcp_pruner.put_snapshot(hashes[i], encodings[i], packings[i], texts[i]);
            alive[i] := false;
          END IF;
          INSERT INTO mcp_pruner.prune AS q (prune_id, snapshot, decision_key, body, created_ms, expires_ms)
            VALUES (prune_ids[i], row_of[i], keys[i], bodies[i], now_ms, now_ms + ttl_ms)
            ON CONFLICT (prune_id) DO NOTHING RETURNING q.id INTO added;
          IF added IS NOT NULL THEN
            row_of[i] := added;
            same[i] := true;
            IF share >= 0 THEN
              INSERT INTO mcp_pruner.charge VALUES (added, of_conversation, lengths[i]) ON CONFLICT DO NOTHING;
            END IF;
            EXIT;
          END IF;
        END LOOP;
      END LOOP;

      FOR i IN SELECT n FROM unnest(keys) WITH ORDINALITY u (k, n) ORDER BY k COLLATE "C", n LOOP
        CONTINUE WHEN refused[i];
        SELECT d.id, CASE WHEN d.prune IS NULL THEN d.expires_ms ELSE q.expires_ms END AS until INTO p
          FROM mcp_pruner.decision d LEFT JOIN mcp_pruner.prune q ON q.id = d.prune WHERE d.key = keys[i];
        IF FOUND AND p.until > now_ms THEN
          known[i] := true;
          CONTINUE;
        END IF;
        IF FOUND THEN DELETE FROM mcp_pruner.decision d WHERE d.id = p.id; END IF;
        INSERT INTO mcp_pruner.decision AS d (key, prune, body, expires_ms)
          VALUES (keys[i], CASE WHEN prune_ids[i] IS NULL THEN NULL ELSE row_of[i] END,
            CASE WHEN same[i] AND prune_ids[i] IS NOT NULL THEN NULL ELSE bodies[i] END, now_ms + ttl_ms)
          ON CONFLICT (key) DO NOTHING;
        IF NOT FOUND THEN known[i] := true; END IF;
      END LOOP;
    ELSE
      known := array_fill(false, ARRAY[many]);
    END IF;

    FOR i IN 1..many LOOP
      IF refused[i] THEN
        RETURN QUERY SELECT 'refused', keys[i], NULL::text, NULL::text, NULL::bigint;
      ELSIF known[i] THEN
        RETURN QUERY SELECT 'known', keys[i], q.prune_id, coalesce(d.body, q.body),
            CASE WHEN d.prune IS NULL THEN d.expires_ms ELSE q.expires_ms END
          FROM mcp_pruner.decision d LEFT JOIN mcp_pruner.prune q ON q.id = d.prune WHERE d.key = keys[i];
      END IF;
    END LOOP;
    IF as_a_whole AND true = ANY (refused) THEN RETURN; END IF;
    IF NOT (true = ANY (refused) OR true = ANY (known)) THEN
      FOR i IN SELECT n FROM unnest(sent_prefixes) WITH ORDINALITY u (v, n) ORDER BY v COLLATE "C", n LOOP
        LOOP
          SELECT t.body, t.expires_ms INTO p FROM mcp_pruner.sent t WHERE t.prefix = sent_prefixes[i];
          IF FOUND AND p.expires_ms > now_ms THEN
            RETURN QUERY SELECT CASE WHEN p.body = sent_bodies[i] THEN 'sent_same' ELSE 'sent_before' END,
              sent_prefixes[i], NULL::text, NULL::text, p.expires_ms;
            EXIT;
          END IF;
          INSERT INTO mcp_pruner.sent AS t (prefix, body, expires_ms)
            VALUES (sent_prefixes[i], sent_bodies[i], now_ms + sent_ttl_ms)
            ON CONFLICT (prefix) DO UPDATE SET body = excluded.body, expires_ms = excluded.expires_ms
              WHERE t.expires_ms <= now_ms;
          EXIT WHEN FOUND;
        END LOOP;
      END LOOP;
    END IF;
    RETURN QUERY
      SELECT CASE WHEN q.expires_ms > now_ms THEN 'alive' ELSE 'missing' END, t.id, NULL::text, NULL::text, q.expires_ms
      FROM unnest(touched) WITH ORDINALITY t (id, n) LEFT JOIN mcp_pruner.prune q ON q.prune_id = t.id ORDER BY t.n;
  END $$;

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
`;
