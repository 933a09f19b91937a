-- A copy of a collection, to measure other settings on: made empty, then filled in batches.

CREATE OR REPLACE FUNCTION rag._create_copy(source text, copy_name text, model text,
    dimensions integer, chunking jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _source rag.collections := rag._require_collection(source);
    _space rag.spaces := rag._active_space(_source.collection_id);
    _rules rag.enrichments := rag._enrichment(_source.collection_id, 'enrich');
BEGIN
    PERFORM rag.create_collection(copy_name, _create_copy.model, _create_copy.dimensions,
        _space.distance, rag._find_language(_source.language), _create_copy.chunking,
        CASE WHEN _create_copy.dimensions = _space.dimensions THEN _space.index_options
             ELSE _space.index_options - 'kind' END);
    UPDATE rag.collections AS c SET copy_of = _source.collection_id
    WHERE c.name = copy_name AND c.dropped_at IS NULL;
    PERFORM rag.index_field(copy_name, f.field, f.type) FROM rag.fields AS f
    WHERE f.collection_id = _source.collection_id
    ORDER BY f.field;
    IF _rules.settings <> '[]' THEN
        PERFORM rag.set_enrichment(copy_name, _rules.settings);
    END IF;
    IF _space.ef_search IS NOT NULL THEN
        PERFORM rag.alter_collection(copy_name, ef_search => _space.ef_search);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._create_copy IS
$$Make an empty collection with the settings of another: language, distance, index options,
ef_search, declared fields, rules of enrichment; but with this model and chunking. rag.erase knows
it as a copy, until it is dropped.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._copy_documents(source text, copy_name text, after_uri text,
    document_limit integer DEFAULT 200)
RETURNS TABLE (document_id uuid, uri text, characters integer)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
#variable_conflict use_column
DECLARE
    _source integer := (rag._require_collection(source)).collection_id;
    _document rag.documents;
BEGIN
    -- An erasure sees what is copied, or this what is erased.
    PERFORM rag._await_erasures(_source);
    FOR _document IN
        SELECT d.* FROM rag.documents AS d
        WHERE d.collection_id = _source AND d.uri > after_uri
        ORDER BY d.uri LIMIT document_limit
    LOOP
        uri := _document.uri;
        characters := length(_document.content);
        IF _document.content_hash = rag.content_hash(concat_ws(E'\n', _document.title,
            _document.media_type, coalesce(_document.language, ''), true, _document.content))
        THEN  -- its chunks were brought ready-made
            document_id := rag.put_chunks(copy_name, _document.uri, (
                SELECT jsonb_agg(jsonb_build_object('content', c.content, 'heading', c.heading,
                    'metadata', rag._added_metadata(c.metadata, _document.metadata))
                    ORDER BY c.ordinal)
                FROM rag.chunks AS c
                WHERE c.collection_id = _source AND c.document_id = _document.document_id),
                _document.title, _document.metadata, rag._find_language(_document.language));
        ELSE
            document_id := rag.put_document(copy_name, _document.uri, _document.content,
                _document.title, _document.metadata, _document.media_type,
                rag._find_language(_document.language));
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._copy_documents IS
$$Put the next documents by uri of a collection into its copy, and queue the work that makes them
searchable there. Ready-made chunks stay as they are. characters: of the content. No row: all are
copied.
Circle: client.$$;
