-- The match modes: all, phrase and web are a condition on the lexemes.
--
-- The ranking stays the same BM25.

CREATE OR REPLACE FUNCTION rag._match_in(
    language text, lexer integer, searchable text, match text
)
RETURNS tsquery
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _text text := searchable;
    _run text;
BEGIN
    IF match = 'all' THEN
        RETURN (
            SELECT string_agg(rag._term_query(w.word)::text, ' & ')::tsquery
            FROM unnest(tsvector_to_array(rag._lexemes(language, searchable, lexer))) AS w (word));
    END IF;
    -- Each run of a script without word boundaries becomes its character pairs.
    FOR _run IN
        SELECT DISTINCT r.run[1]
        FROM regexp_matches(searchable, rag._unspaced_script() || '+', 'g') AS r (run)
        ORDER BY 1
    LOOP
        _text := regexp_replace(_text,
            format('(?<!%s)%s(?!%1$s)', rag._unspaced_script(), _run),
            ' ' || array_to_string(rag._character_pairs(_run), ' ') || ' ', 'g');
    END LOOP;
    _text := rag._parser_text(_text, lexer);
    RETURN CASE match WHEN 'phrase' THEN phraseto_tsquery(language::regconfig, _text)
        ELSE websearch_to_tsquery(language::regconfig, _text) END;
END
$$;

COMMENT ON FUNCTION rag._match_in IS
$$What a chunk has to match that this version of the lexer lexed in this language; NULL or empty:
the text has no lexemes there.$$;


CREATE OR REPLACE FUNCTION rag._match_query(collection_id integer, query_text text, match text)
RETURNS tsquery
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _text text := left(query_text, 10000);
    _excluded text[] := ARRAY(
        SELECT x.match[1]
        FROM regexp_matches(_text, E'(?:^|\\s)-("[^"]*"|\\S+)', 'g') AS x (match)
        WHERE _match_query.match = 'web');
    _by record;
    _one tsquery;
    _condition tsquery;
BEGIN
    FOR _by IN
        SELECT k.language, array_agg(k.lexer) AS lexers
        FROM rag._query_languages(_match_query.collection_id) AS k
        GROUP BY k.language
    LOOP
        SELECT string_agg('(' || m.condition::text || ')', ' | ')::tsquery INTO _one
        FROM unnest(_by.lexers) AS v (lexer)
        CROSS JOIN LATERAL rag._match_in(_by.language, v.lexer, _text,
            _match_query.match) AS m (condition)
        WHERE numnode(m.condition) > 0;
        IF cardinality(_by.lexers) > 1 AND _excluded <> '{}' THEN
            SELECT coalesce(_one && nullif(string_agg('!(' || m.condition::text || ')', ' & '),
                '')::tsquery, _one) INTO _one
            FROM unnest(_excluded) AS x (searchable)
            CROSS JOIN unnest(_by.lexers) AS v (lexer)
            CROSS JOIN LATERAL rag._match_in(_by.language, v.lexer, x.searchable,
                'phrase') AS m (condition)
            WHERE numnode(m.condition) > 0;
        END IF;
        IF numnode(_one) > 0 THEN
            _condition := CASE WHEN _condition IS NULL THEN _one ELSE _condition || _one END;
        END IF;
    END LOOP;
    RETURN coalesce(_condition, '');
END
$$;

COMMENT ON FUNCTION rag._match_query IS
$$The tsquery that a chunk has to match in mode all, phrase or web (websearch syntax: "a b", or,
-c).

A chunk may match it in any language of the collection; and while chunks are lexed anew, by either
version of the lexer, where neither finds what a minus excludes. Empty when the query has no
lexemes. Text beyond 10,000 characters is ignored.$$;


CREATE OR REPLACE FUNCTION rag._required_words(words text[], condition tsquery)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _positive text := querytree(condition);
    _relaxed tsquery;
BEGIN
    IF _positive IN ('', 'T') THEN
        RETURN '{}';
    END IF;
    _relaxed := regexp_replace(_positive, ' <(-|[0-9]+)> ', ' & ', 'g')::tsquery;
    IF NOT array_to_tsvector(words) @@ _relaxed THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(
        SELECT w.word
        FROM unnest(words) AS w (word)
        WHERE NOT array_to_tsvector(array_remove(words, w.word)) @@ _relaxed
    );
END
$$;

COMMENT ON FUNCTION rag._required_words IS
$$Those of the words that every match of the condition contains; NULL when all of them cannot
satisfy it.

Negations are left out and phrases relaxed to AND; a word is required if the others do not
suffice.$$;
