-- Which values of a field a text may mean: a name that is looked up, misspelt or in part.

CREATE OR REPLACE FUNCTION rag._fold_text(value text)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN trim(regexp_replace(CASE
    WHEN octet_length(value) = length(value) THEN rag._lower(value)
    WHEN getdatabaseencoding() = 'UTF8' THEN translate(rag._lower(regexp_replace(
        replace(replace(normalize(value, NFKD), 'ß', 'ss'), 'æ', 'ae'),
        '[\u0300-\u036f]', '', 'g')),
        'ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЄІЎЂЉЊЋЏØŁĐĦøłđħı',
        'αβγδεζηθικλμνξοπρστυφχψωσабвгдежзиклмнопрстуфхцчшщъыьэюяєіўђљњћџoldholdhi')
    ELSE rag._lower(value) END, '[\s!-/:-@[-`{-~]+', ' ', 'g'));

COMMENT ON FUNCTION rag._fold_text IS
$$A text as look-ups compare it: lower case, without accents, its words with one space between.

In the locale C lower() knows ASCII alone, so letters are listed; those with a stroke lose it.
Outside of UTF8 accents stay.$$;


CREATE OR REPLACE FUNCTION rag._similarity_sql(query text)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _folded text := rag._fold_text(query);
    _words text[] := ARRAY(SELECT DISTINCT w FROM string_to_table(_folded, ' ') AS w WHERE w <> '');
    -- as in extension pg_trgm: two spaces before each word and one behind it
    _trigrams text[] := ARRAY(
        SELECT DISTINCT substr('  ' || w || ' ', g, 3)
        FROM unnest(_words) AS w, generate_series(1, length(w) + 1) AS g
        ORDER BY 1);
BEGIN
    IF _folded = '' THEN
        RETURN format('CASE WHEN t.raw = %1$L THEN 1.0 WHEN strpos(t.raw, %1$L) > 0 THEN 0.6 END',
            query);
    END IF;
    RETURN format(
        'CASE WHEN t.raw = %1$L THEN 1.0 WHEN t.folded = %2$L THEN 0.95'
        ' WHEN starts_with(t.folded, %2$L) THEN 0.8 + 0.1 * %3$s / length(t.folded)'
        ' WHEN %4$s THEN 0.7 + 0.1 * %5$s / length(t.folded)'
        ' WHEN strpos(t.folded, %2$L) > 0 THEN 0.6 + 0.1 * %3$s / length(t.folded)'
        -- of the query's trigrams, and of both texts' together
        ' ELSE (SELECT 0.3 * s.shared / %6$s + 0.3 * s.shared'
        ' / (%6$s + greatest(length(t.folded) + 1, s.shared) - s.shared)'
        ' FROM (SELECT (%7$s)::numeric AS shared) AS s WHERE s.shared >= 0.4 * %6$s) END',
        query, _folded, length(_folded),
        (SELECT string_agg(format('strpos(t.spaced, %L) > 0', ' ' || w || ' '), ' AND ')
         FROM unnest(_words) AS w),
        length(array_to_string(_words, ' ')), cardinality(_trigrams),
        (SELECT string_agg(format('(strpos(t.padded, %L) > 0)::integer', g), ' + ')
         FROM unnest(_trigrams) AS g));
END
$$;

COMMENT ON FUNCTION rag._similarity_sql IS
$$How like the query a text is, as SQL on alias t: raw, folded, spaced (a space around it) and
padded (two spaces before each word, one behind). NULL: it is not alike.$$;


CREATE OR REPLACE FUNCTION rag.find_values(
    collection text, field text, query text, result_limit integer DEFAULT 10)
RETURNS TABLE (value jsonb, similarity double precision, documents bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(find_values.collection)).collection_id;
    _value text;
BEGIN
    PERFORM rag._check_range('limit', result_limit, 1, 1000);
    IF coalesce(btrim(query), '') = '' OR length(query) > 200 THEN
        RAISE EXCEPTION 'the text to look up has % characters',
            coalesce(length(btrim(query)), 0)
        USING ERRCODE = 'RG004', HINT = 'use 1 to 200, e.g. a name; passages are found by a search';
    END IF;
    _value := CASE WHEN starts_with(find_values.field, '$')
        THEN format('to_jsonb(%s)', (rag._document_column(_id, find_values.field, 'c')).expression)
        ELSE rag._field_value('c.metadata', rag._require_field(find_values.field)) END;
    RETURN QUERY EXECUTE format($sql$
        WITH counted AS MATERIALIZED (
            SELECT %s AS value, count(*) AS documents FROM rag.documents AS c
            WHERE c.collection_id = $1 AND %s GROUP BY 1
        ), found AS (
            SELECT f.value, sum(f.documents)::bigint AS documents
            FROM (SELECT h.value, h.documents FROM counted AS h
                  WHERE jsonb_typeof(h.value) IN ('string', 'number', 'boolean')
                  UNION ALL
                  SELECT e.value, h.documents
                  FROM counted AS h, LATERAL (SELECT DISTINCT a.value FROM jsonb_array_elements(
                      CASE jsonb_typeof(h.value) WHEN 'array' THEN h.value END) AS a) AS e
                  WHERE jsonb_typeof(e.value) IN ('string', 'number', 'boolean')) AS f
            GROUP BY 1
        ), folded AS (
            SELECT r.value, r.documents, r.raw, rag._fold_text(left(r.raw, 500)) AS folded
            FROM (SELECT f.value, f.documents, f.value #>> '{}' AS raw FROM found AS f OFFSET 0)
                AS r OFFSET 0
        ), texts AS (
            SELECT x.value, x.documents, x.raw, x.folded, ' ' || x.folded || ' ' AS spaced,
                '  ' || replace(x.folded, ' ', '   ') || ' ' AS padded
            FROM folded AS x OFFSET 0
        )
        SELECT s.value, s.similarity::double precision, s.documents
        FROM (SELECT t.value, t.documents, %s AS similarity FROM texts AS t OFFSET 0) AS s
        WHERE s.similarity IS NOT NULL
        ORDER BY s.similarity DESC, s.documents DESC, s.value LIMIT $2
        $sql$, _value, coalesce(rag._scope(_id), 'true'), rag._similarity_sql(query))
    USING _id, result_limit;
END
$$;

COMMENT ON FUNCTION rag.find_values IS
$$Which values a misspelt name may mean.

The values of a metadata field that a text may mean, the most alike first: a name that is
misspelt, in part, or written in another way.

field: a dotted path as in filters, or a column of the document ($title). value: as JSON, so that it
can stand in a filter; of an array each element. similarity: 1 the same text; 0.95 but for case,
accents and punctuation; above 0.8 it begins like the query; above 0.7 it has all of its words;
above 0.6 it contains the query; below, the share of trigrams that they have in common, half of the
query's and half of both texts' (values with fewer than 0.4 of the query's trigrams are left out).
documents: how many hold the value. query: 1 to 200 characters; the first 500 of a value are
compared. result_limit: 1 to 1000. It needs no extension and no index: every value is read.
Circle: application, Counts and facets.
SELECT * FROM rag.find_values('docs', 'tag', 'A')$$;
