-- The words of a question: how rare each is, and which texts have it.

CREATE OR REPLACE FUNCTION rag.match_terms(collection text, query_text text, texts text[])
RETURNS TABLE (word text, term text, df bigint, chunk_count bigint, found_in integer[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (rag._require_collection(match_terms.collection)).collection_id;
    most_chunks CONSTANT integer := 20000;  -- that are counted for a tenant
    _scope CONSTANT text := rag._scope(_id);
    _languages bigint := (SELECT count(*) FROM rag._query_languages(_id));
    _q rag.keyword_query;
BEGIN
    PERFORM rag._check_query(match_terms.query_text, 1, '{}');
    _q := rag._prepare_keyword(_id, match_terms.query_text);
    IF _scope IS NOT NULL THEN  -- counts of the chunks alone that the session sees
        EXECUTE format(
            'WITH seen AS MATERIALIZED (SELECT c.lexemes FROM rag.chunks AS c'
            ' WHERE c.collection_id = $1 AND %s LIMIT $2)'
            ' SELECT (SELECT count(*) FROM seen) AS chunks, array_agg((SELECT count(*)'
            ' FROM seen AS s WHERE s.lexemes @@ t.term_query) ORDER BY t.position) AS counts'
            ' FROM unnest($3) WITH ORDINALITY AS t (term_query, position)', _scope)
        INTO _q.chunk_count, _q.chunk_counts USING _id, most_chunks, _q.term_queries;
    END IF;
    RETURN QUERY
    WITH terms AS MATERIALIZED (
        SELECT l.lexeme, min(w.word) AS word, min(w.position) AS position,
            count(DISTINCT k.language) AS languages
        FROM rag._query_languages(_id) AS k
        CROSS JOIN regexp_split_to_table(match_terms.query_text, E'\\s+') WITH ORDINALITY AS w
            (word, position)
        CROSS JOIN LATERAL unnest(tsvector_to_array(
            rag._lexemes(k.language, w.word, k.lexer))) AS l (lexeme)
        WHERE w.position <= rag._keyword_term_limit()
            AND (_languages = 1 OR l.lexeme IN (
                SELECT t.word FROM rag._query_terms(_id, match_terms.query_text) AS t))
        GROUP BY l.lexeme
        ORDER BY min(w.position), l.lexeme
        LIMIT rag._keyword_term_limit()
    ), forms AS MATERIALIZED (  -- each term, and in British or American spelling
        SELECT m.lexeme, m.lexeme AS written
        FROM terms AS m
        UNION
        SELECT l.lexeme, v.lexeme
        FROM unnest(_q.lexemes, _q.mistyped, _q.weights) AS v (lexeme, mistyped, weight)
        CROSS JOIN rag._query_languages(_id) AS k
        CROSS JOIN LATERAL unnest(tsvector_to_array(
            rag._words(k.language, v.mistyped, k.lexer))) AS l (lexeme)
        WHERE v.weight = 1
    ), found AS MATERIALIZED (
        SELECT f.lexeme, array_agg(DISTINCT t.position::integer) AS positions
        FROM rag._query_languages(_id) AS k
        CROSS JOIN unnest(match_terms.texts) WITH ORDINALITY AS t (searchable, position)
        CROSS JOIN LATERAL unnest(tsvector_to_array(
            rag._lexemes(k.language, t.searchable, k.lexer))) AS l (lexeme)
        JOIN forms AS f ON f.written = l.lexeme
        GROUP BY f.lexeme
    ), counted AS (
        SELECT m.*, coalesce(n.chunks, 0) AS chunks,
               max(n.chunks) OVER (PARTITION BY m.position) AS most
        FROM terms AS m
        LEFT JOIN (
            SELECT f.lexeme, sum(u.chunks)::bigint AS chunks
            FROM forms AS f
            JOIN unnest(_q.lexemes, _q.chunk_counts) AS u (lexeme, chunks)
                ON u.lexeme = f.written COLLATE "C"
            GROUP BY f.lexeme
        ) AS n ON n.lexeme = m.lexeme
    )
    SELECT c.word, c.lexeme, c.chunks, coalesce(_q.chunk_count, 0), coalesce(f.positions, '{}')
    FROM counted AS c
    LEFT JOIN found AS f ON f.lexeme = c.lexeme
    WHERE c.chunks > 0 OR c.most IS NULL OR c.languages = _languages
    ORDER BY c.position, c.lexeme;
END
$$;

COMMENT ON FUNCTION rag.match_terms IS
$$The terms of a question: the number of chunks that contain each, and the given texts that do.

A row per different lexeme, in the question's order. word: what stands in the question. df: chunks
of the collection that contain the term, of chunk_count; 0 says that the collection knows no such
word. found_in: the numbers, from 1, of the texts that contain it. Texts and question are lexed as a
query is: in every language of the collection, identifiers whole and in parts, pairs of characters
in scripts without spaces; stop words are left out. A word that stands in the collection in British
or American spelling only is met so; other spellings (typo_tolerance of rag.search) are not. In a
collection of several languages a word has the terms that the collection knows and those that all
languages make of it, or, where it knows none, all. At most 256 terms. Of a
shared collection the chunks count that the session sees, 20,000 at most.
E.g. SELECT term, df, found_in FROM rag.match_terms('docs', 'reset password', ARRAY['Press Reset.',
'Lunch.'])
Circle: client, Search.
SELECT * FROM rag.match_terms('docs', 'fish', '{Fish swim}')$$;
