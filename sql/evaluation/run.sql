-- Runs: a set that was asked of a collection, what was found, judged as it is recorded.

CREATE OR REPLACE FUNCTION rag._require_eval_run(wanted bigint)
RETURNS rag.eval_runs
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.eval_runs;
BEGIN
    SELECT r.* INTO _found FROM rag.eval_runs AS r WHERE r.run_id = wanted;
    IF _found.run_id IS NULL THEN
        RAISE EXCEPTION 'there is no evaluation run %', coalesce(wanted::text, 'NULL')
        USING ERRCODE = 'RG002', HINT = 'rag.list_eval_runs() names those that there are';
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._require_eval_run IS
$$The run of that number, or error RG002.$$;


CREATE OR REPLACE FUNCTION rag.start_eval_run(
    set_name text,
    collection text,
    kind text DEFAULT 'search',
    settings jsonb DEFAULT '{}',
    run_name text DEFAULT '')
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _set integer := (rag._require_eval_set(set_name)).set_id;
    _collection rag.collections := rag._require_collection(start_eval_run.collection);
    _space rag.spaces := rag._active_space(_collection.collection_id);
    _id bigint;
BEGIN
    IF start_eval_run.kind IS NULL OR start_eval_run.kind NOT IN ('search', 'ask')
        OR jsonb_typeof(start_eval_run.settings) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'a run is of kind % with settings of type %',
            coalesce(quote_literal(left(start_eval_run.kind, 100)), 'NULL'),
            coalesce(jsonb_typeof(start_eval_run.settings), 'null')
        USING ERRCODE = 'RG001', HINT = 'use search or ask, and a JSON object';
    END IF;
    INSERT INTO rag.eval_runs AS r (set_id, collection, name, kind, settings, corpus_fingerprint,
        set_fingerprint, model, model_fingerprint, code_version, chunking, collection_version)
    VALUES (_set, start_eval_run.collection, coalesce(run_name, ''), start_eval_run.kind,
        start_eval_run.settings, rag._corpus_fingerprint(start_eval_run.collection),
        rag._set_fingerprint(_set), _space.model, _space.fingerprint, rag.version(),
        _collection.chunking, rag.collection_version(start_eval_run.collection))
    RETURNING r.run_id INTO _id;
    RETURN _id;
END
$$;

COMMENT ON FUNCTION rag.start_eval_run IS
$$Begin a run of a set on a collection; return its number. What it finds is recorded by
rag.put_eval_results, and rag.finish_eval_run ends it.

kind: search or ask. settings: the options, for people and for comparing. run_name: a label.
Circle: client, Evaluation.
SELECT rag.start_eval_run('faq', 'docs')$$;


CREATE OR REPLACE FUNCTION rag._check_assertions(collection_id integer, query rag.eval_queries,
    result jsonb)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _chunks bigint[] := ARRAY(
        SELECT (h.value ->> 'chunk_id')::bigint FROM jsonb_array_elements(
            coalesce(nullif(result -> 'hits', 'null'), '[]')) AS h);
    _found jsonb := '{}';
    _text text := result ->> 'answer';
    _condition text;
    _passes boolean;
BEGIN
    IF query.expected_terms <> '{}' THEN
        IF _text IS NULL THEN
            EXECUTE 'SELECT string_agg(c.content, chr(10)) FROM rag.chunks AS c '
                'WHERE c.collection_id = $1 AND c.chunk_id = ANY ($2)'
            INTO _text USING _check_assertions.collection_id, _chunks;
        END IF;
        _found := _found || jsonb_build_object('terms', NOT EXISTS (
            SELECT FROM unnest(query.expected_terms) AS t (term)
            WHERE strpos(rag._lower(coalesce(_text, '')), rag._lower(t.term)) = 0));
    END IF;
    IF query.expected_metadata <> '{}' THEN
        SELECT f.condition INTO _condition
        FROM rag._compile_filter(_check_assertions.collection_id, query.expected_metadata) AS f;
        EXECUTE 'SELECT EXISTS (SELECT FROM rag.chunks AS c WHERE c.collection_id = $1 '
            'AND c.chunk_id = ANY ($2) AND (' || coalesce(_condition, 'true') || '))'
        INTO _passes USING _check_assertions.collection_id, _chunks;
        _found := _found || jsonb_build_object('metadata', _passes);
    END IF;
    IF query.min_score IS NOT NULL THEN
        _found := _found || jsonb_build_object('min_score', coalesce(
            (SELECT max((h.value ->> 'score')::double precision) >= query.min_score
             FROM jsonb_array_elements(coalesce(nullif(result -> 'hits', 'null'), '[]')) AS h),
            false));
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._check_assertions IS
$$The expectations of a question with whether a result meets them: terms (all stand in the answer,
or without one in the hits), metadata (of a hit passes the filter), min_score (the best hit reaches
it).$$;


