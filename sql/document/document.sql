CREATE OR REPLACE FUNCTION rag.added_metadata(of_chunk jsonb, of_document jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_object_agg(f.key, f.value), '{}') FROM jsonb_each(of_chunk) AS f
        WHERE of_document -> f.key IS DISTINCT FROM f.value);

COMMENT ON FUNCTION rag.added_metadata(jsonb, jsonb) IS
$$What a chunk's metadata has beside its document's: that which the chunker found.$$;


CREATE OR REPLACE FUNCTION rag.check_metadata(metadata jsonb, document_uri text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF jsonb_typeof(metadata) <> 'object' THEN
        RAISE EXCEPTION 'metadata in document ''%'' is a JSON %', document_uri, jsonb_typeof(metadata)
        USING ERRCODE = 'RG001', HINT = 'metadata is a JSON object, e.g. {"lang": "en"}';
    END IF;
    IF pg_column_size(metadata) > 262144 THEN
        RAISE EXCEPTION 'metadata in document ''%'' has % bytes, at most 262144 are kept', document_uri,
            pg_column_size(metadata)
        USING ERRCODE = 'RG001', HINT = 'it is copied to every chunk and every hit: put long texts into the content, '
            'or keep them in a table of yours';
    END IF;
END
$$;

COMMENT ON FUNCTION rag.check_metadata(jsonb, text) IS
$$Error RG001 unless a document's or a chunk's metadata is a JSON object of at most 256 kB.$$;


CREATE OR REPLACE FUNCTION rag.save_document(into_collection rag.collections, document_uri text, document_title text,
                                             document_content text, document_metadata jsonb, document_media_type text,
                                             document_language text, ready_made boolean,
                                             OUT saved_id uuid, OUT text_changed boolean)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _collection_id integer := into_collection.collection_id;
    _title text := left(btrim(regexp_replace(coalesce(document_title, ''), '[[:space:]]+', ' ', 'g')), 200);
    _language text := nullif(document_language, into_collection.language);
    _metadata jsonb := coalesce(document_metadata, '{}');
    _media_type text := coalesce(document_media_type, 'text/plain');
    _hash bytea;
    _before rag.documents;
    _version integer;
BEGIN
    IF coalesce(document_uri, '') = '' OR octet_length(document_uri) > 2000 THEN
        RAISE EXCEPTION 'a document needs a uri of 1 to 2000 bytes, this one has %', octet_length(coalesce(document_uri, ''))
        USING ERRCODE = 'RG001', HINT = 'use what identifies the document where it comes from: a path, a URL, a key';
    END IF;
    IF btrim(coalesce(document_content, ''), E' \t\r\n\f\v') = '' THEN
        RAISE EXCEPTION 'document ''%'' is empty', document_uri
        USING ERRCODE = 'RG001', HINT = 'put text, or remove the document with rag.delete_document';
    END IF;
    PERFORM rag.check_metadata(_metadata, document_uri);
    IF NOT ready_made AND _media_type NOT IN (
        'text/plain', 'text/markdown', 'text/x-rst', 'application/json',
        'text/javascript', 'text/x-c', 'text/x-c++', 'text/x-csharp', 'text/x-go', 'text/x-java', 'text/x-kotlin',
        'text/x-lua', 'text/x-php', 'text/x-python', 'text/x-ruby', 'text/x-rust', 'text/x-scala', 'text/x-sh',
        'text/x-sql', 'text/x-swift', 'text/x-toml', 'text/x-tsx', 'text/x-typescript', 'text/x-yaml') THEN
        RAISE EXCEPTION 'document ''%'' has media type %', document_uri, quote_literal(_media_type)
        USING ERRCODE = 'RG001', HINT = 'supported: text/plain, text/markdown, text/x-rst, application/json, and source '
            'code such as text/x-python; convert others first';
    END IF;

    saved_id := rag.document_id(into_collection.name, document_uri);
    _hash := rag.content_hash(concat_ws(E'\n', _title, _media_type, coalesce(_language, ''), ready_made, document_content));
    LOOP
        INSERT INTO rag.documents AS d (collection_id, document_id, uri, title, content, media_type, language, metadata,
                                        content_hash, indexed_version)
        VALUES (_collection_id, saved_id, document_uri, _title, document_content, _media_type, _language, _metadata,
                _hash, CASE WHEN ready_made THEN 1 ELSE 0 END)
        ON CONFLICT ON CONSTRAINT documents_pkey DO NOTHING;
        text_changed := FOUND;
        IF text_changed THEN
            RETURN;
        END IF;
        SELECT d.* INTO _before FROM rag.documents AS d
        WHERE d.collection_id = _collection_id AND d.document_id = saved_id
        FOR UPDATE;
        EXIT WHEN FOUND;  -- otherwise it was deleted between the two: it is new after all
    END LOOP;
    text_changed := _before.content_hash <> _hash;
    IF NOT text_changed AND _before.metadata = _metadata THEN
        RETURN;
    END IF;
    _version := _before.version + text_changed::integer;
    UPDATE rag.documents AS d
    SET title = _title, content = document_content, media_type = _media_type, language = _language,
        metadata = _metadata, content_hash = _hash, updated_at = now(),
        version = _version, indexed_version = CASE WHEN ready_made THEN _version ELSE d.indexed_version END
    WHERE d.collection_id = _collection_id AND d.document_id = saved_id;
    IF _before.metadata <> _metadata AND NOT ready_made THEN
        UPDATE rag.chunks AS c SET metadata = _metadata || rag.added_metadata(c.metadata, _before.metadata)
        WHERE c.collection_id = _collection_id AND c.document_id = saved_id;
    END IF;
END
$$;

COMMENT ON FUNCTION rag.save_document(rag.collections, text, text, text, jsonb, text, text, boolean) IS
$$Insert or update a document row and say whether its text (or title, type, language) changed.

Changed metadata reaches the chunks at once: no work is queued for it. ready_made: the chunks come with it.$$;


CREATE OR REPLACE FUNCTION rag.put_document(
    collection text,
    uri text,
    content text,
    title text DEFAULT '',
    metadata jsonb DEFAULT '{}',
    media_type text DEFAULT 'text/plain',
    language regconfig DEFAULT NULL)
RETURNS uuid
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag.require_collection(put_document.collection);
    _id uuid;
    _changed boolean;
BEGIN
    SELECT s.saved_id, s.text_changed INTO _id, _changed
    FROM rag.save_document(_collection, put_document.uri, put_document.title, put_document.content,
                           put_document.metadata, put_document.media_type, rag.language_name(put_document.language), false) AS s;
    IF _changed THEN
        PERFORM rag.queue_job(_collection.collection_id, _id, 'ingest');
    END IF;
    RETURN _id;
END
$$;

COMMENT ON FUNCTION rag.put_document(text, text, text, text, jsonb, text, regconfig) IS
$$Insert a document, or update the one with that uri. Returns its id.

Changed text queues one job and wakes a worker, in the caller's transaction; unchanged text adds no job, and changed
metadata alone takes effect at once. The old chunks stay searchable until the new ones are ready.
title: kept to 200 characters, as it is embedded with every chunk.
media_type: text/plain, text/markdown, text/x-rst, application/json, or that of source code: text/javascript and text/x-
with c, c++, csharp, go, java, kotlin, lua, php, python, ruby, rust, scala, sh, sql, swift, toml, tsx, typescript, yaml.
language: where it is not the collection's.$$;


CREATE OR REPLACE FUNCTION rag.record_metadata(record jsonb, own_keys text[])
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN jsonb_typeof(record) = 'object' AND coalesce(jsonb_typeof(record -> 'metadata'), 'null') IN ('object', 'null')
    THEN (record - own_keys) || coalesce(nullif(record -> 'metadata', 'null'), '{}')
    ELSE coalesce(nullif(record -> 'metadata', 'null'), '{}') END;

COMMENT ON FUNCTION rag.record_metadata(jsonb, text[]) IS
$$The metadata of a record: its key metadata, and beside that all keys that are not its own, so that none is lost.$$;


CREATE OR REPLACE FUNCTION rag.put_documents(collection text, documents jsonb)
RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _item jsonb;
    _place bigint;
    _ids uuid[] := '{}';
BEGIN
    IF jsonb_typeof(put_documents.documents) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'documents is not a JSON array' USING ERRCODE = 'RG001',
        HINT = 'pass [{"uri": "…", "content": "…", "title": "…", "metadata": {}}, …]';
    END IF;
    -- By uri, so that two calls with the same documents lock them in the same order.
    FOR _item, _place IN
        SELECT i.value, i.ordinality
        FROM jsonb_array_elements(put_documents.documents) WITH ORDINALITY AS i
        ORDER BY i.value ->> 'uri' COLLATE "C", i.ordinality
    LOOP
        _ids[_place] := rag.put_document(
            put_documents.collection, _item ->> 'uri', _item ->> 'content', coalesce(_item ->> 'title', ''),
            rag.record_metadata(_item, ARRAY['uri', 'content', 'title', 'metadata', 'media_type', 'language']),
            coalesce(_item ->> 'media_type', 'text/plain'),
            (_item ->> 'language')::regconfig);
    END LOOP;
    RETURN QUERY SELECT u.id FROM unnest(_ids) WITH ORDINALITY AS u (id, place) ORDER BY u.place;
END
$$;

COMMENT ON FUNCTION rag.put_documents(text, jsonb) IS
$$put_document for every object of a JSON array (keys uri, content, title, metadata, media_type, language), all or none.
Other keys are metadata, too; what stands in metadata goes first. Returns the ids in order.$$;


CREATE OR REPLACE FUNCTION rag.put_chunks(
    collection text,
    uri text,
    chunks jsonb,
    title text DEFAULT '',
    metadata jsonb DEFAULT '{}',
    language regconfig DEFAULT NULL)
RETURNS uuid
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag.require_collection(put_chunks.collection);
    _content text;
    _id uuid;
BEGIN
    IF jsonb_typeof(put_chunks.chunks) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'chunks is not a JSON array' USING ERRCODE = 'RG001',
        HINT = 'pass [{"content": "…", "heading": "…", "metadata": {}, "embedding": [0.1, …]}, …]';
    END IF;
    IF EXISTS (SELECT FROM jsonb_array_elements(put_chunks.chunks) AS c WHERE coalesce(btrim(c.value ->> 'content'), '') = '') THEN
        RAISE EXCEPTION 'a chunk of document ''%'' is empty', put_chunks.uri
        USING ERRCODE = 'RG001', HINT = 'every chunk needs content';
    END IF;
    SELECT string_agg(c.value ->> 'content', E'\n\n' ORDER BY c.ordinality) INTO _content
    FROM jsonb_array_elements(put_chunks.chunks) WITH ORDINALITY AS c;
    SELECT s.saved_id INTO _id
    FROM rag.save_document(_collection, put_chunks.uri, put_chunks.title, _content, put_chunks.metadata,
                           'text/plain', rag.language_name(put_chunks.language), true) AS s;
    PERFORM count(*)
    FROM (
        SELECT array_agg(_id) AS ids, array_agg((c.ordinality - 1)::integer ORDER BY c.ordinality) AS ordinals,
               array_agg(NULL::integer) AS nulls,
               array_agg(coalesce(c.value ->> 'heading', '') ORDER BY c.ordinality) AS headings,
               array_agg(c.value ->> 'content' ORDER BY c.ordinality) AS contents,
               array_agg(nullif(rag.record_metadata(c.value, ARRAY['content', 'heading', 'metadata', 'embedding']), '{}')
                         ORDER BY c.ordinality) AS extras,
               array_agg((c.value ->> 'embedding')::{vector}.halfvec ORDER BY c.ordinality) AS vectors
        FROM jsonb_array_elements(put_chunks.chunks) WITH ORDINALITY AS c
    ) AS a,
    LATERAL rag.replace_chunks(_collection.collection_id, a.ids, a.ordinals, a.nulls, a.nulls, a.headings,
                               a.contents, a.extras, a.vectors);
    PERFORM rag.queue_missing_vectors(_collection.collection_id, ARRAY[_id]);
    RETURN _id;
END
$$;

COMMENT ON FUNCTION rag.put_chunks(text, text, jsonb, text, jsonb, regconfig) IS
$$Insert or replace a document whose chunks are ready-made: [{"content", "heading", "metadata", "embedding"}, …].

Unchanged chunks keep their ids and vectors. Chunks are searchable by keyword at once; those without an embedding are queued
for one. Returns the document's id.$$;


CREATE OR REPLACE FUNCTION rag.shared_metadata(of_chunks jsonb[])
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_object_agg(k.key, k.value), '{}')
        FROM (SELECT e.key, e.value FROM unnest(of_chunks) AS c (metadata), jsonb_each(c.metadata) AS e
              GROUP BY e.key, e.value HAVING count(*) = cardinality(of_chunks)) AS k);

