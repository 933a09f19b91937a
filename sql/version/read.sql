-- Earlier versions of documents, read: which there are, and what a document said at a time.

CREATE OR REPLACE FUNCTION rag._all_versions(collection text, uri text)
RETURNS TABLE (version integer, valid_from timestamptz, valid_until timestamptz, title text,
    content text, media_type text, language text, metadata jsonb, state text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(_all_versions.collection);
    _id CONSTANT uuid := (rag._scoped_documents(_collection.collection_id,
        ARRAY[rag.document_id(_collection.name, _all_versions.uri)]))[1];
BEGIN
    RETURN QUERY
    SELECT d.version, coalesce(b.committed_at, d.text_since), NULL::timestamptz, d.title, d.content,
        d.media_type,
        coalesce(d.language, _collection.language), d.metadata, 'current'
    FROM rag.documents AS d
    LEFT JOIN rag.version_commits AS b ON b.commit_id = d.text_commit
    WHERE d.collection_id = _collection.collection_id AND d.document_id = _id
    UNION ALL
    SELECT v.version, coalesce(b.committed_at, v.valid_from),
        coalesce(e.committed_at, v.valid_until), v.title, v.content, v.media_type,
        coalesce(v.language, _collection.language), v.metadata,
        CASE WHEN v.deleted THEN 'deleted' ELSE 'replaced' END
    FROM rag.document_versions AS v
    LEFT JOIN rag.version_commits AS b ON b.commit_id = v.from_commit
    LEFT JOIN rag.version_commits AS e ON e.commit_id = v.until_commit
    WHERE v.collection_id = _collection.collection_id AND v.document_id = _id;
END
$$;

COMMENT ON FUNCTION rag._all_versions IS
$$The current text of a document and the earlier ones that are kept, each from the commit of the
transaction that wrote it on: others read what was there before until then.$$;


CREATE OR REPLACE FUNCTION rag.list_versions(collection text, uri text)
RETURNS TABLE (version integer, state text, valid_from timestamptz, valid_until timestamptz,
    title text, characters integer)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT v.version, v.state, v.valid_from, v.valid_until, v.title, length(v.content)
    FROM rag._all_versions(list_versions.collection, list_versions.uri) AS v
    ORDER BY v.version DESC;
END
$$;

COMMENT ON FUNCTION rag.list_versions IS
$$The versions of a document that are there, the newest first. state: current, replaced or deleted.

Earlier ones are kept where the collection keeps versions, see rag.alter_collection. valid_from is
NULL where nobody knows it. A change of the title, the media type or the language is a new version;
one of the metadata alone is none.
Circle: application, History.
SELECT * FROM rag.list_versions('docs', 'a')$$;


CREATE OR REPLACE FUNCTION rag.document_at(collection text, uri text, moment timestamptz)
RETURNS TABLE (version integer, valid_from timestamptz, valid_until timestamptz, title text,
    content text, media_type text, language text, metadata jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT v.version, v.valid_from, v.valid_until, v.title, v.content, v.media_type, v.language,
        v.metadata
    FROM rag._all_versions(document_at.collection, document_at.uri) AS v
    WHERE (v.valid_from IS NULL OR v.valid_from <= moment)
        AND (v.valid_until IS NULL OR v.valid_until > moment)
    ORDER BY v.version DESC
    LIMIT 1;
END
$$;

COMMENT ON FUNCTION rag.document_at IS
$$What a document said at a moment: the version that was current then, valid_until NULL where it
still is. No row where there was none, or where it is not kept any more.
Circle: application, History.
SELECT content FROM rag.document_at('docs', 'a', now())$$;


CREATE OR REPLACE FUNCTION rag._version_text(collection text, uri text, version integer)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _text text := (
        SELECT v.content FROM rag._all_versions(_version_text.collection, _version_text.uri) AS v
        WHERE v.version = _version_text.version);
BEGIN
    IF _text IS NULL THEN
        RAISE EXCEPTION 'document ''%'' has no version %', uri,
            coalesce(version::text, 'NULL')
        USING ERRCODE = 'RG002', HINT = coalesce(
            (SELECT 'there are ' || string_agg(v.version::text, ', ' ORDER BY v.version)
             FROM rag._all_versions(_version_text.collection, _version_text.uri) AS v),
            'there is no document with that uri, and no earlier version is kept');
    END IF;
    RETURN _text;
END
$$;

COMMENT ON FUNCTION rag._version_text IS
$$The text of one version of a document; error RG002 naming those that there are.$$;