CREATE OR REPLACE FUNCTION rag.put_eval_results(run_id bigint, results jsonb)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _run rag.eval_runs := rag._require_eval_run(put_eval_results.run_id);
    _collection integer := (rag._require_collection(_run.collection)).collection_id;
    _impossible text;
    _unknown text;
    _rows rag.eval_results[];
    _count integer;
BEGIN
    IF jsonb_typeof(results) IS DISTINCT FROM 'array'
        OR jsonb_path_exists(results, 'strict $[*] ? (@.type() != "object")')
        OR jsonb_path_exists(results, 'lax $[*].hits ? (@.type() != "object" '
            '|| exists(@.chunk_id) && @.chunk_id.type() != "number" '
            '|| !exists(@.chunk_id) && (!exists(@.uri) || @.uri.type() != "string"))') THEN
        RAISE EXCEPTION 'the results are no JSON array of objects' USING ERRCODE = 'RG001',
        HINT = 'pass [{"query_id": "...", "hits": [{"chunk_id": 1, "score": 0.5}, ...]}, ...]';
    END IF;
    SELECT min(r.value ->> 'query_id') INTO _impossible
    FROM jsonb_array_elements(results) AS r
    WHERE r.value @? 'lax $ ? (@.seconds < 0 || @.cost < 0 || @.prompt_tokens < 0
        || @.answer_tokens < 0 || @.supported_statements < 0 || @.supporting_citations < 0
        || @.supported_statements > @.statements || @.supporting_citations > @.citations
        || @.seconds.type() == "string" || @.cost.type() == "string"
        || @.confidence.type() == "string")';
    IF _impossible IS NOT NULL THEN
        RAISE EXCEPTION 'the result of question % has a number that cannot be',
            quote_literal(left(_impossible, 200))
        USING ERRCODE = 'RG001', HINT = 'numbers are no strings; seconds, cost and counts are 0 or '
            'more, and of statements and citations no more are supported than there are';
    END IF;
    SELECT jsonb_agg(r.value ORDER BY r.n) INTO results
    FROM (
        SELECT DISTINCT ON (e.value ->> 'query_id') e.value, e.n
        FROM jsonb_array_elements(results) WITH ORDINALITY AS e (value, n)
        ORDER BY e.value ->> 'query_id', e.n DESC
    ) AS r;
    SELECT min(coalesce(r.value ->> 'query_id', 'null')) INTO _unknown
    FROM jsonb_array_elements(results) AS r
    WHERE NOT EXISTS (SELECT FROM rag.eval_queries AS q WHERE q.set_id = _run.set_id
        AND q.query_id = r.value ->> 'query_id');
    IF _unknown IS NOT NULL THEN
        RAISE EXCEPTION 'the set of run % has no question %', put_eval_results.run_id,
            quote_literal(left(_unknown, 200))
        USING ERRCODE = 'RG002', HINT = 'rag.list_eval_queries names those that there are';
    END IF;
    PERFORM rag._require_rows('rag.put_eval_results');
    -- what an erasure under way removes is seen as gone
    PERFORM rag._await_erasures(_collection);
    _rows := ARRAY(SELECT ROW(
           _run.run_id, q.query_id, q.category, q.unanswerable, j.described_hits, j.grades,
           j.judgement_grades, j.judgement_ranks, j.unresolved, x.confidence, x.answered,
           CASE WHEN jsonb_array_length(j.described_hits) = jsonb_array_length(
               coalesce(nullif(r.value -> 'hits', 'null'), '[]')) THEN x.answer END,
           CASE WHEN (x.answer IS NOT NULL OR f.failed) AND q.answers <> '{}'
               THEN NOT f.failed AND x.answered IS NOT FALSE
                   AND rag._contains_answer(x.answer, q.answers) END,
           CASE WHEN (x.answered IS FALSE OR f.failed) AND q.answers <> '{}' THEN 0
                WHEN x.answer IS NOT NULL THEN rag._best_token_f1(x.answer, q.answers) END,
           x.statements, x.supported_statements, x.citations, x.supporting_citations,
           rag._check_assertions(_collection, ROW(q.*)::rag.eval_queries, r.value), x.seconds,
           x.prompt_tokens, x.answer_tokens, x.cost, left(x.error, 1000))::rag.eval_results
    FROM jsonb_array_elements(results) AS r
    CROSS JOIN LATERAL jsonb_to_record(r.value) AS x (query_id text, confidence double precision,
        answered boolean, answer text, statements integer, supported_statements integer,
        citations integer, supporting_citations integer, seconds double precision,
        prompt_tokens bigint, answer_tokens bigint, cost double precision, error text)
    CROSS JOIN LATERAL (SELECT _run.kind = 'ask' AND x.error IS NOT NULL AS failed) AS f
    JOIN rag.eval_queries AS q ON q.set_id = _run.set_id AND q.query_id = x.query_id
    JOIN rag._judge_hits(_collection, _run.set_id,
        ARRAY(SELECT g.value ->> 'query_id' FROM jsonb_array_elements(results) AS g),
        ARRAY(SELECT coalesce(nullif(g.value -> 'hits', 'null'), '[]')
              FROM jsonb_array_elements(results) AS g)) AS j ON j.query_id = q.query_id);
    INSERT INTO rag.eval_results AS e SELECT n.* FROM unnest(_rows) AS n
    ON CONFLICT (run_id, query_id) DO UPDATE
    SET category = excluded.category, unanswerable = excluded.unanswerable, hits = excluded.hits,
        grades = excluded.grades, judgement_grades = excluded.judgement_grades,
        judgement_ranks = excluded.judgement_ranks, unresolved = excluded.unresolved,
        confidence = excluded.confidence, answered = excluded.answered, answer = excluded.answer,
        answer_contained = excluded.answer_contained, answer_f1 = excluded.answer_f1,
        statements = excluded.statements, supported_statements = excluded.supported_statements,
        citations = excluded.citations, supporting_citations = excluded.supporting_citations,
        assertions = excluded.assertions, seconds = excluded.seconds,
        prompt_tokens = excluded.prompt_tokens, answer_tokens = excluded.answer_tokens,
        cost = excluded.cost, error = excluded.error;
    GET DIAGNOSTICS _count = ROW_COUNT;
    RETURN _count;
