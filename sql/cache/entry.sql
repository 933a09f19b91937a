-- The entries of the cache: read and written by clients; searches themselves write nothing.

CREATE OR REPLACE FUNCTION rag._read_cache(
    kind text,
    keys bytea[],
    collection text DEFAULT NULL,
    OUT refusal text,
    OUT version bigint,
    OUT collection_key integer,
    OUT cached_values bytea[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    refusal := rag._cache_refusal();
    IF refusal IS NOT NULL THEN
        RETURN;
    END IF;
    version := rag._cache_version(_read_cache.collection);
    collection_key := CASE WHEN _read_cache.collection IS NULL THEN 0 ELSE
        (rag._require_collection(_read_cache.collection)).collection_id END;
    cached_values := ARRAY(
        SELECT e.value
        FROM unnest(_read_cache.keys) WITH ORDINALITY AS k (key, position)
        LEFT JOIN rag.cache_entries AS e
            ON e.role_id = quote_ident(current_user)::regrole::oid
            AND e.kind = _read_cache.kind AND e.key = k.key
            AND e.collection_id = _read_cache.collection_key AND e.version = _read_cache.version
            AND e.expires_at > statement_timestamp()
        ORDER BY k.position);
END
$$;

COMMENT ON FUNCTION rag._read_cache IS
$$What is cached under keys, NULL where nothing is, of the collection as this statement sees it.

kind: embedding, completion, search or answer. version: to be handed to rag._write_cache with what
is computed instead. refusal: why this role can be given nothing; then the rest is NULL.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._read_similar(
    collection text,
    scope bytea,
    query_embedding {vector}.halfvec,
    threshold double precision,
    result_limit integer DEFAULT 5)
RETURNS TABLE (question text, similarity double precision, key bytea)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF rag._cache_refusal() IS NOT NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT n.question, n.similarity, n.key
    FROM (
        SELECT e.question, e.key,
               1 - (e.embedding::{vector}.halfvec OPERATOR({vector}.<=>) query_embedding)
                   AS similarity
        FROM rag.cache_entries AS e
        WHERE e.scope = _read_similar.scope
            AND e.role_id = quote_ident(current_user)::regrole::oid
            AND e.version = rag._cache_version(_read_similar.collection)
            AND e.expires_at > statement_timestamp()
            AND cardinality(e.embedding) = {vector}.vector_dims(query_embedding)
    ) AS n
    WHERE n.similarity >= threshold
    ORDER BY n.similarity DESC, n.key
    LIMIT result_limit;
END
$$;

COMMENT ON FUNCTION rag._read_similar IS
$$Cached questions that are at least so similar to another one, nearest first: cosine similarity,
-1 to 1. All of the same scope are compared. scope: what stands for everything else that an answer
depends on.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._write_cache(
    kind text,
    keys bytea[],
    cached_values bytea[],
    ttl interval,
    max_bytes bigint,
    collection text DEFAULT NULL,
    version bigint DEFAULT 0,
    saved_tokens bigint DEFAULT 0,
    saved_cost double precision DEFAULT 0,
    question text DEFAULT NULL,
    scope bytea DEFAULT NULL,
    query_embedding {vector}.halfvec DEFAULT NULL,
    age double precision DEFAULT 0)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection_id integer := 0;
BEGIN
    IF _write_cache.collection IS NOT NULL THEN
        _collection_id := (rag._require_collection(_write_cache.collection)).collection_id;
        -- What is being erased is not kept; the version is read after that.
        IF NOT rag._take_lock(rag._erasure_lock(_collection_id), shared => true)
            OR rag._erased_since_snapshot() THEN
            RETURN false;
        END IF;
    ELSIF _write_cache.kind = 'completion' AND rag._any_erased(_write_cache.age) THEN
        RETURN false;
    END IF;
    IF rag._cache_refusal() IS NOT NULL
        OR rag._cache_version(_write_cache.collection) <> _write_cache.version THEN
        RETURN false;
    END IF;
    -- In the order of keys, so that two writers of the same ones lock them alike.
    INSERT INTO rag.cache_entries AS e
        (kind, key, collection_id, version, value, question, scope, embedding, saved_tokens,
         saved_cost, expires_at)
    SELECT DISTINCT ON (w.key) _write_cache.kind, w.key, _collection_id, _write_cache.version,
           w.value, _write_cache.question, _write_cache.scope, _write_cache.query_embedding::real[],
           _write_cache.saved_tokens, _write_cache.saved_cost,
           clock_timestamp() + _write_cache.ttl
    FROM unnest(_write_cache.keys, _write_cache.cached_values) AS w (key, value)
    ORDER BY w.key
    ON CONFLICT ON CONSTRAINT cache_entries_pkey DO UPDATE SET
        collection_id = excluded.collection_id, version = excluded.version,
        value = excluded.value, question = excluded.question, scope = excluded.scope,
        embedding = excluded.embedding, saved_tokens = excluded.saved_tokens,
        saved_cost = excluded.saved_cost, created_at = excluded.created_at,
        used_at = excluded.used_at, expires_at = excluded.expires_at;
    IF random() < 1 / 64.0 THEN
        PERFORM rag._trim_cache(_write_cache.max_bytes);
    END IF;
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag._write_cache IS
$$Keep what was computed, for the caller's role alone. False, and nothing is kept, where the
collection is no longer of the version that rag._read_cache gave before, or a document of it is
being erased; for a completion also where one was erased since what it was made of was read, age
seconds ago.

max_bytes: of all entries of the role; now and then, those used longest ago go. question, scope,
query_embedding: what rag._read_similar finds it by. saved_tokens, saved_cost: what a hit saves.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._trim_cache(max_bytes bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _removed bigint;
    _now CONSTANT timestamptz := clock_timestamp();
BEGIN
    WITH sized AS (
        SELECT e.ctid AS row_id, e.expires_at, e.collection_id,
               sum(octet_length(e.value) + 200)
                   OVER (PARTITION BY e.role_id ORDER BY e.used_at DESC, e.key) AS bytes
        FROM rag.cache_entries AS e
    ), doomed AS (
        DELETE FROM rag.cache_entries AS e
        WHERE e.ctid = ANY (ARRAY(
            SELECT x.ctid FROM rag.cache_entries AS x
            WHERE x.ctid = ANY (ARRAY(
                SELECT s.row_id FROM sized AS s
                WHERE s.bytes > max_bytes OR s.expires_at < _now
                    OR s.collection_id <> 0 AND NOT EXISTS (
                        SELECT FROM rag.collections AS c
                        WHERE c.collection_id = s.collection_id AND c.dropped_at IS NULL)))
            FOR UPDATE SKIP LOCKED))
        RETURNING 1
    )
    SELECT count(*) INTO _removed FROM doomed;
    RETURN _removed;
END
$$;

COMMENT ON FUNCTION rag._trim_cache IS
$$Remove entries that have expired or whose collection is gone, and those used longest ago where the
entries of a role have more bytes. Of those that the caller sees. Waits for nobody.$$;
