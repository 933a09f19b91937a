-- Two embedding spaces compared by the ranking measures of judged queries.

CREATE OR REPLACE FUNCTION rag.compare_spaces(collection text, queries jsonb,
    result_limit integer DEFAULT 10)
RETURNS TABLE (query_number integer, query_text text, space_id integer, chunk_ids bigint[],
    overlap double precision,
               rank_difference double precision, recall double precision, ndcg double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    _id integer := (rag._require_collection(compare_spaces.collection)).collection_id;
    _active integer := (rag._active_space(_id)).space_id;
    _unknown text;
BEGIN
    PERFORM rag._check_range('limit', result_limit, 1, 1000);
    IF jsonb_typeof(queries) IS DISTINCT FROM 'array'
        OR EXISTS (SELECT FROM
            jsonb_array_elements(CASE jsonb_typeof(queries) WHEN 'array' THEN queries ELSE '[]' END)
                AS q
                   WHERE jsonb_typeof(q.value -> 'embeddings') IS DISTINCT FROM 'object') THEN
        RAISE EXCEPTION 'queries is no JSON array of objects with embeddings'
            USING ERRCODE = 'RG001',
        HINT = 'pass [{"query": "...", "embeddings": {"<space_id>": [0.1, ...]}, '
            '"relevant": ["uri", ...]}, ...]';
    END IF;
    SELECT e.key INTO _unknown
    FROM jsonb_array_elements(queries) AS q, jsonb_each(q.value -> 'embeddings') AS e
    WHERE NOT EXISTS (SELECT FROM rag._live_spaces(_id) AS k WHERE k.space_id::text = e.key)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'collection ''%'' has no embedding space ''%''', compare_spaces.collection,
            _unknown
        USING ERRCODE = 'RG002', HINT = 'the keys of embeddings are space ids, see rag.list_spaces';
    END IF;
    IF EXISTS (
        SELECT FROM jsonb_array_elements(queries) AS q,
            LATERAL (SELECT q.value -> 'relevant') AS r (x)
        WHERE CASE jsonb_typeof(r.x)
            WHEN 'object' THEN jsonb_path_exists(r.x,
                'strict $.* ? (@.type() != "number" || @ < 0 || @ > 1000000)')
            WHEN 'array' THEN jsonb_path_exists(r.x, 'strict $[*] ? (@.type() != "string")')
            ELSE jsonb_typeof(r.x) <> 'null' END
    )
    THEN
        RAISE EXCEPTION 'what is relevant to a query cannot be read' USING ERRCODE = 'RG001',
        HINT = 'pass uris, ["a", "b"], or their grades from 0 to 1000000, {"a": 2, "b": 1}';
    END IF;
    BEGIN
        PERFORM rag._check_dimensions(rag._require_space(e.key::integer),
            e.value::text::{vector}.halfvec)
        FROM jsonb_array_elements(queries) AS q, jsonb_each(q.value -> 'embeddings') AS e;
    EXCEPTION WHEN data_exception THEN
        RAISE EXCEPTION 'the embedding of a query cannot be read: %', left(SQLERRM, 200)
        USING ERRCODE = 'RG001', HINT = 'an embedding is an array of numbers, e.g. [0.1, 0.2, 0.3]';
    END;
    RETURN QUERY
    WITH nearest AS MATERIALIZED (
        SELECT q.ordinality::integer AS query_number, q.value ->> 'query' AS query_text,
               nullif(q.value -> 'relevant', 'null') AS relevant, e.key::integer AS space_id,
               ARRAY(SELECT n.chunk_id
                     FROM rag._exact_search(_id, rag._require_space(e.key::integer),
                         e.value::text::{vector}.halfvec,
                                              result_limit, NULL, NULL) AS n
                     ORDER BY n.distance, n.chunk_id) AS chunk_ids
        FROM jsonb_array_elements(queries) WITH ORDINALITY AS q,
            jsonb_each(q.value -> 'embeddings') AS e
    )
    SELECT a.query_number, a.query_text, a.space_id, a.chunk_ids,
           s.shared / nullif(greatest(cardinality(a.chunk_ids), cardinality(o.chunk_ids)), 0),
               s.moved, rag._recall(j.grades, j.ranks, result_limit),
               rag._ndcg(j.grades, j.ranks, result_limit)
    FROM nearest AS a
    LEFT JOIN nearest AS o ON o.query_number = a.query_number AND o.space_id = _active,
    LATERAL (
        SELECT CASE WHEN o.query_number IS NOT NULL THEN count(*)::double precision END AS shared,
               avg(abs(x.ordinality - y.ordinality))::double precision AS moved
        FROM unnest(a.chunk_ids) WITH ORDINALITY AS x (id)
        JOIN unnest(o.chunk_ids) WITH ORDINALITY AS y (id) ON y.id = x.id
    ) AS s,
    LATERAL (  -- a document counts where its first chunk stands
        SELECT array_agg(g.value::double precision ORDER BY g.key) AS grades,
            array_agg(f.rank ORDER BY g.key) AS ranks
        FROM jsonb_each_text(CASE jsonb_typeof(a.relevant) WHEN 'array' THEN (
            SELECT jsonb_object_agg(r.uri, 1) FROM jsonb_array_elements_text(a.relevant) AS r (uri))
            ELSE a.relevant END) AS g
        LEFT JOIN (
            SELECT d.uri, (row_number() OVER (ORDER BY min(h.rank)))::integer AS rank
            FROM unnest(a.chunk_ids) WITH ORDINALITY AS h (id, rank)
            JOIN rag.chunks AS c ON c.collection_id = _id AND c.chunk_id = h.id
            JOIN rag.documents AS d ON d.collection_id = _id AND d.document_id = c.document_id
            GROUP BY d.uri
        ) AS f ON f.uri = g.key
    ) AS j
    ORDER BY a.query_number, a.space_id;
END
$$;

COMMENT ON FUNCTION rag.compare_spaces IS
$$What the spaces find for the same queries.
By exact vector search: one row for each query and space.

queries: [{"query": text, "embeddings": {"<space_id>": vector, …}, "relevant": ["uri", …] or {"uri":
grade, …}}, …]. chunk_ids: the first result_limit. Against the active space's: overlap, the share of
chunks that both have, and rank_difference, by how many ranks those are apart on average. With
judgements: recall and ndcg of documents, each where its first chunk stands.
Circle: application, Embedding spaces.
SELECT * FROM rag.compare_spaces('docs', '[]')$$;
