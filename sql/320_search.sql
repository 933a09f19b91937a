CREATE OR REPLACE FUNCTION rag.rrf(rank_in_list bigint, k integer DEFAULT 60)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(1.0::double precision / (k + rank_in_list), 0.0::double precision);

COMMENT ON FUNCTION rag.rrf(bigint, integer) IS
$$One list's share of a reciprocal rank fusion score.

rank_in_list: 1 is best; NULL (not in the list) gives 0. k: smoothing, 60 in the paper.
Source: Cormack, Clarke, Buettcher, SIGIR 2009.$$;


CREATE OR REPLACE FUNCTION rag.check_query(query_text text, result_limit integer, metadata_filter jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF result_limit IS NULL OR result_limit NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'limit % is out of range', coalesce(result_limit::text, 'NULL')
        USING ERRCODE = 'RG004', HINT = 'use 1 to 1000';
    END IF;
    IF octet_length(query_text) > 100000 THEN
        RAISE EXCEPTION 'the query has % bytes', octet_length(query_text)
        USING ERRCODE = 'RG004', HINT = 'use at most 100000; put a long text as a document and search for its passages';
    END IF;
    IF jsonb_typeof(metadata_filter) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'the filter is a JSON %', coalesce(jsonb_typeof(metadata_filter), 'null')
        USING ERRCODE = 'RG004', HINT = 'use a JSON object, e.g. {"lang": "en"}';
    END IF;
END
$$;

COMMENT ON FUNCTION rag.check_query(text, integer, jsonb) IS
$$Error RG004 for a limit outside 1 to 1000, a query above 100,000 bytes, or a filter that is no JSON object.$$;


CREATE OR REPLACE FUNCTION rag.make_hits(
    of_collection integer,
    chunk_ids bigint[],
    scores double precision[],
    vector_ranks bigint[],
    vector_distances double precision[],
    keyword_ranks bigint[],
    keyword_scores double precision[])
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT r.chunk_id, c.document_id, c.uri, c.title, c.heading, c.content, c.metadata,
           r.score, r.vector_rank, r.vector_distance, r.keyword_rank, r.keyword_score
    FROM unnest(chunk_ids, scores, vector_ranks, vector_distances, keyword_ranks, keyword_scores) WITH ORDINALITY
        AS r (chunk_id, score, vector_rank, vector_distance, keyword_rank, keyword_score, place),
    LATERAL (  -- OFFSET 0: one look-up by key for each hit, whatever the planner thinks of the table
        SELECT k.document_id, d.uri, d.title, k.heading, k.content, k.metadata
        FROM rag.chunks AS k
        JOIN rag.documents AS d ON d.collection_id = of_collection AND d.document_id = k.document_id
        WHERE k.collection_id = of_collection AND k.chunk_id = r.chunk_id
        OFFSET 0
    ) AS c
    ORDER BY r.place;
END
$$;

COMMENT ON FUNCTION rag.make_hits(integer, bigint[], double precision[], bigint[], double precision[], bigint[], double precision[]) IS
$$Complete ranked chunk ids to hits, in the order given. The arrays run in parallel; a NULL array gives NULL columns.$$;


CREATE OR REPLACE FUNCTION rag.search_vector(
    collection text,
    query_embedding halfvec,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}')
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag.require_collection(search_vector.collection);
BEGIN
    PERFORM rag.check_query(NULL, result_limit, metadata_filter);
    IF query_embedding IS NULL THEN
        RAISE EXCEPTION 'search_vector needs a query embedding' USING ERRCODE = 'RG004',
        HINT = 'embed the question with the collection''s model, or use rag.search_keyword';
    END IF;
    RETURN QUERY
    SELECT h.*
    FROM (
        SELECT array_agg(r.chunk_id ORDER BY r.place) AS ids, array_agg(-r.distance ORDER BY r.place) AS scores,
               array_agg(r.place ORDER BY r.place) AS places, array_agg(r.distance ORDER BY r.place) AS distances
        FROM rag.compile_filter(_collection.collection_id, metadata_filter) AS f,
        LATERAL rag.rank_vector(_collection, query_embedding, result_limit, f.condition, f.indexed)
            WITH ORDINALITY AS r (chunk_id, distance, place)
    ) AS a,
    LATERAL rag.make_hits(_collection.collection_id, a.ids, a.scores, a.places, a.distances, NULL, NULL) AS h;
END
$$;

COMMENT ON FUNCTION rag.search_vector(text, halfvec, integer, jsonb) IS
$$The chunks nearest to a vector, nearest first, through the collection's HNSW index.

result_limit: 1 to 1000. metadata_filter: keep chunks whose metadata pass it (docs/filters.md). vector_distance: by the collection's
distance (cosine: 0 to 2; l2: 0 and up; ip: the negative inner product); score is its negative. A vector of wrong
dimensions is error RG004.$$;


CREATE OR REPLACE FUNCTION rag.search_keyword(
    collection text,
    query_text text,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    match text DEFAULT 'any')
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag.require_collection(search_keyword.collection);
BEGIN
    PERFORM rag.check_query(query_text, result_limit, metadata_filter);
    RETURN QUERY
    SELECT h.*
    FROM (
        SELECT array_agg(r.chunk_id ORDER BY r.place) AS ids, array_agg(r.score ORDER BY r.place) AS scores,
               array_agg(r.place ORDER BY r.place) AS places
        FROM rag.compile_filter(_collection.collection_id, metadata_filter) AS f,
        LATERAL rag.rank_keyword(_collection.collection_id, query_text, result_limit, f.condition, match, f.indexed)
            WITH ORDINALITY AS r (chunk_id, score, place)
    ) AS a,
    LATERAL rag.make_hits(_collection.collection_id, a.ids, a.scores, NULL, NULL, a.places, a.scores) AS h;
END
$$;

COMMENT ON FUNCTION rag.search_keyword(text, text, integer, jsonb, text) IS
$$The chunks that best match the words of a text, by exact BM25, best first.

result_limit: 1 to 1000. metadata_filter: keep chunks whose metadata pass it (docs/filters.md). match: any (of the words), all, phrase, or
web (a search box's syntax: "a phrase", or, -not). The ranking is the same BM25 in each. score is keyword_score: 0 and up.$$;


CREATE OR REPLACE FUNCTION rag.search(
    collection text,
    query_text text DEFAULT NULL,
    query_embedding halfvec DEFAULT NULL,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    vector_weight double precision DEFAULT 0.5,
    keyword_weight double precision DEFAULT 0.5,
    fusion text DEFAULT 'rrf',
    rrf_k integer DEFAULT 60,
    candidate_limit integer DEFAULT NULL)
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag.require_collection(search.collection);
    _candidates integer := coalesce(candidate_limit, greatest(4 * result_limit, 40));
    _filter record;
BEGIN
    PERFORM rag.check_query(query_text, result_limit, metadata_filter);
    IF coalesce(btrim(query_text), '') = '' AND query_embedding IS NULL THEN
        RAISE EXCEPTION 'the query is empty' USING ERRCODE = 'RG004', HINT = 'pass query_text, query_embedding, or both';
    END IF;
    IF fusion IS DISTINCT FROM 'rrf' THEN
        RAISE EXCEPTION 'unknown fusion %', coalesce(quote_literal(fusion), 'NULL') USING ERRCODE = 'RG004',
        HINT = 'use rrf';
    END IF;
    IF vector_weight IS NULL OR keyword_weight IS NULL OR least(vector_weight, keyword_weight) < 0
        OR vector_weight + keyword_weight NOT BETWEEN 1e-9 AND 1e9 THEN
        RAISE EXCEPTION 'weights % and % are out of range', vector_weight, keyword_weight
        USING ERRCODE = 'RG004', HINT = 'use numbers from 0, not both 0';
    END IF;
    IF rrf_k IS NULL OR rrf_k NOT BETWEEN 0 AND 100000 OR _candidates NOT BETWEEN result_limit AND 10000 THEN
        RAISE EXCEPTION 'rrf_k % or candidate_limit % is out of range', rrf_k, _candidates
        USING ERRCODE = 'RG004', HINT = 'rrf_k is 0 to 100000, candidate_limit from the result limit to 10000';
    END IF;
    _filter := rag.compile_filter(_collection.collection_id, metadata_filter);
    RETURN QUERY
    WITH vector_leg AS MATERIALIZED (
        SELECT r.chunk_id, r.distance, r.place
        FROM rag.rank_vector(_collection, query_embedding, _candidates, _filter.condition, _filter.indexed)
            WITH ORDINALITY AS r (chunk_id, distance, place)
        WHERE query_embedding IS NOT NULL AND vector_weight > 0
    ), keyword_leg AS MATERIALIZED (
        SELECT r.chunk_id, r.score, r.place
        FROM rag.rank_keyword(_collection.collection_id, query_text, _candidates,
                              _filter.condition, 'any', _filter.indexed)
            WITH ORDINALITY AS r (chunk_id, score, place)
        WHERE query_text IS NOT NULL AND keyword_weight > 0
    ), fused AS (
        SELECT chunk_id, v.place AS vector_place, v.distance, k.place AS keyword_place, k.score AS keyword_score,
               vector_weight * rag.rrf(v.place, rrf_k) + keyword_weight * rag.rrf(k.place, rrf_k) AS score
        FROM vector_leg AS v
        FULL JOIN keyword_leg AS k USING (chunk_id)
        ORDER BY score DESC, chunk_id
        LIMIT result_limit
    )
    SELECT h.*
    FROM (
        SELECT array_agg(f.chunk_id ORDER BY f.score DESC, f.chunk_id) AS ids,
               array_agg(f.score ORDER BY f.score DESC, f.chunk_id) AS scores,
               array_agg(f.vector_place ORDER BY f.score DESC, f.chunk_id) AS vector_places,
               array_agg(f.distance ORDER BY f.score DESC, f.chunk_id) AS distances,
               array_agg(f.keyword_place ORDER BY f.score DESC, f.chunk_id) AS keyword_places,
               array_agg(f.keyword_score ORDER BY f.score DESC, f.chunk_id) AS keyword_scores
        FROM fused AS f
    ) AS a,
    LATERAL rag.make_hits(_collection.collection_id, a.ids, a.scores, a.vector_places, a.distances,
                          a.keyword_places, a.keyword_scores) AS h;
END
$$;

COMMENT ON FUNCTION rag.search(text, text, halfvec, integer, jsonb, double precision, double precision, text, integer, integer) IS
$$Hybrid search: keyword and vector rankings fused, best first, in one statement.

A leg without input (query_text or query_embedding NULL, or weight 0) is skipped: the other still answers, and the skipped
leg's columns are NULL. fusion rrf: score = sum of weight / (rrf_k + rank), a missing rank contributes 0.
candidate_limit: how many each leg contributes, default the larger of 4 * result_limit and 40.
result_limit: 1 to 1000. metadata_filter: keep chunks whose metadata pass it (docs/filters.md).$$;
