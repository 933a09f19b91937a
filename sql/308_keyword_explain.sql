-- Exact scores of given chunks, and where they come from.

CREATE OR REPLACE FUNCTION rag.score_keyword(collection_key integer, query_text text, chunk_keys bigint[])
RETURNS SETOF rag.scored_chunk
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _q rag.keyword_query := rag.prepare_keyword(collection_key, query_text);
BEGIN
    IF _q.lexemes IS NOT NULL THEN
        RETURN QUERY
        SELECT s.chunk_id, s.score
        FROM rag.score_chunks(_q, chunk_keys) AS s;
    END IF;
END
$$;

COMMENT ON FUNCTION rag.score_keyword(integer, text, bigint[]) IS
$$The BM25 scores of given chunks for a query; those that match nothing, or do not exist, are left out.$$;

CREATE OR REPLACE FUNCTION rag.explain_keyword(
    collection_key integer, query_text text, chunk_keys bigint[]
)
RETURNS TABLE (
    chunk_key bigint, term text, times_in_query integer, tf integer, df bigint, total_chunks bigint,
    idf double precision, length integer, mean_length double precision,
    length_norm double precision, contribution double precision, total_score double precision
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _q rag.keyword_query := rag.prepare_keyword(collection_key, query_text);
BEGIN
    RETURN QUERY
    SELECT x.*, sum(x.contribution) OVER (PARTITION BY x.chunk_key)
    FROM (
        SELECT c.chunk_id AS chunk_key, t.word, t.said, f.frequency, t.chunks, _q.chunk_count,
               t.factor / t.said, c.lexeme_count, _q.average_length,
               1 - _q.b + _q.b * c.lexeme_count / _q.average_length,
               rag.bm25_grid(t.factor * rag.bm25_saturation(
                   f.frequency, c.lexeme_count, _q.average_length, _q.k1, _q.b
               )) AS contribution
        FROM rag.chunks AS c
        CROSS JOIN unnest(_q.lexemes, _q.times, _q.chunk_counts, _q.factors)
            AS t (word, said, chunks, factor)
        JOIN LATERAL (
            SELECT cardinality(u.positions) AS frequency
            FROM unnest(c.lexemes) AS u
            WHERE u.lexeme = t.word
        ) AS f ON true
        WHERE c.collection_id = collection_key
          AND c.chunk_id = ANY (chunk_keys)
    ) AS x
    ORDER BY 12 DESC, x.chunk_key, x.contribution DESC, x.word;
END
$$;

COMMENT ON FUNCTION rag.explain_keyword(integer, text, bigint[]) IS
$$Why chunks have their keyword scores: one row per chunk and lexeme of the query that it contains.

tf: times in the chunk. df: live chunks that contain it, of total_chunks. idf = ln(1 + (N - df + 0.5) / (df + 0.5)).
length_norm = 1 - b + b × length / mean_length. contribution = times_in_query × idf × tf / (tf + k1 × length_norm);
the contributions of a chunk add up to its total_score, exactly.$$;
