-- What a worker reads for a job, and how it stores chunks and embeddings.

CREATE OR REPLACE FUNCTION rag.job_input(job_id bigint, lease uuid)
RETURNS TABLE (document_id uuid, uri text, title text, content text, media_type text,
    document_version integer,
               chunking jsonb, embedded_hashes bytea[], space_id integer)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _job rag.jobs := rag._leased_job(job_input.job_id, job_input.lease);
    _space rag.spaces := rag._active_space(_job.collection_id);
BEGIN
    RETURN QUERY
    SELECT d.document_id, d.uri, d.title, d.content, d.media_type, d.version, c.chunking,
           ARRAY(SELECT k.content_hash FROM rag.chunks AS k
                 JOIN rag.embeddings AS e ON e.space_id = _space.space_id
                     AND e.chunk_id = k.chunk_id
                 WHERE k.collection_id = _job.collection_id AND k.document_id = _job.document_id),
           _space.space_id
    FROM rag.documents AS d
    JOIN rag.collections AS c ON c.collection_id = d.collection_id
    WHERE d.collection_id = _job.collection_id AND d.document_id = _job.document_id;
END
$$;

COMMENT ON FUNCTION rag.job_input IS
$$What a worker needs for an ingest job: the document, its version, the collection's chunking, and
the content hashes (of rag.embedded_text) whose vectors are there already: chunks with these need no
embedding. space_id: the space whose model has to embed the others; hand it back to store_chunks.
Circle: worker, Jobs.
SELECT i.*
FROM rag.take_jobs(1, kinds => '{ingest}') AS j,
    rag.job_input(j.job_id, j.lease) AS i$$;


