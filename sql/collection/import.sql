-- A collection made of what was exported, a file in a transaction, under another name until whole.

CREATE OR REPLACE FUNCTION rag._half_imported(name text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN left(name, 93) || '~import';  -- a name has at most 100 characters

COMMENT ON FUNCTION rag._half_imported IS
$$What a collection is called until its import is done: a search by its name finds none of it.$$;


CREATE OR REPLACE FUNCTION rag._import_state(export_id text, files integer, moved_by bigint)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format('half imported: export %s, %s files, ids of chunks moved by %s', export_id, files,
    moved_by);

COMMENT ON FUNCTION rag._import_state IS
$$The description of a collection that is being imported: how far it is, and what is added to each
id of a chunk.$$;


CREATE OR REPLACE FUNCTION rag._import_target(name text, export_id text, for_update boolean)
RETURNS TABLE (target rag.collections, files integer, moved_by bigint)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _parts text[];
BEGIN
    PERFORM rag._require_owner('import a collection');
    target := rag._find_collection(rag._half_imported(_import_target.name));
    IF target.collection_id IS NULL THEN
        RETURN;
    END IF;
    IF for_update THEN
        SELECT c.* INTO target FROM rag.collections AS c
        WHERE c.collection_id = target.collection_id AND c.dropped_at IS NULL FOR UPDATE;
    END IF;
    _parts := regexp_match(target.description, '^half imported: export ([^ ,]+), ([0-9]+) files, '
        'ids of chunks moved by (-?[0-9]+)$');
    IF _parts[1] IS DISTINCT FROM export_id THEN
        RAISE EXCEPTION 'collection ''%'' is half of another import', target.name
        USING ERRCODE = 'RG003', HINT = format('go on with that one, or remove it: rag-pg drop %s',
            target.name);
    END IF;
    files := _parts[2];
    moved_by := _parts[3];
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION rag._import_target IS
$$The half of an import that is there, how many files of it, and what is added to ids of chunks; no
row: it has not begun. Error RG003 where it is that of another export.$$;


CREATE OR REPLACE FUNCTION rag._begin_import(name text, settings jsonb, export_id text,
    first_chunk bigint, last_chunk bigint)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO off
AS $$
DECLARE
    unused CONSTANT bigint := 1000000;
    _half CONSTANT text := rag._half_imported(_begin_import.name);
    _source CONSTANT rag.collections := jsonb_populate_record(NULL::rag.collections,
        settings -> 'collection');
    _space rag.spaces;
    _spaces CONSTANT rag.spaces[] := ARRAY(SELECT s FROM jsonb_populate_recordset(NULL::rag.spaces,
        settings -> 'spaces') AS s);
    _active CONSTANT rag.spaces := _spaces[1];
    _files integer;
    _moved_by bigint;
    _id integer;
BEGIN
    PERFORM rag._require_owner('import a collection');
    IF EXISTS (SELECT FROM rag.collections AS c WHERE c.name = _begin_import.name
        AND c.dropped_at IS NULL) THEN
        RAISE EXCEPTION 'there is a collection ''%'' already', _begin_import.name
        USING ERRCODE = 'RG012', HINT = 'import under another name, or drop that one first';
    END IF;
    IF _source.tenant NOT IN ('', '*') THEN
        PERFORM rag._require_tenant(_source.tenant);
    END IF;
    SELECT t.files INTO _files FROM rag._import_target(_begin_import.name, export_id, false) AS t;
    IF FOUND THEN
        RETURN _files;
    END IF;
    _id := rag.create_collection(_half, _active.model, _active.dimensions, _active.distance,
        rag._find_language(_source.language), _source.chunking, _active.index_options);
    -- Beyond what sessions that write beside this have taken: ids keep their order.
    SELECT s.last_value + unused - first_chunk INTO _moved_by FROM rag.chunk_ids AS s;
    PERFORM setval('rag.chunk_ids', last_chunk + _moved_by + unused);
    UPDATE rag.collections AS c
    SET description = rag._import_state(export_id, 0, _moved_by)
    WHERE c.collection_id = _id;
    -- Built over all vectors at the end.
    EXECUTE format('DROP INDEX IF EXISTS rag.%I',
        rag._index_name((rag._active_space(_id)).space_id));
    FOREACH _space IN ARRAY _spaces[2:] LOOP
        INSERT INTO rag.spaces AS s (collection_id, model, fingerprint, dimensions, distance,
            index_options, state, created_at, activated_at, ef_search)
        VALUES (_id, _space.model, _space.fingerprint, _space.dimensions, _space.distance,
            _space.index_options, _space.state, _space.created_at, _space.activated_at,
            _space.ef_search)
        RETURNING s.* INTO _space;
        CALL rag._open_space(_space.space_id, indexed => false);
    END LOOP;
    PERFORM rag.index_field(_half, f.key, f.value)
    FROM jsonb_each_text(settings -> 'fields') AS f ORDER BY f.key;
    INSERT INTO rag.enrichments AS e (collection_id, kind, settings, version)
    SELECT _id, r.kind, r.settings, r.version
    FROM jsonb_populate_recordset(NULL::rag.enrichments, settings -> 'enrichments') AS r;
    RETURN 0;
END
$$;

COMMENT ON FUNCTION rag._begin_import IS
$$Make an empty collection by what rag._export_settings gave, or find the half that is there.
Returns how many files it has. It is called name~import until rag._finish_import.

export_id: of the export. first_chunk, last_chunk: the least and the greatest id of its chunks; they
are moved beyond all ids that are given here.
Error RG012 where there is a collection of that name, RG002 for a tenant that there is not here.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._import_file(name text, export_id text, file_number integer,
    kind text, of_rows jsonb, of_chunks jsonb, vector_chunks bigint[], vector_spaces integer[],
    vectors {vector}.halfvec[])
RETURNS text[]
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _half record;
    _id integer;
    _table CONSTANT text := CASE kind WHEN 'versions' THEN 'document_versions' ELSE kind END;
    _rows jsonb;
    _columns text[];
    _chunks bigint[];
    _left_out text[];
    _space record;
BEGIN
    SELECT t.target, t.files, t.moved_by INTO STRICT _half
    FROM rag._import_target(_import_file.name, export_id, true) AS t;
    IF _half.files <> file_number - 1 THEN
        RAISE EXCEPTION 'file % does not follow: % are imported', file_number, _half.files
        USING ERRCODE = 'RG003', HINT = 'another program imports the same export; let it end';
    END IF;
    _id := (_half.target).collection_id;
    SELECT jsonb_agg(r.value || jsonb_build_object('collection_id', _id, 'document_id',
        rag.document_id(_import_file.name, r.value ->> 'uri')))
    INTO _rows
    FROM jsonb_array_elements(of_rows) AS r;
    -- Under the columns that the table has here; columns that the rows have not get their defaults.
    -- So a folder of an earlier or later release is read.
    _columns := ARRAY(
        SELECT a.attname::text FROM pg_attribute AS a
        WHERE a.attrelid = format('rag.%I', _table)::regclass AND a.attnum > 0
            AND NOT a.attisdropped AND _rows -> 0 ? a.attname::text);
    IF _columns <> '{}' THEN
        EXECUTE format('INSERT INTO rag.%1$I (%2$s) SELECT %2$s '
            'FROM jsonb_populate_recordset(NULL::rag.%1$I, $1) AS r', _table,
            (SELECT string_agg(quote_ident(c.name), ', ') FROM unnest(_columns) AS c (name)))
        USING _rows;
    END IF;
    _left_out := ARRAY(SELECT k.key FROM jsonb_object_keys(_rows -> 0) AS k (key)
        WHERE k.key <> ALL (_columns) AND NOT (kind = 'originals' AND k.key = 'uri'));
    WITH given AS MATERIALIZED (
        SELECT c.*, d.document_id AS new_document, d.title, d.tenant AS of_tenant, d.acl AS of_acl
        FROM jsonb_populate_recordset(NULL::rag.chunks, of_chunks) AS c
        JOIN (SELECT (o.value ->> 'document_id')::uuid AS old_id,
                  rag.document_id(_import_file.name, o.value ->> 'uri') AS new_id
              FROM jsonb_array_elements(of_rows) AS o) AS o ON o.old_id = c.document_id
        JOIN rag.documents AS d ON d.collection_id = _id AND d.document_id = o.new_id
    ), texts AS (
        SELECT array_agg(g.chunk_id ORDER BY g.chunk_id) AS ids,
            array_agg(coalesce(g.language, (_half.target).language) ORDER BY g.chunk_id)
                AS languages,
            array_agg(rag.embedded_text(g.title, g.heading, rag._in_context(g.context, g.content))
                ORDER BY g.chunk_id) AS searchable
        FROM given AS g
    ), stored AS (
        INSERT INTO rag.chunks AS c
            (collection_id, chunk_id, document_id, ordinal, start_offset, stop_offset, heading,
             content, content_hash, metadata, tenant, acl, language, lexemes, lexeme_count,
             enriched, context, context_source)
        SELECT _id, g.chunk_id + _half.moved_by, g.new_document, g.ordinal, g.start_offset,
            g.stop_offset, g.heading, g.content, g.content_hash, g.metadata, g.of_tenant, g.of_acl,
            g.language, x.lexemes, x.lexeme_count, g.enriched, g.context, g.context_source
        FROM texts AS t,
        ROWS FROM (unnest(t.ids), rag._lex_texts(t.languages, t.searchable))
            AS x (id, lexemes, lexeme_count)
        JOIN given AS g ON g.chunk_id = x.id
        RETURNING c.chunk_id
    )
    SELECT array_agg(s.chunk_id) INTO _chunks FROM stored AS s;
    IF _chunks IS NOT NULL THEN
        PERFORM rag._index_chunks(_id, _chunks);
    END IF;
    FOR _space IN SELECT s.space_id, s.ordinality FROM rag._live_spaces(_id) WITH ORDINALITY AS s
    LOOP
        INSERT INTO rag.embeddings AS e (space_id, chunk_id, embedding)
        SELECT _space.space_id, v.chunk_id + _half.moved_by, v.embedding
        FROM unnest(vector_chunks, vector_spaces, vectors) AS v (chunk_id, space, embedding)
        WHERE v.space = _space.ordinality;
    END LOOP;
    UPDATE rag.collections AS c
    SET description = rag._import_state(export_id, file_number, _half.moved_by)
    WHERE c.collection_id = _id;
    RETURN _left_out;
END
$$;

COMMENT ON FUNCTION rag._import_file IS
$$Store one file of an export, all of it or nothing; error RG003 where it is not the next one.

kind: documents, versions or originals. of_rows: as rag._export_page and rag._export_rows gave them.
of_chunks: of these documents, with their old ids, by which the three arrays tell what each vector
is of; vector_spaces: numbers as in rag._export_page. Texts are lexed here; nothing is embedded.
Returns the names of columns that there are not here.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._finish_import(name text, export_id text, settings jsonb,
    file_count integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _half record;
    _id integer;
    _space rag.spaces;
BEGIN
    SELECT t.target, t.files INTO STRICT _half
    FROM rag._import_target(_finish_import.name, export_id, true) AS t;
    IF _half.files <> file_count THEN
        RAISE EXCEPTION '% of % files are imported', _half.files, file_count
        USING ERRCODE = 'RG003', HINT = 'another program imports the same export; let it end';
    END IF;
    _id := (_half.target).collection_id;
    _space := rag._active_space(_id);
    IF rag._index_state(_space) = 'missing' THEN
        CALL rag._build_index(_space);
    END IF;
    -- Scores depend on how similar a sample of vectors was: they stay those of the source.
    UPDATE rag.spaces AS s
    SET fingerprint = o.fingerprint, similarity_mean = o.similarity_mean,
        similarity_spread = o.similarity_spread, measured_chunks = coalesce(o.measured_chunks, 0),
        ef_search = o.ef_search, created_at = coalesce(o.created_at, s.created_at)
    FROM rag._live_spaces(_id) WITH ORDINALITY AS k
    JOIN jsonb_populate_recordset(NULL::rag.spaces, settings -> 'spaces') WITH ORDINALITY AS o
        ON o.ordinality = k.ordinality
    WHERE s.space_id = k.space_id;
    PERFORM rag._queue_jobs(_id, ARRAY(SELECT d.document_id FROM rag.documents AS d
        WHERE d.collection_id = _id AND d.indexed_version < d.version), 'ingest');
    INSERT INTO rag.backlogs AS b (collection_id, kind, space_id)
    SELECT _id, 'embed', s.space_id FROM rag._live_spaces(_id) AS s
    WHERE rag._missing_vectors(s) > 0;
    UPDATE rag.collections AS c
    SET name = _finish_import.name, description = coalesce(o.description, ''),
        keep_versions = coalesce(o.keep_versions, '0'),
        keep_answers = coalesce(o.keep_answers, '0'),
        sample_queries = coalesce(o.sample_queries, 0),
        keep_query_text = coalesce(o.keep_query_text, false),
        keep_queries = coalesce(o.keep_queries, c.keep_queries),
        max_queries = coalesce(o.max_queries, c.max_queries),
        recall_target = coalesce(o.recall_target, 0),
        keep_original = coalesce(o.keep_original, false)
    FROM jsonb_populate_record(NULL::rag.collections, settings -> 'collection') AS o
    WHERE c.collection_id = _id;
    PERFORM rag.set_tenant(_finish_import.name, coalesce(settings #>> '{collection,tenant}', ''));
    PERFORM rag._note_change(_id);
    PERFORM pg_notify('rag_jobs', '');
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION 'there is a collection ''%'' already', _finish_import.name
    USING ERRCODE = 'RG012', HINT = 'drop that one, and import again: it goes on at its end';
END
$$;

COMMENT ON FUNCTION rag._finish_import IS
$$Make the collection of an import whole: its index, its settings, jobs for what was not searchable
where it came from, and then its name.
Circle: client.$$;
