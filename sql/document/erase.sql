-- Erasure: a document leaves every table that holds something of it, and a receipt stays.

CREATE OR REPLACE FUNCTION rag._erasure_lock(collection_id integer)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN hashtextextended('rag erasure', _erasure_lock.collection_id);

COMMENT ON FUNCTION rag._erasure_lock IS
$$The key of the advisory lock of a collection's erasures; who keeps what was made of its documents
shares it. 0: of the erasures of all collections, for what is of none.$$;


CREATE OR REPLACE FUNCTION rag._erased_since_snapshot()
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _last xid8;
BEGIN
    IF current_setting('transaction_isolation') = 'read committed' THEN
        RETURN false;  -- the next statement sees it
    END IF;
    _last := (SELECT s.last_value::text::xid8 FROM rag.last_erasure AS s);
    IF pg_visible_in_snapshot(_last, pg_current_snapshot()) THEN
        RETURN false;
    END IF;
    BEGIN
        PERFORM pg_xact_status(_last);
    EXCEPTION WHEN invalid_parameter_value THEN
        RETURN false;  -- of the server that this database was restored from
    END;
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag._erased_since_snapshot IS
$$Whether an erasure, of any collection, was begun that the snapshot of this transaction of level
REPEATABLE READ or SERIALIZABLE does not see: what it read before may be what was erased.$$;


