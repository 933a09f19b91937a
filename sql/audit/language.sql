-- Whether texts are of the language by which they are lexed.

CREATE OR REPLACE FUNCTION rag._text_languages(texts text[], languages text[])
RETURNS TABLE (number integer, language text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    fewest_words CONSTANT integer := 20;
BEGIN
    RETURN QUERY
    WITH guessed AS MATERIALIZED (
        SELECT t.position::integer AS position, t.language AS own,
               rag._guess_language(t.content) AS guess
        FROM unnest(texts, languages) WITH ORDINALITY AS t (content, language, position)
        WHERE regexp_count(t.content, E'\\S+') >= fewest_words
    ), fitting AS (
        -- A configuration that drops the function words of a language is one for it.
        SELECT p.own, p.guess
        FROM (SELECT DISTINCT g.own, g.guess FROM guessed AS g) AS p
        JOIN rag._function_words() AS f ON f.language = p.guess
        CROSS JOIN LATERAL unnest(f.words) AS w (word)
        GROUP BY p.own, p.guess
        HAVING count(*) FILTER (WHERE to_tsvector(rag._find_language(p.own), w.word) = '')
            >= 0.4 * count(*)
    )
    SELECT g.position, CASE WHEN f.guess IS NULL THEN nullif(g.guess, g.own) END
    FROM guessed AS g
    LEFT JOIN fitting AS f USING (own, guess);
END
$$;

COMMENT ON FUNCTION rag._text_languages IS
$$Of which language texts are that is not their own: a row for each text of 20 words or more, by its
number from 1; NULL where it is its own, or not known.

languages: the text search configuration of each; with simple for all it tells what they are. A
configuration that drops two fifths of the function words of a language passes for it. The names are
those of rag._guess_language, which knows more languages than there are configurations.$$;


CREATE OR REPLACE FUNCTION rag._audit_languages(names text[], texts text[], languages text[])
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    looked_at CONSTANT integer := 500;
    _taken integer[];
    _judged bigint;
    _other text[];
    _languages jsonb;
BEGIN
    _taken := ARRAY(
        SELECT t.position FROM unnest(languages) WITH ORDINALITY AS t (language, position)
        WHERE t.language NOT IN ('simple', 'rag.auto') AND rag._has_language(t.language)
        ORDER BY hashint8(t.position), t.position LIMIT looked_at);
    WITH verdicts AS MATERIALIZED (
        SELECT _taken[f.number] AS position, f.language AS other
        FROM rag._text_languages(
            ARRAY(SELECT texts[t.position] FROM unnest(_taken) WITH ORDINALITY AS t (position, n)
                  ORDER BY t.n),
            ARRAY(SELECT languages[t.position]
                  FROM unnest(_taken) WITH ORDINALITY AS t (position, n) ORDER BY t.n)) AS f
    )
    SELECT count(*), array_agg(format('%s is %s', left(names[v.position], 80), v.other)
               ORDER BY v.position) FILTER (WHERE v.other IS NOT NULL),
           (SELECT jsonb_object_agg(c.other, c.texts)
            FROM (SELECT x.other, count(*) AS texts FROM verdicts AS x
                  WHERE x.other IS NOT NULL GROUP BY 1) AS c)
    INTO _judged, _other, _languages
    FROM verdicts AS v;
    RETURN QUERY SELECT 'languages',
        CASE WHEN _other IS NULL THEN 'ok' ELSE 'warn' END,
        CASE WHEN _other IS NULL THEN format('none of %s texts that can be judged is of another '
                 'language than it is lexed in', _judged)
             ELSE format('%s of %s texts are of another language than they are lexed in: %s',
                 cardinality(_other), _judged, rag._some_names(_other)) END,
        'keywords are stemmed by the wrong rules: put these documents again with their language '
            '(rag.put_document(..., language => ''german'')), with rag.auto, or with simple where '
            'PostgreSQL has no configuration for it',
        jsonb_build_object('judged', _judged, 'other', coalesce(_languages, '{}'),
            'without_configuration', (
                SELECT coalesce(jsonb_object_agg(l.key, l.value), '{}')
                FROM jsonb_each(_languages) AS l WHERE NOT rag._has_language(l.key)));
END
$$;

COMMENT ON FUNCTION rag._audit_languages IS
$$rag.audit: texts whose function words, or whose script, are those of another language than that by
which they are lexed.

A text in simple or rag.auto is not judged, nor is one of less than 20 words.
without_configuration: those of languages that no text search configuration fits. It looks at 500
texts.$$;
