-- What keyword searches read of one collection's partitions, in small statements.
--
-- They are planned for their collection each time, so that no other one is locked. What is computed
-- of their rows stands in other functions, whose plans are kept.

CREATE OR REPLACE FUNCTION rag._read_lexemes(
    collection_id integer, chunk_keys bigint[],
    OUT found_keys bigint[], OUT lexemes tsvector[], OUT lengths integer[]
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
AS $$
BEGIN
    SELECT array_agg(c.chunk_id), array_agg(c.lexemes), array_agg(c.lexeme_count)
    INTO found_keys, lexemes, lengths
    FROM rag.chunks AS c
    WHERE c.collection_id = _read_lexemes.collection_id AND c.chunk_id = ANY (chunk_keys);
END
$$;

COMMENT ON FUNCTION rag._read_lexemes IS
$$The lexemes and lengths of those of the given chunks that exist.$$;


CREATE OR REPLACE FUNCTION rag._read_postings(collection_id integer, words text[])
RETURNS TABLE (segment integer, word text, postings bigint[], idf real, top real)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT s.segment, w.word, p.postings, p.idf, p.top
    FROM rag.keyword_segments AS s
    CROSS JOIN unnest(words) AS w (word)
    CROSS JOIN LATERAL (  -- OFFSET 0: always by the index, also before the first ANALYZE
        SELECT rag._posting_list(x.posting_or_count, x.postings) AS postings, x.idf, x.top
        FROM rag.keyword_postings AS x
        WHERE x.collection_id = _read_postings.collection_id AND x.segment = s.segment
            AND x.lexeme = w.word COLLATE "C"
        OFFSET 0
    ) AS p
    WHERE s.collection_id = _read_postings.collection_id;
END
$$;

COMMENT ON FUNCTION rag._read_postings IS
$$What the segments of a collection hold of the given lexemes: exact postings, or the idf and top of
weights.$$;


CREATE OR REPLACE FUNCTION rag._read_weights(collection_id integer, segment_key integer,
    words text[])
RETURNS TABLE (word text, weights {vector}.sparsevec, idf real)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT k.lexeme, k.weights, k.idf
    FROM rag.keyword_postings AS k
    WHERE k.collection_id = _read_weights.collection_id AND k.segment = segment_key
      AND k.lexeme = ANY (words) AND k.weights IS NOT NULL;
END
$$;

COMMENT ON FUNCTION rag._read_weights IS
$$The weights that a sealed segment holds of the given lexemes.$$;


CREATE OR REPLACE FUNCTION rag._read_changes(collection_id integer)
RETURNS TABLE (chunk_id bigint, change integer, lexeme_count integer, lexemes tsvector)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
BEGIN
    -- Seldom are there any: looking costs less than planning what follows.
    PERFORM FROM rag.keyword_changes AS k WHERE k.collection_id =
        _read_changes.collection_id LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT f.chunk_id, f.change, f.lexeme_count, coalesce(f.lexemes, c.lexemes)
    FROM (
        SELECT k.chunk_id, sum(k.change)::integer AS change, max(k.lexeme_count) AS lexeme_count,
               (array_agg(k.lexemes) FILTER (WHERE k.change = -1))[1] AS lexemes
        FROM rag.keyword_changes AS k
        WHERE k.collection_id = _read_changes.collection_id
        GROUP BY k.chunk_id
        HAVING sum(k.change) <> 0
    ) AS f
    LEFT JOIN rag.chunks AS c ON f.change = 1 AND c.collection_id = _read_changes.collection_id
        AND c.chunk_id = f.chunk_id;
END
$$;

COMMENT ON FUNCTION rag._read_changes IS
$$The fresh changes of a collection, one row a chunk: change is 1 (written) or -1 (deleted), with
its lexemes.$$;
