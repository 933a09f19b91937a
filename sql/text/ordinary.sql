-- The words of a language: what is ordinary there is no typing error, whatever a collection lacks.

CREATE OR REPLACE FUNCTION rag._ordinary_words(languages text[], words text[])
RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN ARRAY(
        SELECT h.word
        FROM (
            SELECT w.word, ('x' || left(d.digest, 8))::bit(32)::bigint AS first_bit,
                   ('x' || substr(d.digest, 9, 8))::bit(32)::bigint AS step
            FROM (SELECT DISTINCT unnest(words)) AS w (word)
            CROSS JOIN LATERAL (
                SELECT encode(sha256(convert_to(replace(w.word, 'ß', 'ss'), 'UTF8')), 'hex')
            ) AS d (digest)
        ) AS h
        WHERE EXISTS (
            SELECT
            FROM rag.ordinary_words AS o
            WHERE o.language = ANY (languages) AND (
                SELECT bool_and(get_bit(substr(o.filter, (p.bit / 8 + 1)::integer, 1),
                    p.bit % 8) = 1)
                FROM generate_series(0, 6) AS n (number)
                CROSS JOIN LATERAL (
                    SELECT (h.first_bit + n.number * h.step) % (8 * octet_length(o.filter))
                ) AS p (bit)))
    );
END
$$;

COMMENT ON FUNCTION rag._ordinary_words IS
$$Those of the given words, in lower case, that are ordinary in one of the languages
(rag.ordinary_words): 1 in 100 others seems to be.$$;


CREATE OR REPLACE FUNCTION rag._listed_languages(collection_id integer, query_text text)
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _spoken CONSTANT text[] := rag._guess_language(left(query_text, 10000)) || ARRAY(
        SELECT substring(d.dictinitoption FROM 'language = ''([^'']+)''')
        FROM rag._query_languages(_listed_languages.collection_id) AS k (language)
        JOIN pg_ts_config_map AS m ON m.mapcfg = k.language::regconfig
        JOIN pg_ts_dict AS d ON d.oid = m.mapdict);
BEGIN
    RETURN ARRAY(SELECT o.language FROM rag.ordinary_words AS o WHERE o.language = ANY (_spoken));
END
$$;

COMMENT ON FUNCTION rag._listed_languages IS
$$The languages whose ordinary words are known, of those of the collection's documents and of the
query. A configuration of one's own has the language of its stemmer.$$;
