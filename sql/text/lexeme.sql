-- From text to lexemes: to_tsvector, and what PostgreSQL's parser cannot do by itself.
--
-- That is scripts written without spaces, and identifiers as one lexeme besides their parts.

CREATE OR REPLACE FUNCTION rag._lexeme_count(lexemes tsvector)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(sum(cardinality(l.positions)), 0)::integer FROM unnest(lexemes) AS l);

COMMENT ON FUNCTION rag._lexeme_count IS
$$The length of a text in BM25: how many lexeme positions it has.$$;


CREATE OR REPLACE FUNCTION rag._lex_texts(languages text[], texts text[])
RETURNS TABLE (lexemes tsvector, lexeme_count integer)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = auto    -- not the caller's: what is done to each text is planned once
AS $$
BEGIN
    RETURN QUERY
    SELECT l.lexemes, rag._lexeme_count(l.lexemes)
    FROM unnest(languages, texts) WITH ORDINALITY AS u (language, searchable, position),
    LATERAL (SELECT rag._lexemes(u.language, u.searchable) AS lexemes OFFSET 0) AS l
    ORDER BY u.position;
END
$$;

COMMENT ON FUNCTION rag._lex_texts IS
$$The lexemes of many texts, each by its language, and how many they are; in order, NULL for
NULL.$$;


CREATE OR REPLACE FUNCTION rag._unspaced_script()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u3005\u3040-\u30FF\u3400-\u4DBF\u4E00-\u9FFF'
    '\uAC00-\uD7AF\uF900-\uFAFF\uFF66-\uFF9F\U00020000-\U0002FA1F]';

COMMENT ON FUNCTION rag._unspaced_script IS
$$A regular expression for one character of Thai, Lao, Burmese, Khmer, Chinese, Japanese or
Korean.$$;


CREATE OR REPLACE FUNCTION rag._character_pairs(searchable text)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (    -- substr of the n-th character would take n steps
    SELECT array_agg(x.letter || coalesce(x.next_letter, '') ORDER BY x.part, x.position)
    FROM (
        SELECT r.part, c.position, c.letter,
               lead(c.letter) OVER (PARTITION BY r.part ORDER BY c.position) AS next_letter
        FROM regexp_matches(searchable, rag._unspaced_script() || '+', 'g') WITH ORDINALITY AS r
            (run, part)
        CROSS JOIN LATERAL string_to_table(r.run[1], NULL) WITH ORDINALITY AS c (letter, position)
    ) AS x
    WHERE x.next_letter IS NOT NULL OR x.position = 1
);

COMMENT ON FUNCTION rag._character_pairs IS
$$Every two neighbouring characters of scripts without word boundaries, in order; a single character
by itself.$$;


CREATE OR REPLACE FUNCTION rag._identifiers(searchable text)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT array_agg(lower(w.word) ORDER BY w.position)
    FROM (
        SELECT rtrim(s.word[1], '.:-/') AS word, s.position
        FROM regexp_matches(    -- one pass: ten times as fast as splitting the text
            searchable,
            '[^\n\t\r ()[\]{}<>,;"''`=|*!?]*(?:[_/\\@#]|[.:+][^\n\t\r ()[\]{}<>,;"''`=|*!?])'
            '[^\n\t\r ()[\]{}<>,;"''`=|*!?]*', 'g'
        ) WITH ORDINALITY AS s (word, position)
    ) AS w
    WHERE length(w.word) BETWEEN 2 AND 200
      AND w.word ~ ('[[:alnum:]][_/\\@][[:alnum:]]|[[:alpha:]][.][[:alpha:]_]|[[:alpha:]]\d+[.]\d'
                    '|[[:alnum:]]::|^[[:alpha:]]+([+][+]|#)$|^[.][[:alpha:]]|^_|_$')
);

COMMENT ON FUNCTION rag._identifiers IS
$$Words that are more than letters: ERR_CONN_RESET, v1.2.3, foo.bar_baz, /etc/hosts, a@b.org,
std::map, C++, .NET.$$;


CREATE OR REPLACE FUNCTION rag._parser_text(searchable text, lexer integer)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(
    regexp_replace(searchable, '[<>_/\\=|~]', ' ', 'g'),    -- translate takes five times as long
    '([[:alpha:]])(?:[.:@]+(?=[[:alpha:]])|-(?=\d))|\m(v)(?=\d+[.]\d)', '\1\2 ', 'g'
);

