-- Filters of a document's columns: $uri, $title, $media_type, $language, $created_at, $updated_at.
--
-- Alias c is rag.chunks or rag.documents; both have a document_id. A uri decides the document's id,
-- so equality of uris needs no other table. What else is asked of a document is looked up by that
-- id.

CREATE OR REPLACE FUNCTION rag._document_column(
    collection_id integer, field text, documents_alias text, OUT expression text, OUT type text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    type := CASE WHEN field IN ('$uri', '$title', '$media_type', '$language') THEN 'text'
                 WHEN field IN ('$created_at', '$updated_at') THEN 'timestamptz' END;
    IF type IS NULL OR _document_column.collection_id IS NULL THEN
        RAISE EXCEPTION 'unknown operator or column %', quote_literal(left(field, 100))
            USING ERRCODE = 'RG004',
        HINT = E'a document has $uri, $title, $media_type, $language, $created_at and $updated_at; '
            'above fields stand '
               '$and, $or and $not, below them comparisons: {"year": {"$gte": 2024}}; a field of '
               'the metadata whose '
               'name begins with $ is written \\$';
    END IF;
    expression := format('%s.%I', documents_alias, substr(field, 2));
    IF field = '$language' THEN
        expression := format('coalesce(%s, %L)', expression, (
            SELECT k.language FROM rag.collections AS k WHERE k.collection_id =
                _document_column.collection_id));
    END IF;
END
$$;

COMMENT ON FUNCTION rag._document_column IS
$$The SQL expression of a document's column, e.g. of $title, and its type: text or timestamptz.
Never NULL.

$language: the document's, or the collection's where it has none of its own. Error RG004 for an
unknown name, and for any where there is no collection (NULL).$$;


CREATE OR REPLACE FUNCTION rag._compile_column_operator(
    collection_id integer, field text, operator text, operand jsonb, OUT condition text,
        OUT of_chunk boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- A chunk has its document's language, so that no other table is needed.
    _column record := rag._document_column(
        _compile_column_operator.collection_id, field,
            CASE field WHEN '$language' THEN 'c' ELSE 'd' END);
    _sign text := CASE operator WHEN '$gt' THEN '>' WHEN '$gte' THEN '>=' WHEN '$lt' THEN '<'
        WHEN '$lte' THEN '<=' END;
    _operands jsonb := CASE WHEN operator IN ('$in', '$nin') THEN operand
        ELSE jsonb_build_array(operand) END;
    _texts text[];
BEGIN
    of_chunk := field = '$language';
    IF _column.type = 'timestamptz' THEN
        IF _sign IS NULL OR rag._as_timestamptz(operand) IS NULL THEN
            RAISE EXCEPTION '% cannot be asked for % %', field, quote_literal(left(operator, 100)),
                left(operand::text, 100)
            USING ERRCODE = 'RG004',
            HINT = format('it is a point in time; a day is {"%s": {"$gte": "2024-02-29", "$lt": '
                '"2024-03-01"}}', field);
        END IF;
        condition := format('%s %s %L::timestamptz', _column.expression, _sign,
            rag._as_timestamptz(operand));
        RETURN;
    END IF;
    IF jsonb_typeof(_operands) <> 'array'
        OR operator NOT IN ('$eq', '$ne', '$in', '$nin', '$like', '$ilike', '$gt', '$gte', '$lt',
            '$lte')
       OR jsonb_path_exists(_operands, 'strict $[*] ? (@.type() != "string")', silent => true) THEN
        RAISE EXCEPTION '% cannot be asked for % %', field, quote_literal(left(operator, 100)),
            left(operand::text, 100)
        USING ERRCODE = 'RG004',
        HINT = 'it is a text: use $eq $ne $in $nin $gt $gte $lt $lte $like or $ilike with texts, '
            'or $not';
    END IF;
    IF operator IN ('$like', '$ilike') THEN
        condition := rag._like_sql(_column.expression, field, operator, operand);
    ELSIF _sign IS NOT NULL THEN
        condition := format('%s COLLATE "C" %s %L', _column.expression, _sign, operand #>> '{}');
    ELSE
        _texts := ARRAY(SELECT jsonb_array_elements_text(_operands));
        IF field = '$uri' THEN
            of_chunk := true;
            condition := format('c.document_id = ANY (%L::uuid[])', ARRAY(
                SELECT rag.document_id(k.name, u.uri)
                FROM rag.collections AS k, unnest(_texts) AS u (uri)
                WHERE k.collection_id = _compile_column_operator.collection_id));
        ELSE
            condition := format('%s = ANY (%L::text[])', _column.expression, _texts);
        END IF;
        IF operator IN ('$ne', '$nin') THEN
            condition := format('NOT %s', condition);
        END IF;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._compile_column_operator IS
$$One operator of a document's column, compiled. of_chunk: on alias c alone, else on alias d of
rag.documents.$$;


CREATE OR REPLACE FUNCTION rag._compile_column(
    collection_id integer, field text, wanted jsonb, depth integer,
    OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _conditions text[] := '{}';
    _of_document text[] := '{}';
    _operator text;
    _operand jsonb;
    _part record;
BEGIN
    PERFORM rag._check_depth(depth);
    PERFORM rag._document_column(_compile_column.collection_id, field, 'd');
    indexed := false;
    undeclared := '{}';
    FOR _operator, _operand IN SELECT o.key, o.value
        FROM jsonb_each(rag._field_operators(wanted)) AS o LOOP
        IF _operator = '$not' THEN
            _part := rag._compile_column(_compile_column.collection_id, field, _operand, depth + 1);
            _conditions := _conditions || format('(%s) IS NOT TRUE', _part.condition);
        ELSE
            _part := rag._compile_column_operator(_compile_column.collection_id, field, _operator,
                _operand);
            IF _part.of_chunk THEN
                _conditions := _conditions || _part.condition;
                indexed := indexed OR field = '$uri' AND _operator IN ('$eq', '$in');
            ELSE
                _of_document := _of_document || _part.condition;
            END IF;
        END IF;
    END LOOP;
    IF cardinality(_of_document) > 0 THEN
        _conditions := _conditions || format(
            'EXISTS (SELECT FROM rag.documents AS d WHERE d.collection_id = %s AND d.document_id = '
            'c.document_id AND %s)',
            _compile_column.collection_id, rag._join_conditions(_of_document, 'AND'));
    END IF;
    condition := rag._join_conditions(_conditions, 'AND');
END
$$;

COMMENT ON FUNCTION rag._compile_column IS
$$What a filter wants of a document's column, compiled as rag._compile_field does it for a field.$$;
