-- Replay: sampled live queries are asked again, as they were and of a candidate, and compared.

CREATE OR REPLACE FUNCTION rag._replay_search(collection text, query_text text,
    query_embedding {vector}.halfvec, result_limit integer, metadata_filter jsonb, options jsonb,
    k integer, by_document boolean)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF query_text IS NULL AND (options ->> 'vector_weight')::double precision = 0 THEN
        RAISE EXCEPTION 'its words were not kept, and no vector is searched for'
        USING ERRCODE = 'RG004', HINT = 'keep the words: rag.alter_collection(..., keep_query_text '
            '=> true)';
    END IF;
    RETURN (
        SELECT coalesce(jsonb_object_agg(h.key, jsonb_build_object('uri', h.uri, 'chunk_id',
            h.chunk_id, 'rank', h.rank)), '{}')
        FROM (
            SELECT DISTINCT ON (f.key) f.key, f.uri, f.chunk_id,
                CASE WHEN by_document THEN dense_rank() OVER (ORDER BY f.first) ELSE f.n END AS rank
            FROM (
                SELECT s.uri, s.chunk_id, s.ordinality AS n, x.key,
                    min(s.ordinality) OVER (PARTITION BY x.key) AS first
                FROM rag._search_hits(rag._check_search_arguments(
                    _replay_search.collection, _replay_search.query_text,
                    _replay_search.query_embedding, _replay_search.result_limit,
                    _replay_search.metadata_filter, _replay_search.options)) WITH ORDINALITY AS s,
                LATERAL (SELECT CASE WHEN by_document THEN s.uri ELSE s.chunk_id::text END AS key)
                    AS x
                WHERE s.ordinality <= k
            ) AS f
            ORDER BY f.key, f.n
        ) AS h);
END
$$;

COMMENT ON FUNCTION rag._replay_search IS
$$The first k hits of a search by chunk id, or by_document by uri: an object of uri, chunk_id (of
the first hit) and rank.$$;


CREATE OR REPLACE FUNCTION rag.replay_queries(
    collection text,
    options jsonb DEFAULT '{}',
    candidate text DEFAULT NULL,
    k integer DEFAULT 10,
    sample integer DEFAULT 100,
    query_ids bigint[] DEFAULT NULL,
    embeddings {vector}.halfvec[] DEFAULT NULL)
