-- What metadata the documents of a collection have: fields, types, ranges, examples.

CREATE OR REPLACE FUNCTION rag.describe_metadata(
    collection text, metadata_filter jsonb DEFAULT '{}', example_limit integer DEFAULT 5,
    sample_size integer DEFAULT 20000)
RETURNS TABLE (
    field text, type text, declared boolean, documents bigint, distinct_values bigint,
    minimum jsonb, maximum jsonb, examples jsonb, sampled_documents bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    most_fields CONSTANT integer := 500;
    _id integer := (rag._require_collection(describe_metadata.collection)).collection_id;
    _condition text;
    _passing bigint;
    _sampled bigint;
BEGIN
    PERFORM rag._check_query(NULL, 1, metadata_filter);
    PERFORM rag._check_range('number of examples', example_limit, 0, 100);
    IF sample_size < 1 THEN
        RAISE EXCEPTION 'sample size is %', sample_size
        USING ERRCODE = 'RG004', HINT = 'use 1 or more, or NULL to read every document';
    END IF;
    _condition := coalesce((rag._compile_filter(_id, metadata_filter)).condition, 'true');
    IF sample_size IS NOT NULL THEN
        EXECUTE format('SELECT count(*) FROM rag.documents AS c WHERE c.collection_id = $1 AND %s',
            _condition) INTO _passing USING _id;
        _sampled := CASE WHEN _passing > sample_size THEN sample_size END;
    END IF;
    RETURN QUERY EXECUTE format($sql$
        WITH RECURSIVE counted AS MATERIALIZED (  -- equal values are taken apart once
            SELECT m.key, m.value, count(*) AS documents
            FROM (SELECT c.metadata FROM rag.documents AS c
                  WHERE c.collection_id = $1 AND %s
                  %s) AS taken, LATERAL jsonb_each(taken.metadata) AS m
            GROUP BY 1, 2
        ), nested AS (
            SELECT ARRAY[k.key] AS steps, k.value, k.documents
            FROM counted AS k WHERE jsonb_typeof(k.value) = 'object'
            UNION ALL
            SELECT n.steps || o.key, o.value, n.documents
            FROM nested AS n, LATERAL jsonb_each(CASE jsonb_typeof(n.value) WHEN 'object'
                THEN n.value END) AS o
            WHERE cardinality(n.steps) < 32
        ), leaves AS (
            SELECT ARRAY[k.key] AS steps, k.value, k.documents
            FROM counted AS k WHERE jsonb_typeof(k.value) <> 'object'
            UNION ALL
            SELECT n.steps, n.value, n.documents FROM nested AS n
            WHERE jsonb_typeof(n.value) <> 'object' OR n.value = '{}'
        ), fields AS MATERIALIZED (
            SELECT h.steps, sum(h.documents)::bigint AS documents,
                bool_or(jsonb_typeof(h.value) = 'array') AS has_array
            FROM leaves AS h GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %s
        ), elements AS MATERIALIZED (
            SELECT p.steps, p.value, sum(p.documents) AS documents,
                jsonb_typeof(p.value) AS kind, rag._as_timestamptz(p.value) AS moment
            FROM (SELECT h.steps, h.value, h.documents FROM leaves AS h
                  WHERE jsonb_typeof(h.value) NOT IN ('array', 'null')
                  UNION ALL
                  SELECT h.steps, e.value, h.documents
                  FROM leaves AS h, LATERAL (SELECT DISTINCT a.value FROM jsonb_array_elements(
                      CASE jsonb_typeof(h.value) WHEN 'array' THEN h.value END) AS a) AS e
                  WHERE jsonb_typeof(e.value) <> 'null') AS p
            GROUP BY 1, 2
        ), summed AS (
            SELECT e.steps, count(*) AS distinct_values, sum(e.documents) AS occurrences,
                count(*) FILTER (WHERE e.documents = 1) AS found_once,
                CASE WHEN count(DISTINCT e.kind) > 1 THEN 'mixed'
                     ELSE CASE min(e.kind) WHEN 'number' THEN 'numeric' WHEN 'string' THEN
                          CASE WHEN count(*) = count(e.moment) THEN 'timestamptz' ELSE 'text' END
                          ELSE min(e.kind) END END AS type,
                min(rag._as_numeric(e.value)) AS least, max(rag._as_numeric(e.value)) AS greatest,
                min(e.moment) AS earliest, max(e.moment) AS latest
            FROM elements AS e GROUP BY 1
        ), ranked AS (
            SELECT r.steps, jsonb_agg(r.value ORDER BY r.position) AS sample_values
            FROM (SELECT e.steps, e.value, row_number() OVER (
                      PARTITION BY e.steps ORDER BY e.documents DESC, e.value) AS position
                  FROM elements AS e WHERE length(e.value::text) <= 200) AS r
            WHERE r.position <= $2 GROUP BY 1
        )
        SELECT n.field,
            coalesce(d.type, s.type, CASE WHEN f.has_array THEN 'array' ELSE 'null' END)
                || CASE WHEN f.has_array AND s.type IS NOT NULL THEN '[]' ELSE '' END,
            d.type IS NOT NULL, round(f.documents * $3)::bigint,
            coalesce(round(s.occurrences * s.distinct_values
                / (s.occurrences - s.found_once + s.found_once / $3))::bigint, 0),
            CASE s.type WHEN 'numeric' THEN to_jsonb(s.least)
                WHEN 'timestamptz' THEN rag._date_value(s.earliest) END,
            CASE s.type WHEN 'numeric' THEN to_jsonb(s.greatest)
                WHEN 'timestamptz' THEN rag._date_value(s.latest) END,
            coalesce(r.sample_values, '[]'), $4
        FROM fields AS f
        LEFT JOIN summed AS s USING (steps)
        LEFT JOIN ranked AS r USING (steps)
        CROSS JOIN LATERAL rag._field_name(f.steps) AS n (field)
        LEFT JOIN rag.fields AS d ON d.collection_id = $1 AND d.field = n.field
        ORDER BY f.documents DESC, n.field COLLATE "C"
        $sql$, _condition, CASE WHEN _sampled IS NOT NULL
            THEN 'ORDER BY c.document_id LIMIT $4' ELSE '' END, most_fields)
    USING _id, example_limit, coalesce(_passing::numeric / _sampled, 1), _sampled;
END
$$;

COMMENT ON FUNCTION rag.describe_metadata IS
$$The metadata fields of the documents that pass a filter: how they are named in filters, their
types, how many documents have them, ranges and examples. Those of most documents first, 500 at
most.

type: text, numeric, timestamptz (texts that all are ISO dates) or boolean, object for {}; mixed for
several types, with [] behind it where some documents have an array, whose elements it is then;
array or null where nothing else is there. A declared field (rag.index_field) has its declared type,
by which filters compare it. documents: that have the field, null included. distinct_values: without
null, of an array each element. minimum, maximum: of numbers and dates alone. examples: the most
frequent values of up to 200 characters, as JSON, so that they can stand in a filter; example_limit:
0 to 100 of them.
sample_size: of more documents so many are read, always the same (those with the least document_id,
which is a hash); NULL: all. sampled_documents says how many; NULL where all were read. Of a sample
documents and distinct_values are estimates, examples, type, minimum and maximum are of what was
read, and a field that few documents have may be missing. Source of the estimate of distinct values:
Haas and Stokes, Estimating the number of classes in a finite population, 1998, as in ANALYZE.
Objects are followed: {"author": {"name": "Ann"}} has the field author.name.
Circle: application, Counts and facets.
SELECT * FROM rag.describe_metadata('docs')$$;
