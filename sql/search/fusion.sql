-- How the two legs of a hybrid search share its score (derivation: docs/internals/fusion.md).

CREATE OR REPLACE FUNCTION rag._lead_weight(lead double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN power(greatest(lead, 0), 2.0::double precision / 3);

COMMENT ON FUNCTION rag._lead_weight IS
$$What a leg counts for by its lead: lead^(2/3).

lead: how far the leg's best score stands above the mean of its ten best; below 0 (rounding) is
0.$$;


CREATE OR REPLACE FUNCTION rag._auto_weight(
    cosine_lead double precision,
    keyword_lead double precision,
    vector_weight double precision DEFAULT 0.5,
    keyword_weight double precision DEFAULT 0.5
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN keyword_lead IS NULL THEN 1
    WHEN cosine_lead IS NULL THEN 0
    ELSE vector_weight * rag._lead_weight(8 * least(greatest(cosine_lead, 0), 1e9)) / (
        vector_weight * rag._lead_weight(8 * least(greatest(cosine_lead, 0), 1e9))
        + keyword_weight * rag._lead_weight(greatest(keyword_lead, 0.05))
    )
END;

COMMENT ON FUNCTION rag._auto_weight IS
$$The vector leg's share of a hybrid score, chosen for one query: each leg counts by its lead.

score = a * cosine + (1 - a) * keyword_score / best keyword_score, where a is this function's
result (docs/internals/fusion.md). cosine_lead: the best cosine less the mean of the ten best; NULL
(no vectors) gives 0: keywords alone. keyword_lead: 1 less the mean of the ten best
keyword_score / best keyword_score, where what matches no word counts as 0, at least 0.05; NULL (no
word of the query is known) gives 1: vectors alone. Of the weights only the ratio matters.$$;


CREATE OR REPLACE FUNCTION rag._rrf(rank_in_list bigint, k integer DEFAULT 60)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(1.0::double precision / (k + rank_in_list), 0.0::double precision);

COMMENT ON FUNCTION rag._rrf IS
$$One list's share of a reciprocal rank fusion score.

rank_in_list: 1 is best; NULL (not in the list) gives 0. k: smoothing, 60 in the paper.
Source: Cormack, Clarke, Buettcher, SIGIR 2009.$$;


CREATE OR REPLACE FUNCTION rag._fusion_alpha(request rag.search_arguments,
    candidates rag.candidate[], similarities double precision[])
RETURNS double precision
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _cosine_lead double precision;
    _keyword_lead double precision;
BEGIN
    SELECT max(v.cosine) - avg(v.cosine)
    INTO _cosine_lead
    FROM (
        SELECT u.cosine FROM unnest(similarities) AS u (cosine)
        WHERE u.cosine IS NOT NULL
        ORDER BY u.cosine DESC LIMIT 10
    ) AS v;
    SELECT 1 - avg(k.score) / nullif(max(k.score), 0)
    INTO _keyword_lead
    FROM (
        SELECT coalesce(c.keyword_score, 0) AS score FROM unnest(candidates) AS c ORDER BY 1 DESC
            LIMIT 10
    ) AS k;
    IF request.fusion = 'weighted' AND _cosine_lead IS NOT NULL AND _keyword_lead IS NOT NULL THEN
        RETURN request.vector_weight / (request.vector_weight + request.keyword_weight);
    END IF;
    RETURN rag._auto_weight(_cosine_lead, _keyword_lead, request.vector_weight,
        request.keyword_weight);
END
$$;

COMMENT ON FUNCTION rag._fusion_alpha IS
$$The vector leg's share of a fused score, 0 to 1; 0 or 1 where only one leg found anything.

similarities: of the candidates, in their order (rag._cosine_similarities).

weighted: vector_weight / (vector_weight + keyword_weight). auto: rag._auto_weight of the two legs'
leads.$$;


CREATE OR REPLACE FUNCTION rag._fuse(request rag.search_arguments, candidates rag.candidate[])
RETURNS SETOF rag.candidate
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _similarities double precision[];
    _share double precision;    -- the vector leg's
BEGIN
    IF request.fusion = 'rrf' THEN
        RETURN QUERY
        SELECT c.chunk_id,
               request.vector_weight * rag._rrf(c.vector_rank, request.rrf_k)
               + request.keyword_weight * rag._rrf(c.keyword_rank, request.rrf_k),
               c.vector_rank, c.vector_distance, c.keyword_rank, c.keyword_score
        FROM unnest(candidates) AS c
        ORDER BY 2 DESC, 1;
        RETURN;
    END IF;
    _similarities := rag._cosine_similarities(request, candidates);
    _share := rag._fusion_alpha(request, candidates, _similarities);
    RETURN QUERY
    SELECT s.chunk_id,
           _share * coalesce(s.similarity, min(s.similarity) OVER (), 0)
           + (1 - _share) *
               coalesce(s.keyword_score / nullif(max(s.keyword_score) OVER (), 0), 0),
           s.vector_rank, s.vector_distance, s.keyword_rank, s.keyword_score
    FROM (
        SELECT c.*
        FROM unnest(candidates, _similarities)
            AS c (chunk_id, score, vector_rank, vector_distance, keyword_rank, keyword_score,
                similarity)
    ) AS s
    ORDER BY 2 DESC, 1;
END
$$;

COMMENT ON FUNCTION rag._fuse IS
$$The candidates with their fused scores, best first.

rrf: sum of weight / (rrf_k + rank) over the legs that found the chunk. weighted and auto: share *
similarity + (1 - share) * keyword_score / (the query's best keyword score), the similarity by
rag._similarity_scale, whatever the collection's distance; a chunk that has no vector yet counts as
the least similar candidate.$$;
