-- A question to an exposed view: rows, or aggregates, with the rights of the caller.

CREATE OR REPLACE FUNCTION rag._view_row_sql(
    source text, condition text, columns jsonb, names text[], order_by text[], result_limit integer)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _name text;
    _term record;
    _descending boolean;
    _values text[] := '{}';
    _order text[] := '{}';
    _ties text[] := '{}';
BEGIN
    FOREACH _name IN ARRAY names LOOP
        _term := rag._view_term(columns, _name);
        _values := _values || rag._result_value(_term.expression, _term.type);
        _ties := _ties || rag._order_sql(_term.expression, _term.type, false);
    END LOOP;
    FOREACH _name IN ARRAY order_by LOOP
        _descending := starts_with(_name, '-') AND columns -> _name IS NULL;
        _term := rag._view_term(columns, substr(_name, 1 + _descending::integer));
        _order := _order || rag._order_sql(_term.expression, _term.type, _descending);
    END LOOP;
    RETURN format('SELECT %s FROM %s WHERE %s%s LIMIT %s', rag._object_sql(names, _values), source,
        condition, ' ORDER BY ' || nullif(array_to_string(
            CASE WHEN cardinality(_order) > 0 THEN _order || _ties END, ', '), ''), result_limit);
END
$$;

COMMENT ON FUNCTION rag._view_row_sql IS
$$The query of rows: a JSON object of the named columns for each. Equal places go by these columns;
without an order there is none.$$;


CREATE OR REPLACE FUNCTION rag._view_aggregate_sql(
    source text, condition text, columns jsonb, aggregates jsonb, group_by text[],
    having_filter jsonb, order_by text[], result_limit integer)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _groups jsonb := '[]';
    _aggregates jsonb := '[]';
    _name text;
    _function text;
    _of text;
    _part record;
    _term record;
BEGIN
    PERFORM rag._check_aggregates(aggregates, group_by, having_filter, order_by);
    FOREACH _name IN ARRAY group_by LOOP
        IF columns ? _name THEN
            SELECT _name AS field, NULL::text AS part INTO _part;
        ELSE
            _part := rag._split_date_part(_name);
        END IF;
        _term := rag._view_term(columns, _part.field);
        IF _part.part IS NOT NULL
            AND _term.type NOT IN ('jsonb', 'date', 'timestamp', 'timestamptz') THEN
            RAISE EXCEPTION '% has no %: it is no date', quote_literal(_part.field), _part.part
            USING ERRCODE = 'RG004', HINT = 'name a column of dates';
        END IF;
        _groups := _groups || jsonb_build_object('name', _name, 'expression', _term.expression,
            'type', _term.type, 'part', _part.part);
    END LOOP;
    FOR _name, _function, _of IN
        SELECT a.key, f.key, f.value
        FROM jsonb_each(aggregates) AS a, jsonb_each_text(a.value) AS f
    LOOP
        IF _function = 'count' AND _of = '*' THEN
            _aggregates := _aggregates || jsonb_build_object('name', _name);
            CONTINUE;
        END IF;
        _term := rag._view_term(columns, _of);
        PERFORM rag._check_term(_of, _function, CASE
            WHEN _term.type = 'integer' OR _term.base_type IN ('interval', 'money') THEN 'numeric'
            ELSE _term.type END);
        IF _function IN ('min', 'max') AND (_term.kind = 'other' OR _term.kind = 'native'
            AND to_regprocedure(format('pg_catalog.min(%I)', _term.base_type)) IS NULL) THEN
            RAISE EXCEPTION '% has no %: its type has no order', quote_literal(left(_of, 100)),
                _function
            USING ERRCODE = 'RG004', HINT = 'use count or count_distinct, or cast it in the view';
        END IF;
        _aggregates := _aggregates || jsonb_build_object('name', _name, 'function', _function,
            'expression', _term.expression, 'type', _term.type);
    END LOOP;
    RETURN rag._aggregate_sql(source, condition, _groups, _aggregates, having_filter, order_by,
        result_limit);
END
$$;

COMMENT ON FUNCTION rag._view_aggregate_sql IS
$$The query of aggregates over the columns of a view.$$;


CREATE OR REPLACE FUNCTION rag._run_view_query(view_name text, query_sql text, bound text[])
RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    -- Until the end of this block, which is a subtransaction, nothing can be written: neither by
    -- functions in the view's definition nor by those that they call.
    PERFORM set_config('transaction_read_only', 'on', true);
    RETURN QUERY EXECUTE query_sql USING bound;
EXCEPTION
    WHEN insufficient_privilege THEN
        RAISE EXCEPTION 'permission denied for what view % reads', quote_literal(view_name)
        USING ERRCODE = '42501', HINT = 'its owner grants SELECT on the tables below, or makes the '
            'view without security_invoker';
    WHEN read_only_sql_transaction THEN
        RAISE EXCEPTION 'view % writes when it is read', quote_literal(view_name)
        USING ERRCODE = 'RG004', HINT = 'its owner takes the volatile function out of it';
    WHEN OTHERS THEN
        IF left(SQLSTATE, 2) IN ('40', '53', '57', '58', 'XX') THEN
            RAISE;
        END IF;
        -- not the message, which may hold a value of a row that the caller may not see
        RAISE EXCEPTION 'view % could not be read: SQLSTATE %', quote_literal(view_name), SQLSTATE
        USING ERRCODE = 'RG004', HINT = 'ask for less of it, or its owner selects it to see why';
