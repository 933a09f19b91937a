-- Contexts: what a language model writes about a chunk's place in its document.
--
-- They are embedded and lexed before the chunk's text and kept apart from it (contextual retrieval,
-- Anthropic 2024).

CREATE OR REPLACE FUNCTION rag._in_context(context text, content text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN context IS NULL THEN content ELSE context || E'\n' || content END;

COMMENT ON FUNCTION rag._in_context IS
$$A chunk's text behind its context: what rag.embedded_text is given as the content.$$;


CREATE OR REPLACE FUNCTION rag._context_source(document rag.documents)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _settings rag.enrichments := rag._enrichment(document.collection_id, 'context');
BEGIN
    RETURN CASE WHEN _settings.settings <> '{}'
        THEN encode(document.content_hash, 'hex') || ' ' || _settings.version END;
END
$$;

COMMENT ON FUNCTION rag._context_source IS
$$What a context of the document's chunks is written for: its text and the version of the settings;
NULL where its chunks shall have none.$$;


CREATE OR REPLACE FUNCTION rag.set_contexts(collection text, wanted boolean DEFAULT true,
    model text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(set_contexts.collection)).collection_id;
BEGIN
    IF NOT coalesce(wanted, false) AND (rag._enrichment(_id, 'context')).kind IS NULL THEN
        RETURN 0;
    END IF;
    RETURN rag._set_enrichment(_id, 'context', CASE WHEN wanted
        THEN jsonb_build_object('model', set_contexts.model) ELSE '{}' END);
END
$$;

COMMENT ON FUNCTION rag.set_contexts IS
$$Contexts of chunks by a model.

Let a language model write a context for every chunk, now and whenever a document changes, or
(wanted false) remove the contexts. This costs money: see rag.estimate_enrichment. Returns how many
documents there are; 0: it is set like this already.

A context says in a sentence or two where in its document the chunk stands. It is embedded and found
by keyword with the chunk, and shown nowhere. Chunks are searchable without it meanwhile; one that
gets or loses its context is a new row with a new id. model: NULL: the workers' helper model. The
embedder must have room for it beside a whole chunk: see rag.set_chunking.
Circle: application, Enrichment.
SELECT rag.set_contexts('docs')$$;


CREATE OR REPLACE FUNCTION rag.context_input(job_id bigint, lease uuid,
    chunk_limit integer DEFAULT 16)
RETURNS TABLE (title text, content text, wanted boolean, model text, source text,
    space_id integer, chunk_ids bigint[], headings text[], contents text[], starts integer[])
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _job rag.jobs := rag._leased_job(context_input.job_id, context_input.lease);
    _settings rag.enrichments := rag._enrichment(_job.collection_id, 'context');
    _space rag.spaces := rag._active_space(_job.collection_id);
BEGIN
    PERFORM rag._check_range('chunk_limit', chunk_limit, 1, 1000, 'RG001');
    RETURN QUERY
    SELECT d.title, d.content, s.source IS NOT NULL, _settings.settings ->> 'model', s.source,
           _space.space_id, t.ids, t.headings, t.contents, t.starts
    FROM rag.documents AS d,
    LATERAL (SELECT rag._context_source(ROW(d.*)::rag.documents) AS source) AS s,
    LATERAL (
        SELECT array_agg(n.chunk_id ORDER BY n.ordinal) AS ids,
               array_agg(n.heading ORDER BY n.ordinal) AS headings,
               array_agg(n.content ORDER BY n.ordinal) AS contents,
               array_agg(n.start_offset ORDER BY n.ordinal) AS starts
        FROM (SELECT c.* FROM rag.chunks AS c
              WHERE c.collection_id = _job.collection_id AND c.document_id = d.document_id
                  AND c.context_source IS DISTINCT FROM s.source
              ORDER BY c.ordinal
              LIMIT chunk_limit) AS n
    ) AS t
    WHERE d.collection_id = _job.collection_id AND d.document_id = _job.document_id
        AND d.indexed_version = d.version AND t.ids IS NOT NULL;
END
$$;

COMMENT ON FUNCTION rag.context_input IS
$$What a worker needs for a context job: the document, and its first chunks whose context is missing
or was written for another text or other settings. wanted: false: they shall have none. starts: in
characters of the content, NULL for chunks brought ready-made. space_id: whose model embeds them. No
row where nothing is to be done: finish the job.
Circle: worker, Jobs.
SELECT i.content, i.chunk_ids
FROM rag.take_jobs(1, kinds => '{context}') AS j,
     rag.context_input(j.job_id, j.lease) AS i$$;


CREATE OR REPLACE FUNCTION rag.store_contexts(job_id bigint, lease uuid, source text,
    chunk_ids bigint[], contexts text[], embedded_space integer, vectors {vector}.halfvec[])
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _job rag.jobs;
    _document rag.documents;
    _language text;
    _space rag.spaces;
    _source text;
    _new record;
BEGIN
    SELECT j.* INTO _job FROM rag.jobs AS j WHERE j.job_id = store_contexts.job_id;
    _document := rag._lock_document(_job.collection_id, _job.document_id);
    _job := rag._require_lease(store_contexts.job_id, store_contexts.lease);
    _source := rag._context_source(_document);
    IF _document.document_id IS NULL OR _source IS DISTINCT FROM store_contexts.source THEN
        RETURN rag._requeue_superseded(_job);
    END IF;
    IF cardinality(store_contexts.chunk_ids) IS DISTINCT FROM cardinality(contexts)
        OR cardinality(contexts) IS DISTINCT FROM cardinality(vectors) THEN
        RAISE EXCEPTION '% chunk ids, % contexts and % vectors',
            cardinality(store_contexts.chunk_ids), cardinality(contexts), cardinality(vectors)
        USING ERRCODE = 'RG001', HINT = 'pass one context and one vector per chunk id';
    END IF;
    SELECT c.language INTO _language FROM rag.collections AS c
    WHERE c.collection_id = _job.collection_id;
    -- Only chunks that are still there; one whose context stays as it is keeps its row.
    UPDATE rag.chunks AS c SET context_source = _source
    FROM unnest(store_contexts.chunk_ids, contexts) AS u (id, context)
    WHERE c.collection_id = _job.collection_id AND c.chunk_id = u.id
        AND c.document_id = _job.document_id
        AND c.context IS NOT DISTINCT FROM nullif(left(u.context, 2000), '');
    SELECT array_agg(o.chunk_id) AS old_ids, array_agg(nextval('rag.chunk_ids')) AS ids,
           array_agg(o.context) AS contexts, array_agg(o.vector) AS vectors,
           array_agg(coalesce(o.language, _language)) AS languages,
           array_agg(rag.embedded_text(_document.title, o.heading,
                         rag._in_context(o.context, o.content))) AS texts
    INTO _new
    FROM (
        SELECT c.chunk_id, c.heading, c.content, c.language, n.context, u.vector
        FROM unnest(store_contexts.chunk_ids, contexts, vectors) AS u (id, context, vector)
        JOIN rag.chunks AS c ON c.collection_id = _job.collection_id AND c.chunk_id = u.id
            AND c.document_id = _job.document_id,
        LATERAL (SELECT nullif(left(u.context, 2000), '') AS context) AS n
        WHERE c.context IS DISTINCT FROM n.context
        ORDER BY c.ordinal
    ) AS o;
    IF _new.ids IS NOT NULL THEN
        INSERT INTO rag.chunks AS c
            (collection_id, chunk_id, document_id, ordinal, start_offset, stop_offset, heading,
             content, content_hash, metadata, tenant, acl, language, lexemes, lexeme_count,
             enriched, context, context_source)
        SELECT o.collection_id, u.id, o.document_id, o.ordinal, o.start_offset, o.stop_offset,
               o.heading, o.content, o.content_hash, o.metadata, o.tenant, o.acl, o.language,
               u.lexemes, u.lexeme_count, o.enriched, u.context, _source
        FROM ROWS FROM (unnest(_new.old_ids, _new.ids, _new.contexts),
                        rag._lex_texts(_new.languages, _new.texts))
            AS u (old_id, id, context, lexemes, lexeme_count)
        JOIN rag.chunks AS o ON o.collection_id = _job.collection_id AND o.chunk_id = u.old_id;
        PERFORM rag._index_chunks(_job.collection_id, _new.ids, true);
        SELECT k.* INTO _space FROM rag._live_spaces(_job.collection_id) AS k
        WHERE k.space_id = embedded_space;
        IF _space.space_id IS NOT NULL THEN
            PERFORM rag._store_vectors(_space, _new.ids, _new.vectors);
        END IF;
        PERFORM rag._remove_chunks(_job.collection_id, _new.old_ids);
        PERFORM rag._queue_missing_vectors(_job.collection_id, ARRAY[_job.document_id]);
        PERFORM rag._note_change(_job.collection_id);
    END IF;
    IF EXISTS (SELECT FROM rag.chunks AS c
               WHERE c.collection_id = _job.collection_id AND c.document_id = _job.document_id
                   AND c.context_source IS DISTINCT FROM _source) THEN
        RETURN 'more';
    END IF;
    DELETE FROM rag.jobs AS j WHERE j.job_id = _job.job_id;
    RETURN 'stored';
END
$$;

COMMENT ON FUNCTION rag.store_contexts IS
$$Store contexts of a context job, in one transaction: each chunk is replaced by one with its
context and its vector. contexts: NULL: none; at most 2000 characters. source, embedded_space: as
rag.context_input gave them. vectors: of rag.embedded_text(title, heading, context, a line end and
the content).

Returns stored (the job is done), more (other chunks of the document wait: release the job) or
superseded (the text or the settings changed: nothing is stored, it is queued again). Error RG005
when the lease is lost.
Circle: worker, Jobs.
SELECT rag.store_contexts(j.job_id, j.lease, i.source, '{1}',
    '{about fish}', i.space_id, '{"[1, 0, 0]"}')
FROM rag.take_jobs(1, kinds => '{context}') AS j,
     rag.context_input(j.job_id, j.lease) AS i$$;
