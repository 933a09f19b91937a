-- The searches: by keyword, by vector, and by both.

CREATE OR REPLACE FUNCTION rag._make_hits(
    collection_id integer,
    chunk_ids bigint[],
    scores double precision[],
    vector_ranks bigint[],
    vector_distances double precision[],
    keyword_ranks bigint[],
    keyword_scores double precision[])
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT r.chunk_id, c.document_id, c.uri, c.title, c.heading, c.content, c.metadata,
           coalesce(nullif(r.score, 'NaN'), -2), r.vector_rank, nullif(r.vector_distance, 'NaN'),
           r.keyword_rank, r.keyword_score
    FROM unnest(chunk_ids, scores, vector_ranks, vector_distances, keyword_ranks, keyword_scores)
        WITH ORDINALITY
        AS r (chunk_id, score, vector_rank, vector_distance, keyword_rank, keyword_score, rank),
    -- OFFSET 0: one look-up by key for each hit, whatever the planner thinks of the table
    LATERAL (
        SELECT k.document_id, d.uri, d.title, k.heading, k.content, k.metadata
        FROM rag.chunks AS k
        JOIN rag.documents AS d ON d.collection_id = _make_hits.collection_id AND d.document_id =
            k.document_id
        WHERE k.collection_id = _make_hits.collection_id AND k.chunk_id = r.chunk_id
        OFFSET 0
    ) AS c
    ORDER BY r.rank;
END
$$;

COMMENT ON FUNCTION rag._make_hits IS
$$Complete ranked chunk ids to hits, in the order given. The arrays run in parallel; a NULL array
gives NULL columns.

A distance that is NaN (a vector of length 0 has no cosine) becomes NULL, a score that is NaN the
least that a cosine gives: -2.$$;


CREATE OR REPLACE FUNCTION rag.search_vector(
    collection text,
    query_embedding {vector}.halfvec,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    ef_search integer DEFAULT NULL,
    exact_below integer DEFAULT NULL,
    scan_limit integer DEFAULT NULL,
    result_offset integer DEFAULT 0)
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(search_vector.collection)).collection_id;
    _filter record;
    _count integer := result_limit;
    _found record;
    _ids bigint[] := '{}';
    _distances double precision[] := '{}';
BEGIN
    PERFORM rag._check_query(NULL, result_limit, metadata_filter);
    PERFORM rag._check_page(result_limit, result_offset);
    IF query_embedding IS NULL THEN
        RAISE EXCEPTION 'search_vector needs a query embedding' USING ERRCODE = 'RG004',
        HINT = 'embed the question with the collection''s model, or use rag.search_keyword';
    END IF;
    IF ef_search NOT BETWEEN 1 AND 1000 OR exact_below < 0 OR scan_limit < 1 THEN
        RAISE EXCEPTION 'ef_search %, exact_below % or scan_limit % is out of range', ef_search,
            exact_below, scan_limit
        USING ERRCODE = 'RG004',
            HINT = 'ef_search is 1 to 1000, exact_below 0 and more, scan_limit 1 and more';
    END IF;
    SELECT f.* INTO _filter FROM rag._compile_filter(_id, metadata_filter) AS f;
    LOOP  -- a later page asks for more, which follow what the pages before were cut from
        SELECT array_agg(r.chunk_id ORDER BY r.rank) AS ids,
            array_agg(r.distance ORDER BY r.rank) AS distances,
               count(*) AS vectors
        INTO _found
        FROM rag._rank_vector(_id, query_embedding, _count, _filter.condition, _filter.indexed,
                             search_vector.ef_search, search_vector.exact_below,
                                 search_vector.scan_limit)
            WITH ORDINALITY AS r (chunk_id, distance, rank);
        SELECT _ids || array_agg(n.chunk_id ORDER BY n.rank),
            _distances || array_agg(n.distance ORDER BY n.rank)
        INTO _ids, _distances
        FROM unnest(_found.ids, _found.distances) WITH ORDINALITY AS n (chunk_id, distance, rank)
        LEFT JOIN unnest(_ids) AS o (chunk_id) ON o.chunk_id = n.chunk_id
        WHERE o.chunk_id IS NULL;
        EXIT WHEN cardinality(_ids) >= result_limit + coalesce(result_offset, 0)
            OR _found.vectors < _count OR _count >= 10000;
        _count := least(10000, 4 * _count);
    END LOOP;
    RETURN QUERY
    SELECT h.*
    FROM (
        SELECT array_agg(r.chunk_id ORDER BY r.rank) AS ids,
            array_agg(-r.distance ORDER BY r.rank) AS scores,
               array_agg(r.rank ORDER BY r.rank) AS ranks,
                   array_agg(r.distance ORDER BY r.rank) AS distances
        FROM unnest(_ids, _distances) WITH ORDINALITY AS r (chunk_id, distance, rank)
        WHERE r.rank > coalesce(result_offset, 0)
            AND r.rank <= coalesce(result_offset, 0) + result_limit
    ) AS a,
    LATERAL rag._make_hits(_id, a.ids, a.scores, a.ranks, a.distances, NULL, NULL) AS h;