CREATE OR REPLACE FUNCTION rag._await_erasures(collection_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._await_lock(rag._erasure_lock(_await_erasures.collection_id), shared => true);
    IF rag._erased_since_snapshot() THEN
        RAISE EXCEPTION 'a document was erased since this transaction began'
        USING ERRCODE = '40001', HINT = 'begin it again, and read again what it keeps';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._await_erasures IS
$$Wait for an erasure of a collection (0: of any) that is under way, and hold off others until the
transaction ends: called by who keeps what was made of documents, so that what was erased is seen as
gone. Error 40001 where the transaction's snapshot is too old to see it.$$;


CREATE OR REPLACE FUNCTION rag._settle_erasures()
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _now CONSTANT timestamptz := clock_timestamp();
BEGIN
    IF has_table_privilege('rag.erasures', 'UPDATE') AND NOT current_setting(
            'transaction_read_only')::boolean
        AND current_setting('transaction_isolation') = 'read committed' THEN
        UPDATE rag.erasures AS e SET settled_at = _now
        WHERE e.erasure_id = ANY (ARRAY(
            SELECT x.erasure_id FROM rag.erasures AS x
            WHERE x.settled_at IS NULL AND x.erased_at < transaction_timestamp()  -- of others
            FOR UPDATE SKIP LOCKED));
    END IF;
END
$$;

COMMENT ON FUNCTION rag._settle_erasures IS
$$Note on receipts of erasures that they are committed by now. Until then others read what they
removed, however long their transactions were open; what was begun before is not kept.$$;


CREATE OR REPLACE FUNCTION rag._any_erased(seconds double precision)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT rag._take_lock(rag._erasure_lock(0), shared => true) THEN
        RETURN true;  -- one is under way
    END IF;
    IF rag._erased_since_snapshot() THEN
        RETURN true;
    END IF;
    PERFORM rag._settle_erasures();
    RETURN EXISTS (
        SELECT FROM rag.erasures AS e
        WHERE coalesce(e.settled_at, 'infinity') > clock_timestamp()
            - make_interval(secs => 60 + least(greatest(coalesce(seconds, 0), 0), 86400)));
END
$$;

COMMENT ON FUNCTION rag._any_erased IS
$$Whether an erasure of any collection was committed in the last so many seconds and a minute, or is
under way; one of which nobody knows when is taken for one. Where not, no erasure begins before the
transaction ends.$$;


CREATE OR REPLACE FUNCTION rag._has_document(of_collection text, of_uri text)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (SELECT c.collection_id FROM rag.collections AS c
        WHERE c.name = of_collection AND c.dropped_at IS NULL);
BEGIN
    RETURN EXISTS (SELECT FROM rag.documents AS d
        WHERE d.collection_id = _id AND d.document_id = rag.document_id(of_collection, of_uri));
END
$$;

COMMENT ON FUNCTION rag._has_document IS
$$Whether there is a collection of that name, with a document of that uri.$$;


CREATE OR REPLACE FUNCTION rag._erase_answers(collection_id integer, uris text[])
RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO off
AS $$
DECLARE
    _answers bigint;
    _feedback bigint;
    _cache bigint;
    _calls bigint;
    _queries bigint;
    _sources bigint;
    _jobs bigint;
BEGIN
    WITH gone AS (
        DELETE FROM rag.answer_log AS a
        WHERE a.collection_id = _erase_answers.collection_id
            AND (a.retrieved && uris OR a.retrieved = '{}' AND a.found)  -- of unknown documents
        RETURNING a.answer_id
    ), notes AS (
        DELETE FROM rag.answer_feedback AS f USING gone AS g
        WHERE f.answer_id = g.answer_id AND f.collection_id = _erase_answers.collection_id
        RETURNING f.feedback_id
    )
    SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM notes) INTO _answers, _feedback;
    -- Answers of models are kept by the hash of what they were asked, not by document.
    DELETE FROM rag.cache_entries AS e
    WHERE e.collection_id = _erase_answers.collection_id OR e.kind = 'completion';
    GET DIAGNOSTICS _cache = ROW_COUNT;
    DELETE FROM rag.worker_calls AS c WHERE c.collection_id = _erase_answers.collection_id;
    GET DIAGNOSTICS _calls = ROW_COUNT;
    -- What a sampled query found is not kept, and its words may be the document's.
    DELETE FROM rag.live_queries AS l WHERE l.collection_id = _erase_answers.collection_id;
    GET DIAGNOSTICS _queries = ROW_COUNT;
    -- Messages say what rows held.
    UPDATE rag.jobs AS j
    SET errors = (SELECT jsonb_agg(e.value || '{"error": "erased with a document"}'
            ORDER BY e.position)
        FROM jsonb_array_elements(j.errors) WITH ORDINALITY AS e (value, position))
    WHERE j.job_id = ANY (ARRAY(  -- one that is locked is being finished, or has just failed
        SELECT x.job_id FROM rag.jobs AS x
        WHERE x.collection_id = _erase_answers.collection_id AND x.errors <> '[]'
        FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS _jobs = ROW_COUNT;
    UPDATE rag.budgets AS b SET blocked_reason = 'why was erased with a document'
    WHERE b.blocked_reason IS NOT NULL;
    UPDATE rag.sources AS s
    SET row_error = NULL, broken = CASE WHEN s.broken IS NOT NULL
        THEN 'why it stopped was erased with a document; its next reading tells it again' END
    WHERE s.collection_id = _erase_answers.collection_id
        AND (s.row_error IS NOT NULL OR s.broken IS NOT NULL);
    GET DIAGNOSTICS _sources = ROW_COUNT;
    DELETE FROM rag.maintenance_failures;
    RETURN jsonb_build_object('answer_log', _answers, 'answer_feedback', _feedback,
        'cache_entries', _cache, 'worker_calls', _calls, 'sources', _sources,
        'live_queries', _queries, 'job_errors', _jobs);
END
$$;

COMMENT ON FUNCTION rag._erase_answers IS
$$Remove what was answered from documents: logged answers that found one of them, or of which it is
not known what they found, with their feedback, the whole cache of the collection, cached replies of
models, calls of workers, the sample of its live queries, and the words of errors: of jobs
(job_errors), sources, maintenance and providers, which may hold what failed. Returns counts by
table.$$;


CREATE OR REPLACE FUNCTION rag._erase_evaluation(of_collection text, uris text[])
RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO off
AS $$
DECLARE
    _judgements bigint;
    _others bigint;
    _queries bigint;
    _results bigint;
    _verdicts bigint;
    _checks bigint;
    _texts bigint;
BEGIN
    WITH others AS MATERIALIZED (
        -- of a document of the same uri in another collection, the only ones the set is used with
        SELECT j.set_id, j.query_id, j.judgement_number
        FROM rag.eval_judgements AS j
        JOIN LATERAL (
            SELECT bool_or(u.collection = of_collection) AS here,
                   bool_or(rag._has_document(u.collection, j.uri)) AS elsewhere
            FROM (SELECT r.collection FROM rag.eval_runs AS r WHERE r.set_id = j.set_id
                  UNION SELECT c.name FROM rag.gates AS g
                  JOIN rag.collections AS c ON c.collection_id = g.collection_id
                  WHERE g.set_id = j.set_id) AS u
        ) AS u ON NOT u.here AND u.elsewhere
        WHERE j.uri = ANY (uris)
    ), gone AS (
        DELETE FROM rag.eval_judgements AS j
        WHERE j.uri = ANY (uris) AND NOT EXISTS (SELECT FROM others AS o
            WHERE (o.set_id, o.query_id, o.judgement_number)
                = (j.set_id, j.query_id, j.judgement_number))
        RETURNING j.set_id, j.query_id
    ), unwanted AS (
        -- made from a document that is gone
        DELETE FROM rag.eval_queries AS q
        USING (SELECT DISTINCT x.set_id, x.query_id FROM gone AS x) AS g
        WHERE q.set_id = g.set_id AND q.query_id = g.query_id AND q.source <> 'human'
        RETURNING q.set_id, q.query_id
    ), emptied AS (
        -- A person's question stays; what is right for it was often copied from the document.
        UPDATE rag.eval_queries AS q
        SET answers = '{}', expected_terms = '{}', expected_metadata = '{}'
        FROM (SELECT DISTINCT x.set_id, x.query_id FROM gone AS x) AS g
        WHERE q.set_id = g.set_id AND q.query_id = g.query_id AND q.source = 'human'
            AND (q.answers <> '{}' OR q.expected_terms <> '{}' OR q.expected_metadata <> '{}')
        RETURNING q.query_id
    ), vectors AS (
        DELETE FROM rag.eval_embeddings AS e USING unwanted AS a
        WHERE e.set_id = a.set_id AND e.query_id = a.query_id
    ), checks AS (
        -- Gates name the questions that lost most.
        UPDATE rag.gate_checks AS g
        SET details = (SELECT jsonb_agg(d.value - 'worst' ORDER BY d.position)
            FROM jsonb_array_elements(g.details) WITH ORDINALITY AS d (value, position))
        WHERE EXISTS (
            SELECT FROM jsonb_path_query(g.details, 'lax $[*].worst[*].query_id') AS x
            JOIN unwanted AS a ON a.query_id = x #>> '{}')
        RETURNING g.check_id
    )
    SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM others),
        (SELECT count(*) FROM unwanted), (SELECT count(*) FROM emptied),
        (SELECT count(*) FROM checks)
    INTO _judgements, _others, _queries, _texts, _checks;
    WITH touched AS (
        UPDATE rag.eval_results AS e
        SET hits = (SELECT coalesce(jsonb_agg(CASE WHEN h.value ->> 'uri' = ANY (uris)
                    THEN '{"erased": true}' ELSE h.value END ORDER BY h.position),
                    '[]')
                FROM jsonb_array_elements(e.hits) WITH ORDINALITY AS h (value, position)),
            answer = NULL, error = CASE WHEN e.error IS NOT NULL
                THEN 'erased with a document' END
        FROM rag.eval_runs AS r
        WHERE r.run_id = e.run_id AND r.collection = of_collection
            AND (EXISTS (SELECT FROM jsonb_array_elements(e.hits) AS h
                         WHERE h ->> 'uri' = ANY (uris))
                OR e.hits = '[]'  -- of unknown documents
                    AND (e.answer IS NOT NULL OR e.error IS NOT NULL))
        RETURNING e.run_id, e.query_id
    ), notes AS (
        UPDATE rag.eval_runs AS r SET notes = '{what was degraded was erased with a document}'
        WHERE r.notes <> '{}' AND r.run_id IN (SELECT t.run_id FROM touched AS t)
    ), scores AS (
        UPDATE rag.eval_scores AS s SET reason = NULL, error = NULL FROM touched AS t
        WHERE s.run_id = t.run_id AND s.query_id = t.query_id
    )
    SELECT count(*) INTO _results FROM touched;
    DELETE FROM rag.eval_verdicts;
    GET DIAGNOSTICS _verdicts = ROW_COUNT;
    RETURN jsonb_build_object('eval_judgements', _judgements,
        'eval_judgements_of_others', _others, 'eval_queries', _queries,
        'eval_answers', _texts, 'eval_results', _results, 'eval_verdicts', _verdicts,
        'gate_checks', _checks);
END
$$;

COMMENT ON FUNCTION rag._erase_evaluation IS
$$Take documents out of evaluation: judgements that name them, questions that were made from them or
logged, also where a gate named them, the right answers, expected terms and expected metadata of
people's questions that are judged by them (eval_answers counts these; the question stays), their
places in the results of runs with what was answered there and the words of errors and notes, the
cached verdicts of judges. Figures of runs stay, and judgements of a set that is used with other
collections alone, one of which has a document of that uri: eval_judgements_of_others counts them.
Returns counts by table.$$;


CREATE OR REPLACE FUNCTION rag._erase_statistics(collection_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _table record;
    _empty boolean;
BEGIN
    FOR _table IN
        SELECT r.relname AS name, x.relations
        FROM pg_class AS r,
            LATERAL (
                SELECT array_agg(n.relname) AS relations
                FROM (
                    SELECT r.relname
                    UNION ALL
                    SELECT i.relname FROM pg_index AS d JOIN pg_class AS i ON i.oid = d.indexrelid
                    WHERE d.indrelid = r.oid  -- those of expressions have statistics of their own
                ) AS n
                WHERE EXISTS (SELECT FROM pg_stats AS s
                    WHERE s.schemaname = 'rag' AND s.tablename = n.relname)
            ) AS x
        WHERE r.relnamespace = 'rag'::regnamespace AND r.relkind IN ('r', 'p')
            AND pg_has_role(r.relowner, 'USAGE') AND x.relations IS NOT NULL
            AND (NOT r.relispartition
                OR r.relname = ANY (ARRAY(
                    SELECT t.parent || '_' || _erase_statistics.collection_id
                    FROM unnest(rag._collection_tables()) AS t (parent)
                    UNION ALL
                    SELECT 'embeddings_' || s.space_id FROM rag.spaces AS s
                    WHERE s.collection_id = _erase_statistics.collection_id)))
        -- documents first, as everybody locks them
        ORDER BY NOT starts_with(r.relname, 'documents'), r.relname
    LOOP
        EXECUTE format('SELECT NOT EXISTS (SELECT FROM rag.%I)', _table.name) INTO _empty;
        IF NOT _empty THEN
            EXECUTE format('ANALYZE %s', rag._stored_as(format('rag.%I', _table.name)::regclass));
        ELSIF current_setting('server_version_num')::integer >= 180000 THEN
            -- ANALYZE leaves those of an empty table as they were.
            EXECUTE 'SELECT pg_clear_attribute_stats(''rag'', s.tablename, s.attname, s.inherited) '
                'FROM pg_stats AS s WHERE s.schemaname = ''rag'' AND s.tablename = ANY ($1)'
            USING _table.relations;
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._erase_statistics IS
$$Renew the planner's statistics of the tables that a collection's rows stood in, and of their
indexes: they hold values of columns and of indexed fields. Before PostgreSQL 18 those of a table
that is empty now stay until it has rows again.$$;


CREATE OR REPLACE FUNCTION rag.erase(collection text, uri text DEFAULT NULL,
    metadata_filter jsonb DEFAULT NULL)
RETURNS rag.erasures
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _hashes text[];
    _collection rag.collections := rag._require_collection(erase.collection);
    _key integer := _collection.collection_id;
    _uris text[];
    _ids uuid[];
    _removed jsonb := '{}';
    _condition text;
    _count bigint;
    _receipt rag.erasures;
    _copied text;
    _copied_uri text;
BEGIN
    IF (erase.uri IS NULL) = (metadata_filter IS NULL) THEN
        RAISE EXCEPTION 'neither or both of uri and metadata_filter were given'
        USING ERRCODE = 'RG001', HINT = 'say which documents: one uri, or a filter of metadata';
    END IF;
    PERFORM rag._require_owner('erase');
    PERFORM rag._require_rows('rag.erase');  -- whose statistics hold words
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'rag.erase runs in a transaction of level %',
            current_setting('transaction_isolation')
        USING ERRCODE = 'RG001', HINT = 'call it in READ COMMITTED, as what others wrote goes, too';
    END IF;
    -- First, as who holds it waits for nobody's documents.
    PERFORM rag._await_lock(rag._keyword_lock(_key));
    PERFORM rag._await_lock(rag._erasure_lock(_key));
    PERFORM rag._await_lock(rag._erasure_lock(0));
    PERFORM setval('rag.last_erasure', pg_current_xact_id()::text::bigint);
    IF erase.uri IS NOT NULL THEN
        _uris := ARRAY[erase.uri];
    ELSE
        PERFORM rag._check_query(NULL, 1, metadata_filter);
        _condition := (rag._compile_filter(_key, metadata_filter)).condition;
        IF _condition IS NULL THEN
            RAISE EXCEPTION 'the filter passes every document'
            USING ERRCODE = 'RG001', HINT = 'rag.drop_collection removes a whole collection';
        END IF;
        EXECUTE format(
            'SELECT array_agg(DISTINCT c.uri) FROM (
                 SELECT c.uri FROM rag.documents AS c WHERE c.collection_id = $1 AND %1$s
                 UNION ALL
                 SELECT c.uri FROM rag.document_versions AS c WHERE c.collection_id = $1 AND %1$s
             ) AS c', _condition)
        INTO _uris USING _key;
        _uris := coalesce(_uris, '{}');
    END IF;
    _ids := ARRAY(SELECT rag.document_id(_collection.name, u.uri) FROM unnest(_uris) AS u (uri));
    _removed := _removed || jsonb_build_object(
        'chunks', (SELECT count(*) FROM rag.chunks AS c
                   WHERE c.collection_id = _key AND c.document_id = ANY (_ids)),
        'originals', (SELECT count(*) FROM rag.originals AS o
                      WHERE o.collection_id = _key AND o.document_id = ANY (_ids)),
        'jobs', (SELECT count(*) FROM rag.jobs AS j
                 WHERE j.collection_id = _key AND j.document_id = ANY (_ids)),
        'documents', rag.delete_documents(_collection.name, _uris));
    DELETE FROM rag.document_versions AS v
    WHERE v.collection_id = _key AND v.document_id = ANY (_ids);
    GET DIAGNOSTICS _count = ROW_COUNT;
    -- Those that the deletion has just kept are not told.
    _removed := _removed || jsonb_build_object('document_versions', greatest(0, _count - CASE
        WHEN _collection.keep_versions > interval '0' THEN (_removed ->> 'documents')::bigint
        ELSE 0 END));
    -- Every block of the keyword index that holds a word of a chunk that is gone is written anew.
    PERFORM rag._merge_keyword(_key);
    _removed := _removed || rag._erase_answers(_key, _uris)
        || rag._erase_evaluation(_collection.name, _uris)
        || jsonb_build_object('keyword_blocks',
            rag._compact_keyword(_key, dead_share => 0, block_limit => 2147483647));
    _count := 0;
    FOR _copied, _copied_uri IN
        SELECT c.name, u.uri FROM rag.collections AS c, unnest(_uris) AS u (uri)
        WHERE c.dropped_at IS NULL AND c.copy_of = _key AND rag._has_document(c.name, u.uri)
        ORDER BY c.collection_id, u.uri
    LOOP
        PERFORM rag.erase(_copied, _copied_uri);  -- with a receipt of its own
        _count := _count + 1;
    END LOOP;
    _removed := _removed || jsonb_build_object('documents_of_copies', _count);
    -- A key says what its uri says. What a worker has locked it is about to follow, and removes.
    WITH gone AS (
        DELETE FROM rag.source_documents AS d
        WHERE d.ctid = ANY (ARRAY(
            SELECT x.ctid FROM rag.source_documents AS x
            JOIN rag.sources AS s ON s.source_id = x.source_id
            WHERE s.collection_id = _key AND x.document_id = ANY (_ids)
            FOR UPDATE OF x SKIP LOCKED))
        RETURNING d.source_id, d.key
    )
    DELETE FROM rag.source_changes AS c
    WHERE c.ctid = ANY (ARRAY(
        SELECT x.ctid FROM rag.source_changes AS x
        JOIN gone AS g ON g.source_id = x.source_id AND g.key = x.key
        FOR UPDATE OF x SKIP LOCKED));
    PERFORM rag._note_change(_key);  -- for the cache, where the document was deleted before
    PERFORM rag._erase_statistics(_key);
    _hashes := ARRAY(SELECT encode(sha256(convert_to(u.uri, 'UTF8')), 'hex')
                     FROM unnest(_uris) AS u (uri));
    INSERT INTO rag.erasures AS e (collection, document_hashes, removed)
    VALUES (_collection.name, _hashes, _removed)
    RETURNING e.* INTO _receipt;
    RETURN _receipt;
END
$$;

COMMENT ON FUNCTION rag.erase IS
$$Remove documents from everything that rag keeps: text, chunks, vectors of all spaces, words of the
keyword index, kept files, earlier versions, jobs, caches, logged answers that found them, sampled
queries of the collection, evaluation, and the statistics of these tables; from temporary copies of
the collection, too (documents_of_copies). Returns the receipt, a row of rag.erasures without any of
the text.

uri: of one document, which may be deleted already. metadata_filter: of all that pass it, earlier
versions included. The receipt has the SHA-256 of each uri and counts by table. What a document's
text was read from (an application's table, a file) is not touched: erase it there first, or it
comes back. PostgreSQL keeps removed rows on disk until VACUUM, and in the write-ahead log and in
backups as long as those are kept. Writers of the collection wait meanwhile; it takes a second or
two for each 16,000 chunks near a removed one. Only the owner of the tables may do this, in READ
COMMITTED.
Circle: application, History.
SELECT removed FROM rag.erase('docs', 'unwanted')$$;
