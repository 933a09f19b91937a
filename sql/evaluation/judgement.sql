-- Judgements name documents and passages, never chunks: here they are found in a corpus as it is.

CREATE OR REPLACE FUNCTION rag._find_quote(
    content text, quote text, near integer DEFAULT NULL,
    OUT start_offset integer, OUT stop_offset integer)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    at_most CONSTANT integer := 1000;
    _pattern text;
    _from integer := 0;
    _next integer;
BEGIN
    IF substr(content, near + 1, length(quote)) = quote THEN
        start_offset := near;
    ELSE
        FOR _ IN 1..at_most LOOP
            _next := strpos(substr(content, _from + 1), quote);
            EXIT WHEN _next = 0;
            _next := _from + _next - 1;
            IF start_offset IS NULL OR abs(_next - near) < abs(start_offset - near) THEN
                start_offset := _next;
            END IF;
            EXIT WHEN near IS NULL OR _next > near;
            _from := _next + 1;
        END LOOP;
    END IF;
    IF start_offset IS NOT NULL THEN
        stop_offset := start_offset + length(quote);
        RETURN;
    END IF;
    -- White space differs where a text was copied from a page.
    _pattern := regexp_replace(regexp_replace(btrim(quote, E' \t\r\n'),
        E'[][\\\\.^$*+?(){}|]', E'\\\\\\&', 'g'), E'\\s+', E'\\\\s+', 'g');
    start_offset := nullif(regexp_instr(content, _pattern), 0) - 1;
    stop_offset := regexp_instr(content, _pattern, start_offset + 1, 1, 1) - 1;
END
$$;

COMMENT ON FUNCTION rag._find_quote IS
$$Where a quote stands in a text, in characters from 0: nearest to near, else first; NULL where it
does not. White space of any kind and length is equal.$$;


CREATE OR REPLACE FUNCTION rag._resolve_judgements(collection_id integer, of_set integer,
    query_ids text[] DEFAULT NULL)
