-- What the cache saves: counted by clients in batches, summed here; and emptied.

CREATE OR REPLACE FUNCTION rag._count_cache_uses(uses jsonb, used_keys bytea[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _now CONSTANT timestamptz := clock_timestamp();
BEGIN
    INSERT INTO rag.cache_uses (kind, collection_id, hits, misses, saved_tokens, saved_cost)
    SELECT u.kind, u.collection_key, u.hits, u.misses,
           u.saved_tokens, u.saved_cost
    FROM jsonb_to_recordset(uses) AS u (kind text, collection_key integer, hits bigint,
        misses bigint, saved_tokens bigint, saved_cost double precision);
    UPDATE rag.cache_entries AS e SET used_at = _now
    WHERE e.ctid = ANY (ARRAY(
        SELECT x.ctid FROM rag.cache_entries AS x
        WHERE x.role_id = quote_ident(current_user)::regrole::oid
            AND x.key = ANY (used_keys)
            AND x.used_at < _now - interval '1 minute'
        FOR UPDATE SKIP LOCKED));
    IF random() < 1 / 16.0 THEN
        PERFORM rag._fold_cache_uses();
    END IF;
END
$$;

COMMENT ON FUNCTION rag._count_cache_uses IS
$$Add up uses that a client has counted: [{"kind", "collection_key", "hits", "misses",
"saved_tokens", "saved_cost"}], and note that the entries of these keys were used. Each call adds
rows of its own, so clients do not wait for each other.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._fold_cache_uses()
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN;
    END IF;
    WITH folded AS (
        DELETE FROM rag.cache_uses AS u
        WHERE u.ctid = ANY (ARRAY(
            SELECT x.ctid FROM rag.cache_uses AS x LIMIT 10000 FOR UPDATE SKIP LOCKED))
        RETURNING u.*
    )
    INSERT INTO rag.cache_uses
    SELECT f.kind, f.collection_id, sum(f.hits), sum(f.misses), sum(f.saved_tokens),
           sum(f.saved_cost)
    FROM folded AS f
    GROUP BY f.kind, f.collection_id;
END
$$;

COMMENT ON FUNCTION rag._fold_cache_uses IS
$$Put one row of each kind and collection in the place of what clients have counted.$$;


CREATE OR REPLACE FUNCTION rag.cache_stats()
RETURNS TABLE (collection text, kind text, entries bigint, bytes bigint, hits bigint,
               misses bigint, saved_tokens bigint, saved_cost double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'this server is a standby, whose cache cannot be read'
        USING ERRCODE = 'RG007', HINT = 'ask the primary';
    END IF;
    RETURN QUERY
    SELECT c.name, coalesce(e.kind, u.kind), coalesce(e.entries, 0), coalesce(e.bytes, 0),
           coalesce(u.hits, 0)::bigint, coalesce(u.misses, 0)::bigint,
           coalesce(u.saved_tokens, 0)::bigint, coalesce(u.saved_cost, 0)
    FROM (
        SELECT x.collection_id, x.kind, count(*) AS entries,
               sum(octet_length(x.value))::bigint AS bytes
        FROM rag.cache_entries AS x GROUP BY x.collection_id, x.kind
    ) AS e
    FULL JOIN (
        SELECT x.collection_id, x.kind, sum(x.hits) AS hits, sum(x.misses) AS misses,
               sum(x.saved_tokens) AS saved_tokens, sum(x.saved_cost) AS saved_cost
        FROM rag.cache_uses AS x GROUP BY x.collection_id, x.kind
    ) AS u ON u.collection_id = e.collection_id AND u.kind = e.kind
    LEFT JOIN rag.collections AS c ON c.collection_id = coalesce(e.collection_id, u.collection_id)
    WHERE coalesce(e.collection_id, u.collection_id) = 0 OR c.dropped_at IS NULL
    ORDER BY c.name NULLS FIRST, 2;
END
$$;

COMMENT ON FUNCTION rag.cache_stats IS
$$What it holds and has saved.
A row for each kind and collection; collection NULL: what depends on none (embedding, completion).

entries, bytes: of the caller's role; the owner of the tables sees those of all. hits, misses,
saved_tokens, saved_cost (US dollars): of all roles since the last crash of the server; clients
count in batches, so the last few seconds may be missing.
Circle: application, Cache.
SELECT * FROM rag.cache_stats()$$;


CREATE OR REPLACE FUNCTION rag.clear_cache(collection text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer;
    _removed bigint;
BEGIN
    PERFORM rag._require_writable('rag.clear_cache', 'removes what is kept');
    IF clear_cache.collection IS NOT NULL THEN
        _id := (rag._require_collection(clear_cache.collection)).collection_id;
    END IF;
    DELETE FROM rag.cache_entries AS e WHERE _id IS NULL OR e.collection_id = _id;
    GET DIAGNOSTICS _removed = ROW_COUNT;
    RETURN _removed;
END
$$;

COMMENT ON FUNCTION rag.clear_cache IS
$$Empty the cache of a collection; NULL: all of it, query vectors and calls of models too. Returns
how many entries there were. Those of the caller's role; the owner of the tables clears all.
Circle: application, Cache.
SELECT rag.clear_cache('docs')$$;
