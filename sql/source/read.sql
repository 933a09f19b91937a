-- A source: an application's own table that a collection follows. How its rows are read.

CREATE OR REPLACE FUNCTION rag._table_name(relation oid)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET quote_all_identifiers = off
AS $$
BEGIN
    RETURN (SELECT format('%I.%I', n.nspname, c.relname)
            FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE c.oid = relation);
END
$$;

COMMENT ON FUNCTION rag._table_name IS
$$A table's name with its schema, whatever the search_path; NULL when it is gone.$$;


CREATE OR REPLACE FUNCTION rag._source_columns(relation oid, columns jsonb)
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- partitions number their columns themselves
    _root oid := coalesce(pg_partition_root(relation), relation);
    _names text[];
    _missing text;
BEGIN
    SELECT coalesce(array_agg(coalesce(n.attname, a.attname) ORDER BY c.position), '{}'),
           string_agg(quote_ident(c.pair ->> 0), ', ') FILTER
               (WHERE coalesce(n.attname, a.attname) IS NULL)
    INTO _names, _missing
    FROM jsonb_array_elements(columns) WITH ORDINALITY AS c (pair, position)
    LEFT JOIN pg_attribute AS n ON n.attrelid = _root AND n.attname = c.pair ->> 0
        AND n.attnum > 0 AND NOT n.attisdropped
    LEFT JOIN pg_attribute AS a ON n.attname IS NULL AND a.attrelid = _root
        AND a.attnum = (c.pair ->> 1)::integer
        AND NOT a.attisdropped;
    IF _missing IS NOT NULL THEN
        RAISE EXCEPTION 'table % has no column %', rag._table_name(relation), _missing
            USING ERRCODE = 'RG002',
        HINT = 'attach the source again with the columns that the table has now';
    END IF;
    RETURN _names;
END
$$;

COMMENT ON FUNCTION rag._source_columns IS
$$The present names of columns given as [[name, attnum], …]: by name, and by number where a column
was renamed.$$;


CREATE OR REPLACE FUNCTION rag._key_operator(of_type oid, name text)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _base oid := of_type;
BEGIN
    WHILE (SELECT y.typtype = 'd' FROM pg_type AS y WHERE y.oid = _base) LOOP
        _base := (SELECT y.typbasetype FROM pg_type AS y WHERE y.oid = _base);
    END LOOP;
    RETURN coalesce((
        SELECT format('OPERATOR(%I.%s)', n.nspname, o.oprname)
        FROM pg_opclass AS k
        JOIN pg_am AS m ON m.oid = k.opcmethod AND m.amname = 'btree'
        JOIN pg_amop AS p ON p.amopfamily = k.opcfamily AND p.amoplefttype = _base
            AND p.amoprighttype = _base
            AND p.amopstrategy = CASE name WHEN '=' THEN 3 WHEN '>=' THEN 4 WHEN '>' THEN 5 END
        JOIN pg_operator AS o ON o.oid = p.amopopr
        JOIN pg_namespace AS n ON n.oid = o.oprnamespace AND n.nspname <> 'pg_catalog'
        WHERE k.opcintype = _base AND k.opcdefault), name);
END
$$;

COMMENT ON FUNCTION rag._key_operator IS
$$The operator =, >= or > by which an index on a column of this type is ordered, with its schema
where that is not pg_catalog: of citext, for instance, whose schema is on no search_path here.$$;


CREATE OR REPLACE FUNCTION rag._note_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1;

COMMENT ON FUNCTION rag._note_version IS
$$The version of the statements that triggers of sources carry in their arguments.
Only the owner of a table may write its triggers, so no upgrade does: those of another version make
their statements anew of the definition beside them, at about a millisecond a write, until the table
is attached again. Who changes the statements raises it.$$;


