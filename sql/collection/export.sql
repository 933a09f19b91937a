-- A collection as rows that go into a folder: read in pages, each as of one moment.

CREATE OR REPLACE FUNCTION rag._export_settings(collection text)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET extra_float_digits = 1
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(_export_settings.collection);
    _id CONSTANT integer := _collection.collection_id;
    _counted CONSTANT text[] := CASE WHEN rag._scope(_id) IS NOT NULL THEN '{measured_chunks}'
        ELSE '{}' END;
BEGIN
    RETURN jsonb_build_object(
        'collection', to_jsonb(_collection) - '{name,dropped_at,lexer_version,index_format,
            copy_of}'::text[],
        'spaces', (
            SELECT jsonb_agg(to_jsonb(s) - '{space_id,collection_id,dropped_at}'::text[] - _counted
                ORDER BY s.state <> 'active', s.space_id)
            FROM rag._live_spaces(_id) AS s),
        'fields', (
            SELECT coalesce(jsonb_object_agg(f.field, f.type), '{}') FROM rag.fields AS f
            WHERE f.collection_id = _id),
        'enrichments', (
            SELECT coalesce(jsonb_agg(to_jsonb(e) - 'collection_id'), '[]')
            FROM rag.enrichments AS e WHERE e.collection_id = _id));
END
$$;

COMMENT ON FUNCTION rag._export_settings IS
$$The settings of a collection, its spaces (the active one first), its declared fields and what its
documents are enriched with, as rag._begin_import takes them.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._export_page(collection text, after_document uuid,
    page_bytes bigint)
RETURNS TABLE (document_id uuid, line text, chunk_id bigint, space integer,
    embedding {vector}.halfvec)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    _id CONSTANT integer := (rag._require_collection(_export_page.collection)).collection_id;
    _scope CONSTANT text := rag._scope(_id);
    _ids uuid[];
    _chunk_ids bigint[];
    _space_ids integer[];
BEGIN
    EXECUTE format($sql$
        SELECT array_agg(p.document_id)
        FROM (SELECT c.document_id, sum(octet_length(c.content)) OVER (ORDER BY c.document_id)
                  - octet_length(c.content) AS bytes_before
              FROM (SELECT c.document_id, c.content FROM rag.documents AS c
                    WHERE c.collection_id = $1 AND ($2 IS NULL OR c.document_id > $2) AND (%s)
                    ORDER BY c.document_id LIMIT 1000) AS c) AS p
        WHERE p.bytes_before < $3 $sql$, coalesce(_scope, 'true'))
    INTO _ids USING _id, after_document, page_bytes;
    RETURN QUERY
    SELECT d.document_id, (to_jsonb(d) - CASE WHEN _scope IS NULL
        THEN '{collection_id,text_commit}'::text[]
        ELSE '{collection_id,text_commit,acl}' END || jsonb_build_object('text_since',
            coalesce(b.committed_at, d.text_since)))::text, NULL::bigint, NULL::integer,
        NULL::{vector}.halfvec
    FROM rag.documents AS d
    LEFT JOIN rag.version_commits AS b ON b.commit_id = d.text_commit
    WHERE d.collection_id = _id AND d.document_id = ANY (_ids)
    ORDER BY d.document_id;
    _chunk_ids := ARRAY(SELECT c.chunk_id FROM rag.chunks AS c
        WHERE c.collection_id = _id AND c.document_id = ANY (_ids));
    RETURN QUERY
    SELECT c.document_id, jsonb_build_object(
            'ordinal', c.ordinal, 'start_offset', c.start_offset, 'stop_offset', c.stop_offset,
            'heading', c.heading, 'content', c.content, 'content_hash', c.content_hash,
            'language', c.language, 'context', c.context, 'context_source', c.context_source,
            'metadata', c.metadata::text, 'enriched', c.enriched::text)::text,
        c.chunk_id, NULL::integer, NULL::{vector}.halfvec
    FROM rag.chunks AS c
    WHERE c.collection_id = _id AND c.chunk_id = ANY (_chunk_ids)
    ORDER BY c.document_id, c.chunk_id;
    _space_ids := ARRAY(SELECT s.space_id FROM rag._live_spaces(_id) AS s
        ORDER BY s.state <> 'active', s.space_id);
    FOR _space IN 1..cardinality(_space_ids) LOOP
        RETURN QUERY
        SELECT NULL::uuid, NULL::text, e.chunk_id, _space, e.embedding
        FROM rag.embeddings AS e
        WHERE e.space_id = _space_ids[_space] AND e.chunk_id = ANY (_chunk_ids);
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._export_page IS
$$The next documents by id that the caller sees, at most 1000 and, but for the first, of page_bytes
of text together; then their chunks, then their vectors. No row: there are no more.

line: a document or, with chunk_id, a chunk as JSON; a vector has none. space: its number in
rag._export_settings, from 1. after_document: the last one of the page before, NULL for the first.
All of it as of one moment, that of the statement. A tenant is told of no access list.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._export_rows(collection text, kind text, after_document uuid,
    after_version integer, page_bytes bigint)
RETURNS TABLE (document_id uuid, version integer, line text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    _id CONSTANT integer := (rag._require_collection(_export_rows.collection)).collection_id;
BEGIN
    IF rag._scope(_id) IS NOT NULL THEN
        RAISE EXCEPTION 'permission denied: % of a shared collection are its owner''s to export',
            kind
        USING ERRCODE = '42501', HINT = 'export it without them';
    END IF;
    IF kind = 'versions' THEN
        RETURN QUERY
        SELECT p.document_id, p.version, p.line
        FROM (
            SELECT v.document_id, v.version, (to_jsonb(v) - '{collection_id,from_commit,
                until_commit}'::text[] || jsonb_build_object(
                    'valid_from', coalesce(b.committed_at, v.valid_from),
                    'valid_until', coalesce(e.committed_at, v.valid_until)))::text AS line,
                sum(octet_length(v.content)) OVER (ORDER BY v.document_id, v.version)
                    - octet_length(v.content) AS bytes_before
            FROM (SELECT x.* FROM rag.document_versions AS x
                  WHERE x.collection_id = _id AND (after_document IS NULL
                      OR (x.document_id, x.version) > (after_document, after_version))
                  ORDER BY x.document_id, x.version LIMIT 1000) AS v
            LEFT JOIN rag.version_commits AS b ON b.commit_id = v.from_commit
            LEFT JOIN rag.version_commits AS e ON e.commit_id = v.until_commit
        ) AS p
        WHERE p.bytes_before < page_bytes
        ORDER BY p.document_id, p.version;
    ELSE
        RETURN QUERY
        SELECT o.document_id, 0,
            (to_jsonb(o) - 'collection_id' || jsonb_build_object('uri', d.uri))::text
        FROM rag.originals AS o
        JOIN rag.documents AS d ON d.collection_id = _id AND d.document_id = o.document_id
        WHERE o.collection_id = _id AND o.document_id = ANY (ARRAY(
            SELECT p.document_id
            FROM (SELECT x.document_id, sum(x.size) OVER (ORDER BY x.document_id) - x.size
                      AS bytes_before
                  FROM rag.originals AS x
                  WHERE x.collection_id = _id
                      AND (after_document IS NULL OR x.document_id > after_document)) AS p
            WHERE p.bytes_before < page_bytes ORDER BY p.document_id LIMIT 1000))
        ORDER BY o.document_id;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._export_rows IS
$$The next versions or originals (kind) of a collection as JSON, of page_bytes together but for the
first; error 42501 for a tenant's role in a shared collection. after_document, after_version: of the
last one of the page before.
Circle: client.$$;