END
$$;

COMMENT ON FUNCTION rag.put_eval_results IS
$$Record what a run found, judged by the documents as they are now; return how many questions. A
question that was recorded before is replaced; of one that stands here twice the last counts. An
answer from a chunk that is gone meanwhile is measured, and its text not kept. In a run of answers a
question with an error has a wrong one.

results: [{"query_id": text, "hits": [{"chunk_id": n, "score": n}, … best first, or {"uri": text,
"score": n} of a ranking of documents], "confidence":
number (larger is surer), "answered": boolean, "answer": text, "statements", "supported_statements",
"citations", "supporting_citations": counts, "seconds": number, "prompt_tokens", "answer_tokens":
counts, "cost": US dollars, "error": text}, …]; only query_id is needed.
Circle: client, Evaluation.
SELECT rag.put_eval_results(1, '[{"query_id": "q1"}]')$$;


CREATE OR REPLACE FUNCTION rag._missing_queries(of_run rag.eval_runs)
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(
        SELECT q.query_id FROM rag.eval_queries AS q
        WHERE q.set_id = of_run.set_id AND NOT rag._is_beyond(of_run, q.query_id)
            AND NOT EXISTS (
                SELECT FROM rag.eval_results AS e
                WHERE e.run_id = of_run.run_id AND e.query_id = q.query_id)
        ORDER BY q.query_id COLLATE "C");
END
$$;

COMMENT ON FUNCTION rag._missing_queries IS
$$The questions of a run's set, as it is now, that the run has no result of, though it could have
one (rag._is_beyond).$$;


CREATE OR REPLACE FUNCTION rag._require_finished(of_run rag.eval_runs)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF of_run.finished_at IS NULL THEN
        RAISE EXCEPTION 'run % is not finished', of_run.run_id USING ERRCODE = 'RG007',
        HINT = 'wait for it, or run the set again';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._require_finished IS