CREATE OR REPLACE FUNCTION rag._notify_ready(collection_id integer, of_document uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _payload jsonb;
BEGIN
    SELECT jsonb_build_object('collection', c.name, 'document_id', d.document_id, 'uri', d.uri,
                              'version', d.indexed_version)
    INTO _payload
    FROM rag.documents AS d
    JOIN rag.collections AS c ON c.collection_id = d.collection_id AND c.tenant = ''
    WHERE d.collection_id = _notify_ready.collection_id AND d.document_id = of_document;
    IF octet_length(_payload::text) >= 8000 THEN
        _payload := _payload || '{"uri": null}';
    END IF;
    -- Not in a query of tables: another node, where Citus would run that, prepares no NOTIFY.
    IF _payload IS NOT NULL THEN
        PERFORM pg_notify('rag_ready', _payload::text);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._notify_ready IS
$$Tell who listens on channel rag_ready that a document is searchable: {"collection", "document_id",
"uri", "version"}.

Sent when the transaction commits. uri is null where the payload would exceed the 8,000 bytes of a
NOTIFY. Not sent for a tenant's collection: every role of the database may listen.$$;


CREATE OR REPLACE FUNCTION rag._parse_offsets(chunks jsonb, OUT starts integer[],
                                              OUT stops integer[])
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _wrong record;
BEGIN
    SELECT coalesce(array_agg((c.value ->> 'start')::integer ORDER BY c.ordinality), '{}'),
           coalesce(array_agg((c.value ->> 'stop')::integer ORDER BY c.ordinality), '{}')
    INTO starts, stops
    FROM jsonb_array_elements(chunks) WITH ORDINALITY AS c;
    SELECT u.position, u.start, u.stop INTO _wrong
    FROM unnest(starts, stops) WITH ORDINALITY AS u (start, stop, position)
    WHERE u.start < 0 OR u.stop < coalesce(u.start, 0) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'chunk % reaches from % to %', _wrong.position, coalesce(_wrong.start, 0),
            _wrong.stop
        USING ERRCODE = 'RG001',
            HINT = 'start is 0 or more and stop is not before it: offsets in characters';
    END IF;
EXCEPTION WHEN data_exception THEN
    RAISE EXCEPTION 'start or stop of a chunk cannot be read: %', left(SQLERRM, 200)
    USING ERRCODE = 'RG001',
    HINT = 'both are whole numbers: the chunk''s position in the text, in characters';
END
$$;

COMMENT ON FUNCTION rag._parse_offsets IS
$$Where chunks given as JSON begin and end in the text, in their order; error RG001
for what is no whole number, or none that a text has.$$;


CREATE OR REPLACE FUNCTION rag.store_chunks(job_id bigint, lease uuid, document_version integer,
                                            chunks jsonb, embedded_space integer DEFAULT NULL,
                                            vectors {vector}.halfvec[] DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _job rag.jobs;
    _version integer;
    _offsets record;
    _vectors {vector}.halfvec[];
BEGIN
    -- The document first, then the job: the order in which delete_document locks them.
    SELECT j.* INTO _job FROM rag.jobs AS j WHERE j.job_id = store_chunks.job_id;
    SELECT d.version INTO _version
    FROM rag.documents AS d
    WHERE d.collection_id = _job.collection_id AND d.document_id = _job.document_id
    FOR UPDATE;
    _job := rag._require_lease(store_chunks.job_id, store_chunks.lease);
    IF _version IS DISTINCT FROM store_chunks.document_version THEN
        DELETE FROM rag.jobs AS j WHERE j.job_id = _job.job_id;
        PERFORM rag._queue_jobs(_job.collection_id, ARRAY[_job.document_id], 'ingest',
            _job.priority);
        RETURN 'superseded';
    END IF;
    IF jsonb_typeof(store_chunks.chunks) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'chunks is not a JSON array' USING ERRCODE = 'RG001',
        HINT = 'pass [{"content", "heading", "start", "stop", "embedding"}, ...]';
    END IF;
    _offsets := rag._parse_offsets(store_chunks.chunks);
    _vectors := coalesce(store_chunks.vectors, rag._parse_embeddings(store_chunks.chunks));
    IF cardinality(store_chunks.vectors) <> jsonb_array_length(store_chunks.chunks) THEN
        RAISE EXCEPTION '% chunks and % vectors', jsonb_array_length(store_chunks.chunks),
            cardinality(store_chunks.vectors)
        USING ERRCODE = 'RG001',
            HINT = 'pass one vector per chunk, NULL for one that has its vector already';
    END IF;
    -- Before its chunks, as every writer locks the two tables.
    UPDATE rag.documents AS d SET indexed_version = _version
    WHERE d.collection_id = _job.collection_id AND d.document_id = _job.document_id;
    PERFORM count(*)
    FROM (
        SELECT coalesce(array_agg(_job.document_id), '{}') AS ids,
               coalesce(array_agg((c.ordinality - 1)::integer ORDER BY c.ordinality), '{}')
                   AS ordinals,
               coalesce(array_agg(coalesce(c.value ->> 'heading', '') ORDER BY c.ordinality), '{}')
                   AS headings,
               coalesce(array_agg(c.value ->> 'content' ORDER BY c.ordinality), '{}') AS contents,
               coalesce(array_agg(nullif(c.value -> 'metadata', 'null') ORDER BY c.ordinality),
                   '{}') AS extras
        FROM jsonb_array_elements(store_chunks.chunks) WITH ORDINALITY AS c
    ) AS a,
    LATERAL rag._replace_chunks(_job.collection_id, a.ids, a.ordinals, _offsets.starts,
                               _offsets.stops, a.headings, a.contents, a.extras, _vectors,
                               embedded_space);
    DELETE FROM rag.jobs AS j WHERE j.job_id = _job.job_id;
    PERFORM rag._queue_enrichment(_job.collection_id, ARRAY[_job.document_id]);
    IF _job.document_id <> ALL
        (rag._queue_missing_vectors(_job.collection_id, ARRAY[_job.document_id])) THEN
        PERFORM rag._notify_ready(_job.collection_id, _job.document_id);
    END IF;
    RETURN 'stored';
END
$$;

COMMENT ON FUNCTION rag.store_chunks IS
$$Finish an ingest job: the given chunks replace the document's, in one transaction.

document_version: as read_job gave it; when the document changed since, nothing is stored, it is
queued again, and the result is superseded. chunks: a JSON array of {"content", "heading", "start",
"stop", "embedding"}; start and stop are character offsets; embedding may be left out where read_job
listed its hash. embedded_space: as read_job gave it (NULL: the active space), so that vectors stay
with their model when another space was activated meanwhile; every other space queues what it lacks.
vectors: the embeddings, instead of the key in chunks: one for each, NULL for one that has its
vector already. A JSON array holds 256 MB, of which an embedding as text takes ten times what it
takes here. Error RG005 when the lease is lost. Returns stored or superseded.
Circle: worker, Jobs.
SELECT rag.store_chunks(j.job_id, j.lease, 1, '[]')
FROM rag.take_jobs(1, kinds => '{ingest}') AS j$$;


CREATE OR REPLACE FUNCTION rag.chunks_to_embed(job_id bigint, lease uuid,
    chunk_limit integer DEFAULT 1000)
RETURNS TABLE (chunk_id bigint, searchable text)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _job rag.jobs := rag._leased_job(chunks_to_embed.job_id, chunks_to_embed.lease);
BEGIN
    PERFORM rag._check_range('chunk_limit', coalesce(chunk_limit, 0), 0, NULL, 'RG001');
    RETURN QUERY
    SELECT c.chunk_id,
           rag.embedded_text(d.title, c.heading, rag._in_context(c.context, c.content))
    FROM rag.chunks AS c
    JOIN rag.documents AS d ON d.collection_id = c.collection_id AND d.document_id = c.document_id
    LEFT JOIN rag.embeddings AS e ON e.space_id = _job.space_id AND e.chunk_id = c.chunk_id
    WHERE c.collection_id = _job.collection_id AND c.document_id = _job.document_id AND e.chunk_id
        IS NULL
    ORDER BY c.ordinal
    LIMIT chunk_limit;
END
$$;

COMMENT ON FUNCTION rag.chunks_to_embed IS
$$What a worker needs for an embed job: ids and texts of the document's chunks without a
vector in the job's space, at most chunk_limit.
Circle: worker, Jobs.
SELECT c.*
FROM rag.take_jobs(1, kinds => '{embed}') AS j,
    rag.chunks_to_embed(j.job_id, j.lease) AS c$$;


CREATE OR REPLACE FUNCTION rag.store_embeddings(job_id bigint, lease uuid, chunk_ids bigint[],
    vectors {vector}.halfvec[])
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _job rag.jobs;
    _space rag.spaces;
    _missing integer;
BEGIN
    SELECT j.* INTO _job FROM rag.jobs AS j WHERE j.job_id = store_embeddings.job_id;
    -- Changed, not only locked: who deletes it by an older snapshot, without the vectors, fails.
    UPDATE rag.documents AS d SET indexed_version = d.indexed_version
    WHERE d.collection_id = _job.collection_id AND d.document_id = _job.document_id;
    _job := rag._require_lease(store_embeddings.job_id, store_embeddings.lease);
    _space := rag._require_space(_job.space_id);
    IF cardinality(store_embeddings.chunk_ids) <> cardinality(store_embeddings.vectors) THEN
        RAISE EXCEPTION '% chunk ids and % vectors', cardinality(store_embeddings.chunk_ids),
            cardinality(store_embeddings.vectors)
        USING ERRCODE = 'RG001', HINT = 'pass one vector per chunk id';
    END IF;
    -- Only chunks that are still there: one may have gone while it was embedded.
    PERFORM rag._store_vectors(_space, k.ids, k.vectors)
    FROM (
        SELECT array_agg(v.id) AS ids, array_agg(v.vector) AS vectors
        FROM unnest(store_embeddings.chunk_ids, store_embeddings.vectors) AS v (id, vector)
        JOIN rag.chunks AS c ON c.collection_id = _job.collection_id AND c.chunk_id = v.id
            AND c.document_id = _job.document_id
    ) AS k
    WHERE k.ids IS NOT NULL;
    IF FOUND THEN
        PERFORM rag._note_change(_job.collection_id);
    END IF;
    SELECT count(*) INTO _missing
    FROM rag.chunks AS c
    LEFT JOIN rag.embeddings AS e ON e.space_id = _space.space_id AND e.chunk_id = c.chunk_id
    WHERE c.collection_id = _job.collection_id AND c.document_id = _job.document_id AND e.chunk_id
        IS NULL;
    IF _missing = 0 THEN
        DELETE FROM rag.jobs AS j WHERE j.job_id = _job.job_id;
        IF _space.state = 'active' THEN
            PERFORM rag._notify_ready(_job.collection_id, _job.document_id);
        END IF;
    END IF;
    RETURN _missing;
END
$$;

COMMENT ON FUNCTION rag.store_embeddings IS
$$Store vectors of an embed job, one per chunk id; the job is finished when no chunk of its document
lacks one.

Returns how many still do. Error RG005 when the lease is lost, RG001 for wrong dimensions.
Circle: worker, Jobs.
SELECT rag.store_embeddings(j.job_id, j.lease, '{}', '{}')
FROM rag.take_jobs(1, kinds => '{embed}') AS j$$;
