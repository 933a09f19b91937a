-- Which state a collection is in: rag.collection_version, and what those who write have to call.
--
-- Whoever writes documents, chunks or vectors adds a row with a random number to
-- rag.collection_changes; the version is the exclusive or of those that its reader sees. So a
-- change counts from the moment that others see it, and one that is rolled back never does. A
-- counter that is raised before the commit would name, until then, what was there before.

CREATE OR REPLACE FUNCTION rag._fold_changes(collection_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    -- Another isolation level could fail on rows that somebody else folded, and an evaluator may
    -- only add: leave it to others.
    IF current_setting('transaction_isolation') <> 'read committed'
       OR NOT has_table_privilege('rag.collection_changes', 'DELETE') THEN
        RETURN;
    END IF;
    WITH folded AS (
        DELETE FROM rag.collection_changes AS c
        WHERE c.ctid = ANY (ARRAY(
            SELECT x.ctid FROM rag.collection_changes AS x
            WHERE x.collection_id = _fold_changes.collection_id
            LIMIT 10000
            FOR UPDATE SKIP LOCKED))
        RETURNING c.change
    )
    INSERT INTO rag.collection_changes (collection_id, change)
    SELECT _fold_changes.collection_id, bit_xor(f.change) FROM folded AS f
    HAVING count(*) > 0;
END
$$;

COMMENT ON FUNCTION rag._fold_changes IS
$$Put one row in the place of a collection's changes: the version stays as it is, for whoever sees
the rows before or the row after. Waits for nobody.$$;


CREATE OR REPLACE FUNCTION rag._note_change(collection_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO rag.collection_changes (collection_id) VALUES (_note_change.collection_id);
    IF random() < 1 / 64.0 THEN
        PERFORM rag._fold_changes(_note_change.collection_id);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._note_change IS
$$Give a collection another version when this transaction commits, and for this transaction at once.
Called by whoever writes documents, chunks or vectors; one call in 64 also folds.$$;


CREATE OR REPLACE FUNCTION rag._scoped_version(of_collection rag.collections)
RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _scope CONSTANT text := rag._scope(of_collection.collection_id);
    _space CONSTANT integer := (rag._active_space(of_collection.collection_id)).space_id;
    _version bigint;
BEGIN
    EXECUTE format(
        'SELECT (SELECT coalesce(bit_xor(hash_record_extended(ROW(c.document_id, c.version,'
        ' c.indexed_version, c.updated_at, c.metadata, c.tenant, c.acl), 0)), 0)'
        ' FROM rag.documents AS c WHERE c.collection_id = $1 AND %1$s)'
        ' # (SELECT coalesce(bit_xor(hashint8extended(c.chunk_id, $2)), 0) FROM rag.chunks AS c'
        ' JOIN rag.embeddings AS e ON e.space_id = $2 AND e.chunk_id = c.chunk_id'
        ' WHERE c.collection_id = $1 AND %1$s)', _scope)
    INTO _version USING of_collection.collection_id, _space;
    RETURN _version # hash_record_extended(of_collection, 0) # (
        SELECT coalesce(bit_xor(hash_record_extended(f, 0)), 0) FROM rag.fields AS f
        WHERE f.collection_id = of_collection.collection_id);
END
$$;

COMMENT ON FUNCTION rag._scoped_version IS
$$rag.collection_version where the session sees a part of a shared collection: of that part alone,
by its rows.$$;


CREATE OR REPLACE FUNCTION rag.collection_version(collection text)
RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET quote_all_identifiers = off
AS $$
DECLARE
    _collection CONSTANT rag.collections := rag._require_collection(collection_version.collection);
BEGIN
    IF rag._scope(_collection.collection_id) IS NOT NULL THEN
        RETURN rag._scoped_version(_collection);
    END IF;
    -- What settings, spaces, fields and text search configurations say counts whoever wrote them.
    RETURN (SELECT coalesce(bit_xor(c.change), 0) FROM rag.collection_changes AS c
            WHERE c.collection_id = _collection.collection_id)
         # hash_record_extended(_collection, 0)
         # (SELECT coalesce(bit_xor(hash_record_extended(s, 0)), 0) FROM rag.spaces AS s
            WHERE s.collection_id = _collection.collection_id AND s.state = 'active')
         # (SELECT coalesce(bit_xor(hash_record_extended(f, 0)), 0) FROM rag.fields AS f
            WHERE f.collection_id = _collection.collection_id)
         -- which dictionaries are asked for which kinds of words, not what stands in their files
         # (SELECT coalesce(bit_xor(hash_record_extended(
                ROW(l.language, m.maptokentype, m.mapseqno, d.dictnamespace, d.dictname,
                    d.dicttemplate, d.dictinitoption), 0)), 0)
            FROM (SELECT _collection.language
                  UNION
                  SELECT k.language FROM rag.keyword_languages AS k
                  WHERE k.collection_id = _collection.collection_id) AS l
            JOIN pg_namespace AS n ON true
            JOIN pg_ts_config AS c ON c.cfgnamespace = n.oid
                AND l.language IN (quote_ident(c.cfgname), format('%I.%I', n.nspname, c.cfgname))
            JOIN pg_ts_config_map AS m ON m.mapcfg = c.oid
            JOIN pg_ts_dict AS d ON d.oid = m.mapdict);
END
$$;

COMMENT ON FUNCTION rag.collection_version IS
$$A number that changes with what is in it.

A number for the state that the calling statement sees a collection in: documents, chunks,
vectors, settings, active space, declared fields and text search configurations. Equal numbers
mean an equal state.

It tells nothing of order: compare it for equality alone. Read in the same statement as something
else, it is the version of that. Upkeep of indexes does not change it; rag-pg db upgrade does where
it changes functions. Who writes rag's tables by hand, past its functions, calls
rag._note_change.
Circle: application, Collections.
SELECT rag.collection_version('docs')$$;


CREATE OR REPLACE FUNCTION rag._corpus_fingerprint(collection text)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (rag._require_collection(_corpus_fingerprint.collection)).collection_id;
BEGIN
    RETURN (
        SELECT encode(sha256(coalesce(string_agg(
            sha256(d.content_hash || convert_to(d.uri, 'UTF8')), ''::bytea
            ORDER BY d.uri COLLATE "C"), '')), 'hex')
        FROM rag.documents AS d WHERE d.collection_id = _id);
END
$$;

COMMENT ON FUNCTION rag._corpus_fingerprint IS
$$A hash of a collection's documents, by uri and content: equal corpora have equal ones in any
database, however they are cut and embedded. It is of the documents that the caller may read.
Circle: client.$$;
