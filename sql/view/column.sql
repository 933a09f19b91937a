-- Columns of an exposed view: what kind of value each holds, and which of them the caller may read.

CREATE OR REPLACE FUNCTION rag._column_kind(of_type oid)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _type pg_type;
BEGIN
    SELECT y.* INTO _type FROM pg_type AS y WHERE y.oid = of_type;
    IF _type.typtype = 'd' THEN
        RETURN rag._column_kind(_type.typbasetype);
    ELSIF _type.typtype = 'e' THEN
        RETURN 'enum';
    ELSIF _type.typcategory = 'A' AND _type.typelem <> 0 AND _type.typlen = -1 THEN
        RETURN (SELECT CASE WHEN e.kind = 'enum' THEN 'enum[]' WHEN e.kind IS NOT NULL THEN 'json'
            END FROM rag._column_kind(_type.typelem) AS e (kind));
    ELSIF _type.typnamespace <> 'pg_catalog'::regnamespace OR _type.typtype IN ('c', 'p') THEN
        RETURN NULL;
    END IF;
    RETURN CASE
        WHEN _type.typname IN ('int2', 'int4', 'int8') THEN 'integer'
        WHEN _type.typname IN ('numeric', 'float4', 'float8') THEN 'numeric'
        WHEN _type.typname IN ('text', 'varchar', 'bpchar') THEN 'text'
        WHEN _type.typname IN ('bool') THEN 'boolean'
        WHEN _type.typname IN ('date', 'timestamp', 'timestamptz') THEN _type.typname
        WHEN _type.typname IN ('json', 'jsonb') THEN 'json'
        WHEN _type.typname IN ('uuid', 'time', 'timetz', 'interval', 'inet', 'cidr', 'macaddr',
            'macaddr8', 'money') THEN 'native'
        ELSE 'other' END;
END
$$;

COMMENT ON FUNCTION rag._column_kind IS
$$How rag.query_view treats a type: integer, numeric, text, boolean, date, timestamp, timestamptz,
enum, enum[], json (arrays too), native (compared by PostgreSQL's own operators of it), other (its
text, which has no order), or NULL: it cannot be shown.

Types of others than PostgreSQL itself are not shown: their casts and operators may be functions of
anybody. A domain is its base type.$$;


CREATE OR REPLACE FUNCTION rag._column_sql(name text, kind text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE kind
    WHEN 'json' THEN format('to_jsonb(c.%I)', name)
    -- not by a cast or to_jsonb, which anybody's cast of the type would replace
    WHEN 'enum[]' THEN format('to_jsonb(array_out(c.%I)::text::text[])', name)
    WHEN 'other' THEN format('c.%I::text', name)
    ELSE format('c.%I', name) END;

COMMENT ON FUNCTION rag._column_sql IS
$$The SQL expression of a view's column on alias c.$$;


CREATE OR REPLACE FUNCTION rag._view_columns(relation oid)
RETURNS TABLE (name text, type text, kind text, base_type text, labels text[], readable boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET quote_all_identifiers = off
AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE based AS (
        SELECT a.attnum, a.atttypid AS of_type FROM pg_attribute AS a
        WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT b.attnum, y.typbasetype FROM based AS b
        JOIN pg_type AS y ON y.oid = b.of_type AND y.typtype = 'd'
    )
    SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), rag._column_kind(a.atttypid),
        y.typname::text,
        (SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_enum AS e
         WHERE e.enumtypid = y.oid),
        has_column_privilege(relation, a.attnum, 'SELECT')
    FROM pg_attribute AS a
    JOIN based AS b USING (attnum)
    JOIN pg_type AS y ON y.oid = b.of_type AND y.typtype <> 'd'
    WHERE a.attrelid = relation
    ORDER BY a.attnum;
END
$$;

COMMENT ON FUNCTION rag._view_columns IS
$$The columns of a relation: type as it is declared, kind as in rag._column_kind, the base type's
name, the labels of an enum, and whether the caller may read it.$$;
