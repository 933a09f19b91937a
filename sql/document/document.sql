-- Documents: put, which queues the work that makes them searchable, and deleted.

CREATE OR REPLACE FUNCTION rag._added_metadata(of_chunk jsonb, of_document jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_object_agg(f.key, f.value), '{}') FROM jsonb_each(of_chunk) AS f
        WHERE of_document -> f.key IS DISTINCT FROM f.value);

COMMENT ON FUNCTION rag._added_metadata IS
$$What a chunk's metadata has beside its document's: that which the chunker found.$$;


CREATE OR REPLACE FUNCTION rag._check_metadata(metadata jsonb, document_uri text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF jsonb_typeof(metadata) <> 'object' THEN
        RAISE EXCEPTION 'metadata in document ''%'' is a JSON %', document_uri,
            jsonb_typeof(metadata)
        USING ERRCODE = 'RG001', HINT = 'metadata is a JSON object, e.g. {"lang": "en"}';
    END IF;
    IF pg_column_size(metadata) > 262144 THEN
        RAISE EXCEPTION 'metadata in document ''%'' has % bytes, at most 262144 are kept',
            document_uri,
            pg_column_size(metadata)
        USING ERRCODE = 'RG001',
            HINT = 'it is copied to every chunk and every hit: put long texts into the content, '
            'or keep them in a table of yours';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_metadata IS
$$Error RG001 unless a document's or a chunk's metadata is a JSON object of at most 256 kB.$$;


CREATE OR REPLACE FUNCTION rag._change_document(
    into_collection rag.collections, of_document uuid, new_title text, new_content text,
    new_metadata jsonb, new_media_type text, new_language text, hash bytea, ready_made boolean,
    OUT text_changed boolean, OUT saved boolean)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _collection_id integer := into_collection.collection_id;
    _before rag.documents;
    _metadata jsonb;
    _version integer;
    _since timestamptz;
    _commit bigint;
BEGIN
    SELECT d.* INTO _before FROM rag.documents AS d
    WHERE d.collection_id = _collection_id AND d.document_id = of_document
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF into_collection.tenant = '*' AND NOT rag._may_change(_before) THEN
        RAISE EXCEPTION 'document ''%'' is not this role''s to change', _before.uri
        USING ERRCODE = '42501', HINT = 'its access list does not name a group of the role, or it '
            'is the owner''s';
    END IF;
    text_changed := _before.content_hash <> hash;
    saved := text_changed OR coalesce(_before.given_metadata, _before.metadata) <> new_metadata;
    IF NOT saved THEN
        RETURN;
    END IF;
    IF NOT text_changed AND NOT ready_made THEN
        PERFORM rag._queue_enrichment(_collection_id, ARRAY[of_document], only_rules => true);
    END IF;
    _metadata := rag._effective_metadata(new_metadata, _before.enriched);
    IF text_changed THEN
        PERFORM rag._delete_originals(_collection_id, ARRAY[of_document]);
    END IF;
    _version := _before.version + text_changed::integer;
    _since := CASE WHEN NOT text_changed THEN _before.text_since
        WHEN into_collection.keep_versions > interval '0'
        THEN rag._keep_version(_before, by_deletion => false)
        ELSE clock_timestamp() END;
    IF text_changed THEN
        _commit := rag._version_commit(into_collection);
    END IF;
    UPDATE rag.documents AS d
    SET title = new_title, content = new_content, media_type = new_media_type,
        language = new_language, metadata = _metadata, content_hash = hash, updated_at = now(),
        given_metadata = CASE WHEN _before.enriched <> '{}' THEN new_metadata END,
        version = _version, indexed_version = CASE WHEN ready_made THEN _version
            ELSE d.indexed_version END,
        text_since = _since, text_commit = CASE WHEN text_changed THEN _commit
            ELSE d.text_commit END,
        sync_state = NULL
    WHERE d.collection_id = _collection_id AND d.document_id = of_document;
    IF _before.metadata <> _metadata AND NOT ready_made THEN
        UPDATE rag.chunks AS c
            SET metadata = _metadata || rag._added_metadata(c.metadata, _before.metadata)
        WHERE c.collection_id = _collection_id AND c.document_id = of_document;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._change_document IS
$$Update a document's row where anything differs; NULLs where there is no such row. Arguments and
results are those of rag._save_document, of which it is the part for documents that exist.$$;


CREATE OR REPLACE FUNCTION rag._sees_twice(collection_id integer, of_document uuid)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
BEGIN
    RETURN (SELECT count(*) > 1 FROM rag.documents AS d
        WHERE d.collection_id = _sees_twice.collection_id AND d.document_id = of_document);
END
$$;

COMMENT ON FUNCTION rag._sees_twice IS
$$Whether the snapshot of a transaction that put a document anew still sees the one that another
deleted meanwhile.$$;


CREATE OR REPLACE FUNCTION rag._save_document(into_collection rag.collections, document_uri text,
    document_title text,
                                             document_content text, document_metadata jsonb,
                                                 document_media_type text,
                                             document_language text, ready_made boolean,
                                             existing text DEFAULT 'replace',
                                             OUT saved_id uuid, OUT text_changed boolean,
                                             OUT saved boolean)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = auto    -- not the caller's: an INSERT locks only the partition it reaches
SET row_security TO off
AS $$
DECLARE
    _collection_id integer := into_collection.collection_id;
    _title text := left(btrim(regexp_replace(coalesce(document_title, ''), '[[:space:]]+', ' ',
        'g')), 200);
    _language text := coalesce(document_language, into_collection.language);
    _metadata jsonb := coalesce(document_metadata, '{}');
    _media_type text := coalesce(document_media_type, 'text/plain');
    _hash bytea;
    _version integer := 1;
    _commit bigint;
    _tenant text := '';
BEGIN
    IF coalesce(document_uri, '') = '' OR octet_length(document_uri) > 2000 THEN
        RAISE EXCEPTION 'a document needs a uri of 1 to 2000 bytes, this one has %',
            octet_length(coalesce(document_uri, ''))
        USING ERRCODE = 'RG001',
            HINT = 'use what identifies the document where it comes from: a path, a URL, a key';
    END IF;
    IF btrim(coalesce(document_content, ''), E' \t\r\n\f\x0B') = '' THEN
        RAISE EXCEPTION 'document ''%'' is empty', document_uri
        USING ERRCODE = 'RG001', HINT = 'put text, or remove the document with rag.delete_document';
    END IF;
    PERFORM rag._check_metadata(_metadata, document_uri);
    IF existing IN ('replace', 'skip', 'error') IS NOT TRUE THEN
        RAISE EXCEPTION 'existing is %', coalesce(quote_literal(left(existing, 100)), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use replace, skip or error';
    END IF;
    IF NOT ready_made AND _media_type NOT IN (
        'text/plain', 'text/markdown', 'text/x-rst', 'application/json',
        'text/javascript', 'text/x-c', 'text/x-c++', 'text/x-csharp', 'text/x-go', 'text/x-java',
            'text/x-kotlin',
        'text/x-lua', 'text/x-php', 'text/x-python', 'text/x-ruby', 'text/x-rust', 'text/x-scala',
            'text/x-sh',
        'text/x-sql', 'text/x-swift', 'text/x-toml', 'text/x-tsx', 'text/x-typescript',
            'text/x-yaml') THEN
        RAISE EXCEPTION 'document ''%'' has media type %', document_uri, quote_literal(_media_type)
        USING ERRCODE = 'RG001',
            HINT = 'supported: text/plain, text/markdown, text/x-rst, application/json, and source '
            'code such as text/x-python; convert others first';
    END IF;

    IF into_collection.tenant = '*' AND rag.visible_tenants() <> '{*}' THEN
        -- by its uri, so that no tenant meets a uri of another
        _tenant := split_part(document_uri, '/', 1);
        IF _tenant <> ALL (rag.visible_tenants()) OR _tenant = document_uri THEN
            RAISE EXCEPTION 'uri % does not begin with the name of a tenant of this role',
                quote_literal(left(document_uri, 200))
            USING ERRCODE = 'RG001', HINT = 'in a shared collection uris begin with the tenant''s '
                'name and a slash: ' || array_to_string(rag.visible_tenants(), '/..., ') || '/...';
        ELSIF document_language IS NOT NULL AND NOT EXISTS (SELECT FROM pg_ts_config AS t
            JOIN pg_class AS r ON r.oid = 'rag.collections'::regclass
            JOIN pg_roles AS o ON o.oid = t.cfgowner AND (o.rolsuper OR o.oid = r.relowner)
            WHERE t.oid = document_language::regconfig) THEN
            -- all tenants search by it, and its owner can let it fail
            RAISE EXCEPTION 'text search configuration % is not the owner''s', document_language
            USING ERRCODE = 'RG001', HINT = 'in a shared collection use one of PostgreSQL or of '
                'the owner of schema rag';
        END IF;
    END IF;
    saved_id := rag.document_id(into_collection.name, document_uri);
    IF _language = 'rag.auto' THEN
        _language := coalesce(
            rag.detect_language(concat_ws(E'\n', _title, document_content)), _language);
    END IF;
    _language := nullif(_language, into_collection.language);
    _hash := rag.content_hash(concat_ws(E'\n', _title, _media_type, coalesce(_language, ''),
        ready_made, document_content));
    IF into_collection.keep_versions > interval '0' THEN
        _version := rag._first_version(_collection_id, saved_id);
    END IF;
    _commit := rag._version_commit(into_collection);
    LOOP
        INSERT INTO rag.documents AS d
            (collection_id, document_id, uri, title, content, media_type, language, metadata,
                                        tenant, content_hash, indexed_version, version, text_commit)
        VALUES (_collection_id, saved_id, document_uri, _title, document_content, _media_type,
            _language, _metadata,
                _tenant, _hash, CASE WHEN ready_made THEN _version ELSE 0 END, _version, _commit)
        ON CONFLICT ON CONSTRAINT documents_pkey DO NOTHING;
        text_changed := FOUND;
        saved := FOUND;
        IF saved AND current_setting('transaction_isolation') <> 'read committed'
            AND rag._sees_twice(_collection_id, saved_id) THEN
            RAISE EXCEPTION 'document ''%'' was deleted since this transaction began', document_uri
            USING ERRCODE = '40001', HINT = 'begin it again: it still sees the old text and chunks';
        ELSIF saved THEN
            RETURN;
        ELSIF existing = 'error' THEN
            RAISE EXCEPTION 'collection ''%'' has a document ''%''', into_collection.name,
                document_uri
            USING ERRCODE = 'RG012', HINT = 'existing => ''replace'' updates it, ''skip'' leaves '
                'it as it is';
        ELSIF existing = 'skip' THEN
            saved_id := NULL;
            RETURN;
        END IF;
        SELECT c.text_changed, c.saved INTO text_changed, saved
        FROM rag._change_document(into_collection, saved_id, _title, document_content, _metadata,
            _media_type, _language, _hash, ready_made) AS c;
        EXIT WHEN saved IS NOT NULL;  -- otherwise it was deleted between the two: it is new
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._save_document IS
$$Insert or update a document row and say whether its text (or title, type, language) changed, and
whether anything was saved, which the caller notes (rag._note_change). saved_id: NULL for a
document that was skipped.

Changed metadata reaches the chunks at once: no work is queued for it. ready_made: the chunks come
with it.$$;


CREATE OR REPLACE FUNCTION rag.put_document(
    collection text,
    uri text,
    content text,
    title text DEFAULT '',
    metadata jsonb DEFAULT '{}',
    media_type text DEFAULT 'text/plain',
    language regconfig DEFAULT NULL,
    existing text DEFAULT 'replace')
RETURNS uuid
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(put_document.collection);
    _id uuid;
    _changed boolean;
    _saved boolean;
BEGIN
    SELECT s.saved_id, s.text_changed, s.saved INTO _id, _changed, _saved
    FROM rag._save_document(_collection, put_document.uri, put_document.title, put_document.content,
                           put_document.metadata, put_document.media_type,
                               rag._language_name(put_document.language), false,
                               put_document.existing) AS s;
    IF _changed THEN
        PERFORM rag._queue_jobs(_collection.collection_id, ARRAY[_id], 'ingest');
    END IF;
    IF _saved THEN
        PERFORM rag._note_change(_collection.collection_id);
    END IF;
    RETURN coalesce(_id, rag.document_id(_collection.name, put_document.uri));
END
$$;

COMMENT ON FUNCTION rag.put_document IS
$$Insert a document, or update the one with that uri. Returns its id.

Changed text queues one job and wakes a worker, in the caller's transaction; unchanged text adds no
job, and changed metadata alone takes effect at once. The old chunks stay searchable until the new
ones are ready. title: kept to 200 characters, as it is embedded with every chunk.
media_type: text/plain, text/markdown, text/x-rst, application/json, or that of source code:
text/javascript and text/x- with c, c++, csharp, go, java, kotlin, lua, php, python, ruby, rust,
scala, sh, sql, swift, toml, tsx, typescript, yaml. language: where it is not the collection's;
rag.auto: by rag.detect_language. existing: what becomes of a document with that uri: replace, skip
(it stays as it is) or error (RG012).
Circle: application 2, Documents.
SELECT rag.put_document('docs', 'faq', 'Fish swim.')$$;


CREATE OR REPLACE FUNCTION rag._record_metadata(record jsonb, own_keys text[])
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN jsonb_typeof(record) = 'object'
        AND coalesce(jsonb_typeof(record -> 'metadata'), 'null') IN ('object', 'null')
    THEN (record - own_keys) || coalesce(nullif(record -> 'metadata', 'null'), '{}')
    ELSE coalesce(nullif(record -> 'metadata', 'null'), '{}') END;

COMMENT ON FUNCTION rag._record_metadata IS
$$The metadata of a record: its key metadata, and beside that all keys that are not its own, so that
none is lost.$$;


CREATE OR REPLACE FUNCTION rag.put_documents(
    collection text, documents jsonb, existing text DEFAULT 'replace')
RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _item jsonb;
    _position bigint;
    _ids uuid[] := '{}';
BEGIN
    IF jsonb_typeof(put_documents.documents) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'documents is not a JSON array' USING ERRCODE = 'RG001',
        HINT = 'pass [{"uri": "...", "content": "...", "title": "...", "metadata": {}}, ...]';
    END IF;
    -- By uri, so that two calls with the same documents lock them in the same order.
    FOR _item, _position IN
        SELECT i.value, i.ordinality
        FROM jsonb_array_elements(put_documents.documents) WITH ORDINALITY AS i
        ORDER BY i.value ->> 'uri' COLLATE "C", i.ordinality
    LOOP
        _ids[_position] := rag.put_document(
            put_documents.collection, _item ->> 'uri', _item ->> 'content',
                coalesce(_item ->> 'title', ''),
            rag._record_metadata(_item,
                ARRAY['uri', 'content', 'title', 'metadata', 'media_type', 'language']),
            coalesce(_item ->> 'media_type', 'text/plain'),
            rag._find_language(_item ->> 'language'), put_documents.existing);
    END LOOP;
    PERFORM rag._note_keys(put_documents.documents,
        ARRAY['uri', 'content', 'title', 'metadata', 'media_type', 'language'], 'document');
    RETURN QUERY SELECT u.id FROM unnest(_ids)
        WITH ORDINALITY AS u (id, position) ORDER BY u.position;
END
$$;

COMMENT ON FUNCTION rag.put_documents IS
$$Insert or update many.

put_document for every object of a JSON array (keys uri, content, title, metadata, media_type,
language), all or none. Other keys are metadata, too; what stands in metadata goes first. A notice
names those that look like one of these keys. existing: as of put_document. Returns the ids in
order.
Circle: application, Documents.
SELECT rag.put_documents('docs', '[{"uri": "a", "content": "b"}]')$$;


CREATE OR REPLACE FUNCTION rag.delete_documents(collection text, uris text[])
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(delete_documents.collection);
    _document_ids uuid[] := ARRAY(SELECT rag.document_id(_collection.name, u.uri)
                                  FROM unnest(delete_documents.uris) AS u (uri));
    _chunk_ids bigint[];
BEGIN
    -- By uri, as put_documents locks them.
    _document_ids := ARRAY(
        SELECT d.document_id FROM rag.documents AS d
        WHERE d.collection_id = _collection.collection_id AND d.document_id = ANY (_document_ids)
            AND (_collection.tenant <> '*' OR rag._may_change(ROW(d.*)::rag.documents))
        ORDER BY d.uri COLLATE "C"
        FOR UPDATE);
    IF _document_ids = '{}' THEN
        RETURN 0;
    END IF;
    PERFORM rag._delete_originals(_collection.collection_id, _document_ids);
    IF _collection.keep_versions > interval '0' THEN
        PERFORM rag._keep_version(ROW(d.*)::rag.documents, by_deletion => true)
        FROM rag.documents AS d
        WHERE d.collection_id = _collection.collection_id
            AND d.document_id = ANY (_document_ids);
    END IF;
    DELETE FROM rag.documents AS d
    WHERE d.collection_id = _collection.collection_id AND d.document_id = ANY (_document_ids);
    _chunk_ids := ARRAY(
        SELECT c.chunk_id FROM rag.chunks AS c
        WHERE c.collection_id = _collection.collection_id
            AND c.document_id = ANY (_document_ids));
    IF _chunk_ids <> '{}' THEN
        PERFORM rag._remove_chunks(_collection.collection_id, _chunk_ids);
    END IF;
    DELETE FROM rag.jobs AS j
    WHERE j.collection_id = _collection.collection_id AND j.document_id = ANY (_document_ids);
    PERFORM rag._note_change(_collection.collection_id);
    RETURN cardinality(_document_ids);
END
$$;

COMMENT ON FUNCTION rag.delete_documents IS
$$Delete many.

Delete documents by their uris, with their chunks, vectors and jobs, all or none. Returns how many
there were; uris that no document has are passed over.
Circle: application, Documents.
SELECT rag.delete_documents('docs', '{d1, d2}')$$;


CREATE OR REPLACE FUNCTION rag.delete_document(collection text, uri text)
RETURNS boolean
LANGUAGE sql VOLATILE
RETURN rag.delete_documents(delete_document.collection, ARRAY[delete_document.uri]) = 1;

COMMENT ON FUNCTION rag.delete_document IS
$$Delete a document, its chunks, vectors and jobs. False when there is none with that uri.
Circle: application 10, Documents.
SELECT rag.delete_document('docs', 'd1')$$;
