-- Filters of exposed views: the operators of the language over typed columns, on alias c.
--
-- Values are bound: a condition names them as ($1)[n], and they are gathered in an array of texts.
-- A column of json, and an array, is compared as metadata is (rag._compile_field).

CREATE OR REPLACE FUNCTION rag._view_term(columns jsonb, name text,
    OUT column_name text, OUT kind text, OUT base_type text, OUT labels jsonb, OUT path text,
    OUT expression text, OUT type text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _column jsonb := columns -> name;
    _steps text[] := ARRAY[name];
BEGIN
    IF _column IS NULL AND name IS NOT NULL THEN
        _steps := rag._field_steps(name);
        _column := columns -> _steps[1];
        IF cardinality(_steps) > 1 AND _column ->> 'kind' IS DISTINCT FROM 'json' THEN
            _column := NULL;
        END IF;
    END IF;
    IF _column IS NULL THEN
        RAISE EXCEPTION 'there is no column %', coalesce(quote_literal(left(name, 100)), 'NULL')
        USING ERRCODE = 'RG004', HINT = 'the columns: ' || left((
            SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(columns) AS k), 2000);
    END IF;
    column_name := _steps[1];
    kind := _column ->> 'kind';
    base_type := _column ->> 'base_type';
    labels := _column -> 'labels';
    path := rag._field_name(_steps);
    expression := rag._column_sql(column_name, kind);
    IF cardinality(_steps) > 1 THEN
        expression := rag._field_value(expression, _steps[2:]);
    END IF;
    type := CASE WHEN kind IN ('json', 'enum[]') THEN 'jsonb' WHEN kind = 'other' THEN 'text'
        ELSE kind END;
    IF type = 'jsonb' THEN
        expression := format('(%s)', expression);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._view_term IS
$$A column of a view, or a dotted path into one of json, as an SQL expression on alias c.

columns: {name: {"kind", "base_type", "labels"}}. path: as in filters. type: jsonb, or the kind of
column. Error RG004 for any other name.$$;


CREATE OR REPLACE FUNCTION rag._reject_operand(name text, kind text, operator text, operand jsonb,
    labels jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    RAISE EXCEPTION 'column % cannot be asked for % %', quote_literal(left(name, 100)),
        quote_literal(left(operator, 100)), left(operand::text, 100)
    USING ERRCODE = 'RG004', HINT = CASE
        WHEN kind IN ('integer', 'numeric') THEN 'it is a number: {"$gte": 5}'
        WHEN kind = 'text' THEN 'it is a text: use $eq $ne $in $nin $like $ilike $gt $gte $lt '
            '$lte with texts'
        WHEN kind = 'boolean' THEN 'it is true or false'
        WHEN kind = 'date' THEN 'it is a date: {"$gte": "2024-02-01", "$lt": "2024-03-01"}'
        WHEN kind IN ('timestamp', 'timestamptz') THEN 'it is a point in time: a day is '
            '{"$gte": "2024-02-29", "$lt": "2024-03-01"}'
        WHEN kind IN ('enum', 'enum[]') THEN format('use $eq $ne $in or $nin with its labels: %s',
            left(labels::text, 1000))
        WHEN kind = 'native' THEN 'it takes a text that its type reads'
        ELSE 'it has no order: use $eq $ne $in $nin $like or $ilike with texts' END;
END
$$;

COMMENT ON FUNCTION rag._reject_operand IS
$$Error RG004 for what a column cannot be compared with.$$;


CREATE OR REPLACE FUNCTION rag._bind_operand(kind text, base_type text, labels jsonb, operator text,
    operand jsonb, OUT bound_text text, OUT bound_type text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _text text := operand #>> '{}';
    _moment timestamptz := rag._as_timestamptz(operand);
    _equal boolean := operator IN ('$eq', '$ne', '$in', '$nin');
BEGIN
    -- a number is bound as the column's own type where it is one, so that an index serves it
    CASE
        WHEN kind IN ('integer', 'numeric') AND jsonb_typeof(operand) = 'number' THEN
            bound_text := _text;
            bound_type := CASE
                WHEN kind = 'integer' AND pg_input_is_valid(_text, 'int8') THEN 'int8'
                WHEN kind = 'numeric' AND pg_input_is_valid(_text, base_type) THEN base_type
                ELSE 'numeric' END;
        WHEN kind = 'boolean' AND jsonb_typeof(operand) = 'boolean' THEN
            bound_text := _text;
            bound_type := 'bool';
        WHEN jsonb_typeof(operand) <> 'string' THEN
            NULL;
        WHEN kind = 'text' OR kind = 'other' AND _equal THEN
            bound_text := _text;
            bound_type := CASE base_type WHEN 'bpchar' THEN 'bpchar' ELSE 'text' END;
        WHEN kind = 'enum' AND _equal AND labels ? _text THEN
            bound_text := _text;
            bound_type := 'text';
        WHEN kind = 'date' AND _moment IS NOT NULL AND length(_text) = 10 THEN
            bound_text := _text;
            bound_type := 'date';
        WHEN kind = 'timestamptz' AND _moment IS NOT NULL
            AND (length(_text) > 10 OR NOT _equal) THEN
            bound_text := rag._utc_text(_moment);
            bound_type := 'timestamptz';
        WHEN kind = 'timestamp' AND _moment IS NOT NULL
            AND (length(_text) > 10 OR NOT _equal) THEN
            bound_text := to_jsonb(_moment AT TIME ZONE 'UTC') #>> '{}';
            bound_type := 'timestamp';
        WHEN kind = 'native' AND pg_input_is_valid(_text, base_type) THEN
            bound_text := _text;
            bound_type := base_type;
        ELSE
            NULL;
    END CASE;
END
$$;

COMMENT ON FUNCTION rag._bind_operand IS
$$An operand as a text and the type that it is read as; NULL: the column cannot be compared with it.
$$;


CREATE OR REPLACE FUNCTION rag._compile_view_operator(
    term record, name text, operator text, operand jsonb,
    INOUT bound text[], OUT condition text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _sign text := CASE operator WHEN '$gt' THEN '>' WHEN '$gte' THEN '>=' WHEN '$lt' THEN '<'
        WHEN '$lte' THEN '<=' END;
    _expression text := CASE term.kind
        WHEN 'enum' THEN format('enum_out(%s)::text', term.expression) ELSE term.expression END;
    _operands jsonb := CASE WHEN operator IN ('$in', '$nin') THEN operand
        ELSE jsonb_build_array(operand) END;
    _texts text[] := '{}';
    _type text;
    _value jsonb;
    _part record;
    _conditions text[] := '{}';
BEGIN
    IF operator NOT IN ('$eq', '$ne', '$in', '$nin', '$exists', '$like', '$ilike', '$gt', '$gte',
        '$lt', '$lte') THEN
        RAISE EXCEPTION 'unknown operator % at column %', quote_literal(left(operator, 100)),
            quote_literal(left(name, 100))
        USING ERRCODE = 'RG004', HINT = 'use $eq $ne $gt $gte $lt $lte $in $nin $exists $like '
            '$ilike or $not; $contains is for columns of json and arrays';
    ELSIF jsonb_typeof(_operands) <> 'array' THEN
        RAISE EXCEPTION '% of column % takes a list, not %', operator,
            quote_literal(left(name, 100)), left(operand::text, 100)
        USING ERRCODE = 'RG004', HINT = 'for example {"lang": {"$in": ["en", "de"]}}';
    ELSIF operator = '$exists' THEN
        IF jsonb_typeof(operand) <> 'boolean' THEN
            RAISE EXCEPTION '$exists of column % takes true or false, not %',
                quote_literal(left(name, 100)), left(operand::text, 100)
            USING ERRCODE = 'RG004', HINT = 'for example {"lang": {"$exists": false}}';
        END IF;
        condition := format('%s IS %sNULL', term.expression,
            CASE WHEN operand::boolean THEN 'NOT ' ELSE '' END);
        RETURN;
    ELSIF operator IN ('$like', '$ilike') THEN
        IF term.kind NOT IN ('text', 'enum', 'other') THEN
            PERFORM rag._reject_operand(name, term.kind, operator, operand, term.labels);
        END IF;
        PERFORM rag._check_pattern(name, operator, operand);
        bound := bound || CASE operator WHEN '$like' THEN operand #>> '{}'
            ELSE rag._fold_case(operand #>> '{}') END;
        condition := format(CASE operator WHEN '$like' THEN '%s LIKE ($1)[%s]'
            ELSE 'rag._fold_case(%s) LIKE ($1)[%s]' END, _expression, cardinality(bound));
        RETURN;
    END IF;
    FOR _value IN SELECT v.value FROM jsonb_array_elements(_operands) AS v LOOP
        IF _value = 'null' AND _sign IS NULL THEN
            _conditions := ARRAY[format('%s IS NULL', term.expression)];
            CONTINUE;
        END IF;
        _part := rag._bind_operand(term.kind, term.base_type, term.labels, operator, _value);
        IF _part.bound_type IS NULL THEN
            PERFORM rag._reject_operand(name, term.kind, operator, _value, term.labels);
        END IF;
        _texts := _texts || _part.bound_text;
        _type := CASE WHEN _part.bound_type = coalesce(_type, _part.bound_type)
            THEN _part.bound_type ELSE 'numeric' END;
    END LOOP;
    IF _type = 'numeric' AND term.base_type <> 'numeric' THEN
        _expression := format('%s::numeric', _expression);
    END IF;
    IF cardinality(_texts) > 0 THEN
        bound := bound || CASE WHEN operator IN ('$in', '$nin') THEN _texts::text
            ELSE _texts[1] END;
        _conditions := _conditions || CASE WHEN operator IN ('$in', '$nin')
            THEN format('%s = ANY (($1)[%s]::pg_catalog.%I[])', _expression, cardinality(bound),
                _type)
            ELSE format('%s %s ($1)[%s]::pg_catalog.%I', _expression, coalesce(_sign, '='),
                cardinality(bound), _type) END;
    END IF;
    condition := rag._join_conditions(_conditions, 'OR');
    IF operator IN ('$ne', '$nin') THEN
        condition := format('(%s) IS NOT TRUE', condition);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._compile_view_operator IS
$$One operator of a column, compiled. term: as rag._view_term returns it. bound: the values so far.
NULL is as a field that is null, and as one that is not there.$$;


CREATE OR REPLACE FUNCTION rag._compile_view_column(
    columns jsonb, name text, wanted jsonb, depth integer, INOUT bound text[], OUT condition text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _term record;
    _conditions text[] := '{}';
    _operator text;
    _operand jsonb;
    _part record;
BEGIN
    PERFORM rag._check_depth(depth);
    IF starts_with(name, '$') THEN
        RAISE EXCEPTION 'unknown operator %', quote_literal(left(name, 100))
        USING ERRCODE = 'RG004', HINT = E'above columns stand $and, $or and $not, below them '
            'comparisons: {"year": {"$gte": 2024}}; a column whose name begins with $ is '
            'written \\$';
    END IF;
    _term := rag._view_term(columns, name);
    FOR _operator, _operand IN SELECT o.key, o.value
        FROM jsonb_each(rag._field_operators(wanted)) AS o LOOP
        IF _operator = '$not' THEN
            _part := rag._compile_view_column(columns, name, _operand, depth + 1, bound);
            _part.condition := format('(%s) IS NOT TRUE', _part.condition);
        ELSIF _term.type = 'jsonb'
            AND (_operator <> '$exists' OR _term.path <> rag._field_name(ARRAY[_term.column_name]))
        THEN
            _part := row(bound, format(
                'EXISTS (SELECT FROM (SELECT jsonb_build_object(%L, %s) AS metadata) AS c'
                ' WHERE %s)', _term.column_name, rag._column_sql(_term.column_name, _term.kind),
                (rag._compile_field(NULL, _term.path, jsonb_build_object(_operator, _operand),
                    depth)).condition));
            _conditions := _conditions || _part.f2;
            CONTINUE;
        ELSE
            _part := rag._compile_view_operator(_term, name, _operator, _operand, bound);
        END IF;
        bound := _part.bound;
        _conditions := _conditions || _part.condition;
    END LOOP;
    condition := rag._join_conditions(_conditions, 'AND');
END
$$;

COMMENT ON FUNCTION rag._compile_view_column IS
$$What a filter wants of a column, compiled: an object of operators, all of which hold, or a plain
value that it equals.$$;
