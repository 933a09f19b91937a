-- Keys of records that are put: those that are nearly the name of a key with a meaning.

CREATE OR REPLACE FUNCTION rag._mistaken_keys(keys text[], own_keys text[])
RETURNS TABLE (mistaken text, meant text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    WITH own AS (
        SELECT o.name, replace(o.name, '_', '') AS letters
        FROM unnest(own_keys) AS o (name)
    ), near AS (  -- one letter typed for another, left out, typed twice, or two exchanged
        SELECT o.name, p.pattern
        FROM own AS o
            CROSS JOIN LATERAL generate_series(0, length(o.letters)) AS c (cut)
            CROSS JOIN LATERAL (SELECT left(o.letters, c.cut) AS head,
                                    substr(o.letters, c.cut + 1) AS tail) AS h
            CROSS JOIN LATERAL (VALUES
                (h.head || '_' || h.tail), (h.head || '_' || substr(h.tail, 2)),
                (h.head || substr(h.tail, 2)),
                (h.head || substr(h.tail, 2, 1) || left(h.tail, 1) || substr(h.tail, 3))
            ) AS p (pattern)
        WHERE length(o.letters) >= 5 AND p.pattern <> o.letters || '_'  -- title2 is another
    ), given AS (
        SELECT k.name, regexp_replace(rag._lower(k.name), '[^[:alnum:]]', '', 'g') AS letters
        FROM unnest(keys) AS k (name)
        WHERE k.name <> ALL (own_keys)
    )
    SELECT g.name, min(o.name)
    FROM given AS g
        JOIN own AS o ON g.letters = o.letters OR g.letters = o.letters || 's'
            OR length(g.letters) >= 4 AND starts_with(o.letters, g.letters)
            OR o.name = 'embedding' AND g.letters LIKE 'vector%'
            OR EXISTS (SELECT FROM near AS n WHERE n.name = o.name AND g.letters LIKE n.pattern)
    GROUP BY g.name
    ORDER BY g.name COLLATE "C";
END
$$;

COMMENT ON FUNCTION rag._mistaken_keys IS
$$Those of the keys that look like one of own_keys and are none, each with the one that it looks
like: in another case or with other marks between words, one letter off, as its plural, or as its
beginning (four letters at least); vector like embedding.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._note_keys(records jsonb, own_keys text[], kind text)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _counts jsonb := (
        SELECT jsonb_object_agg(c.name, c.number)
        FROM (SELECT k.name, count(*) AS number
              FROM jsonb_array_elements(records) AS r
                  CROSS JOIN LATERAL jsonb_object_keys(
                      CASE jsonb_typeof(r.value) WHEN 'object' THEN r.value ELSE '{}' END)
                      AS k (name)
              WHERE k.name <> ALL (own_keys)
              GROUP BY k.name) AS c);
    _key record;
BEGIN
    FOR _key IN
        SELECT m.mistaken, m.meant, _counts ->> m.mistaken AS number
        FROM rag._mistaken_keys(ARRAY(SELECT jsonb_object_keys(_counts)), own_keys) AS m
    LOOP
        RAISE NOTICE 'key % became metadata of % %(s): it looks like %',
            quote_literal(_key.mistaken),
            _key.number, kind, _key.meant
        USING HINT = 'rename it, or put it into metadata if it belongs there';
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._note_keys IS
$$A notice for each key of records that became metadata and looks like one with a meaning, see
rag._mistaken_keys. kind: what a record is.$$;
