-- The search: which chunks may be among the best, and then their exact scores.
--
--   1 a filter that few chunks pass: those are listed and scored, and that is all
-- (rag._rank_by_listing)
--   2 fresh chunks are scored one by one (rag._merge_topk)
--   3 postings of rare lexemes are added up (rag._keyword_lists)
--   4 the best of those are scored: their worst score is the bar that others must reach
--   5 blocks in which frequent lexemes could lift a chunk above the bar are scanned: their weights
--     are added by pgvector, 16,000 slots at a time (rag._block_scores, rag._scan_blocks)
--   6 what reached the bar is scored, highest bound first, until the bar is above the next bound

CREATE OR REPLACE FUNCTION rag._merge_topk(
    query rag.keyword_query, best rag.scored_chunk[], chunk_keys bigint[], result_limit integer
)
RETURNS rag.scored_chunk[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN (
        SELECT coalesce(array_agg(x.hit ORDER BY (x.hit).score DESC, (x.hit).chunk_id), '{}')
        FROM (
            SELECT u.hit
            FROM (
                SELECT h AS hit
                FROM unnest(best) AS h
                UNION
                SELECT s
                FROM rag._score_chunks(query, chunk_keys) AS s
            ) AS u
            ORDER BY (u.hit).score DESC, (u.hit).chunk_id
            LIMIT result_limit
        ) AS x
    );
END
$$;

COMMENT ON FUNCTION rag._merge_topk IS
$$The result_limit best of `best` (scored before) and the given chunks (scored now).$$;


CREATE OR REPLACE FUNCTION rag._keyword_lists(
    query rag.keyword_query, required text[],
    OUT rare_slots integer[], OUT rare_scores double precision[], OUT rare_segments integer[],
    OUT dense_segments integer[], OUT dense_bounds double precision[], OUT dense_gated boolean[],
    OUT drift double precision, OUT slack double precision, OUT all_dense boolean
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    -- plain variables: fields cost more per row
    _mean double precision := query.average_length;
    _k1 double precision := query.k1;
    _b double precision := query.b;
BEGIN
    WITH hit AS MATERIALIZED (
        SELECT p.segment, t.word, t.factor, t.word = ANY (required) AS needed,
               p.postings, p.idf, p.top,
               CASE WHEN s.sealed THEN
                   rag._weight_drift(s.average_length, s.k1, s.b, _mean, _k1, _b) END AS drift
        FROM rag._read_postings(query.collection_id, query.lexemes) AS p
        JOIN unnest(query.lexemes, query.factors) AS t (word, factor) ON t.word = p.word
        JOIN rag.keyword_segments AS s ON s.collection_id = query.collection_id
            AND s.segment = p.segment
    ),
    segments AS MATERIALIZED (
        SELECT h.segment,
               count(DISTINCT h.word) FILTER (WHERE h.needed AND h.top IS NULL) AS needed_rare,
               max(h.drift) AS drift, max(h.drift) * sum(h.top * h.factor / h.idf) / 1000 AS bound,
               sum(h.factor - h.idf) FILTER (
                   WHERE h.factor > h.idf AND rag._idf_within_tolerance(h.factor, h.idf)
               ) AS slack
        FROM hit AS h
        GROUP BY h.segment
        HAVING count(DISTINCT h.word) FILTER (WHERE h.needed) = cardinality(required)
    ),
    rare AS (
        SELECT (u.packed >> 32)::integer AS slot, u.segment,
               count(*) FILTER (WHERE u.needed) AS needed,
               sum(u.factor * rag._posting_saturation(u.packed, _mean, _k1, _b)) AS score
        FROM (
            SELECT unnest(h.postings) AS packed, h.factor, h.segment, h.needed
            FROM hit AS h
        ) AS u
        GROUP BY 1, 2
    )
    SELECT r.slots, r.scores, r.segments, d.segments, d.bounds, d.gated, d.drift, d.slack,
           d.all_dense
    INTO rare_slots, rare_scores, rare_segments,
         dense_segments, dense_bounds, dense_gated, drift, slack, all_dense
    FROM (
        SELECT array_agg(x.slot) AS slots, array_agg(x.score) AS scores,
               array_agg(x.segment) AS segments
        FROM (
            SELECT y.slot, y.segment, y.score
            FROM rare AS y
            JOIN segments AS s ON s.segment = y.segment AND s.needed_rare = y.needed
            ORDER BY y.score DESC
        ) AS x
    ) AS r
    CROSS JOIN (
        SELECT array_agg(x.segment) FILTER (WHERE x.bound IS NOT NULL) AS segments,
               array_agg(x.bound) FILTER (WHERE x.bound IS NOT NULL) AS bounds,
               array_agg(x.needed_rare > 0) FILTER (WHERE x.bound IS NOT NULL) AS gated,
               max(x.drift) FILTER (WHERE x.bound IS NOT NULL) AS drift,
               coalesce(max(x.slack) FILTER (WHERE x.bound IS NOT NULL), 0) AS slack,
               bool_and(x.bound IS NOT NULL AND x.needed_rare = 0) AS all_dense
        FROM segments AS x
    ) AS d;
END
$$;

COMMENT ON FUNCTION rag._keyword_lists IS
$$What the segments hold of a query.

rare_slots, rare_scores, rare_segments: the chunks in the exact postings with the sum of their
contributions, best first (their whole score, unless their segment has weights too). dense_segments,
dense_bounds: the segments that have weights of the query, and the most that those can add to a
chunk's score. drift and slack: a score is at most sum of weights × drift + slack
(rag._weight_drift; idf that grew but rag._idf_within_tolerance). required: lexemes that a chunk
must contain. Chunks that lack one which their segment keeps as postings are left out; dense_gated
marks the segments where this decides alone. all_dense: every segment with a chunk of the query has
weights of it and is not gated.$$;


CREATE OR REPLACE FUNCTION rag._weight_drift(
    old_length double precision, old_saturation double precision, old_weight double precision,
    new_length double precision, new_saturation double precision, new_weight double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN greatest(
    1,
    (1 + old_saturation * (1 - old_weight)) / (1 + new_saturation * (1 - new_weight)),
    CASE WHEN old_saturation * old_weight = 0 THEN 1
         WHEN new_saturation * new_weight = 0 THEN 1e9
         ELSE old_saturation * old_weight / old_length
              / (new_saturation * new_weight / new_length) END
);

COMMENT ON FUNCTION rag._weight_drift IS
$$By what factor contributions can have grown since weights were computed with other average length,
k1 and b.

The largest ratio of rag._bm25_saturation over all frequencies ≥ 1 and lengths. 1 when nothing
changed; a collection whose k1 or b is altered stays exact, only slower until
rag._compact_keyword(collection, -1).$$;


CREATE OR REPLACE FUNCTION rag._constant_block(value real)
RETURNS {vector}.vector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _size CONSTANT integer := rag._keyword_block_size();
    _block {vector}.vector := ARRAY[value]::{vector}.vector;
    _filled integer := 1;
BEGIN
    WHILE 2 * _filled <= _size LOOP     -- twice as fast as a cast of array_fill
        _block := _block OPERATOR({vector}.||) _block;
        _filled := 2 * _filled;
    END LOOP;
    IF _filled < _size THEN
        _block := _block OPERATOR({vector}.||) {vector}.subvector(_block, 1, _size - _filled);
    END IF;
    RETURN _block;
END
$$;

COMMENT ON FUNCTION rag._constant_block IS
$$The same number for every slot of a block.$$;


CREATE OR REPLACE FUNCTION rag._block_scores(
    query rag.keyword_query, segment_key integer, rare_vector {vector}.sparsevec
)
RETURNS {vector}.vector
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN (
        SELECT {vector}.sum(x.weights)
        FROM (
            SELECT CASE
                WHEN rag._idf_within_tolerance(t.factor, p.idf) THEN p.weights::{vector}.vector
                ELSE p.weights::{vector}.vector OPERATOR({vector}.*)
                    rag._constant_block((t.factor / p.idf)::real) END AS weights
            FROM unnest(query.lexemes, query.factors) AS t (word, factor)
            JOIN rag._read_weights(query.collection_id, segment_key, query.lexemes) AS p
                ON p.word = t.word
            UNION ALL
            SELECT rare_vector::{vector}.vector
            WHERE rare_vector IS NOT NULL
        ) AS x
    );
END
$$;

COMMENT ON FUNCTION rag._block_scores IS
$$Upper bounds (in thousandths) of the scores of all chunks of a sealed segment, one per slot.

rare_vector: what the rare lexemes contribute, in the same form.$$;


CREATE OR REPLACE FUNCTION rag._scan_blocks(
    query rag.keyword_query, required text[], segments integer[], rare_vectors {vector}.sparsevec[],
    at_least double precision, below double precision, first_scores {vector}.vector,
    OUT slots integer[], OUT bounds double precision[]
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _cut {vector}.vector := rag._constant_block((at_least * (1 - 1e-6))::real);
BEGIN
    SELECT array_agg(x.slot), array_agg(x.bound)
    INTO slots, bounds
    FROM (
        SELECT t.segment - t.segment % rag._keyword_block_size() + o.position - 1 AS slot,
                ({vector}.subvector(t.scores, o.position, 1)::real[])[1] AS bound
        FROM (
            SELECT s.segment, s.rare_vector,
                   CASE WHEN s.position = 1 AND first_scores IS NOT NULL THEN first_scores
                   ELSE rag._block_scores(query, s.segment, s.rare_vector) END AS scores
            FROM unnest(segments, rare_vectors) WITH ORDINALITY
                AS s (segment, rare_vector, position)
            OFFSET 0
        ) AS t
        CROSS JOIN LATERAL (
            SELECT CASE WHEN cardinality(required) = 0 THEN
                {vector}.binary_quantize(t.scores OPERATOR({vector}.-) _cut)
                   ELSE {vector}.binary_quantize(t.scores OPERATOR({vector}.-) _cut)
                        -- a 1 for each chunk that has every required lexeme
                        & (SELECT bit_and({vector}.binary_quantize(p.weights::{vector}.vector))
                           FROM rag._read_weights(query.collection_id, t.segment, required) AS p)
                   END AS passed
            OFFSET 0
        ) AS b
        CROSS JOIN LATERAL (
            SELECT sum(length(z.zeros) + 1) OVER (ORDER BY z.part)::integer AS position, z.part
            FROM string_to_table(b.passed::text, '1') WITH ORDINALITY AS z (zeros, part)
            WHERE bit_count(b.passed) > 0
        ) AS o
        WHERE o.part <= bit_count(b.passed)
    ) AS x
    WHERE x.bound < below;
END
$$;

COMMENT ON FUNCTION rag._scan_blocks IS
$$The slots of some sealed segments whose bound (in thousandths) is in [at_least, below), with that
bound. first_scores: of the first segment (rag._block_scores), where they are known.

binary_quantize(bounds - cut) is a bit string with a 1 per slot that passes; splitting its text at
the 1s gives their places without unnesting 16,000 numbers.$$;
