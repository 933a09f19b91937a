-- Which words the chunks of a collection write.

CREATE OR REPLACE FUNCTION rag._known_lexemes(collection_id integer, words text[])
RETURNS TABLE (word text, chunks bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
AS $$
DECLARE
    _segments integer[] := ARRAY(
        SELECT s.segment FROM rag.keyword_segments AS s WHERE s.collection_id =
            _known_lexemes.collection_id);
BEGIN
    RETURN QUERY
    SELECT k.lexeme, (k.chunks - coalesce(r.chunk_count, 0))::bigint
    FROM (
        SELECT u.lexeme, sum(u.chunks) AS chunks
        FROM (
            SELECT p.lexeme, rag._posting_count(p.posting_or_count) AS chunks
            FROM rag.keyword_postings AS p
            WHERE p.collection_id = _known_lexemes.collection_id AND p.segment = ANY (_segments)
                AND p.lexeme = ANY (words)
            UNION ALL
            SELECT l.lexeme, f.change
            FROM rag._read_changes(_known_lexemes.collection_id) AS f
            CROSS JOIN LATERAL unnest(tsvector_to_array(f.lexemes)) AS l (lexeme)
            WHERE l.lexeme = ANY (words)
        ) AS u
        GROUP BY u.lexeme
    ) AS k
    LEFT JOIN LATERAL (
        SELECT x.chunk_count
        FROM rag.keyword_removed AS x
        WHERE x.collection_id = _known_lexemes.collection_id AND x.lexeme = k.lexeme COLLATE "C"
        OFFSET 0
    ) AS r ON true
    WHERE k.chunks > coalesce(r.chunk_count, 0);
END
$$;

COMMENT ON FUNCTION rag._known_lexemes IS
$$Those of many lexemes that chunks of the collection contain, and how many do.$$;


CREATE OR REPLACE FUNCTION rag._some_chunks_with(
    collection_id integer, wanted_lexeme text, most integer
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
AS $$
DECLARE
    _chunks bigint[] := ARRAY(
        SELECT f.chunk_id FROM rag._read_changes(_some_chunks_with.collection_id) AS f
        WHERE f.change = 1 AND f.lexemes @@ rag._term_query(wanted_lexeme)
        LIMIT most);
BEGIN
    IF cardinality(_chunks) = most THEN
        RETURN _chunks;
    END IF;
    RETURN _chunks || rag._chunks_of_slots(_some_chunks_with.collection_id, ARRAY(
        SELECT u.slot
        FROM rag.keyword_segments AS s
        JOIN rag.keyword_postings AS p ON p.collection_id = _some_chunks_with.collection_id
            AND p.segment = s.segment AND p.lexeme = wanted_lexeme COLLATE "C"
        CROSS JOIN LATERAL (
            SELECT (l.posting >> 32)::integer
            FROM unnest(rag._posting_list(p.posting_or_count, p.postings)) AS l (posting)
            UNION ALL
            SELECT p.segment - p.segment % rag._keyword_block_size() + m.ordinal[1]::integer - 1
            FROM regexp_matches(left(p.weights::text, 12 * most), E'(\\d+):', 'g') AS m (ordinal)
        ) AS u (slot)
        WHERE s.collection_id = _some_chunks_with.collection_id
        LIMIT most), NULL);
END
$$;

COMMENT ON FUNCTION rag._some_chunks_with IS
$$Some chunks that contain a lexeme, or did until they were deleted.$$;


CREATE OR REPLACE FUNCTION rag._written_words(collection_id integer, chunk_keys bigint[])
RETURNS SETOF tsvector
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT rag._words('pg_catalog.simple', rag.embedded_text(
        coalesce(d.title, ''), c.heading, rag._in_context(c.context, c.content)))
    FROM rag.chunks AS c
    LEFT JOIN rag.documents AS d
        ON d.collection_id = _written_words.collection_id AND d.document_id = c.document_id
    WHERE c.collection_id = _written_words.collection_id AND c.chunk_id = ANY (chunk_keys);
END
$$;

COMMENT ON FUNCTION rag._written_words IS
$$The words of chunks as they are written, in lower case.$$;


CREATE OR REPLACE FUNCTION rag._known_words(
    collection_id integer, lexed tsvector[], words text[], listed text[], most integer
)
RETURNS TABLE (lexeme text, chunks bigint, word text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH known AS MATERIALIZED (
        SELECT s.word AS lexeme, s.chunks
        FROM rag._known_lexemes(_known_words.collection_id, ARRAY(
            SELECT unnest(tsvector_to_array(v.lexemes)) FROM unnest(lexed) AS v (lexemes)
        )) AS s
        ORDER BY s.chunks DESC, s.word COLLATE "C"
        LIMIT 4 * most
    ), forms AS MATERIALIZED (
        SELECT k.lexeme, k.chunks, array_agg(words[p.position] ORDER BY p.position) AS words
        FROM unnest(lexed) AS v (lexemes)
        CROSS JOIN LATERAL unnest(v.lexemes) AS l
        JOIN known AS k ON k.lexeme = l.lexeme
        CROSS JOIN LATERAL unnest(l.positions) AS p (position)
        GROUP BY k.lexeme, k.chunks
        ORDER BY k.chunks DESC, k.lexeme COLLATE "C"
    ), ordinary AS MATERIALIZED (
        SELECT rag._ordinary_words(listed, ARRAY(SELECT unnest(f.words) FROM forms AS f)) AS words
    )
    SELECT w.lexeme, w.chunks, w.word
    FROM (  -- OFFSET 0: no chunk is read for a word after the last that is wanted
        SELECT f.lexeme, f.chunks, coalesce(
            (SELECT u.word FROM unnest(f.words) WITH ORDINALITY AS u (word, position)
             WHERE u.word = ANY ((SELECT o.words FROM ordinary AS o)::text[])
             ORDER BY u.position LIMIT 1),
            (SELECT u.word  -- of ten chunks that contain the lexeme
             FROM rag._written_words(_known_words.collection_id,
                 rag._some_chunks_with(_known_words.collection_id, f.lexeme, 10)) AS c (written)
             JOIN unnest(f.words) WITH ORDINALITY AS u (word, position)
                 ON c.written @@ rag._term_query(u.word)
             ORDER BY u.position LIMIT 1)) AS word
        FROM forms AS f
        OFFSET 0
    ) AS w
    WHERE w.word IS NOT NULL
    LIMIT most;
END
$$;

COMMENT ON FUNCTION rag._known_words IS
$$Of what may be words those that are, and whose lexemes chunks contain: a word of each lexeme,
those that most chunks contain first.

A word is what is ordinary in a listed language, or stands so in a chunk: the ending that a stemmer
takes off does not make one. lexed: the words in each language of the
collection; a position is that of the word.$$;
