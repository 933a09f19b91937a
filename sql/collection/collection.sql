-- Collections: created, listed, dropped.

CREATE OR REPLACE FUNCTION rag._require_collection(wanted text)
RETURNS rag.collections
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.collections;
BEGIN
    SELECT c.* INTO _found FROM rag.collections AS c WHERE c.name = wanted AND c.dropped_at IS NULL;
    IF _found.collection_id IS NULL THEN
        RAISE EXCEPTION 'there is no collection %',
            coalesce(quote_literal(left(wanted, 200)), 'NULL')
        USING ERRCODE = 'RG002', HINT = coalesce(
            (SELECT 'collections here: ' || string_agg(n.name, ', ' ORDER BY n.name)
             FROM (SELECT c.name FROM rag.collections AS c
                   WHERE c.dropped_at IS NULL ORDER BY c.name LIMIT 10) AS n),
            'create one with rag.create_collection(name)');
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._require_collection(text) IS
$$The collection of that name, or error RG002 naming those that exist.$$;


CREATE OR REPLACE FUNCTION rag.create_collection(
    name text,
    model text DEFAULT 'minilm',
    dimensions integer DEFAULT 384,
    distance text DEFAULT 'cosine',
    language regconfig DEFAULT 'english',
    chunking jsonb DEFAULT '{}',
    index_options jsonb DEFAULT '{}')
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _options jsonb;
    _chunking jsonb := coalesce(create_collection.chunking, '{}');
    _language text := rag._language_name(create_collection.language);
    _collection rag.collections;
    _space rag.spaces;
    _space_id integer;
    _parent text;
    _differs text;
