-- Lexing anew: chunks that an earlier lexer lexed, in batches, while searches and writers go on.
--
-- Until all are done queries are lexed by both versions (rag._query_languages); who writes chunks
-- meanwhile lexes them by the present one. keyword_totals keeps how far it is.

CREATE OR REPLACE FUNCTION rag._relex_batch()
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1000;

COMMENT ON FUNCTION rag._relex_batch IS
$$How many chunks one step of rag._relex_chunks looks at.$$;


CREATE OR REPLACE FUNCTION rag._otherwise_lexed(collection_id integer, chunk_keys bigint[])
RETURNS TABLE (chunk_id bigint, stored tsvector, lexed tsvector)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
BEGIN
    RETURN QUERY
    SELECT x.chunk_id, x.lexemes, x.lexed
    FROM (
        SELECT c.chunk_id, c.lexemes, rag._lexemes(l.language, rag.embedded_text(
            coalesce(d.title, ''), c.heading, rag._in_context(c.context, c.content))) AS lexed
        FROM rag.chunks AS c
        JOIN rag.collections AS o ON o.collection_id = c.collection_id
        CROSS JOIN LATERAL (SELECT coalesce(c.language, o.language) AS language) AS l
        LEFT JOIN rag.documents AS d ON d.collection_id = _otherwise_lexed.collection_id
            AND d.document_id = c.document_id
        WHERE c.collection_id = _otherwise_lexed.collection_id AND c.chunk_id = ANY (chunk_keys)
            AND rag._has_language(l.language)
        OFFSET 0
    ) AS x
    WHERE x.lexed <> x.lexemes;
END
$$;

COMMENT ON FUNCTION rag._otherwise_lexed IS
$$Those of the given chunks that the present lexer lexes otherwise than is stored, with both. A
chunk whose text-search configuration is gone can be lexed by nobody: it stays.$$;


