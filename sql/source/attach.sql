-- Sources are attached, listed and detached.

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
    _collection rag.collections := rag._collection_to_follow(attach_source.collection);
    _definition jsonb := rag._define_source(
        attach_source.source_table, attach_source.content, attach_source.key, attach_source.title,
        attach_source.metadata, attach_source.condition, attach_source.uri, attach_source.language,
        attach_source.separator, attach_source.media_type);
    _name CONSTANT text := rag._table_name(source_table);
    _id integer;
    _member regclass;
    _event record;
BEGIN
    IF rag._other_node() IS NOT NULL
        OR rag._stored_as('rag.sources'::regclass) <> 'rag.sources'::regclass THEN
        RAISE EXCEPTION 'rag.attach_source follows no table where Citus has schema rag'
        USING ERRCODE = 'RG007',
            HINT = 'put the rows as documents, or follow the table in a database without Citus';
    END IF;
    -- Two that attach one table at once would make two sources of it.
    PERFORM rag._await_lock(hashtextextended('rag source', source_table::oid::bigint));
    _id := (
        SELECT s.source_id FROM rag.sources AS s
        WHERE s.collection_id = _collection.collection_id AND s.phase <> 'remove'
            AND coalesce(rag._source_relation(s.source_id) = source_table,
                s.table_name = _name)
        ORDER BY rag._source_relation(s.source_id) IS NULL, s.source_id
        LIMIT 1);
    IF _id IS NULL THEN
        INSERT INTO rag.sources AS s (source_id, collection_id, table_name, definition)
        VALUES (rag._next_id('sources', 'source_id'), _collection.collection_id, _name,
            _definition)
        RETURNING s.source_id INTO _id;
    ELSE
        UPDATE rag.sources AS s
        SET table_name = _name, definition = _definition,
            phase = 'backfill', reached = NULL,
            rows_done = 0, rows_failed = 0, row_error = NULL, broken = NULL, attached_at = now()
        WHERE s.source_id = _id;
    END IF;
    -- A statement fires the triggers of the table that it names: those of a partition when it is
    -- written directly.
    -- They are locked from the root down, as writers lock them.
    FOR _member IN
        SELECT m.relid
        FROM (
            SELECT source_table AS relid, 0 AS level
            UNION
            SELECT p.relid, p.level FROM pg_partition_tree(source_table) AS p
            JOIN pg_class AS c ON c.oid = p.relid AND c.relkind IN ('r', 'p')
        ) AS m
        ORDER BY m.level, m.relid::oid
    LOOP
        FOR _event IN
            SELECT * FROM (VALUES ('insert', 'REFERENCING NEW TABLE AS new_rows'),
                                  ('update', 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS '
                                      'new_rows'),
                                  ('delete', 'REFERENCING OLD TABLE AS old_rows'),
                                  ('truncate', '')) AS e (name, rows)
        LOOP
            EXECUTE format(
                'CREATE OR REPLACE TRIGGER rag_source_%1$s_%2$s%3$s AFTER %2$s ON %4$s %5$s'
                ' FOR EACH STATEMENT EXECUTE FUNCTION rag._record_changes(%1$L, %6$L, %7$L)',
                _id, _event.name, CASE WHEN _member <> source_table THEN '_partition' END,
                    rag._table_name(_member), _event.rows,
                _definition, (rag._source_sql(source_table, _definition)).note_sql);
        END LOOP;
    END LOOP;
    -- The triggers' lock has let every earlier writer finish: the reading covers what they changed.
    DELETE FROM rag.source_changes AS c WHERE c.source_id = _id;
    PERFORM pg_notify('rag_sources', '');
    RETURN _id;
END
$$;

COMMENT ON FUNCTION rag.attach_source IS
$$Keep a collection in step with an application's own table: every row is a document. Returns the
source's id.

Triggers on the table note the keys of changed rows, in the application's own transaction; a worker
(or CALL rag.sync_source) reads the rows and puts or deletes their documents, those that are there
already first. Attaching again replaces the definition and reads every row anew; unchanged documents
cost nothing. Who attaches owns the table or has TRIGGER on it.
content: columns whose texts, joined by separator, are the document; a row where all are NULL or
empty has no document. key: columns that identify a row, NOT NULL and unique; default the primary
key. title: columns of the title. metadata: columns that become metadata of the same name. language:
a column with a text search configuration. condition: only rows that satisfy it, written as after
WHERE: trusted text, run as whoever writes the table and as the worker. uri: a template with the key
columns, default <schema.table>/{key}.
Circle: application 9, Sources.
SELECT rag.attach_source('app.articles', 'docs', '{body}',
        title => '{id}', uri => 'article/{id}')$$;