COMMENT ON FUNCTION rag.shared_metadata(jsonb[]) IS
$$What all the chunks' metadata have in common, which is their document's.$$;


CREATE OR REPLACE FUNCTION rag.load_staged(collection text)
RETURNS TABLE (loaded_documents bigint, loaded_chunks bigint, queued uuid[])
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _collection rag.collections := rag.require_collection(load_staged.collection);
    _space rag.spaces := rag.active_space(_collection.collection_id);
    _rebuild boolean := false;
    _uris text[];
    _ids uuid[];
    _stored bigint;
BEGIN
    loaded_documents := 0;
    loaded_chunks := 0;
    queued := '{}';
    PERFORM rag.check_metadata(t.metadata, t.uri) FROM pg_temp.staged_chunks AS t
    WHERE jsonb_typeof(t.metadata) <> 'object' OR pg_column_size(t.metadata) > 262144;
    CREATE INDEX ON pg_temp.staged_chunks (uri);
    ANALYZE pg_temp.staged_chunks;
    -- An index is built some times faster over vectors that are there than one by one.
    IF (SELECT count(t.embedding) >= 1000 FROM pg_temp.staged_chunks AS t)
        AND NOT EXISTS (SELECT FROM rag.embeddings AS e WHERE e.space_id = _space.space_id) THEN
        BEGIN
            EXECUTE format('DROP INDEX rag.%I', rag.index_name(_space.space_id));
            _rebuild := true;
        EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
            NULL;  -- only its owner may; a space of more than 4,000 dimensions has none
        END;
    END IF;
    FOR _uris IN
        SELECT array_agg(g.uri)
        FROM (SELECT t.uri, sum(count(*)) OVER (ORDER BY min(t.place)) AS upto
              FROM pg_temp.staged_chunks AS t GROUP BY t.uri) AS g
        GROUP BY ceil(g.upto / 5000)
        ORDER BY min(g.upto)
    LOOP
        SELECT array_agg((rag.save_document(_collection, g.uri, g.title, g.content, g.shared, 'text/plain', NULL, true)).saved_id)
        INTO _ids
        FROM (
            SELECT t.uri, max(t.title) AS title, string_agg(t.content, E'\n\n' ORDER BY t.place) AS content,
                   CASE count(*) WHEN 1 THEN (array_agg(t.metadata))[1] ELSE rag.shared_metadata(array_agg(t.metadata)) END
                       AS shared
            FROM pg_temp.staged_chunks AS t
            WHERE t.uri = ANY (_uris)
            GROUP BY t.uri
            ORDER BY t.uri
        ) AS g;

        SELECT count(r.chunk_id) INTO _stored
        FROM (
            SELECT array_agg(d.document_id ORDER BY t.place) AS ids, array_agg(t.ordinal ORDER BY t.place) AS ordinals,
                   array_agg(NULL::integer) AS nulls, array_agg(t.heading ORDER BY t.place) AS headings,
                   array_agg(t.content ORDER BY t.place) AS contents, array_agg(t.metadata ORDER BY t.place) AS extras,
                   array_agg(t.embedding ORDER BY t.place) AS vectors
            FROM (SELECT x.*, (row_number() OVER (PARTITION BY x.uri ORDER BY x.place) - 1)::integer AS ordinal
                  FROM pg_temp.staged_chunks AS x WHERE x.uri = ANY (_uris)) AS t,
            LATERAL (SELECT rag.document_id(_collection.name, t.uri) AS document_id) AS d
        ) AS a,
        LATERAL rag.replace_chunks(_collection.collection_id, a.ids, a.ordinals, a.nulls, a.nulls, a.headings,
                                   a.contents, a.extras, a.vectors, may_merge => false) AS r;
        loaded_documents := loaded_documents + cardinality(_uris);
        loaded_chunks := loaded_chunks + _stored;
        queued := queued || rag.queue_missing_vectors(_collection.collection_id, _ids);
    END LOOP;
    PERFORM rag.merge_when_due(_collection.collection_id, loaded_chunks::integer);
    IF _rebuild THEN
        CALL rag.build_index(_space);
    END IF;
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION rag.load_staged(text) IS
$$Take over the chunks that the caller copied into its temporary table staged_chunks: the bulk form of put_chunks.

