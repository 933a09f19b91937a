-- Aggregates over the metadata of documents: counts, sums, averages, extremes by group.

CREATE OR REPLACE FUNCTION rag._document_term(collection_id integer, field text,
    OUT expression text, OUT type text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF starts_with(field, '$') THEN
        SELECT d.expression, d.type INTO _document_term.expression, _document_term.type
        FROM rag._document_column(_document_term.collection_id, field, 'c') AS d;
    ELSE
        expression := format('(%s)', rag._field_value('c.metadata', rag._require_field(field)));
        type := 'jsonb';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._document_term IS
$$A metadata field, or a column of a document ($created_at), as an SQL expression on alias c of
rag.documents: jsonb, text or timestamptz.$$;


CREATE OR REPLACE FUNCTION rag._check_term(name text, function_name text, type text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF function_name IN ('sum', 'avg') AND type NOT IN ('jsonb', 'numeric') THEN
        RAISE EXCEPTION '% has no %: it is of type %', quote_literal(left(name, 100)),
            function_name, type
        USING ERRCODE = 'RG004', HINT = 'use count, count_distinct, min or max, or name a number';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_term IS
$$Error RG004 for a sum or an average of what is no number.$$;


CREATE OR REPLACE FUNCTION rag.aggregate_documents(
    collection text,
    aggregates jsonb,
    group_by text[] DEFAULT '{}',
    metadata_filter jsonb DEFAULT '{}',
    having_filter jsonb DEFAULT '{}',
    order_by text[] DEFAULT '{}',
    result_limit integer DEFAULT 100)
RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(aggregate_documents.collection)).collection_id;
    _groups jsonb := '[]';
    _aggregates jsonb := '[]';
    _name text;
    _function text;
    _field text;
    _part record;
    _term record;
BEGIN
    PERFORM rag._check_query(NULL, result_limit, metadata_filter);
    PERFORM rag._check_aggregates(aggregates, group_by, having_filter, order_by);
    FOREACH _name IN ARRAY group_by LOOP
        _part := rag._split_date_part(_name);
        _term := rag._document_term(_id, _part.field);
        IF _part.part IS NOT NULL AND _term.type = 'text' THEN
            RAISE EXCEPTION '% has no %: it is of type text', quote_literal(_part.field),
                _part.part
            USING ERRCODE = 'RG004', HINT = 'name a field of dates, or $created_at or $updated_at';
        END IF;
        _groups := _groups || jsonb_build_object('name', _name, 'expression', _term.expression,
            'type', _term.type, 'part', _part.part);
    END LOOP;
    FOR _name, _function, _field IN
        SELECT a.key, f.key, f.value
        FROM jsonb_each(aggregates) AS a, jsonb_each_text(a.value) AS f
    LOOP
        IF _function = 'count' AND _field = '*' THEN
            _aggregates := _aggregates || jsonb_build_object('name', _name);
        ELSE
            _term := rag._document_term(_id, _field);
            PERFORM rag._check_term(_field, _function, coalesce((
                SELECT f.type FROM rag.fields AS f
                WHERE f.collection_id = _id AND NOT starts_with(_field, '$')
                    AND f.field = rag._field_name(rag._field_steps(_field))), _term.type));
            _aggregates := _aggregates || jsonb_build_object('name', _name, 'function', _function,
                'expression', _term.expression, 'type', _term.type);
        END IF;
    END LOOP;
    RETURN QUERY EXECUTE rag._aggregate_sql('rag.documents AS c', format(
        'c.collection_id = $1 AND %s',
        coalesce((rag._compile_filter(_id, metadata_filter)).condition, 'true')),
        _groups, _aggregates, having_filter, order_by, result_limit)
    USING _id;
END
$$;

COMMENT ON FUNCTION rag.aggregate_documents IS
$$Sums, averages, extremes by group.

Counts, sums, averages and extremes over the metadata of documents, one JSON object per group.

aggregates: by their names in the result, {"total": {"sum": "amount"}, "n": {"count": "*"}}. count
(of "*" the documents, of a field those where it is there and not null), count_distinct, sum, avg,
min, max of a metadata field, a dotted path as in filters, or of a column of the document
($created_at). sum and avg are of its numbers; min and max of its numbers where there are any, else
of its texts, as dates where all are ISO dates. What is of no such type is passed over; of nothing
at all they are null.
group_by: fields or columns, or parts of their dates: year(signed), quarter(signed), month(signed),
week(signed), day(signed), hour($created_at) give 2024, "2024-Q1", "2024-02", "2024-W09",
"2024-02-29", "2024-02-29T12", and weekday(signed) 1 (Monday) to 7, all in UTC. A document stands in
the group of each distinct element of an array, and in group null where it has no value. Without
groups the result is one object.
having_filter: a filter over the names of the aggregates, {"total": {"$gte": 100}}. order_by: names
of groups or aggregates, "-total" descends; null comes last, equal ones go by the groups.
result_limit: 1 to 1000. Up to 32 aggregates, 8 groups, 16 names in the order.
Circle: application, Counts and facets.
SELECT rag.aggregate_documents('docs',
    '{"most": {"max": "n"}}', '{tag}')$$;
