-- The hybrid search's core: candidates of both legs, their fused scores, their refinement.

CREATE OR REPLACE FUNCTION rag._rank_hybrid(request rag.search_arguments)
RETURNS SETOF rag.candidate
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _last integer := request.result_offset + request.result_limit;
    _query rag.keyword_query := rag._request_words(request);
    _count integer := request.candidate_limit;
    _enough boolean := false;       -- for the first page
    _candidates rag.candidate[];
    _fused rag.candidate[];
    _found rag.candidate[];          -- as they were when first found
    _ids bigint[];
    _scores double precision[];
    _kept bigint[] := '{}';
BEGIN
    LOOP
        SELECT array_agg(g) INTO _candidates
            FROM rag._collect_candidates(request, _query, _count) AS g;
        IF _candidates IS NULL THEN
            RETURN;
        END IF;
        SELECT array_agg(f), array_agg((f).chunk_id), array_agg((f).score)
        INTO _fused, _ids, _scores
        FROM rag._fuse(request, _candidates) AS f;
        IF request.boosts <> '[]' THEN
            _scores := rag._boost(request.collection_id, _ids, _scores, request.boosts);
            SELECT array_agg(b.chunk_id ORDER BY b.score DESC, b.chunk_id),
                array_agg(b.score ORDER BY b.score DESC, b.chunk_id)
            INTO _ids, _scores
            FROM unnest(_ids, _scores) AS b (chunk_id, score);
            SELECT array_agg(ROW(f.chunk_id, s.score, f.vector_rank, f.vector_distance,
                f.keyword_rank, f.keyword_score)::rag.candidate)
            INTO _fused
            FROM unnest(_fused) AS f JOIN unnest(_ids, _scores) AS s (chunk_id, score)
                ON s.chunk_id = f.chunk_id;
        END IF;
        IF _enough THEN
            -- What earlier pages were cut from keeps its order: more candidates only follow it.
            _found := _found || ARRAY(
                SELECT f FROM unnest(_fused) AS f LEFT JOIN unnest(_found) AS o
                    ON o.chunk_id = f.chunk_id WHERE o.chunk_id IS NULL);
            _kept := _kept || ARRAY(
                SELECT i.chunk_id FROM unnest(_ids) WITH ORDINALITY AS i (chunk_id, rank)
                LEFT JOIN unnest(_kept) AS k (chunk_id) USING (chunk_id)
                WHERE k.chunk_id IS NULL ORDER BY i.rank);
        ELSE
            _found := _fused;
            _kept := _ids;
        END IF;
        _kept := rag._distinct_chunks(
            request.collection_id, _kept, request.per_document, request.duplicates,
            CASE WHEN request.diversity = 0 THEN _last END);
        IF NOT _enough AND (cardinality(_kept) >= request.result_limit OR cardinality(_ids) < _count
            OR _count >= 10000) THEN
            _enough := true;
            IF request.diversity > 0 THEN
                _kept := rag._diversify(
                    rag._active_space(request.collection_id), _kept,
                    ARRAY(SELECT s.score FROM unnest(_kept) WITH ORDINALITY AS k (chunk_id, rank)
                          JOIN unnest(_ids, _scores) AS s (chunk_id, score)
                              ON s.chunk_id = k.chunk_id ORDER BY k.rank),
                    least(_last, cardinality(_kept)), request.diversity);
            END IF;
        END IF;
        -- What was taken out may have kept others from the list: then more are asked for.
        EXIT WHEN cardinality(_kept) >= _last OR cardinality(_ids) < _count OR _count >= 10000;
        _count := least(10000, 4 * _count);
    END LOOP;
    PERFORM rag._note_fuzzy(_query, _kept[request.result_offset + 1:_last]);
    RETURN QUERY
    SELECT f.*
    FROM unnest(_kept[request.result_offset + 1:_last]) WITH ORDINALITY AS k (chunk_id, rank)
    JOIN unnest(_found) AS f ON f.chunk_id = k.chunk_id
    ORDER BY k.rank;
END
$$;

COMMENT ON FUNCTION rag._rank_hybrid IS
$$The chunks that a request finds, best first: gathered, fused, boosted, without duplicates, at most
per_document of each document, diversified. When too few are left after that for the first page,
four times the candidates are taken.

A later page is cut from the same list. Where the list ends before it, four times the candidates are
taken, and those that are new follow by their scores: so the pages of a search never share a chunk
and never leave one out.$$;