Columns of staged_chunks: place bigint (order), uri, title, heading, content text, metadata jsonb, embedding halfvec.
Into an empty collection, the vector index is built after the vectors are in.
Rows with the same uri make one document; metadata that all of them share becomes the document's.
Returns counts of documents and chunks, and the ids of the documents queued for embedding.$$;


CREATE OR REPLACE FUNCTION rag.delete_document(collection text, uri text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _collection rag.collections := rag.require_collection(delete_document.collection);
    _id uuid := rag.document_id(_collection.name, delete_document.uri);
    _chunk_ids bigint[];
BEGIN
    DELETE FROM rag.documents AS d
    WHERE d.collection_id = _collection.collection_id AND d.document_id = _id;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT array_agg(c.chunk_id) INTO _chunk_ids FROM rag.chunks AS c
    WHERE c.collection_id = _collection.collection_id AND c.document_id = _id;
    IF _chunk_ids IS NOT NULL THEN
        PERFORM rag.remove_chunks(_collection.collection_id, _chunk_ids);
    END IF;
    DELETE FROM rag.jobs AS j WHERE j.collection_id = _collection.collection_id AND j.document_id = _id;
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag.delete_document(text, text) IS
$$Delete a document, its chunks, vectors and jobs. False when there is none with that uri.$$;


CREATE OR REPLACE FUNCTION rag.document_query(condition text, ordering text, with_content boolean)
RETURNS text
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN format($sql$
        SELECT c.document_id, c.uri, c.title, %3$s, c.media_type, c.language, c.metadata, c.version,
               (SELECT count(*) FROM rag.chunks AS k WHERE k.collection_id = $1 AND k.document_id = c.document_id),
               CASE WHEN j.state = 'dead' THEN 'failed' WHEN j.state IS NULL THEN 'ready' ELSE 'pending' END,
               j.error, c.created_at, c.updated_at
        FROM (SELECT c.* FROM rag.documents AS c
              WHERE c.collection_id = $1 AND (%1$s) ORDER BY %2$s LIMIT $3 OFFSET $4) AS c
        LEFT JOIN LATERAL (
            SELECT x.state, x.errors -> -1 ->> 'error' AS error FROM rag.jobs AS x
            WHERE x.collection_id = $1 AND x.document_id = c.document_id
                AND (x.kind = 'ingest' OR x.space_id = $2)
            ORDER BY x.state DESC  -- waiting before dead
            LIMIT 1
        ) AS j ON true
        ORDER BY %2$s
        $sql$, condition, ordering, CASE WHEN with_content THEN 'c.content' ELSE 'NULL::text' END);
END
$$;

COMMENT ON FUNCTION rag.document_query(text, text, boolean) IS
$$The query of the rag.document_info of a collection's documents, for EXECUTE.

Its parameters: 1 the collection's id, 2 its active space, 3 limit, 4 offset. condition and ordering are trusted SQL on alias c
of rag.documents. The jobs and chunks are looked up for the documents within the limit only.$$;


CREATE OR REPLACE FUNCTION rag.list_documents(
    collection text,
    metadata_filter jsonb DEFAULT '{}',
    result_limit integer DEFAULT 100,
    after_uri text DEFAULT '',
    only_uri text DEFAULT NULL)
RETURNS SETOF rag.document_info
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag.require_collection(list_documents.collection)).collection_id;
    _condition text := coalesce((rag.compile_filter(_id, metadata_filter)).condition, 'true');
BEGIN
    RETURN QUERY EXECUTE rag.document_query(
        'c.uri > coalesce($5, '''') AND ($6 IS NULL OR c.uri = $6) AND ' || _condition, 'c.uri', only_uri IS NOT NULL)
    USING _id, (rag.active_space(_id)).space_id, result_limit, 0, after_uri, only_uri;
END
$$;

COMMENT ON FUNCTION rag.list_documents(text, jsonb, integer, text, text) IS
$$Documents by uri, without their content. Next page: after_uri => the last uri of this one. In another order:
rag.select_documents.

metadata_filter: keep documents whose metadata pass it (docs/filters.md). state: ready, pending (work is queued) or failed, with its error.$$;


CREATE OR REPLACE FUNCTION rag.get_document(collection text, uri text)
RETURNS SETOF rag.document_info
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY SELECT l.* FROM rag.list_documents(get_document.collection, only_uri => get_document.uri) AS l;
END
$$;

COMMENT ON FUNCTION rag.get_document(text, text) IS
$$A document with its content, or no row when there is none with that uri.$$;
