-- Typo tolerance: words of a query that no chunk has, and what some chunks have that they may be.

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

COMMENT ON FUNCTION rag._correctable_words IS
$$The words of a query, in lower case and in its order, that may hold a typing error: 4 to 40
letters and nothing else.

No part of a word with digits or signs (numbers, codes, identifiers, paths), or with a capital after
a small letter; no word in capitals where the query has small letters, too; nothing in double quotes
or behind a minus, nor such a word where it stands outside once more.$$;


CREATE OR REPLACE FUNCTION rag._lex_words(languages text[], words text[])
RETURNS tsvector[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(
        SELECT to_tsvector(k.language::regconfig, array_to_string(words, ' '))
        FROM unnest(languages) AS k (language));
END
$$;

COMMENT ON FUNCTION rag._lex_words IS
$$The lexemes of single words in each language; a position is that of the word.$$;


CREATE OR REPLACE FUNCTION rag._words_one_edit_away(
    collection_id integer, mistyped text, variants text[], languages text[], listed text[],
    most integer
)
RETURNS TABLE (lexeme text, chunks bigint, word text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    long_enough CONSTANT integer := CASE WHEN cardinality(listed) > 0 THEN 5 ELSE 8 END;
    _lexed tsvector[] := rag._lex_words(languages, variants);
BEGIN
    IF EXISTS (  -- a variant without a lexeme is a function word
        SELECT FROM unnest(_lexed) AS v (lexemes)
        WHERE rag._lexeme_count(v.lexemes) < cardinality(variants)
    ) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT k.lexeme, k.chunks, k.word
    FROM (
        SELECT f.*, count(*) OVER () AS found
        FROM rag._known_words(_words_one_edit_away.collection_id, _lexed, variants, listed,
            most) AS f
    ) AS k
    WHERE length(mistyped) >= long_enough OR k.found = 1;
END
$$;

COMMENT ON FUNCTION rag._words_one_edit_away IS
$$The words that chunks contain and that a word may have been before one typing error, of the
variants of it: none where it may have been a function word, nor several for a short word.

Short is a word of less than five letters, and of less than eight where the ordinary words of no
language are known.$$;


CREATE OR REPLACE FUNCTION rag._fuzzy_terms(
    collection_id integer, query_text text, unknown text[]
)
RETURNS TABLE (
    lexeme text, chunks bigint, spelling text, mistyped text, unknown_lexeme text,
    weight double precision
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    most_words CONSTANT integer := 5;
    most_forms CONSTANT integer := 3;
    _languages text[] := ARRAY(
        SELECT DISTINCT k.language FROM rag._query_languages(_fuzzy_terms.collection_id) AS k);
    _listed text[] := rag._listed_languages(_fuzzy_terms.collection_id, query_text);
    _word record;
    _variants text[];
    _same text[];
BEGIN
    FOR _word IN
        SELECT c.word, min(u.lexeme) AS lexeme
        FROM rag._correctable_words(query_text) AS c
        CROSS JOIN rag._query_languages(_fuzzy_terms.collection_id) AS k
        CROSS JOIN LATERAL unnest(tsvector_to_array(
            rag._words(k.language, c.word, k.lexer))) AS u (lexeme)
        WHERE u.lexeme = ANY (unknown)
        GROUP BY c.word, c.rank
        ORDER BY c.rank, c.word
        LIMIT most_words
    LOOP
        _same := rag._same_word(_word.word, _listed);
        IF _same <> '{}' THEN
            RETURN QUERY
            SELECT k.lexeme, k.chunks, k.word, _word.word, _word.lexeme, 1.0::double precision
            FROM rag._known_words(_fuzzy_terms.collection_id, rag._lex_words(_languages, _same),
                _same, _listed, most_forms) AS k;
            CONTINUE WHEN FOUND;
        END IF;
        CONTINUE WHEN (_listed = '{}' AND length(_word.word) < 6) OR cardinality(
            rag._ordinary_words(array_remove(_listed, 'english'), ARRAY[_word.word])) > 0;
        _variants := CASE WHEN rag._ordinary_words('{english}', ARRAY[_word.word]) = '{}'
                OR 'english' <> ALL (_listed) THEN rag._edit_variants(_word.word)
            ELSE rag._accent_variants(_word.word) END;
        RETURN QUERY
        SELECT k.lexeme, k.chunks, k.word, _word.word, _word.lexeme,
            0.7::double precision
        FROM rag._words_one_edit_away(_fuzzy_terms.collection_id, _word.word, _variants,
            _languages, _listed,
            most_forms) AS k;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._fuzzy_terms IS
$$What a query's words may have been that no chunk has, as lexemes that chunks contain.

unknown: lexemes of the query that no chunk contains. Of each word (rag._correctable_words, the
first 5): the same word written otherwise (rag._same_word), at weight 1; else, unless
it is an ordinary word of the query's or the collection's languages, the words one edit away
(rag._words_one_edit_away), at weight 0.7. English is written without accents: what is
ordinary there may still lack one. spelling: a word of that lexeme. mistyped: the
word of the query, of which unknown_lexeme is a lexeme.$$;


CREATE OR REPLACE FUNCTION rag._sees_all_chunks()
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN NOT row_security_active('rag.chunks'::regclass)
        AND NOT row_security_active('rag.documents'::regclass)
        OR EXISTS (SELECT FROM pg_policy AS p
            WHERE p.polrelid = 'rag.chunks'::regclass AND p.polname IN ('tenant', 'granted')
                AND quote_ident(current_user)::regrole::oid = ANY (p.polroles));
END
$$;

COMMENT ON FUNCTION rag._sees_all_chunks IS
$$Whether no policy hides documents or chunks from this role, but for those of tenants, by which
rag._scope tells what is seen.$$;


CREATE OR REPLACE FUNCTION rag._spelling_in(
    written tsvector[], spelling text, term_query tsquery, collection_id integer
)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN (
        SELECT w.word
        FROM (SELECT DISTINCT unnest(tsvector_to_array(t.words)) FROM unnest(written) AS t (words))
            AS w (word)
        CROSS JOIN rag._query_languages(_spelling_in.collection_id) AS k (language)
        WHERE w.word = spelling
            OR to_tsvector(k.language::regconfig, w.word) @@ term_query
        ORDER BY w.word = spelling DESC, abs(length(w.word) - length(spelling)), w.word
        LIMIT 1);
END
$$;

COMMENT ON FUNCTION rag._spelling_in IS
$$The word of a lexeme as texts write it: the given spelling where it is there, else one of its
length or nearly so.$$;


CREATE OR REPLACE FUNCTION rag._fuzzy_note(query rag.keyword_query, chunk_keys bigint[])
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _named CONSTANT boolean := rag._sees_all_chunks();
    _lexemes tsvector[] := (rag._read_lexemes(query.collection_id, chunk_keys)).lexemes;
    _written tsvector[] := ARRAY(SELECT rag._written_words(query.collection_id, chunk_keys));
BEGIN
    RETURN (
        SELECT string_agg(format('no chunk has %s; %s searched for instead',
            to_json(m.mistyped), CASE WHEN _named THEN m.spellings ELSE 'words like it' END
                || CASE WHEN _named AND m.forms = 1 THEN ' was' ELSE ' were' END),
            '; ' ORDER BY m.position)
        FROM (
            SELECT u.mistyped, count(*) AS forms, min(u.position) AS position,
                string_agg(to_json(w.spelling)::text, ', ' ORDER BY u.position) AS spellings
            FROM unnest(query.mistyped, query.spellings, query.term_queries, query.weights)
                WITH ORDINALITY AS u (mistyped, spelling, term_query, weight, position)
            CROSS JOIN LATERAL rag._spelling_in(_written, u.spelling, u.term_query,
                query.collection_id) AS w (spelling)
            WHERE u.mistyped IS NOT NULL AND u.weight < 1
                AND EXISTS (SELECT FROM unnest(_lexemes) AS l (lexemes)
                            WHERE l.lexemes @@ u.term_query)
            GROUP BY u.mistyped
        ) AS m);
END
$$;

COMMENT ON FUNCTION rag._fuzzy_note IS
$$What the given chunks, those of a result, have of what was searched for instead of words that no
chunk has, as they write it; NULL: nothing. For a role under a policy without the words, which only
chunks that it may not see might have.

The same word written otherwise (rag._same_word) is not told of.$$;


CREATE OR REPLACE FUNCTION rag._note_fuzzy(query rag.keyword_query, chunk_keys bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _note text;
BEGIN
    IF num_nonnulls(VARIADIC query.mistyped) > 0 THEN
        _note := rag._fuzzy_note(query, chunk_keys);
        IF _note IS NOT NULL THEN
            PERFORM rag._add_note(_note);
        END IF;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._note_fuzzy IS
$$Tell of what was searched for instead of mistyped words (rag._fuzzy_note) and is in a result.$$;
