-- Typo tolerance: words of a query that no chunk has, and the words one edit away that some have.

CREATE OR REPLACE FUNCTION rag._edit_variants(word text)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN ARRAY(
        WITH letters AS MATERIALIZED (
            SELECT chr(c.code) AS letter, c.code
            FROM (VALUES (97, 122), (945, 969), (1072, 1103), (1377, 1414), (1488, 1514),
                         (1569, 1594), (1601, 1610), (4304, 4336)) AS s (first, last)
            CROSS JOIN LATERAL generate_series(s.first, s.last) AS c (code)
            WHERE word ~ ('[' || chr(s.first) || '-' || chr(s.last) || ']')
        ), accents AS MATERIALIZED (  -- letters that are typed for one another
            SELECT string_to_table(g.letters, NULL) AS letter, g.letters AS others
            FROM (VALUES ('aàáâãäåāăąæ'), ('cçćč'), ('dďđð'), ('eèéêëēėęě'), ('gğģ'), ('iìíîïīįı'),
                         ('lłľļ'), ('nñńňņ'), ('oòóôõöőøœ'), ('rř'), ('sśšşșß'), ('tťţț'),
                         ('uùúûüūůűų'), ('yýÿ'), ('zźżž'), ('αά'), ('εέ'), ('ηή'), ('ιίϊΐ'), ('οό'),
                         ('σς'), ('υύϋΰ'), ('ωώ'), ('гґ'), ('еёє'), ('иіїй'), ('уў')) AS g (letters)
        ), cuts AS MATERIALIZED (
            SELECT p.position, left(word, p.position) AS head, substr(word, p.position + 1) AS tail
            FROM generate_series(0, length(word)) AS p (position)
        )
        SELECT v.variant
        FROM (
            SELECT 1 AS kind, c.position, 0 AS code,
                   c.head || substr(c.tail, 2, 1) || left(c.tail, 1) || substr(c.tail, 3) AS variant
            FROM cuts AS c
            WHERE length(c.tail) > 1
            UNION ALL
            SELECT 2, c.position, l.code, c.head || l.letter || c.tail
            FROM cuts AS c CROSS JOIN letters AS l
            UNION ALL
            SELECT 3, c.position, l.code, c.head || l.letter || substr(c.tail, 2)
            FROM cuts AS c CROSS JOIN letters AS l
            WHERE c.tail <> ''
            UNION ALL
            SELECT 4, c.position, ascii(o.letter), c.head || o.letter || substr(c.tail, 2)
            FROM cuts AS c
            JOIN accents AS a ON a.letter = left(c.tail, 1)
            CROSS JOIN LATERAL string_to_table(a.others, NULL) AS o (letter)
            UNION ALL
            SELECT 5, c.position, 0, c.head || substr(c.tail, 2)
            FROM cuts AS c
            WHERE c.tail <> ''
        ) AS v
        ORDER BY v.kind, v.position, v.code
    );
END
$$;

COMMENT ON FUNCTION rag._edit_variants(text) IS
$$What a word in lower case may have been before one typing error: two neighbouring letters
exchanged, a letter lost, typed for another, typed without its accent, or added; in this order, some
more than once.

Letters are those of the word's scripts: a to z, Greek, Cyrillic, Armenian, Hebrew, Arabic,
Georgian. A letter with an accent is found in the place of the same letter with another or none.$$;


CREATE OR REPLACE FUNCTION rag._correctable_words(query_text text)
RETURNS TABLE (word text, rank bigint)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    letter CONSTANT text := E'[A-Za-z\\u00C0-\\u024F\\u0386-\\u03FF\\u0400-\\u052F\\u0531-\\u0587'
        '\\u05D0-\\u05EA\\u0620-\\u064A\\u10D0-\\u10F0]';
    exactly CONSTANT text := E'("[^"]*"|(?:^|\\s)-\\S+)';  -- a phrase, an exclusion, an option
    opening CONSTANT text := E'^[(\\[{¿¡«»„“”‘’''"*\\u2026]+';
    closing CONSTANT text := E'[)\\]}.,;:!?\\u2026«»“”‘’''"*]+$';
    _text text := left(query_text, 10000);
    _exact text := lower((
        SELECT string_agg(m.match[1], ' ') FROM regexp_matches(_text, exactly, 'g') AS m (match)));