CREATE OR REPLACE FUNCTION rag._source_sql(
    relation oid, definition jsonb,
    OUT key_sql text, OUT match_sql text, OUT order_sql text, OUT after_sql text, OUT row_sql text,
    OUT condition_sql text, OUT note_sql jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _root oid := coalesce(pg_partition_root(relation), relation);
    _key text[] := rag._source_columns(relation, definition -> 'key');
    _title text[] := rag._source_columns(relation, definition -> 'title');
    _content text[] := rag._source_columns(relation, definition -> 'content');
    _metadata text[] := rag._source_columns(relation, definition -> 'metadata');
    _language text[] := rag._source_columns(relation, definition -> 'language');
    _after text[];  -- of each key column: its own >=, >, =, and the value reached
    _position integer;
    _watched text;
BEGIN
    condition_sql := format(E'(%s\n)', coalesce(definition ->> 'condition', 'true'));
    SELECT format('jsonb_build_array(%s)',
        string_agg(format('t.%I::text', k.name), ', ' ORDER BY k.position)),
           string_agg(format('t.%I %s (_rag.key ->> %s)::%s', k.name,
               rag._key_operator(a.atttypid, '='), k.position - 1, y.name),
                      ' AND '),
           string_agg(format('t.%I', k.name), ', ' ORDER BY k.position),
           CASE WHEN bool_and(rag._key_operator(a.atttypid, '>') = '>') THEN
               format('(%s) > (%s)', string_agg(format('t.%I', k.name), ', ' ORDER BY k.position),
                      string_agg(format('($1 ->> %s)::%s', k.position - 1, y.name), ', '
                          ORDER BY k.position)) END,
           array_agg(ARRAY[rag._key_operator(a.atttypid, '>='), rag._key_operator(a.atttypid, '>'),
                           rag._key_operator(a.atttypid, '='),
                               format('($1 ->> %s)::%s', k.position - 1, y.name)]
                                   ORDER BY k.position)
    INTO key_sql, match_sql, order_sql, after_sql, _after
    FROM unnest(_key) WITH ORDINALITY AS k (name, position)
    JOIN pg_attribute AS a ON a.attrelid = _root AND a.attname = k.name,
    LATERAL (SELECT format_type(a.atttypid, a.atttypmod) AS name) AS y;
    IF after_sql IS NULL THEN  -- a comparison of rows takes one operator for all columns
        after_sql := 'false';
        FOR _position IN REVERSE cardinality(_key)..1 LOOP
            after_sql := format('(t.%1$I %2$s %5$s AND (t.%1$I %3$s %5$s OR t.%1$I %4$s %5$s AND '
                '%6$s))', _key[_position],
                                _after[_position][1], _after[_position][2], _after[_position][3],
                                    _after[_position][4], after_sql);
        END LOOP;
    END IF;
    row_sql := concat_ws(', ',
        coalesce((SELECT format('concat_ws('' '', %s)', string_agg(format('t.%I::text', c), ', '))
                  FROM unnest(_title) AS c HAVING count(*) > 0), quote_literal('')) || ' AS title',
        (SELECT format('concat_ws(%L, %s)', definition ->> 'separator',
                       string_agg(
                           format(E'nullif(btrim(t.%I::text, E'' \\t\\r\\n\\f\\x0B''), '''')', c),
                           ', '))
         FROM unnest(_content) AS c) || ' AS content',
        coalesce((SELECT string_agg(format(
                      'CASE WHEN t.%1$I IS NULL THEN ''{}''::jsonb ELSE jsonb_build_object(%2$L, '
                      't.%1$I) END',
                      c.name, c.pair ->> 0), ' || ')
                  FROM unnest(_metadata,
                      ARRAY(SELECT jsonb_array_elements(definition -> 'metadata')))
                      AS c (name, pair)), quote_literal('{}') || '::jsonb') || ' AS metadata',
        coalesce('t.' || quote_ident(_language[1]), 'NULL') || '::text AS language');
    _watched := format('ROW(%s, %s)::text', condition_sql,
        (SELECT string_agg(DISTINCT format('t.%I', c), ', ')
         FROM unnest(_title || _content || _metadata || _language) AS c));
    note_sql := jsonb_build_object(
        'version', rag._note_version(),
        'INSERT', format('INSERT INTO rag.source_changes (source_id, key) SELECT $1, %s FROM '
        'new_rows AS t', key_sql),
        'DELETE', format('INSERT INTO rag.source_changes (source_id, key) SELECT $1, %s FROM '
        'old_rows AS t', key_sql),
        'UPDATE', format(
            'SELECT array_agg(u.key) FROM (
                 SELECT w.key FROM (
                     SELECT %1$s AS key, hashtextextended(%2$s, 0) AS hash FROM old_rows AS t
                     UNION ALL
                     SELECT %1$s, hashtextextended(%2$s, 0) FROM new_rows AS t) AS w
                 GROUP BY w.key HAVING bit_xor(w.hash) <> 0 OR count(*) <> 2) AS u', key_sql,
                     _watched),
        'ANY', format('SELECT array_agg(u.key) FROM (SELECT %1$s AS key FROM old_rows AS t UNION '
        'SELECT %1$s FROM new_rows AS t) AS u',
                      key_sql),
        'columns', (SELECT jsonb_agg(DISTINCT c)
            FROM unnest(_key || _title || _content || _metadata || _language) AS c));
END
$$;

COMMENT ON FUNCTION rag._source_sql IS
$$The pieces of SQL by which a source's rows (t) are read: key_sql (a jsonb array of texts),
match_sql (the row of the key _rag.key), order_sql and after_sql (rows beyond the key $1), row_sql
(title, content, metadata, language), condition_sql, note_sql (what the triggers run: INSERT and
DELETE note the keys of source $1, UPDATE gives the keys of rows of which something that is read has
changed, ANY those of all rows of an update; the columns these name; and rag._note_version()).$$;


CREATE OR REPLACE FUNCTION rag._source_relation(of_source integer)
RETURNS oid
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (SELECT t.tgrelid FROM pg_trigger AS t
            JOIN pg_class AS c ON c.oid = t.tgrelid AND c.relpersistence <> 't'
            LEFT JOIN rag.sources AS s ON s.source_id = of_source
            WHERE t.tgname = format('rag_source_%s_insert', of_source)
                AND t.tgfoid = 'rag._record_changes'::regproc
            ORDER BY rag._table_name(t.tgrelid) IS DISTINCT FROM s.table_name, t.tgrelid
            LIMIT 1);
END
$$;

COMMENT ON FUNCTION rag._source_relation IS
$$The table of a source: where its triggers are, so that a renamed or restored table is found. NULL
when they are gone.

A copy of the table, made with its triggers, has triggers of the same names: the one by the source's
name is meant, else the oldest.$$;


CREATE OR REPLACE FUNCTION rag._collection_to_follow(wanted text)
RETURNS rag.collections
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.collections;
BEGIN
    SELECT c.* INTO _found FROM rag.collections AS c
    WHERE c.name = wanted AND c.dropped_at IS NULL;
    RETURN CASE WHEN _found.collection_id IS NULL THEN rag._require_collection(wanted)
        ELSE _found END;
END
$$;

COMMENT ON FUNCTION rag._collection_to_follow IS
$$The collection of that name, or error RG002: for who attaches sources, and may not search it.$$;


CREATE OR REPLACE FUNCTION rag._require_source(source_table regclass, collection text)
RETURNS rag.sources
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _only integer := CASE WHEN _require_source.collection IS NOT NULL
                          THEN (rag._collection_to_follow(_require_source.collection)).collection_id
                              END;
    _found rag.sources[];
BEGIN
    SELECT array_agg(s) INTO _found
    FROM rag.sources AS s
    WHERE (_only IS NULL OR s.collection_id = _only) AND s.phase <> 'remove'
        AND coalesce(rag._source_relation(s.source_id) = source_table,
            s.table_name = rag._table_name(source_table));
    IF _found IS NULL THEN
        RAISE EXCEPTION 'table % is not a source of %', rag._table_name(source_table),
            coalesce('collection ' || quote_literal(_require_source.collection), 'any collection')
        USING ERRCODE = 'RG002',
            HINT = 'rag.list_sources() shows the sources; rag.attach_source makes one';
    ELSIF cardinality(_found) > 1 THEN
        RAISE EXCEPTION 'table % is a source of % collections', rag._table_name(source_table),
            cardinality(_found)
        USING ERRCODE = 'RG001', HINT = 'name the collection as well';
    END IF;
    RETURN _found[1];
END
$$;

COMMENT ON FUNCTION rag._require_source IS
$$The source that a table is (of a collection; NULL: of the only one), or error RG002.$$;
