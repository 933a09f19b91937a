-- Upkeep by a worker, under rag._lock_keyword: no score changes.
--
-- Weights whose idf has drifted are renewed, and blocks with many deleted chunks compacted.

CREATE OR REPLACE FUNCTION rag._reweigh_postings(
    collection_id integer, row_limit integer DEFAULT 10000
)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _reweighed integer;
BEGIN
    WITH counts AS MATERIALIZED (
        SELECT n.word AS lexeme, n.chunks AS chunk_count
        FROM rag._chunk_counts(_reweigh_postings.collection_id, ARRAY(
            SELECT DISTINCT p.lexeme
            FROM rag.keyword_postings AS p
            WHERE p.collection_id = _reweigh_postings.collection_id AND p.idf IS NOT NULL
        )) AS n
    ),
    drifted AS (
        SELECT p.segment, p.lexeme, p.idf, i.idf AS idf_now
        FROM rag.keyword_totals AS t
        JOIN rag.keyword_segments AS s ON s.collection_id = t.collection_id
        JOIN rag.keyword_postings AS p
            ON p.collection_id = s.collection_id AND p.segment = s.segment
        JOIN counts AS n ON n.lexeme = p.lexeme
        CROSS JOIN LATERAL (
            SELECT greatest(0.01, rag._bm25_idf(
                t.chunk_count, greatest(0, least(n.chunk_count, t.chunk_count))
            )) AS idf
        ) AS i
        WHERE t.collection_id = _reweigh_postings.collection_id
          AND p.idf IS NOT NULL
          AND NOT rag._idf_within_tolerance(i.idf, p.idf)
        LIMIT row_limit
    ),
    rescaled AS (
        UPDATE rag.keyword_postings AS p
        SET idf = d.idf_now,
            top = p.top * (d.idf_now / d.idf),
            weights = (p.weights::{vector}.vector OPERATOR({vector}.*) array_fill(
                (d.idf_now / d.idf)::real, ARRAY[rag._keyword_block_size()]
            )::{vector}.vector)::{vector}.sparsevec
        FROM drifted AS d
        WHERE p.collection_id = _reweigh_postings.collection_id
          AND p.segment = d.segment
          AND p.lexeme = d.lexeme
        RETURNING p.lexeme
    )
    SELECT count(*) INTO _reweighed FROM rescaled;
    RETURN _reweighed;
END
$$;

COMMENT ON FUNCTION rag._reweigh_postings IS
$$Rescales weights whose idf has drifted from the live one (rag._idf_within_tolerance), at most
row_limit of them.

Only a matter of speed: a search multiplies drifted weights, which costs twice as much as adding
them. The caller holds rag._lock_keyword. Returns the number of rows rescaled.$$;


CREATE OR REPLACE FUNCTION rag._compact_keyword(
    collection_id integer, dead_share double precision DEFAULT 0.2, block_limit integer DEFAULT 4
)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
SET work_mem = '64MB'
AS $$
DECLARE
    _block integer;
    _compacted integer := 0;
BEGIN
    IF NOT rag._lock_keyword(_compact_keyword.collection_id) THEN
        RETURN 0;
    END IF;
    FOR _block IN
        SELECT s.slot / rag._keyword_block_size()
        FROM rag.keyword_slots AS s
        LEFT JOIN rag.chunks AS c
            ON c.collection_id = s.collection_id AND c.chunk_id = s.chunk_id
        WHERE s.collection_id = _compact_keyword.collection_id
        GROUP BY 1
        HAVING count(*) - count(c.chunk_id) > dead_share * count(*)
        ORDER BY count(c.chunk_id)::double precision / count(*), 1
        LIMIT block_limit
    LOOP
        PERFORM rag._dissolve_block(_compact_keyword.collection_id, _block);
        _compacted := _compacted + 1;
    END LOOP;
    PERFORM rag._merge_keyword(_compact_keyword.collection_id);
    PERFORM rag._reweigh_postings(_compact_keyword.collection_id);
    RETURN _compacted;
END
$$;

COMMENT ON FUNCTION rag._compact_keyword IS
$$Rewrites blocks of which more than dead_share are deleted chunks, and renews drifted weights.

