-- Chunks of a document: stored, replaced, removed, with their postings.

CREATE OR REPLACE FUNCTION rag._remove_chunks(collection_id integer, chunk_ids bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _space_id integer;
BEGIN
    PERFORM rag._unindex_chunks(_remove_chunks.collection_id, chunk_ids);
    -- One space at a time: IN (SELECT …) would lock the vectors of every collection.
    FOR _space_id IN SELECT s.space_id FROM rag.spaces AS s
        WHERE s.collection_id = _remove_chunks.collection_id LOOP
        DELETE FROM rag.embeddings AS e WHERE e.space_id = _space_id
            AND e.chunk_id = ANY (chunk_ids);
    END LOOP;
    DELETE FROM rag.chunks AS c WHERE c.collection_id = _remove_chunks.collection_id
        AND c.chunk_id = ANY (chunk_ids);
    PERFORM rag._note_change(_remove_chunks.collection_id);
END
$$;

COMMENT ON FUNCTION rag._remove_chunks IS
$$Delete chunks, their vectors and their keywords.$$;


CREATE OR REPLACE FUNCTION rag._replace_chunks(
    collection_id integer,
    document_ids uuid[],
    ordinals integer[],
    starts integer[],
    stops integer[],
    headings text[],
    contents text[],
    extras jsonb[],
    vectors {vector}.halfvec[],
    of_space integer DEFAULT NULL,
    may_merge boolean DEFAULT true)
RETURNS TABLE (chunk_id bigint, is_new boolean)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
#variable_conflict use_column
DECLARE
    _collection rag.collections;
    _space rag.spaces;
    _kept_id integer;
    _documents record;
    _old record;
    _twins record;
    _ids bigint[];
    _new boolean[];
    _changed boolean;
    _hashes bytea[];
    _texts text[];
    _languages text[];
    _metadatas jsonb[];
    _tenants text[];
    _acls text[];  -- each as one text, for lists of other lengths are no array
    _gone bigint[];
    _stored bigint[];
BEGIN
    SELECT c.* INTO STRICT _collection FROM rag.collections AS c
        WHERE c.collection_id = _replace_chunks.collection_id;
    PERFORM rag._check_metadata(u.extra, d.uri)
    FROM unnest(document_ids, extras) AS u (document_id, extra)
    JOIN rag.documents AS d ON d.collection_id = _replace_chunks.collection_id AND d.document_id =
        u.document_id
    WHERE jsonb_typeof(u.extra) <> 'object' OR pg_column_size(u.extra) > 262144;

    -- What is there is read first, so that the planner knows how much it joins: that takes linear
    -- time.
    SELECT array_agg(d.document_id) AS ids, array_agg(d.title) AS titles,
        array_agg(d.language) AS languages,
           array_agg(d.metadata) AS metadatas, array_agg(d.tenant) AS tenants,
           array_agg(d.acl::text) AS acls
    INTO _documents
    FROM rag.documents AS d
    WHERE d.collection_id = _replace_chunks.collection_id
        AND d.document_id = ANY (ARRAY(SELECT DISTINCT u.id FROM unnest(document_ids) AS u (id)));
    SELECT array_agg(o.chunk_id) AS ids, array_agg(o.document_id) AS documents,
        array_agg(o.language) AS languages,
           array_agg(o.content_hash) AS hashes, array_agg(o.copy) AS copies,
           array_agg(o.chunk_id) FILTER (WHERE o.context IS NOT NULL) AS in_context
    INTO _old
    FROM (
        SELECT c.chunk_id, c.document_id, c.language, c.content_hash, c.context,
               row_number() OVER (PARTITION BY c.document_id, c.content_hash ORDER BY c.ordinal,
                   c.chunk_id) AS copy
        FROM rag.chunks AS c
        WHERE c.collection_id = _replace_chunks.collection_id AND c.document_id =
            ANY (_documents.ids)
    ) AS o;

    -- A chunk is the same chunk when its document, its embedded text and its language are.
    SELECT array_agg(coalesce(m.chunk_id, nextval('rag.chunk_ids'))), array_agg(m.chunk_id IS NULL),
        array_agg(m.hash),
           array_agg(CASE WHEN m.chunk_id IS NULL THEN m.searchable END), array_agg(m.language),
               array_agg(m.metadata),
           array_agg(m.tenant), array_agg(m.acl)
    INTO _ids, _new, _hashes, _texts, _languages, _metadatas, _tenants, _acls
    FROM (
        SELECT x.chunk_id, i.searchable, i.hash, i.language, i.metadata, i.tenant, i.acl
        FROM (
            SELECT u.position, u.document_id, d.language, t.searchable, h.hash,
                d.metadata || coalesce(u.extra, '{}') AS metadata,
                   d.tenant, d.acl, row_number() OVER (PARTITION BY u.document_id,
                       h.hash ORDER BY u.position)
                       AS copy
            FROM unnest(document_ids, headings, contents, extras) WITH ORDINALITY
                AS u (document_id, heading, content, extra, position)
            JOIN unnest(_documents.ids, _documents.titles, _documents.languages,
                _documents.metadatas, _documents.tenants, _documents.acls)
                AS d (document_id, title, language, metadata, tenant, acl)
                    ON d.document_id = u.document_id,
            LATERAL (SELECT rag.embedded_text(d.title, u.heading, u.content) AS searchable) AS t,
            LATERAL (SELECT rag.content_hash(t.searchable) AS hash) AS h
        ) AS i
        LEFT JOIN unnest(_old.ids, _old.documents, _old.languages, _old.hashes, _old.copies)
            AS x (chunk_id, document_id, language, content_hash, copy)
            ON x.document_id = i.document_id AND x.content_hash = i.hash AND x.copy = i.copy
            AND x.language IS NOT DISTINCT FROM i.language
        ORDER BY i.position
    ) AS m;

    _changed := true = ANY (_new)
        OR EXISTS (SELECT FROM unnest(vectors) AS v (vector) WHERE v.vector IS NOT NULL);
    IF false = ANY (_new) THEN
        UPDATE rag.chunks AS c
        SET ordinal = u.ordinal, start_offset = u.start, stop_offset = u.stop,
            metadata = u.metadata || coalesce(c.enriched - rag._keys(u.extra), '{}'),
            enriched = nullif(c.enriched - rag._keys(u.extra), '{}')
        FROM unnest(_ids, _new, ordinals, starts, stops, _metadatas, extras) AS u
            (chunk_id, is_new, ordinal, start, stop, metadata, extra)
        WHERE c.collection_id = _replace_chunks.collection_id AND c.chunk_id = u.chunk_id
            AND NOT u.is_new
            AND (c.ordinal, c.start_offset, c.stop_offset, c.metadata)
                IS DISTINCT FROM
                    (u.ordinal, u.start, u.stop,
                     u.metadata || coalesce(c.enriched - rag._keys(u.extra), '{}'));
        _changed := _changed OR FOUND;
    END IF;
    IF true = ANY (_new) THEN
        INSERT INTO rag.chunks AS c
            (collection_id, chunk_id, document_id, ordinal, start_offset, stop_offset, heading,
                                     content, content_hash, metadata, tenant, acl, language,
                                         lexemes, lexeme_count)
        SELECT _replace_chunks.collection_id, u.chunk_id, u.document_id, u.ordinal, u.start,
            u.stop, u.heading,
               u.content, u.hash, u.metadata, u.tenant, u.acl::text[], u.language, u.lexemes,
               u.lexeme_count
        FROM ROWS FROM (
            unnest(_ids, document_ids, ordinals, starts, stops, headings, contents, _metadatas,
                _tenants, _acls, _languages, _hashes),
            rag._lex_texts(ARRAY(SELECT coalesce(l.language, _collection.language)
                                FROM unnest(_languages) WITH ORDINALITY AS l (language, position)
                                    ORDER BY l.position), _texts)
        ) AS u (chunk_id, document_id, ordinal, start, stop, heading, content, metadata, tenant,
            acl, language, hash,
                lexemes, lexeme_count)
        WHERE u.lexemes IS NOT NULL;
        PERFORM rag._index_chunks(_replace_chunks.collection_id,
            ARRAY(SELECT u.id FROM unnest(_ids, _new) AS u (id, is_new) WHERE u.is_new),
                                 may_merge);
    END IF;

    SELECT k.* INTO _space FROM rag._live_spaces(_replace_chunks.collection_id) AS k
    WHERE k.space_id = of_space OR of_space IS NULL AND k.state = 'active';
    IF _space.space_id IS NOT NULL THEN  -- it may have been dropped while they were embedded
        _stored := rag._store_vectors(_space, _ids, vectors);
        IF _stored IS NOT NULL AND false = ANY (_new) THEN
            -- Who deletes such a document by an older snapshot, which lacks the vectors, fails.
            UPDATE rag.documents AS d SET indexed_version = d.indexed_version
            WHERE d.collection_id = _replace_chunks.collection_id AND d.document_id = ANY (ARRAY(
                SELECT u.document_id
                FROM unnest(_ids, _new, document_ids) AS u (id, is_new, document_id)
                JOIN unnest(_stored) AS s (id) ON s.id = u.id WHERE NOT u.is_new));
        END IF;
    END IF;
    -- A text that stands twice in a document, or whose language changed, has its vectors already.
    SELECT array_agg(m.id) AS ids, array_agg(m.part) AS parts
    INTO _twins
    FROM (
        SELECT c.id, dense_rank() OVER (ORDER BY c.document_id, c.hash) AS part,
               count(*) OVER (PARTITION BY c.document_id, c.hash) AS copies
        FROM (SELECT o.id, o.document_id, o.hash
            FROM unnest(_old.ids, _old.documents, _old.hashes) AS o (id, document_id, hash)
              UNION
              SELECT u.id, u.document_id, u.hash
                  FROM unnest(_ids, document_ids, _hashes) AS u (id, document_id, hash)) AS c
        WHERE c.id <> ALL (coalesce(_old.in_context, '{}'))  -- another text was embedded
    ) AS m
    WHERE m.copies > 1 AND true = ANY (_new);
    IF _twins.ids IS NOT NULL THEN
        FOR _kept_id IN
            SELECT k.space_id FROM rag._live_spaces(_replace_chunks.collection_id) AS k
        LOOP
            INSERT INTO rag.embeddings AS e (space_id, chunk_id, embedding)
            SELECT _kept_id, t.id, v.embedding
            FROM unnest(_twins.ids, _twins.parts) AS t (id, part)
            JOIN (
                SELECT DISTINCT ON (x.part) x.part, h.embedding
                FROM unnest(_twins.ids, _twins.parts) AS x (id, part)
                JOIN rag.embeddings AS h ON h.space_id = _kept_id AND h.chunk_id = x.id
                ORDER BY x.part, x.id
            ) AS v ON v.part = t.part
            ON CONFLICT ON CONSTRAINT embeddings_pkey DO NOTHING;
        END LOOP;
    END IF;

    _gone := ARRAY(SELECT o.id FROM unnest(_old.ids) AS o (id) WHERE o.id <> ALL (_ids));
    IF _gone <> '{}' THEN
        PERFORM rag._remove_chunks(_replace_chunks.collection_id, _gone);
    ELSIF _changed THEN
        PERFORM rag._note_change(_replace_chunks.collection_id);
    END IF;
    RETURN QUERY SELECT u.id, u.is_new FROM unnest(_ids, _new) AS u (id, is_new);
END
$$;

COMMENT ON FUNCTION rag._replace_chunks IS
$$Make the given chunks the chunks of their documents, in one transaction. Arrays run in parallel,
one element a chunk.

Chunks whose embedded text is unchanged keep their row, their id and their vectors; the others are
inserted, and what is no longer there is deleted. All chunks of a document must come in one call.
extras: metadata beyond the document's. of_space: whose vectors they are, NULL for the active space.
vectors: NULL where the chunk has one already or shall get one later. may_merge: see
rag._index_chunks. Returns the ids in the order given.$$;


CREATE OR REPLACE FUNCTION rag.put_chunks(
    collection text,
    uri text,
    chunks jsonb,
    title text DEFAULT '',
    metadata jsonb DEFAULT '{}',
    language regconfig DEFAULT NULL,
    existing text DEFAULT 'replace')
RETURNS uuid
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(put_chunks.collection);
    _content text;
    _vectors {vector}.halfvec[];
    _id uuid;
    _saved boolean;
BEGIN
    IF jsonb_typeof(put_chunks.chunks) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'chunks is not a JSON array' USING ERRCODE = 'RG001',
        HINT = 'pass [{"content": "...", "heading": "...", "metadata": {}, '
            '"embedding": [0.1, ...]}, ...]';
    END IF;
    IF EXISTS (SELECT FROM jsonb_array_elements(put_chunks.chunks) AS c
        WHERE coalesce(btrim(c.value ->> 'content'), '') = '') THEN
        RAISE EXCEPTION 'a chunk of document ''%'' is empty', put_chunks.uri
        USING ERRCODE = 'RG001', HINT = 'every chunk needs content';
    END IF;
    _vectors := rag._parse_embeddings(put_chunks.chunks);
    SELECT string_agg(c.value ->> 'content', E'\n\n' ORDER BY c.ordinality) INTO _content
    FROM jsonb_array_elements(put_chunks.chunks) WITH ORDINALITY AS c;
    SELECT s.saved_id, s.saved INTO _id, _saved
    FROM rag._save_document(_collection, put_chunks.uri, put_chunks.title, _content,
        put_chunks.metadata,
                           'text/plain', rag._language_name(put_chunks.language), true,
                           put_chunks.existing) AS s;
    IF _id IS NULL THEN
        RETURN rag.document_id(_collection.name, put_chunks.uri);
    END IF;
    PERFORM count(*)
    FROM (
        SELECT array_agg(_id) AS ids,
            array_agg((c.ordinality - 1)::integer ORDER BY c.ordinality) AS ordinals,
               array_agg(NULL::integer) AS nulls,
               array_agg(coalesce(c.value ->> 'heading', '') ORDER BY c.ordinality) AS headings,
               array_agg(c.value ->> 'content' ORDER BY c.ordinality) AS contents,
               array_agg(nullif(rag._record_metadata(c.value,
                   ARRAY['content', 'heading', 'metadata', 'embedding']), '{}')
                         ORDER BY c.ordinality) AS extras
        FROM jsonb_array_elements(put_chunks.chunks) WITH ORDINALITY AS c
    ) AS a,
    LATERAL rag._replace_chunks(_collection.collection_id, a.ids, a.ordinals, a.nulls, a.nulls,
                               a.headings, a.contents, a.extras, _vectors);
    PERFORM rag._note_keys(
        put_chunks.chunks, ARRAY['content', 'heading', 'metadata', 'embedding'], 'chunk');
    PERFORM rag._queue_missing_vectors(_collection.collection_id, ARRAY[_id]);
    PERFORM rag._queue_enrichment(_collection.collection_id, ARRAY[_id]);
    IF _saved THEN
        PERFORM rag._note_change(_collection.collection_id);
    END IF;
    RETURN _id;
END
$$;

COMMENT ON FUNCTION rag.put_chunks IS
$$Insert or replace a document whose chunks are ready-made: [{"content", "heading", "metadata",
"embedding"}, …].

Unchanged chunks keep their ids and vectors. Chunks are searchable by keyword at once; those without
an embedding are queued for one. existing: as of put_document. Returns the document's id.
Circle: application 7, Chunks.
SELECT rag.put_chunks('docs', 'd4', '[{"content": "red fish"}]')$$;
