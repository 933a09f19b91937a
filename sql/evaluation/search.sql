-- A set is run by SQL alone: searches by keywords, and by vectors of questions that were stored.

CREATE OR REPLACE FUNCTION rag.put_eval_embeddings(set_name text, fingerprint text,
    query_ids text[], embeddings {vector}.halfvec[])
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _set integer := (rag._require_eval_set(set_name)).set_id;
    _count integer;
BEGIN
    IF coalesce(length(put_eval_embeddings.fingerprint), 1000) > 500
        OR cardinality(query_ids) IS DISTINCT FROM
        cardinality(embeddings) OR array_ndims(query_ids) > 1 OR array_ndims(embeddings) > 1 THEN
        RAISE EXCEPTION '% ids with % embeddings of fingerprint %', cardinality(query_ids),
            cardinality(embeddings), coalesce(left(put_eval_embeddings.fingerprint, 500), 'NULL')
        USING ERRCODE = 'RG001',
            HINT = 'pass a fingerprint of at most 500 characters and two arrays in parallel';
    END IF;
    INSERT INTO rag.eval_embeddings AS e (set_id, query_id, fingerprint, question_hash, embedding)
    SELECT DISTINCT ON (q.query_id) _set, q.query_id, put_eval_embeddings.fingerprint,
        rag.content_hash(q.question), g.embedding
    FROM unnest(query_ids, embeddings) WITH ORDINALITY AS g (query_id, embedding, n)
    JOIN rag.eval_queries AS q ON q.set_id = _set AND q.query_id = g.query_id
    WHERE g.embedding IS NOT NULL
    ORDER BY q.query_id, g.n DESC
    ON CONFLICT (set_id, query_id, fingerprint) DO UPDATE
    SET question_hash = excluded.question_hash, embedding = excluded.embedding;
    GET DIAGNOSTICS _count = ROW_COUNT;
    RETURN _count;
END
$$;

COMMENT ON FUNCTION rag.put_eval_embeddings IS
$$Keep vectors of the questions.
Then rag.evaluate_search needs no model. Returns how many.

fingerprint: of the embedder, as rag.space_settings shows it. Ids that the set has not are left
out.
Circle: client, Evaluation.
SELECT rag.put_eval_embeddings('faq', 'f/1', '{q1}', '{"[1,0,0]"}')$$;


CREATE OR REPLACE FUNCTION rag.evaluate_search(
    set_name text,
    collection text,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    options jsonb DEFAULT '{}',
    run_name text DEFAULT '')
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    batch CONSTANT integer := 200;
    in_a_row CONSTANT integer := 5;
    _failed integer := 0;
    _set integer := (rag._require_eval_set(set_name)).set_id;
    _key integer := (rag._require_collection(evaluate_search.collection)).collection_id;
    _space rag.spaces := rag._active_space(_key);
    _vectors boolean;
    _run bigint;
    _query record;
    _started timestamptz;
    _hits jsonb;
    _confidence double precision;
    _error text;
    _results jsonb := '[]';
    _without integer := 0;
    _notes text[] := '{}';
BEGIN
    PERFORM rag._require_writable('rag.evaluate_search', 'keeps what it measures');
    PERFORM rag._check_search_options(evaluate_search.options);
    _vectors := (evaluate_search.options ->> 'vector_weight')::double precision
        IS DISTINCT FROM 0;
    _run := rag.start_eval_run(set_name, evaluate_search.collection, 'search',
        evaluate_search.options || jsonb_build_object('limit', result_limit)
            || CASE WHEN metadata_filter <> '{}' THEN jsonb_build_object('filter', metadata_filter)
               ELSE '{}' END, run_name);
    FOR _query IN
        SELECT q.query_id, q.question, e.embedding,
               row_number() OVER (ORDER BY q.query_id COLLATE "C") AS n, count(*) OVER () AS m
        FROM rag.eval_queries AS q
        LEFT JOIN rag.eval_embeddings AS e ON _vectors AND e.set_id = _set
            AND e.query_id = q.query_id AND e.fingerprint = _space.fingerprint
            AND e.question_hash = rag.content_hash(q.question)
        WHERE q.set_id = _set
        ORDER BY n
    LOOP
        _without := _without + (_vectors AND _query.embedding IS NULL)::integer;
        _started := clock_timestamp();
        _error := NULL;
        BEGIN
            SELECT coalesce(jsonb_agg(jsonb_build_object('chunk_id', h.chunk_id, 'score', h.score)
                       ORDER BY h.ordinality), '[]'),
                   max(1 - h.vector_distance) FILTER (WHERE _space.distance = 'cosine')
            INTO _hits, _confidence
            FROM rag._search_hits(rag._check_search_arguments(
                evaluate_search.collection, _query.question, _query.embedding,
                evaluate_search.result_limit, evaluate_search.metadata_filter,
                evaluate_search.options)) WITH ORDINALITY AS h;
        EXCEPTION WHEN SQLSTATE 'RG004' OR data_exception THEN
            -- What holds for all questions, as a limit out of range, is wrong with the call.
            _failed := _failed + 1;
            IF _failed = _query.n AND _failed = least(in_a_row, _query.m) THEN
                RAISE;
            END IF;
            _hits := '[]';
            _confidence := NULL;
            _error := SQLERRM;
        END;
        _results := _results || jsonb_strip_nulls(jsonb_build_object(
            'query_id', _query.query_id, 'hits', _hits, 'confidence', _confidence,
            'error', _error,
            'seconds', extract(epoch FROM clock_timestamp() - _started)::double precision));
        IF _query.n % batch = 0 OR _query.n = _query.m THEN
            PERFORM rag.put_eval_results(_run, _results);
            _results := '[]';
        END IF;
    END LOOP;
    IF _without > 0 THEN
        _notes := ARRAY[format('%s questions have no stored vector of this model: keywords alone '
            'were searched for them', _without)];
        RAISE NOTICE '%', _notes[1] USING HINT = 'store them with rag.put_eval_embeddings or rag-pg'
            ' eval run, or set vector_weight to 0';
    END IF;
    PERFORM rag.finish_eval_run(_run, _notes);
    RETURN _run;
END
$$;

COMMENT ON FUNCTION rag.evaluate_search IS
$$Run a set on a collection by rag.search, in this transaction; return the run's number, for
rag.eval_metrics and rag.compare_runs.

options: other arguments of rag.search, e.g. {"fusion": "rrf"}. Questions are searched for by the
vectors that rag.put_eval_embeddings stored for the active space's model; a notice, and the run's
notes, say how many had none.
Circle: application, Evaluation.
SELECT rag.evaluate_search('faq', 'docs')$$;