CREATE OR REPLACE FUNCTION rag._drop_source_triggers(of_source integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _relation oid := rag._source_relation(of_source);
    _trigger record;
BEGIN
    FOR _trigger IN
        SELECT t.tgname, rag._table_name(t.tgrelid) AS table_name,
               t.tgrelid = _relation
                   OR pg_partition_root(t.tgrelid) =
                       coalesce(pg_partition_root(_relation), _relation) AS own
        FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid AND c.relpersistence <> 't'
        WHERE t.tgname ~ format('^rag_source_%s_', of_source)
            AND t.tgfoid = 'rag._record_changes'::regproc
        -- Locked from the root down, as writers lock them.
        ORDER BY (SELECT count(*) FROM pg_partition_ancestors(t.tgrelid)), t.tgrelid
    LOOP
        BEGIN
            EXECUTE format('DROP TRIGGER %I ON %s', _trigger.tgname, _trigger.table_name);
        EXCEPTION WHEN insufficient_privilege THEN
            IF _trigger.own THEN
                RAISE;
            END IF;
            RAISE WARNING 'trigger % on table % stays: only the owner of the table may drop it',
                _trigger.tgname, _trigger.table_name
            USING HINT = 'drop it as its owner; it notes changes that nobody reads';
        END;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._drop_source_triggers IS
$$Take a source's triggers off its table, the partitions, and copies of the table that this role
owns.$$;


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
        _ids := ARRAY[(rag._require_source(source_table, detach_source.collection)).source_id];
    ELSE
        _ids := ARRAY(
            SELECT s.source_id FROM rag.sources AS s
            WHERE s.collection_id =
                (rag._collection_to_follow(detach_source.collection)).collection_id
                AND s.phase <> 'remove' AND rag._source_relation(s.source_id) IS NULL);
    END IF;
    -- The source first, then its table: the order in which rag.follow_source locks them.
    PERFORM FROM rag.sources AS s WHERE s.source_id = ANY (_ids) ORDER BY s.source_id FOR UPDATE;
    PERFORM rag._drop_source_triggers(i.id) FROM unnest(_ids) AS i (id);
    DELETE FROM rag.source_changes AS c WHERE c.source_id = ANY (_ids);
    IF delete_documents THEN
        UPDATE rag.sources AS s SET phase = 'remove', reached = NULL, broken = NULL
            WHERE s.source_id = ANY (_ids);
        PERFORM pg_notify('rag_sources', '');
    ELSE
        DELETE FROM rag.source_documents AS d WHERE d.source_id = ANY (_ids);
        DELETE FROM rag.sources AS s WHERE s.source_id = ANY (_ids);
    END IF;
END
$$;

COMMENT ON FUNCTION rag.detach_source IS
$$Stop following a table: its triggers go, the table itself is not touched.

collection: which, where the table is a source of several. delete_documents: a worker deletes what
the source has put, in batches; otherwise the documents stay as they are. source_table NULL: the
sources of the collection whose tables were dropped.
Circle: application, Sources.
SELECT rag.detach_source('app.articles')$$;


CREATE OR REPLACE FUNCTION rag._forget_sources(collection_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _source rag.sources;
BEGIN
    FOR _source IN DELETE FROM rag.sources AS s WHERE s.collection_id =
        _forget_sources.collection_id
        RETURNING s.* LOOP
        DELETE FROM rag.source_changes AS c WHERE c.source_id = _source.source_id;
        DELETE FROM rag.source_documents AS d WHERE d.source_id = _source.source_id;
        BEGIN
            PERFORM rag._drop_source_triggers(_source.source_id);
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE WARNING 'the triggers rag_source_%_* on table % stay: only the owner of the '
                'table may drop them',
                _source.source_id, _source.table_name
            USING HINT = 'drop them as its owner; they note changes that nobody reads';
        END;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._forget_sources IS
$$Detach every source of a collection that is dropped.$$;


CREATE OR REPLACE FUNCTION rag.list_sources(collection text DEFAULT NULL)
RETURNS TABLE (collection_name text, source_table text, state text, rows_read bigint,
    rows_expected bigint,
               changes_waiting bigint, failed_rows bigint, last_error text, attached timestamptz,
                   followed timestamptz)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _only integer := CASE WHEN list_sources.collection IS NOT NULL
        THEN (rag._collection_to_follow(list_sources.collection)).collection_id END;
BEGIN
    RETURN QUERY
    SELECT c.name, coalesce(rag._table_name(r.relation), s.table_name),
           CASE WHEN s.phase = 'remove' THEN 'removing'
                WHEN s.broken IS NOT NULL OR r.relation IS NULL THEN 'broken'
                WHEN s.phase = 'follow' THEN 'following'
                ELSE 'backfilling' END,
           s.rows_done, CASE WHEN s.phase <> 'backfill' OR s.reached
               IS NOT NULL THEN s.rows_total END,
           (SELECT count(*) FROM rag.source_changes AS x WHERE x.source_id = s.source_id),
           s.rows_failed,
           coalesce(s.broken, CASE WHEN r.relation IS NULL AND s.phase <> 'remove'
                                   THEN 'its table or its triggers are gone: attach it again, or '
                                       'rag.detach_source(NULL, collection)' END,
                    s.row_error),
           s.attached_at, s.followed_at
    FROM rag.sources AS s
    JOIN rag.collections AS c ON c.collection_id = s.collection_id AND c.dropped_at IS NULL,
    LATERAL (SELECT rag._source_relation(s.source_id) AS relation) AS r
    WHERE _only IS NULL OR s.collection_id = _only
    ORDER BY c.name, s.source_id;
END
$$;

COMMENT ON FUNCTION rag.list_sources IS
$$The tables that collections follow. state: backfilling (rows_read of rows_expected, NULL until
they are counted), following (in step but for changes_waiting), broken (nothing is followed until
last_error is mended; changes are kept), removing.

failed_rows: rows that could not become documents since the source was attached; last_error names
the last of them.
Circle: application, Sources.
SELECT * FROM rag.list_sources()$$;
