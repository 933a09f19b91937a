-- The filter language: metadata conditions as JSON, compiled to an SQL condition on alias c of rag.chunks.
--
-- What compiles returns (condition, indexed, undeclared), see rag.compile_filter. A condition is two-valued where it is
-- negated (IS NOT TRUE) and may otherwise be NULL for false: there is no other negation, so NULL never becomes true.

CREATE OR REPLACE FUNCTION rag.join_conditions(conditions text[], word text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE cardinality(conditions)
       WHEN 0 THEN CASE word WHEN 'AND' THEN 'true' ELSE 'false' END
       WHEN 1 THEN conditions[1]
       ELSE '(' || array_to_string(conditions, ' ' || word || ' ') || ')' END;

COMMENT ON FUNCTION rag.join_conditions(text[], text) IS
$$SQL conditions joined by AND or OR. None at all: true for AND, false for OR.$$;


CREATE OR REPLACE FUNCTION rag.compile_equal(steps text[], operands jsonb, OUT condition text, OUT indexed boolean)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    by_index CONSTANT integer := 64;  -- GIN compares each match with every value: many are hashed instead
    _value text := rag.field_value('c.metadata', steps);
    _path text := '@';
    _objects text := '';
    _scalars jsonb[];
    _parts text[] := '{}';
    _operand jsonb;
    _around jsonb[];
BEGIN
    indexed := true;
    FOR _place IN 1..cardinality(steps) LOOP
        IF _place > 1 THEN  -- jsonpath would look into the elements of an array as well
            _objects := _objects || format('%s.type() == "object" && ', _path);
        END IF;
        _path := _path || '.' || to_jsonb(steps[_place]);
    END LOOP;
    SELECT array_agg(o.value) INTO _scalars
    FROM jsonb_array_elements(operands) AS o WHERE jsonb_typeof(o.value) NOT IN ('object', 'array');
    IF cardinality(_scalars) <= by_index THEN
        _parts := ARRAY[format('c.metadata @? %L::jsonpath', format('$ ? (%s(%s))', _objects, (
            SELECT string_agg(format('%s == %s', _path, s.value), ' || ') FROM unnest(_scalars) AS s (value))))];
    ELSIF _scalars IS NOT NULL THEN
        indexed := false;
        _parts := ARRAY[format(
            'CASE WHEN jsonb_typeof(%1$s) = ''array'''
            ' THEN EXISTS (SELECT FROM jsonb_array_elements(%1$s) AS e (value) WHERE e.value = ANY (%2$L::jsonb[]))'
            ' ELSE %1$s = ANY (%2$L::jsonb[]) END', '(' || _value || ')', _scalars)];
    END IF;
    FOR _operand IN
        SELECT o.value FROM jsonb_array_elements(operands) AS o WHERE jsonb_typeof(o.value) IN ('object', 'array')
    LOOP
        _around := rag.wrap_operand(steps, _operand);
        _parts := _parts || format(
            '((c.metadata @> %L::jsonb OR c.metadata @> %L::jsonb)'
            ' AND (%3$s = %4$L::jsonb OR %4$L::jsonb IN (SELECT jsonb_path_query(%3$s, ''$[*]''))))',
            _around[1], _around[2], _value, _operand);
        indexed := indexed AND rag.has_scalar(_operand);
    END LOOP;
    condition := rag.join_conditions(_parts, 'OR');
END
$$;

COMMENT ON FUNCTION rag.compile_equal(text[], jsonb) IS
$$The condition that a field, or an element of the array it holds, equals one of the operands (a JSON array).$$;


CREATE OR REPLACE FUNCTION rag.wrap_operand(steps text[], operand jsonb)
RETURNS jsonb[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _value jsonb := operand;
    _element jsonb := jsonb_build_array(operand);
BEGIN
    FOR _place IN REVERSE cardinality(steps)..1 LOOP
        _value := jsonb_build_object(steps[_place], _value);
        _element := jsonb_build_object(steps[_place], _element);
    END LOOP;
    RETURN ARRAY[_value, _element];
END
$$;

COMMENT ON FUNCTION rag.wrap_operand(text[], jsonb) IS
$$Metadata that holds the operand at a field, and metadata that holds it there as the element of an array.$$;


CREATE OR REPLACE FUNCTION rag.has_scalar(operand jsonb)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_path_exists(operand, 'strict $.** ? (@.type() != "object" && @.type() != "array")');

COMMENT ON FUNCTION rag.has_scalar(jsonb) IS
$$Whether there is any string, number, boolean or null in a value: without one, GIN has nothing to look up.$$;


CREATE OR REPLACE FUNCTION rag.compile_range(
    collection_key integer, field text, steps text[], operator text, operand jsonb,
    OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _sign text := CASE operator WHEN '$gt' THEN '>' WHEN '$gte' THEN '>=' WHEN '$lt' THEN '<' WHEN '$lte' THEN '<=' END;
    _declared text;
    _type text := CASE jsonb_typeof(operand)
                  WHEN 'number' THEN 'numeric' WHEN 'boolean' THEN 'boolean'
                  WHEN 'string' THEN CASE WHEN rag.as_timestamptz(operand) IS NOT NULL THEN 'timestamptz' ELSE 'text' END END;
BEGIN
    IF _type IS NULL OR rag.as_numeric(operand) IS NULL AND _type = 'numeric' THEN
        RAISE EXCEPTION '% of field % takes a number, a date, a text or a boolean, not %', operator,
            quote_literal(left(field, 100)), left(operand::text, 100)
        USING ERRCODE = 'RG004', HINT = 'for example {"year": {"$gte": 2024}} or {"day": {"$lt": "2024-02-29"}}';
    END IF;
    SELECT f.type INTO _declared FROM rag.fields AS f
    WHERE f.collection_id = collection_key AND f.field = rag.field_name(steps);
    IF _declared <> _type AND (_declared, _type) <> ('text', 'timestamptz') THEN
        RAISE EXCEPTION 'field % is declared %, % cannot compare it with %', quote_literal(left(field, 100)), _declared,
            operator, left(operand::text, 100)
        USING ERRCODE = 'RG004', HINT = 'pass a value of that type; dates are written like "2024-02-29T12:30:00Z"';
    END IF;
    indexed := coalesce(_declared = _type, false);
    undeclared := CASE WHEN _declared IS NULL THEN ARRAY[rag.field_name(steps)] ELSE '{}' END;
    IF _type = 'text' AND length(operand #>> '{}') >= 500 THEN  -- longer than what as_text keeps
        indexed := false;
        condition := format('%s %s %L', rag.whole_text(steps), _sign, operand #>> '{}');
    ELSIF _type = 'timestamptz' THEN
        condition := format('%s %s rag.as_timestamptz(%L::jsonb)',
                            rag.field_expression('c.metadata', steps, _type), _sign, operand);
    ELSE
        condition := format('%s %s %L::%s', rag.field_expression('c.metadata', steps, _type), _sign,
                            operand #>> '{}', _type);
    END IF;
END
$$;

COMMENT ON FUNCTION rag.compile_range(integer, text, text[], text, jsonb) IS
$$The condition that a field's one value is greater or less than the operand, by the operand's type.$$;


CREATE OR REPLACE FUNCTION rag.whole_text(steps text[])
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format('CASE WHEN jsonb_typeof(%s) = ''string'' THEN %1$s #>> ''{}'' END COLLATE "C"',
              '(' || rag.field_value('c.metadata', steps) || ')');

COMMENT ON FUNCTION rag.whole_text(text[]) IS
$$The SQL expression of a field's text in its full length.$$;


CREATE OR REPLACE FUNCTION rag.compile_like(
    collection_key integer, field text, steps text[], operand jsonb,
    OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _pattern text := operand #>> '{}';
    _prefix text := left(substring(_pattern FROM '^[^%_\\]+'), 400);
BEGIN
    IF jsonb_typeof(operand) <> 'string' OR _pattern ~ '(^|[^\\])(\\\\)*\\$' THEN
        RAISE EXCEPTION '$like of field % takes a pattern, not %', quote_literal(left(field, 100)), left(operand::text, 100)
        USING ERRCODE = 'RG004', HINT = 'use text with % and _, e.g. "Guide%"; a backslash takes what follows as it is';
    END IF;
    indexed := false;
    undeclared := '{}';
    condition := format('%s LIKE %L', rag.whole_text(steps), _pattern);
    IF _prefix IS NOT NULL THEN
        indexed := EXISTS (SELECT FROM rag.fields AS f WHERE f.collection_id = collection_key
                           AND f.field = rag.field_name(steps) AND f.type = 'text');
        undeclared := CASE WHEN indexed THEN '{}' ELSE ARRAY[rag.field_name(steps)] END;
        condition := format('(%s LIKE %L%s)', rag.field_expression('c.metadata', steps, 'text'), _prefix || '%',
                            CASE WHEN _pattern <> _prefix || '%' THEN ' AND ' || condition END);
    END IF;
END
$$;

COMMENT ON FUNCTION rag.compile_like(integer, text, text[], jsonb) IS
$$The condition that a field's text matches an SQL LIKE pattern. What stands before the first % or _ can use the field's index.$$;


CREATE OR REPLACE FUNCTION rag.compile_operator(
    collection_key integer, field text, steps text[], operator text, operand jsonb, depth integer,
    OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _around jsonb[];
BEGIN
    undeclared := '{}';
    IF operator IN ('$in', '$nin') AND jsonb_typeof(operand) <> 'array' THEN
        RAISE EXCEPTION '% of field % takes a list, not %', operator, quote_literal(left(field, 100)), left(operand::text, 100)
        USING ERRCODE = 'RG004', HINT = 'for example {"lang": {"$in": ["en", "de"]}}';
    ELSIF operator = '$exists' AND jsonb_typeof(operand) <> 'boolean' THEN
        RAISE EXCEPTION '$exists of field % takes true or false, not %', quote_literal(left(field, 100)), left(operand::text, 100)
        USING ERRCODE = 'RG004', HINT = 'for example {"lang": {"$exists": false}}';
    END IF;
    CASE
        WHEN operator IN ('$eq', '$ne') THEN
            SELECT e.* INTO condition, indexed FROM rag.compile_equal(steps, jsonb_build_array(operand)) AS e;
        WHEN operator IN ('$in', '$nin') THEN
            SELECT e.* INTO condition, indexed FROM rag.compile_equal(steps, operand) AS e;
        WHEN operator IN ('$gt', '$gte', '$lt', '$lte') THEN
            SELECT r.* INTO condition, indexed, undeclared
            FROM rag.compile_range(collection_key, field, steps, operator, operand) AS r;
        WHEN operator = '$like' THEN
            SELECT l.* INTO condition, indexed, undeclared
            FROM rag.compile_like(collection_key, field, steps, operand) AS l;
        WHEN operator = '$contains' THEN
            _around := rag.wrap_operand(steps, operand);
            condition := format('(c.metadata @> %L::jsonb OR c.metadata @> %L::jsonb)', _around[1], _around[2]);
            indexed := rag.has_scalar(operand);
        WHEN operator = '$exists' THEN
            condition := format('(%s) %s', rag.field_value('c.metadata', steps),
                                CASE WHEN operand::boolean THEN 'IS NOT NULL' ELSE 'IS NULL' END);
            indexed := false;
        WHEN operator = '$not' THEN
            SELECT f.* INTO condition, indexed, undeclared
            FROM rag.compile_field(collection_key, field, operand, depth + 1) AS f;
        ELSE
            RAISE EXCEPTION 'unknown operator % at field %', quote_literal(left(operator, 100)), quote_literal(left(field, 100))
            USING ERRCODE = 'RG004', HINT = 'use $eq $ne $gt $gte $lt $lte $in $nin $exists $contains $like or $not; '
                '$and and $or stand above fields';
    END CASE;
    IF operator IN ('$ne', '$nin', '$not') THEN
        condition := format('(%s) IS NOT TRUE', condition);
        indexed := false;
        undeclared := '{}';
    END IF;
END
$$;

COMMENT ON FUNCTION rag.compile_operator(integer, text, text[], text, jsonb, integer) IS
$$One operator of a field, compiled.$$;


CREATE OR REPLACE FUNCTION rag.compile_field(
    collection_key integer, field text, wanted jsonb, depth integer,
    OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _operators jsonb := wanted;
    _conditions text[] := '{}';
    _part record;
BEGIN
    PERFORM rag.check_depth(depth);
    IF NOT coalesce(jsonb_typeof(wanted) = 'object'
                    AND (SELECT bool_or(starts_with(k, '$')) FROM jsonb_object_keys(wanted) AS k), false) THEN
        _operators := jsonb_build_object('$eq', wanted);
    END IF;
    indexed := false;
    undeclared := '{}';
    FOR _part IN
        SELECT p.* FROM jsonb_each(_operators) AS o,
        LATERAL rag.compile_operator(collection_key, field, rag.field_steps(field), o.key, o.value, depth) AS p
    LOOP
        _conditions := _conditions || _part.condition;
        indexed := indexed OR _part.indexed;
        undeclared := undeclared || _part.undeclared;
    END LOOP;
    condition := rag.join_conditions(_conditions, 'AND');
END
$$;

COMMENT ON FUNCTION rag.compile_field(integer, text, jsonb, integer) IS
$$What a filter wants of one field, compiled: an object of operators, all of which hold, or a plain value that it equals.$$;


CREATE OR REPLACE FUNCTION rag.check_depth(depth integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF depth > 32 THEN
        RAISE EXCEPTION 'the filter is nested more than 32 deep' USING ERRCODE = 'RG004',
        HINT = 'take $and, $or and $not apart; many values of one field are one $in';
    END IF;
END
$$;

COMMENT ON FUNCTION rag.check_depth(integer) IS
$$Error RG004 for a filter that is nested too deeply.$$;


CREATE OR REPLACE FUNCTION rag.compile_branches(
    collection_key integer, operator text, branches jsonb, depth integer,
    OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _any boolean := operator = '$or';
    _conditions text[] := '{}';
    _part record;
BEGIN
    IF jsonb_typeof(branches) <> 'array' THEN
        RAISE EXCEPTION '% takes a list of filters, not %', operator, left(branches::text, 100)
        USING ERRCODE = 'RG004', HINT = 'for example {"$or": [{"lang": "en"}, {"lang": "de"}]}';
    END IF;
    indexed := _any;
    undeclared := '{}';
    FOR _part IN
        SELECT p.* FROM jsonb_array_elements(branches) AS b,
        LATERAL rag.compile_object(collection_key, b.value, depth) AS p
    LOOP
        _conditions := _conditions || _part.condition;
        indexed := CASE WHEN _any THEN indexed AND _part.indexed ELSE indexed OR _part.indexed END;
        undeclared := undeclared || _part.undeclared;
    END LOOP;
    condition := rag.join_conditions(_conditions, CASE WHEN _any THEN 'OR' ELSE 'AND' END);
END
$$;

COMMENT ON FUNCTION rag.compile_branches(integer, text, jsonb, integer) IS
$$The filters below $and or $or, compiled. An empty $and holds for every chunk, an empty $or for none.$$;


CREATE OR REPLACE FUNCTION rag.compile_object(
    collection_key integer, metadata_filter jsonb, depth integer,
    OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _conditions text[] := '{}';
    _key text;
    _wanted jsonb;
    _part record;
BEGIN
    PERFORM rag.check_depth(depth);
    IF jsonb_typeof(metadata_filter) <> 'object' THEN
        RAISE EXCEPTION 'a filter is a JSON object, not %', left(metadata_filter::text, 100)
        USING ERRCODE = 'RG004', HINT = 'for example {"lang": "en", "year": {"$gte": 2024}}';
    END IF;
    indexed := false;
    undeclared := '{}';
    FOR _key, _wanted IN SELECT f.key, f.value FROM jsonb_each(metadata_filter) AS f LOOP
        CASE
            WHEN _key IN ('$and', '$or') THEN
                _part := rag.compile_branches(collection_key, _key, _wanted, depth + 1);
            WHEN _key = '$not' THEN
                _part := rag.compile_object(collection_key, _wanted, depth + 1);
                _part.condition := format('(%s) IS NOT TRUE', _part.condition);
                _part.indexed := false;
                _part.undeclared := '{}'::text[];
            WHEN starts_with(_key, '$') THEN
                RAISE EXCEPTION 'unknown operator %', quote_literal(left(_key, 100)) USING ERRCODE = 'RG004',
                HINT = 'above fields stand $and, $or and $not, below them comparisons: {"year": {"$gte": 2024}}; '
                       'a field whose name begins with $ is written \$';
            ELSE
                _part := rag.compile_field(collection_key, _key, _wanted, depth + 1);
        END CASE;
        _conditions := _conditions || _part.condition;
        indexed := indexed OR _part.indexed;
        undeclared := undeclared || _part.undeclared;
    END LOOP;
    condition := rag.join_conditions(_conditions, 'AND');
END
$$;

COMMENT ON FUNCTION rag.compile_object(integer, jsonb, integer) IS
$$A filter object, compiled: all of its keys hold.$$;


CREATE OR REPLACE FUNCTION rag.compile_filter(
    collection_key integer, metadata_filter jsonb, OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF octet_length(metadata_filter::text) > 8000000 THEN
        RAISE EXCEPTION 'the filter has % bytes', octet_length(metadata_filter::text)
        USING ERRCODE = 'RG004', HINT = 'use at most 8000000';
    END IF;
    IF coalesce(metadata_filter, '{}') = '{}' THEN
        indexed := false;
        undeclared := '{}';
        RETURN;
    END IF;
    SELECT format('(%s)', o.condition), o.indexed, ARRAY(SELECT DISTINCT u.field FROM unnest(o.undeclared) AS u (field) ORDER BY u.field)
    INTO condition, indexed, undeclared
    FROM rag.compile_object(collection_key, metadata_filter, 1) AS o;
END
$$;

COMMENT ON FUNCTION rag.compile_filter(integer, jsonb) IS
$$A filter as an SQL condition on alias c of rag.chunks, for the collection with that id. Error RG004 names what is wrong.

condition: trusted SQL in parentheses, every value in it quoted by the database; true, false or NULL, which is as false; NULL
for the empty filter. indexed: an index serves it, so its matches can be listed without reading every chunk.
undeclared: the fields with a range or a prefix that rag.index_field would speed up.
The language: docs/filters.md.$$;