$$Error RG007 for a run that goes on, or was interrupted.$$;


CREATE OR REPLACE FUNCTION rag._require_whole_run(of_run rag.eval_runs, without_errors boolean)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    named_questions CONSTANT integer := 5;
    _missing text[] := rag._missing_queries(of_run);
    _first_error text;
    _what text := 'has no result of';
    _all bigint := (SELECT count(*) FROM rag.eval_queries AS q WHERE q.set_id = of_run.set_id);
BEGIN
    PERFORM rag._require_finished(of_run);
    IF of_run.set_fingerprint <> rag._set_fingerprint(of_run.set_id) THEN
        _missing := '{}';  -- the set had other questions then
    END IF;
    IF _missing = '{}' AND without_errors THEN
        _what := 'failed on';
        _missing := ARRAY(
            SELECT e.query_id FROM rag.eval_results AS e
            WHERE e.run_id = of_run.run_id AND e.error IS NOT NULL
            ORDER BY e.query_id COLLATE "C");
        _first_error := (
            SELECT e.error FROM rag.eval_results AS e
            WHERE e.run_id = of_run.run_id AND e.query_id = _missing[1]);
    END IF;
    IF _missing <> '{}' THEN
        RAISE EXCEPTION 'run % % % of % questions: %', of_run.run_id, _what, cardinality(_missing),
            _all, array_to_string(_missing[:named_questions], ', ')
            || CASE WHEN cardinality(_missing) > named_questions THEN ', ...' ELSE '' END
            || coalesce(': ' || _first_error, '')
        USING ERRCODE = 'RG007', HINT = 'run the set again; a question that can never be asked is '
            'taken out by rag.delete_eval_queries';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._require_whole_run IS
$$Error RG007 for a run that goes on, or that names the questions of which it has no result, and
with without_errors those that it failed on, with the first error. Where the set was changed since,
nothing is known of the first.$$;


CREATE OR REPLACE FUNCTION rag.finish_eval_run(run_id bigint, notes text[] DEFAULT '{}')
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _run rag.eval_runs := rag._require_eval_run(finish_eval_run.run_id);
    _missing integer := cardinality(rag._missing_queries(_run));
    _notes CONSTANT text[] := coalesce(finish_eval_run.notes, '{}')
        || CASE WHEN _missing > 0
           THEN ARRAY[format('%s questions of the set were not asked', _missing)] ELSE '{}' END;
    _now CONSTANT timestamptz := clock_timestamp();
BEGIN
    UPDATE rag.eval_runs AS r
    SET finished_at = _now, notes = _notes
    WHERE r.run_id = _run.run_id;
END
$$;

COMMENT ON FUNCTION rag.finish_eval_run IS
$$End a run. notes: what was degraded; how many questions of the set have no result is added.
Circle: client, Evaluation.
SELECT rag.finish_eval_run(1)$$;


CREATE OR REPLACE FUNCTION rag.set_eval_baseline(run_id bigint, baseline boolean DEFAULT true)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _run rag.eval_runs := rag._require_eval_run(set_eval_baseline.run_id);
BEGIN
    IF set_eval_baseline.baseline THEN
        PERFORM rag._require_whole_run(_run, true);
    END IF;
    UPDATE rag.eval_runs AS r SET baseline = false
    WHERE r.set_id = _run.set_id AND r.collection = _run.collection AND r.kind = _run.kind
        AND r.baseline;
    UPDATE rag.eval_runs AS r SET baseline = set_eval_baseline.baseline
    WHERE r.run_id = _run.run_id AND set_eval_baseline.baseline;
END
$$;

COMMENT ON FUNCTION rag.set_eval_baseline IS
$$Make a run the one to compare with.
Others of its set, collection and kind are, in place of the one before; with false there is none.
Error RG007 names the questions of the set that the run has no result of, or failed on.
Circle: application, Evaluation.
SELECT rag.set_eval_baseline(1)$$;


