-- What was dropped leaves later, one table or index in a transaction.
--
-- So no two strong locks are held together, here or on a standby that replays them.

CREATE OR REPLACE FUNCTION rag._require_owner(wanted text)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT rag._is_owner() THEN
        RAISE EXCEPTION 'permission denied: only the owner of the tables may %', wanted
        USING ERRCODE = '42501',
            HINT = 'connect as the role that installed schema rag';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._require_owner IS
$$Error 42501 for who does not own rag.collections.$$;


CREATE OR REPLACE FUNCTION rag._is_owner()
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN pg_has_role((SELECT r.relowner FROM pg_class AS r
        WHERE r.oid = 'rag.collections'::regclass), 'USAGE');
END
$$;

COMMENT ON FUNCTION rag._is_owner IS
$$Whether the current role owns the tables of schema rag.$$;


CREATE OR REPLACE FUNCTION rag._discard_index(index_name text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _index oid := to_regclass(format('rag.%I', index_name));
BEGIN
    IF _index IS NOT NULL THEN
        EXECUTE format('ALTER INDEX rag.%I RENAME TO %I', index_name, 'discarded_' || _index);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._discard_index IS
$$Give an index of schema rag up, if it is there: its name is free, and rag.remove_dropped drops it
later. To rename it waits for no reader and no writer, to drop it would wait for all.$$;


CREATE OR REPLACE FUNCTION rag._dropped_parts()
RETURNS TABLE (part text, parent text, is_index boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    WITH tables AS (
        SELECT t.parent || '_' || c.collection_id AS part, t.parent, c.collection_id
        FROM rag.collections AS c, unnest(rag._collection_tables()) AS t (parent)
        WHERE c.dropped_at IS NOT NULL
        UNION ALL
        SELECT 'embeddings_' || s.space_id, 'embeddings', s.collection_id
        FROM rag.spaces AS s LEFT JOIN rag.collections AS c ON c.collection_id = s.collection_id
        WHERE s.dropped_at IS NOT NULL OR c.dropped_at IS NOT NULL
    )
    SELECT r.relname::text, t.parent, r.relkind = 'i'
    FROM pg_class AS r
    LEFT JOIN tables AS t ON t.part = r.relname
    WHERE r.relnamespace = 'rag'::regnamespace
        AND (t.part IS NOT NULL OR r.relkind = 'i' AND starts_with(r.relname, 'discarded_'))
    ORDER BY t.collection_id NULLS FIRST, r.relname;
END
$$;

COMMENT ON FUNCTION rag._dropped_parts IS
$$What rag.remove_dropped has to remove: partitions of dropped collections and spaces with their
parents, and discarded indexes.$$;


CREATE OR REPLACE FUNCTION rag._remove_part(part text, is_index boolean)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    EXECUTE format(CASE
        WHEN is_index THEN 'DROP INDEX IF EXISTS rag.%I'
        -- Its disk space first, for which the other collections need not wait.
        WHEN pg_relation_size(rag._stored_as(to_regclass(format('rag.%I', part)))) > 0
            THEN 'TRUNCATE rag.%I'
        ELSE 'DROP TABLE IF EXISTS rag.%I' END, part);
    RETURN true;
EXCEPTION WHEN lock_not_available OR deadlock_detected OR insufficient_privilege
    OR undefined_table THEN
    RETURN false;  -- somebody is reading, only the owner may, or another session did it
END
$$;

COMMENT ON FUNCTION rag._remove_part IS
$$Empty a partition, drop an empty one, or drop an index; false where that cannot be had now.$$;


CREATE OR REPLACE FUNCTION rag._await_standbys(seconds double precision)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _upto pg_lsn := CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_flush_lsn() END;
    _ends_at timestamptz := clock_timestamp() + make_interval(secs => seconds);
BEGIN
    WHILE EXISTS (
        SELECT FROM pg_stat_replication AS r
        WHERE r.replay_lsn < _upto AND pg_wal_lsn_diff(_upto, r.replay_lsn) < 64 * 1024 * 1024
            AND NOT EXISTS (SELECT FROM pg_replication_slots AS s
                            WHERE s.active_pid = r.pid AND s.slot_type = 'logical'))
    LOOP
        IF clock_timestamp() >= _ends_at THEN
            RETURN false;
        END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag._await_standbys IS
$$Wait until the standbys have replayed what there is; false: one has not in so many seconds.

One that is more than 64 MB behind is not waited for, nor any by a role outside pg_monitor, which
sees none.$$;


CREATE OR REPLACE FUNCTION rag.remove_dropped()
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _part record;
    _busy text[] := '{}';  -- parents that somebody is reading: none of their partitions can go
    _parts text[];
    _space rag.spaces;
    _id integer;
    _removed integer := 0;
    _patience text := current_setting('lock_timeout');
BEGIN
    IF NOT rag._is_owner() OR NOT rag._await_standbys(0.5) THEN
        RETURN 0;
    END IF;
    PERFORM set_config('lock_timeout', '50ms', true);
    FOR _part IN SELECT p.* FROM rag._dropped_parts() AS p LIMIT 100 LOOP
        CONTINUE WHEN _part.parent = ANY (_busy);
        IF rag._remove_part(_part.part, _part.is_index) THEN
            _removed := 1;
            EXIT;
        END IF;
        _busy := _busy || _part.parent;
    END LOOP;
    -- The rows of what has no partition any more.
    _parts := ARRAY(SELECT p.part FROM rag._dropped_parts() AS p);
    FOR _space IN
        SELECT s.* FROM rag.spaces AS s
        WHERE s.dropped_at IS NOT NULL AND 'embeddings_' || s.space_id <> ALL (_parts)
        FOR UPDATE SKIP LOCKED
    LOOP
        PERFORM rag._forget_jobs(_space.collection_id, _space.space_id);
        DELETE FROM rag.spaces AS s WHERE s.space_id = _space.space_id;
    END LOOP;
    FOR _id IN
        SELECT c.collection_id FROM rag.collections AS c
        WHERE c.dropped_at IS NOT NULL AND NOT _parts && (ARRAY(
            SELECT t.parent || '_' || c.collection_id
            FROM unnest(rag._collection_tables()) AS t (parent)
            UNION ALL
            SELECT 'embeddings_' || s.space_id FROM rag.spaces AS s
            WHERE s.collection_id = c.collection_id))
        FOR UPDATE SKIP LOCKED
    LOOP
        DELETE FROM rag.spaces AS s WHERE s.collection_id = _id;
        PERFORM rag._clear_keyword(_id), rag._forget_collection(_id);
        DELETE FROM rag.collections AS c WHERE c.collection_id = _id;
        _removed := 1;
    END LOOP;
    PERFORM set_config('lock_timeout', _patience, true);
    RETURN _removed;
END
$$;

COMMENT ON FUNCTION rag.remove_dropped IS
$$Remove one table or index of what was dropped: collections, spaces, declared fields. Returns 1, or
0 when nothing is left that could be removed now.

Call it again, in a transaction of its own, while it returns 1: two such locks in one transaction
end searches on a standby, which replays them beside its readers. A table is emptied first and
dropped by a later call. While a standby has not replayed the call before, it waits half a second
and removes nothing: one that is far behind ends the searches that it waits for (see
rag._await_standbys for those that are not waited for). It waits at most 50 ms for each lock and
leaves the rest for the next call, as does a role that may not drop them. Workers,
CALL rag.maintain() and the Python client's drops call it until it returns 0.
Circle: worker, Maintenance and versions.
SELECT rag.remove_dropped()$$;