BEGIN
    RETURN QUERY
    SELECT lower(p.part), min(t.rank)
    FROM regexp_split_to_table(regexp_replace(_text, exactly, ' ', 'g'), E'\\s+') WITH ORDINALITY
        AS s (written, rank)
    CROSS JOIN LATERAL (
        SELECT regexp_replace(regexp_replace(s.written, opening, ''), closing, '') AS token,
               s.rank
    ) AS t
    CROSS JOIN LATERAL regexp_split_to_table(t.token, '[-''’]') AS p (part)
    WHERE t.token ~ ('^' || letter || '+(?:[-''’]' || letter || '+)*$')
        AND t.token !~ '[a-z][A-Z]'
        AND (t.token <> upper(t.token) OR t.token = lower(t.token) OR _text = upper(_text))
        AND length(p.part) BETWEEN 4 AND 40
        AND position(lower(p.part) IN coalesce(_exact, '')) = 0
    GROUP BY 1
    ORDER BY 2, 1;
END
$$;

COMMENT ON FUNCTION rag._correctable_words(text) IS
$$The words of a query, in lower case and in its order, that may hold a typing error: 4 to 40
letters and nothing else.

No part of a word with digits or signs (numbers, codes, identifiers, paths), or with a capital after
a small letter; no word in capitals where the query has small letters, too; nothing in double quotes
or behind a minus, nor such a word where it stands outside once more.$$;


