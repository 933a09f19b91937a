-- Locks that any session of the database can hold: waited for, but not for ever.

CREATE OR REPLACE FUNCTION rag._take_lock(key bigint, shared boolean DEFAULT false,
                                          waits boolean DEFAULT false)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT CASE
            WHEN NOT waits AND shared THEN pg_try_advisory_xact_lock_shared(key)
            WHEN NOT waits THEN pg_try_advisory_xact_lock(key)
            WHEN shared THEN pg_advisory_xact_lock_shared(key) IS NOT NULL
            ELSE pg_advisory_xact_lock(key) IS NOT NULL
        END
        FROM (SELECT count(*) FROM rag.collections AS c WHERE c.collection_id = 0) AS rows_are
    );
END
$$;

COMMENT ON FUNCTION rag._take_lock IS
$$Take an advisory lock until the transaction ends; false where another has it and this does not
wait. It reads a table because Citus runs that where the rows are: a lock on the node that was asked
would hold off nobody on another.$$;


CREATE OR REPLACE FUNCTION rag._await_lock(key bigint, shared boolean DEFAULT false)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _patience CONSTANT text := current_setting('lock_timeout');
BEGIN
    IF rag._take_lock(key, shared) THEN
        RETURN;
    END IF;
    BEGIN
        PERFORM set_config('lock_timeout', coalesce(nullif(_patience, '0'), '1min'), true);
        PERFORM rag._take_lock(key, shared, waits => true);
        PERFORM set_config('lock_timeout', _patience, true);
        RETURN;
    EXCEPTION WHEN lock_not_available THEN
        NULL;
    END;
    PERFORM rag._refuse_wait(ARRAY(SELECT l.pid FROM pg_locks AS l
        JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
            AND ((l.classid::bigint << 32) | l.objid::bigint) = key));
END
$$;

COMMENT ON FUNCTION rag._await_lock IS
$$Take an advisory lock until the transaction ends. Error RG007 names who holds it, after a minute
or lock_timeout: any session of the database can, by accident or on purpose.$$;


CREATE OR REPLACE FUNCTION rag._refuse_wait(holders integer[])
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _pid integer;
    _user name;
BEGIN
    SELECT s.pid, s.usename INTO _pid, _user FROM pg_stat_activity AS s
    WHERE s.pid = ANY (holders) ORDER BY s.xact_start, s.pid LIMIT 1;
    RAISE EXCEPTION 'session % (%) holds a lock that this waits for', _pid, _user
    USING ERRCODE = 'RG007', HINT = format('end its transaction, or SELECT '
        'pg_terminate_backend(%s), and call this again', _pid);
END
$$;

COMMENT ON FUNCTION rag._refuse_wait IS
$$Error RG007, which names of the sessions that hold a lock the one that began first.$$;
