-- Why a search found what it found (rag.explain_search), and why not another (rag.why_not).

CREATE OR REPLACE FUNCTION rag.explain_search(
    collection text,
    query_text text DEFAULT NULL,
    query_embedding {vector}.halfvec DEFAULT NULL,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    options jsonb DEFAULT '{}')
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET extra_float_digits = 1
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _request rag.search_arguments;
    _key integer;
    _space rag.spaces;
    _plan record;
    _candidates rag.candidate[];
    _hits rag.candidate[];
    _vector jsonb;
    _keyword jsonb;
    _fuzzy text;    -- what was searched for instead
BEGIN
    PERFORM rag._clear_notes();
    PERFORM rag._check_search_options(options);
    _request := rag._check_search_arguments(
        explain_search.collection, explain_search.query_text, explain_search.query_embedding,
        explain_search.result_limit, explain_search.metadata_filter, explain_search.options);
    _key := _request.collection_id;
    IF rag._scope(_key) IS NOT NULL THEN
        RAISE EXCEPTION 'rag.explain_search tells of the words of all tenants, and the collection '
            'is shared'
        USING ERRCODE = '42501', HINT = 'call it in a collection that is the tenant''s own';
    END IF;
    _space := rag._require_active_space(_key);
    SELECT array_agg(g) INTO _candidates
        FROM rag._collect_candidates(_request, rag._request_words(_request),
            _request.candidate_limit) AS g;
    SELECT array_agg(h) INTO _hits FROM rag._rank_hybrid(_request) AS h;
    IF _request.query_embedding IS NOT NULL THEN
        _plan := rag._plan_vector(_key, _space, _request.filter_sql, _request.filter_indexed, NULL,
            _request.ef_search, _request.candidate_limit, _request.result_limit);
        _vector := jsonb_build_object(
            'space', _space.space_id, 'model', _space.model,
            'index', _space.index_options ->> 'kind',
            'method', CASE _plan.method
                WHEN 'matches'
                    THEN format('exact: the %s chunks that pass the filter were compared',
                        cardinality(_plan.chunk_keys))
                WHEN 'exact' THEN 'exact: every vector that passes was compared'
                WHEN 'iterative' THEN 'index: walked until enough chunks passed the filter'
                ELSE 'index: its nearest were taken' END,
            'candidates', (SELECT count(c.vector_rank) FROM unnest(_candidates) AS c));
    END IF;
    IF _request.query_text IS NOT NULL THEN
        SELECT jsonb_build_object(
            'chunks', q.chunk_count, 'average_length', round(q.average_length::numeric, 1),
            'k1', q.k1, 'b', q.b,
            'candidates', (SELECT count(c.keyword_rank) FROM unnest(_candidates) AS c),
            'terms', (
                SELECT jsonb_agg(jsonb_build_object('term', t.word, 'qtf', t.qtf, 'df', t.df,
                        'idf', round((t.factor / t.qtf / t.weight)::numeric, 4))
                    || CASE WHEN t.mistyped IS NULL THEN '{}' ELSE jsonb_build_object(
                        'weight', t.weight, 'mistyped', t.mistyped) END)
                FROM unnest(q.lexemes, q.query_frequencies, q.chunk_counts, q.factors, q.weights,
                    q.mistyped) AS t (word, qtf, df, factor, weight, mistyped)
                WHERE t.mistyped IS NULL OR rag._sees_all_chunks())),
            CASE WHEN num_nonnulls(VARIADIC q.mistyped) > 0 THEN
                rag._fuzzy_note(q, ARRAY(SELECT h.chunk_id FROM unnest(_hits) AS h)) END
        INTO _keyword, _fuzzy
        FROM rag._prepare_keyword(_key, _request.query_text, _request.typo_tolerance) AS q;
    END IF;
    RETURN jsonb_build_object(
        'notes', to_jsonb(array_remove(ARRAY[
            CASE WHEN explain_search.query_embedding IS NULL
                     THEN 'query_embedding is NULL: only keywords were searched'
                 WHEN _request.query_embedding IS NULL
                     THEN 'vector_weight is 0: only keywords were searched' END,
            CASE WHEN coalesce(btrim(explain_search.query_text), '') = ''
                     THEN 'query_text is empty: only vectors were searched'
                 WHEN _request.query_text IS NULL
                     THEN 'keyword_weight is 0: only vectors were searched' END,
            _fuzzy], NULL)),
        'filter', CASE WHEN _request.filter_sql IS NOT NULL THEN jsonb_build_object(
            'condition', _request.filter_sql, 'indexed', _request.filter_indexed,
            'passes', round((rag._filter_share(_key, _request.filter_sql))::numeric, 4),
            'declare', to_jsonb(_request.filter_undeclared)) END,
        'vector', _vector,
        'keyword', _keyword,
        'fusion', jsonb_build_object(
            'kind', _request.fusion, 'candidates', cardinality(_candidates),
            'similarity', (SELECT jsonb_build_object('subtracted', round(s.subtracted::numeric, 4),
                    'factor', round(s.factor::numeric, 4))
                FROM rag._similarity_scale(rag._active_space(_key)) AS s),
            'vector_share', CASE WHEN _request.fusion <> 'rrf' AND _candidates IS NOT NULL
                THEN round(rag._fusion_alpha(_request, _candidates,
                    rag._cosine_similarities(_request, _candidates))::numeric, 4) END),
        'hits', coalesce((
            SELECT jsonb_agg(jsonb_build_object(
                'rank', _request.result_offset + h.ordinality, 'chunk_id', h.chunk_id, 'uri', d.uri,
                    'heading', c.heading, 'score', h.score,
                'vector', CASE WHEN _vector IS NOT NULL THEN jsonb_build_object(
                    'rank', h.vector_rank, 'distance', nullif(h.vector_distance, 'NaN')) END,
                'keyword', CASE WHEN _keyword IS NOT NULL THEN jsonb_build_object(
                    'rank', h.keyword_rank, 'score', h.keyword_score, 'terms', k.terms) END)
                        ORDER BY h.ordinality)
            FROM unnest(_hits) WITH ORDINALITY AS h
            JOIN rag.chunks AS c ON c.collection_id = _key AND c.chunk_id = h.chunk_id
            JOIN rag.documents AS d ON d.collection_id = _key AND d.document_id = c.document_id
            LEFT JOIN (
                SELECT e.chunk_id, jsonb_agg(jsonb_build_object(
                    'term', e.term, 'tf', e.tf, 'contribution', round(e.contribution::numeric, 4)))
                        AS terms
                FROM rag._explain_keyword(
                    explain_search.collection, coalesce(_request.query_text, ''),
                    chunk_ids => ARRAY(SELECT x.chunk_id FROM unnest(_hits) AS x),
                    typo_tolerance => _request.typo_tolerance) AS e
                GROUP BY e.chunk_id
            ) AS k ON k.chunk_id = h.chunk_id), '[]'));
