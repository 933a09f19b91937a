-- Writing the keyword index: what those who write chunks have to call.
--
-- Writers only append to keyword_changes; everything else is written by merges (merge.sql).

CREATE OR REPLACE FUNCTION rag._keyword_lock(collection_id integer)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN hashtextextended('rag keyword index', _keyword_lock.collection_id);

COMMENT ON FUNCTION rag._keyword_lock IS
$$The key of the advisory lock that merges of a collection take.$$;


CREATE OR REPLACE FUNCTION rag._lock_keyword(collection_id integer)
RETURNS boolean
LANGUAGE sql VOLATILE
RETURN rag._take_lock(rag._keyword_lock(_lock_keyword.collection_id));

COMMENT ON FUNCTION rag._lock_keyword IS
$$Takes the right to merge or compact a collection until the transaction ends; false when it is
taken.$$;


CREATE OR REPLACE FUNCTION rag._index_chunks(collection_id integer, chunk_keys bigint[],
                                            may_merge boolean DEFAULT true)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _spoken text[];
BEGIN
    INSERT INTO rag.keyword_changes (collection_id, chunk_id, change, lexeme_count)
    SELECT c.collection_id, c.chunk_id, 1, c.lexeme_count
    FROM rag.chunks AS c
    WHERE c.collection_id = _index_chunks.collection_id
      AND c.chunk_id = ANY (chunk_keys);

    SELECT array_agg(DISTINCT c.language) INTO _spoken
    FROM rag.chunks AS c
    WHERE c.collection_id = _index_chunks.collection_id AND c.chunk_id = ANY (chunk_keys)
        AND c.language
        IS NOT NULL;
    IF _spoken IS NOT NULL THEN
        INSERT INTO rag.keyword_languages (collection_id, language)
        SELECT _index_chunks.collection_id, s.language
        FROM unnest(_spoken) AS s (language)
        WHERE NOT EXISTS (
            SELECT FROM rag.keyword_languages AS known
            WHERE known.collection_id = _index_chunks.collection_id AND known.language = s.language
        );
    END IF;

    IF may_merge THEN
        PERFORM rag._merge_when_due(_index_chunks.collection_id, cardinality(chunk_keys));
    END IF;
END
$$;

COMMENT ON FUNCTION rag._index_chunks IS
$$Adds chunks to the keyword index. Call it once per new chunk, in the transaction that inserts it.

Searches of the same transaction see the chunks at once, others after commit. Cheap: one small row
per chunk; every 256th chunk or so its caller also merges. may_merge: false for a bulk load in
pieces that calls rag._merge_when_due at its end, which is quickest: it merges directly in whole
blocks.$$;


CREATE OR REPLACE FUNCTION rag._unindex_chunks(collection_id integer, chunk_keys bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
BEGIN
    INSERT INTO rag.keyword_changes (collection_id, chunk_id, change, lexeme_count, lexemes)
    SELECT doomed.collection_id, doomed.chunk_id, -1, doomed.lexeme_count, doomed.lexemes
    FROM (
        SELECT c.collection_id, c.chunk_id, c.lexeme_count, c.lexemes
        FROM rag.chunks AS c
        WHERE c.collection_id = _unindex_chunks.collection_id
          AND c.chunk_id = ANY (chunk_keys)
        ORDER BY c.chunk_id
        FOR UPDATE
    ) AS doomed;

    PERFORM rag._merge_when_due(_unindex_chunks.collection_id, cardinality(chunk_keys));
END
$$;

COMMENT ON FUNCTION rag._unindex_chunks IS
$$Takes chunks out of the keyword index. Call it before deleting them, in the same transaction.

It locks the chunks, so of two transactions that delete the same chunk only one is counted: the
other finds it gone. Chunks that do not exist are ignored.$$;


CREATE OR REPLACE FUNCTION rag._merge_when_due(collection_id integer, added integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _due boolean;
BEGIN
    -- Another isolation level could fail on rows that an earlier merge took: leave it to others.
    IF current_setting('transaction_isolation') <> 'read committed'
       OR random() > added / 32.0 THEN
        RETURN;
    END IF;
    SELECT count(*) >= rag._keyword_merge_size()
    INTO _due
    FROM (
        SELECT
        FROM rag.keyword_changes AS k
        WHERE k.collection_id = _merge_when_due.collection_id
        LIMIT rag._keyword_merge_size()
    ) AS waiting;
    IF _due THEN
        PERFORM rag._merge_keyword(_merge_when_due.collection_id);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._merge_when_due IS
$$Merges a collection's fresh changes when there are enough of them (rag._keyword_merge_size).

added: how many the caller has added. They are counted about once in 32 additions, not at every
one.$$;