END
$$;

COMMENT ON FUNCTION rag.search_vector IS
$$The chunks nearest to a vector, nearest first. A filter never costs results.

result_limit: 1 to 1000. metadata_filter: keep chunks whose metadata pass it
(docs/guides/filters.md). vector_distance: by the collection's distance (cosine: 0 to 2; l2: 0 and
up; ip: the negative inner product); score is its negative. A vector of length 0 has no cosine: it
comes last, with distance NULL and score -2. A vector of wrong dimensions is error RG004.
ef_search, exact_below, scan_limit: as in rag._rank_vector, which chooses between the HNSW index and
an exact search.
result_offset: as in rag.search.
Circle: application, Search.
SELECT uri FROM rag.search_vector('docs', '[1, 0, 0]')$$;


CREATE OR REPLACE FUNCTION rag.search_keyword(
    collection text,
    query_text text,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    match text DEFAULT 'any',
    result_offset integer DEFAULT 0,
    typo_tolerance boolean DEFAULT true)
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(search_keyword.collection)).collection_id;
    _filter record;
    _query rag.keyword_query;
    _found record;
BEGIN
    PERFORM rag._clear_notes();
    PERFORM rag._check_query(query_text, result_limit, metadata_filter);
    PERFORM rag._check_page(result_limit, result_offset);
    SELECT f.* INTO _filter FROM rag._compile_filter(_id, metadata_filter) AS f;
    _query := rag._prepare_keyword(_id, query_text,
        typo_tolerance IS NOT false AND match IS DISTINCT FROM 'phrase');
    SELECT array_agg(r.chunk_id ORDER BY r.rank) AS ids,
           array_agg(r.score ORDER BY r.rank) AS scores, array_agg(r.rank ORDER BY r.rank) AS ranks
    INTO _found
    FROM rag._rank_prepared(_query, query_text, result_limit + coalesce(result_offset, 0),
        _filter.condition, match, _filter.indexed)
        WITH ORDINALITY AS r (chunk_id, score, rank)
    WHERE r.rank > coalesce(result_offset, 0);
    PERFORM rag._note_fuzzy(_query, _found.ids);
    RETURN QUERY
    SELECT h.*
    FROM rag._make_hits(_id, _found.ids, _found.scores, NULL, NULL, _found.ranks, _found.scores)
        AS h;
END
$$;

COMMENT ON FUNCTION rag.search_keyword IS
$$By words (BM25).

The chunks that best match the words of a text, by exact BM25, best first.

