-- Passages around chunks: their neighbours, merged where they touch.

CREATE OR REPLACE FUNCTION rag.expand(
    collection text,
    chunk_ids bigint[],
    before integer DEFAULT 1,
    after integer DEFAULT 1,
    upto text DEFAULT 'window')
RETURNS TABLE (document_id uuid, uri text, title text, heading text, content text,
    start_offset integer,
               stop_offset integer, chunk_keys bigint[], rank bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (rag._require_collection(expand.collection)).collection_id;
    _scoped bigint[];
BEGIN
    IF coalesce(upto, '') NOT IN ('window', 'parent', 'section', 'document') THEN
        RAISE EXCEPTION 'unknown upto %', coalesce(quote_literal(upto), 'NULL')
            USING ERRCODE = 'RG004',
        HINT = 'use window (before and after), parent, section or document';
    END IF;
    PERFORM rag._check_range('before', before, 0, 1000), rag._check_range('after', after, 0, 1000);
    _scoped := rag._scoped_chunks(_id, chunk_ids);
    RETURN QUERY
    WITH hit AS (
        SELECT c.document_id, c.chunk_id, c.ordinal, c.heading, c.metadata -> 'parent' AS parent,
            k.rank
        FROM unnest(_scoped) WITH ORDINALITY AS k (chunk_id, rank),
        LATERAL (
            SELECT x.* FROM rag.chunks AS x
            WHERE x.collection_id = _id AND x.chunk_id = k.chunk_id
            OFFSET 0
        ) AS c
    ), wanted AS (
        SELECT c.document_id, c.chunk_id, c.ordinal, c.heading, c.content, c.start_offset,
            c.stop_offset,
               min(h.rank) AS rank
        FROM hit AS h,
        LATERAL (
            SELECT x.* FROM rag.chunks AS x
            WHERE x.collection_id = _id AND x.document_id = h.document_id
              AND CASE upto
                  WHEN 'document' THEN true
                  WHEN 'parent' THEN x.chunk_id = h.chunk_id OR x.metadata -> 'parent' = h.parent
                  WHEN 'section' THEN x.heading = h.heading
                      OR (h.heading <> '' AND starts_with(x.heading, h.heading || ' > '))
                  ELSE x.ordinal BETWEEN h.ordinal - before AND h.ordinal + after END
            OFFSET 0
        ) AS c
        GROUP BY c.document_id, c.chunk_id, c.ordinal, c.heading, c.content, c.start_offset,
            c.stop_offset
    ), pieces AS (
        SELECT w.*, w.ordinal - row_number() OVER one AS run,
               greatest(0, lag(w.stop_offset) OVER one - w.start_offset) AS overlap
        FROM wanted AS w
        WINDOW one AS (PARTITION BY w.document_id ORDER BY w.ordinal, w.chunk_id)
    ), passages AS (
        SELECT r.document_id, r.run, min(r.start_offset) AS start_offset,
            max(r.stop_offset) AS stop_offset,
               (array_agg(r.heading ORDER BY r.ordinal))[1] AS heading,
               string_agg(CASE WHEN r.overlap > 0 THEN substr(r.content, r.overlap + 1)
                   ELSE E'\n\n' || r.content END, ''
                          ORDER BY r.ordinal) AS joined,
               bool_and(r.start_offset IS NOT NULL) AS placed,
               array_agg(r.chunk_id ORDER BY r.ordinal) AS chunk_keys, min(r.rank) AS rank
        FROM pieces AS r
        GROUP BY r.document_id, r.run
    )
    SELECT p.document_id, d.uri, d.title, p.heading,
           -- The document may be newer than its chunks: then they are joined.
           CASE WHEN p.placed AND d.version = d.indexed_version
                THEN substr(d.content, p.start_offset + 1, p.stop_offset - p.start_offset)
                ELSE ltrim(p.joined, E'\n') END,
           p.start_offset, p.stop_offset, p.chunk_keys, p.rank
    FROM passages AS p
    JOIN rag.documents AS d ON d.collection_id = _id AND d.document_id = p.document_id
    ORDER BY p.rank, p.start_offset, p.run;
END
$$;

COMMENT ON FUNCTION rag.expand IS
$$The passages around chunks: neighbours that touch are merged into one passage, and no text is
repeated.

upto: window (so many chunks before and after each), parent (what a chunk of method small-to-big was
cut from), section (all chunks under its heading), or document. content is cut from the document by
offsets, so overlapping chunks leave no repetition; chunks without offsets (brought ready-made), or
older than their document, are joined. chunk_keys: the chunks of the passage in order. rank: which
of the given chunks is the first that it contains; the passages come in that order. Ids that do not
exist are left out.
Circle: application, Search.
SELECT content FROM rag.expand('docs', '{1, 2}')$$;
