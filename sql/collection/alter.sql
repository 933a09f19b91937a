-- Settings of a collection that are no part of how it is cut or searched: changed.

CREATE OR REPLACE FUNCTION rag.alter_collection(collection text, description text DEFAULT NULL,
    keep_versions interval DEFAULT NULL, keep_answers interval DEFAULT NULL,
    sample_queries double precision DEFAULT NULL, keep_query_text boolean DEFAULT NULL,
    keep_queries interval DEFAULT NULL, max_queries integer DEFAULT NULL,
    recall_target double precision DEFAULT NULL, ef_search integer DEFAULT NULL,
    keep_original boolean DEFAULT NULL, force boolean DEFAULT false)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    longest CONSTANT integer := 1000;
    _id integer := (rag._require_collection(alter_collection.collection)).collection_id;
    _change text;
    _before bigint[];
BEGIN
    IF length(alter_collection.description) > longest THEN
        RAISE EXCEPTION 'the description has % characters', length(alter_collection.description)
        USING ERRCODE = 'RG001', HINT = format('say it in at most %s', longest);
    END IF;
    IF least(alter_collection.keep_versions, alter_collection.keep_answers,
            alter_collection.keep_queries) < interval '0'
        OR greatest(alter_collection.keep_versions, alter_collection.keep_answers,
            alter_collection.keep_queries) > interval '1000 years' THEN
        RAISE EXCEPTION 'keep_versions %, keep_answers % or keep_queries % is out of range',
            alter_collection.keep_versions, alter_collection.keep_answers,
            alter_collection.keep_queries
        USING ERRCODE = 'RG001',
            HINT = 'use an interval such as ''30 days'', up to 1000 years, or ''0'' for none';
    END IF;
    IF alter_collection.sample_queries NOT BETWEEN 0 AND 1
        OR alter_collection.recall_target NOT BETWEEN 0 AND 1 THEN
        RAISE EXCEPTION 'sample_queries % or recall_target % is out of range',
            alter_collection.sample_queries, alter_collection.recall_target
        USING ERRCODE = 'RG001', HINT = 'use a share from 0 (off) to 1, e.g. 0.01 and 0.95';
    END IF;
    IF alter_collection.max_queries NOT BETWEEN 1 AND 10000
        OR alter_collection.ef_search NOT BETWEEN 0 AND 1000 THEN
        RAISE EXCEPTION 'max_queries % or ef_search % is out of range',
            alter_collection.max_queries, alter_collection.ef_search
        USING ERRCODE = 'RG001',
            HINT = 'max_queries is 1 to 10000; ef_search 1 to 1000, or 0 for the choice by size';
    END IF;
    -- Of these settings, ef_search alone changes what is found.
    IF alter_collection.ef_search IS NOT NULL
        AND EXISTS (SELECT FROM rag.gates AS g WHERE g.collection_id = _id)
    THEN
        PERFORM FROM rag.collections AS c WHERE c.collection_id = _id FOR UPDATE;
        IF (rag._active_space(_id)).ef_search
            IS DISTINCT FROM nullif(alter_collection.ef_search, 0)
        THEN
            _change := format('alter_collection ef_search %s', alter_collection.ef_search);
            IF force IS NOT TRUE THEN
                _before := rag._measure_gates(_id);
            END IF;
        END IF;
    END IF;
    UPDATE rag.collections AS c
    SET description = coalesce(alter_collection.description, c.description),
        keep_versions = coalesce(alter_collection.keep_versions, c.keep_versions),
        keep_answers = coalesce(alter_collection.keep_answers, c.keep_answers),
        sample_queries = coalesce(alter_collection.sample_queries, c.sample_queries),
        keep_query_text = coalesce(alter_collection.keep_query_text, c.keep_query_text),
        keep_queries = coalesce(alter_collection.keep_queries, c.keep_queries),
        max_queries = coalesce(alter_collection.max_queries, c.max_queries),
        recall_target = coalesce(alter_collection.recall_target, c.recall_target),
        keep_original = coalesce(alter_collection.keep_original, c.keep_original)
    WHERE c.collection_id = _id;
    IF NOT alter_collection.keep_query_text THEN
        PERFORM rag._forget_query_texts(_id);
    END IF;
    IF alter_collection.ef_search IS NOT NULL THEN
        UPDATE rag.spaces AS s SET ef_search = nullif(alter_collection.ef_search, 0)
        WHERE s.collection_id = _id AND s.state = 'active';
        PERFORM rag._note_change(_id);
    END IF;
    -- It is measured as searches would find it: an error takes all of this back.
    IF _before IS NOT NULL THEN
        PERFORM rag._enforce_gates(_id, _change, _before, rag._measure_gates(_id));
    ELSIF _change IS NOT NULL THEN
        PERFORM rag._record_gate_check(_id, _change, 'forced');
    END IF;
END
$$;

COMMENT ON FUNCTION rag.alter_collection IS
$$Change settings of a collection; NULL leaves one as it is.

description: what the documents are and what they answer, for people and for programs that choose
among collections; at most 1000 characters, '' for none. keep_versions: for so long the texts that
are replaced or deleted stay (rag.list_versions, rag.document_at, rag.diff_versions). keep_answers:
for so long, and at most 100,000 of them, answers are logged with their questions (rag.list_answers,
rag.replay_answer, rag.feedback). Both are '0' at first: nothing is kept. What is older than it may
be goes at the next maintenance.
sample_queries: 0 to 1, that share of searches is kept to be replayed (rag.log_query); 0 at first.
keep_query_text: with their words (false at first: with their vector alone; false removes words that
are kept). keep_queries, max_queries: for so long and at most so many (30 days and 1000 at first).
recall_target: 0 to 1, maintenance measures once a day whether vector searches find that share of
the nearest (rag.measure_recall); 0 at first: it does not.
ef_search: 1 to 1000, how widely the vector index of the active space is searched, where a search
does not say it itself; 0 at first: chosen by the number of chunks. With a filter, at least what is
chosen for it. Gates of the collection (rag.set_gate) measure another value and the one before:
error RG010 says where it is worse, and nothing is changed. force => true goes on without them, and
is recorded; the other settings change nothing that is found, and no gate measures them.
keep_original: clients that add or sync files store these, too (rag.keep_original), unless a call
says otherwise; those that are kept stay until their document changes.
Circle: application, Collections.
SELECT rag.alter_collection('docs', description => 'Manuals.')$$;
