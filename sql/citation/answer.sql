-- The citations of an answer, checked and placed in one call.

CREATE OR REPLACE FUNCTION rag._page_at(chunk_metadata jsonb, content text, run_start integer,
    OUT page_kind text, OUT page integer)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _last integer;
    _number integer;
BEGIN
    SELECT k.kind INTO page_kind
    FROM unnest(ARRAY['page', 'slide', 'sheet']) AS k (kind)
    WHERE jsonb_typeof(chunk_metadata -> k.kind) = 'number'
        AND chunk_metadata ->> k.kind ~ '^[0-9]{1,9}$'
    LIMIT 1;
    IF page_kind IS NULL THEN
        RETURN;
    END IF;
    page := chunk_metadata ->> page_kind;
    _last := CASE WHEN chunk_metadata ->> ('last_' || page_kind) ~ '^[0-9]{1,9}$'
        THEN (chunk_metadata ->> ('last_' || page_kind))::integer ELSE page END;
    IF _last > page THEN
        FOR _number IN
            SELECT m.found[1]::integer
            FROM regexp_matches(left(content, run_start), '^# ' || initcap(page_kind)
                || ' ([0-9]{1,9})(?:: .*)?$', 'gn') AS m (found)
        LOOP
            IF _number > page AND _number <= _last THEN
                page := _number;
            END IF;
        END LOOP;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._page_at IS
$$The page, slide or sheet on which a place of a chunk stands, from 1; NULL where the loader knew of
none. chunk_metadata: page and last_page, slide and last_slide, or sheet and last_sheet, as kept at
ingest; a chunk on several has the headings that loaders write between them.$$;


