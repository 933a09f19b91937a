-- A source: an application's own table that a collection follows. Its definition, and how its rows are read.

CREATE OR REPLACE FUNCTION rag.table_name(relation oid)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (SELECT format('%I.%I', n.nspname, c.relname)
            FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE c.oid = relation);
END
$$;

COMMENT ON FUNCTION rag.table_name(oid) IS $$A table's name with its schema, whatever the search_path; NULL when it is gone.$$;


CREATE OR REPLACE FUNCTION rag.source_columns(relation oid, columns jsonb)
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _root oid := coalesce(pg_partition_root(relation), relation);  -- partitions number their columns themselves
    _names text[];
    _missing text;
BEGIN
    SELECT coalesce(array_agg(coalesce(n.attname, a.attname) ORDER BY c.place), '{}'),
           string_agg(quote_ident(c.pair ->> 0), ', ') FILTER (WHERE coalesce(n.attname, a.attname) IS NULL)
    INTO _names, _missing
    FROM jsonb_array_elements(columns) WITH ORDINALITY AS c (pair, place)
    LEFT JOIN pg_attribute AS n ON n.attrelid = _root AND n.attname = c.pair ->> 0
        AND n.attnum > 0 AND NOT n.attisdropped
    LEFT JOIN pg_attribute AS a ON n.attname IS NULL AND a.attrelid = _root AND a.attnum = (c.pair ->> 1)::integer
        AND NOT a.attisdropped;
    IF _missing IS NOT NULL THEN
        RAISE EXCEPTION 'table % has no column %', rag.table_name(relation), _missing USING ERRCODE = 'RG002',
        HINT = 'attach the source again with the columns that the table has now';
    END IF;
    RETURN _names;
END
$$;

COMMENT ON FUNCTION rag.source_columns(oid, jsonb) IS
$$The present names of columns given as [[name, attnum], …]: by name, and by number where a column was renamed.$$;