END
$$;

COMMENT ON FUNCTION rag.explain_search IS
$$How a result came about.

How rag.search with the same arguments comes to its result, as one JSON object (read it with
jsonb_pretty).

options: the other arguments of rag.search by their names, e.g. '{"fusion": "rrf",
"per_document": 1}'.
notes: which leg was skipped, and why; what was searched for instead of mistyped words. filter: the
compiled condition, whether an index serves it, about which share of the chunks passes, and fields
to declare with rag.index_field. vector: the plan. keyword: the lexemes with df and idf, and those
that stand for a mistyped word with their weight. fusion: the vector leg's share. hits: each with
both legs' ranks and values and each lexeme's contribution.
Circle: application, Search.
SELECT jsonb_pretty(rag.explain_search('docs', 'fish'))$$;


CREATE OR REPLACE FUNCTION rag.why_not(
    collection text,
    chunk_id bigint,
    query_text text DEFAULT NULL,
    query_embedding {vector}.halfvec DEFAULT NULL,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    options jsonb DEFAULT '{}')
RETURNS TABLE (check_name text, passed boolean, detail text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _request rag.search_arguments;
    _key integer;
    _space rag.spaces;
    _chunk record;
    _passes boolean;
    _distance double precision;
    _score double precision;
    _rank bigint;
    _matched text;
    _candidate rag.candidate;
    _hits rag.candidate[];
    _hit_rank integer;
    _seen bigint[];
BEGIN
    PERFORM rag._clear_notes();
    PERFORM rag._check_search_options(options);
    IF options ? 'result_offset' THEN
        RAISE EXCEPTION 'why_not looks at the first page' USING ERRCODE = 'RG004',
        HINT = 'leave out result_offset; raise result_limit';
    END IF;
    _request := rag._check_search_arguments(
        why_not.collection, why_not.query_text, why_not.query_embedding, why_not.result_limit,
        why_not.metadata_filter, why_not.options);
    _key := _request.collection_id;
    _space := rag._require_active_space(_key);
    IF _request.query_embedding IS NOT NULL THEN
        PERFORM rag._check_dimensions(_space, _request.query_embedding);
    END IF;
    _seen := rag._scoped_chunks(_key, ARRAY[why_not.chunk_id]);
    SELECT d.uri, c.content_hash, c.document_id INTO _chunk
    FROM rag.chunks AS c
    JOIN rag.documents AS d ON d.collection_id = _key AND d.document_id = c.document_id
    WHERE c.collection_id = _key AND c.chunk_id = _seen[1];
    IF _chunk.uri IS NULL THEN
        RETURN QUERY SELECT 'stored', false, format('collection %L has no chunk %s',
            why_not.collection, why_not.chunk_id);
        RETURN;
    END IF;
    RETURN QUERY SELECT 'stored', true, format('it belongs to document %L', _chunk.uri);

    _passes := _request.filter_sql IS NULL
               OR rag._filter_chunks(_key, ARRAY[why_not.chunk_id],
                   _request.filter_sql) IS NOT NULL;
    RETURN QUERY SELECT 'filter', _passes, CASE
        WHEN _request.filter_sql IS NULL THEN 'there is none'
        WHEN _passes THEN 'its metadata passes'
        ELSE format('its metadata does not pass %s', _request.metadata_filter) END;

    IF _request.query_embedding IS NOT NULL THEN
        SELECT v.distance INTO _distance
        FROM rag._exact_search(_key, _space, _request.query_embedding, 1, ARRAY[why_not.chunk_id],
            NULL) AS v;
        IF _distance IS NOT NULL AND _passes THEN
            EXECUTE format(
                'SELECT 1 + count(*) FROM rag.embeddings AS e'
                ' JOIN rag.chunks AS c ON c.collection_id = $3 AND c.chunk_id = e.chunk_id'
                ' WHERE e.space_id = $1 AND (%s, e.chunk_id) < ($4, $5) AND (%s)',
                rag._distance_expression(_space), coalesce(_request.filter_sql, 'true'))
            INTO _rank USING _space.space_id, _request.query_embedding, _key, _distance,
                why_not.chunk_id;
        END IF;
        RETURN QUERY SELECT 'vector', coalesce(_rank <= _request.candidate_limit, false), CASE
            WHEN _distance IS NULL
                THEN 'it has no vector yet: its embedding is queued, or failed (rag.list_jobs)'
            WHEN _rank IS NULL THEN format('distance %s',
                round(nullif(_distance, 'NaN')::numeric, 4))
            ELSE format('%s, exact rank %s; %s candidates are taken', CASE WHEN _distance = 'NaN'
                            THEN 'no distance, for a vector of length 0 has no cosine'
                            ELSE format('distance %s', round(_distance::numeric, 4)) END, _rank,
                        _request.candidate_limit) END;
    END IF;

    IF _request.query_text IS NOT NULL THEN
        SELECT s.score INTO _score
            FROM rag._score_chunks(rag._prepare_keyword(_key, _request.query_text,
                _request.typo_tolerance), ARRAY[why_not.chunk_id]) AS s;
        SELECT string_agg(quote_literal(e.term), ', ') INTO _matched
        FROM rag._explain_keyword(why_not.collection, _request.query_text,
            chunk_ids => ARRAY[why_not.chunk_id],
            typo_tolerance => _request.typo_tolerance) AS e;
        _rank := NULL;
        IF _score IS NOT NULL AND _passes THEN
            SELECT r.rank INTO _rank
            FROM rag._rank_keyword(
                _key, _request.query_text, _request.candidate_limit, _request.filter_sql, 'any',
                _request.filter_indexed, _request.typo_tolerance)
                WITH ORDINALITY AS r (chunk_id, score, rank)
            WHERE r.chunk_id = why_not.chunk_id;
        END IF;
        RETURN QUERY SELECT 'keyword', _rank IS NOT NULL, CASE
            WHEN _score IS NULL THEN 'it contains none of the query''s lexemes: '
                || coalesce((SELECT string_agg(quote_literal(t.word), ', ' ORDER BY t.word)
                    FROM rag._query_terms(_key, _request.query_text) AS t), 'there are none')
            ELSE format('score %s from %s; %s', round(_score::numeric, 4), _matched,
                        CASE WHEN _rank IS NULL
                            THEN format('not among the %s candidates', _request.candidate_limit)
                             ELSE format('rank %s', _rank) END) END;
    END IF;

    SELECT array_agg(h) INTO _hits FROM rag._rank_hybrid(_request) AS h;
    SELECT h.ordinality INTO _hit_rank
    FROM unnest(_hits) WITH ORDINALITY AS h
    WHERE h.chunk_id = why_not.chunk_id;
    SELECT r.* INTO _candidate
    FROM (SELECT array_agg(g) AS all_of
        FROM rag._collect_candidates(_request, rag._request_words(_request),
            _request.candidate_limit) AS g) AS a,
    LATERAL rag._fuse(_request, a.all_of) AS r
    WHERE r.chunk_id = why_not.chunk_id;
    RETURN QUERY SELECT 'result', _hit_rank IS NOT NULL, CASE
        WHEN _hit_rank IS NOT NULL THEN format('it is hit %s', _hit_rank)
        WHEN _candidate.chunk_id IS NULL THEN 'neither leg takes it as a candidate'
        WHEN cardinality(_hits) < _request.result_limit
            OR _candidate.score > (_hits[cardinality(_hits)]).score THEN
            format('fused score %s; taken out as a duplicate, by per_document, boosts or diversity',
                   round(_candidate.score::numeric, 4))
        ELSE format('fused score %s, the last hit has %s', round(_candidate.score::numeric, 4),
                    round((_hits[cardinality(_hits)]).score::numeric, 4)) END;
END
$$;

COMMENT ON FUNCTION rag.why_not IS
$$Why a chunk is not found.

Why rag.search with the same arguments does not return a chunk (or that it does): a row for each
step, in order: stored, filter, vector, keyword, result. The vector rank is exact: every vector is
compared.
options: as of rag.explain_search, but for result_offset.
Circle: application, Search.
SELECT * FROM rag.why_not('docs', 1, 'fish')$$;
