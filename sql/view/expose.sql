-- Views of the application's own tables are exposed to questions, and hidden again.

CREATE OR REPLACE FUNCTION rag._view_functions(relation oid)
RETURNS oid[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    -- pg_depend leaves out PostgreSQL's own functions, such as nextval
    RETURN ARRAY(
        SELECT DISTINCT m.found[1]::oid
        FROM pg_rewrite AS r,
        LATERAL regexp_matches(r.ev_action::text,
            ':(?:funcid|opfuncid|aggfnoid|winfnoid) ([0-9]+)', 'g') AS m (found)
        WHERE r.ev_class = relation AND m.found[1] <> '0');
END
$$;

COMMENT ON FUNCTION rag._view_functions IS
$$The functions that the definition of a view calls, PostgreSQL's own included.$$;


CREATE OR REPLACE FUNCTION rag._view_sources(relation oid)
RETURNS TABLE (source oid, by_owner boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE below AS (
        SELECT c.oid, c.relkind, false AS by_owner,
            rag._reads_as_owner(c.relkind, c.reloptions) AS owners
        FROM pg_class AS c WHERE c.oid = relation
        UNION
        SELECT c.oid, c.relkind, b.owners OR b.by_owner,
            rag._reads_as_owner(c.relkind, c.reloptions)
        FROM below AS b
        JOIN pg_rewrite AS r ON r.ev_class = b.oid
        JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
            AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> b.oid
        JOIN pg_class AS c ON c.oid = d.refobjid AND c.relkind IN ('v', 'm', 'r', 'p', 'f')
    )
    SELECT b.oid, bool_or(b.by_owner) FROM below AS b GROUP BY b.oid;
END
$$;

COMMENT ON FUNCTION rag._view_sources IS
$$A view and what it reads, at any depth; by_owner: with the rights of a view's owner.$$;


CREATE OR REPLACE FUNCTION rag._view_warnings(relation oid)
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(
        SELECT format('it reads %s with the rights of the view''s owner, so the policies there do '
            'not hold for callers: create it WITH (security_invoker = true)',
            string_agg(rag._table_name(s.source), ', ' ORDER BY rag._table_name(s.source)))
        FROM rag._view_sources(relation) AS s JOIN pg_class AS c ON c.oid = s.source
        WHERE s.by_owner AND c.relrowsecurity
        HAVING count(*) > 0
        UNION ALL
        SELECT format('its definition calls %s, which is volatile: rag.query_view lets it write '
            'nothing, and it runs once per row or oftener', f.name)
        FROM (SELECT string_agg(DISTINCT p.oid::regprocedure::text, ', ') AS name
              FROM rag._view_sources(relation) AS s,
              LATERAL unnest(rag._view_functions(s.source)) AS u (function_oid)
              JOIN pg_proc AS p ON p.oid = u.function_oid AND p.provolatile = 'v') AS f
        WHERE f.name IS NOT NULL
        UNION ALL
        SELECT format('its definition calls %s, which runs with the rights of its owner (SECURITY '
            'DEFINER)', f.name)
        FROM (SELECT string_agg(DISTINCT p.oid::regprocedure::text, ', ') AS name
              FROM rag._view_sources(relation) AS s,
              LATERAL unnest(rag._view_functions(s.source)) AS u (function_oid)
              JOIN pg_proc AS p ON p.oid = u.function_oid AND p.prosecdef) AS f
        WHERE f.name IS NOT NULL);
END
$$;

COMMENT ON FUNCTION rag._view_warnings IS
$$What one should know before a view is exposed: policies that do not hold, functions that are
volatile or SECURITY DEFINER.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag.expose_view(
    view text,
    description text,
    name text DEFAULT NULL,
    columns text[] DEFAULT NULL,
    column_descriptions jsonb DEFAULT '{}',
    max_rows integer DEFAULT 100,
    timeout interval DEFAULT '5 seconds')
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _parts text[];
    _relation oid;
    _name text;
    _description text;
    _columns jsonb;
    _wrong text;
    _warning text;
BEGIN
    BEGIN
        _parts := parse_ident(view);
    EXCEPTION WHEN invalid_parameter_value THEN
        _parts := '{}';
    END;
    IF cardinality(_parts) IS DISTINCT FROM 2 THEN
        RAISE EXCEPTION '% is no name of a view', coalesce(quote_literal(left(view, 100)), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'write it with its schema, e.g. public.orders';
    END IF;
    _relation := rag._view_relation(_parts[1], _parts[2]);
    IF _relation IS NULL THEN
        RAISE EXCEPTION 'there is no view %', quote_literal(left(view, 100))
        USING ERRCODE = 'RG002', HINT = 'name a view, a materialized view or a table';
    ELSIF _parts[1] IN ('rag', 'information_schema') OR starts_with(_parts[1], 'pg_') THEN
        RAISE EXCEPTION 'view % is in schema %', quote_literal(left(view, 100)), _parts[1]
        USING ERRCODE = 'RG001', HINT = 'expose views of the application''s own tables';
    END IF;
    _name := coalesce(expose_view.name, _parts[2]);
    IF _name !~ '^[A-Za-z_][A-Za-z0-9_]{0,62}$' THEN
        RAISE EXCEPTION '% cannot be the name of an exposed view', quote_literal(left(_name, 100))
        USING ERRCODE = 'RG001', HINT = 'give it name => letters, digits and underscores, 63 at '
            'most';
    END IF;
    _description := coalesce(nullif(btrim(expose_view.description), ''),
        obj_description(_relation, 'pg_class'));
    IF _description IS NULL OR length(_description) > 4000 THEN
        RAISE EXCEPTION 'the description has % characters', coalesce(length(_description), 0)
        USING ERRCODE = 'RG001', HINT = 'say in up to 4000 what one row is and what it is good for';
    ELSIF max_rows IS NULL OR max_rows NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'max_rows % is out of range', coalesce(max_rows::text, 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 1 to 1000';
    ELSIF timeout IS NULL OR timeout NOT BETWEEN '10 milliseconds' AND '1 hour' THEN
        RAISE EXCEPTION 'timeout % is out of range', coalesce(timeout::text, 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 10 milliseconds to 1 hour';
    ELSIF jsonb_typeof(column_descriptions) IS DISTINCT FROM 'object' OR jsonb_path_exists(
        column_descriptions, 'strict $.keyvalue().value ? (@.type() != "string")') THEN
        RAISE EXCEPTION 'column_descriptions is no JSON object of texts'
        USING ERRCODE = 'RG001', HINT = 'for example {"total": "in euros, with tax"}';
    ELSIF cardinality(columns) = 0 OR EXISTS (
        SELECT FROM unnest(columns) AS n (name) GROUP BY n.name
        HAVING n.name IS NULL OR count(*) > 1) THEN
        RAISE EXCEPTION 'columns names none, one twice, or NULL'
        USING ERRCODE = 'RG001', HINT = 'name each column to expose once; NULL: all of them';
    END IF;
    SELECT string_agg(quote_ident(left(w.name, 100)), ', ') INTO _wrong
    FROM (SELECT n.name FROM unnest(columns) AS n (name)
          UNION SELECT k FROM jsonb_object_keys(column_descriptions) AS k
          EXCEPT SELECT v.name FROM rag._view_columns(_relation) AS v) AS w;
    IF _wrong IS NOT NULL THEN
        RAISE EXCEPTION 'view % has no column %', quote_literal(view), _wrong
        USING ERRCODE = 'RG001', HINT = 'its columns: ' || (
            SELECT string_agg(quote_ident(v.name), ', ') FROM rag._view_columns(_relation) AS v);
    END IF;
    SELECT string_agg(format('%I (%s)', v.name, v.type), ', ') INTO _wrong
    FROM rag._view_columns(_relation) AS v
    WHERE v.kind IS NULL AND v.name = ANY (coalesce(columns, ARRAY[v.name]));
    IF _wrong IS NOT NULL THEN
        RAISE EXCEPTION 'view % has columns of types that are not PostgreSQL''s own: %',
            quote_literal(view), _wrong
        USING ERRCODE = 'RG001', HINT = 'cast them in the view, e.g. to text or jsonb, or name the '
            'columns to expose';
    END IF;
    SELECT string_agg(quote_ident(v.name), ', ') INTO _wrong
    FROM rag._view_columns(_relation) AS v
    WHERE NOT v.readable AND v.name = ANY (coalesce(columns, ARRAY[v.name]));
    IF _wrong IS NOT NULL OR NOT rag._may_read(_relation) THEN
        RAISE EXCEPTION 'permission denied for view %', view
        USING ERRCODE = '42501', HINT = 'whoever exposes a view may read it' || coalesce(
            '; not ' || _wrong, '');
    END IF;
    SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('name', v.name, 'type', v.type,
        'description', coalesce(column_descriptions ->> v.name,
            col_description(_relation, a.attnum)))) ORDER BY a.attnum)
    INTO _columns
    FROM rag._view_columns(_relation) AS v
    JOIN pg_attribute AS a ON a.attrelid = _relation AND a.attname = v.name
    WHERE v.name = ANY (coalesce(columns, ARRAY[v.name]));
    IF _columns IS NULL THEN
        RAISE EXCEPTION 'view % has no columns', quote_literal(view)
        USING ERRCODE = 'RG001', HINT = 'expose one that has';
    END IF;
    INSERT INTO rag.exposed_views AS e (name, schema_name, view_name, description, columns,
        max_rows, timeout, fingerprint)
    VALUES (_name, _parts[1], _parts[2], _description, _columns, expose_view.max_rows,
        expose_view.timeout, rag._view_fingerprint(_relation, _columns))
    ON CONFLICT ON CONSTRAINT exposed_views_pkey DO UPDATE SET
        schema_name = excluded.schema_name, view_name = excluded.view_name,
        description = excluded.description, columns = excluded.columns,
        max_rows = excluded.max_rows, timeout = excluded.timeout,
        fingerprint = excluded.fingerprint, exposed_at = excluded.exposed_at;
    FOREACH _warning IN ARRAY rag._view_warnings(_relation) LOOP
        RAISE WARNING 'view %: %', view, _warning;
    END LOOP;
    RETURN _name;
END
$$;

COMMENT ON FUNCTION rag.expose_view IS
$$Let questions be put to a view of your own tables.
To a materialized view or a table too, by rag.query_view; what had that name before is replaced.
Returns the name.

view: with its schema. description: what one row is, for those who ask and for models; NULL or
empty: the view's own comment. name: NULL is that of the view. columns: those to expose, NULL all of
now.
column_descriptions: {"total": "in euros"}; otherwise the comments of the columns. max_rows: 1 to
1000 rows or groups per query. timeout: per query, set by the client; 10 milliseconds to 1 hour.
It takes INSERT and UPDATE on rag.exposed_views, which is the owner's, and the right to read the
view itself (else 42501). It grants nothing: each caller needs SELECT on the view, and USAGE on its
schema. A WARNING tells of policies that do not hold for callers, and of functions that are volatile
or SECURITY DEFINER.
Types: PostgreSQL's own, enums, domains and arrays of them; others are cast in the view (error
RG001).
Circle: application, Views.
SELECT rag.expose_view('app.titles', 'An article')$$;


CREATE OR REPLACE FUNCTION rag.hide_view(name text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    DELETE FROM rag.exposed_views AS e WHERE e.name = hide_view.name;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION rag.hide_view IS
$$Let no more questions be put to a view. False when there was none of that name.
Circle: application, Views.
SELECT rag.hide_view('titles')$$;
