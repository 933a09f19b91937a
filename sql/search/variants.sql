-- A search over several variants of one question: a ranking for each, fused by reciprocal rank.

CREATE OR REPLACE FUNCTION rag._rank_variants(requests rag.search_arguments[])
RETURNS SETOF rag.candidate
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _first rag.search_arguments := requests[1];
    _last integer := _first.result_offset + _first.result_limit;
    _request rag.search_arguments;
    _ranked rag.candidate[] := '{}';
    _found rag.candidate[];
    _kept bigint[];
BEGIN
    FOREACH _request IN ARRAY requests LOOP
        -- Pages, copies and diversity are a matter of the fused list.
        _request.result_limit := _request.candidate_limit;
        _request.result_offset := 0;
        _request.diversity := 0;
        _request.per_document := NULL;
        _request.duplicates := true;
        _ranked := _ranked || ARRAY(
            SELECT ROW(c.chunk_id, rag._rrf(c.ordinality, _request.rrf_k), c.vector_rank,
                c.vector_distance, c.keyword_rank, c.keyword_score)::rag.candidate
            FROM rag._rank_hybrid(_request) WITH ORDINALITY AS c
            ORDER BY c.ordinality);
    END LOOP;
    -- Ranks, distance and keyword score of a chunk are those of the first request that found it.
    SELECT array_agg(ROW(f.chunk_id, f.score, (f.first).vector_rank, (f.first).vector_distance,
        (f.first).keyword_rank, (f.first).keyword_score)::rag.candidate
        ORDER BY f.score DESC, f.chunk_id)
    INTO _found
    FROM (SELECT r.chunk_id, sum(r.score ORDER BY r.ordinality) AS score,
              (array_agg(ROW(r.chunk_id, r.score, r.vector_rank, r.vector_distance, r.keyword_rank,
                  r.keyword_score)::rag.candidate ORDER BY r.ordinality))[1] AS first
          FROM unnest(_ranked) WITH ORDINALITY AS r
          GROUP BY r.chunk_id) AS f;
    IF _found IS NULL THEN
        RETURN;
    END IF;
    _kept := rag._distinct_chunks(_first.collection_id,
        ARRAY(SELECT f.chunk_id FROM unnest(_found) WITH ORDINALITY AS f ORDER BY f.ordinality),
        _first.per_document, _first.duplicates,
        CASE WHEN _first.diversity = 0 THEN _last END);
    IF _first.diversity > 0 THEN
        _kept := rag._diversify(
            rag._active_space(_first.collection_id), _kept,
            ARRAY(SELECT f.score FROM unnest(_kept) WITH ORDINALITY AS k (chunk_id, rank)
                  JOIN unnest(_found) AS f ON f.chunk_id = k.chunk_id ORDER BY k.rank),
            least(_last, cardinality(_kept)), _first.diversity);
    END IF;
    RETURN QUERY
    SELECT f.*
    FROM unnest(_kept[_first.result_offset + 1:_last]) WITH ORDINALITY AS k (chunk_id, rank)
    JOIN unnest(_found) AS f ON f.chunk_id = k.chunk_id
    ORDER BY k.rank;
END
$$;

COMMENT ON FUNCTION rag._rank_variants IS
$$A page of what several requests find together, best first: fused by the sum of 1 / (rrf_k + rank)
over the first candidate_limit of each (Cormack, Clarke, Buettcher, SIGIR 2009), without duplicates,
at most per_document of each document, diversified. The requests differ in query_text and
query_embedding alone.$$;


CREATE OR REPLACE FUNCTION rag.search_variants(
    collection text,
    query_texts text[] DEFAULT NULL,
    query_embeddings {vector}.halfvec[] DEFAULT NULL,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    options jsonb DEFAULT '{}',
    expected_space integer DEFAULT NULL)
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    at_most CONSTANT integer := 16;
    _count integer := coalesce(cardinality(query_texts), cardinality(query_embeddings), 0);
    _variant record;
    _requests rag.search_arguments[] := '{}';
BEGIN
    PERFORM rag._clear_notes();
    IF _count NOT BETWEEN 1 AND at_most THEN
        RAISE EXCEPTION '% variants were given', _count USING ERRCODE = 'RG004',
        HINT = format('use 1 to %s: query_texts, query_embeddings, or both', at_most);
    END IF;
    IF cardinality(query_embeddings) <> _count OR array_ndims(query_texts) > 1
        OR array_ndims(query_embeddings) > 1 THEN
        RAISE EXCEPTION 'the texts and the embeddings are no two lists of one length'
        USING ERRCODE = 'RG004',
            HINT = 'pass two arrays in parallel, NULL where a variant has no text or no embedding';
    END IF;
    PERFORM rag._check_search_options(coalesce(search_variants.options, '{}'));
    IF expected_space IS NOT NULL THEN
        PERFORM rag._assert_active_space(search_variants.collection, expected_space);
    END IF;
    FOR _variant IN
        SELECT v.query, v.embedding
        FROM unnest(query_texts, query_embeddings) WITH ORDINALITY AS v (query, embedding, position)
        ORDER BY v.position
    LOOP
        _requests := _requests || rag._check_search_arguments(
            search_variants.collection, _variant.query, _variant.embedding,
            search_variants.result_limit, search_variants.metadata_filter,
            coalesce(search_variants.options, '{}'));
    END LOOP;
    RETURN QUERY
    SELECT h.*
    FROM (
        SELECT array_agg(r.chunk_id ORDER BY r.ordinality) AS ids,
               array_agg(r.score ORDER BY r.ordinality) AS scores,
               array_agg(r.vector_rank ORDER BY r.ordinality) AS vector_ranks,
               array_agg(r.vector_distance ORDER BY r.ordinality) AS distances,
               array_agg(r.keyword_rank ORDER BY r.ordinality) AS keyword_ranks,
               array_agg(r.keyword_score ORDER BY r.ordinality) AS keyword_scores
        FROM rag._rank_variants(_requests) WITH ORDINALITY AS r
    ) AS a,
    LATERAL rag._make_hits((_requests[1]).collection_id, a.ids, a.scores, a.vector_ranks,
        a.distances, a.keyword_ranks, a.keyword_scores) AS h;
END
$$;

COMMENT ON FUNCTION rag.search_variants IS
$$Several wordings of a question.

A search over 1 to 16 variants of one question, such as its parts or other wordings: rag.search
ranks each, and the rankings are fused, in one statement.

query_texts, query_embeddings: in parallel, one of each per variant; NULL skips a leg of that
variant, an array that is NULL that of all. score is the sum of 1 / (rrf_k + rank) over the rankings
of candidate_limit chunks each. Ranks, distance and keyword score of a hit are those of the first
variant that found it: put the question as it was asked first.
options: what else rag.search takes, by name, e.g. {"fusion": "rrf", "boosts": […]}. Boosts act
within each ranking; duplicates, per_document, diversity and result_offset on the fused list, which
ends with the variants' candidates. expected_space: as in rag.search.
Source: Cormack, Clarke, Buettcher, SIGIR 2009.
Circle: application, Search.
SELECT uri FROM rag.search_variants('docs', '{fish, red bird}')$$;
