-- Questions over the metadata of documents: how many, which values, the first ones in some order.
--
-- They take the filters of a search, and compile them by the same function: its alias c is
-- rag.documents here.

CREATE OR REPLACE FUNCTION rag.count_documents(collection text, metadata_filter jsonb DEFAULT '{}')
RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(count_documents.collection)).collection_id;
    _count bigint;
BEGIN
    PERFORM rag._check_query(NULL, 1, metadata_filter);
    EXECUTE format('SELECT count(*) FROM rag.documents AS c WHERE c.collection_id = $1 AND %s',
                   coalesce((rag._compile_filter(_id, metadata_filter)).condition, 'true'))
    INTO _count USING _id;
    RETURN _count;
END
$$;

COMMENT ON FUNCTION rag.count_documents IS
$$How many documents pass a filter, searchable already or not.

A filter sees a document's own metadata here. A field that only some of its chunks were given is
found by searches alone.
Circle: application, Counts and facets.
SELECT rag.count_documents('docs', '{"n": {"$gte": 2}}')$$;


CREATE OR REPLACE FUNCTION rag.facets(
    collection text, field text, metadata_filter jsonb DEFAULT '{}',
        result_limit integer DEFAULT 20)
RETURNS TABLE (value jsonb, documents bigint, total_values bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(facets.collection)).collection_id;
    _value text;
BEGIN
    PERFORM rag._check_query(NULL, result_limit, metadata_filter);
    _value := CASE WHEN starts_with(facets.field, '$')
                   THEN format('to_jsonb(%s)',
                       (rag._document_column(_id, facets.field, 'c')).expression)
                   ELSE rag._field_value('c.metadata', rag._require_field(facets.field)) END;
    RETURN QUERY EXECUTE format($sql$
        -- grouped first: an array is taken apart once, however many documents hold it
        WITH counted AS MATERIALIZED (
            SELECT %1$s AS value, count(*) AS documents FROM rag.documents AS c
            WHERE c.collection_id = $1 AND (%1$s) IS NOT NULL AND %2$s GROUP BY 1
        )
        SELECT f.value, sum(f.documents)::bigint, count(*) OVER ()
        FROM (SELECT h.value, h.documents FROM counted AS h WHERE jsonb_typeof(h.value) <> 'array'
              UNION ALL
              SELECT e.value, h.documents
              FROM counted AS h, LATERAL
                  (SELECT DISTINCT a.value FROM jsonb_array_elements(h.value) AS a) AS e
              WHERE jsonb_typeof(h.value) = 'array') AS f
        GROUP BY f.value ORDER BY 2 DESC, 1 LIMIT $2
        $sql$, _value, coalesce((rag._compile_filter(_id, metadata_filter)).condition, 'true'))
    USING _id, result_limit;
END
$$;

COMMENT ON FUNCTION rag.facets IS
$$The values of a field, counted.

The values of a metadata field and how many documents hold each, the most frequent first, equal
counts by value.

field: a dotted path as in filters, or a column of the document ($language, $media_type …). value:
as JSON, so that it can stand in a filter; value #>> '{}' is its plain text. Of an array each
element counts, once per document. A document without the field is not counted (see {"field":
{"$exists": false}}); one where it is null counts for the value null. result_limit: 1 to 1000
values. total_values: how many there are in all.
Circle: application, Counts and facets.
SELECT * FROM rag.facets('docs', 'tag')$$;


CREATE OR REPLACE FUNCTION rag._document_order(collection_id integer, order_by text,
    descending boolean)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _direction text := CASE WHEN descending THEN ' DESC' ELSE '' END;
    _steps text[];
    _types text[];
BEGIN
    IF order_by IN ('uri', 'title', 'created_at', 'updated_at') OR starts_with(order_by, '$') THEN
        RETURN format('%s%s, c.uri', (rag._document_column(
            _document_order.collection_id, '$' || ltrim(order_by, '$'), 'c')).expression,
                _direction);
    END IF;
    _steps := rag._require_field(order_by);
    SELECT array_agg(f.type) INTO _types FROM rag.fields AS f
    WHERE f.collection_id = _document_order.collection_id AND f.field = rag._field_name(_steps);
    -- of an undeclared field equal times go by uri, however they are written
    RETURN (SELECT string_agg(format(
                CASE WHEN _types IS NULL AND t.type = 'text'
                    THEN 'CASE WHEN %2$s IS NULL THEN %1$s END' ELSE '%1$s' END,
                rag._field_expression('c.metadata', _steps, t.type),
                rag._field_expression('c.metadata', _steps, 'timestamptz')) || _direction
                || ' NULLS LAST, ', '' ORDER BY t.position) || 'c.uri'
            FROM unnest(coalesce(_types, ARRAY['numeric', 'timestamptz', 'text', 'boolean']))
                 WITH ORDINALITY AS t (type, position));
END
$$;

COMMENT ON FUNCTION rag._document_order IS
$$An ORDER BY of documents, alias c: by a column or by a metadata field, then by uri.

A declared field sorts as its type. Another sorts by each type that a value can be of, so equal
types stand together.$$;


CREATE OR REPLACE FUNCTION rag.select_documents(
    collection text,
    metadata_filter jsonb DEFAULT '{}',
    order_by text DEFAULT 'uri',
    descending boolean DEFAULT false,
    result_limit integer DEFAULT 20,
    result_offset integer DEFAULT 0)
RETURNS SETOF rag.document_info
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(select_documents.collection)).collection_id;
BEGIN
    PERFORM rag._check_query(NULL, result_limit, metadata_filter);
    PERFORM rag._check_range('offset', result_offset, 0, NULL);
    RETURN QUERY EXECUTE rag._document_query(
        coalesce((rag._compile_filter(_id, metadata_filter)).condition, 'true'),
        rag._document_order(_id, order_by, descending), false)
    USING _id, (rag._active_space(_id)).space_id, result_limit, result_offset;
END
$$;

COMMENT ON FUNCTION rag.select_documents IS
$$The first documents in some order, without their content, e.g. the five latest contracts of 2024.

order_by: uri, title, created_at, updated_at (the document's own; $media_type and $language too), or
a metadata field, a dotted path as in filters.
A field that rag.index_field declares sorts as its type. Another sorts its numbers by value, then
ISO dates by time, then other texts by code point (their first 500 characters), then booleans, so
that a field of one type is in that type's order. What has no place there (no such field, null,
arrays, objects; of a declared field, values of other types) comes last, and equal ones go by uri,
descending or not. result_limit: 1 to 1000. Next page: result_offset => how many there were so far.
To walk through all documents: rag.list_documents.
Circle: application, Counts and facets.
SELECT uri FROM rag.select_documents('docs', order_by => 'n')$$;