For a worker, now and then; at most block_limit blocks a call, in one transaction that blocks nobody
(a second merge or compaction of the collection returns 0 at once). Returns the number of blocks
rewritten.$$;


CREATE OR REPLACE FUNCTION rag._dissolve_block(collection_key integer, block integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _first integer := block * rag._keyword_block_size();
    _beyond bigint := _first::bigint + rag._keyword_block_size();
BEGIN
    WITH gone_slots AS (
        DELETE FROM rag.keyword_slots AS s
        WHERE s.collection_id = collection_key
          AND s.slot >= _first
          AND s.slot < _beyond
        RETURNING s.chunk_id
    ),
    gone_segments AS (
        DELETE FROM rag.keyword_segments AS s
        WHERE s.collection_id = collection_key
          AND s.segment >= _first
          AND s.segment < _beyond
    ),
    gone_postings AS (
        DELETE FROM rag.keyword_postings AS p
        WHERE p.collection_id = collection_key
          AND p.segment >= _first
          AND p.segment < _beyond
        RETURNING p.lexeme, rag._posting_count(p.posting_or_count) AS chunk_count
    ),
    live AS MATERIALIZED (
        SELECT c.chunk_id, c.lexeme_count, c.lexemes
        FROM gone_slots AS g
        JOIN rag.chunks AS c ON c.collection_id = collection_key AND c.chunk_id = g.chunk_id
    ),
    dead AS (
        SELECT x.lexeme, sum(x.chunks)::integer AS chunks
        FROM (
            SELECT p.lexeme, p.chunk_count AS chunks
            FROM gone_postings AS p
            UNION ALL
            SELECT u.lexeme COLLATE "C", -1
            FROM live AS l
            CROSS JOIN LATERAL unnest(l.lexemes) AS u
        ) AS x
        GROUP BY x.lexeme
        HAVING sum(x.chunks) <> 0
        ORDER BY x.lexeme
    ),
    put_removed AS (
        INSERT INTO rag.keyword_removed AS t (collection_id, lexeme, chunk_count)
        SELECT collection_key, d.lexeme, -d.chunks
        FROM dead AS d
        ON CONFLICT (collection_id, lexeme)
        DO UPDATE SET chunk_count = t.chunk_count + excluded.chunk_count
    ),
    put_changes AS (
        INSERT INTO rag.keyword_changes (collection_id, chunk_id, change, lexeme_count)
        SELECT collection_key, l.chunk_id, 1, l.lexeme_count
        FROM live AS l
    )
    UPDATE rag.keyword_totals AS t
    SET chunk_count = t.chunk_count - l.chunks,
        length_sum = t.length_sum - l.length_sum
    FROM (
        SELECT count(*) AS chunks, coalesce(sum(x.lexeme_count), 0) AS length_sum
        FROM live AS x
    ) AS l
    WHERE t.collection_id = collection_key;

    DELETE FROM rag.keyword_removed AS r
    WHERE r.collection_id = collection_key
      AND r.chunk_count = 0;

    -- When the growing block itself was dissolved, the next merge begins a free one.
    UPDATE rag.keyword_totals AS t
    SET next_slot = _first
    WHERE t.collection_id = collection_key
      AND t.next_slot >= _first
      AND t.next_slot < _beyond;
END
$$;

COMMENT ON FUNCTION rag._dissolve_block IS
$$Takes a block apart: its segments vanish and its live chunks are fresh changes again, to be merged
by the caller in the same transaction (rag._compact_keyword). Statistics stay exact throughout.$$;


CREATE OR REPLACE FUNCTION rag._clear_keyword(collection_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO off
AS $$
BEGIN
    DELETE FROM rag.keyword_segments AS s WHERE s.collection_id = _clear_keyword.collection_id;
    DELETE FROM rag.keyword_totals AS t WHERE t.collection_id = _clear_keyword.collection_id;
    DELETE FROM rag.keyword_languages AS l WHERE l.collection_id = _clear_keyword.collection_id;
END
$$;

COMMENT ON FUNCTION rag._clear_keyword IS
$$For remove_dropped: removes a collection's rows from the keyword tables that are not partitioned,
when the partitions of the others are gone.$$;
