-- Merging: fresh changes become segments, one merge at a time per collection.
--
-- rag._lock_keyword sees to that. Each step is one SQL statement, so every snapshot sees either the
-- state before it or the state after it.

CREATE OR REPLACE FUNCTION rag._merge_keyword(collection_id integer)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET work_mem = '64MB'
AS $$
DECLARE
    _taken integer;
    _merged integer := 0;
    _block integer;
    _first_open integer;
    _full boolean;
BEGIN
    IF NOT rag._lock_keyword(_merge_keyword.collection_id) THEN
        RETURN 0;
    END IF;
    LOOP
        _taken := rag._merge_changes(_merge_keyword.collection_id);
        EXIT WHEN _taken = 0;
        _merged := _merged + _taken;
        -- A full block is sealed as a whole, the open part of a growing one as soon as it is large.
        FOR _block, _first_open, _full IN
            SELECT o.block, o.first_open, NOT o.growing
            FROM (
                SELECT s.segment / rag._keyword_block_size() AS block, t.next_slot,
                       s.segment / rag._keyword_block_size() IS NOT DISTINCT
                           FROM rag._growing_block(t.next_slot)
                           AS growing, min(s.segment) AS first_open
                FROM rag.keyword_segments AS s
                JOIN rag.keyword_totals AS t ON t.collection_id = s.collection_id
                WHERE s.collection_id = _merge_keyword.collection_id
                  AND NOT s.sealed
                GROUP BY 1, 2, 3
            ) AS o
            WHERE NOT o.growing
               OR o.next_slot - o.first_open >= rag._keyword_seal_size()
        LOOP
            IF _full THEN
                PERFORM rag._seal_block(_merge_keyword.collection_id, _block);
            ELSE
                PERFORM rag._seal_frequent(_merge_keyword.collection_id, _first_open);
            END IF;
        END LOOP;
    END LOOP;
    RETURN _merged;
END
$$;

COMMENT ON FUNCTION rag._merge_keyword IS
$$Merges the fresh changes of a collection into its segments and returns how many it took.

For writers past the threshold, and for a worker at any time. Returns 0 at once when another session
is merging. Blocks nobody: it deletes the changes it has read and adds segments, in the caller's
transaction; the changes of transactions still open are left for the next merge. Needs READ
COMMITTED.$$;


CREATE OR REPLACE FUNCTION rag._growing_block(next_slot integer)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN next_slot % rag._keyword_block_size() > 0
                 AND next_slot / rag._keyword_block_size() < 2147483647 / rag._keyword_block_size()
            THEN next_slot / rag._keyword_block_size() END;

COMMENT ON FUNCTION rag._growing_block IS
$$The block in which next_slot (of rag.keyword_totals) is; NULL where the next merge begins a free
block.$$;


CREATE OR REPLACE FUNCTION rag._free_block(collection_id integer)
RETURNS integer
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        WITH used AS MATERIALIZED (
            SELECT DISTINCT s.segment / rag._keyword_block_size() AS block
            FROM rag.keyword_segments AS s
            WHERE s.collection_id = _free_block.collection_id
        )
        SELECT min(g.block)
        FROM generate_series(0, (SELECT count(*)::integer FROM used)) AS g (block)
        WHERE g.block NOT IN (SELECT u.block FROM used AS u)
          AND g.block < 2147483647 / rag._keyword_block_size()
    );
END
$$;

COMMENT ON FUNCTION rag._free_block IS
$$The lowest block of a collection that holds nothing: never used, or taken apart by compaction.
NULL when all 134,217 are in use, which takes 2,147,472,000 chunks.

Slot numbers are used again, so they do not run out. A snapshot from before sees the old rows of a
slot, one from after the new ones.$$;


CREATE OR REPLACE FUNCTION rag._merge_changes(collection_key integer)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
SET enable_nestloop = off    -- the planner knows no sizes of the steps below: hash joins are safe
AS $$
DECLARE
    _first integer;
    _segment integer;
    _chunks bigint;
    _lengths bigint;
    _k1 double precision;
    _b double precision;
    _free_slots integer;
    _seal boolean;
    _taken integer;
