-- A filter inside the ranking, in one of two ways.
--
--   many chunks pass   the scan's candidates are tested one by one (rag._filter_chunks,
--                      rag._chunks_of_slots), and as many more are taken as rag._filter_share says
--   few chunks pass    all of them are listed and those that hold a lexeme of the query scored
--                      (rag._rank_by_listing); rag._prefer_listing decides

CREATE OR REPLACE FUNCTION rag._filter_chunks(
    collection_id integer, chunk_keys bigint[], filter_sql text
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
    ) INTO _kept USING _filter_chunks.collection_id, chunk_keys;
    RETURN _kept;
END
$$;

COMMENT ON FUNCTION rag._filter_chunks IS
$$The chunks that pass a filter: a trusted SQL condition on alias c of rag.chunks, or NULL for
all.$$;


CREATE OR REPLACE FUNCTION rag._filter_share(collection_id integer, filter_sql text)
RETURNS double precision
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _slots integer[] := rag._sample_slots(_filter_share.collection_id, 100);
    _live integer;
    _passed integer;
    _sample integer;
BEGIN
    FOREACH _sample IN ARRAY '{40, 100}'::integer[] LOOP
        EXECUTE format(
            'SELECT count(*), count(*) FILTER (WHERE %s) FROM unnest($2) AS w (slot)'
            ' CROSS JOIN LATERAL (SELECT k.chunk_id FROM rag.keyword_slots AS k'
            ' WHERE k.collection_id = $1 AND k.slot = w.slot OFFSET 0) AS s'
            ' CROSS JOIN LATERAL (SELECT x.* FROM rag.chunks AS x'
            ' WHERE x.collection_id = $1 AND x.chunk_id = s.chunk_id OFFSET 0) AS c', filter_sql
        ) INTO _live, _passed USING _filter_share.collection_id, _slots[1:_sample];
        EXIT WHEN _passed >= 3 AND _live >= 20;
    END LOOP;
    RETURN (_passed + 0.5) / (CASE _live WHEN 0 THEN _sample ELSE _live END + 0.5);
END
$$;

COMMENT ON FUNCTION rag._filter_share IS
$$Roughly which share of a collection's chunks passes a filter, from a sample of 40, or of 100 when
fewer than 3 of the 40 pass or fewer than 20 still exist. Deleted chunks do not count. Never 0.$$;


CREATE OR REPLACE FUNCTION rag._list_matches(
    collection_id integer, filter_sql text, matching tsquery, at_most integer
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _listed bigint;
    _chunks bigint[];
BEGIN
    EXECUTE format(
        'SELECT count(*), array_agg(f.chunk_id) FILTER (WHERE $3 IS NULL OR f.lexemes @@ $3)'
        ' FROM (SELECT c.chunk_id, c.lexemes FROM rag.chunks AS c'
        ' WHERE c.collection_id = $1 AND (%s) LIMIT $2) AS f', filter_sql
    ) INTO _listed, _chunks USING _list_matches.collection_id, at_most + 1, matching;
    RETURN CASE WHEN _listed <= at_most THEN coalesce(_chunks, '{}') END;
END
$$;

COMMENT ON FUNCTION rag._list_matches IS
$$The chunks that pass a filter and match a tsquery (NULL: all that pass); NULL if more than at_most
pass the filter.$$;


CREATE OR REPLACE FUNCTION rag._list_indexed_matches(
    collection_id integer, filter_sql text, matching tsquery, at_most integer
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET enable_seqscan = off
AS $$
BEGIN
    RETURN rag._list_matches(_list_indexed_matches.collection_id, filter_sql, matching, at_most);
END
$$;

COMMENT ON FUNCTION rag._list_indexed_matches IS
$$rag._list_matches for a filter that an index serves, whatever the planner thinks of the index.$$;
