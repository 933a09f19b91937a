-- Of which language texts are, by their function words and by their script.

CREATE OR REPLACE FUNCTION rag._text_languages(texts text[], languages text[])
RETURNS TABLE (number integer, language text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    candidates CONSTANT text[] := '{danish,dutch,english,finnish,french,german,hungarian,italian,'
        'norwegian,portuguese,romanian,russian,spanish,swedish,turkish}';
    scripts CONSTANT jsonb := E'{"arabic": "[\\\\u0621-\\\\u064A]",
        "armenian": "[\\\\u0531-\\\\u0587]", "greek": "[\\\\u0386-\\\\u03CE]",
        "hindi": "[\\\\u0904-\\\\u0939]", "tamil": "[\\\\u0B85-\\\\u0BB9]"}';
    longest CONSTANT integer := 1500;
BEGIN
    RETURN QUERY
    WITH taken AS MATERIALIZED (
        SELECT t.position::integer AS position, t.language, left(t.content, longest) AS content
        FROM unnest(texts, languages) WITH ORDINALITY AS t (content, language, position)
    ), words AS MATERIALIZED (
        SELECT t.position, w.word, count(*) AS occurrences
        FROM taken AS t, LATERAL (
            SELECT lower(m.match[1]) AS word
            FROM regexp_matches(t.content, '[[:alpha:]]+', 'g') AS m (match)) AS w
        GROUP BY 1, 2
    ), dictionaries AS (
        SELECT c.name, d.oid::regdictionary AS dictionary
        FROM unnest(candidates) AS c (name)
        JOIN pg_ts_dict AS d ON d.dictname = c.name || '_stem'
            AND d.dictnamespace = 'pg_catalog'::regnamespace
    ), function_words AS MATERIALIZED (
        SELECT d.name AS language, w.word
        FROM (SELECT DISTINCT x.word FROM words AS x) AS w, dictionaries AS d
        WHERE ts_lexize(d.dictionary, w.word) = '{}'
    ), own_words AS MATERIALIZED (
        SELECT l.language, w.word
        FROM (SELECT DISTINCT t.language FROM taken AS t) AS l,
            (SELECT DISTINCT x.word FROM words AS x) AS w
        WHERE to_tsvector(rag._find_language(l.language), w.word) = ''
    ), totals AS (
        SELECT w.position, sum(w.occurrences) AS words FROM words AS w GROUP BY 1
        HAVING sum(w.occurrences) >= 20
    ), shares AS (
        SELECT w.position, f.language, sum(w.occurrences) / t.words AS share
        FROM words AS w JOIN totals AS t USING (position) JOIN function_words AS f USING (word)
        GROUP BY w.position, f.language, t.words
    ), best AS (
        SELECT DISTINCT ON (s.position) s.position, s.language, s.share
        FROM shares AS s ORDER BY s.position, s.share DESC, s.language
    ), own AS (
        SELECT t.position, sum(w.occurrences) AS occurrences
        FROM taken AS t JOIN words AS w USING (position)
        JOIN own_words AS o ON o.language = t.language AND o.word = w.word
        GROUP BY 1
    )
    SELECT t.position, coalesce(s.language, CASE WHEN b.share >= 0.2
               AND coalesce(o.occurrences, 0) / n.words < 0.5 * b.share THEN b.language END)
    FROM taken AS t
    JOIN totals AS n USING (position)
    LEFT JOIN best AS b USING (position)
    LEFT JOIN own AS o USING (position)
    LEFT JOIN LATERAL (
        SELECT p.key AS language FROM jsonb_each_text(scripts) AS p
        WHERE p.key <> t.language AND NOT (p.key = 'hindi' AND t.language = 'nepali')
            AND regexp_count(t.content, p.value) > 0.5 * regexp_count(t.content, '[[:alpha:]]')
        LIMIT 1) AS s ON true;
END
$$;

COMMENT ON FUNCTION rag._text_languages(text[], text[]) IS
$$Of which language texts are that is not their own: a row for each text of 20 words or more, by its
number from 1; NULL where it is its own, or not known.

languages: the text search configuration of each; with simple for all it tells what they are.
Function words are the stop words of PostgreSQL's own dictionaries: a text is of a language where a
fifth of its words are function words of it and less than half as many are of its own, or where half
of its letters are of a script that one language has. The first 1,500 characters are looked at.$$;


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
        WHERE t.language <> 'simple' AND rag._has_language(t.language)
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
            '(rag.put_document(…, language => ''german''))',
        jsonb_build_object('judged', _judged, 'other', coalesce(_languages, '{}'));
END
$$;

COMMENT ON FUNCTION rag._audit_languages(text[], text[], text[]) IS
$$rag.audit: texts whose function words, or whose script, are those of another language than that by
which they are lexed.

A text in simple is not judged, nor is one of less than 20 words. It looks at 500 texts.$$;
