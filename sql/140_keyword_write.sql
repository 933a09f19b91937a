-- Writing the keyword index: appending changes, merging them into segments, sealing full blocks.
-- Writers only append to keyword_changes. Everything else is written by merges, one at a time per
-- collection (rag.lock_keyword). Each step is one SQL statement, so every snapshot sees either the
-- state before it or the state after it.

CREATE OR REPLACE FUNCTION rag.keyword_block_size()
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 16000;

COMMENT ON FUNCTION rag.keyword_block_size() IS
$$Slots per block: the most dimensions that pgvector's dense vectors have.$$;

CREATE OR REPLACE FUNCTION rag.keyword_merge_size()
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 512;

COMMENT ON FUNCTION rag.keyword_merge_size() IS
$$How many fresh changes may wait before the writer who adds one merges them.$$;

CREATE OR REPLACE FUNCTION rag.lock_keyword(collection_key integer)
RETURNS boolean
LANGUAGE sql VOLATILE
RETURN pg_try_advisory_xact_lock(hashtextextended('rag keyword index', collection_key));

COMMENT ON FUNCTION rag.lock_keyword(integer) IS
$$Takes the right to merge or compact a collection until the transaction ends; false when it is taken.$$;

CREATE OR REPLACE FUNCTION rag.index_chunks(collection_key integer, chunk_keys bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO rag.keyword_changes (collection_id, chunk_id, change, lexeme_count)
    SELECT c.collection_id, c.chunk_id, 1, c.lexeme_count
    FROM rag.chunks AS c
    WHERE c.collection_id = collection_key
      AND c.chunk_id = ANY (chunk_keys);

    INSERT INTO rag.keyword_languages (collection_id, language)
    SELECT DISTINCT c.collection_id, c.language
    FROM rag.chunks AS c
    WHERE c.collection_id = collection_key
      AND c.chunk_id = ANY (chunk_keys)
      AND c.language IS NOT NULL
      AND NOT EXISTS (
          SELECT FROM rag.keyword_languages AS known
          WHERE known.collection_id = c.collection_id AND known.language = c.language
      );

    PERFORM rag.merge_when_due(collection_key, cardinality(chunk_keys));
END
$$;

COMMENT ON FUNCTION rag.index_chunks(integer, bigint[]) IS
$$Adds chunks to the keyword index. Call it once per new chunk, in the transaction that inserts it.

Searches of the same transaction see the chunks at once, others after commit. Cheap: one small row per
chunk; every 512th chunk or so its caller also merges. Any number may be given: a bulk load is
merged directly in whole blocks.$$;

CREATE OR REPLACE FUNCTION rag.unindex_chunks(collection_key integer, chunk_keys bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO rag.keyword_changes (collection_id, chunk_id, change, lexeme_count, lexemes)
    SELECT doomed.collection_id, doomed.chunk_id, -1, doomed.lexeme_count, doomed.lexemes
    FROM (
        SELECT c.collection_id, c.chunk_id, c.lexeme_count, c.lexemes
        FROM rag.chunks AS c
        WHERE c.collection_id = collection_key
          AND c.chunk_id = ANY (chunk_keys)
        ORDER BY c.chunk_id
        FOR UPDATE
    ) AS doomed;

    PERFORM rag.merge_when_due(collection_key, cardinality(chunk_keys));
END
$$;

COMMENT ON FUNCTION rag.unindex_chunks(integer, bigint[]) IS
$$Takes chunks out of the keyword index. Call it before deleting them, in the same transaction.

It locks the chunks, so of two transactions that delete the same chunk only one is counted: the other
finds it gone. Chunks that do not exist are ignored.$$;

CREATE OR REPLACE FUNCTION rag.merge_when_due(collection_key integer, added integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _due boolean;
BEGIN
    -- Another isolation level could fail here on rows that an earlier merge took: leave it to others.
    IF current_setting('transaction_isolation') <> 'read committed'
       OR random() > added / 32.0 THEN
        RETURN;
    END IF;
    SELECT count(*) >= rag.keyword_merge_size()
    INTO _due
    FROM (
        SELECT
        FROM rag.keyword_changes AS k
        WHERE k.collection_id = collection_key
        LIMIT rag.keyword_merge_size()
    ) AS waiting;
    IF _due THEN
        PERFORM rag.merge_keyword(collection_key);
    END IF;
END
$$;

COMMENT ON FUNCTION rag.merge_when_due(integer, integer) IS
$$Merges a collection's fresh changes when there are enough of them (rag.keyword_merge_size).

added: how many the caller has added. They are counted about once in 32 additions, not at every one.$$;

CREATE OR REPLACE FUNCTION rag.merge_keyword(collection_key integer)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET work_mem = '64MB'
AS $$
DECLARE
    _taken integer;
    _merged integer := 0;
    _block integer;
BEGIN
    IF NOT rag.lock_keyword(collection_key) THEN
        RETURN 0;
    END IF;
    LOOP
        _taken := rag.merge_changes(collection_key);
        EXIT WHEN _taken = 0;
        _merged := _merged + _taken;
        FOR _block IN
            SELECT DISTINCT s.segment / rag.keyword_block_size()
            FROM rag.keyword_segments AS s
            JOIN rag.keyword_totals AS t ON t.collection_id = s.collection_id
            WHERE s.collection_id = collection_key
              AND NOT s.sealed
              AND s.segment / rag.keyword_block_size() < t.next_slot / rag.keyword_block_size()
        LOOP
            PERFORM rag.seal_block(collection_key, _block);
        END LOOP;
    END LOOP;
    RETURN _merged;
END
$$;

COMMENT ON FUNCTION rag.merge_keyword(integer) IS
$$Merges the fresh changes of a collection into its segments and returns how many it took.

For writers past the threshold, and for a worker at any time. Returns 0 at once when another session is
merging. Blocks nobody: it deletes the changes it has read and adds segments, in the caller's transaction;
the changes of transactions still open are left for the next merge. Needs READ COMMITTED.$$;

CREATE OR REPLACE FUNCTION rag.merge_changes(collection_key integer)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _first integer;
    _chunks bigint;
    _lengths bigint;
    _k1 double precision;
    _b double precision;
    _room integer;
    _seal boolean;
    _taken integer;
BEGIN
    SELECT coalesce(t.next_slot, 0), coalesce(t.chunk_count, 0), coalesce(t.length_sum, 0), c.k1, c.b
    INTO STRICT _first, _chunks, _lengths, _k1, _b
    FROM rag.collections AS c
    LEFT JOIN rag.keyword_totals AS t ON t.collection_id = c.collection_id
    WHERE c.collection_id = collection_key;
    _room := rag.keyword_block_size() - _first % rag.keyword_block_size();

    -- A bulk load fills an empty block by itself: it is sealed at once, without open segments.
    _seal := _room = rag.keyword_block_size() AND (
        SELECT count(*) FROM rag.keyword_changes AS k WHERE k.collection_id = collection_key
    ) >= _room / 2;

    WITH last_taken AS (
        -- Whole chunks only: a written and deleted chunk has two changes, taken together.
        SELECT max(k.chunk_id) AS chunk_id
        FROM (
            SELECT w.chunk_id
            FROM rag.keyword_changes AS w
            WHERE w.collection_id = collection_key
            ORDER BY w.chunk_id
            LIMIT _room
        ) AS k
    ),
    taken AS (
        DELETE FROM rag.keyword_changes AS k
        USING last_taken AS l
        WHERE k.collection_id = collection_key
          AND k.chunk_id <= l.chunk_id
        RETURNING k.chunk_id, k.change, k.lexeme_count, k.lexemes
    ),
    net AS MATERIALIZED (
        SELECT k.chunk_id, sum(k.change)::integer AS change, max(k.lexeme_count) AS lexeme_count,
               (array_agg(k.lexemes) FILTER (WHERE k.change = -1))[1] AS lexemes
        FROM taken AS k
        GROUP BY k.chunk_id
        HAVING sum(k.change) <> 0
    ),
    state AS MATERIALIZED (
        SELECT _chunks + coalesce(sum(n.change), 0) AS chunks,
               _lengths + coalesce(sum(n.change * n.lexeme_count), 0) AS lengths,
               count(*) FILTER (WHERE n.change = 1)::integer AS written,
               array_agg(n.chunk_id ORDER BY n.chunk_id) FILTER (WHERE n.change = 1) AS chunk_ids
        FROM net AS n
    ),
    inverted AS MATERIALIZED (
        SELECT u.lexeme COLLATE "C" AS word, count(*)::integer AS chunks,
               array_agg(rag.posting(
                   _first + k.place::integer - 1, c.lexeme_count, cardinality(u.positions)
               )) AS packed
        FROM state AS s
        CROSS JOIN LATERAL unnest(s.chunk_ids) WITH ORDINALITY AS k (chunk_id, place)
        JOIN rag.chunks AS c ON c.collection_id = collection_key AND c.chunk_id = k.chunk_id
        CROSS JOIN LATERAL unnest(c.lexemes) AS u
        GROUP BY 1
    ),
    counted AS MATERIALIZED (
        SELECT n.word, n.chunks + i.chunks AS chunks
        FROM rag.chunk_counts(collection_key, ARRAY(
            SELECT f.word FROM inverted AS f WHERE _seal AND f.chunks >= rag.keyword_frequent_from()
        )) AS n
        JOIN inverted AS i ON i.word = n.word
    ),
    put_postings AS (
        INSERT INTO rag.keyword_postings
            (collection_id, segment, lexeme, chunk_count, postings, weights, idf, top)
        SELECT collection_key, _first, i.word, i.chunks,
               CASE WHEN n.word IS NULL THEN i.packed END, v.block_vector, v.block_idf, v.top_weight
        FROM inverted AS i
        CROSS JOIN state AS s
        LEFT JOIN counted AS n ON n.word = i.word
        LEFT JOIN LATERAL (
            SELECT w.*
            FROM rag.block_weights(
                i.packed, rag.bm25_idf(s.chunks, greatest(0, least(n.chunks, s.chunks))),
                rag.mean_length(s.chunks, s.lengths), _k1, _b
            ) AS w
            WHERE n.word IS NOT NULL
            OFFSET 0    -- or it would run for every lexeme, frequent or not
        ) AS v ON true
        ORDER BY i.word
    ),
    put_removed AS (
        INSERT INTO rag.keyword_removed AS t (collection_id, lexeme, chunk_count)
        SELECT collection_key, u.lexeme COLLATE "C", count(*)
        FROM net AS n
        CROSS JOIN LATERAL unnest(n.lexemes) AS u
        WHERE n.change = -1
        GROUP BY 2
        ORDER BY 2
        ON CONFLICT (collection_id, lexeme)
        DO UPDATE SET chunk_count = t.chunk_count + excluded.chunk_count
    ),
    put_slots AS (
        INSERT INTO rag.keyword_slots (collection_id, slot, chunk_id)
        SELECT collection_key, _first + o.place::integer - 1, o.chunk_id
        FROM state AS s
        CROSS JOIN LATERAL unnest(s.chunk_ids) WITH ORDINALITY AS o (chunk_id, place)
    ),
    put_segment AS (
        INSERT INTO rag.keyword_segments
            (collection_id, segment, sealed, average_length, k1, b)
        SELECT collection_key, _first, _seal, rag.mean_length(s.chunks, s.lengths), _k1, _b
        FROM state AS s
        WHERE s.written > 0
    ),
    put_totals AS (
        INSERT INTO rag.keyword_totals AS t (collection_id, chunk_count, length_sum, next_slot)
        SELECT collection_key, s.chunks, s.lengths,
               _first + CASE WHEN _seal AND s.written > 0 THEN _room ELSE s.written END
        FROM state AS s
        ON CONFLICT (collection_id)
        DO UPDATE SET chunk_count = excluded.chunk_count,
                      length_sum = excluded.length_sum,
                      next_slot = excluded.next_slot
    )
    SELECT count(*) INTO _taken FROM taken;
    RETURN _taken;
END
$$;

COMMENT ON FUNCTION rag.merge_changes(integer) IS
$$Moves fresh changes, at most as many as the open block has room for, into a new segment.

Written chunks get slots and postings; deleted ones are counted as removed (their postings stay until
compaction, harmless: a search only returns chunks that exist). A chunk written and
deleted meanwhile vanishes. One statement, hence one snapshot: a written chunk whose deletion that snapshot
does not see is still there to be read. The caller holds rag.lock_keyword. Returns the changes taken.$$;

CREATE OR REPLACE FUNCTION rag.chunk_counts(collection_key integer, words text[])
RETURNS TABLE (word text, chunks bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT w.word, coalesce(held.chunks, 0) - coalesce(r.chunk_count, 0)
    FROM unnest(words) AS w (word)
    LEFT JOIN LATERAL (
        SELECT sum((
            SELECT p.chunk_count
            FROM rag.keyword_postings AS p
            WHERE p.collection_id = collection_key
              AND p.segment = s.segment
              AND p.lexeme = w.word COLLATE "C"
        )) AS chunks
        FROM rag.keyword_segments AS s
        WHERE s.collection_id = collection_key
    ) AS held ON true
    LEFT JOIN LATERAL (
        SELECT x.chunk_count
        FROM rag.keyword_removed AS x
        WHERE x.collection_id = collection_key
          AND x.lexeme = w.word COLLATE "C"
        OFFSET 0
    ) AS r ON true;
END
$$;

COMMENT ON FUNCTION rag.chunk_counts(integer, text[]) IS
$$In how many live merged chunks each of the given lexemes occurs.$$;
