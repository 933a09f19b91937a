-- Whether a run is worse than another by more than is allowed, and gates that refuse what is.

CREATE OR REPLACE FUNCTION rag.test_regression(
    baseline_run bigint,
    candidate_run bigint,
    metric text DEFAULT 'ndcg',
    epsilon double precision DEFAULT 0,
    k integer DEFAULT 10,
    significance double precision DEFAULT 0.05)
RETURNS TABLE (category text, queries bigint, value_a double precision, value_b double precision,
    difference double precision, p_value double precision, passed boolean,
    detectable double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    permutations CONSTANT integer := 10000;
BEGIN
    PERFORM rag._check_range('epsilon', epsilon, 0, 1),
        rag._check_range('significance', significance, 0.001, 0.5);
    RETURN QUERY
    WITH grouped AS MATERIALIZED (
        SELECT CASE WHEN grouping(p.category) = 0 THEN p.category END AS category,
               count(*) AS queries, avg(p.value_a) AS of_a, avg(p.value_b) AS of_b,
               stddev_samp(p.difference) / sqrt(count(*)) AS error,
               array_agg(p.difference + epsilon ORDER BY p.query_id COLLATE "C") AS shifted
        FROM rag.compare_queries(baseline_run, candidate_run, test_regression.metric,
            test_regression.k) AS p
        WHERE p.missing_a IS NULL  -- what the baseline has not shows neither loss nor gain
        GROUP BY GROUPING SETS ((), (p.category))
        HAVING count(*) > 0 AND (grouping(p.category) = 1 OR p.category <> '')
    ), tested AS MATERIALIZED (
        SELECT g.*, CASE WHEN g.of_b - g.of_a + epsilon < 0
                   THEN rag._randomisation_p(rag._subset_means(g.shifted, permutations, 0)) / 2
                   ELSE 1 END AS p,
               row_number() OVER (ORDER BY g.category COLLATE "C" NULLS FIRST) AS n,
               count(g.category) OVER () AS categories
        FROM grouped AS g
    ), adjusted AS MATERIALIZED (
        -- One half of the significance is that of all questions, the other that of the categories.
        SELECT t.*, CASE WHEN t.categories = 0 THEN 1 WHEN t.category IS NULL THEN 2
                   ELSE 2 * t.categories END AS tests,
               CASE WHEN t.categories = 0 THEN t.p
                    WHEN t.category IS NULL THEN least(1, 2 * t.p)
                    ELSE least(1, 2 * h.p[t.n - 1]) END AS adjusted
        FROM tested AS t,
            (SELECT rag._adjust_p_values(array_agg(x.p ORDER BY x.n), 'holm') AS p
             FROM tested AS x WHERE x.category IS NOT NULL) AS h
    )
    SELECT a.category, a.queries, a.of_a, a.of_b, a.of_b - a.of_a, a.adjusted,
           a.adjusted >= significance,
           CASE WHEN a.tests * power(0.5, a.queries) < significance
               -- the normal quantile: Abramowitz, Stegun, 26.2.23, within 0.0005
               THEN nullif((z.t - (2.515517 + 0.802853 * z.t + 0.010328 * z.t ^ 2)
                   / (1 + 1.432788 * z.t + 0.189269 * z.t ^ 2 + 0.001308 * z.t ^ 3) + 0.841621)
                   * a.error, 0) + epsilon END
    FROM adjusted AS a, LATERAL (SELECT sqrt(-2 * ln(significance / a.tests)) AS t) AS z
    ORDER BY a.n;
END
$$;

COMMENT ON FUNCTION rag.test_regression IS
$$Whether a run is worse than another.

Whether a metric of the candidate is shown to be lower than that of the baseline by more than
epsilon: over all questions that the baseline has (category NULL), and in each category. What the
candidate lost, since it failed, was not asked or has not the metric, counts as 0.

p_value: one-sided paired randomisation test, corrected (Holm) for the number of categories, all
questions taking one half of the significance. passed: it is not below significance, so that equal
settings fail in that share of cases at most, in any category. detectable: the loss that so many
questions show with 80 % power; NULL where no loss could be shown, of so few questions, or where the
two are equal. metric: larger is better; a name of rag.query_metrics.
Circle: application, Evaluation.
SELECT * FROM rag.test_regression(1, 2)$$;


CREATE OR REPLACE FUNCTION rag._describe_regression(eval_set text, metric text, k integer,
    epsilon double precision, baseline_run bigint, candidate_run bigint)
RETURNS TABLE (failed boolean, detail jsonb, sentence text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    named_questions CONSTANT integer := 5;
BEGIN
    RETURN QUERY
    SELECT NOT t.passed,
           jsonb_build_object('set', _describe_regression.eval_set,
               'metric', _describe_regression.metric, 'k', _describe_regression.k,
               'epsilon', _describe_regression.epsilon, 'baseline_run', baseline_run,
               'candidate_run', candidate_run, 'category', t.category, 'queries', t.queries,
               'baseline', t.value_a, 'candidate', t.value_b, 'difference', t.difference,
               'p_value', t.p_value, 'detectable', t.detectable, 'passed', t.passed,
               'worst', w.questions),
           format('%s@%s of set %L%s falls by %s on %s questions, from %s to %s (p = %s, epsilon '
               '%s); most on %s',
               _describe_regression.metric, _describe_regression.k, _describe_regression.eval_set,
               CASE WHEN t.category IS NOT NULL THEN format(' in category %L', t.category)
                   ELSE '' END,
               round(-t.difference::numeric, 4), t.queries, round(t.value_a::numeric, 4),
               round(t.value_b::numeric, 4), round(t.p_value::numeric, 4),
               _describe_regression.epsilon, w.line)
    FROM rag.test_regression(baseline_run, candidate_run, _describe_regression.metric,
        _describe_regression.epsilon, _describe_regression.k) AS t,
        LATERAL (
            SELECT jsonb_agg(jsonb_build_object('query_id', q.query_id, 'question', q.question,
                       'difference', q.difference) || CASE WHEN q.missing_b IS NULL THEN '{}'
                       ELSE jsonb_build_object('missing', q.missing_b) END ORDER BY q.n)
                       AS questions,
                   string_agg(format('%s (%s%s)', left(q.query_id, 60),
                       round(q.difference::numeric, 3), ': ' || left(q.missing_b, 60)), ', '
                       ORDER BY q.n) AS line
            FROM (
                SELECT c.query_id, c.question, c.difference, c.missing_b,
                    row_number() OVER (ORDER BY c.difference, c.query_id COLLATE "C") AS n
                FROM rag.compare_queries(baseline_run, candidate_run,
                    _describe_regression.metric, _describe_regression.k) AS c
                WHERE c.difference < 0 AND c.missing_a IS NULL
                    AND (t.category IS NULL OR c.category = t.category)
            ) AS q
            WHERE q.n <= named_questions
        ) AS w;
END
$$;

COMMENT ON FUNCTION rag._describe_regression IS
$$rag.test_regression for a gate: whether it fails, the figures with the questions that lost most,
and a sentence of both.$$;


CREATE OR REPLACE FUNCTION rag._measure_gate(collection_id integer, gate rag.gates,
    other_chunking jsonb DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections;
    _space rag.spaces := rag._require_active_space(_measure_gate.collection_id);
    _set rag.eval_sets;
    _settings jsonb := gate.options || jsonb_build_object('limit', gate.k);
    _run bigint;
    _without bigint;
    _queries bigint;
BEGIN
    SELECT c.* INTO _collection FROM rag.collections AS c WHERE c.collection_id =
        _measure_gate.collection_id;
    SELECT s.* INTO _set FROM rag.eval_sets AS s WHERE s.set_id = gate.set_id;
    SELECT max(r.run_id) INTO _run
    FROM rag._equal_runs(_set.name, _collection.name, other_chunking IS NOT NULL) AS r
    WHERE r.kind = 'search' AND r.model_fingerprint = _space.fingerprint
        AND r.chunking = coalesce(other_chunking, _collection.chunking)
        AND r.settings - CASE WHEN other_chunking IS NULL THEN '' ELSE 'chunking' END = _settings;
    IF other_chunking IS NOT NULL THEN
        IF _run IS NULL THEN
            RAISE EXCEPTION 'chunking % is not measured on these documents: a gate of collection % '
                'demands %@% on set %', other_chunking, quote_literal(_collection.name),
                gate.metric, gate.k, quote_literal(_set.name)
            USING ERRCODE = 'RG007', HINT = 'run the set by rag.evaluate_search on another '
                'collection of the same documents that is cut so; force => true goes on without '
                'the gate';
        END IF;
        RETURN _run;
    END IF;
    SELECT count(*), count(*) FILTER (WHERE e.query_id IS NULL) INTO _queries, _without
    FROM rag.eval_queries AS q
    LEFT JOIN rag.eval_embeddings AS e ON e.set_id = q.set_id AND e.query_id = q.query_id
        AND e.fingerprint = _space.fingerprint
        AND e.question_hash = rag.content_hash(q.question)
    WHERE q.set_id = gate.set_id;
    IF _queries = 0 THEN
        RAISE EXCEPTION 'set % of a gate has no questions', quote_literal(_set.name)
        USING ERRCODE = 'RG007', HINT = 'put some (rag.put_eval_queries), or rag.drop_gate';
    END IF;
    IF _without > 0 AND (gate.options ->> 'vector_weight')::double precision IS DISTINCT FROM 0
    THEN
        RAISE EXCEPTION '% of % questions of set % have no stored vector of model % (space %)',
            _without, _queries, quote_literal(_set.name), _space.model, _space.space_id
        USING ERRCODE = 'RG007', HINT = format('rag-pg eval run %s %s --keep-vectors --space %s '
            'stores them (rag.put_eval_embeddings); force => true goes on without the gate',
            _set.name, _collection.name, _space.space_id);
    END IF;
    RETURN coalesce(_run, rag.evaluate_search(_set.name, _collection.name, gate.k, '{}',
        gate.options, 'gate'));
END
$$;

COMMENT ON FUNCTION rag._measure_gate IS
$$The run of a gate's set on a collection as it is now: the latest that would find the same again
(rag._equal_runs) of the same model, chunking and settings, else a new one. Error RG007 where
questions have no vector of the active space's model.

other_chunking: the run is of a copy of the same documents that was cut so; error RG007 without
one.$$;


CREATE OR REPLACE FUNCTION rag._measure_gates(collection_id integer,
    other_chunking jsonb DEFAULT NULL)
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _gate rag.gates;
    _runs bigint[] := '{}';
BEGIN
    FOR _gate IN SELECT g.* FROM rag.gates AS g
        WHERE g.collection_id = _measure_gates.collection_id AND NOT rag._is_answer_metric(g.metric)
        ORDER BY g.set_id, g.metric
    LOOP
        _runs := _runs || rag._measure_gate(_measure_gates.collection_id, _gate, other_chunking);
    END LOOP;
    RETURN _runs;
END
$$;

COMMENT ON FUNCTION rag._measure_gates IS
$$rag._measure_gate of every gate of a collection that searches are measured by, by set and
metric.$$;


CREATE OR REPLACE FUNCTION rag._record_gate_check(collection_id integer, change text,
    result text, figures jsonb DEFAULT '[]')
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO rag.gate_checks (collection, action, outcome, details)
    SELECT c.name, change, result, figures
    FROM rag.collections AS c
    WHERE c.collection_id = _record_gate_check.collection_id
        AND EXISTS (SELECT FROM rag.gates AS g WHERE g.collection_id =
            _record_gate_check.collection_id);
END
$$;

COMMENT ON FUNCTION rag._record_gate_check IS
$$Record what the gates of a collection decided on a change; nothing where it has none.$$;


CREATE OR REPLACE FUNCTION rag._record_refused_change(of_collection text, change text,
    checks jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(of_collection)).collection_id;
    _details jsonb;
BEGIN
    IF NOT coalesce(octet_length(change) BETWEEN 1 AND 10000
            AND octet_length(checks::text) <= 100000
            AND jsonb_typeof(checks) = 'array'
            AND NOT jsonb_path_exists(checks, '$[*] ? (@.type() != "object")'), false)
    THEN
        RAISE EXCEPTION 'a refused change of % bytes with checks of % bytes',
            octet_length(change), octet_length(checks::text)
        USING ERRCODE = 'RG001',
            HINT = 'pass the change and the checks that the DETAIL of error RG010 has';
    END IF;
    -- what an erasure under way removes is seen as gone
    PERFORM rag._await_erasures(_id);
    SELECT coalesce(jsonb_agg(CASE WHEN x.is_gone THEN d.value - 'worst' ELSE d.value END
        ORDER BY d.n), '[]')
    INTO _details
    FROM jsonb_array_elements(checks) WITH ORDINALITY AS d (value, n),
        LATERAL (
            SELECT EXISTS (
                SELECT FROM jsonb_path_query(d.value, 'lax $.worst[*].query_id') AS w
                WHERE NOT EXISTS (
                    SELECT FROM rag.eval_sets AS s
                    JOIN rag.eval_queries AS q ON q.set_id = s.set_id
                    WHERE s.name = d.value ->> 'set' AND q.query_id = w #>> '{}')) AS is_gone
        ) AS x;
    PERFORM rag._record_gate_check(_id, change, 'refused', _details);
END
$$;

COMMENT ON FUNCTION rag._record_refused_change IS
$$Record a change that a gate refused, after the database has taken it back: a client's part. The
questions that lost most are left out where one of them was removed meanwhile.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._require_measured(unmeasured text[], tested text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF cardinality(unmeasured) > 0 THEN
        RAISE EXCEPTION '% is not measured: no question has %', tested,
            array_to_string(unmeasured, ', nor ')
        USING ERRCODE = 'RG007', HINT = 'judge what is relevant to the questions '
            '(rag.put_eval_queries), or rag.drop_gate; force => true makes a change without the '
            'gates';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._require_measured IS
$$Error RG007 naming the metrics of gates that no question of both runs has; without any, nothing.
tested: the change or the run that is not measured.$$;


CREATE OR REPLACE FUNCTION rag._enforce_gates(collection_id integer, change text,
    baseline_runs bigint[], candidate_runs bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    shown_failures CONSTANT integer := 3;
    detail_length CONSTANT integer := 10000;  -- with the questions that lost most
    _failures text[];
    _details jsonb;
    _unmeasured text[];
BEGIN
    SELECT array_agg(d.sentence) FILTER (WHERE d.failed), jsonb_agg(d.detail),
        array_agg(format('%s of set %L', g.metric, g.name) ORDER BY g.n)
            FILTER (WHERE d.failed IS NULL)
    INTO _failures, _details, _unmeasured
    FROM (
        SELECT g.*, s.name, row_number() OVER (ORDER BY g.set_id, g.metric) AS n
        FROM rag.gates AS g JOIN rag.eval_sets AS s ON s.set_id = g.set_id
        WHERE g.collection_id = _enforce_gates.collection_id AND NOT rag._is_answer_metric(g.metric)
    ) AS g
    LEFT JOIN LATERAL rag._describe_regression(g.name, g.metric, g.k, g.epsilon,
        baseline_runs[g.n], candidate_runs[g.n]) AS d ON true;
    PERFORM rag._require_measured(_unmeasured, change);
    IF _failures IS NOT NULL THEN
        RAISE EXCEPTION '% is refused: %', change, array_to_string(_failures[:shown_failures], '; ')
            || CASE WHEN cardinality(_failures) > shown_failures
               THEN format('; and %s more', cardinality(_failures) - shown_failures) ELSE '' END
        USING ERRCODE = 'RG010', DETAIL = jsonb_build_object('change', change, 'checks',
                CASE WHEN length(_details::text) <= detail_length THEN _details
                ELSE (SELECT jsonb_agg(d.value - 'worst' ORDER BY d.n)
                      FROM jsonb_array_elements(_details) WITH ORDINALITY AS d (value, n)) END),
            HINT = 'force => true makes the change all the same, and is recorded; rag.set_gate '
            'changes what is demanded';
    END IF;
    IF _details IS NOT NULL THEN
        PERFORM rag._record_gate_check(_enforce_gates.collection_id, change, 'passed', _details);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._enforce_gates IS
$$Error RG010 where a gate of a collection fails, with the figures and the questions that lost most
(DETAIL: {"change": text, "checks": [...]}, of which a client makes a row of rag.gate_checks), and
RG007 where no question has the metric of one; else it is recorded. The runs are in the order of
rag._measure_gates.$$;


CREATE OR REPLACE FUNCTION rag.check_gates(run_id bigint, baseline_run bigint DEFAULT NULL)
RETURNS TABLE (metric text, k integer, epsilon double precision, category text, queries bigint,
    value_a double precision, value_b double precision, difference double precision,
    p_value double precision, passed boolean, detectable double precision, worst jsonb,
    against bigint)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _run rag.eval_runs := rag._require_eval_run(check_gates.run_id);
    _baseline rag.eval_runs;
    _id integer := (rag._require_collection(_run.collection)).collection_id;
    _set text := (SELECT s.name FROM rag.eval_sets AS s WHERE s.set_id = _run.set_id);
    _details jsonb;
    _unmeasured text[];
    _gates bigint;
BEGIN
    PERFORM rag._require_writable('rag.check_gates', 'keeps what it finds',
        'rag.compare_runs only reads');
    IF check_gates.baseline_run IS NULL THEN
        SELECT r.* INTO _baseline FROM rag.eval_runs AS r
        WHERE r.set_id = _run.set_id AND r.collection = _run.collection AND r.kind = _run.kind
            AND r.baseline;
        IF _baseline.run_id IS NULL THEN
            RAISE EXCEPTION 'set % has no baseline of kind % on collection %',
                quote_literal(_set), _run.kind, quote_literal(_run.collection)
            USING ERRCODE = 'RG002', HINT = 'rag.set_eval_baseline makes a run the baseline';
        END IF;
    ELSE
        _baseline := rag._require_eval_run(check_gates.baseline_run);
    END IF;
    IF _run.corpus_fingerprint <> _baseline.corpus_fingerprint
        OR _run.set_fingerprint <> _baseline.set_fingerprint THEN
        RAISE EXCEPTION 'run % and its baseline, run %, are of different %', _run.run_id,
            _baseline.run_id, CASE WHEN _run.corpus_fingerprint <> _baseline.corpus_fingerprint
                THEN 'documents' ELSE 'questions' END
        USING ERRCODE = 'RG007', HINT = 'measure the baseline anew: run the set with its '
            'settings, then rag.set_eval_baseline';
    END IF;
    PERFORM rag._require_whole_run(_run, false), rag._require_whole_run(_baseline, true);
    SELECT jsonb_agg(d.detail), count(*),
        array_agg(format('%s of set %L', g.metric, _set) ORDER BY g.metric)
            FILTER (WHERE d.failed IS NULL)
    INTO _details, _gates, _unmeasured
    FROM rag.gates AS g
    LEFT JOIN LATERAL rag._describe_regression(_set, g.metric, g.k, g.epsilon, _baseline.run_id,
        _run.run_id) AS d ON true
    WHERE g.collection_id = _id AND g.set_id = _run.set_id
        AND (_run.kind = 'ask' OR NOT rag._is_answer_metric(g.metric));
    IF _gates = 0 THEN
        RAISE EXCEPTION 'collection % has no gate on set % for runs of kind %',
            quote_literal(_run.collection), quote_literal(_set), _run.kind
        USING ERRCODE = 'RG002', HINT = 'rag.set_gate makes one; those of answers test runs of '
            'kind ask';
    END IF;
    PERFORM rag._require_measured(_unmeasured, format('run %s against %s', _run.run_id,
        _baseline.run_id));
    IF _run.run_id = _baseline.run_id THEN
        RAISE EXCEPTION 'run % is the baseline itself', _run.run_id USING ERRCODE = 'RG007',
        HINT = format('run the set again: rag-pg eval run %s %s --kind %s', _set, _run.collection,
            _run.kind);
    END IF;
    IF jsonb_path_exists(_details, '$[*] ? (@.passed == true && @.category == null)') THEN
        PERFORM rag._require_whole_run(_run, true);
    END IF;
    PERFORM rag._record_gate_check(_id, format('run %s against %s', _run.run_id,
        _baseline.run_id), CASE WHEN jsonb_path_exists(_details, '$[*] ? (@.passed == false)')
            THEN 'failed' ELSE 'passed' END, _details);
    RETURN QUERY
    SELECT x.metric, x.k, x.epsilon, x.category, x.queries, x.baseline, x.candidate, x.difference,
           x.p_value, x.passed, x.detectable, coalesce(x.worst, '[]'), _baseline.run_id
    FROM jsonb_to_recordset(_details) AS x (metric text, k integer, epsilon double precision,
        category text, queries bigint, baseline double precision, candidate double precision,
        difference double precision, p_value double precision, passed boolean,
        detectable double precision, worst jsonb)
    ORDER BY x.metric, x.category COLLATE "C" NULLS FIRST;
END
$$;

COMMENT ON FUNCTION rag.check_gates IS
$$Test a run against the baseline.
By the gates of its collection on its set (one of searches by those that searches have the metrics
of). The result is recorded. baseline_run NULL: the one of rag.set_eval_baseline. A row for all
questions and for each category, see rag.test_regression; worst: the questions that lost most.

A question that the run failed on counts as 0. Error RG007 where the two are of different documents
or questions: the baseline has to be measured anew; where they are one run; where a question of the
set was not asked, or the baseline failed on one, or the run did and a gate would pass all the same;
and where no question of both has the metric of a gate. Error RG002 without a gate or a baseline.
Circle: application, Evaluation.
SELECT * FROM rag.check_gates(4, 3)$$;
