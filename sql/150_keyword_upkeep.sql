-- Sealing: open segments are folded into sealed ones, in which frequent lexemes are weights that
-- pgvector can add up. No score changes.

CREATE OR REPLACE FUNCTION rag.keyword_frequent_from()
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 64;

COMMENT ON FUNCTION rag.keyword_frequent_from() IS
$$Lexemes in at least this many chunks of a block (0.4 %) are stored as weights when it is sealed.$$;

CREATE OR REPLACE FUNCTION rag.block_weights(
    packed_postings bigint[], term_idf double precision, mean_length double precision,
    tf_saturation double precision, length_weight double precision
)
RETURNS TABLE (block_vector sparsevec, block_idf real, top_weight real)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _idf real := greatest(term_idf, 0.01);
BEGIN
    RETURN QUERY
    SELECT (
               '{' || string_agg(w.place || ':' || w.weight, ',') || '}/' || rag.keyword_block_size()
           )::sparsevec,
           _idf, max(w.weight)::real
    FROM (
        SELECT (p.packed >> 32) % rag.keyword_block_size() + 1 AS place,
               ceil(1000 * _idf * rag.posting_saturation(
                   p.packed, mean_length, tf_saturation, length_weight
               ))::integer AS weight
        FROM unnest(packed_postings) AS p (packed)
    ) AS w;
END
$$;

COMMENT ON FUNCTION rag.block_weights(
    bigint[], double precision, double precision, double precision, double precision
) IS
$$The weights of one frequent lexeme in one block (thousandths of its contributions, rounded up) and
their top.$$;

CREATE OR REPLACE FUNCTION rag.seal_segments(collection_key integer, first_slot integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET work_mem = '128MB'
SET enable_nestloop = off    -- the planner knows no sizes of the steps below: hash joins are safe
AS $$
DECLARE
    _beyond integer := (first_slot / rag.keyword_block_size() + 1) * rag.keyword_block_size();
    _chunks bigint;
    _mean double precision;
    _k1 double precision;
    _b double precision;
BEGIN
    -- All weights of a block are computed with the same average length, k1 and b: its first seal's.
    SELECT t.chunk_count, coalesce(s.average_length, rag.mean_length(t.chunk_count, t.length_sum)),
           coalesce(s.k1, c.k1), coalesce(s.b, c.b)
    INTO STRICT _chunks, _mean, _k1, _b
    FROM rag.keyword_totals AS t
    JOIN rag.collections AS c ON c.collection_id = t.collection_id
    LEFT JOIN LATERAL (
        SELECT x.average_length, x.k1, x.b
        FROM rag.keyword_segments AS x
        WHERE x.collection_id = t.collection_id
          AND x.segment >= _beyond - rag.keyword_block_size()
          AND x.segment < _beyond
          AND x.sealed
        ORDER BY x.segment
        LIMIT 1
    ) AS s ON true
    WHERE t.collection_id = collection_key;

    WITH pieces AS (
        DELETE FROM rag.keyword_postings AS p
        WHERE p.collection_id = collection_key
          AND p.segment >= first_slot
          AND p.segment < _beyond
        RETURNING p.lexeme, p.chunk_count, p.postings, p.weights, p.idf, p.top
    ),
    sizes AS MATERIALIZED (
        SELECT w.lexeme AS word, sum(w.chunk_count)::integer AS chunks,
               bool_or(w.weights IS NOT NULL) AS weighed
        FROM pieces AS w
        GROUP BY w.lexeme
    ),
    packed AS MATERIALIZED (
        SELECT w.lexeme AS word, array_agg(w.posting) AS postings
        FROM (SELECT p.lexeme, unnest(p.postings) AS posting FROM pieces AS p) AS w
        GROUP BY w.lexeme
    ),
    frequent AS MATERIALIZED (
        SELECT n.word, greatest(0.01, rag.bm25_idf(
                   _chunks, greatest(0, least(n.chunks, _chunks))
               ))::real AS idf
        FROM rag.chunk_counts(collection_key, ARRAY(
            SELECT f.word FROM sizes AS f WHERE f.weighed OR f.chunks >= rag.keyword_frequent_from()
        )) AS n
    ),
    earlier AS MATERIALIZED (
        SELECT w.lexeme AS word, array_agg(w.weights) AS vectors, array_agg(w.idf) AS idfs,
               max(w.top / w.idf) AS top
        FROM pieces AS w
        WHERE w.weights IS NOT NULL
        GROUP BY w.lexeme
    ),
    weighed AS MATERIALIZED (
        SELECT f.word, f.idf, greatest(v.top_weight, e.top * f.idf) AS top,
               CASE WHEN e.word IS NULL THEN v.block_vector ELSE (
                   SELECT sum(x.weights)
                   FROM (
                       SELECT v.block_vector::vector AS weights
                       UNION ALL
                       SELECT u.weights::vector * array_fill(
                           (f.idf / u.idf)::real, ARRAY[rag.keyword_block_size()])::vector
                       FROM unnest(e.vectors, e.idfs) AS u (weights, idf)
                   ) AS x
               )::sparsevec END AS weights
        FROM frequent AS f
        LEFT JOIN packed AS p ON p.word = f.word
        LEFT JOIN earlier AS e ON e.word = f.word
        CROSS JOIN LATERAL rag.block_weights(p.postings, f.idf, _mean, _k1, _b) AS v
    )
    INSERT INTO rag.keyword_postings
        (collection_id, segment, lexeme, chunk_count, postings, weights, idf, top)
    SELECT collection_key, first_slot, z.word, z.chunks,
           CASE WHEN w.word IS NULL THEN p.postings END, w.weights, w.idf, w.top
    FROM sizes AS z
    LEFT JOIN weighed AS w ON w.word = z.word
    LEFT JOIN packed AS p ON p.word = z.word
    ORDER BY z.word;

    DELETE FROM rag.keyword_segments AS s
    WHERE s.collection_id = collection_key
      AND s.segment >= first_slot
      AND s.segment < _beyond;
    INSERT INTO rag.keyword_segments
        (collection_id, segment, sealed, average_length, k1, b)
    VALUES (collection_key, first_slot, true, _mean, _k1, _b);
END
$$;

COMMENT ON FUNCTION rag.seal_segments(integer, integer) IS
$$Folds the segments from first_slot to the end of its block into one sealed segment.

Rare lexemes keep their exact postings; the others' postings become weights, to which the weights of
earlier seals are added, rescaled to today's idf. The caller holds rag.lock_keyword.$$;