CREATE OR REPLACE FUNCTION rag._check_citations(collection text, citations jsonb)
RETURNS TABLE (status text, similarity double precision, chunk_key bigint, chunk_start integer,
    chunk_stop integer, document_start integer, document_stop integer, document_version integer,
    page_kind text, page integer, updated_on date, metadata jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    _collection_id integer := (rag._require_collection(_check_citations.collection)).collection_id;
    _citation jsonb;
    _quote text;
    _keys bigint[];
    _others bigint[];
    _key bigint;
    _found record;
    _best record;
    _chunk record;
    _joined record;
    _document uuid;
BEGIN
    FOR _citation IN
        SELECT c.value FROM jsonb_array_elements(_check_citations.citations)
            WITH ORDINALITY AS c (value, position)
        ORDER BY c.position
    LOOP
        _quote := coalesce(_citation ->> 'quote', '');
        _keys := rag._scoped_chunks(_collection_id, ARRAY(
            SELECT k.value::bigint
            FROM jsonb_array_elements_text(_citation -> 'chunk_ids') AS k (value)));
        SELECT array_agg(c.chunk_id ORDER BY c.ordinal) INTO _keys
        FROM rag.chunks AS c
        WHERE c.collection_id = _collection_id AND c.chunk_id = ANY (_keys);
        IF _keys IS NULL THEN
            -- its text was replaced since it was found; the chunk that holds the quote now
            _document := CASE WHEN _citation ->> 'uri' <> ''
                THEN (rag._scoped_documents(_collection_id, ARRAY[
                    rag.document_id(_check_citations.collection, _citation ->> 'uri')]))[1] END;
            _keys := ARRAY(
                SELECT c.chunk_id FROM rag.chunks AS c
                WHERE c.collection_id = _collection_id AND c.document_id = _document
                    AND rag._holds_quote(c.content, _quote)
                ORDER BY c.ordinal LIMIT 1);
        END IF;
        IF cardinality(_keys) = 0 THEN
            IF _document IS NOT NULL THEN
                SELECT d.version, d.updated_at::date AS day, d.metadata, l.status, l.start, l.stop,
                    l.similarity
                INTO _found
                FROM rag.documents AS d, rag._locate_quote(d.content, _quote) AS l
                WHERE d.collection_id = _collection_id AND d.document_id = _document
                    AND l.status IN ('exact', 'normalised');
            END IF;
            IF _document IS NOT NULL AND FOUND THEN
                -- in its text, which is cut anew, or not yet
                RETURN QUERY SELECT _found.status, _found.similarity, NULL::bigint, NULL::integer,
                    NULL::integer, _found.start, _found.stop, _found.version, NULL::text,
                    NULL::integer, _found.day, _found.metadata;
            ELSIF _document IS NOT NULL AND EXISTS (
                SELECT FROM rag._document_versions(_collection_id, _document) AS v
                WHERE rag._holds_quote(v.content, _quote)) THEN
                RETURN QUERY SELECT 'superseded', 1::double precision, NULL::bigint, NULL::integer,
                    NULL::integer, NULL::integer, NULL::integer, NULL::integer, NULL::text,
                    NULL::integer, NULL::date, NULL::jsonb;
            ELSE
                RETURN QUERY SELECT 'unknown', NULL::double precision, NULL::bigint, NULL::integer,
                    NULL::integer, NULL::integer, NULL::integer, NULL::integer, NULL::text,
                    NULL::integer, NULL::date, NULL::jsonb;
            END IF;
            CONTINUE;
        END IF;
        _others := ARRAY(SELECT o.value::bigint
            FROM jsonb_array_elements_text(_citation -> 'others') AS o (value));
        SELECT f.* INTO _best
        FROM rag.check_citation(_check_citations.collection, _keys[1], _quote, NULL, _others) AS f;
        FOREACH _key IN ARRAY _keys[2:] LOOP
            EXIT WHEN _best.status IN ('exact', 'normalised');
            SELECT f.* INTO _found
            FROM rag.check_citation(_check_citations.collection, _key, _quote, NULL, _others) AS f;
            IF _found.status IN ('exact', 'normalised')
                OR _best.status = 'fabricated' AND _found.status <> 'fabricated' THEN
                _best := _found;
            END IF;
        END LOOP;
        IF _best.found_in = ANY (_keys) AND _best.status = 'misattributed' THEN
            _best.status := 'normalised';  -- in the next chunk of the same source
        END IF;
        _key := coalesce(_best.found_in, _keys[1]);
        SELECT c.content, c.start_offset, c.metadata, c.document_id INTO _chunk
        FROM rag.chunks AS c
        WHERE c.collection_id = _collection_id AND c.chunk_id = _key;
        SELECT d.version, d.version = d.indexed_version AS is_indexed, d.updated_at::date AS day,
            d.metadata, p.first,
            CASE WHEN _best.status NOT IN ('exact', 'normalised') AND cardinality(_keys) > 1
                AND p.last - p.first <= 50000
                THEN substr(d.content, p.first + 1, p.last - p.first) END AS content
        INTO _joined
        FROM rag.documents AS d
        CROSS JOIN LATERAL (
            SELECT min(c.start_offset) AS first, max(c.stop_offset) AS last
            FROM rag.chunks AS c
            WHERE c.collection_id = _collection_id AND c.chunk_id = ANY (_keys)
        ) AS p
        WHERE d.collection_id = _collection_id AND d.document_id = _chunk.document_id;
        IF _joined.content IS NOT NULL AND _joined.is_indexed THEN
            SELECT l.* INTO _found FROM rag._locate_quote(_joined.content, _quote) AS l;
            IF _found.status IN ('exact', 'normalised') THEN
                -- from one chunk of the source into the next
                SELECT c.chunk_id, c.content, c.start_offset, c.metadata INTO _chunk
                FROM rag.chunks AS c
                WHERE c.collection_id = _collection_id AND c.chunk_id = ANY (_keys)
                    AND c.start_offset <= _joined.first + _found.start
                ORDER BY c.start_offset DESC LIMIT 1;
                RETURN QUERY SELECT _found.status, _found.similarity, _chunk.chunk_id,
                    NULL::integer, NULL::integer, _joined.first + _found.start,
                    _joined.first + _found.stop, _joined.version, p.page_kind, p.page, _joined.day,
                    _joined.metadata
                FROM rag._page_at(_chunk.metadata, _chunk.content,
                    _joined.first + _found.start - _chunk.start_offset) AS p;
                CONTINUE;
            END IF;
        END IF;
        RETURN QUERY SELECT _best.status, _best.similarity, _key, _best.start, _best.stop,
            CASE WHEN _joined.is_indexed THEN _chunk.start_offset + _best.start END,
            CASE WHEN _joined.is_indexed THEN _chunk.start_offset + _best.stop END,
            _joined.version, p.page_kind, p.page, _joined.day, _joined.metadata
        FROM rag._page_at(_chunk.metadata, _chunk.content, coalesce(_best.start, 0)) AS p;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._check_citations IS
$$rag.check_citation of every citation of an answer, a row each in their order: [{"chunk_ids": [1],
"uri": "…", "quote": "…", "others": [2]}, …].

A source that joins several chunks has the quote where one of them has it, or the document's text
from the first to the last. chunk_key: the chunk in which it begins; chunk_start, chunk_stop: NULL
where it reaches into the next. document_start, document_stop: in the document's text of
document_version; NULL while its chunks are of an earlier one. Where
the chunks are gone, its text was replaced since it was found: the quote is looked for in the chunks
that the document of that uri has now, in its text, then in its texts that are kept, which make it
superseded; where none of them holds it, its status is unknown.
Circle: client.$$;