RETURNS TABLE (query_id text, judgement_number integer, grade double precision, uri text,
    quote text, document_id uuid, start_offset integer, stop_offset integer, state text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT j.query_id, j.judgement_number, j.grade, j.uri, j.quote, d.document_id,
           f.start_offset, f.stop_offset,
           CASE WHEN d.document_id IS NULL THEN 'uri gone'
                WHEN j.quote IS NOT NULL AND f.start_offset IS NULL THEN 'quote gone'
                WHEN j.quote IS NOT NULL AND j.start_offset <> f.start_offset THEN 'moved'
                WHEN j.quote IS NULL AND j.stop_offset > length(d.content) THEN 'beyond the end'
                ELSE 'current' END
    FROM rag.eval_judgements AS j
    LEFT JOIN rag.documents AS d ON d.collection_id = _resolve_judgements.collection_id AND d.uri =
        j.uri
    LEFT JOIN LATERAL (
        SELECT q.start_offset, q.stop_offset
        FROM rag._find_quote(d.content, j.quote, j.start_offset) AS q
        WHERE j.quote IS NOT NULL AND d.document_id IS NOT NULL
        UNION ALL
        SELECT j.start_offset, j.stop_offset
        WHERE j.quote IS NULL
    ) AS f ON true
    WHERE j.set_id = of_set AND (query_ids IS NULL OR j.query_id = ANY (query_ids));
END
$$;

COMMENT ON FUNCTION rag._resolve_judgements IS
$$Where the judgements of a set stand in a collection. state: current, moved (the quote stands
elsewhere than its offsets say), quote gone, uri gone, or beyond the end (the document is shorter
than the offsets). Offsets are NULL where the whole document is judged.$$;


CREATE OR REPLACE FUNCTION rag.eval_drift(set_name text, collection text)
RETURNS TABLE (query_id text, question text, uri text, quote text, state text, detail text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _set integer := (rag._require_eval_set(set_name)).set_id;
    _id integer := (rag._require_collection(eval_drift.collection)).collection_id;
BEGIN
    RETURN QUERY
    SELECT q.query_id, q.question, r.uri, r.quote, r.state,
           CASE r.state
               WHEN 'moved' THEN format('from %s to %s', j.start_offset, r.start_offset)
               WHEN 'uri gone' THEN 'the collection has no such document'
               WHEN 'quote gone' THEN 'the document does not hold it'
               ELSE format('the passage ends at %s', j.stop_offset) END
    FROM rag._resolve_judgements(_id, _set) AS r
    JOIN rag.eval_queries AS q ON q.set_id = _set AND q.query_id = r.query_id
    JOIN rag.eval_judgements AS j ON j.set_id = _set AND j.query_id = r.query_id
        AND j.judgement_number = r.judgement_number
    WHERE r.state <> 'current'
    ORDER BY q.query_id COLLATE "C", r.judgement_number;
END
$$;

COMMENT ON FUNCTION rag.eval_drift IS
$$The judgements of a set that no longer describe a collection: uri gone, quote gone, moved (it is
found all the same), beyond the end. No row: all do. Cutting anew or another model change none.
Circle: application, Evaluation.
SELECT * FROM rag.eval_drift('faq', 'docs')$$;


CREATE OR REPLACE FUNCTION rag._judge_hits(collection_id integer, of_set integer,
    query_ids text[], hits jsonb[])
RETURNS TABLE (query_id text, described_hits jsonb, grades double precision[],
    judgement_grades double precision[], judgement_ranks integer[], unresolved integer)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH judged AS MATERIALIZED (
        SELECT r.* FROM rag._resolve_judgements(_judge_hits.collection_id, of_set, query_ids) AS r
    ), found AS MATERIALIZED (
        SELECT g.query_id, h.rank::integer AS rank, h.value AS hit, c.chunk_id,
               coalesce(d.uri, h.value ->> 'uri') AS uri, c.start_offset, c.stop_offset, c.content
        FROM unnest(query_ids, hits) AS g (query_id, hits),
            LATERAL jsonb_array_elements(g.hits) WITH ORDINALITY AS h (value, rank)
        LEFT JOIN rag.chunks AS c ON c.collection_id = _judge_hits.collection_id
            AND c.chunk_id = (h.value ->> 'chunk_id')::bigint
        LEFT JOIN rag.documents AS d ON d.collection_id = _judge_hits.collection_id
            AND d.document_id = c.document_id
        WHERE d.uri IS NOT NULL OR NOT h.value ? 'chunk_id'
    ), level AS (
        SELECT j.query_id, bool_or(j.start_offset IS NOT NULL OR j.quote IS NOT NULL) AS passages
        FROM judged AS j GROUP BY j.query_id
    ), first_ranks AS (
        SELECT f.query_id, f.uri, row_number() OVER (PARTITION BY f.query_id ORDER BY min(f.rank))
                   ::integer AS rank
        FROM found AS f GROUP BY f.query_id, f.uri
    ), ranked AS MATERIALIZED (  -- chunks where a passage is judged, else documents
        SELECT f.query_id, f.rank AS hit_rank,
               CASE WHEN l.passages
                    THEN row_number() OVER (PARTITION BY f.query_id ORDER BY f.rank)::integer
                    ELSE u.rank END AS rank,
               f.uri, f.start_offset, f.stop_offset, f.content
        FROM found AS f
        JOIN first_ranks AS u ON u.query_id = f.query_id AND u.uri = f.uri
        LEFT JOIN level AS l ON l.query_id = f.query_id
    ), met AS MATERIALIZED (
        SELECT r.query_id, r.rank, r.hit_rank, j.judgement_number, j.grade
        FROM ranked AS r
        JOIN judged AS j ON j.query_id = r.query_id AND j.uri = r.uri
        WHERE CASE
            WHEN j.quote IS NULL AND j.start_offset IS NULL THEN true
            WHEN j.start_offset IS NOT NULL AND r.start_offset IS NOT NULL THEN
                2 * (least(r.stop_offset, j.stop_offset) - greatest(r.start_offset, j.start_offset))
                    >= least(r.stop_offset - r.start_offset, j.stop_offset - j.start_offset)
            WHEN j.quote IS NOT NULL THEN
                (rag._find_quote(r.content, j.quote)).start_offset IS NOT NULL
            ELSE false END
    )
    SELECT g.query_id, coalesce(d.described, '[]'), coalesce(u.grades, '{}'),
           coalesce(j.grades, '{}'), coalesce(j.ranks, '{}'), coalesce(j.unresolved, 0)
    FROM unnest(query_ids) AS g (query_id)
    LEFT JOIN (
        SELECT f.query_id, jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
            'chunk_id', f.chunk_id, 'uri', f.uri, 'start', f.start_offset, 'stop', f.stop_offset,
            'score', f.hit -> 'score', 'grade', m.grade)) ORDER BY f.rank) AS described
        FROM found AS f
        LEFT JOIN (
            SELECT x.query_id, x.hit_rank, max(x.grade) AS grade
            FROM met AS x GROUP BY x.query_id, x.hit_rank
        ) AS m ON m.query_id = f.query_id AND m.hit_rank = f.rank
        GROUP BY f.query_id
    ) AS d ON d.query_id = g.query_id
    LEFT JOIN (
        SELECT e.query_id, array_agg(e.grade ORDER BY e.rank) AS grades
        FROM (
            SELECT r.query_id, r.rank, coalesce(max(m.grade), 0) AS grade
            FROM ranked AS r
            LEFT JOIN met AS m ON m.query_id = r.query_id AND m.hit_rank = r.hit_rank
            GROUP BY r.query_id, r.rank
        ) AS e
        GROUP BY e.query_id
    ) AS u ON u.query_id = g.query_id
    LEFT JOIN (
        SELECT p.query_id, array_agg(p.grade ORDER BY p.judgement_number) AS grades,
               array_agg(p.rank ORDER BY p.judgement_number) AS ranks,
               (count(*) FILTER (WHERE p.state NOT IN ('current', 'moved')))::integer AS unresolved
        FROM (
            SELECT k.query_id, k.judgement_number, k.grade, k.state, min(m.rank) AS rank
            FROM judged AS k
            LEFT JOIN met AS m ON m.query_id = k.query_id
                AND m.judgement_number = k.judgement_number
            GROUP BY k.query_id, k.judgement_number, k.grade, k.state
        ) AS p
        GROUP BY p.query_id
    ) AS j ON j.query_id = g.query_id;
END
$$;

COMMENT ON FUNCTION rag._judge_hits IS
$$Hits of questions judged: a row for each question, with what rag.eval_results keeps.

hits: for each question an array of objects with chunk_id (or uri, of a ranking of documents, which
may name some that are not here) and score, best first. A question all of
whose judgements are whole documents ranks documents: each counts where its first chunk stands. Else
chunks are ranked: a chunk meets a passage when they share at least half of the shorter one; where
chunks have no offsets, when it holds the quote.$$;


CREATE OR REPLACE FUNCTION rag._missing_documents(of_collection text, uris text[])
RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(of_collection);
BEGIN
    RETURN QUERY
    SELECT DISTINCT u.uri FROM unnest(uris) AS u (uri)
    LEFT JOIN rag.documents AS d ON d.collection_id = _collection.collection_id
        AND d.document_id = rag.document_id(_collection.name, u.uri)
    WHERE d.document_id IS NULL
    ORDER BY u.uri;
END
$$;

COMMENT ON FUNCTION rag._missing_documents IS
$$Those of the uris that no document of the collection has.
Circle: client.$$;
