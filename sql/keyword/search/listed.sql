-- Keyword ranking of chunks that are listed first, because a filter passes few of them.

CREATE OR REPLACE FUNCTION rag._prefer_listing(
    query rag.keyword_query, share double precision, result_limit integer, filter_indexed boolean
)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _chunks double precision := query.chunk_count;
    _matching double precision;    -- share of chunks that hold a lexeme of the query
    _list double precision;
    _scan double precision;
BEGIN
    SELECT 1 - exp(greatest(-100, sum(ln(1 - least(0.999, n.chunks / _chunks)))))
    INTO _matching
    FROM unnest(query.chunk_counts) AS n (chunks);
    -- Both in microseconds as measured; only their ratio matters.
    _list := share * _chunks * (1.2 + 6 * _matching)
             + CASE WHEN filter_indexed THEN 0 ELSE 0.25 * _chunks END;
    _scan := 0.05 * _chunks + 12 * (result_limit + 10) / share;
    RETURN _list < _scan;
END
$$;

COMMENT ON FUNCTION rag._prefer_listing IS
$$Whether rag._rank_by_listing is cheaper than testing the candidates of a scan.

Listing costs per chunk that passes the filter, more if it holds a lexeme of the query, and per
chunk of the collection where no index serves the filter. A scan costs per chunk of the collection,
and per candidate: result_limit / share of them.$$;


CREATE OR REPLACE FUNCTION rag._rank_by_listing(
    query rag.keyword_query, filter_sql text, matching tsquery, result_limit integer,
    filter_indexed boolean, at_most integer
)
RETURNS rag.scored_chunk[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- Most chunks hold none of the query's lexemes: that is seen without computing a score.
    _scoring tsquery := array_to_string(query.term_queries, ' | ')::tsquery;
    _chunks bigint[];
BEGIN
    IF matching IS NOT NULL THEN
        _scoring := _scoring && matching;
    END IF;
    IF filter_indexed THEN
        _chunks := rag._list_indexed_matches(query.collection_id, filter_sql, _scoring, at_most);
    ELSE
        _chunks := rag._list_matches(query.collection_id, filter_sql, _scoring, at_most);
    END IF;
    RETURN CASE WHEN _chunks
        IS NOT NULL THEN rag._merge_topk(query, '{}', _chunks, result_limit) END;
END
$$;

COMMENT ON FUNCTION rag._rank_by_listing IS
$$The result_limit best of the chunks that pass a filter, by listing them; NULL if more than at_most
do.

matching: NULL, or what a chunk has to match besides.$$;
