-- rag.search_arguments: the arguments of a search, checked once.

CREATE OR REPLACE FUNCTION rag._check_query(query_text text, result_limit integer,
    metadata_filter jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._check_range('limit', result_limit, 1, 1000);
    IF octet_length(query_text) > 100000 THEN
        RAISE EXCEPTION 'the query has % bytes', octet_length(query_text)
        USING ERRCODE = 'RG004',
            HINT = 'use at most 100000; put a long text as a document and search for its passages';
    END IF;
    IF jsonb_typeof(metadata_filter) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'the filter is a JSON %', coalesce(jsonb_typeof(metadata_filter), 'null')
        USING ERRCODE = 'RG004', HINT = 'use a JSON object, e.g. {"lang": "en"}';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_query IS
$$Error RG004 for a limit outside 1 to 1000, a query above 100,000 bytes, or a filter that is no
JSON object.$$;


CREATE OR REPLACE FUNCTION rag._check_page(result_limit integer, result_offset integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF result_offset < 0 OR result_limit + result_offset::bigint > 10000 THEN
        RAISE EXCEPTION 'offset % is out of range', result_offset USING ERRCODE = 'RG004',
        HINT = 'use 0 for the first page; pages end at hit 10000, a filter gives others';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_page IS
$$Error RG004 for a page that begins before the first hit or ends after the 10,000th. NULL is 0.$$;


CREATE OR REPLACE FUNCTION rag._check_search_options(
    options jsonb, further jsonb DEFAULT '{}', call text DEFAULT 'a search'
)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    by_name CONSTANT text[] := '{collection,query_text,query_embedding,result_limit,'
        'metadata_filter,expected_space}';
    _types jsonb := (
        SELECT jsonb_object_agg(a.name, CASE a.type
            WHEN 'integer'::regtype THEN 'integer' WHEN 'double precision'::regtype THEN 'number'
            WHEN 'boolean'::regtype THEN 'boolean' WHEN 'jsonb'::regtype THEN 'array'
            ELSE 'string' END)
        FROM pg_proc AS p, unnest(p.proargnames, p.proargtypes::oid[]) AS a (name, type)
        WHERE p.oid = 'rag.search'::regproc AND a.name <> ALL (by_name)) || further;
    _name text;
    _value jsonb;
    _type text;
BEGIN
    IF jsonb_typeof(options) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'the options are a JSON %', coalesce(jsonb_typeof(options), 'null')
        USING ERRCODE = 'RG004', HINT = 'use a JSON object, e.g. {"fusion": "rrf"}';
    END IF;
    FOR _name, _value IN SELECT o.key, o.value FROM jsonb_each(options) AS o LOOP
        _type := _types ->> _name;
        IF _type IS NULL THEN
            RAISE EXCEPTION '% has no option %', call, to_json(_name) USING ERRCODE = 'RG004',
            HINT = 'use ' || (SELECT string_agg(k.name, ', ' ORDER BY k.name)
                FROM jsonb_object_keys(_types) AS k (name));
        END IF;
        CONTINUE WHEN jsonb_typeof(_value) IN ('null', _type);
        CONTINUE WHEN _type = 'integer' AND _value::text ~ '^-?[0-9]{1,10}$'
            AND abs(_value::bigint) < 2147483648;
        RAISE EXCEPTION 'option % is %', _name, left(_value::text, 100) USING ERRCODE = 'RG004',
        HINT = format('use a JSON %s, or null for the default', _type);
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._check_search_options IS
$$Error RG004 for an option of a search that there is none of, or whose value is of another JSON
type.

Options are those arguments of rag.search that its companions have not by name. further: options
that a call has beside them, with their JSON types, e.g. {"strategy": "string"}.$$;


CREATE OR REPLACE FUNCTION rag._check_search_arguments(
    collection text, query_text text, query_embedding {vector}.halfvec, result_limit integer,
        metadata_filter jsonb,
    options jsonb
)
RETURNS rag.search_arguments
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _r rag.search_arguments := jsonb_populate_record(NULL::rag.search_arguments, options);
BEGIN
    _r.collection_id := (rag._require_collection(_check_search_arguments.collection))
        .collection_id;
    PERFORM rag._check_query(_check_search_arguments.query_text,
        _check_search_arguments.result_limit,
                             _check_search_arguments.metadata_filter);
    IF _r.result_offset <> 0 THEN
        PERFORM rag._check_page(_check_search_arguments.result_limit, _r.result_offset);
    END IF;
    IF coalesce(rag._is_blank(_check_search_arguments.query_text), true)
        AND _check_search_arguments.query_embedding IS NULL THEN
        RAISE EXCEPTION 'the query is empty' USING ERRCODE = 'RG004',
            HINT = 'pass query_text, query_embedding, or both';
    END IF;
    _r.fusion := coalesce(_r.fusion, 'auto');
    IF _r.fusion NOT IN ('auto', 'weighted', 'rrf') THEN
        RAISE EXCEPTION 'unknown fusion %', quote_literal(_r.fusion) USING ERRCODE = 'RG004',
        HINT = 'use auto, weighted or rrf';
    END IF;
    _r.vector_weight := coalesce(_r.vector_weight, CASE _r.fusion WHEN 'weighted' THEN 0.7
        ELSE 0.5 END);
    _r.keyword_weight := coalesce(_r.keyword_weight, CASE _r.fusion WHEN 'weighted' THEN 0.3
        ELSE 0.5 END);
    IF NOT coalesce(_r.vector_weight = 0 OR _r.vector_weight BETWEEN 1e-9 AND 1e9, false)
        OR NOT coalesce(_r.keyword_weight = 0 OR _r.keyword_weight BETWEEN 1e-9 AND 1e9, false)
        OR _r.vector_weight + _r.keyword_weight = 0
    THEN
        RAISE EXCEPTION 'weights % and % are out of range', _r.vector_weight, _r.keyword_weight
        USING ERRCODE = 'RG004', HINT = 'use 0, or 1e-9 to 1e9, not both 0';
    END IF;
    _r.candidate_limit := coalesce(_r.candidate_limit,
        greatest(4 * _check_search_arguments.result_limit, 40));
    _r.rrf_k := coalesce(_r.rrf_k, 60);
    IF _r.rrf_k NOT BETWEEN 0 AND 100000
        OR _r.candidate_limit NOT BETWEEN _check_search_arguments.result_limit AND 10000 THEN
        RAISE EXCEPTION 'rrf_k % or candidate_limit % is out of range', _r.rrf_k, _r.candidate_limit
        USING ERRCODE = 'RG004',
            HINT = 'rrf_k is 0 to 100000, candidate_limit from the result limit to 10000';
    END IF;
    IF NOT coalesce(_r.diversity, 0) BETWEEN 0 AND 1 OR _r.per_document < 1
        OR _r.ef_search NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'diversity %, per_document % or ef_search % is out of range',
            _r.diversity, _r.per_document, _r.ef_search
        USING ERRCODE = 'RG004',
            HINT = 'diversity is 0 to 1, per_document 1 and more, ef_search 1 to 1000';
    END IF;
    _r.boosts := coalesce(_r.boosts, '[]');
    IF _r.boosts <> '[]' THEN
        PERFORM rag._check_boosts(_r.boosts);
    END IF;

    _r.query_text := CASE WHEN _r.keyword_weight > 0
        AND btrim(_check_search_arguments.query_text) <> ''
                          THEN _check_search_arguments.query_text END;
    _r.query_embedding := CASE WHEN _r.vector_weight > 0
        THEN _check_search_arguments.query_embedding END;
    _r.result_limit := _check_search_arguments.result_limit;
    _r.metadata_filter := _check_search_arguments.metadata_filter;
    _r.filter_indexed := false;
    _r.filter_undeclared := '{}';
    IF _r.metadata_filter <> '{}' OR rag._scope(_r.collection_id) IS NOT NULL THEN
        SELECT f.condition, f.indexed, f.undeclared
        INTO _r.filter_sql, _r.filter_indexed, _r.filter_undeclared
        FROM rag._compile_filter(_r.collection_id, _r.metadata_filter) AS f;
    END IF;
    _r.diversity := CASE WHEN _r.diversity >= 1e-9 THEN _r.diversity ELSE 0 END;
    _r.duplicates := coalesce(_r.duplicates, false);
    _r.result_offset := coalesce(_r.result_offset, 0);
    RETURN _r;
END
$$;

COMMENT ON FUNCTION rag._check_search_arguments IS
$$Check the arguments of a search and fill in defaults (NULL is the default everywhere); errors
RG002 (no such collection) and RG004 (what is out of range). options: the other arguments of
rag.search by their names, of the right JSON types: those of a caller are checked by
rag._check_search_options first.$$;
