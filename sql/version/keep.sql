-- Earlier versions of documents: kept when a text is replaced or deleted, for as long as is said.

CREATE OR REPLACE FUNCTION rag._date_commit()
RETURNS trigger
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _committed_at timestamptz;
BEGIN
    -- Who commits may be another role than who wrote: the moment of writing is all there is then.
    IF has_table_privilege(TG_RELID, 'UPDATE') THEN
        -- A clock that was set back makes no version that ends before it begins.
        _committed_at := greatest(clock_timestamp(),
            (SELECT max(x.committed_at) FROM rag.version_commits AS x));
        UPDATE rag.version_commits AS c SET committed_at = _committed_at
        WHERE c.commit_id = NEW.commit_id;
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION rag._date_commit IS
$$A deferred trigger: notes when a transaction that wrote versions is committed. Of a prepared one,
when it was prepared; of one that sets its constraints immediate, when it did so.$$;


CREATE OR REPLACE FUNCTION rag._version_commit(of_collection rag.collections)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _commit bigint := substring(current_setting('rag.version_commit', true) FROM '^[0-9]{1,18}$');
BEGIN
    IF of_collection.keep_versions <= interval '0' AND of_collection.keep_answers <= interval '0'
        OR NOT has_table_privilege('rag.version_commits', 'INSERT') THEN
        RETURN NULL;
    END IF;
    IF _commit IS NOT NULL AND EXISTS (SELECT FROM rag.version_commits AS c
        WHERE c.commit_id = _commit AND c.written_by = pg_current_xact_id()) THEN
        RETURN _commit;
    END IF;
    INSERT INTO rag.version_commits AS c DEFAULT VALUES RETURNING c.commit_id INTO _commit;
    PERFORM set_config('rag.version_commit', _commit::text, true);
    RETURN _commit;
END
$$;

COMMENT ON FUNCTION rag._version_commit IS
$$What stands for the moment at which this transaction will be committed, where the collection keeps
history; else NULL. One row of rag.version_commits for a transaction. NULL also for a role that may
write none: its versions count from when they were written.$$;


CREATE OR REPLACE FUNCTION rag._keep_version(document rag.documents, by_deletion boolean)
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO on
AS $$
DECLARE
    -- A clock that was set back makes no version that ends before it begins.
    _moment CONSTANT timestamptz := greatest(clock_timestamp(), document.text_since);
    _collection rag.collections;
BEGIN
    SELECT c.* INTO _collection FROM rag.collections AS c
    WHERE c.collection_id = document.collection_id;
    INSERT INTO rag.document_versions (collection_id, document_id, version, uri, title, content,
        media_type, language, metadata, tenant, created_at, updated_at, valid_from, valid_until,
        deleted, from_commit, until_commit)
    VALUES (document.collection_id, document.document_id, document.version, document.uri,
        document.title, document.content, document.media_type, document.language,
        document.metadata, document.tenant, document.created_at, document.updated_at,
        document.text_since, _moment, by_deletion, document.text_commit,
        rag._version_commit(_collection))
    ON CONFLICT ON CONSTRAINT document_versions_pkey DO NOTHING;
    RETURN _moment;
END
$$;

COMMENT ON FUNCTION rag._keep_version IS
$$Keep the text of a document. Called by whoever replaces or deletes it, before it does, where the
collection keeps versions. Returns the moment at which it ends: the next one begins there.$$;


CREATE OR REPLACE FUNCTION rag._first_version(collection_id integer, of_document uuid)
RETURNS integer
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET row_security TO on
AS $$
BEGIN
    RETURN coalesce((SELECT max(v.version) FROM rag.document_versions AS v
        WHERE v.collection_id = _first_version.collection_id AND v.document_id = of_document),
            0) + 1;
END
$$;

COMMENT ON FUNCTION rag._first_version IS
$$The version of a document that is put anew: 1, or the one after the last that is kept.$$;


CREATE OR REPLACE FUNCTION rag._remove_old_versions(collection_id integer)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO on
AS $$
DECLARE
    most_answers CONSTANT integer := 100000;
    _collection rag.collections;
    _removed integer;
    _now CONSTANT timestamptz := clock_timestamp();
BEGIN
    SELECT c.* INTO _collection FROM rag.collections AS c
    WHERE c.collection_id = _remove_old_versions.collection_id;
    DELETE FROM rag.document_versions AS v
    WHERE v.collection_id = _remove_old_versions.collection_id
        AND v.valid_until < _now - _collection.keep_versions;
    GET DIAGNOSTICS _removed = ROW_COUNT;
    IF has_table_privilege('rag.version_commits', 'DELETE') THEN
        DELETE FROM rag.version_commits AS c  -- no version that is kept ended before
        WHERE c.committed_at < _now - (
            SELECT max(greatest(x.keep_versions, x.keep_answers)) FROM rag.collections AS x);
    END IF;
    WITH gone AS (
        DELETE FROM rag.answer_log AS a
        WHERE a.collection_id = _remove_old_versions.collection_id
            AND (a.answered_at < _now - _collection.keep_answers
                OR a.answered_at < (SELECT x.answered_at FROM rag.answer_log AS x
                    WHERE x.collection_id = _remove_old_versions.collection_id
                    ORDER BY x.answered_at DESC OFFSET most_answers LIMIT 1))
        RETURNING a.answer_id
    )
    DELETE FROM rag.answer_feedback AS f USING gone AS g
    WHERE f.answer_id = g.answer_id AND f.collection_id = _remove_old_versions.collection_id;
    RETURN _removed;
END
$$;

COMMENT ON FUNCTION rag._remove_old_versions IS
$$Remove versions and logged answers of a collection that are older than it keeps them, and of the
answers those before the last 100,000. Returns how many versions. For rag.maintain.$$;


CREATE OR REPLACE FUNCTION rag._document_versions(
    collection_id integer, document_key uuid, of_version integer DEFAULT NULL)
RETURNS TABLE (version integer, content text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT v.version, v.content
    FROM rag.document_versions AS v
    WHERE v.collection_id = _document_versions.collection_id AND v.document_id = document_key
        AND (of_version IS NULL OR v.version = of_version)
    ORDER BY v.version DESC;
END
$$;

COMMENT ON FUNCTION rag._document_versions IS
$$The earlier texts of a document that are kept, the newest first; of_version: that one alone.$$;


CREATE OR REPLACE FUNCTION rag._keeps_version(
    collection_id integer, document_key uuid, of_version integer)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM rag.documents AS d
            WHERE d.collection_id = _keeps_version.collection_id AND d.document_id = document_key
                AND of_version IN (d.version, d.indexed_version))
        OR EXISTS (SELECT FROM rag._document_versions(_keeps_version.collection_id, document_key,
            of_version));
END
$$;

COMMENT ON FUNCTION rag._keeps_version IS
$$Whether the text of a version of a document is there: the current one, that of its chunks, or one
that is kept.$$;
