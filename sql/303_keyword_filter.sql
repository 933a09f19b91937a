-- A filter inside the ranking, in one of two ways:
--   many chunks pass   the scan's candidates are tested one by one (rag.filter_chunks,
--                      rag.chunks_of_slots), and as many more are taken as rag.filter_share says
--   few chunks pass    all of them are listed and those that hold a lexeme of the query scored
--                      (rag.rank_listed); rag.list_pays decides

CREATE OR REPLACE FUNCTION rag.filter_chunks(
    collection_key integer, chunk_keys bigint[], filter_sql text
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _kept bigint[];
BEGIN
    IF filter_sql IS NULL THEN
        RETURN chunk_keys;
    END IF;
    EXECUTE format(
        'SELECT array_agg(c.chunk_id) FROM unnest($2) AS k (chunk_key) CROSS JOIN LATERAL ('
        ' SELECT x.* FROM rag.chunks AS x'
        ' WHERE x.collection_id = $1 AND x.chunk_id = k.chunk_key OFFSET 0) AS c WHERE (%s)',
        filter_sql
    ) INTO _kept USING collection_key, chunk_keys;
    RETURN _kept;
END
$$;

COMMENT ON FUNCTION rag.filter_chunks(integer, bigint[], text) IS
$$The chunks that pass a filter: a trusted SQL condition on alias c of rag.chunks, or NULL for all.$$;

CREATE OR REPLACE FUNCTION rag.chunks_of_slots(
    collection_key integer, slots integer[], filter_sql text DEFAULT NULL
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _chunks bigint[];
BEGIN
    SELECT array_agg(s.chunk_id)
    INTO _chunks
    FROM unnest(slots) AS w (slot)
    CROSS JOIN LATERAL (    -- OFFSET 0: look-ups by key, whatever the planner thinks of the table
        SELECT k.chunk_id
        FROM rag.keyword_slots AS k
        WHERE k.collection_id = collection_key AND k.slot = w.slot
        OFFSET 0
    ) AS s;
    RETURN rag.filter_chunks(collection_key, _chunks, filter_sql);
END
$$;

COMMENT ON FUNCTION rag.chunks_of_slots(integer, integer[], text) IS
$$The chunks that hold these slots and pass a filter (rag.filter_chunks).$$;

CREATE OR REPLACE FUNCTION rag.filter_share(collection_key integer, filter_sql text)
RETURNS double precision
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _slots integer[];
BEGIN
    SELECT array_agg((hashint8(g.part) & 2147483647) % greatest(1, t.next_slot))
    INTO _slots
    FROM rag.keyword_totals AS t
    CROSS JOIN generate_series(1::bigint, 200) AS g (part)
    WHERE t.collection_id = collection_key;
    RETURN (1 + coalesce(cardinality(rag.chunks_of_slots(
        collection_key, _slots, filter_sql
    )), 0)) / 201.0;
END
$$;

COMMENT ON FUNCTION rag.filter_share(integer, text) IS
$$Roughly which share of a collection's chunks passes a filter, from a sample of 200.$$;

CREATE OR REPLACE FUNCTION rag.list_pays(
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
    SELECT 1 - exp(sum(ln(1 - least(0.999, n.chunks / _chunks))))
    INTO _matching
    FROM unnest(query.chunk_counts) AS n (chunks);
    -- Both in microseconds as measured; only their ratio matters.
    _list := share * _chunks * (1.2 + 6 * _matching)
             + CASE WHEN filter_indexed THEN 0 ELSE 0.25 * _chunks END;
    _scan := 0.05 * _chunks + 12 * (result_limit + 10) / share;
    RETURN _list < _scan;
END
$$;

COMMENT ON FUNCTION rag.list_pays(rag.keyword_query, double precision, integer, boolean) IS
$$Whether rag.rank_listed is cheaper than testing the candidates of a scan.

Listing costs per chunk that passes the filter, more if it holds a lexeme of the query, and per chunk
of the collection where no index serves the filter. A scan costs per chunk of the collection, and
per candidate: result_limit / share of them.$$;

CREATE OR REPLACE FUNCTION rag.list_matches(
    collection_key integer, filter_sql text, strong tsquery, weak tsquery, at_most integer,
    OUT listed bigint, OUT strong_chunks bigint[], OUT weak_chunks bigint[]
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    EXECUTE format(
        'SELECT count(*), array_agg(f.chunk_id) FILTER (WHERE f.lexemes @@ $3),'
        ' array_agg(f.chunk_id) FILTER (WHERE f.lexemes @@ $4)'
        ' FROM (SELECT c.chunk_id, c.lexemes FROM rag.chunks AS c'
        ' WHERE c.collection_id = $1 AND (%s) LIMIT $2) AS f', filter_sql
    ) INTO listed, strong_chunks, weak_chunks USING collection_key, at_most, strong, weak;
END
$$;

COMMENT ON FUNCTION rag.list_matches(integer, text, tsquery, tsquery, integer) IS
$$How many chunks pass a filter (at most at_most are looked at), and which of them match two
tsqueries.$$;

CREATE OR REPLACE FUNCTION rag.list_indexed_matches(
    collection_key integer, filter_sql text, strong tsquery, weak tsquery, at_most integer,
    OUT listed bigint, OUT strong_chunks bigint[], OUT weak_chunks bigint[]
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET enable_seqscan = off
AS $$
BEGIN
    SELECT m.listed, m.strong_chunks, m.weak_chunks
    INTO listed, strong_chunks, weak_chunks
    FROM rag.list_matches(collection_key, filter_sql, strong, weak, at_most) AS m;
END
$$;

COMMENT ON FUNCTION rag.list_indexed_matches(integer, text, tsquery, tsquery, integer) IS
$$rag.list_matches for a filter that an index serves, whatever the planner thinks of the index.$$;

CREATE OR REPLACE FUNCTION rag.any_term(query rag.keyword_query)
RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN array_to_string(query.term_queries[1:cardinality(query.lexemes)], ' | ')::tsquery;
END
$$;

COMMENT ON FUNCTION rag.any_term(rag.keyword_query) IS
$$The tsquery that every chunk matches which holds a lexeme of the query.$$;

CREATE OR REPLACE FUNCTION rag.rank_listed(
    query rag.keyword_query, filter_sql text, matching tsquery, result_limit integer,
    filter_indexed boolean, at_most integer
)
RETURNS rag.scored_chunk[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- Weak lexemes together make less than a good score: chunks without a strong one come second.
    _strong rag.keyword_query := rag.strong_terms(query, 0.3 * rag.factor_sum(query));
    _first tsquery := rag.any_term(_strong);
    _second tsquery := rag.any_term(query) && !!_first;
    _found record;
    _best rag.scored_chunk[];
BEGIN
    IF matching IS NOT NULL THEN
        _first := _first && matching;
        _second := _second && matching;
    END IF;
    IF filter_indexed THEN
        _found := rag.list_indexed_matches(
            query.collection_key, filter_sql, _first, _second, at_most + 1
        );
    ELSE
        _found := rag.list_matches(query.collection_key, filter_sql, _first, _second, at_most + 1);
    END IF;
    IF _found.listed > at_most THEN
        RETURN NULL;
    END IF;
    _best := rag.best_of(query, '{}', _found.strong_chunks, result_limit);
    IF _best[result_limit] IS NULL
       OR (_best[result_limit]).score < rag.factor_sum(query) - rag.factor_sum(_strong) + 1e-6 THEN
        _best := rag.best_of(query, _best, _found.weak_chunks, result_limit);
    END IF;
    RETURN _best;
END
$$;

COMMENT ON FUNCTION rag.rank_listed(
    rag.keyword_query, text, tsquery, integer, boolean, integer
) IS
$$The result_limit best of the chunks that pass a filter, by listing them; NULL if more than at_most do.

matching: NULL, or what a chunk has to match besides.$$;
