-- A source is brought in step now, for a caller who waits.

CREATE OR REPLACE FUNCTION rag._sources_of(source_table regclass, collection text)
RETURNS integer[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _ids integer[] := ARRAY(
        SELECT s.source_id FROM rag.sources AS s
        JOIN rag.collections AS c ON c.collection_id = s.collection_id AND c.dropped_at IS NULL
        WHERE (_sources_of.collection IS NULL OR c.name = _sources_of.collection)
            AND coalesce(rag._source_relation(s.source_id) = source_table,
                s.table_name = rag._table_name(source_table))
        ORDER BY s.source_id);
BEGIN
    IF _ids = '{}' THEN
        PERFORM rag._require_source(source_table, _sources_of.collection);  -- says so
    END IF;
    RETURN _ids;
END
$$;

COMMENT ON FUNCTION rag._sources_of IS
$$The sources that a table is, of all collections or of one, those included that are being
removed.$$;


CREATE OR REPLACE FUNCTION rag._require_following(of_source integer)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _source rag.sources;
BEGIN
    SELECT s.* INTO _source FROM rag.sources AS s WHERE s.source_id = of_source;
    IF _source.broken IS NOT NULL THEN
        RAISE EXCEPTION 'source % is broken: %', _source.table_name, _source.broken
        USING ERRCODE = 'RG001', HINT = 'mend it or attach it again; its changes are kept';
    ELSIF _source.phase <> 'remove'
        AND NOT rag._may_follow(_source, rag._source_relation(of_source)) THEN
        RAISE EXCEPTION 'permission denied: what others wrote for source % would run as role %',
            _source.table_name, current_user
        USING ERRCODE = '42501',
            HINT = 'call it, or run a worker, as a role that has no more than '
                'rag.grant_access(role, ''worker'')';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._require_following IS
$$Error RG001, with the reason, when a source is broken, 42501 where the caller has too many
rights.$$;


-- A procedure that commits can have no SET clause.


CREATE OR REPLACE PROCEDURE rag.sync_source(source_table regclass, collection text DEFAULT NULL,
                                            batch integer DEFAULT 500)
LANGUAGE plpgsql
AS $$
DECLARE
    _id integer;
BEGIN
    FOREACH _id IN ARRAY rag._sources_of(source_table, collection) LOOP
        LOOP
            EXIT WHEN rag.follow_source(_id, batch) OPERATOR(pg_catalog.=) 0;
            COMMIT;
        END LOOP;
        COMMIT;
        PERFORM rag._require_following(_id);
    END LOOP;
END
$$;

COMMENT ON PROCEDURE rag.sync_source IS
$$Bring the collection in step now.
With its table, without waiting for a worker: a first reading, or the changes since.

Commits after every batch, so not inside a transaction block; there, rag.follow_source does one
batch. What is put is queued as by rag.put_document. An interrupted call, or a worker, goes
on where it was. Error RG001, with the reason, when the source is broken. batch: rows at a time.
Circle: application, Sources.
CALL rag.sync_source('app.articles')$$;
