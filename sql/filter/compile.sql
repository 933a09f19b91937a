-- The filter language: conditions as JSON, compiled to SQL on alias c of rag.chunks.

CREATE OR REPLACE FUNCTION rag._compile_operator(
    collection_id integer, field text, steps text[], operator text, operand jsonb, depth integer,
    OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _around jsonb[];
BEGIN
    undeclared := '{}';
    IF operator IN ('$in', '$nin') AND jsonb_typeof(operand) <> 'array' THEN
        RAISE EXCEPTION '% of field % takes a list, not %', operator,
            quote_literal(left(field, 100)), left(operand::text, 100)
        USING ERRCODE = 'RG004', HINT = 'for example {"lang": {"$in": ["en", "de"]}}';
    ELSIF operator = '$exists' AND jsonb_typeof(operand) <> 'boolean' THEN
        RAISE EXCEPTION '$exists of field % takes true or false, not %',
            quote_literal(left(field, 100)), left(operand::text, 100)
        USING ERRCODE = 'RG004', HINT = 'for example {"lang": {"$exists": false}}';
    END IF;
    CASE
        WHEN operator IN ('$eq', '$ne') THEN
            SELECT e.* INTO condition, indexed
                FROM rag._compile_equal(steps, jsonb_build_array(operand)) AS e;
        WHEN operator IN ('$in', '$nin') THEN
            SELECT e.* INTO condition, indexed FROM rag._compile_equal(steps, operand) AS e;
        WHEN operator IN ('$gt', '$gte', '$lt', '$lte') THEN
            SELECT r.* INTO condition, indexed, undeclared
            FROM rag._compile_range(_compile_operator.collection_id, field, steps, operator,
                operand) AS r;
        WHEN operator IN ('$like', '$ilike') THEN
            SELECT l.* INTO condition, indexed, undeclared
            FROM rag._compile_like(_compile_operator.collection_id, field, steps, operator,
                operand) AS l;
        WHEN operator = '$contains' THEN
            _around := rag._wrap_operand(steps, operand);
            condition := format('(c.metadata @> %L::jsonb OR c.metadata @> %L::jsonb)', _around[1],
                _around[2]);
            indexed := rag._has_scalar(operand);
        WHEN operator = '$exists' THEN
            condition := format('(%s) %s', rag._field_value('c.metadata', steps),
                                CASE WHEN operand::boolean THEN 'IS NOT NULL' ELSE 'IS NULL' END);
            indexed := false;
        WHEN operator = '$not' THEN
            SELECT f.* INTO condition, indexed, undeclared
            FROM rag._compile_field(_compile_operator.collection_id, field, operand,
                depth + 1) AS f;
        ELSE
            RAISE EXCEPTION 'unknown operator % at field %', quote_literal(left(operator, 100)),
                quote_literal(left(field, 100))
            USING ERRCODE = 'RG004',
                HINT = 'use $eq $ne $gt $gte $lt $lte $in $nin $exists $contains $like $ilike or '
                '$not; $and and $or stand above fields';
    END CASE;
    IF operator IN ('$ne', '$nin', '$not') THEN
        condition := format('(%s) IS NOT TRUE', condition);
        indexed := false;
        undeclared := '{}';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._compile_operator IS
$$One operator of a field, compiled.$$;


CREATE OR REPLACE FUNCTION rag._field_operators(wanted jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE  -- CASE: the parts of an AND are computed in any order
RETURN CASE WHEN jsonb_path_exists(wanted,
    'strict $ ? (@.type() == "object").keyvalue() ? (@.key starts with "$")')
            THEN wanted ELSE jsonb_build_object('$eq', wanted) END;

COMMENT ON FUNCTION rag._field_operators IS
$$What a filter wants of a field as an object of operators: a plain value is one that it equals.$$;


CREATE OR REPLACE FUNCTION rag._compile_field(
    collection_id integer, field text, wanted jsonb, depth integer,
    OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _operators jsonb;
    _conditions text[] := '{}';
    _part record;
BEGIN
    PERFORM rag._check_depth(depth);
    _operators := rag._field_operators(wanted);
    indexed := false;
    undeclared := '{}';
    FOR _part IN
        SELECT p.* FROM jsonb_each(_operators) AS o,
        LATERAL rag._compile_operator(_compile_field.collection_id, field, rag._field_steps(field),
            o.key, o.value, depth) AS p
    LOOP
        _conditions := _conditions || _part.condition;
        indexed := indexed OR _part.indexed;
        undeclared := undeclared || _part.undeclared;
    END LOOP;
    condition := rag._join_conditions(_conditions, 'AND');
END
$$;

COMMENT ON FUNCTION rag._compile_field IS
$$What a filter wants of one field, compiled: an object of operators, all of which hold, or a plain
value that it equals.$$;


CREATE OR REPLACE FUNCTION rag._check_depth(depth integer)
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

COMMENT ON FUNCTION rag._check_depth IS
$$Error RG004 for a filter that is nested too deeply.$$;


CREATE OR REPLACE FUNCTION rag._compile_branches(
    collection_id integer, columns jsonb, operator text, branches jsonb, depth integer,
    INOUT bound text[], OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _any boolean := operator = '$or';
    _conditions text[] := '{}';
    _branch jsonb;
    _part record;
BEGIN
    IF jsonb_typeof(branches) <> 'array' THEN
        RAISE EXCEPTION '% takes a list of filters, not %', operator, left(branches::text, 100)
        USING ERRCODE = 'RG004', HINT = 'for example {"$or": [{"lang": "en"}, {"lang": "de"}]}';
    END IF;
    indexed := _any;
    undeclared := '{}';
    FOR _branch IN SELECT b.value FROM jsonb_array_elements(branches) AS b LOOP
        _part := rag._compile_object(_compile_branches.collection_id, columns, _branch, depth,
            bound);
        bound := _part.bound;
        _conditions := _conditions || _part.condition;
        indexed := CASE WHEN _any THEN indexed AND _part.indexed ELSE indexed OR _part.indexed END;
        undeclared := undeclared || _part.undeclared;
    END LOOP;
    condition := rag._join_conditions(_conditions, CASE WHEN _any THEN 'OR' ELSE 'AND' END);
END
$$;

COMMENT ON FUNCTION rag._compile_branches IS
$$The filters below $and or $or, compiled. An empty $and holds for every chunk, an empty $or for
none.$$;


CREATE OR REPLACE FUNCTION rag._compile_object(
    collection_id integer, columns jsonb, metadata_filter jsonb, depth integer,
    INOUT bound text[], OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _conditions text[] := '{}';
    _key text;
    _wanted jsonb;
    _part record;
BEGIN
    PERFORM rag._check_depth(depth);
    IF jsonb_typeof(metadata_filter) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'a filter is a JSON object, not %',
            coalesce(left(metadata_filter::text, 100), 'NULL')
        USING ERRCODE = 'RG004', HINT = 'for example {"lang": "en", "year": {"$gte": 2024}}';
    END IF;
    indexed := false;
    undeclared := '{}';
    FOR _key, _wanted IN SELECT f.key, f.value FROM jsonb_each(metadata_filter) AS f LOOP
        CASE
            WHEN _key IN ('$and', '$or') THEN
                _part := rag._compile_branches(_compile_object.collection_id, columns, _key,
                    _wanted, depth + 1,
                    bound);
            WHEN _key = '$not' THEN
                _part := rag._compile_object(_compile_object.collection_id, columns, _wanted,
                    depth + 1, bound);
                _part.condition := format('(%s) IS NOT TRUE', _part.condition);
                _part.indexed := false;
                _part.undeclared := '{}'::text[];
            WHEN columns IS NOT NULL THEN
                SELECT v.bound, v.condition, false AS indexed, '{}'::text[] AS undeclared
                INTO _part
                FROM rag._compile_view_column(columns, _key, _wanted, depth + 1,
                    _compile_object.bound) AS v;
            WHEN starts_with(_key, '$') THEN
                SELECT _compile_object.bound AS bound, c.* INTO _part
                FROM rag._compile_column(_compile_object.collection_id, _key, _wanted,
                    depth + 1) AS c;
            ELSE
                SELECT _compile_object.bound AS bound, f.* INTO _part
                FROM rag._compile_field(_compile_object.collection_id, _key, _wanted,
                    depth + 1) AS f;
        END CASE;
        bound := _part.bound;
        _conditions := _conditions || _part.condition;
        indexed := indexed OR _part.indexed;
        undeclared := undeclared || _part.undeclared;
    END LOOP;
    condition := rag._join_conditions(_conditions, 'AND');
END
$$;

COMMENT ON FUNCTION rag._compile_object IS
$$A filter object, compiled: all of its keys hold.

columns: those of a view, whose values are put into bound and named as ($1)[n]; NULL: metadata of
the collection's documents.$$;


CREATE OR REPLACE FUNCTION rag._check_filter_size(named text, filters jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _parts bigint;
    _values bigint;
BEGIN
    IF octet_length(filters::text) > 1000000 THEN
        RAISE EXCEPTION '% % bytes', named, octet_length(filters::text)
        USING ERRCODE = 'RG004', HINT = 'use at most 1000000: give the documents a field that says '
            'what the list says';
    END IF;
    -- First, as counting the parts takes time by the square of the depth.
    IF jsonb_path_exists(filters, 'strict $.**{100}') THEN
        RAISE EXCEPTION '% values nested more than 100 deep', named USING ERRCODE = 'RG004',
        HINT = 'ask for a part of the value: {"author.name": "Ann"}; $and, $or and $not are '
            'nested up to 32 deep';
    END IF;
    -- Planning takes time by the square of the conditions. A keyword search reads the condition in
    -- up to twenty statements, so what one of them costs is bounded too.
    SELECT (SELECT count(*)
        FROM jsonb_path_query(filters,
            'strict $.** ? (@.type() == "object").keyvalue().key'))
         + count(e.value) FILTER (WHERE jsonb_typeof(e.value) IN ('object', 'array')),
        count(e.value)
    INTO _parts, _values
    FROM jsonb_path_query(filters, 'strict $.** ? (@.type() == "array")') AS a (list),
        LATERAL jsonb_array_elements(a.list) AS e;  -- [*] would look each up from the first
    IF _parts > 1000 THEN
        RAISE EXCEPTION '% % parts', named, _parts USING ERRCODE = 'RG004',
        HINT = 'use at most 1000: its keys at all levels, and the objects and lists within lists; '
               'many values of one field are one $in';
    END IF;
    IF _values > 5000 THEN
        RAISE EXCEPTION '% % values in lists', named, _values USING ERRCODE = 'RG004',
        HINT = 'use at most 5000: give the documents a field that says what the list says, or ask '
               'in several calls';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_filter_size IS
$$Error RG004 for a filter, or the filters of all boosts, that would take more than about a second.
named: how the message begins.$$;


CREATE OR REPLACE FUNCTION rag._compile_filter(
    collection_id integer, metadata_filter jsonb, OUT condition text, OUT indexed boolean,
        OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _scope CONSTANT text := rag._scope(_compile_filter.collection_id);
    _columns bigint;
BEGIN
    IF coalesce(metadata_filter, '{}') = '{}' THEN
        condition := _scope;
        indexed := _scope IS NOT NULL;
        undeclared := '{}';
        RETURN;
    END IF;
    PERFORM rag._check_filter_size('the filter has', metadata_filter);
    SELECT count(*) INTO _columns
    FROM jsonb_path_query(metadata_filter, 'strict $.** ? (@.type() == "object").keyvalue().key
        ? (@ == "$title" || @ == "$media_type" || @ == "$created_at" || @ == "$updated_at")') AS k;
    IF _columns > 10 THEN  -- each is a join
        RAISE EXCEPTION 'the filter asks for columns % times', _columns USING ERRCODE = 'RG004',
        HINT = 'use $title, $media_type, $created_at and $updated_at at most 10 times; many texts '
               'of one column are one $in';
    END IF;
    SELECT format('(%s)', o.condition), o.indexed,
        ARRAY(SELECT DISTINCT u.field FROM unnest(o.undeclared) AS u (field) ORDER BY u.field)
    INTO condition, indexed, undeclared
    FROM rag._compile_object(_compile_filter.collection_id, NULL, metadata_filter, 1, '{}') AS o;
    IF _scope IS NOT NULL THEN
        condition := format('(%s AND %s)', _scope, condition);
        indexed := true;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._compile_filter IS
$$A filter as an SQL condition on alias c of rag.chunks, for the collection with that id. Error
RG004 names what is wrong.

condition: trusted SQL in parentheses, every value in it quoted by the database; true, false or
NULL, which is as false; NULL for the empty filter. What the session does not see of a shared
collection (rag._scope) passes no filter, not the empty one either. indexed: an index serves it, so
its matches can be listed without reading every chunk. undeclared: the fields with a range or a
prefix that rag.index_field would speed up.
The language: docs/guides/filters.md.
Circle: client.$$;