CREATE OR REPLACE FUNCTION rag.source_sql(
    relation oid, definition jsonb,
    OUT key_sql text, OUT match_sql text, OUT order_sql text, OUT after_sql text, OUT row_sql text, OUT watch_sql text,
    OUT condition_sql text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _root oid := coalesce(pg_partition_root(relation), relation);
    _key text[] := rag.source_columns(relation, definition -> 'key');
    _title text[] := rag.source_columns(relation, definition -> 'title');
    _content text[] := rag.source_columns(relation, definition -> 'content');
    _metadata text[] := rag.source_columns(relation, definition -> 'metadata');
    _language text[] := rag.source_columns(relation, definition -> 'language');
    _values text;
BEGIN
    condition_sql := format(E'(%s\n)', coalesce(definition ->> 'condition', 'true'));
    SELECT format('jsonb_build_array(%s)', string_agg(format('t.%I::text', k.name), ', ' ORDER BY k.place)),
           string_agg(format('t.%I = (_rag.key ->> %s)::%s', k.name, k.place - 1, y.name), ' AND '),
           string_agg(format('t.%I', k.name), ', ' ORDER BY k.place),
           string_agg(format('($1 ->> %s)::%s', k.place - 1, y.name), ', ' ORDER BY k.place)
    INTO key_sql, match_sql, order_sql, _values
    FROM unnest(_key) WITH ORDINALITY AS k (name, place)
    JOIN pg_attribute AS a ON a.attrelid = _root AND a.attname = k.name,
    LATERAL (SELECT format_type(a.atttypid, a.atttypmod) AS name) AS y;
    after_sql := format('(%s) > (%s)', order_sql, _values);
    row_sql := concat_ws(', ',
        coalesce((SELECT format('concat_ws('' '', %s)', string_agg(format('t.%I::text', c), ', '))
                  FROM unnest(_title) AS c HAVING count(*) > 0), quote_literal('')) || ' AS title',
        (SELECT format('concat_ws(%L, %s)', definition ->> 'separator',
                       string_agg(format('nullif(btrim(t.%I::text, E'' \t\r\n\f\v''), '''')', c), ', '))
         FROM unnest(_content) AS c) || ' AS content',
        coalesce((SELECT string_agg(format(
                      'CASE WHEN t.%1$I IS NULL THEN ''{}''::jsonb ELSE jsonb_build_object(%2$L, t.%1$I) END',
                      c.name, c.pair ->> 0), ' || ')
                  FROM unnest(_metadata, ARRAY(SELECT jsonb_array_elements(definition -> 'metadata')))
                      AS c (name, pair)), quote_literal('{}') || '::jsonb') || ' AS metadata',
        coalesce('t.' || quote_ident(_language[1]), 'NULL') || '::text AS language');
    watch_sql := format('ROW(%s, %s)::text', condition_sql,
        (SELECT string_agg(DISTINCT format('t.%I', c), ', ')
         FROM unnest(_title || _content || _metadata || _language) AS c));
END
$$;

COMMENT ON FUNCTION rag.source_sql(oid, jsonb) IS
$$The pieces of SQL by which a source's rows (t) are read: key_sql (a jsonb array of texts), match_sql (the row of the key
_rag.key), order_sql and after_sql (rows beyond the key $1), row_sql (title, content, metadata, language), watch_sql (what
must change for a row to be read again), condition_sql.$$;


CREATE OR REPLACE FUNCTION rag.read_source(relation oid, definition jsonb, keys jsonb)
RETURNS TABLE (row_key jsonb, title text, content text, metadata jsonb, language text)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _sql record := rag.source_sql(relation, definition);
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT _rag.key, r.title, nullif(r.content, ''''), r.metadata, r.language
         FROM jsonb_array_elements($1) AS _rag (key)
         LEFT JOIN LATERAL (SELECT %s FROM %s AS t WHERE %s AND %s OFFSET 0) AS r ON true',
        _sql.row_sql, rag.table_name(relation), _sql.match_sql, _sql.condition_sql)
    USING keys;
END
$$;

COMMENT ON FUNCTION rag.read_source(oid, jsonb, jsonb) IS
$$The rows of these keys as documents. content is NULL where there is none: the row is gone, the condition is not met, or
its content columns are all NULL or empty.$$;


CREATE OR REPLACE FUNCTION rag.source_uri(definition jsonb, row_key jsonb)
RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _composite boolean := jsonb_array_length(row_key) > 1;
BEGIN
    RETURN (
        SELECT string_agg(CASE
            WHEN jsonb_typeof(p.piece) = 'string' THEN p.piece #>> '{}'
            WHEN _composite THEN replace(replace(v.value, '%', '%25'), '/', '%2F')
            ELSE v.value END, '' ORDER BY p.place)
        FROM jsonb_array_elements(definition -> 'uri') WITH ORDINALITY AS p (piece, place),
        LATERAL (SELECT CASE WHEN jsonb_typeof(p.piece) = 'number'
                             THEN row_key ->> (p.piece #>> '{}')::integer END AS value) AS v);
END
$$;

COMMENT ON FUNCTION rag.source_uri(jsonb, jsonb) IS
$$The uri of a row's document. In a composite key % and / of the values are written %25 and %2F, so that no two keys share a
uri.$$;


CREATE OR REPLACE FUNCTION rag.source_relation(of_source integer)
RETURNS oid
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (SELECT t.tgrelid FROM pg_trigger AS t
            WHERE t.tgname = format('rag_source_%s_insert', of_source) AND t.tgfoid = 'rag.note_changes'::regproc);
END
$$;

COMMENT ON FUNCTION rag.source_relation(integer) IS
$$The table of a source: where its triggers are, so that a renamed or restored table is found. NULL when they are gone.$$;


CREATE OR REPLACE FUNCTION rag.require_source(source_table regclass, collection text)
RETURNS rag.sources
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _only integer := CASE WHEN require_source.collection IS NOT NULL
                          THEN (rag.require_collection(require_source.collection)).collection_id END;
    _found rag.sources[];
BEGIN
    SELECT array_agg(s) INTO _found
    FROM rag.sources AS s
    WHERE (_only IS NULL OR s.collection_id = _only) AND s.phase <> 'remove'
        AND coalesce(rag.source_relation(s.source_id) = source_table, s.table_name = rag.table_name(source_table));
    IF _found IS NULL THEN
        RAISE EXCEPTION 'table % is not a source of %', rag.table_name(source_table),
            coalesce('collection ' || quote_literal(require_source.collection), 'any collection')
        USING ERRCODE = 'RG002', HINT = 'rag.list_sources() shows the sources; rag.attach_source makes one';
    ELSIF cardinality(_found) > 1 THEN
        RAISE EXCEPTION 'table % is a source of % collections', rag.table_name(source_table), cardinality(_found)
        USING ERRCODE = 'RG001', HINT = 'name the collection as well';
    END IF;
    RETURN _found[1];
END
$$;

COMMENT ON FUNCTION rag.require_source(regclass, text) IS
$$The source that a table is (of a collection; NULL: of the only one), or error RG002.$$;


CREATE OR REPLACE FUNCTION rag.column_pairs(relation oid, names text[])
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _root oid := coalesce(pg_partition_root(relation), relation);
    _pairs jsonb;
    _missing text;
BEGIN
    SELECT coalesce(jsonb_agg(jsonb_build_array(n.name, a.attnum) ORDER BY n.place), '[]'),
           string_agg(coalesce(quote_ident(n.name), 'NULL'), ', ') FILTER (WHERE a.attnum IS NULL)
    INTO _pairs, _missing
    FROM unnest(names) WITH ORDINALITY AS n (name, place)
    LEFT JOIN pg_attribute AS a ON a.attrelid = _root AND a.attname = n.name AND a.attnum > 0 AND NOT a.attisdropped;
    IF _missing IS NOT NULL THEN
        RAISE EXCEPTION 'table % has no column %', rag.table_name(relation), _missing
        USING ERRCODE = 'RG001', HINT = 'its columns: ' || (
            SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
            FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped);
    END IF;
    RETURN _pairs;
END
$$;

COMMENT ON FUNCTION rag.column_pairs(oid, text[]) IS
$$Columns as [[name, attnum], …]; error RG001 for a name that the table does not have.$$;


CREATE OR REPLACE FUNCTION rag.uri_pieces(template text, key_names text[])
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _pieces jsonb := '[]';
    _part text[];
    _place integer;
BEGIN
    FOR _part IN SELECT m FROM regexp_matches(template, '\{([^{}]+)\}|([^{}]+)', 'g') AS m LOOP
        _place := array_position(key_names, _part[1]) - 1;
        IF _part[1] IS NOT NULL AND _place IS NULL THEN
            RAISE EXCEPTION 'uri % names %, which is not a key column', quote_literal(template), quote_ident(_part[1])
            USING ERRCODE = 'RG001', HINT = 'key columns: ' || array_to_string(key_names, ', ');
        END IF;
        IF _place IS NOT NULL AND jsonb_typeof(_pieces -> -1) = 'number'
            OR _place IS NOT NULL AND _pieces @? '$[*] ? (@.type() == "number")' AND _pieces ->> -1 NOT LIKE '%/%' THEN
            RAISE EXCEPTION 'uri % has no slash between its columns', quote_literal(template)
            USING ERRCODE = 'RG001', HINT = 'two keys could share a uri: write {a}/{b}';
        END IF;
        _pieces := _pieces || coalesce(to_jsonb(_place), to_jsonb(_part[2]));
    END LOOP;
    IF EXISTS (SELECT FROM generate_subscripts(key_names, 1) AS k WHERE NOT _pieces @> to_jsonb(k - 1)) THEN
        RAISE EXCEPTION 'uri % does not name every key column', quote_literal(template)
        USING ERRCODE = 'RG001', HINT = 'key columns: ' || array_to_string(key_names, ', ');
    END IF;
    RETURN _pieces;
END
$$;

COMMENT ON FUNCTION rag.uri_pieces(text, text[]) IS
$$A template of a uri, such as articles/{id}, as an array of texts and places of key columns. Error RG001 unless it names
every key column, with a slash between two.$$;


CREATE OR REPLACE FUNCTION rag.primary_key(relation oid)
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (SELECT array_agg(a.attname::text ORDER BY k.place)
            FROM pg_index AS i, unnest(i.indkey[:i.indnkeyatts - 1]) WITH ORDINALITY AS k (attnum, place)
            JOIN pg_attribute AS a ON a.attrelid = relation AND a.attnum = k.attnum
            WHERE i.indrelid = relation AND i.indisprimary);
END
$$;

COMMENT ON FUNCTION rag.primary_key(oid) IS $$The columns of a table's primary key; NULL when it has none.$$;


CREATE OR REPLACE FUNCTION rag.check_source_key(relation oid, key_names text[])
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _nullable text;
BEGIN
    SELECT string_agg(quote_ident(a.attname), ', ') INTO _nullable
    FROM pg_attribute AS a
    WHERE a.attrelid = relation AND a.attname = ANY (key_names) AND NOT a.attnotnull;
    IF _nullable IS NOT NULL THEN
        RAISE EXCEPTION 'key column % of table % may be NULL', _nullable, rag.table_name(relation)
        USING ERRCODE = 'RG001', HINT = 'use the primary key, or set the column NOT NULL';
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_index AS i
        WHERE i.indrelid = relation AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
            AND key_names @> ARRAY(
                SELECT a.attname::text FROM unnest(i.indkey[:i.indnkeyatts - 1]) AS k (attnum)
                JOIN pg_attribute AS a ON a.attrelid = relation AND a.attnum = k.attnum)) THEN
        RAISE EXCEPTION 'key (%) of table % is not unique', array_to_string(key_names, ', '), rag.table_name(relation)
        USING ERRCODE = 'RG001', HINT = 'rows with the same key would make one document: use the primary key, or add a unique index';
    END IF;
END
$$;

COMMENT ON FUNCTION rag.check_source_key(oid, text[]) IS
$$Error RG001 unless the columns are NOT NULL and a unique index covers them.$$;


CREATE OR REPLACE FUNCTION rag.define_source(
    relation oid, content text[], key text[], title text[], metadata text[], condition text, uri text, language text,
    separator text, media_type text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _definition jsonb;
    _key text[] := coalesce(define_source.key, rag.primary_key(relation));
    _sql record;
BEGIN
    IF (SELECT c.relkind NOT IN ('r', 'p') OR c.relpersistence = 't' OR c.relnamespace = 'rag'::regnamespace
        FROM pg_class AS c WHERE c.oid = relation) THEN
        RAISE EXCEPTION '% is not an ordinary or partitioned table of the application', rag.table_name(relation)
        USING ERRCODE = 'RG001', HINT = 'attach the table beneath a view; temporary tables and those of schema rag cannot be sources';
    END IF;
    IF coalesce(cardinality(_key), 0) = 0 THEN
        RAISE EXCEPTION 'table % has no primary key', rag.table_name(relation)
        USING ERRCODE = 'RG001', HINT = 'name unique columns: key => ''{id}''';
    END IF;
    IF coalesce(cardinality(define_source.content), 0) = 0 THEN
        RAISE EXCEPTION 'a source needs content columns' USING ERRCODE = 'RG001',
        HINT = 'for example content => ''{title,body}''';
    END IF;
    _definition := jsonb_build_object(
        'key', rag.column_pairs(relation, _key),
        'title', rag.column_pairs(relation, define_source.title),
        'content', rag.column_pairs(relation, define_source.content),
        'metadata', rag.column_pairs(relation, define_source.metadata),
        'language', rag.column_pairs(relation, array_remove(ARRAY[define_source.language], NULL)),
        'condition', define_source.condition,
        'separator', coalesce(define_source.separator, ''),
        'media_type', coalesce(define_source.media_type, 'text/plain'),
        'uri', rag.uri_pieces(coalesce(define_source.uri, (SELECT n.nspname || '.' || c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
             WHERE c.oid = relation) || '/' || (
            SELECT string_agg('{' || k.name || '}', '/' ORDER BY k.place)
            FROM unnest(_key) WITH ORDINALITY AS k (name, place))), _key));
    PERFORM rag.check_source_key(relation, _key);
    _sql := rag.source_sql(relation, _definition);
    BEGIN
        EXECUTE format('EXPLAIN SELECT %s, %s FROM %s AS t WHERE %s', _sql.key_sql, _sql.row_sql, rag.table_name(relation),
                       _sql.condition_sql);
    EXCEPTION WHEN syntax_error_or_access_rule_violation OR data_exception THEN
        RAISE EXCEPTION 'condition % cannot be used: %', quote_literal(define_source.condition), SQLERRM
        USING ERRCODE = 'RG001', HINT = 'write it as after WHERE; names outside pg_catalog carry their schema';
    END;
    RETURN _definition;
END
$$;

COMMENT ON FUNCTION rag.define_source(oid, text[], text[], text[], text[], text, text, text, text, text) IS
$$The arguments of rag.attach_source, checked against the table; error RG001 says what does not fit.$$;


CREATE OR REPLACE FUNCTION rag.attach_source(
    source_table regclass,
    collection text,
    content text[],
    key text[] DEFAULT NULL,
    title text[] DEFAULT '{}',
    metadata text[] DEFAULT '{}',
    condition text DEFAULT NULL,
    uri text DEFAULT NULL,
    language text DEFAULT NULL,
    separator text DEFAULT E'\n\n',
    media_type text DEFAULT 'text/plain')
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag.require_collection(attach_source.collection);
    _definition jsonb := rag.define_source(
        attach_source.source_table, attach_source.content, attach_source.key, attach_source.title,
        attach_source.metadata, attach_source.condition, attach_source.uri, attach_source.language,
        attach_source.separator, attach_source.media_type);
    _id integer := (
        SELECT s.source_id FROM rag.sources AS s
        WHERE s.collection_id = _collection.collection_id AND s.phase <> 'remove'
            AND coalesce(rag.source_relation(s.source_id) = source_table, s.table_name = rag.table_name(source_table)));
    _member regclass;
    _event record;
BEGIN
    IF _id IS NULL THEN
        INSERT INTO rag.sources AS s (collection_id, table_name, definition)
        VALUES (_collection.collection_id, rag.table_name(source_table), _definition)
        RETURNING s.source_id INTO _id;
    ELSE
        UPDATE rag.sources AS s
        SET table_name = rag.table_name(source_table), definition = _definition, phase = 'backfill', reached = NULL,
            rows_done = 0, rows_failed = 0, row_error = NULL, broken = NULL, attached_at = now()
        WHERE s.source_id = _id;
    END IF;
    -- A statement fires the triggers of the table that it names: those of a partition when it is written directly.
    FOR _member IN
        SELECT source_table
        UNION
        SELECT p.relid FROM pg_partition_tree(source_table) AS p
        JOIN pg_class AS c ON c.oid = p.relid AND c.relkind IN ('r', 'p')
    LOOP
        FOR _event IN
            SELECT * FROM (VALUES ('insert', 'REFERENCING NEW TABLE AS new_rows'),
                                  ('update', 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows'),
                                  ('delete', 'REFERENCING OLD TABLE AS old_rows'),
                                  ('truncate', '')) AS e (name, rows)
        LOOP
            EXECUTE format(
                'CREATE OR REPLACE TRIGGER rag_source_%1$s_%2$s%3$s AFTER %2$s ON %4$s %5$s'
                ' FOR EACH STATEMENT EXECUTE FUNCTION rag.note_changes(%1$L, %6$L)',
                _id, _event.name, CASE WHEN _member <> source_table THEN '_partition' END, rag.table_name(_member), _event.rows,
                _definition);
        END LOOP;
    END LOOP;
    -- The triggers' lock has let every earlier writer finish: the reading covers what they changed.
    DELETE FROM rag.source_changes AS c WHERE c.source_id = _id;
    PERFORM pg_notify('rag_sources', '');
    RETURN _id;
END
$$;

COMMENT ON FUNCTION rag.attach_source(
    regclass, text, text[], text[], text[], text[], text, text, text, text, text
) IS
$$Keep a collection in step with an application's own table: every row is a document. Returns the source's id.

Triggers on the table note the keys of changed rows, in the application's own transaction; a worker (or CALL
rag.sync_source) reads the rows and puts or deletes their documents, those that are there already first. Attaching again
replaces the definition and reads every row anew; unchanged documents cost nothing. Who attaches owns the table or has
TRIGGER on it.
content: columns whose texts, joined by separator, are the document; a row where all are NULL or empty has no document.
key: columns that identify a row, NOT NULL and unique; default the primary key. title: columns of the title. metadata:
columns that become metadata of the same name. language: a column with a text search configuration. condition: only rows
that satisfy it, written as after WHERE: trusted text, run as whoever writes the table and as the worker.
uri: a template with the key columns, default <schema.table>/{key}.$$;


CREATE OR REPLACE FUNCTION rag.drop_source_triggers(of_source integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _trigger pg_trigger;
BEGIN
    FOR _trigger IN
        SELECT t.* FROM pg_trigger AS t
        WHERE t.tgname ~ format('^rag_source_%s_', of_source) AND t.tgfoid = 'rag.note_changes'::regproc
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', _trigger.tgname, rag.table_name(_trigger.tgrelid));
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.drop_source_triggers(integer) IS $$Take a source's triggers off its table and the partitions.$$;


CREATE OR REPLACE FUNCTION rag.detach_source(source_table regclass, collection text DEFAULT NULL,
                                             delete_documents boolean DEFAULT false)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _ids integer[];
BEGIN
    IF source_table IS NOT NULL THEN
        _ids := ARRAY[(rag.require_source(source_table, detach_source.collection)).source_id];
    ELSE
        _ids := ARRAY(
            SELECT s.source_id FROM rag.sources AS s
            WHERE s.collection_id = (rag.require_collection(detach_source.collection)).collection_id
                AND s.phase <> 'remove' AND rag.source_relation(s.source_id) IS NULL);
    END IF;
    PERFORM rag.drop_source_triggers(i.id) FROM unnest(_ids) AS i (id);
    DELETE FROM rag.source_changes AS c WHERE c.source_id = ANY (_ids);
    IF delete_documents THEN
        UPDATE rag.sources AS s SET phase = 'remove', reached = NULL, broken = NULL WHERE s.source_id = ANY (_ids);
        PERFORM pg_notify('rag_sources', '');
    ELSE
        DELETE FROM rag.source_documents AS d WHERE d.source_id = ANY (_ids);
        DELETE FROM rag.sources AS s WHERE s.source_id = ANY (_ids);
    END IF;
END
$$;

COMMENT ON FUNCTION rag.detach_source(regclass, text, boolean) IS
$$Stop following a table: its triggers go, the table itself is not touched.

collection: which, where the table is a source of several. delete_documents: a worker deletes what the source has put, in
batches; otherwise the documents stay as they are. source_table NULL: the sources of the collection whose tables were
dropped.$$;


CREATE OR REPLACE FUNCTION rag.forget_sources(of_collection integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _source rag.sources;
BEGIN
    FOR _source IN DELETE FROM rag.sources AS s WHERE s.collection_id = of_collection RETURNING s.* LOOP
        DELETE FROM rag.source_changes AS c WHERE c.source_id = _source.source_id;
        DELETE FROM rag.source_documents AS d WHERE d.source_id = _source.source_id;
        BEGIN
            PERFORM rag.drop_source_triggers(_source.source_id);
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE WARNING 'the triggers rag_source_%_* on table % stay: only the owner of the table may drop them',
                _source.source_id, _source.table_name
            USING HINT = 'drop them as its owner; they note changes that nobody reads';
        END;
    END LOOP;
    DELETE FROM rag.requests AS r WHERE r.collection_id = of_collection;
END
$$;

COMMENT ON FUNCTION rag.forget_sources(integer) IS
$$Detach every source of a collection that is dropped, and forget its requests.$$;


CREATE OR REPLACE FUNCTION rag.list_sources(collection text DEFAULT NULL)
RETURNS TABLE (collection_name text, source_table text, state text, rows_read bigint, rows_expected bigint,
               changes_waiting bigint, failed_rows bigint, last_error text, attached timestamptz, followed timestamptz)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _only integer := CASE WHEN list_sources.collection IS NOT NULL
                          THEN (rag.require_collection(list_sources.collection)).collection_id END;
BEGIN
    RETURN QUERY
    SELECT c.name, coalesce(rag.table_name(r.relation), s.table_name),
           CASE WHEN s.phase = 'remove' THEN 'removing'
                WHEN s.broken IS NOT NULL OR r.relation IS NULL THEN 'broken'
                WHEN s.phase = 'follow' THEN 'following'
                ELSE 'backfilling' END,
           s.rows_done, s.rows_total,
           (SELECT count(*) FROM rag.source_changes AS x WHERE x.source_id = s.source_id),
           s.rows_failed,
           coalesce(s.broken, CASE WHEN r.relation IS NULL AND s.phase <> 'remove'
                                   THEN 'its table or its triggers are gone: attach it again, or rag.detach_source(NULL, collection)' END,
                    s.row_error),
           s.attached_at, s.followed_at
    FROM rag.sources AS s
    JOIN rag.collections AS c ON c.collection_id = s.collection_id AND c.dropped_at IS NULL,
    LATERAL (SELECT rag.source_relation(s.source_id) AS relation) AS r
    WHERE _only IS NULL OR s.collection_id = _only
    ORDER BY c.name, s.source_id;
END
$$;

COMMENT ON FUNCTION rag.list_sources(text) IS
$$The tables that collections follow. state: backfilling (rows_read of rows_expected), following (in step but for
changes_waiting), broken (nothing is followed until last_error is mended; changes are kept), removing.

failed_rows: rows that could not become documents since the source was attached; last_error names the last of them.$$;
