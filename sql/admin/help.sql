-- What a user of psql sees first: every public function with what it does and a call that runs.
--
-- The comment of one ends with a line "Circle: application, Search." and an example that runs. A
-- number after the circle is its place among the functions to begin with.

CREATE OR REPLACE FUNCTION rag.help(about text DEFAULT NULL)
RETURNS TABLE (topic text, function text, purpose text, example text, circle text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $help$
DECLARE
    _words tsquery[] := ARRAY(
        SELECT ('''' || replace(replace(w.word, E'\\', E'\\\\'), '''', '''''') || ''':*')::tsquery
        FROM unnest(tsvector_to_array(
            to_tsvector('pg_catalog.english', translate(about, '_.', '  ')))) AS w (word));
BEGIN
    RETURN QUERY
    WITH public AS (
        SELECT p.proname::text AS function_name, c.part[2] AS circle, c.part[4] AS topic,
            rtrim(substring(replace(c.part[1], E'\n', ' ') FROM '^.*?[.:;](?= |$)'), '.:;')
                AS purpose,
            c.part[1] AS description, c.part[5] AS example,
            row_number() OVER (ORDER BY nullif(c.part[3], '')::integer,
                c.part[2] <> 'application', c.part[2] DESC, c.part[4], p.proname) AS n
        FROM pg_proc AS p
        CROSS JOIN LATERAL regexp_match(obj_description(p.oid, 'pg_proc'),
            E'^(.*)\nCircle: (\\w+) ?(\\d*), ([^\n]+)[.]\n(.*)$') AS c (part)
        WHERE p.pronamespace = 'rag'::regnamespace AND NOT starts_with(p.proname, '_')
    ), listed AS MATERIALIZED (
        SELECT f.*,
            coalesce(lower(about COLLATE "C") IN (lower(f.topic COLLATE "C"), f.circle,
                    'rag.' || f.function_name)
                OR starts_with(f.function_name, lower(about COLLATE "C")), true) AS is_named
        FROM public AS f
    ), described AS MATERIALIZED (
        SELECT l.*, setweight(to_tsvector('pg_catalog.english',
                    replace(l.function_name, '_', ' ')), 'A')
                || setweight(to_tsvector('pg_catalog.english', l.topic || ' ' || l.purpose), 'B')
                || setweight(to_tsvector('pg_catalog.english', l.description), 'D') AS lexemes
        FROM listed AS l
        WHERE NOT EXISTS (SELECT FROM listed AS n WHERE n.is_named)
    ), found AS (
        SELECT n.function_name, 0.0 AS score FROM listed AS n WHERE n.is_named
        UNION ALL
        SELECT s.function_name, sum(ts_rank('{0.05, 0.05, 0.5, 1}', s.lexemes, w.word) + 1)
        FROM described AS s
            JOIN unnest(_words) AS w (word) ON s.lexemes @@ w.word
        GROUP BY s.function_name
    )
    SELECT l.topic, 'rag.' || l.function_name, l.purpose, l.example, l.circle
    FROM found AS f
    JOIN listed AS l ON l.function_name = f.function_name
    ORDER BY f.score DESC, l.n;
    IF NOT FOUND THEN
        RAISE NOTICE 'no function speaks of %; SELECT * FROM rag.help() lists them all', about;
    END IF;
END
$help$;

COMMENT ON FUNCTION rag.help IS
$$The public functions, each with what it does and an example.
The functions to begin with come first, then all by circle: those of applications, those that a
worker in another language calls (worker), those of a client that logs and evaluates by itself as
rag_pg's own does (client); in each by topic.

about: a topic (search, jobs, …), a circle, the beginning of a function's name, or else words, of
which any may stand in a name, a purpose or a description: the best function comes first; NULL: all.
In psql, \x auto fits it to the window; \df rag.[a-z]* shows the arguments, \df+ rag.search the
whole description of one.
Circle: application, Maintenance and versions.
SELECT * FROM rag.help('search')$$;
