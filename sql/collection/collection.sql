-- Collections: created, listed, dropped.

CREATE OR REPLACE FUNCTION rag._require_collection(wanted text)
RETURNS rag.collections
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.collections := rag._find_collection(wanted);
BEGIN
    IF _found.collection_id IS NULL THEN
        RAISE EXCEPTION 'there is no collection %',
            coalesce(quote_literal(left(wanted, 200)), 'NULL')
        USING ERRCODE = 'RG002', HINT = coalesce(
            'collections here: ' || array_to_string(rag._readable_collections(10), ', '),
            'create one with rag.create_collection(name)');
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._require_collection IS
$$The collection of that name, or error RG002 naming those that the caller may read.$$;


CREATE OR REPLACE FUNCTION rag._readable_collections(at_most integer)
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO on
AS $$
DECLARE
    _all_of_each CONSTANT boolean := rag._sees_all_chunks();
    _tenants CONSTANT text[] := rag.visible_tenants();
    _collection record;
    _names text[];
BEGIN
    IF NOT has_table_privilege('rag.documents', 'SELECT') THEN
        RETURN NULL;
    END IF;
    FOR _collection IN SELECT c.collection_id, c.name FROM rag.collections AS c
        WHERE c.dropped_at IS NULL AND (ARRAY['*', c.tenant] && _tenants
            OR c.tenant = '*' AND _tenants <> '{}')
        ORDER BY c.name LOOP
        IF _all_of_each OR EXISTS (SELECT FROM rag.documents AS d
            WHERE d.collection_id = _collection.collection_id) THEN
            _names := _names || _collection.name;
            EXIT WHEN cardinality(_names) = at_most;
        END IF;
    END LOOP;
    RETURN _names;
END
$$;

COMMENT ON FUNCTION rag._readable_collections IS
$$The names of the first collections that the caller may read: under a policy on documents those of
which it sees one. NULL for none.$$;


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
        INSERT INTO rag.collections AS c (collection_id, name, language, chunking, k1, b,
            lexer_version, index_format)
        VALUES (rag._next_id('collections', 'collection_id'), create_collection.name, _language,
                _chunking, (_options ->> 'k1')::double precision,
                (_options ->> 'b')::double precision, rag._lexer_version(), rag._index_format())
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
        (space_id, collection_id, model, dimensions, distance, index_options, state, activated_at)
    VALUES (rag._next_id('spaces', 'space_id'), _collection.collection_id,
            create_collection.model, create_collection.dimensions, create_collection.distance,
            _options, 'active', now())
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

COMMENT ON FUNCTION rag.create_collection IS
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
Small collections are searched exactly whatever the kind: rag._exact_search_limit(integer).
Circle: application 1, Collections.
SELECT rag.create_collection('papers', 'minilm', 384)$$;


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

COMMENT ON FUNCTION rag.list_collections IS
$$Every collection with its settings and its active space, by name.
Circle: application, Collections.
SELECT * FROM rag.list_collections()$$;


CREATE OR REPLACE FUNCTION rag.get_collection(name text)
RETURNS SETOF rag.collection_info
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(get_collection.name)).collection_id;
BEGIN
    PERFORM rag._require_active_space(_id);
    RETURN QUERY SELECT c.* FROM rag.list_collections() AS c WHERE c.collection_id = _id;
END
$$;

COMMENT ON FUNCTION rag.get_collection IS
$$One collection with its settings and its active embedding space. Error RG002 names those that
exist when there is none of that name.
Circle: application, Collections.
SELECT * FROM rag.get_collection('docs')$$;


CREATE OR REPLACE FUNCTION rag._forget_collection(collection_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO on
AS $$
DECLARE
    _table text;
BEGIN
    FOREACH _table IN ARRAY '{answer_feedback,answer_log,backlogs,cache_entries,cache_uses,
        calibrations,collection_changes,document_versions,enrichments,fields,gates,live_queries,
        locations,originals,recall_measures,worker_calls}'::text[] LOOP
        EXECUTE format('DELETE FROM rag.%I AS x WHERE x.collection_id = $1', _table)
        USING _forget_collection.collection_id;
    END LOOP;
    PERFORM rag._forget_sources(_forget_collection.collection_id);
    PERFORM rag._forget_jobs(_forget_collection.collection_id);
END
$$;

COMMENT ON FUNCTION rag._forget_collection IS
$$Delete the rows of a dropped collection outside its partitions: once when it is dropped, and again
when its partitions are gone, for what a writer beside the drop has left.$$;


CREATE OR REPLACE FUNCTION rag._forget_jobs(collection_id integer, of_space integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    DELETE FROM rag.jobs AS j
    WHERE j.job_id = ANY (ARRAY(
        SELECT x.job_id FROM rag.jobs AS x
        WHERE x.collection_id = _forget_jobs.collection_id AND (of_space IS NULL OR x.space_id =
            of_space)
        FOR UPDATE SKIP LOCKED));
END
$$;

COMMENT ON FUNCTION rag._forget_jobs IS
$$Delete the jobs of a dropped collection or space, but for those that another session holds at the
moment. The last thing of a transaction: whoever puts such a job again waits for its end.$$;


CREATE OR REPLACE FUNCTION rag.drop_collection(name text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(drop_collection.name)).collection_id;
BEGIN
    PERFORM rag._require_owner('drop a collection');
    UPDATE rag.collections AS c SET dropped_at = now()
    WHERE c.collection_id = _id AND c.dropped_at IS NULL;
    UPDATE rag.spaces AS s SET state = 'retired' WHERE s.collection_id = _id;
    PERFORM rag._forget_collection(_id);
END
$$;

COMMENT ON FUNCTION rag.drop_collection IS
$$Remove a collection: nobody finds it from then on, its name is free, and it waits for no reader
and no writer.

Its tables with their texts and vectors are emptied and removed by rag.remove_dropped(), one in a
transaction: by the next idle worker, at once by the Python client and "rag-pg drop", or by
CALL rag.maintain().
Circle: application, Collections.
SELECT rag.drop_collection('docs')$$;