BEGIN
    IF coalesce(create_collection.name, '') !~ '^[^[:space:]/]{1,100}$' THEN
        RAISE EXCEPTION 'collection name % is not usable',
            coalesce(quote_literal(left(create_collection.name, 200)), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 1 to 100 characters without spaces or slashes';
    END IF;
    IF _language IS NULL THEN
        RAISE EXCEPTION 'a collection needs a language' USING ERRCODE = 'RG001',
        HINT = 'language is a text search configuration, e.g. english';
    END IF;
    PERFORM rag._check_chunking(_chunking);
    _options := rag._space_options(create_collection.model, create_collection.dimensions,
        create_collection.distance,
                                  create_collection.index_options);

    IF NOT EXISTS (SELECT FROM rag.collections AS c WHERE c.name = create_collection.name
        AND c.dropped_at IS NULL) THEN
        INSERT INTO rag.collections AS c (name, language, chunking, k1, b)
        VALUES (create_collection.name, _language, _chunking,
                (_options ->> 'k1')::double precision, (_options ->> 'b')::double precision)
        ON CONFLICT DO NOTHING
        RETURNING c.* INTO _collection;
    END IF;

    IF _collection.collection_id IS NULL THEN
        _collection := rag._require_collection(create_collection.name);
        _space := rag._active_space(_collection.collection_id);
        _differs := concat_ws('; ',
            CASE WHEN _space.model <> create_collection.model
                 THEN format('model is %s, not %s', _space.model, create_collection.model) END,
            CASE WHEN _space.dimensions <> create_collection.dimensions
                 THEN format('dimensions are %s, not %s', _space.dimensions,
                     create_collection.dimensions) END,
            CASE WHEN _space.distance <> create_collection.distance
                 THEN format('distance is %s, not %s', _space.distance, create_collection.distance)
                     END,
            CASE WHEN _collection.language <> _language
                 THEN format('language is %s, not %s', _collection.language, _language) END,
            CASE WHEN _collection.chunking <> _chunking
                 THEN format('chunking is %s, not %s', _collection.chunking, _chunking) END,
            CASE WHEN _space.index_options <> _options
                 THEN format('index_options are %s, not %s', _space.index_options, _options) END);
        IF _differs <> '' THEN
            RAISE EXCEPTION 'collection ''%'' exists with other settings: %',
                create_collection.name, _differs
            USING ERRCODE = 'RG003',
                HINT = 'use another name; rag.create_space changes the model, rag.set_chunking the '
                    'chunking';
        END IF;
        RETURN _collection.collection_id;
    END IF;

    INSERT INTO rag.spaces AS s
        (collection_id, model, dimensions, distance, index_options, state, activated_at)
    VALUES (_collection.collection_id, create_collection.model, create_collection.dimensions,
            create_collection.distance, _options, 'active', now())
    RETURNING s.space_id INTO _space_id;
    FOREACH _parent IN ARRAY rag._collection_tables() LOOP
        CALL rag._attach_partition(_parent, _collection.collection_id);
    END LOOP;
    CALL rag._open_space(_space_id);
    -- Its rows live from one merge to the next: vacuum by number, not by share.
    EXECUTE format('ALTER TABLE rag.%I SET (autovacuum_vacuum_scale_factor = 0, '
        'autovacuum_vacuum_threshold = 2000)',
                   'keyword_changes_' || _collection.collection_id);
    RETURN _collection.collection_id;
END
$$;

COMMENT ON FUNCTION rag.create_collection(text, text, integer, text, regconfig, jsonb, jsonb) IS
$$Make a collection, its partitions and its first embedding space. Returns the collection's id.

Idempotent with equal settings; error RG003 names the difference otherwise.
name: 1 to 100 characters. model: what makes the vectors, by rag_pg's name or your own. dimensions:
1 to 16000. distance: cosine, l2 or ip. language: default text search configuration; rag.auto: each
document's is detected (rag.detect_language) where it comes without one.
chunking: {"max_tokens": 16 to 8192 (default 256), "overlap": 0 to 0.5 (default 0.12), "method":
"auto"}; methods: auto (by media type), text, markdown, code, conversation, fixed, sentence,
semantic ("breakpoint": 0 to 1, default 0.9), small-to-big ("parent_tokens", default 512; max_tokens
then defaults to 64).
index_options: {"kind": "hnsw", "m": 16, "ef_construction": 64, "k1": 1.2, "b": 0.75}. kind: hnsw
(halfvec, to 4000 dimensions), binary (HNSW over one bit a dimension, ten times the candidates
re-scored exactly: the default above 4000), exact (no index: every search compares every vector).
Small collections are searched exactly whatever the kind: rag._exact_search_limit(integer).$$;


CREATE OR REPLACE FUNCTION rag.list_collections()
RETURNS SETOF rag.collection_info
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT c.collection_id, c.name, s.model, s.dimensions, s.distance, c.language, c.chunking,
           s.fingerprint, s.space_id, c.description,
           extract(epoch FROM c.keep_versions)::double precision,
           extract(epoch FROM c.keep_answers)::double precision,
           c.sample_queries, c.keep_query_text,
           extract(epoch FROM c.keep_queries)::double precision, c.max_queries, c.recall_target,
           s.ef_search, c.keep_original
    FROM rag.collections AS c
    JOIN rag.spaces AS s ON s.collection_id = c.collection_id AND s.state = 'active'
    WHERE c.dropped_at IS NULL
    ORDER BY c.name;
END
$$;

COMMENT ON FUNCTION rag.list_collections() IS
$$Every collection with its settings and its active embedding space, by name.$$;


CREATE OR REPLACE FUNCTION rag.get_collection(name text)
RETURNS SETOF rag.collection_info
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(get_collection.name);
    _space rag.spaces := rag._require_active_space(_collection.collection_id);
BEGIN
    RETURN NEXT (_collection.collection_id, _collection.name, _space.model, _space.dimensions,
                 _space.distance, _collection.language, _collection.chunking, _space.fingerprint,
                 _space.space_id, _collection.description,
                 extract(epoch FROM _collection.keep_versions),
                 extract(epoch FROM _collection.keep_answers),
                 _collection.sample_queries, _collection.keep_query_text,
                 extract(epoch FROM _collection.keep_queries), _collection.max_queries,
                 _collection.recall_target, _space.ef_search,
                 _collection.keep_original)::rag.collection_info;
END
$$;

COMMENT ON FUNCTION rag.get_collection(text) IS
$$One collection with its settings and its active embedding space. Error RG002 names those that
exist when there is none of that name.$$;


CREATE OR REPLACE FUNCTION rag._lock_collection(collection_key integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _timeout text := current_setting('lock_timeout');
BEGIN
    FOR _attempt IN 1..200 LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '100ms', true);
            EXECUTE (
                SELECT 'LOCK TABLE ' || string_agg(format('rag.%I', x.name), ', ')
                FROM (
                    SELECT t.parent || '_' || collection_key AS name
                    FROM unnest(rag._collection_tables()) AS t (parent)
                    UNION ALL
                    SELECT 'embeddings_' || s.space_id FROM rag.spaces AS s
                    WHERE s.collection_id = collection_key
                ) AS x
            );
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.01);  -- with no lock held
        END;
    END LOOP;
    PERFORM set_config('lock_timeout', _timeout, true);
END
$$;

COMMENT ON FUNCTION rag._lock_collection(integer) IS
$$Lock a collection's partitions against everybody, for a drop.

Searches reach them in several orders, so no order is free of deadlocks: whoever waits here for a
tenth of a second lets all of them go and begins again, long before deadlock_timeout ends a search.
$$;


CREATE OR REPLACE FUNCTION rag.drop_collection(name text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(drop_collection.name)).collection_id;
    _space_id integer;
