-- Exposed views: which there are, and whether they are still what was exposed.

CREATE OR REPLACE FUNCTION rag._view_relation(schema_name text, view_name text)
RETURNS oid
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    -- not to_regclass, which fails where the caller may not look into the schema
    RETURN (
        SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = schema_name AND c.relname = view_name
            AND c.relkind IN ('v', 'm', 'r', 'p', 'f'));
END
$$;

COMMENT ON FUNCTION rag._view_relation IS
$$The view, materialized view or table of that name; NULL where there is none.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._view_fingerprint(relation oid, exposed jsonb)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET quote_all_identifiers = off
AS $$
BEGIN
    RETURN (
        SELECT encode(sha256(convert_to(string_agg(concat_ws(E'\n', c.relkind, c.reloptions::text,
            CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid)
                -- of a table: where the exposed columns stand
                ELSE (SELECT string_agg(format('%s %s', a.position, a.attname), E'\n'
                          ORDER BY a.position)
                      FROM (SELECT t.attname, row_number() OVER (ORDER BY t.attnum) AS position
                            FROM pg_attribute AS t
                            WHERE t.attrelid = c.oid AND t.attnum > 0 AND NOT t.attisdropped) AS a
                      WHERE exposed @> jsonb_build_array(jsonb_build_object('name', a.attname)))
                END),
            E'\n' ORDER BY c.oid <> relation, rag._table_name(c.oid) COLLATE "C"), 'UTF8')), 'hex')
        FROM rag._view_sources(relation) AS s
        JOIN pg_class AS c ON c.oid = s.source
        WHERE c.oid = relation OR c.relkind IN ('v', 'm'));
END
$$;

COMMENT ON FUNCTION rag._view_fingerprint IS
$$What a relation is, as a digest: it changes when the definition or an option of a view does, or of
a view that it reads, or when another column of a table gets the name of an exposed one.

exposed: the columns as [{"name"}, …].$$;


CREATE OR REPLACE FUNCTION rag._reads_as_owner(kind "char", options text[])
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN kind = 'm' OR kind = 'v' AND NOT EXISTS (
    SELECT FROM pg_options_to_table(options) AS o
    WHERE o.option_name = 'security_invoker' AND o.option_value::boolean);

COMMENT ON FUNCTION rag._reads_as_owner IS
$$Whether a view reads with the rights of its owner: it has no security_invoker, or is materialized.
$$;


CREATE OR REPLACE FUNCTION rag._may_read(relation oid)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT has_schema_privilege(c.relnamespace, 'USAGE')
            AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
        FROM pg_class AS c WHERE c.oid = relation);
END
$$;

COMMENT ON FUNCTION rag._may_read IS
$$Whether the caller may read any column of a relation.$$;


CREATE OR REPLACE FUNCTION rag._exposed_columns(relation oid, exposed jsonb)
RETURNS TABLE (
    name text, type text, description text, kind text, base_type text, labels text[],
    was text, readable boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT e.item ->> 'name', v.type, e.item ->> 'description', v.kind, v.base_type, v.labels,
        e.item ->> 'type', v.readable
    FROM jsonb_array_elements(exposed) WITH ORDINALITY AS e (item, position)
    LEFT JOIN rag._view_columns(relation) AS v ON v.name = e.item ->> 'name'
    ORDER BY e.position;
END
$$;

COMMENT ON FUNCTION rag._exposed_columns IS
$$The exposed columns of a view as they are now, with the type that each had when it was exposed.$$;


CREATE OR REPLACE FUNCTION rag._view_problem(schema_name text, view_name text, exposed jsonb,
    fingerprint text)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _relation oid := rag._view_relation(schema_name, view_name);
    _column record;
BEGIN
    IF _relation IS NULL THEN
        RETURN format('%I.%I is gone or renamed', schema_name, view_name);
    END IF;
    SELECT c.* INTO _column FROM rag._exposed_columns(_relation, exposed) AS c
    WHERE c.type IS DISTINCT FROM c.was LIMIT 1;
    IF FOUND THEN
        RETURN format('column %I of %I.%I is %s', _column.name, schema_name, view_name,
            coalesce('of type ' || _column.type || ', and was ' || _column.was,
                'gone or renamed'));
    ELSIF rag._view_fingerprint(_relation, exposed) <> fingerprint THEN
        RETURN format('the definition of %I.%I, or of what it reads, is another one', schema_name,
            view_name);
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION rag._view_problem IS
$$How a view differs from what was exposed; NULL: it does not.$$;


CREATE OR REPLACE FUNCTION rag._require_view(wanted text)
RETURNS rag.exposed_views
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.exposed_views;
    _problem text;
BEGIN
    SELECT v.* INTO _found FROM rag.exposed_views AS v WHERE v.name = wanted;
    IF _found.name IS NULL
        OR NOT rag._may_read(rag._view_relation(_found.schema_name, _found.view_name)) THEN
        RAISE EXCEPTION 'there is no view %', coalesce(quote_literal(left(wanted, 100)), 'NULL')
        USING ERRCODE = 'RG002', HINT = coalesce('views here: ' || (
            SELECT string_agg(l.name, ', ' ORDER BY l.name) FROM rag.list_views() AS l),
            'none is exposed to you: see rag.expose_view');
    END IF;
    _problem := rag._view_problem(_found.schema_name, _found.view_name, _found.columns,
        _found.fingerprint);
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION 'view % is not what was exposed: %', quote_literal(wanted), _problem
        USING ERRCODE = 'RG006', HINT = 'its owner looks at it and calls rag.expose_view again, or '
            'rag.hide_view';
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._require_view IS
$$The exposed view of that name, or error RG002 where there is none that the caller may read, RG006
where it is not what was exposed.$$;


CREATE OR REPLACE FUNCTION rag.list_views()
RETURNS TABLE (
    name text, description text, columns jsonb, max_rows integer, timeout interval, rights text,
    problem text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _owner boolean := has_table_privilege('rag.exposed_views', 'INSERT');
BEGIN
    RETURN QUERY
    SELECT v.name, v.description, coalesce((
            SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('name', e.name, 'type', e.type,
                'description', e.description, 'labels', e.labels)))
            FROM rag._exposed_columns(c.oid, v.columns) AS e WHERE e.readable), '[]'),
        v.max_rows, v.timeout,
        CASE WHEN rag._reads_as_owner(c.relkind, c.reloptions) THEN 'owner' ELSE 'caller' END,
        rag._view_problem(v.schema_name, v.view_name, v.columns, v.fingerprint)
    FROM rag.exposed_views AS v
    LEFT JOIN pg_class AS c ON c.oid = rag._view_relation(v.schema_name, v.view_name)
    WHERE CASE WHEN c.oid IS NULL THEN _owner ELSE rag._may_read(c.oid) END
    ORDER BY v.name COLLATE "C";
END
$$;

COMMENT ON FUNCTION rag.list_views IS
$$The exposed views and their columns.

The exposed views that the caller may read, by name, with the columns that it may read:
[{"name", "type", "description", "labels" of an enum}].

rights: by whose the tables below are read: the caller's, or those of the view's owner (views
without security_invoker, materialized views). problem: how the view differs from what was exposed,
which rag.query_view refuses; NULL when it does not. Views that are gone are shown to those who may
expose views. timeout: the client sets it for each query; in SQL set statement_timeout yourself.
Circle: application, Views.
SELECT name, description FROM rag.list_views()$$;
