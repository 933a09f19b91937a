-- Extraction: fields with types that a language model reads out of documents.

CREATE OR REPLACE FUNCTION rag.set_extraction(collection text, fields jsonb,
    model text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    types CONSTANT text[] := '{text,number,boolean,date,list,enum}';
    _field text;
    _kind jsonb;
    _wrong text;
    _id integer := (rag._require_collection(set_extraction.collection)).collection_id;
    _fields jsonb := coalesce(set_extraction.fields, '{}');
BEGIN
    IF jsonb_typeof(_fields) <> 'object' OR cardinality(rag._keys(_fields)) > 50 THEN
        RAISE EXCEPTION 'fields are %', CASE jsonb_typeof(_fields) WHEN 'object'
            THEN cardinality(rag._keys(_fields))::text ELSE 'a JSON ' || jsonb_typeof(_fields) END
        USING ERRCODE = 'RG001',
            HINT = 'use an object of at most 50, e.g. {"author": {"type": "text"}}';
    END IF;
    FOR _field, _kind IN SELECT f.key, f.value FROM jsonb_each(_fields) AS f LOOP
        PERFORM rag._check_enriched_field(to_jsonb(_field), 'field ' || quote_literal(_field));
        _wrong := CASE
            WHEN jsonb_typeof(_kind) <> 'object' THEN format('is a JSON %s', jsonb_typeof(_kind))
            WHEN NOT coalesce(_kind ->> 'type' = ANY (types), false)
                THEN format('has the type %s', coalesce(_kind -> 'type', 'null'))
            WHEN (_kind ->> 'type' = 'enum') <> (_kind ? 'values')
                THEN format('has the type %s %s values', _kind ->> 'type',
                    CASE WHEN _kind ? 'values' THEN 'and' ELSE 'without' END)
            WHEN _kind ? 'values' AND NOT jsonb_path_match(_kind, 'strict exists($.values[*]) &&
                !exists($.values[*] ? (@.type() != "string"))', silent => true) IS TRUE
                THEN 'has values that are no array of texts'
            WHEN pg_column_size(_kind) > 8000
                THEN format('has %s bytes, at most 8000 are kept', pg_column_size(_kind))
            WHEN coalesce(jsonb_typeof(_kind -> 'description'), 'string') <> 'string'
                THEN 'has a description that is no text'
            WHEN rag._keys(_kind) <@ '{type,values,description}' THEN NULL
            ELSE format('has keys beside type, values and description') END;
        IF _wrong IS NOT NULL THEN
            RAISE EXCEPTION 'field % %', quote_literal(_field), _wrong USING ERRCODE = 'RG001',
            HINT = 'e.g. {"type": "enum", "values": ["a", "b"], "description": "..."}; types: '
                || array_to_string(types, ', ');
        END IF;
    END LOOP;
    IF _fields = '{}' AND (rag._enrichment(_id, 'extract')).kind IS NULL THEN
        RETURN 0;
    END IF;
    RETURN rag._set_enrichment(_id, 'extract', CASE WHEN _fields = '{}' THEN _fields
        ELSE jsonb_build_object('fields', _fields, 'model', set_extraction.model) END);
END
$$;

COMMENT ON FUNCTION rag.set_extraction IS
$$Metadata read by a model.

Let a language model read fields out of a collection's documents, and out of each that is put or
changed later. This costs money: see rag.estimate_enrichment. Returns how many documents there are;
0: it is set like this already.

fields: at most 50, e.g. {"author": {"type": "text", "description": "who wrote it"}, "kind":
{"type": "enum", "values": ["report", "letter"]}}; types: text, number, boolean, date (YYYY-MM-DD),
list (of texts), enum. '{}' removes what was read. model: NULL: the workers' helper model. Metadata
that the caller gave goes first, then what rules found. A failure stays with its document
(rag.list_jobs).
Circle: application, Enrichment.
SELECT rag.set_extraction('docs', '{"author": {"type": "text"}}')$$;


CREATE OR REPLACE FUNCTION rag.extraction_input(job_id bigint, lease uuid)
RETURNS TABLE (title text, content text, document_version integer, fields jsonb, model text,
    settings_version integer)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _job rag.jobs := rag._leased_job(extraction_input.job_id, extraction_input.lease);
    _settings rag.enrichments := rag._enrichment(_job.collection_id, 'extract');
BEGIN
    RETURN QUERY
    SELECT d.title, d.content, d.version, coalesce(_settings.settings -> 'fields', '{}'),
           _settings.settings ->> 'model', _settings.version
    FROM rag.documents AS d
    WHERE d.collection_id = _job.collection_id AND d.document_id = _job.document_id
        AND _settings.version IS NOT NULL
        AND (d.enriched #> '{extract,version}', d.enriched #> '{extract,text}')
            IS DISTINCT FROM (to_jsonb(_settings.version), to_jsonb(d.version));
END
$$;

COMMENT ON FUNCTION rag.extraction_input IS
$$What a worker needs for an extract job: the document, the fields ({}: none any more) and the
model. No row where nothing is to be done: finish the job.
Circle: worker, Jobs.
SELECT i.content, i.fields
FROM rag.take_jobs(1, kinds => '{extract}') AS j,
     rag.extraction_input(j.job_id, j.lease) AS i$$;


CREATE OR REPLACE FUNCTION rag.store_extraction(job_id bigint, lease uuid,
    document_version integer, settings_version integer, extracted jsonb,
    model_name text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _job rag.jobs;
    _settings rag.enrichments;
    _document rag.documents;
    _fields jsonb;
BEGIN
    SELECT j.* INTO _job FROM rag.jobs AS j WHERE j.job_id = store_extraction.job_id;
    _document := rag._lock_document(_job.collection_id, _job.document_id);
    _job := rag._require_lease(store_extraction.job_id, store_extraction.lease);
    _settings := rag._enrichment(_job.collection_id, 'extract');
    IF _document.version IS DISTINCT FROM store_extraction.document_version
        OR _settings.version IS DISTINCT FROM store_extraction.settings_version THEN
        RETURN rag._requeue_superseded(_job);
    END IF;
    IF jsonb_typeof(extracted) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'extracted is no JSON object' USING ERRCODE = 'RG001',
        HINT = 'pass the fields and their values, e.g. {"author": "Ada"}';
    END IF;
    SELECT coalesce(jsonb_object_agg(f.key, v.value), '{}') INTO _fields
    FROM jsonb_each(coalesce(_settings.settings -> 'fields', '{}')) AS f,
    LATERAL (SELECT f.value ->> 'type' AS type, extracted -> f.key AS value,
        jsonb_typeof(extracted -> f.key) AS kind) AS g,
    LATERAL (SELECT CASE
        WHEN g.type IN ('text', 'date') AND g.kind = 'string'
            THEN rag._typed_value(g.value #>> '{}', g.type)
        WHEN g.type = g.kind AND g.type IN ('number', 'boolean') THEN g.value
        WHEN g.type = 'enum' AND g.kind = 'string' AND f.value -> 'values' @> g.value THEN g.value
        WHEN g.type = 'list' AND g.kind = 'array' THEN (
            SELECT jsonb_agg(d.value ORDER BY d.position)
            FROM (SELECT t.value, min(i.ordinality) AS position
                  FROM jsonb_array_elements(g.value) WITH ORDINALITY AS i,
                  LATERAL (SELECT rag._typed_value(i.value #>> '{}', 'text') AS value) AS t
                  WHERE jsonb_typeof(i.value) = 'string' AND t.value IS NOT NULL
                  GROUP BY t.value
                  ORDER BY position
                  LIMIT 100) AS d) END AS value) AS v
    WHERE v.value IS NOT NULL;
    PERFORM rag._store_fields(_document, 'extract', jsonb_build_object(
        'version', _settings.version, 'text', _document.version, 'model', model_name,
        'fields', _fields));
    PERFORM rag._note_change(_job.collection_id);
    DELETE FROM rag.jobs AS j WHERE j.job_id = _job.job_id;
    RETURN 'stored';
END
$$;

COMMENT ON FUNCTION rag.store_extraction IS
$$Finish an extract job: what the model found replaces what it found before.

document_version, settings_version: as rag.extraction_input gave them; where either changed since,
nothing is stored, the document is queued again and the result is superseded. extracted: {"author":
"Ada", …}; what is not of its field's type, or of no field, is left out. Returns stored or
superseded. Error RG005 when the lease is lost.
Circle: worker, Jobs.
SELECT rag.store_extraction(j.job_id, j.lease, 1, 1,
    '{"author": "Ada"}')
FROM rag.take_jobs(1, kinds => '{extract}') AS j$$;
