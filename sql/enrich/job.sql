-- Enrichment jobs: queued with every change of a document, worked by one call.

CREATE OR REPLACE FUNCTION rag._queue_enrichment(collection_id integer, document_ids uuid[],
    only_rules boolean DEFAULT false)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._queue_jobs(_queue_enrichment.collection_id, document_ids, e.kind,
        CASE e.kind WHEN 'enrich' THEN 0 ELSE -1 END)
    FROM rag.enrichments AS e
    WHERE e.collection_id = _queue_enrichment.collection_id AND e.settings NOT IN ('[]', '{}')
        AND (e.kind = 'enrich' OR NOT only_rules)
        AND cardinality(document_ids) > 0;
END
$$;

COMMENT ON FUNCTION rag._queue_enrichment IS
$$Queue what the collection wants done with documents whose text was stored, or (only_rules) whose
metadata were changed. It reads the settings at this moment: call it when the documents are
locked.$$;


CREATE OR REPLACE FUNCTION rag._enrichment(collection_id integer, wanted text)
RETURNS rag.enrichments
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.enrichments;
BEGIN
    SELECT e.* INTO _found FROM rag.enrichments AS e
    WHERE e.collection_id = _enrichment.collection_id AND e.kind = wanted;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._enrichment IS
$$A collection's settings of a kind; all NULL where it never had any.$$;


CREATE OR REPLACE FUNCTION rag._lock_document(collection_id integer, of_document uuid)
RETURNS rag.documents
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _document rag.documents;
BEGIN
    SELECT d.* INTO _document FROM rag.documents AS d
    WHERE d.collection_id = _lock_document.collection_id AND d.document_id = of_document
    FOR UPDATE;
    RETURN _document;
END
$$;

COMMENT ON FUNCTION rag._lock_document IS
$$A document, locked; all NULL when it is gone. Lock the document before its job.$$;


CREATE OR REPLACE FUNCTION rag._requeue_superseded(leased rag.jobs)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    DELETE FROM rag.jobs AS j WHERE j.job_id = leased.job_id;
    PERFORM rag._queue_jobs(leased.collection_id, ARRAY[leased.document_id], leased.kind,
        leased.priority);
    RETURN 'superseded';
END
$$;

COMMENT ON FUNCTION rag._requeue_superseded IS
$$A leased and locked job whose document or settings changed meanwhile begins again.$$;


CREATE OR REPLACE FUNCTION rag.enrich_document(job_id bigint, lease uuid)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _job rag.jobs := rag._leased_job(enrich_document.job_id, enrich_document.lease);
    _settings rag.enrichments := rag._enrichment(_job.collection_id, 'enrich');
    _document rag.documents;
    _now rag.documents;
    _fields jsonb;
    _ids bigint[];
    _found jsonb[];
BEGIN
    SELECT d.* INTO _document FROM rag.documents AS d
    WHERE d.collection_id = _job.collection_id AND d.document_id = _job.document_id;
    -- Patterns are matched before anything is locked: they may take their time.
    IF _document.document_id IS NOT NULL AND _settings.kind IS NOT NULL THEN
        _fields := rag._match_rules(_settings.settings, 'document',
            rag._document_sources(_document));
        SELECT coalesce(array_agg(c.chunk_id ORDER BY c.chunk_id), '{}'),
            coalesce(array_agg(rag._match_rules(_settings.settings, 'chunk',
                jsonb_build_object('content', c.content, 'heading', c.heading))
                ORDER BY c.chunk_id), '{}')
        INTO _ids, _found
        FROM rag.chunks AS c
        WHERE c.collection_id = _job.collection_id AND c.document_id = _job.document_id;
    END IF;

    _now := rag._lock_document(_job.collection_id, _job.document_id);
    _job := rag._require_lease(enrich_document.job_id, enrich_document.lease);
    IF _now.document_id IS NULL OR _settings.kind IS NULL THEN
        DELETE FROM rag.jobs AS j WHERE j.job_id = _job.job_id;
        RETURN 'gone';
    END IF;
    IF _now.version IS DISTINCT FROM _document.version
        OR (rag._enrichment(_job.collection_id, 'enrich')).version <> _settings.version
        OR _ids <> ARRAY(SELECT c.chunk_id FROM rag.chunks AS c
                         WHERE c.collection_id = _job.collection_id
                             AND c.document_id = _job.document_id
                         ORDER BY c.chunk_id) THEN
        RETURN rag._requeue_superseded(_job);
    END IF;
    PERFORM rag._store_chunk_fields(_now, rag._store_fields(_now, 'enrich',
        jsonb_build_object('version', _settings.version, 'fields', _fields)), _ids, _found);
    PERFORM rag._note_change(_job.collection_id);
    DELETE FROM rag.jobs AS j WHERE j.job_id = _job.job_id;
    RETURN 'stored';
END
$$;

COMMENT ON FUNCTION rag.enrich_document IS
$$Work an enrich job: run the collection's rules over its document and store what they find, in one
transaction.

Call it with a statement_timeout: a pattern can take very long on a long text. Returns stored,
superseded (the document, its chunks or the rules changed meanwhile: it is queued again) or gone.
Error RG005 when the lease is lost.
Circle: worker, Jobs.
SELECT rag.enrich_document(j.job_id, j.lease)
FROM rag.take_jobs(1, kinds => '{enrich}') AS j$$;