RETURNS TABLE (query_id bigint, searched_at timestamptz, query_text text, legs text,
    overlap double precision, rank_change double precision, gained jsonb, lost jsonb, moved jsonb,
    error text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _key integer := (rag._require_collection(replay_queries.collection)).collection_id;
    _target text := coalesce(replay_queries.candidate, replay_queries.collection);
    _space rag.spaces := rag._require_active_space(_key);
    _other rag.spaces := rag._require_active_space(
        (rag._require_collection(coalesce(replay_queries.candidate, replay_queries.collection)))
            .collection_id);
    _same_model boolean := _other.space_id = _space.space_id
        OR coalesce(_other.fingerprint = _space.fingerprint, false);
    _by_document boolean := _other.collection_id <> _space.collection_id;
    _query record;
    _before jsonb;
    _after jsonb;
BEGIN
    PERFORM rag._check_search_options(replay_queries.options);
    PERFORM rag._check_range('k', replay_queries.k, 1, 1000),
        rag._check_range('sample', sample, 1, 10000);
    IF cardinality(replay_queries.query_ids) IS DISTINCT FROM cardinality(embeddings)
        AND embeddings IS NOT NULL THEN
        RAISE EXCEPTION '% ids with % embeddings',
            coalesce(cardinality(replay_queries.query_ids), 0), cardinality(embeddings)
        USING ERRCODE = 'RG001', HINT = 'pass two arrays in parallel';
    END IF;
    FOR _query IN
        SELECT l.query_id, l.searched_at, l.query_text, l.embedding, l.result_limit,
            l.metadata_filter, l.options,
            CASE WHEN _same_model AND g.embedding IS NULL THEN l.embedding
                ELSE g.embedding END AS other_embedding,
            CASE WHEN l.embedding IS NULL THEN 'keyword' WHEN l.query_text IS NULL THEN 'vector'
                ELSE 'hybrid' END AS legs
        FROM rag.live_queries AS l
        LEFT JOIN unnest(replay_queries.query_ids, embeddings) AS g (query_id, embedding)
            ON g.query_id = l.query_id
        WHERE l.collection_id = _key
            AND (l.space_id = _space.space_id OR l.embedding IS NULL)
            AND (replay_queries.query_ids IS NULL OR g.query_id IS NOT NULL)
        ORDER BY l.searched_at DESC, l.query_id DESC
        LIMIT sample
    LOOP
        query_id := _query.query_id;
        searched_at := _query.searched_at;
        query_text := _query.query_text;
        legs := _query.legs;
        error := NULL;
        BEGIN
            IF _query.embedding IS NOT NULL AND _query.other_embedding IS NULL THEN
                RAISE EXCEPTION 'it has no vector of %''s model', quote_literal(_target)
                USING ERRCODE = 'RG004', HINT = 'pass query_ids and embeddings';
            END IF;
            _before := rag._replay_search(replay_queries.collection, _query.query_text,
                _query.embedding, _query.result_limit, _query.metadata_filter, _query.options,
                replay_queries.k, _by_document);
            _after := rag._replay_search(_target, _query.query_text, _query.other_embedding,
                _query.result_limit, _query.metadata_filter,
                rag._without_nulls(_query.options || replay_queries.options), replay_queries.k,
                _by_document);
            SELECT count(*) FILTER (WHERE b.value IS NOT NULL AND a.value IS NOT NULL)
                    ::double precision / nullif(greatest(count(b.value), count(a.value)), 0),
                avg(abs((a.value ->> 'rank')::integer - (b.value ->> 'rank')::integer)),
                coalesce(jsonb_agg(a.value ORDER BY (a.value ->> 'rank')::integer)
                    FILTER (WHERE b.value IS NULL), '[]'),
                coalesce(jsonb_agg(b.value ORDER BY (b.value ->> 'rank')::integer)
                    FILTER (WHERE a.value IS NULL), '[]'),
                coalesce(jsonb_agg(b.value || jsonb_build_object('rank_after', a.value -> 'rank')
                    ORDER BY (b.value ->> 'rank')::integer)
                    FILTER (WHERE a.value -> 'rank' <> b.value -> 'rank'), '[]')
            INTO overlap, rank_change, gained, lost, moved
            FROM jsonb_each(_before) AS b
            FULL JOIN jsonb_each(_after) AS a ON a.key = b.key;
            overlap := coalesce(overlap, 1);  -- both found nothing
        EXCEPTION WHEN SQLSTATE 'RG004' OR data_exception THEN
            overlap := NULL;
            rank_change := NULL;
            gained := '[]';
            lost := '[]';
            moved := '[]';
            error := SQLERRM;
        END;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.replay_queries IS
$$What sampled queries find with other options.

Ask the latest sampled live queries (rag.log_query) again, with their own options and filter, and
of a candidate: with other options of rag.search, e.g. {"vector_weight": 0.5}, another collection,
or both. A row for each query tells how the first k hits differ; no judgement is needed, and none is
made. Nothing is written.

overlap: the share of hits that both have, of the longer list. rank_change: by how many ranks those
differ on average. gained, lost: what only the candidate, or only the collection, has, as objects
of uri, chunk_id and rank; moved: what stands elsewhere, with rank_after. Hits of two collections
are compared by uri, those of one by chunk.
legs: what the query is searched by on both sides: hybrid, keyword, or vector: of a query whose
words were not kept nothing else is left. error: why a query could not be replayed. Queries of
another model than that of the active space are left out.
query_ids, embeddings: only these queries, with their vectors by the candidate's model, where that
is another one: the database runs no model.
Circle: application, Evaluation.
SELECT * FROM rag.replay_queries('docs', '{"fusion": "rrf"}')$$;
