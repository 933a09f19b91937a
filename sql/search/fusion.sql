-- How the two legs of a hybrid search share its score (derivation and measurements: docs/fusion.md).

CREATE OR REPLACE FUNCTION rag.lead_weight(lead double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN power(greatest(lead, 0), 2.0::double precision / 3);

COMMENT ON FUNCTION rag.lead_weight(double precision) IS
$$What a leg counts for by its lead: lead^(2/3).

lead: how far the leg's best score stands above the mean of its ten best; below 0 (rounding) is 0.$$;

CREATE OR REPLACE FUNCTION rag.auto_weight(
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
    ELSE vector_weight * rag.lead_weight(8 * cosine_lead) / (
        vector_weight * rag.lead_weight(8 * cosine_lead)
        + keyword_weight * rag.lead_weight(greatest(keyword_lead, 0.05))
    )
END;

COMMENT ON FUNCTION rag.auto_weight(double precision, double precision, double precision, double precision) IS
$$The vector leg's share of a hybrid score, chosen for one query: each leg counts by its lead.

score = a * cosine + (1 - a) * keyword_score / best keyword_score, where a is this function's result:
    a = v / (v + k),  v = vector_weight * (8 * cosine_lead)^(2/3),  k = keyword_weight * keyword_lead^(2/3)
Candidates are the chunks of either leg, each with its exact cosine similarity and its exact BM25 score.
cosine_lead: the best cosine less the mean of the ten best. NULL (no vectors) gives 0: keywords alone.
keyword_lead: 1 less the mean of the ten best keyword_score / best keyword_score; a candidate that matches no word counts
as 0; leads below 0.05 count as 0.05. NULL (no word of the query is known) gives 1: vectors alone.
vector_weight, keyword_weight: above 0; only their ratio matters, and equal weights leave the choice to the leads.$$;
