-- Exact scores of given chunks, and where they come from.

CREATE OR REPLACE FUNCTION rag._explain_keyword(
    collection text, query_text text, result_limit integer DEFAULT 10,
        metadata_filter jsonb DEFAULT '{}',
    match text DEFAULT 'any', chunk_ids bigint[] DEFAULT NULL, typo_tolerance boolean DEFAULT true
)
RETURNS TABLE (
    chunk_id bigint, score double precision, term text, qtf integer, tf integer, df bigint,
        chunk_count bigint,
    idf double precision, length integer, average_length double precision,
        length_norm double precision,
    contribution double precision, weight double precision, mistyped text
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    _id integer := (rag._require_collection(_explain_keyword.collection)).collection_id;
    _q rag.keyword_query := rag._prepare_keyword(_id, query_text, typo_tolerance);
    _wanted bigint[] := _explain_keyword.chunk_ids;
BEGIN
    IF _wanted IS NULL THEN
        PERFORM rag._check_query(query_text, result_limit, metadata_filter);
        _wanted := ARRAY(
            SELECT r.chunk_id
            FROM rag._compile_filter(_id, metadata_filter) AS f
            CROSS JOIN LATERAL rag._rank_keyword(
                _id, query_text, result_limit, f.condition, match, f.indexed, typo_tolerance
            ) AS r
        );
    END IF;
    RETURN QUERY
    SELECT x.chunk_id, sum(x.contribution) OVER (PARTITION BY x.chunk_id), x.word, x.qtf,
        x.frequency, x.chunks,
           _q.chunk_count, x.factor / x.qtf / x.weight, x.lexeme_count, _q.average_length,
           x.length_norm, x.contribution, x.weight, x.mistyped
    FROM (
        SELECT c.chunk_id, t.word, t.qtf, t.chunks, t.factor, t.weight, t.mistyped, f.frequency,
               c.lexeme_count,
               1 - _q.b + _q.b * c.lexeme_count / _q.average_length AS length_norm,
               rag._bm25_grid(t.factor * rag._bm25_saturation(
                   f.frequency, c.lexeme_count, _q.average_length, _q.k1, _q.b
               )) AS contribution
        FROM rag.chunks AS c
        CROSS JOIN unnest(_q.lexemes, _q.query_frequencies, _q.chunk_counts, _q.factors,
            _q.weights, _q.mistyped) AS t (word, qtf, chunks, factor, weight, mistyped)
        CROSS JOIN LATERAL (
            SELECT least(cardinality(u.positions), 255) AS frequency
            FROM unnest(c.lexemes) AS u
            WHERE u.lexeme = t.word
        ) AS f
        WHERE c.collection_id = _id
          AND c.chunk_id = ANY (_wanted)
    ) AS x
    ORDER BY 2 DESC, 1, x.contribution DESC, x.word;
END
$$;

COMMENT ON FUNCTION rag._explain_keyword IS
$$Why chunks have their keyword scores: one row per chunk and word of the query that it contains,
best chunk first.

The chunks are those that rag.search_keyword finds, or chunk_ids. qtf: times in the query. tf: times
in the chunk. df: chunks that contain it, of chunk_count. idf = ln(1 + (N - df + 0.5) / (df + 0.5)).
length_norm = 1 - b + b * length / average_length. contribution = weight * qtf * idf * tf / (tf +
k1 * length_norm); the contributions of a chunk add up to its score, exactly. weight: 1, and 0.7 of
a word that is searched for in the place of a mistyped one that no chunk has (typo_tolerance, as in
rag.search).$$;