CREATE OR REPLACE FUNCTION rag.drop_eval_run(run_id bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _run rag.eval_runs := rag._require_eval_run(drop_eval_run.run_id);
BEGIN
    DELETE FROM rag.eval_scores AS s WHERE s.run_id = _run.run_id;
    DELETE FROM rag.eval_results AS e WHERE e.run_id = _run.run_id;
    DELETE FROM rag.eval_runs AS r WHERE r.run_id = _run.run_id;
END
$$;

COMMENT ON FUNCTION rag.drop_eval_run IS
$$Remove a run with what it found.
Circle: application, Evaluation.
SELECT rag.drop_eval_run(1)$$;


CREATE OR REPLACE FUNCTION rag.list_eval_runs(set_name text DEFAULT NULL,
    result_limit integer DEFAULT 100, wanted_run bigint DEFAULT NULL)
RETURNS TABLE (run_id bigint, eval_set text, collection text, name text, kind text,
    settings jsonb, corpus_fingerprint text, set_fingerprint text, model text,
    model_fingerprint text, code_version text, baseline boolean, notes text[],
    started_at timestamptz, finished_at timestamptz, queries bigint, errors bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _set integer;
BEGIN
    IF set_name IS NOT NULL THEN
        _set := (rag._require_eval_set(set_name)).set_id;
    END IF;
    PERFORM rag._check_range('limit', result_limit, 1, NULL);
    RETURN QUERY
    SELECT r.run_id, s.name, r.collection, r.name, r.kind, r.settings, r.corpus_fingerprint,
           r.set_fingerprint, r.model, r.model_fingerprint, r.code_version, r.baseline, r.notes,
           r.started_at, r.finished_at, e.queries, e.errors
    FROM (
        SELECT x.* FROM rag.eval_runs AS x
        WHERE (_set IS NULL OR x.set_id = _set) AND (wanted_run IS NULL OR x.run_id = wanted_run)
        ORDER BY x.run_id DESC LIMIT result_limit
    ) AS r
    JOIN rag.eval_sets AS s ON s.set_id = r.set_id,
    LATERAL (
        SELECT count(*) AS queries, count(y.error) AS errors
        FROM rag.eval_results AS y WHERE y.run_id = r.run_id
    ) AS e
    ORDER BY r.run_id DESC;
END
$$;

COMMENT ON FUNCTION rag.list_eval_runs IS
$$The latest runs, of one set or of all, or one of them by its number: settings, fingerprints, and
how many questions are recorded. finished_at is NULL while a run goes on, and when it was
interrupted.
Circle: application, Evaluation.
SELECT * FROM rag.list_eval_runs('faq')$$;


CREATE OR REPLACE FUNCTION rag._ranked_documents(of_run bigint)
RETURNS TABLE (query_id text, uri text, rank integer)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _run rag.eval_runs := rag._require_eval_run(of_run);
BEGIN
    RETURN QUERY
    SELECT f.query_id, f.uri, (row_number() OVER (PARTITION BY f.query_id ORDER BY f.n))::integer
    FROM (
        SELECT e.query_id, h.value ->> 'uri' AS uri, min(h.n) AS n
        FROM rag.eval_results AS e,
            LATERAL jsonb_array_elements(e.hits) WITH ORDINALITY AS h (value, n)
        WHERE e.run_id = _run.run_id
        GROUP BY e.query_id, h.value ->> 'uri'
    ) AS f
    ORDER BY f.query_id COLLATE "C", 3;
END
$$;

COMMENT ON FUNCTION rag._ranked_documents IS
$$The documents that a run found for each question, where their first chunks stand.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._sample_chunks(of_collection text, sample_size integer,
    shortest integer, seed bigint)
RETURNS TABLE (chunk_id bigint, uri text, title text, heading text, content text,
    start_offset integer, stop_offset integer)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _id integer := (rag._require_collection(of_collection)).collection_id;
BEGIN
    RETURN QUERY
    SELECT c.chunk_id, d.uri, d.title, c.heading, c.content, c.start_offset, c.stop_offset
    FROM (
        SELECT x.* FROM rag.chunks AS x
        WHERE x.collection_id = _id AND length(x.content) >= shortest
        ORDER BY hashint8extended(x.chunk_id, seed), x.chunk_id
        LIMIT sample_size
    ) AS c
    JOIN rag.documents AS d ON d.collection_id = _id AND d.document_id = c.document_id
    ORDER BY c.chunk_id;
END
$$;

COMMENT ON FUNCTION rag._sample_chunks IS
$$A seeded sample of the chunks of at least so many characters.
Circle: client.$$;
