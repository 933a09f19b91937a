-- Locations that workers sync collections with: attached, listed, taken by one worker each.

CREATE OR REPLACE FUNCTION rag.attach_location(collection text, location text,
    every interval DEFAULT '1 hour', options jsonb DEFAULT '{}')
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    secret CONSTANT text := '(key(?!word)|secret|token|passw|pwd|credential|signature'
        '|auth(?!or(?!i))|cookie|session|%)';  -- an encoded name may be any
    _collection rag.collections := rag._require_collection(attach_location.collection);
    _id integer;
BEGIN
    PERFORM rag._require_owner('attach a location');
    IF coalesce(attach_location.location, '') !~ '^[a-z][a-z0-9+.-]*://[^[:space:][:cntrl:]]+$'
        OR length(attach_location.location) > 1500 THEN
        RAISE EXCEPTION 'the location is no address'
        USING ERRCODE = 'RG001',
            HINT = 'use one such as https://docs.example.com/ or s3://bucket/handbook/, '
            'of 1500 characters at most';
    END IF;
    -- Never the location itself: an error is shown and logged.
    IF attach_location.location ~ '://[^/?#@]*:(?![0-9]+[/?#])[^@]*@'
        OR attach_location.location ~ '^(git[+])?https?://[^/?#]*@'
        OR attach_location.location COLLATE "C" ~* '[?&#;]sig='
        OR attach_location.location COLLATE "C" ~* ('[?&#;][^=&#;]*' || secret || '[^=&#;]*=') THEN
        RAISE EXCEPTION 'the location holds a credential'
        USING ERRCODE = 'RG001',
            HINT = 'give it to the worker by its environment: see docs/guides/sources.md';
    END IF;
    -- No addresses either, to which a worker would take its credentials.
    IF jsonb_typeof(attach_location.options) IS DISTINCT FROM 'object' OR EXISTS (
        SELECT FROM jsonb_each(CASE jsonb_typeof(attach_location.options) WHEN 'object'
            THEN attach_location.options END) AS o
        WHERE jsonb_typeof(o.value) <> CASE o.key WHEN 'metadata' THEN 'object' ELSE 'number' END)
    THEN
        RAISE EXCEPTION 'options are not numbers by name, and metadata an object'
        USING ERRCODE = 'RG001', HINT = 'write them like {"depth": 2, "metadata": {"team": "web"}}'
            '; a store is set up where the worker runs';
    END IF;
    IF attach_location.every BETWEEN interval '1 minute' AND interval '1 year' IS NOT TRUE THEN
        RAISE EXCEPTION 'every is %', coalesce(attach_location.every::text, 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 1 minute to 1 year';
    END IF;
    INSERT INTO rag.locations AS l (location_id, collection_id, location, options, every)
    VALUES (rag._next_id('locations', 'location_id'), _collection.collection_id,
        attach_location.location, attach_location.options, attach_location.every)
    ON CONFLICT ON CONSTRAINT locations_location DO UPDATE SET
        options = excluded.options, every = excluded.every, due_at = excluded.due_at
    RETURNING l.location_id INTO _id;
    RETURN _id;
END
$$;

COMMENT ON FUNCTION rag.attach_location IS
$$Have workers keep a collection in step with a location: a website, a store, a repository.

A worker reads it with its own credentials, where RAG_PG_LOCATIONS lets it: by default only http and
https, and of these only public addresses. Attached again, it gets another schedule or other options
and is due at once. every: 1 minute to 1 year, from the end of a sync to the next. options:
numbers, as of rag-pg sync --set. Error RG001 where it holds a credential. The caller owns the
tables.
Circle: application, Sources.
SELECT rag.attach_location('docs', 'https://example.com/', '1 day')$$;


CREATE OR REPLACE FUNCTION rag.detach_location(collection text, location text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(detach_location.collection);
BEGIN
    PERFORM rag._require_owner('detach a location');
    DELETE FROM rag.locations AS l
    WHERE l.collection_id = _collection.collection_id AND l.location = detach_location.location;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION rag.detach_location IS
$$Stop syncing a collection with a location; its documents stay. False where it was not attached.
The caller owns the tables.
Circle: application, Sources.
SELECT rag.detach_location('docs', 'https://example.com/')$$;


CREATE OR REPLACE FUNCTION rag.list_locations(collection text DEFAULT NULL)
RETURNS TABLE (collection_name text, location text, state text, every interval,
    due_at timestamptz, synced_at timestamptz, result jsonb, last_error text, options jsonb,
    attached_at timestamptz)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _only integer := CASE WHEN list_locations.collection IS NOT NULL
        THEN (rag._require_collection(list_locations.collection)).collection_id END;
BEGIN
    RETURN QUERY
    SELECT c.name, l.location,
        CASE WHEN l.lease_expires_at > clock_timestamp() THEN 'syncing'
             WHEN l.last_error IS NOT NULL THEN 'broken'
             WHEN l.due_at < clock_timestamp() THEN 'due'
             ELSE 'waiting' END,
        l.every, l.due_at, l.synced_at, l.result, l.last_error, l.options, l.attached_at
    FROM rag.locations AS l
    JOIN rag.collections AS c ON c.collection_id = l.collection_id AND c.dropped_at IS NULL
    WHERE _only IS NULL OR l.collection_id = _only
    ORDER BY c.name, l.location;
END
$$;

COMMENT ON FUNCTION rag.list_locations IS
$$The locations that collections are synced with, and how it went.

state: syncing, broken (last_error says why; it is tried again when it is due), due (no worker that
may read it has come: RAG_PG_LOCATIONS) or waiting. result: documents changed, unchanged and deleted
by the last sync that could list it, and the first of those that failed.
Circle: application, Sources.
SELECT * FROM rag.list_locations()$$;


CREATE OR REPLACE FUNCTION rag._take_location(worker_name text, prefixes text[],
    collections text[] DEFAULT NULL, lease_seconds double precision DEFAULT 60)
RETURNS TABLE (location_id integer, collection_name text, location text, options jsonb)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _now CONSTANT timestamptz := clock_timestamp();
    _expires_at timestamptz;
BEGIN
    PERFORM rag._check_range('lease_seconds', lease_seconds, 1e-3, 31536000, 'RG001');
    _expires_at := _now + make_interval(secs => lease_seconds);
    IF NOT EXISTS (SELECT FROM rag.locations AS l WHERE l.due_at <= _now) THEN
        RETURN;  -- for who may not write, and where nobody may
    END IF;
    RETURN QUERY
    UPDATE rag.locations AS u
    SET worker = worker_name, lease_expires_at = _expires_at
    FROM (
        SELECT l.location_id, c.name FROM rag.locations AS l
        JOIN rag.collections AS c ON c.collection_id = l.collection_id AND c.dropped_at IS NULL
        WHERE l.due_at <= _now AND coalesce(l.lease_expires_at <= _now, true)
            AND (collections IS NULL OR c.name = ANY (collections))
            AND EXISTS (SELECT FROM unnest(prefixes) AS p (prefix)
                WHERE starts_with(l.location, p.prefix))
        ORDER BY l.due_at, l.location_id
        LIMIT 1
        FOR UPDATE OF l SKIP LOCKED
    ) AS d
    WHERE u.location_id = d.location_id
    RETURNING u.location_id, d.name, u.location, u.options;
END
$$;

COMMENT ON FUNCTION rag._take_location IS
$$Take the location that has been due longest, for one worker alone.

It is the worker's until its lease ends. prefixes: what the addresses that it may read begin with.
No row: nothing is due.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._extend_location(location_id integer, worker_name text,
    lease_seconds double precision DEFAULT 60)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _expires_at timestamptz;
BEGIN
    PERFORM rag._check_range('lease_seconds', lease_seconds, 1e-3, 31536000, 'RG001');
    _expires_at := clock_timestamp() + make_interval(secs => lease_seconds);
    UPDATE rag.locations AS l SET lease_expires_at = _expires_at
    WHERE l.location_id = _extend_location.location_id AND l.worker = worker_name;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION rag._extend_location IS
$$Hold a location that was taken for longer. False where it was taken over or detached.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._finish_location(location_id integer, worker_name text,
    sync_result jsonb, error text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _now CONSTANT timestamptz := clock_timestamp();
    _due_at CONSTANT timestamptz := _now + (SELECT l.every FROM rag.locations AS l
        WHERE l.location_id = _finish_location.location_id);
BEGIN
    UPDATE rag.locations AS l
    SET worker = NULL, lease_expires_at = NULL, due_at = _due_at,
        synced_at = CASE WHEN error IS NULL THEN _now ELSE l.synced_at END,
        result = coalesce(sync_result, l.result), last_error = left(error, 1000)
    WHERE l.location_id = _finish_location.location_id AND l.worker = worker_name;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION rag._finish_location IS
$$Note how a sync of a location went; the next is due after its interval. error: NULL where it could
be listed. False where it was taken over or detached meanwhile.
Circle: client.$$;
