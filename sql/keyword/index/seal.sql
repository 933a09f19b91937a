-- Sealing: postings of frequent lexemes become weights that pgvector can add up.
--
-- No score changes.
--
--   seal_frequent  every 4,000 slots of a growing block; rare lexemes stay as they are
--   seal_block     when the block is full: one row per lexeme

CREATE OR REPLACE FUNCTION rag._keyword_frequent_from()
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 64;

COMMENT ON FUNCTION rag._keyword_frequent_from IS
$$Lexemes in at least this many chunks of a block (0.4 %) are stored as weights when it is
sealed.$$;


CREATE OR REPLACE FUNCTION rag._block_weights(
    packed_postings bigint[], term_idf double precision, mean_length double precision,
    tf_saturation double precision, length_weight double precision
)
RETURNS TABLE (block_vector {vector}.sparsevec, block_idf real, top_weight real)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET plan_cache_mode = auto    -- not the caller's: it is called for each lexeme
AS $$
DECLARE
    _idf real := greatest(term_idf, 0.01);
BEGIN
    RETURN QUERY
    SELECT (
               '{' || string_agg(w.position || ':' || w.weight, ',') || '}/' ||
                   rag._keyword_block_size()
           )::{vector}.sparsevec,
           _idf, max(w.weight)::real
    FROM (
        SELECT (p.packed >> 32) % rag._keyword_block_size() + 1 AS position,
               ceil(1000 * _idf * rag._posting_saturation(
                   p.packed, mean_length, tf_saturation, length_weight
               ))::integer AS weight
        FROM unnest(packed_postings) AS p (packed)
    ) AS w;
END
$$;

COMMENT ON FUNCTION rag._block_weights IS
$$The weights of one frequent lexeme in one block (thousandths of its contributions, rounded up) and
their top.$$;


