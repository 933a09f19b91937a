-- Fields that rules or a model found, beside the metadata that the caller gave, which goes first.

CREATE OR REPLACE FUNCTION rag._effective_metadata(given jsonb, enriched jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(enriched #> '{extract,fields}', '{}') || coalesce(enriched #> '{enrich,fields}',
    '{}') || given;

COMMENT ON FUNCTION rag._effective_metadata IS
$$A document's metadata: what the caller gave, then what rules found, then what a model found.$$;


CREATE OR REPLACE FUNCTION rag._keys(of_object jsonb)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT k.key FROM jsonb_object_keys(coalesce(of_object, '{}')) AS k (key));

COMMENT ON FUNCTION rag._keys IS
$$The keys of a JSON object; none of NULL.$$;


CREATE OR REPLACE FUNCTION rag._store_fields(document rag.documents, kind text, entry jsonb)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _given jsonb := coalesce(document.given_metadata, document.metadata);
    _enriched jsonb := document.enriched || jsonb_build_object(kind, entry);
    _metadata jsonb := rag._effective_metadata(_given, _enriched);
BEGIN
    PERFORM rag._check_metadata(_metadata, document.uri);
    UPDATE rag.documents AS d
    SET metadata = _metadata, given_metadata = _given, enriched = _enriched
    WHERE d.collection_id = document.collection_id AND d.document_id = document.document_id
        AND (d.metadata, d.given_metadata, d.enriched) IS DISTINCT FROM
            (_metadata, _given, _enriched);
    IF FOUND THEN
        PERFORM rag._note_change(document.collection_id);
    END IF;
    IF _metadata <> document.metadata THEN
        UPDATE rag.chunks AS c
            SET metadata = _metadata || rag._added_metadata(c.metadata, document.metadata)
        WHERE c.collection_id = document.collection_id AND c.document_id = document.document_id;
    END IF;
    RETURN _metadata;
END
$$;

COMMENT ON FUNCTION rag._store_fields IS
$$Replace what rules (kind enrich) or a model (kind extract) found for a locked document:
{"version", "fields", …}. Values of an earlier version go. Returns the document's metadata.$$;


CREATE OR REPLACE FUNCTION rag._store_chunk_fields(document rag.documents, of_document jsonb,
    chunk_ids bigint[], fields_found jsonb[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _given text[] := rag._keys(coalesce(document.given_metadata, document.metadata));
BEGIN
    UPDATE rag.chunks AS c
    SET metadata = n.metadata, enriched = nullif(n.fields, '{}')
    FROM (
        SELECT k.chunk_id, f.fields, of_document || f.fields || o.own AS metadata
        FROM unnest(chunk_ids, fields_found) AS u (chunk_id, fields)
        JOIN rag.chunks AS k ON k.collection_id = document.collection_id
            AND k.chunk_id = u.chunk_id,
        LATERAL (SELECT rag._added_metadata(k.metadata - rag._keys(k.enriched), of_document)
                 AS own) AS o,
        LATERAL (SELECT u.fields - _given - rag._keys(o.own) AS fields) AS f
    ) AS n
    WHERE c.collection_id = document.collection_id AND c.chunk_id = n.chunk_id
        AND (c.metadata, coalesce(c.enriched, '{}')) IS DISTINCT FROM (n.metadata, n.fields);
    IF FOUND THEN
        PERFORM rag._note_change(document.collection_id);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._store_chunk_fields IS
$$Replace what rules found for the chunks of a locked document. of_document: its metadata by now.
What the caller gave the document, or the chunk brought along, goes first.$$;
