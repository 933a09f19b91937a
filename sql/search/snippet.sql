-- Where a chunk matches a query.
--
-- Its words are lexed one by one, as rag._lexemes lexes the whole, so what made it a hit is marked.

CREATE OR REPLACE FUNCTION rag._mark_word(language text, word text, lexemes text[])
RETURNS TABLE (start integer, stop integer, matched text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _unspaced CONSTANT text := rag._unspaced_script();
    _all text[] := ARRAY(SELECT unnest(tsvector_to_array(rag._lexemes(language, word))) INTERSECT
        SELECT unnest(lexemes));
    _starts integer[] := '{}';
    _stops integer[] := '{}';
    _matched jsonb[] := '{}';
    _covered text[] := '{}';
    _run text[];
    _characters text[];
    _position integer := 1;
    _some text[];
BEGIN
    IF _all = '{}' THEN
        RETURN;
    ELSIF NOT coalesce(rag._identifiers(word), '{}') && _all THEN
        -- characters without spaces; letters and digits; others
        FOR _run IN SELECT r.run FROM regexp_matches(
            word, '(' || _unspaced || '+)|((?:(?!' || _unspaced || ')[[:alnum:]])+)|.', 'g') AS r
                (run)
        LOOP
            IF _run[1] IS NOT NULL THEN
                _characters := string_to_array(_run[1], NULL);
                SELECT _starts || array_agg(_position + p.position - 1),
                    _stops || array_agg(_position + p.position - 1 + length(p.pair)),
                       _matched || array_agg(jsonb_build_array(p.pair)),
                           _covered || array_agg(DISTINCT p.pair)
                INTO _starts, _stops, _matched, _covered
                FROM (
                    SELECT c.one || coalesce(c.next, '') AS pair, c.position::integer AS position
                    FROM unnest(_characters, _characters[2:]) WITH ORDINALITY AS c
                        (one, next, position)
                    WHERE c.next IS NOT NULL OR c.position = 1
                ) AS p
                WHERE p.pair = ANY (_all);
                _position := _position + cardinality(_characters);
            ELSIF _run[2] IS NOT NULL THEN
                _some := ARRAY(SELECT unnest(tsvector_to_array(rag._lexemes(language, _run[2])))
                               INTERSECT SELECT unnest(_all));
                IF _some <> '{}' THEN
                    _starts := _starts || _position;
                    _stops := _stops || _position + length(_run[2]);
                    _matched := _matched || to_jsonb(_some);
                    _covered := _covered || _some;
                END IF;
                _position := _position + length(_run[2]);
            ELSE
                _position := _position + 1;
            END IF;
        END LOOP;
        IF _all <@ _covered THEN
            RETURN QUERY
            SELECT s.start, s.stop, ARRAY(SELECT jsonb_array_elements_text(s.matched))
            FROM unnest(_starts, _stops, _matched) AS s (start, stop, matched);
            RETURN;
        END IF;
    END IF;
    -- an identifier, or what its parts do not say
    RETURN QUERY SELECT 1, 1 + length(rtrim(word, '.:-/')), _all;
END
$$;

COMMENT ON FUNCTION rag._mark_word IS
$$The parts of a word that have one of the lexemes, as places of its characters: start, and stop
behind the last one.$$;


CREATE OR REPLACE FUNCTION rag._mark_text(language text, searchable text, lexemes text[])
RETURNS TABLE (start integer, stop integer, matched text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _separators CONSTANT text := E'\n\t\r ()[\\]{}<>,;"''`=|*!?';  -- those of rag._identifiers
BEGIN
    RETURN QUERY
    WITH words AS (
        SELECT p.part[1] AS word, (1 + coalesce(sum(length(p.part[1]) + length(p.part[2])) OVER (
                   ORDER BY p.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
                       0))::integer
                       AS start
        FROM regexp_matches(searchable, '([^' || _separators || ']*)([' || _separators || ']+|$)',
            'g')
            WITH ORDINALITY AS p (part, position)
    ), marks AS MATERIALIZED (  -- nearly all words are letters and digits alone, and quickly lexed
        SELECT d.word, m.start, m.stop, m.matched
        FROM (SELECT DISTINCT w.word FROM words AS w WHERE w.word <> '') AS d,
        LATERAL (
            SELECT rtrim(d.word, '.:') AS core,
                   d.word ~ '^[[:alnum:]]+[.:]?$' AND d.word !~ rag._unspaced_script() AS is_plain
        ) AS k,
        LATERAL (
            SELECT 1 AS start, 1 + length(k.core) AS stop, v.found AS matched
            FROM (SELECT ARRAY(SELECT
                unnest(tsvector_to_array(to_tsvector(language::regconfig, k.core)))
                               INTERSECT SELECT unnest(lexemes)) AS found) AS v
            WHERE k.is_plain AND v.found <> '{}'
            UNION ALL
            SELECT x.* FROM rag._mark_word(language, d.word, lexemes) AS x WHERE NOT k.is_plain
        ) AS m
    )
    SELECT w.start + m.start - 1, w.start + m.stop - 1, m.matched
    FROM words AS w JOIN marks AS m ON m.word = w.word
    ORDER BY 1;
END
$$;

COMMENT ON FUNCTION rag._mark_text IS
$$Where a text has one of the lexemes: start and stop (behind the last character) of each place, in
order, and which.$$;


CREATE OR REPLACE FUNCTION rag.snippet(
    collection text,
    chunk_id bigint,
    query_text text,
    max_length integer DEFAULT 200,
    start_mark text DEFAULT '<b>',
    stop_mark text DEFAULT '</b>',
    ellipsis text DEFAULT '…')
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (rag._require_collection(snippet.collection)).collection_id;
    _seen CONSTANT bigint[] := rag._scoped_chunks(_id, ARRAY[snippet.chunk_id]);
    _query rag.keyword_query;
    _content text;
    _language text;
    _starts integer[];
    _stops integer[];
    _matched jsonb[];
    _first integer := 1;    -- of the best passage
    _last integer := 1;     -- behind its last mark
    _begin integer;
    _end integer;           -- behind its last character
    _start integer;
    _stop integer;
    _at integer;            -- shown up to here
    _shown text := '';
BEGIN
    IF max_length IS NULL OR max_length NOT BETWEEN 10 AND 10000 OR start_mark IS NULL OR stop_mark
        IS NULL OR ellipsis IS NULL THEN
        RAISE EXCEPTION 'max_length % is out of range, or a mark is NULL',
            coalesce(max_length::text, 'NULL')
        USING ERRCODE = 'RG004', HINT = 'use 10 to 10000 characters; an empty mark is ''''';
    END IF;
    PERFORM rag._check_query(snippet.query_text, 1, '{}');
    SELECT left(c.content, 20000), coalesce(c.language, k.language)
    INTO _content, _language
    FROM rag.chunks AS c JOIN rag.collections AS k ON k.collection_id = _id
    WHERE c.collection_id = _id AND c.chunk_id = _seen[1];
    IF _content IS NULL THEN
        RETURN NULL;
    END IF;
    IF NOT rag._has_language(_language) THEN
        _language := 'simple';
    END IF;
    _query := rag._prepare_keyword(_id, coalesce(snippet.query_text, ''));
    SELECT array_agg(m.start ORDER BY m.start), array_agg(m.stop ORDER BY m.start),
        array_agg(to_jsonb(m.matched) ORDER BY m.start)
    INTO _starts, _stops, _matched
    FROM rag._mark_text(_language, _content, _query.lexemes) AS m;

    -- The passage whose words weigh most together, each word once.
    SELECT b.first, b.last INTO _first, _last
    FROM (
        SELECT g.first, max(g.stop) AS last, sum(g.factor) AS weight
        FROM (
            SELECT f.start AS first, l.lexeme, max(w.factor) AS factor, max(t.stop) AS stop
            FROM unnest(_starts[:1000]) AS f (start)
            JOIN unnest(_starts[:1000], _stops[:1000], _matched[:1000]) AS t (start, stop, matched)
                ON t.start = f.start OR t.start > f.start AND t.stop <= f.start + max_length,
            LATERAL jsonb_array_elements_text(t.matched) AS l (lexeme)
            JOIN unnest(_query.lexemes, _query.factors) AS w (lexeme, factor)
                ON w.lexeme = l.lexeme COLLATE "C"
            GROUP BY f.start, l.lexeme
        ) AS g
        GROUP BY g.first
    ) AS b
    ORDER BY b.weight DESC, b.first
    LIMIT 1;
    _first := coalesce(_first, 1);
    _last := coalesce(_last, 1);

    _begin := greatest(1,
        least(_first - greatest(0, max_length - (_last - _first)) / 2,
            length(_content) + 1 - max_length));
    _end := greatest(_last, least(length(_content) + 1, _begin + max_length));
    IF _begin > 1 THEN  -- from the beginning of a word, to the end of one
        _begin := _begin + length(substring(substr(_content, _begin, _first - _begin)
            FROM E'^(?:\\S*\\s+)?'));
    END IF;
    IF _end <= length(_content) THEN
        _end := _end - length(substring(substr(_content, _last, _end - _last)
            FROM E'(?:\\s+\\S*)?$'));
    END IF;

    _at := _begin;
    FOR _start, _stop IN  -- places that touch are one
        SELECT min(g.start), max(g.stop)
        FROM (
            SELECT n.start, n.stop,
                count(*) FILTER (WHERE n.is_new) OVER (ORDER BY n.start, n.stop) AS span_number
            FROM (
                SELECT u.start, u.stop, u.start > coalesce(max(u.stop) OVER (
                           ORDER BY u.start, u.stop ROWS BETWEEN UNBOUNDED PRECEDING
                               AND 1 PRECEDING), 0) AS is_new
                FROM unnest(_starts, _stops) AS u (start, stop)
                WHERE u.start >= _begin AND u.stop <= _end
            ) AS n
        ) AS g
        GROUP BY g.span_number
        ORDER BY g.span_number
    LOOP
        _shown := _shown || substr(_content, _at, _start - _at)
                  || start_mark || substr(_content, _start, _stop - _start) || stop_mark;
        _at := _stop;
    END LOOP;
    RETURN CASE WHEN _begin > 1 THEN ellipsis
        ELSE '' END || _shown || substr(_content, _at, _end - _at)
        || CASE WHEN _end <= length(_content) THEN ellipsis ELSE '' END;
END
$$;

COMMENT ON FUNCTION rag.snippet IS
$$The passage that matches, marked.

The passage of a chunk that best matches a query, with the words that match between marks; NULL
when there is no such chunk.

Words match as in rag.search_keyword: by the chunk's own language, identifiers whole, pairs of
characters in scripts without spaces. The passage is at most max_length characters (10 to 10,000) of
the content as it is stored, cut between words, with an ellipsis where something was cut off. A
chunk that matches in its title or heading alone, or by its vector, gives its beginning without
marks. The marks stand between stored text: for HTML pass marks that no text holds, escape, then
replace them. Of a longer chunk the first 20,000 characters are looked at.
E.g. SELECT h.uri, rag.snippet('docs', h.chunk_id, 'reset password') FROM rag.search('docs', 'reset
password') AS h
Circle: application, Search.
SELECT rag.snippet('docs', 1, 'fish')$$;
