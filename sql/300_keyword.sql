CREATE OR REPLACE FUNCTION rag.bm25_idf(document_count double precision, document_frequency double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ln(1.0::double precision + (document_count - document_frequency + 0.5::double precision)
                                / (document_frequency + 0.5::double precision));

COMMENT ON FUNCTION rag.bm25_idf(double precision, double precision) IS
$$Inverse document frequency of BM25, ln(1 + (N - df + 0.5) / (df + 0.5)): never negative.
Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, in Lucene's form.$$;


CREATE OR REPLACE FUNCTION rag.rank_keyword(in_collection rag.collections, query_text text, candidate_limit integer,
                                            metadata_filter jsonb)
RETURNS TABLE (chunk_id bigint, score double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _id integer := in_collection.collection_id;
    _count double precision;
    _average double precision;
    _terms text[];
    _weights double precision[];
BEGIN
    SELECT count(*), avg(c.lexeme_count) INTO _count, _average FROM rag.chunks AS c WHERE c.collection_id = _id;
    SELECT array_agg(t.lexeme ORDER BY t.lexeme COLLATE "C"),
           array_agg(t.said * rag.bm25_idf(_count, t.frequency) ORDER BY t.lexeme COLLATE "C")
    INTO _terms, _weights
    FROM (
        SELECT q.lexeme, q.said,
               (SELECT count(*) FROM rag.chunks AS c
                WHERE c.collection_id = _id AND c.lexemes @@ quote_literal(q.lexeme)::tsquery) AS frequency
        FROM (
            SELECT l.lexeme, max(cardinality(l.positions))::double precision AS said
            FROM (
                SELECT in_collection.language AS language
                UNION
                SELECT d.language FROM rag.documents AS d WHERE d.collection_id = _id AND d.language IS NOT NULL
            ) AS s,
            LATERAL unnest(rag.lexemes(s.language, query_text)) AS l
            GROUP BY l.lexeme
        ) AS q
    ) AS t
    WHERE t.frequency > 0;
    IF _terms IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT c.chunk_id,
           sum(w.weight * cardinality(l.positions)
               / (cardinality(l.positions) + in_collection.k1 * (1 - in_collection.b + in_collection.b * c.lexeme_count / _average))
               ORDER BY w.term COLLATE "C") AS score
    FROM rag.chunks AS c,
    LATERAL unnest(c.lexemes) AS l
    JOIN unnest(_terms, _weights) AS w (term, weight) ON w.term = l.lexeme
    WHERE c.collection_id = _id
        AND c.lexemes @@ (SELECT string_agg(quote_literal(t.term), '|') FROM unnest(_terms) AS t (term))::tsquery
        AND c.metadata @> metadata_filter
    GROUP BY c.chunk_id
    ORDER BY score DESC, c.chunk_id
    LIMIT candidate_limit;
END
$$;

COMMENT ON FUNCTION rag.rank_keyword(rag.collections, text, integer, jsonb) IS
$$The best chunks for any word of a text by exact BM25, best first.

score = sum over the words of said * idf * tf / (tf + k1 * (1 - b + b * length / average length)), as Lucene.$$;