END
$$;

COMMENT ON FUNCTION rag._run_view_query IS
$$Run a query of a view that rag.query_view has made, reading only. What goes wrong in the view is
error RG004 with its SQLSTATE, and 42501 where the caller may not read what it reads.$$;


CREATE OR REPLACE FUNCTION rag._view_timeout(wanted text)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _present interval := current_setting('statement_timeout')::interval;
BEGIN
    RETURN (extract(epoch FROM coalesce(least(nullif(_present, '0'), (
        SELECT v.timeout FROM rag.exposed_views AS v WHERE v.name = wanted)), '0')) * 1000)::bigint;
END
$$;

COMMENT ON FUNCTION rag._view_timeout IS
$$The statement_timeout for a query of a view, in milliseconds: the view's, or the session's where
that is shorter. A client sets it in the same transaction, before the query.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag.query_view(
    name text,
    columns text[] DEFAULT NULL,
    filter jsonb DEFAULT '{}',
    aggregates jsonb DEFAULT NULL,
    group_by text[] DEFAULT '{}',
    having_filter jsonb DEFAULT '{}',
    order_by text[] DEFAULT '{}',
    result_limit integer DEFAULT NULL)
RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET IntervalStyle = postgres
SET bytea_output = hex
SET lc_monetary = 'C'
AS $$
DECLARE
    _view rag.exposed_views := rag._require_view(query_view.name);
    _columns jsonb;   -- those that the caller may read, by name
    _names text[];
    _filter record;
    _source text := format('%I.%I AS c', _view.schema_name, _view.view_name);
    _limit integer := coalesce(result_limit, _view.max_rows);
    _aggregated boolean;
BEGIN
    PERFORM rag._check_range('limit', _limit, 1, _view.max_rows);
    PERFORM rag._check_query(NULL, _limit, filter);
    PERFORM rag._check_filter_size('the filter has', filter);
    PERFORM rag._check_names('group_by', group_by, 8);
    PERFORM rag._check_names('order_by', order_by, 16);
    SELECT jsonb_object_agg(e.name, to_jsonb(e)), array_agg(e.name) INTO _columns, _names
    FROM rag._exposed_columns(rag._view_relation(_view.schema_name, _view.view_name), _view.columns)
        AS e
    WHERE e.readable;
    IF _columns IS NULL THEN
        RAISE EXCEPTION 'permission denied for view %', quote_literal(_view.name)
        USING ERRCODE = '42501', HINT = 'its owner grants SELECT on the exposed columns';
    END IF;
    _filter := rag._compile_object(NULL, _columns, filter, 1, '{}');
    _aggregated := aggregates IS NOT NULL OR cardinality(group_by) > 0;
    IF _aggregated AND columns IS NOT NULL
        OR NOT _aggregated AND having_filter IS DISTINCT FROM '{}' THEN
        RAISE EXCEPTION '% has no meaning here', CASE WHEN _aggregated THEN 'columns'
            ELSE 'having_filter' END
        USING ERRCODE = 'RG004', HINT = 'columns are of rows; group_by and having_filter of '
            'aggregates';
    END IF;
    IF _aggregated THEN
        RETURN QUERY SELECT r FROM rag._run_view_query(_view.name, rag._view_aggregate_sql(_source,
            _filter.condition, _columns, coalesce(aggregates, '{}'), group_by, having_filter,
            order_by, _limit), _filter.bound) AS r;
    ELSE
        IF columns IS NOT NULL THEN
            PERFORM rag._check_names('columns', columns, 1600);
            _names := columns;
        END IF;
        RETURN QUERY SELECT r FROM rag._run_view_query(_view.name, rag._view_row_sql(_source,
            _filter.condition, _columns, _names, order_by, _limit), _filter.bound) AS r;
    END IF;
END
$$;

COMMENT ON FUNCTION rag.query_view IS
$$Rows of a view, or aggregates over them.
Each a JSON object, with the rights of the caller: its grants on columns and the row-level security
of tables hold.

name: as in rag.list_views. columns: those to return, NULL all that are exposed to the caller; no
other can be named anywhere. filter: the language of metadata filters over columns, {"total":
{"$gte": 100}}; values are compared as the column's type and collation do, and are bound, never
written into the query; NULL is found by {"total": null} and by {"$exists": false}. A dotted path
leads into a column of json. aggregates, group_by, having_filter: as in rag.aggregate_documents.
order_by: columns, or names of groups and aggregates; "-total" descends; NULL comes last; without it
rows come in no particular order. result_limit: 1 to the view's max_rows, which is the default.
Nothing can be written meanwhile, not even by a function in the view's definition. Points in time
are returned in UTC. The view's timeout is set by the client: a function cannot limit the statement
that it runs in.
Errors: RG002 no such view, or none that the caller may read; RG006 the view is not what was
exposed; RG004 what is wrong with an argument; 42501 the caller may not read what the view reads.
Circle: application, Views.
SELECT rag.query_view(name, result_limit => 1) FROM rag.list_views()$$;