CREATE OR REPLACE FUNCTION rag._seal_frequent(collection_id integer, first_slot integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
SET work_mem = '128MB'
SET enable_nestloop = off    -- the planner knows no sizes of the steps below: hash joins are safe
AS $$
DECLARE
    _block integer := first_slot / rag._keyword_block_size();
    _basis record := rag._weight_basis(_seal_frequent.collection_id, _block);
BEGIN
    WITH words AS MATERIALIZED (
        SELECT p.lexeme AS word
        FROM rag.keyword_postings AS p
        WHERE p.collection_id = _seal_frequent.collection_id
          AND p.segment = first_slot
        GROUP BY p.lexeme
        HAVING sum(rag._posting_count(p.posting_or_count)) >= rag._keyword_frequent_from()
    ),
    frequent AS MATERIALIZED (
        SELECT f.word, f.idf
        FROM rag._block_idfs(
            _seal_frequent.collection_id, _block, _basis.chunks,
                ARRAY(SELECT w.word FROM words AS w)
        ) AS f
    ),
    pieces AS (
        DELETE FROM rag.keyword_postings AS p
        WHERE p.collection_id = _seal_frequent.collection_id
          AND p.segment = first_slot
          AND p.lexeme IN (SELECT w.word FROM words AS w)
        RETURNING p.lexeme, rag._posting_list(p.posting_or_count, p.postings) AS postings
    ),
    packed AS MATERIALIZED (
        SELECT w.lexeme AS word, count(*)::integer AS chunks, array_agg(w.posting) AS postings
        FROM (SELECT p.lexeme, unnest(p.postings) AS posting FROM pieces AS p) AS w
        GROUP BY w.lexeme
    )
    INSERT INTO rag.keyword_postings
        (collection_id, segment, lexeme, posting_or_count, weights, idf, top)
    SELECT _seal_frequent.collection_id, first_slot, p.word, -p.chunks, v.block_vector,
        v.block_idf, v.top_weight
    FROM packed AS p
    JOIN frequent AS f ON f.word = p.word
    CROSS JOIN LATERAL rag._block_weights(
        p.postings, f.idf, _basis.average_length, _basis.k1, _basis.b
    ) AS v
    ORDER BY p.word;

    UPDATE rag.keyword_segments AS s
    SET sealed = true,
        average_length = _basis.average_length,
        k1 = _basis.k1,
        b = _basis.b
    WHERE s.collection_id = _seal_frequent.collection_id
      AND s.segment = first_slot;
END
$$;

COMMENT ON FUNCTION rag._seal_frequent IS
$$Seals the open segment first_slot of a block that still grows: the postings of frequent lexemes
become weights, those of rare ones stay where they are.

So a search need not add up many postings, and few rows are written twice. The caller holds
rag._lock_keyword.$$;


CREATE OR REPLACE FUNCTION rag._seal_block(collection_id integer, block integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
SET work_mem = '128MB'
SET enable_nestloop = off    -- the planner knows no sizes of the steps below: hash joins are safe
AS $$
DECLARE
    _first integer := block * rag._keyword_block_size();
    _beyond bigint := _first::bigint + rag._keyword_block_size();
    _basis record := rag._weight_basis(_seal_block.collection_id, block);
BEGIN
    WITH words AS MATERIALIZED (
        SELECT p.lexeme AS word
        FROM rag.keyword_postings AS p
        WHERE p.collection_id = _seal_block.collection_id
          AND p.segment >= _first
          AND p.segment < _beyond
        GROUP BY p.lexeme
        HAVING sum(rag._posting_count(p.posting_or_count)) >= rag._keyword_frequent_from()
            OR bool_or(p.weights IS NOT NULL)
    ),
    frequent AS MATERIALIZED (
        SELECT f.word, f.idf
        FROM rag._block_idfs(
            _seal_block.collection_id, block, _basis.chunks, ARRAY(SELECT w.word FROM words AS w)
        ) AS f
    ),
    pieces AS (
        DELETE FROM rag.keyword_postings AS p
        WHERE p.collection_id = _seal_block.collection_id
          AND p.segment >= _first
          AND p.segment < _beyond
        RETURNING p.lexeme, p.posting_or_count,
            rag._posting_list(p.posting_or_count, p.postings) AS postings,
                  p.weights, p.idf, p.top
    ),
    earlier AS MATERIALIZED (
        SELECT w.lexeme AS word, sum(rag._posting_count(w.posting_or_count))::integer AS chunks,
               array_agg(w.weights) AS vectors, array_agg(w.idf) AS idfs, max(w.top / w.idf) AS top
        FROM pieces AS w
        WHERE w.weights IS NOT NULL
        GROUP BY w.lexeme
    ),
    packed AS MATERIALIZED (
        SELECT w.lexeme AS word, count(*)::integer AS chunks, array_agg(w.posting) AS postings
        FROM (SELECT p.lexeme, unnest(p.postings) AS posting FROM pieces AS p) AS w
        GROUP BY w.lexeme
    )
    INSERT INTO rag.keyword_postings
        (collection_id, segment, lexeme, posting_or_count, postings, weights, idf, top)
    SELECT _seal_block.collection_id, _first, x.word, x.posting_or_count, x.postings, x.weights,
        x.idf, x.top
    FROM (
        SELECT p.word, CASE WHEN p.chunks = 1 THEN p.postings[1]
            ELSE -p.chunks END AS posting_or_count,
               CASE WHEN p.chunks > 1 THEN p.postings END AS postings,
               NULL::{vector}.sparsevec AS weights, NULL::real AS idf, NULL::real AS top
        FROM packed AS p
        WHERE p.word NOT IN (SELECT w.word FROM words AS w)
        UNION ALL
        SELECT f.word, -coalesce(p.chunks, 0) - coalesce(e.chunks, 0), NULL, CASE
                   WHEN e.word IS NULL THEN v.block_vector
                   ELSE rag._joined_weights(v.block_vector, f.idf, e.vectors, e.idfs) END,
               f.idf, greatest(v.top_weight, e.top * f.idf)
        FROM frequent AS f
        LEFT JOIN packed AS p ON p.word = f.word
        LEFT JOIN earlier AS e ON e.word = f.word
        CROSS JOIN LATERAL rag._block_weights(
            p.postings, f.idf, _basis.average_length, _basis.k1, _basis.b
        ) AS v
    ) AS x
    ORDER BY x.word;

    DELETE FROM rag.keyword_segments AS s
    WHERE s.collection_id = _seal_block.collection_id
      AND s.segment >= _first
      AND s.segment < _beyond;
    INSERT INTO rag.keyword_segments
        (collection_id, segment, sealed, average_length, k1, b)
    VALUES (_seal_block.collection_id, _first, true, _basis.average_length, _basis.k1, _basis.b);
END
$$;

COMMENT ON FUNCTION rag._seal_block IS
$$Folds the segments of a full block into one.

Rare lexemes keep their exact postings; the others' postings become weights, to which the weights of
rag._seal_frequent are added. The caller holds rag._lock_keyword.$$;


CREATE OR REPLACE FUNCTION rag._joined_weights(
    newest {vector}.sparsevec, newest_idf real, vectors {vector}.sparsevec[], idfs real[]
)
RETURNS {vector}.sparsevec
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET plan_cache_mode = auto    -- not the caller's: it is called for each lexeme
AS $$
BEGIN
    RETURN (
        SELECT {vector}.sum(x.weights)
        FROM (
            SELECT newest::{vector}.vector AS weights
            WHERE newest IS NOT NULL
            UNION ALL
            SELECT CASE WHEN u.idf = newest_idf THEN u.weights::{vector}.vector
                   ELSE u.weights::{vector}.vector OPERATOR({vector}.*) array_fill(
                       (newest_idf / u.idf)::real, ARRAY[rag._keyword_block_size()]
                   )::{vector}.vector END
            FROM unnest(vectors, idfs) AS u (weights, idf)
        ) AS x
    )::{vector}.sparsevec;
END
$$;

COMMENT ON FUNCTION rag._joined_weights IS
$$One vector of a lexeme's weights in the parts of a block, all for the idf of the newest.$$;


CREATE OR REPLACE FUNCTION rag._weight_basis(
    collection_id integer, block integer,
    OUT chunks bigint, OUT average_length double precision, OUT k1 double precision,
    OUT b double precision
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT t.chunk_count, coalesce(s.average_length, rag._mean_length(t.chunk_count, t.length_sum)),
           coalesce(s.k1, c.k1), coalesce(s.b, c.b)
    INTO STRICT chunks, average_length, k1, b
    FROM rag.keyword_totals AS t
    JOIN rag.collections AS c ON c.collection_id = t.collection_id
    LEFT JOIN LATERAL (
        SELECT x.average_length, x.k1, x.b
        FROM rag.keyword_segments AS x
        WHERE x.collection_id = t.collection_id
          AND x.segment / rag._keyword_block_size() = block
          AND x.sealed
        ORDER BY x.segment
        LIMIT 1
    ) AS s ON true
    WHERE t.collection_id = _weight_basis.collection_id;
END
$$;

COMMENT ON FUNCTION rag._weight_basis IS
$$What all weights of a block are computed with: average length, k1 and b as of its first seal.

chunks: the live merged chunks of the collection.$$;


CREATE OR REPLACE FUNCTION rag._block_idfs(
    collection_id integer, block integer, total bigint, words text[]
)
RETURNS TABLE (word text, idf real)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_nestloop = on
AS $$
BEGIN
    RETURN QUERY
    SELECT n.word, CASE WHEN rag._idf_within_tolerance(i.idf, e.idf) THEN e.idf ELSE i.idf END
    FROM rag._chunk_counts(_block_idfs.collection_id, words) AS n
    CROSS JOIN LATERAL (
        SELECT greatest(0.01, rag._bm25_idf(total, greatest(0, least(n.chunks, total))))::real AS
            idf
    ) AS i
    LEFT JOIN LATERAL (
        SELECT min((
            SELECT max(p.idf)
            FROM rag.keyword_postings AS p
            WHERE p.collection_id = _block_idfs.collection_id
              AND p.segment = s.segment
              AND p.lexeme = n.word COLLATE "C"
        )) AS idf
        FROM rag.keyword_segments AS s
        WHERE s.collection_id = _block_idfs.collection_id
          AND s.segment / rag._keyword_block_size() = block
          AND s.sealed
    ) AS e ON true;
END
$$;

COMMENT ON FUNCTION rag._block_idfs IS
$$The idf for which weights of these lexemes are computed: today's, or that of earlier weights in
the block if it has drifted little.$$;