CREATE OR REPLACE FUNCTION rag._start_relexing(collection_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
SET lock_timeout = '1s'
AS $$
BEGIN
    -- Who began to write before the lexer changed has ended when this is had.
    LOCK TABLE ONLY rag.chunks IN SHARE MODE;
    INSERT INTO rag.keyword_totals AS t
        (collection_id, chunk_count, length_sum, next_slot, relexed_by, relexed_to, relexed)
    VALUES (_start_relexing.collection_id, 0, 0, 0, rag._lexer_version(), 0, 0)
    ON CONFLICT ON CONSTRAINT keyword_totals_pkey
    DO UPDATE SET relexed_by = excluded.relexed_by, relexed_to = 0, relexed = 0;
END
$$;

COMMENT ON FUNCTION rag._start_relexing IS
$$Begins at the first chunk. Waits up to a second for those who are writing chunks, and keeps others
from it until the transaction ends; an error when they take longer. The caller holds
rag._lock_keyword.$$;


CREATE OR REPLACE FUNCTION rag._reindex_relexed(collection_key integer, chunk_keys bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
BEGIN
    PERFORM rag._merge_keyword(collection_key);
    WITH anew AS MATERIALIZED (
        SELECT o.chunk_id, o.stored, o.lexed, rag._lexeme_count(o.stored) AS stored_count,
            rag._lexeme_count(o.lexed) AS lexed_count
        FROM rag._otherwise_lexed(collection_key, chunk_keys) AS o
    ), written AS (
        UPDATE rag.chunks AS c
        SET lexemes = a.lexed, lexeme_count = a.lexed_count
        FROM anew AS a
        WHERE c.collection_id = collection_key AND c.chunk_id = a.chunk_id
    ), left_slots AS (
        UPDATE rag.keyword_slots AS s
        SET chunk_id = 0
        FROM anew AS a
        WHERE s.collection_id = collection_key AND s.chunk_id = a.chunk_id
    ), put_removed AS (
        INSERT INTO rag.keyword_removed AS t (collection_id, lexeme, chunk_count)
        SELECT collection_key, u.lexeme COLLATE "C", count(*)
        FROM anew AS a
        CROSS JOIN LATERAL unnest(a.stored) AS u
        GROUP BY 2
        ORDER BY 2
        ON CONFLICT (collection_id, lexeme)
        DO UPDATE SET chunk_count = t.chunk_count + excluded.chunk_count
    ), put_changes AS (
        INSERT INTO rag.keyword_changes (collection_id, chunk_id, change, lexeme_count)
        SELECT collection_key, a.chunk_id, 1, a.lexed_count
        FROM anew AS a
    )
    UPDATE rag.keyword_totals AS t
    SET chunk_count = t.chunk_count - x.chunks,
        length_sum = t.length_sum - x.lengths
    FROM (
        SELECT count(*) AS chunks, coalesce(sum(a.stored_count), 0) AS lengths FROM anew AS a
    ) AS x
    WHERE t.collection_id = collection_key;
    PERFORM rag._merge_keyword(collection_key);
    PERFORM rag._note_change(collection_key);
END
$$;

COMMENT ON FUNCTION rag._reindex_relexed IS
$$Lexes given chunks anew and moves them in the keyword index: their old postings count as removed
and their slots as those of deleted chunks, until compaction; then they are merged like fresh ones.

The chunks keep their ids and vectors. The caller has locked them and holds rag._lock_keyword, so
all of them are merged before and none is fresh.$$;


CREATE OR REPLACE FUNCTION rag._relex_chunks(collection_id integer)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _state record;
    _looked bigint[];
    _changed bigint[];
    _locked bigint[];
    _missed bigint;     -- the first that somebody else has locked
BEGIN
    IF NOT rag._lock_keyword(_relex_chunks.collection_id) THEN
        RETURN 0;
    END IF;
    SELECT c.lexer_version, t.relexed_by, t.relexed_to INTO _state
    FROM rag.collections AS c
    LEFT JOIN rag.keyword_totals AS t ON t.collection_id = c.collection_id
    WHERE c.collection_id = _relex_chunks.collection_id AND c.dropped_at IS NULL;
    IF NOT FOUND OR _state.lexer_version = rag._lexer_version() THEN
        RETURN 0;
    END IF;
    IF _state.relexed_by IS DISTINCT FROM rag._lexer_version() THEN
        PERFORM rag._start_relexing(_relex_chunks.collection_id);
        RETURN 0;
    END IF;

    _looked := ARRAY(
        SELECT c.chunk_id
        FROM rag.chunks AS c
        WHERE c.collection_id = _relex_chunks.collection_id AND c.chunk_id > _state.relexed_to
        ORDER BY c.chunk_id
        LIMIT rag._relex_batch());
    IF _looked = '{}' THEN
        UPDATE rag.collections AS c SET lexer_version = rag._lexer_version()
        WHERE c.collection_id = _relex_chunks.collection_id;
        UPDATE rag.keyword_totals AS t SET relexed_by = NULL, relexed_to = NULL, relexed = NULL
        WHERE t.collection_id = _relex_chunks.collection_id;
        RETURN 0;
    END IF;

    _changed := ARRAY(
        SELECT o.chunk_id FROM rag._otherwise_lexed(_relex_chunks.collection_id, _looked) AS o);
    IF _changed <> '{}' THEN
        _locked := ARRAY(
            SELECT c.chunk_id
            FROM rag.chunks AS c
            WHERE c.collection_id = _relex_chunks.collection_id AND c.chunk_id = ANY (_changed)
            ORDER BY c.chunk_id
            FOR UPDATE SKIP LOCKED);
        SELECT min(c.chunk_id) INTO _missed
        FROM rag.chunks AS c
        WHERE c.collection_id = _relex_chunks.collection_id AND c.chunk_id = ANY (_changed)
            AND c.chunk_id <> ALL (_locked);
        IF _locked <> '{}' THEN
            PERFORM rag._reindex_relexed(_relex_chunks.collection_id, _locked);
        END IF;
    END IF;
    UPDATE rag.keyword_totals AS t
    SET relexed_to = coalesce(_missed - 1, _looked[cardinality(_looked)]),
        relexed = t.relexed + (
            SELECT count(*) FROM unnest(_looked) AS l (id) WHERE (l.id < _missed) IS NOT FALSE)
    WHERE t.collection_id = _relex_chunks.collection_id;
    RETURN coalesce(cardinality(_locked), 0);
END
$$;

COMMENT ON FUNCTION rag._relex_chunks IS
$$One step of lexing a collection anew: its beginning, the next chunks by id, or its end, when the
collection has the version of the present lexer. Returns how many chunks it lexed otherwise.

It waits for no writer of a chunk: the next step begins with the first that was locked. A step that
is rolled back has done nothing. Returns 0 at once when another session merges, compacts or lexes
the collection.$$;