COMMENT ON FUNCTION rag._parser_text IS
$$The text as PostgreSQL's parser should see it.

By itself it takes a.b and a:b for hosts, a/b for files, <a> for markup (which it drops), -19 in
COVID-19 for a number and v1.2 for a file: here they become separate words. lexer: as in
rag._lexemes.$$;


CREATE OR REPLACE FUNCTION rag._quoted_lexeme(word text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '''' || replace(replace(word, '\', '\\'), '''', '''''') || '''';

COMMENT ON FUNCTION rag._quoted_lexeme IS
$$A lexeme as the text forms of tsvector and tsquery write it.$$;


CREATE OR REPLACE FUNCTION rag._find_language(name text)
RETURNS regconfig
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF name ~ '^(-|[0-9]+)$' THEN  -- the cast would take it for an object's number
        RAISE undefined_object;
    END IF;
    RETURN name::regconfig;
EXCEPTION WHEN undefined_object OR invalid_schema_name OR data_exception
          OR syntax_error_or_access_rule_violation OR feature_not_supported THEN
    RAISE EXCEPTION 'there is no text search configuration %', quote_literal(left(name, 200))
    USING ERRCODE = 'RG001',
    HINT = 'SELECT cfgname FROM pg_ts_config lists them; write schema.name for your own';
END
$$;

COMMENT ON FUNCTION rag._find_language IS
$$The text search configuration of that name, or error RG001.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._language_name(language regconfig)
RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path FROM CURRENT
SET quote_all_identifiers = off
AS $$
DECLARE
    _name text;
    _reached boolean;
    _owner regrole;
BEGIN
    SELECT CASE WHEN n.nspname = 'pg_catalog' THEN quote_ident(t.cfgname)
               ELSE format('%I.%I', n.nspname, t.cfgname) END,
           n.nspname !~ '^pg_temp' AND has_schema_privilege(n.oid, 'USAGE')
               AND has_schema_privilege(r.relowner, n.oid, 'USAGE'), r.relowner
    INTO _name, _reached, _owner
    FROM pg_ts_config AS t
    JOIN pg_namespace AS n ON n.oid = t.cfgnamespace
    JOIN pg_class AS r ON r.oid = 'rag.collections'::regclass
    WHERE t.oid = language;
    IF _name IS NULL THEN
        RAISE EXCEPTION 'there is no text search configuration %', language::oid
        USING ERRCODE = 'RG001',
            HINT = 'SELECT cfgname FROM pg_ts_config lists them; it may have been dropped just now';
    ELSIF NOT _reached THEN
        RAISE EXCEPTION 'text search configuration % is out of reach of role %', _name, _owner
        USING ERRCODE = 'RG001', HINT = 'others search by it, too: make it in a schema that lasts, '
            'and GRANT USAGE on that to PUBLIC';
    END IF;
    RETURN _name;
END
$$;

COMMENT ON FUNCTION rag._language_name IS
$$A text search configuration's name as it is stored: with its schema unless that is pg_catalog,
whatever the search_path. Error RG001 for a number that is none's, for a temporary one and for one
in a schema that the owner of schema rag may not use.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._has_language(language text)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN language ~ '^([a-z_][a-z0-9_]*|"([^"]|"")+")$' OR language !~ '^pg_temp'
        -- else the next would be an error
        AND has_schema_privilege(to_regnamespace(substring(language FROM
            '^([a-z_][a-z0-9_]*|"(?:[^"]|"")+")[.](?:[a-z_][a-z0-9_]*|"(?:[^"]|"")+")$')), 'USAGE')
    THEN pg_input_is_valid(language, 'regconfig')
    ELSE false END;

COMMENT ON FUNCTION rag._has_language IS
$$Whether there is a stored text search configuration for the caller: it may have been dropped or
renamed, be a session's temporary one, or lie in a schema that the caller may not use.$$;


CREATE OR REPLACE FUNCTION rag._special_words(searchable text, lexer integer)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN rag._identifiers(searchable) || CASE WHEN searchable ~ rag._unspaced_script()
    THEN rag._character_pairs(searchable) END;

COMMENT ON FUNCTION rag._special_words IS
$$Identifiers and character pairs of a text: lexemes in every language, beside its words.
lexer: as in rag._lexemes.$$;


CREATE OR REPLACE FUNCTION rag._words(language text, searchable text,
    lexer integer DEFAULT rag._lexer_version())
RETURNS tsvector
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN to_tsvector(language::regconfig,
        regexp_replace(rag._parser_text(searchable, lexer), rag._unspaced_script() || '+', ' ',
            'g'));
END
$$;

COMMENT ON FUNCTION rag._words IS
$$The lexemes of a text but for identifiers as a whole and character pairs.$$;


CREATE OR REPLACE FUNCTION rag._lexemes(language text, searchable text,
    lexer integer DEFAULT rag._lexer_version())
RETURNS tsvector
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _parsed text := rag._parser_text(searchable, lexer);
    _more text[] := rag._special_words(searchable, lexer);
    _found tsvector;
BEGIN
    IF NOT rag._has_language(language) THEN
        RAISE EXCEPTION 'there is no text search configuration %', language USING ERRCODE = 'RG001',
        HINT = format('create it again, e.g. CREATE TEXT SEARCH CONFIGURATION %s (COPY = '
            'pg_catalog.simple), '
                      'or put the document with another language', language);
    END IF;
    IF searchable ~ rag._unspaced_script() THEN
        _parsed := regexp_replace(_parsed, rag._unspaced_script() || '+', ' ', 'g');
    END IF;
    _found := to_tsvector(language::regconfig, _parsed);
    IF _more IS NOT NULL THEN
        _found := _found || (
            SELECT string_agg(rag._quoted_lexeme(m.word) || ':' || least(m.position, 16383), ' ')
            FROM unnest(_more) WITH ORDINALITY AS m (word, position))::tsvector;
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._lexemes IS
$$The lexemes of a text with their positions, by a text-search configuration; used for chunks and
queries alike.

Identifiers are kept whole (lower case) besides their parts, so that ERR_CONN_RESET finds the chunk
that holds it. Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese become character pairs.
lexer: a version of what makes lexemes, up to rag._lexer_version(): who changes it keeps what it was
for the versions before, because queries are lexed by them too while chunks are
(rag._relex_chunks).$$;


CREATE OR REPLACE FUNCTION rag._query_languages(collection_id integer)
RETURNS TABLE (language text, lexer integer)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections;
    _languages CONSTANT text[] := ARRAY(
        SELECT l.language FROM rag.keyword_languages AS l
        WHERE l.collection_id = _query_languages.collection_id);
BEGIN
    SELECT c.* INTO _collection FROM rag.collections AS c
    WHERE c.collection_id = _query_languages.collection_id;
    RETURN QUERY
    SELECT u.language, v.lexer
    FROM (SELECT DISTINCT x.language FROM unnest(_languages || _collection.language)
              AS x (language)) AS u
    CROSS JOIN generate_series(_collection.lexer_version::integer, rag._lexer_version()::integer)
        AS v (lexer)
    WHERE rag._has_language(u.language);
END
$$;

COMMENT ON FUNCTION rag._query_languages IS
$$By what a query to this collection is lexed: the text-search configurations of it and of its
documents, without those that no longer exist, each with every version of the lexer by which chunks
are lexed. That is one, but while they are lexed anew (rag._relex_chunks).$$;


CREATE OR REPLACE FUNCTION rag._lexer_terms(languages text[], searchable text, lexer integer)
RETURNS TABLE (word text, qtf integer, form_of integer)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    most CONSTANT integer := 2000;  -- each is looked up in every segment
    _own text;
BEGIN
    IF cardinality(languages) <= 1 THEN
        RETURN QUERY
        SELECT u.lexeme, cardinality(u.positions), (row_number() OVER ())::integer
        FROM unnest(rag._lexemes(languages[1], searchable, lexer)) AS u
        ORDER BY u.positions[1], u.lexeme
        LIMIT most;
        RETURN;
    END IF;
    _own := rag._guess_language(searchable, languages);
    RETURN QUERY
    WITH lexed AS MATERIALIZED (
        SELECT k.language, u.lexeme, p.position
        FROM unnest(languages) AS k (language)
        CROSS JOIN LATERAL unnest(rag._words(k.language, searchable, lexer)) AS u
        CROSS JOIN LATERAL unnest(u.positions) AS p (position)
    ), kept AS (
        SELECT l.lexeme, l.position::integer AS position
        FROM lexed AS l
        WHERE CASE
            WHEN _own IS NOT NULL
            THEN l.position IN (SELECT o.position FROM lexed AS o WHERE o.language = _own)
            WHEN l.language = 'rag.auto' THEN l.position IN (
                SELECT o.position FROM lexed AS o
                GROUP BY o.position HAVING count(DISTINCT o.language) = cardinality(languages))
            ELSE true END
        UNION ALL
        SELECT m.lexeme, 20000 + m.position::integer
        FROM unnest(rag._special_words(searchable, lexer)) WITH ORDINALITY AS m (lexeme, position)
    )
    SELECT k.lexeme, count(DISTINCT k.position)::integer, min(k.position)
    FROM kept AS k
    GROUP BY k.lexeme
    ORDER BY min(k.position), k.lexeme
    LIMIT most;
END
$$;

COMMENT ON FUNCTION rag._lexer_terms IS
$$What one version of the lexer makes of a query: see rag._query_terms.$$;


CREATE OR REPLACE FUNCTION rag._query_terms(collection_id integer, query_text text)
RETURNS TABLE (word text, qtf integer, form_of integer)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    most CONSTANT integer := 2000;
    _text text := left(query_text, 100000);
    _languages text[];
    _lexers integer[];
BEGIN
    SELECT coalesce(array_agg(DISTINCT k.language), '{}'), array_agg(DISTINCT k.lexer)
    INTO _languages, _lexers
    FROM rag._query_languages(_query_terms.collection_id) AS k;
    IF cardinality(_lexers) = 1 THEN
        RETURN QUERY SELECT t.word, t.qtf, t.form_of
        FROM rag._lexer_terms(_languages, _text, _lexers[1]) AS t;
        RETURN;
    END IF;
    RETURN QUERY
    WITH made AS MATERIALIZED (
        SELECT l.lexeme, w.position, count(DISTINCT v.lexer) = cardinality(_lexers) AS by_all
        FROM regexp_split_to_table(_text, E'\\s+') WITH ORDINALITY AS w (written, position)
        CROSS JOIN unnest(_languages) AS k (language)
        CROSS JOIN unnest(_lexers) AS v (lexer)
        CROSS JOIN LATERAL unnest(tsvector_to_array(
            rag._lexemes(k.language, w.written, v.lexer))) AS l (lexeme)
        WHERE w.position <= most
        GROUP BY l.lexeme, w.position
    ), changed AS MATERIALIZED (
        SELECT m.lexeme, min(m.position)::integer AS position
        FROM made AS m
        GROUP BY m.lexeme
        HAVING NOT bool_or(m.by_all)
    )
    SELECT t.word, max(t.qtf),
        coalesce(-min(c.position), (array_agg(t.form_of ORDER BY v.lexer DESC))[1])
    FROM unnest(_lexers) AS v (lexer)
    CROSS JOIN LATERAL rag._lexer_terms(_languages, _text, v.lexer) AS t
    LEFT JOIN changed AS c ON c.lexeme = t.word
    GROUP BY t.word
    ORDER BY min(t.form_of), t.word
    LIMIT most;
END
$$;

COMMENT ON FUNCTION rag._query_terms IS
$$The lexemes of a query and how often it says each, in every language that the collection's chunks
use.

A word that several languages turn into the same lexeme counts once: they give it the same position.
form_of: a number of the word, which the lexemes that several languages make of it share.
Where the query's own language is told by its function words, these are left out in every language:
in chunks of another one, which does not know them as such, they would be rare and weigh most. Where
it is not told, chunks of rag.auto, which has no stop words, are not asked for those of the others.
While chunks are lexed anew: the lexemes of all versions of the lexer that they are lexed by, each
as often as the version says it that says it most. What not all versions make of a word between
spaces is one form: so a word is as rare as before and after, however few chunks are done.
Of more than 2,000 different lexemes the first 2,000 are taken. A query of stop words or punctuation
has none and finds nothing.$$;


CREATE OR REPLACE FUNCTION rag._term_query(word text)
RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN rag._quoted_lexeme(word)::tsquery;

COMMENT ON FUNCTION rag._term_query IS
$$The tsquery that asks for exactly this lexeme.$$;