BEGIN
    SELECT coalesce(t.next_slot, 0), coalesce(t.chunk_count, 0), coalesce(t.length_sum, 0), c.k1,
        c.b
    INTO STRICT _first, _chunks, _lengths, _k1, _b
    FROM rag.collections AS c
    LEFT JOIN rag.keyword_totals AS t ON t.collection_id = c.collection_id
    WHERE c.collection_id = collection_key;
    IF rag._growing_block(_first) IS NULL THEN
        _first := rag._free_block(collection_key) * rag._keyword_block_size();
        IF _first IS NULL THEN
            RETURN 0;   -- two billion chunks are merged: what is fresh stays fresh
        END IF;
    END IF;
    _free_slots := rag._keyword_block_size() - _first % rag._keyword_block_size();
    SELECT coalesce(max(s.segment), _first)
    INTO _segment
    FROM rag.keyword_segments AS s
    WHERE s.collection_id = collection_key
      AND s.segment BETWEEN _first + _free_slots - rag._keyword_block_size() AND _first
      AND NOT s.sealed;

    -- A bulk load fills an empty block by itself: it is sealed at once, without open segments.
    _seal := _free_slots = rag._keyword_block_size() AND (
        SELECT count(*) FROM rag.keyword_changes AS k WHERE k.collection_id = collection_key
    ) >= _free_slots / 2;

    WITH last_taken AS (
        -- Whole chunks only: a written and deleted chunk has two changes, taken together.
        SELECT max(k.chunk_id) AS chunk_id
        FROM (
            SELECT w.chunk_id
            FROM rag.keyword_changes AS w
            WHERE w.collection_id = collection_key
            ORDER BY w.chunk_id
            LIMIT _free_slots
        ) AS k
    ),
    taken AS (
        DELETE FROM rag.keyword_changes AS k
        WHERE k.collection_id = collection_key
          AND k.chunk_id <= (SELECT l.chunk_id FROM last_taken AS l)    -- looked up once
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
               array_agg(rag._posting(
                   _first + k.position::integer - 1, c.lexeme_count, cardinality(u.positions)
               )) AS packed
        FROM state AS s
        CROSS JOIN LATERAL unnest(s.chunk_ids) WITH ORDINALITY AS k (chunk_id, position)
        CROSS JOIN LATERAL (
            SELECT x.lexeme_count, x.lexemes
            FROM rag.chunks AS x
            WHERE x.collection_id = collection_key
              AND x.chunk_id = k.chunk_id
            OFFSET 0    -- always by the primary key
        ) AS c
        CROSS JOIN LATERAL unnest(c.lexemes) AS u
        GROUP BY 1
    ),
    counted AS MATERIALIZED (
        SELECT n.word, n.chunks
        FROM rag._chunk_counts(collection_key, ARRAY(
            SELECT f.word FROM inverted AS f WHERE _seal
                AND f.chunks >= rag._keyword_frequent_from()
        )) AS n
    ),
    put_postings AS (
        INSERT INTO rag.keyword_postings
            (collection_id, segment, lexeme, posting_or_count, postings, weights, idf, top)
        SELECT collection_key, _segment, x.word, x.posting_or_count, x.postings, x.weights, x.idf,
            x.top
        FROM (
            SELECT i.word, CASE WHEN i.chunks = 1 THEN i.packed[1]
                ELSE -i.chunks END AS posting_or_count,
                   CASE WHEN i.chunks > 1 THEN i.packed END AS postings,
                   NULL::{vector}.sparsevec AS weights, NULL::real AS idf, NULL::real AS top
            FROM inverted AS i
            WHERE i.word NOT IN (SELECT n.word FROM counted AS n)
            UNION ALL
            SELECT i.word, -i.chunks, NULL, v.block_vector, v.block_idf, v.top_weight
            FROM counted AS n
            JOIN inverted AS i ON i.word = n.word
            CROSS JOIN (SELECT t.chunks, t.lengths FROM state AS t OFFSET 0) AS s
            CROSS JOIN LATERAL rag._block_weights(
                i.packed, rag._bm25_idf(s.chunks,
                    greatest(0, least(n.chunks + i.chunks, s.chunks))),
                rag._mean_length(s.chunks, s.lengths), _k1, _b
            ) AS v
        ) AS x
        ORDER BY x.word
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
        SELECT collection_key, _first + o.position::integer - 1, o.chunk_id
        FROM state AS s
        CROSS JOIN LATERAL unnest(s.chunk_ids) WITH ORDINALITY AS o (chunk_id, position)
    ),
    put_segment AS (
        INSERT INTO rag.keyword_segments
            (collection_id, segment, sealed, average_length, k1, b)
        SELECT collection_key, _segment, _seal, rag._mean_length(s.chunks, s.lengths), _k1, _b
        FROM state AS s
        WHERE s.written > 0
          AND _segment = _first
    ),
    put_totals AS (
        INSERT INTO rag.keyword_totals AS t (collection_id, chunk_count, length_sum, next_slot)
        SELECT collection_key, s.chunks, s.lengths,
               _first + CASE WHEN _seal AND s.written > 0 THEN _free_slots ELSE s.written END
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

COMMENT ON FUNCTION rag._merge_changes IS
$$Moves fresh changes, at most as many as the open block has room for, into its open segment.

Written chunks get slots and postings; deleted ones are counted as removed (their postings stay
until compaction, harmless: a search only returns chunks that exist). A chunk written and deleted
meanwhile vanishes. One statement, hence one snapshot: a written chunk whose deletion that snapshot
does not see is still there to be read. The caller holds rag._lock_keyword. Returns the changes
taken.$$;


CREATE OR REPLACE FUNCTION rag._chunk_counts(collection_id integer, words text[])
RETURNS TABLE (word text, chunks bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT w.word, coalesce(stored.chunks, 0)::bigint - coalesce(r.chunk_count, 0)
    FROM unnest(words) AS w (word)
    LEFT JOIN LATERAL (
        SELECT sum((
            SELECT sum(rag._posting_count(p.posting_or_count))
            FROM rag.keyword_postings AS p
            WHERE p.collection_id = _chunk_counts.collection_id
              AND p.segment = s.segment
              AND p.lexeme = w.word COLLATE "C"
        )) AS chunks
        FROM rag.keyword_segments AS s
        WHERE s.collection_id = _chunk_counts.collection_id
    ) AS stored ON true
    LEFT JOIN LATERAL (
        SELECT x.chunk_count
        FROM rag.keyword_removed AS x
        WHERE x.collection_id = _chunk_counts.collection_id
          AND x.lexeme = w.word COLLATE "C"
        OFFSET 0
    ) AS r ON true;
END
$$;

COMMENT ON FUNCTION rag._chunk_counts IS
$$In how many live merged chunks each of the given lexemes occurs.$$;