CREATE OR REPLACE FUNCTION rag._known_lexemes(collection_key integer, words text[])
RETURNS TABLE (word text, chunks bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    _segments integer[] := ARRAY(
        SELECT s.segment FROM rag.keyword_segments AS s WHERE s.collection_id = collection_key);
BEGIN
    RETURN QUERY
    SELECT k.lexeme, (k.chunks - coalesce(r.chunk_count, 0))::bigint
    FROM (
        SELECT u.lexeme, sum(u.chunks) AS chunks
        FROM (
            SELECT p.lexeme, rag._posting_count(p.posting_or_count) AS chunks
            FROM rag.keyword_postings AS p
            WHERE p.collection_id = collection_key AND p.segment = ANY (_segments)
                AND p.lexeme = ANY (words)
            UNION ALL
            SELECT l.lexeme, f.change
            FROM rag._read_changes(collection_key) AS f
            CROSS JOIN LATERAL unnest(tsvector_to_array(f.lexemes)) AS l (lexeme)
            WHERE l.lexeme = ANY (words)
        ) AS u
        GROUP BY u.lexeme
    ) AS k
    LEFT JOIN LATERAL (
        SELECT x.chunk_count
        FROM rag.keyword_removed AS x
        WHERE x.collection_id = collection_key AND x.lexeme = k.lexeme COLLATE "C"
        OFFSET 0
    ) AS r ON true
    WHERE k.chunks > coalesce(r.chunk_count, 0);
END
$$;

COMMENT ON FUNCTION rag._known_lexemes(integer, text[]) IS
$$Those of many lexemes that chunks of the collection contain, and how many do.$$;


CREATE OR REPLACE FUNCTION rag._fuzzy_terms(
    collection_key integer, query_text text, unknown text[]
)
RETURNS TABLE (lexeme text, chunks bigint, spelling text, mistyped text, unknown_lexeme text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    most_words CONSTANT integer := 5;
    most_forms CONSTANT integer := 3;
    _languages text[] := ARRAY(SELECT rag._query_languages(collection_key));
    _word record;
    _variants text[];
    _lexed tsvector[];  -- the variants in each language; a position is that of the variant
BEGIN
    FOR _word IN
        SELECT c.word, min(u.lexeme) AS lexeme
        FROM rag._correctable_words(query_text) AS c
        CROSS JOIN unnest(_languages) AS k (language)
        CROSS JOIN LATERAL unnest(tsvector_to_array(rag._words(k.language, c.word))) AS u (lexeme)
        WHERE u.lexeme = ANY (unknown)
        GROUP BY c.word, c.rank
        ORDER BY c.rank, c.word
        LIMIT most_words
    LOOP
        _variants := rag._edit_variants(_word.word);
        _lexed := ARRAY(
            SELECT to_tsvector(k.language::regconfig, array_to_string(_variants, ' '))
            FROM unnest(_languages) AS k (language));
        RETURN QUERY
        SELECT n.word, n.chunks, CASE WHEN n.word = ANY (_variants) THEN n.word ELSE (
                SELECT _variants[min(l.positions[1])]
                FROM unnest(_lexed) AS v (lexemes)
                CROSS JOIN LATERAL unnest(v.lexemes) AS l
                WHERE l.lexeme = n.word
            ) END, _word.word, _word.lexeme
        FROM (
            SELECT s.word, s.chunks
            FROM rag._known_lexemes(collection_key, ARRAY(
                SELECT unnest(tsvector_to_array(v.lexemes)) FROM unnest(_lexed) AS v (lexemes)
            )) AS s
            ORDER BY s.chunks DESC, s.word COLLATE "C"
            LIMIT most_forms
        ) AS n;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._fuzzy_terms(integer, text, text[]) IS
$$What a query's words may have been that no chunk has: lexemes of words one edit away
(rag._edit_variants), as every language of the collection makes them.

unknown: lexemes of the query that no chunk contains. Of each word (rag._correctable_words, the
first 5) the 3 lexemes that most chunks contain. spelling: a word of that lexeme. mistyped: the word
of the query, of which unknown_lexeme is a lexeme.$$;


CREATE OR REPLACE FUNCTION rag._match_fuzzy(query rag.keyword_query, condition tsquery)
RETURNS tsquery
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _condition tsquery := condition;
    _words record;
BEGIN
    FOR _words IN
        SELECT w.unknown_lexeme::tsquery AS unknown,
            string_agg(f.term_query::text, ' | ')::tsquery AS instead
        FROM unnest(query.mistyped, query.term_queries) AS f (mistyped, term_query)
        CROSS JOIN rag._query_languages(query.collection_key) AS k (language)
        CROSS JOIN LATERAL (
            SELECT DISTINCT rag._quoted_lexeme(u.lexeme) AS unknown_lexeme
            FROM unnest(tsvector_to_array(rag._words(k.language, f.mistyped))) AS u (lexeme)
        ) AS w
        GROUP BY w.unknown_lexeme
    LOOP
        _condition := ts_rewrite(_condition, _words.unknown, _words.instead);
    END LOOP;
    RETURN _condition;
END
$$;

COMMENT ON FUNCTION rag._match_fuzzy(rag.keyword_query, tsquery) IS
$$The condition of match all or web with what is searched for instead of mistyped words.$$;


CREATE OR REPLACE FUNCTION rag._sees_all_chunks()
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN NOT row_security_active('rag.chunks'::regclass)
        AND NOT row_security_active('rag.documents'::regclass);
END
$$;

COMMENT ON FUNCTION rag._sees_all_chunks() IS
$$Whether no policy hides documents or chunks from this role.$$;


CREATE OR REPLACE FUNCTION rag._fuzzy_note(query rag.keyword_query)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _named CONSTANT boolean := rag._sees_all_chunks();
BEGIN
    RETURN (
        SELECT string_agg(format('no chunk has %s; %s searched for instead',
            to_json(m.mistyped), CASE WHEN _named THEN m.spellings ELSE 'words like it' END
                || CASE WHEN _named AND m.forms = 1 THEN ' was' ELSE ' were' END),
            '; ' ORDER BY m.position)
        FROM (
            SELECT u.mistyped, count(*) AS forms, min(u.position) AS position,
                string_agg(to_json(u.spelling)::text, ', ' ORDER BY u.position) AS spellings
            FROM unnest(query.mistyped, query.spellings) WITH ORDINALITY
                AS u (mistyped, spelling, position)
            WHERE u.mistyped IS NOT NULL
            GROUP BY u.mistyped
        ) AS m);
END
$$;

COMMENT ON FUNCTION rag._fuzzy_note(rag.keyword_query) IS
$$What was searched for instead of words that no chunk has; NULL: nothing. For a role under a policy
without the words, which only chunks that it may not see might have.$$;