BEGIN
    UPDATE rag.collections AS c SET dropped_at = now() WHERE c.collection_id = _id;
    PERFORM rag._lock_collection(_id);
    EXECUTE (SELECT 'TRUNCATE ' || string_agg(format('rag.%I', t.parent || '_' || _id), ', ')
             FROM unnest(rag._collection_tables()) AS t (parent));
    PERFORM rag._clear_keyword(_id);
    FOR _space_id IN UPDATE rag.spaces AS s SET state = 'retired' WHERE s.collection_id = _id
        RETURNING s.space_id
    LOOP
        EXECUTE format('TRUNCATE rag.%I', 'embeddings_' || _space_id);
    END LOOP;
    DELETE FROM rag.fields AS f WHERE f.collection_id = _id;
    DELETE FROM rag.jobs AS j WHERE j.collection_id = _id;
    DELETE FROM rag.backlogs AS b WHERE b.collection_id = _id;
    DELETE FROM rag.enrichments AS e WHERE e.collection_id = _id;
    DELETE FROM rag.calibrations AS k WHERE k.collection_id = _id;
    PERFORM rag._forget_history(_id), rag._forget_live_queries(_id);
    DELETE FROM rag.gates AS g WHERE g.collection_id = _id;
    PERFORM rag._forget_sources(_id);
END
$$;

COMMENT ON FUNCTION rag.drop_collection(text) IS
$$Remove a collection and everything in it, at once: its own partitions are truncated, no other
collection is locked. The empty partitions are removed later by rag.remove_dropped().$$;


CREATE OR REPLACE FUNCTION rag.remove_dropped()
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- each has some 40 tables and indexes, and the server's lock table is finite
    at_once CONSTANT integer := 25;
    _collection_id integer;
    _space_id integer;
    _removed integer := 0;
    _patience text := current_setting('lock_timeout');
BEGIN
    IF NOT pg_has_role((SELECT r.relowner FROM pg_class AS r
        WHERE r.oid = 'rag.collections'::regclass), 'USAGE') THEN
        RETURN 0;
    END IF;
    PERFORM set_config('lock_timeout', '50ms', true);
    FOR _space_id IN
        SELECT s.space_id FROM rag.spaces AS s WHERE s.dropped_at IS NOT NULL
        LIMIT at_once FOR UPDATE SKIP LOCKED
    LOOP
        BEGIN
            EXECUTE format('DROP TABLE IF EXISTS rag.%I', 'embeddings_' || _space_id);
            DELETE FROM rag.spaces AS s WHERE s.space_id = _space_id;
        EXCEPTION WHEN lock_not_available OR deadlock_detected OR insufficient_privilege THEN
            NULL;
        END;
    END LOOP;
    FOR _collection_id IN
        SELECT c.collection_id FROM rag.collections AS c WHERE c.dropped_at IS NOT NULL
        LIMIT at_once FOR UPDATE SKIP LOCKED
    LOOP
        BEGIN
            FOR _space_id IN DELETE FROM rag.spaces AS s WHERE s.collection_id = _collection_id
                RETURNING s.space_id
            LOOP
                EXECUTE format('DROP TABLE IF EXISTS rag.%I', 'embeddings_' || _space_id);
            END LOOP;
            EXECUTE (SELECT 'DROP TABLE IF EXISTS ' ||
                string_agg(format('rag.%I', t.parent || '_' || _collection_id), ', ')
                     FROM unnest(rag._collection_tables()) AS t (parent));
            PERFORM rag._clear_keyword(_collection_id);
            DELETE FROM rag.fields AS f WHERE f.collection_id = _collection_id;
            -- of a put that raced the drop
            DELETE FROM rag.jobs AS j WHERE j.collection_id = _collection_id;
            DELETE FROM rag.backlogs AS b WHERE b.collection_id = _collection_id;
            DELETE FROM rag.collection_changes AS x WHERE x.collection_id = _collection_id;
            DELETE FROM rag.originals AS o WHERE o.collection_id = _collection_id;
            DELETE FROM rag.enrichments AS e WHERE e.collection_id = _collection_id;
            DELETE FROM rag.calibrations AS k WHERE k.collection_id = _collection_id;
            PERFORM rag._forget_history(_collection_id),
                rag._forget_live_queries(_collection_id);
            DELETE FROM rag.collections AS c WHERE c.collection_id = _collection_id;
            _removed := _removed + 1;
        EXCEPTION WHEN lock_not_available OR deadlock_detected OR insufficient_privilege THEN
            NULL;  -- somebody is reading, or only the owner may: next time
        END;
    END LOOP;
    PERFORM set_config('lock_timeout', _patience, true);
    RETURN _removed;
END
$$;

COMMENT ON FUNCTION rag.remove_dropped() IS
$$Drop the empty partitions of at most 25 dropped collections and 25 spaces; returns how many
collections are gone for good.

Call it again, in a transaction of its own, while it returns 25. Waits at most 50 ms for each lock
and leaves the rest for the next call, as does a role that may not drop them. Workers call it when
idle.$$;
