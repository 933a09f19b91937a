-- Aggregates as SQL: what rag.aggregate_documents and rag.query_view have in common.
--
-- A term is what is grouped by or computed over: an SQL expression on alias c and its type. A term
-- of type jsonb is a value of JSON: of an array each element counts, once per row, as in a filter.

CREATE OR REPLACE FUNCTION rag._split_date_part(term text, OUT field text, OUT part text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _match text[] := regexp_match(term, '^(year|quarter|month|week|day|hour|weekday)[(](.*)[)]$');
BEGIN
    part := _match[1];
    field := coalesce(_match[2], regexp_replace(
        term, E'^\\\\(?=(year|quarter|month|week|day|hour|weekday)[(].*[)]$)', ''));
END
$$;

COMMENT ON FUNCTION rag._split_date_part IS
$$month(signed) as field signed and part month; any other text as a field without a part.

A field that is itself named month(x) is written with a backslash in front: \month(x).$$;


CREATE OR REPLACE FUNCTION rag._check_names(kind text, names text[], at_most integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF names IS NULL OR EXISTS (SELECT FROM unnest(names) AS n (name) WHERE n.name IS NULL) THEN
        RAISE EXCEPTION '% is NULL, or holds NULL', kind
        USING ERRCODE = 'RG004', HINT = 'use an array of names; an empty one for none';
    ELSIF cardinality(names) > at_most THEN
        RAISE EXCEPTION '% has % names', kind, cardinality(names)
        USING ERRCODE = 'RG004', HINT = format('use at most %s', at_most);
    ELSIF cardinality(names) > (SELECT count(DISTINCT n) FROM unnest(names) AS n) THEN
        RAISE EXCEPTION '% names % twice', kind, (
            SELECT quote_literal(left(n, 100)) FROM unnest(names) AS n
            GROUP BY n HAVING count(*) > 1 ORDER BY n LIMIT 1)
        USING ERRCODE = 'RG004', HINT = 'name each once';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_names IS
$$Error RG004 for names that are NULL, too many or not distinct. kind: the argument's name.$$;


CREATE OR REPLACE FUNCTION rag._check_aggregates(aggregates jsonb, group_by text[],
    having_filter jsonb, order_by text[])
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _name text;
    _wanted jsonb;
BEGIN
    PERFORM rag._check_names('group_by', group_by, 8);
    PERFORM rag._check_names('order_by', order_by, 16);
    IF jsonb_typeof(aggregates) IS DISTINCT FROM 'object'
        OR jsonb_typeof(having_filter) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION '% is no JSON object', CASE jsonb_typeof(aggregates)
            WHEN 'object' THEN 'having_filter' ELSE 'aggregates' END
        USING ERRCODE = 'RG004',
            HINT = 'for example aggregates {"total": {"sum": "amount"}}, having_filter '
                '{"total": {"$gt": 100}}';
    END IF;
    IF aggregates = '{}' AND cardinality(group_by) = 0
        OR (SELECT count(*) FROM jsonb_object_keys(aggregates)) > 32 THEN
        RAISE EXCEPTION 'there are % aggregates and % groups', (
            SELECT count(*) FROM jsonb_object_keys(aggregates)), cardinality(group_by)
        USING ERRCODE = 'RG004', HINT = 'ask for 1 to 32 aggregates, e.g. {"n": {"count": "*"}}, '
            'or name a group';
    END IF;
    FOR _name, _wanted IN SELECT a.key, a.value FROM jsonb_each(aggregates) AS a LOOP
        IF _name ~ '^-|^$' OR length(_name) > 63 OR _name = ANY (group_by) THEN
            RAISE EXCEPTION '% cannot be the name of an aggregate', quote_literal(left(_name, 100))
            USING ERRCODE = 'RG004', HINT = 'use up to 63 characters without - in front, and no '
                'name of a group';
        END IF;
        IF jsonb_typeof(_wanted) <> 'object' OR NOT jsonb_path_exists(_wanted, 'strict $ ?
            (@.keyvalue().key == "count" || @.keyvalue().key == "count_distinct" ||
             @.keyvalue().key == "sum" || @.keyvalue().key == "avg" || @.keyvalue().key == "min" ||
             @.keyvalue().key == "max")') OR (
            SELECT count(*) <> 1 OR min(jsonb_typeof(w.value)) <> 'string'
                OR bool_or(w.key <> 'count' AND w.value = '"*"')
            FROM jsonb_each(CASE jsonb_typeof(_wanted) WHEN 'object' THEN _wanted END) AS w) THEN
            RAISE EXCEPTION 'aggregate % is %', quote_literal(_name), left(_wanted::text, 100)
            USING ERRCODE = 'RG004', HINT = 'use one of count, count_distinct, sum, avg, min and '
                'max, and what it is of: {"sum": "amount"}; {"count": "*"} counts all';
        END IF;
    END LOOP;
    PERFORM rag._check_filter_size('having_filter has', having_filter);
    PERFORM rag._having_filter(having_filter, aggregates, 1);
    FOREACH _name IN ARRAY order_by LOOP
        IF NOT (aggregates ? _name OR aggregates ? substr(_name, 2) AND starts_with(_name, '-')
            OR _name = ANY (group_by)
            OR starts_with(_name, '-') AND substr(_name, 2) = ANY (group_by)) THEN
            RAISE EXCEPTION 'order_by names %, which is no group and no aggregate',
                quote_literal(left(_name, 100))
            USING ERRCODE = 'RG004', HINT = 'there are: ' || array_to_string(
                ARRAY(SELECT unnest(group_by))
                || ARRAY(SELECT jsonb_object_keys(aggregates)), ', ');
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._check_aggregates IS
$$Error RG004 for aggregates, groups, a filter of groups or an order that are not as
rag.aggregate_documents describes them.$$;


CREATE OR REPLACE FUNCTION rag._having_filter(wanted jsonb, aggregates jsonb, depth integer)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _filter jsonb := '{}';
    _key text;
    _value jsonb;
BEGIN
    PERFORM rag._check_depth(depth);
    IF jsonb_typeof(wanted) = 'array' THEN
        RETURN (SELECT coalesce(jsonb_agg(rag._having_filter(a.value, aggregates, depth + 1)
                    ORDER BY a.position), '[]')
                FROM jsonb_array_elements(wanted) WITH ORDINALITY AS a (value, position));
    ELSIF jsonb_typeof(wanted) <> 'object' THEN
        RETURN wanted;
    END IF;
    FOR _key, _value IN SELECT o.key, o.value FROM jsonb_each(wanted) AS o LOOP
        IF aggregates ? _key THEN
            _filter := _filter || jsonb_build_object(rag._field_name(ARRAY[_key]), _value);
        ELSIF _key IN ('$and', '$or', '$not') THEN
            _filter := _filter || jsonb_build_object(_key,
                rag._having_filter(_value, aggregates, depth + 1));
        ELSE
            RAISE EXCEPTION 'having_filter names %, which is no aggregate',
                quote_literal(left(_key, 100))
            USING ERRCODE = 'RG004', HINT = coalesce('the aggregates: ' || (
                SELECT string_agg(a.key, ', ' ORDER BY a.key)
                FROM jsonb_object_keys(aggregates) AS a (key)), 'there are none');
        END IF;
    END LOOP;
    RETURN _filter;
END
$$;

COMMENT ON FUNCTION rag._having_filter IS
$$A filter over the names of aggregates as one over metadata, where a dot in a name is escaped.
aggregates: an object with these names. Error RG004 for any other name.$$;


CREATE OR REPLACE FUNCTION rag._group_sql(expression text, type text, part text)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _value text := CASE type WHEN 'jsonb' THEN 'nullif(e.value, ''null'')' ELSE expression END;
BEGIN
    IF part IS NOT NULL THEN
        _value := format('rag._date_part(%L, %s)', part, CASE type
            WHEN 'jsonb' THEN 'rag._as_timestamptz(e.value) AT TIME ZONE ''UTC'''
            WHEN 'timestamptz' THEN format('(%s) AT TIME ZONE ''UTC''', expression)
            ELSE format('(%s)::timestamp', expression) END);
    END IF;
    RETURN CASE type WHEN 'jsonb' THEN format(
        '(SELECT DISTINCT %s AS value FROM jsonb_array_elements(CASE jsonb_typeof(%s)'
        ' WHEN ''array'' THEN %2$s ELSE jsonb_build_array(%2$s) END) AS e (value))',
        _value, expression)
        ELSE format('(SELECT %s AS value)', _value) END;
END
$$;

COMMENT ON FUNCTION rag._group_sql IS
$$A subquery with the values of a term, or of a date part of it, of one row.$$;


CREATE OR REPLACE FUNCTION rag._aggregate_expression(function_name text, expression text, type text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN expression IS NULL THEN 'count(*)'
    WHEN type <> 'jsonb' AND function_name = 'count_distinct'
        THEN format('count(DISTINCT %s)', expression)
    WHEN type = 'boolean' AND function_name IN ('min', 'max') THEN format('%s(%s)',
        CASE function_name WHEN 'min' THEN 'bool_and' ELSE 'bool_or' END, expression)
    WHEN type <> 'jsonb' THEN format('%I(%s)', function_name, expression)
    WHEN function_name = 'count' THEN format('count(nullif(%s, ''null''))', expression)
    WHEN function_name = 'count_distinct'
        THEN format('rag._count_distinct(array_agg(DISTINCT (%s)::text COLLATE "C"))', expression)
    WHEN function_name IN ('sum', 'avg')
        THEN format('trim_scale(%s(rag._as_numeric(%s)))', function_name, expression)
    ELSE format(
        'CASE WHEN count(rag._as_numeric(%1$s)) > 0 THEN to_jsonb(%2$s(rag._as_numeric(%1$s)))'
        ' WHEN count(rag._as_text(%1$s)) > count(rag._as_timestamptz(%1$s))'
        ' THEN to_jsonb(%2$s(rag._as_text(%1$s) COLLATE "C"))'
        ' WHEN count(rag._as_text(%1$s)) > 0'
        ' THEN rag._date_value(%2$s(rag._as_timestamptz(%1$s)))'
        ' ELSE to_jsonb(%3$s(rag._as_boolean(%1$s))) END',
        expression, function_name, CASE function_name WHEN 'min' THEN 'bool_and' ELSE 'bool_or' END)
    END;

COMMENT ON FUNCTION rag._aggregate_expression IS
$$The SQL of an aggregate of a term; of rows where there is no term.

The least and the greatest JSON value: of the numbers where there are any; else of the texts, as
dates where all of them are ISO dates; else of the booleans.$$;


CREATE OR REPLACE FUNCTION rag._result_value(expression text, type text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE type WHEN 'timestamptz' THEN format('to_jsonb(rag._utc_text(%s))', expression)
    WHEN 'enum' THEN format('to_jsonb(enum_out(%s)::text)', expression)
    ELSE format('to_jsonb(%s)', expression) END;

COMMENT ON FUNCTION rag._result_value IS
$$The SQL of a value as results show it, in JSON.$$;


CREATE OR REPLACE FUNCTION rag._object_sql(names text[], value_sqls text[])
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    -- a call takes 100 arguments at most
    RETURN (
        SELECT coalesce(string_agg(format('jsonb_build_object(%s)', b.pairs), ' || '
            ORDER BY b.block), '''{}''::jsonb')
        FROM (SELECT p.position / 40 AS block,
                  string_agg(format('%L, %s', p.name, p.value_sql), ', ' ORDER BY p.position)
                      AS pairs
              FROM unnest(names, value_sqls) WITH ORDINALITY AS p (name, value_sql, position)
              GROUP BY 1) AS b);
END
$$;

COMMENT ON FUNCTION rag._object_sql IS
$$The SQL of a JSON object with these names and values.$$;


CREATE OR REPLACE FUNCTION rag._order_sql(expression text, type text, descending boolean)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT string_agg(k.key || CASE WHEN descending THEN ' DESC' ELSE '' END || ' NULLS LAST', ', '
        ORDER BY k.position)
    FROM unnest(CASE type WHEN 'jsonb' THEN ARRAY[
        format('rag._as_numeric(%s)', expression),
        format('rag._as_text(%s) COLLATE "C"', expression),
        format('rag._as_boolean(%s)', expression)] ELSE ARRAY[expression] END)
        WITH ORDINALITY AS k (key, position));

COMMENT ON FUNCTION rag._order_sql IS
$$An ORDER BY of a term: JSON by its numbers, then texts by code point, then booleans. What has no
place in the order comes last.$$;


CREATE OR REPLACE FUNCTION rag._aggregate_sql(
    source text, condition text, groups jsonb, aggregates jsonb, having_filter jsonb,
    order_by text[], result_limit integer)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _terms jsonb;    -- groups and aggregates: name, column, sql, type
    _order text;
BEGIN
    SELECT jsonb_agg(t.term ORDER BY t.kind DESC, t.position) INTO _terms
    FROM (
        SELECT 'group' AS kind, g.position, jsonb_build_object(
            'name', g.term -> 'name', 'column', format('g%s', g.position),
            'sql', format('m%s.value', g.position),
            'type', CASE WHEN g.term ->> 'part' IS NULL THEN g.term ->> 'type' ELSE 'jsonb' END)
            AS term
        FROM jsonb_array_elements(groups) WITH ORDINALITY AS g (term, position)
        UNION ALL
        SELECT 'aggregate', a.position, jsonb_build_object(
            'name', a.term -> 'name', 'column', format('a%s', a.position),
            'sql', rag._aggregate_expression(a.term ->> 'function', a.term ->> 'expression',
                a.term ->> 'type'),
            'type', CASE WHEN a.term ->> 'function' IN ('min', 'max') THEN a.term ->> 'type' END)
        FROM jsonb_array_elements(aggregates) WITH ORDINALITY AS a (term, position)) AS t;
    SELECT string_agg(rag._order_sql('c.' || (k.term ->> 'column'), k.term ->> 'type',
        k.descending), ', ' ORDER BY k.position)
    INTO _order
    FROM (
        SELECT o.position, t.term, t.term ->> 'name' <> o.name AS descending
        FROM unnest(order_by) WITH ORDINALITY AS o (name, position)
        JOIN jsonb_array_elements(_terms) AS t (term)
            ON t.term ->> 'name' = CASE
                WHEN jsonb_path_exists(_terms, '$[*] ? (@.name == $n)',
                    jsonb_build_object('n', o.name)) THEN o.name ELSE substr(o.name, 2) END
        UNION ALL
        SELECT 100 + t.position, t.term, false
        FROM jsonb_array_elements(_terms) WITH ORDINALITY AS t (term, position)
        WHERE starts_with(t.term ->> 'column', 'g')) AS k;
    RETURN format(
        'SELECT c.metadata FROM (SELECT %s AS metadata, t.* FROM (SELECT %s FROM %s%s WHERE %s%s)'
        ' AS t) AS c WHERE %s%s LIMIT %s',
        (SELECT rag._object_sql(array_agg(t.term ->> 'name'),
            array_agg(rag._result_value('t.' || (t.term ->> 'column'), t.term ->> 'type')))
         FROM jsonb_array_elements(_terms) AS t (term)),
        (SELECT string_agg(format('%s AS %s', t.term ->> 'sql', t.term ->> 'column'), ', ')
         FROM jsonb_array_elements(_terms) AS t (term)),
        source,
        (SELECT string_agg(format(' LEFT JOIN LATERAL %s AS m%s ON true',
            rag._group_sql(g.term ->> 'expression', g.term ->> 'type', g.term ->> 'part'),
            g.position), '' ORDER BY g.position)
         FROM jsonb_array_elements(groups) WITH ORDINALITY AS g (term, position)),
        condition,
        (SELECT ' GROUP BY ' || string_agg(format('m%s.value', g), ', ')
         FROM generate_series(1, jsonb_array_length(groups)) AS g),
        coalesce((rag._compile_filter(NULL, rag._having_filter(having_filter, (
            SELECT coalesce(jsonb_object_agg(a.term ->> 'name', true), '{}')
            FROM jsonb_array_elements(aggregates) AS a (term)), 1))).condition, 'true'),
        ' ORDER BY ' || _order, result_limit);
END
$$;

COMMENT ON FUNCTION rag._aggregate_sql IS
$$The query of aggregates: one JSON object per group.

source: a FROM item with alias c; condition: trusted SQL on it. groups: terms as [{name, expression,
type, part}], aggregates as [{name, function, expression, type}], without an expression of rows.
having_filter, order_by: as rag._check_aggregates has let them pass. Equal places go by the
groups.$$;