result_limit: 1 to 1000. metadata_filter: keep chunks whose metadata pass it
(docs/guides/filters.md). match: any (of the words), all, phrase, or web (a search box's syntax: "a
phrase", or, -not). The ranking is the same BM25 in each. score is keyword_score: 0 and up.
result_offset, typo_tolerance: as in rag.search; a phrase is never searched for in other words.
Circle: application, Search.
SELECT uri, score FROM rag.search_keyword('docs', 'blue fish')$$;


CREATE OR REPLACE FUNCTION rag._search_hits(request rag.search_arguments)
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._clear_notes();
    RETURN QUERY
    SELECT h.*
    FROM (
        SELECT array_agg(r.chunk_id) AS ids, array_agg(r.score) AS scores,
               array_agg(r.vector_rank) AS vector_ranks, array_agg(r.vector_distance) AS distances,
               array_agg(r.keyword_rank) AS keyword_ranks,
                   array_agg(r.keyword_score) AS keyword_scores
        FROM rag._rank_hybrid(request) AS r
    ) AS a,
    LATERAL rag._make_hits(request.collection_id, a.ids, a.scores, a.vector_ranks, a.distances,
                          a.keyword_ranks, a.keyword_scores) AS h;
END
$$;

COMMENT ON FUNCTION rag._search_hits IS
$$The hits of a search whose arguments are checked, best first.$$;


CREATE OR REPLACE FUNCTION rag.search(
    collection text,
    query_text text DEFAULT NULL,
    query_embedding {vector}.halfvec DEFAULT NULL,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    vector_weight double precision DEFAULT NULL,
    keyword_weight double precision DEFAULT NULL,
    fusion text DEFAULT 'auto',
    rrf_k integer DEFAULT 60,
    candidate_limit integer DEFAULT NULL,
    diversity double precision DEFAULT 0,
    per_document integer DEFAULT NULL,
    boosts jsonb DEFAULT '[]',
    duplicates boolean DEFAULT false,
    ef_search integer DEFAULT NULL,
    result_offset integer DEFAULT 0,
    typo_tolerance boolean DEFAULT true,
    expected_space integer DEFAULT NULL)
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF expected_space IS NOT NULL THEN
        PERFORM rag._assert_active_space(search.collection, expected_space);
    END IF;
    RETURN QUERY
    SELECT h.*
    FROM rag._search_hits(rag._check_search_arguments(
        search.collection, search.query_text, search.query_embedding, search.result_limit,
        search.metadata_filter,
        jsonb_build_object(
            'vector_weight', search.vector_weight, 'keyword_weight', search.keyword_weight,
            'fusion', search.fusion, 'rrf_k', search.rrf_k,
            'candidate_limit', search.candidate_limit, 'diversity', search.diversity,
            'per_document', search.per_document, 'boosts', search.boosts,
            'duplicates', search.duplicates, 'ef_search', search.ef_search,
            'result_offset', search.result_offset,
            'typo_tolerance', search.typo_tolerance))) AS h;
END
$$;

COMMENT ON FUNCTION rag.search IS
$$Hybrid search: keyword and vector rankings fused, best first, in one statement.

Without query_embedding only keywords are searched: the database runs no model (rag.search_text has
a worker embed the question). A leg without input (query_text or query_embedding NULL, or weight 0)
is skipped: the other still answers, the skipped leg's columns are NULL, and rag.explain_search says
so. metadata_filter: keep chunks whose metadata pass it (docs/guides/filters.md). result_limit: 1 to
1000.
fusion: auto (the default: as weighted, with the weights chosen for the query, see
rag._fusion_alpha), weighted (similarity and keyword score / best keyword score, both exact for
every candidate; weights 0.7 and 0.3 unless given), or rrf (sum of weight / (rrf_k + rank), a
missing rank contributes 0). Under auto, vector_weight and keyword_weight multiply the chosen
weights.
candidate_limit: how many each leg contributes, default the larger of 4 * result_limit and 40.
boosts: see rag._boost. duplicates: keep chunks whose title, heading and text are the same.
per_document: at most so many chunks of a document. diversity: 0 to 1, see rag._diversify; then the
order is not that of the scores.
result_offset: so many hits are left out, as the pages before had; result_limit + result_offset is
at most 10,000. Pages of the same search never share a chunk nor leave one out while nothing is
written. They are cut from one list as long as it reaches: that of the candidates. After it, four
times as many are taken, and the new ones follow by their scores.
typo_tolerance: a word of the query that no chunk of the collection has is searched for in British
or American spelling, with the accent that its capital lacks in a Romance language or, unless it is
an ordinary word of its language (rag.ordinary_words), as the words that one typing error makes of
it, up to three of them, at 0.7 of the weight. So are words of four letters or more; numbers,
identifiers, words in capitals and what stands in double quotes are not. rag.explain_search tells
which of those the hits have, and so does, within the transaction, current_setting('rag.notes').
expected_space: the space whose model made query_embedding; error RG008 when another is active by
now.
Circle: application 5, Search.
SELECT uri, score FROM rag.search('docs', 'fish', '[1, 0, 0]')$$;
