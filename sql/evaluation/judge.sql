-- Judges of answers: their scores, and how well each agrees with people.

CREATE OR REPLACE FUNCTION rag.put_eval_scores(run_id bigint, judge text, judge_version text,
    scores jsonb)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _run rag.eval_runs := rag._require_eval_run(put_eval_scores.run_id);
    _count integer;
BEGIN
    IF coalesce(put_eval_scores.judge, '') !~ '^[^[:space:]]{1,200}$'
        OR coalesce(length(put_eval_scores.judge_version), 0) NOT BETWEEN 1 AND 200 THEN
        RAISE EXCEPTION 'judge % of version % has no usable name',
            coalesce(quote_literal(left(put_eval_scores.judge, 100)), 'NULL'),
            coalesce(quote_literal(left(put_eval_scores.judge_version, 100)), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 1 to 200 characters, no spaces in the name';
    END IF;
    IF jsonb_typeof(scores) IS DISTINCT FROM 'array' OR jsonb_path_exists(scores,
        'strict $[*] ? (@.type() != "object")') OR jsonb_path_exists(scores,
        'lax $[*].score ? (@ != null && (@.type() != "number" || @ < 0 || @ > 1))') THEN
        RAISE EXCEPTION 'the scores are no JSON array of objects' USING ERRCODE = 'RG001',
        HINT = 'pass [{"query_id": "...", "score": 0.5, "reason": "..."}, ...], scores from 0 to 1';
    END IF;
    PERFORM rag._await_erasures((
        SELECT c.collection_id FROM rag.collections AS c
        WHERE c.name = _run.collection AND c.dropped_at IS NULL));
    INSERT INTO rag.eval_scores AS s (run_id, query_id, judge, judge_version, score, reason, error)
    SELECT DISTINCT ON (e.query_id) _run.run_id, e.query_id, put_eval_scores.judge,
        put_eval_scores.judge_version, (g.value ->> 'score')::double precision,
        CASE WHEN NOT x.erased THEN left(g.value ->> 'reason', 2000) END,
        CASE WHEN NOT x.erased THEN left(g.value ->> 'error', 1000) END
    FROM jsonb_array_elements(scores) WITH ORDINALITY AS g (value, n)
    JOIN rag.eval_results AS e ON e.run_id = _run.run_id AND e.query_id = g.value ->> 'query_id'
    CROSS JOIN LATERAL (SELECT e.hits @> '[{"erased": true}]'
        OR e.hits = '[]' AND e.answer IS NULL) AS x (erased)  -- what was judged
    ORDER BY e.query_id, g.n DESC
    ON CONFLICT (run_id, query_id, judge, judge_version) DO UPDATE
    SET score = excluded.score, reason = excluded.reason, error = excluded.error,
        scored_at = excluded.scored_at;
    GET DIAGNOSTICS _count = ROW_COUNT;
    RETURN _count;
END
$$;

COMMENT ON FUNCTION rag.put_eval_scores IS
$$Record what a judge says of a run's answers; return how many. Questions that the run has not are
left out.

judge: a name; human for labels of people. scores: [{"query_id": text, "score": 0 to 1, "reason":
text, "error": text}, …]. Of a result from a document that was erased the score alone is kept.
Circle: application, Evaluation.
SELECT rag.put_eval_scores(1, 'human', '1',
       '[{"query_id": "q1", "score": 1}]')$$;


CREATE OR REPLACE FUNCTION rag._judge_versions(of_run bigint)
RETURNS TABLE (judge text, judge_version text, results bigint, failed bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT DISTINCT ON (v.judge) v.judge, v.judge_version, count(*),
           count(*) FILTER (WHERE v.score IS NULL AND v.error IS NOT NULL)
    FROM rag.eval_scores AS v
    WHERE v.run_id = of_run
    GROUP BY v.judge, v.judge_version
    ORDER BY v.judge, max(v.scored_at) DESC, v.judge_version DESC;
END
$$;

COMMENT ON FUNCTION rag._judge_versions IS
$$Of each judge of a run the version that judged it last, also where it failed: of how many results,
and on how many it failed.$$;


CREATE OR REPLACE FUNCTION rag._answers_to_judge(of_run bigint)
RETURNS TABLE (query_id text, question text, answer text, contexts text[], answers text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _run rag.eval_runs := rag._require_eval_run(of_run);
    _collection integer := (rag._require_collection(_run.collection)).collection_id;
BEGIN
    RETURN QUERY
    SELECT e.query_id, q.question, e.answer, ARRAY(
               SELECT c.content
               FROM jsonb_array_elements(e.hits) WITH ORDINALITY AS h (value, n)
               JOIN rag.chunks AS c ON c.collection_id = _collection
                   AND c.chunk_id = (h.value ->> 'chunk_id')::bigint
               ORDER BY h.n), q.answers
    FROM rag.eval_results AS e
    JOIN rag.eval_queries AS q ON q.set_id = _run.set_id AND q.query_id = e.query_id
    WHERE e.run_id = _run.run_id AND e.error IS NULL
    ORDER BY e.query_id COLLATE "C";
END
$$;

COMMENT ON FUNCTION rag._answers_to_judge IS
$$What a judge of a run's results is shown: question, answer (NULL for a search), the texts of the
hits that are still there, best first, and the right answers.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag.score_answers(run_id bigint, judge_function text)
RETURNS TABLE (judge text, judge_version text, scored integer, failures text[])
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET quote_all_identifiers = off
AS $$
DECLARE
    _run rag.eval_runs := rag._require_eval_run(score_answers.run_id);
    _function regprocedure;
    _result record;
    _score double precision;
    _error text;
    _scores jsonb := '[]';
BEGIN
    PERFORM rag._require_writable('rag.score_answers', 'keeps the scores');
    BEGIN
        _function := to_regprocedure(judge_function || '(text, text, text[], text[])');
    EXCEPTION WHEN syntax_error OR invalid_name OR undefined_object THEN
        _function := NULL;
    END;
    IF _function IS NULL OR NOT EXISTS (SELECT FROM pg_proc AS p WHERE p.oid = _function
        AND p.prokind = 'f' AND NOT p.proretset
        AND p.prorettype IN ('float8'::regtype, 'float4'::regtype, 'numeric'::regtype)) THEN
        RAISE EXCEPTION 'there is no judge %', coalesce(quote_literal(left(judge_function, 200)),
            'NULL')
        USING ERRCODE = 'RG002', HINT = 'name a function of schema.name(question text, answer text,'
            ' contexts text[], answers text[]) that returns a number from 0 to 1';
    END IF;
    FOR _result IN SELECT j.* FROM rag._answers_to_judge(_run.run_id) AS j LOOP
        _score := NULL;
        _error := NULL;
        BEGIN
            EXECUTE format('SELECT %s($1, $2, $3, $4)::double precision',
                split_part(_function::oid::regproc::text, '(', 1))
            INTO _score
            USING _result.question, _result.answer, _result.contexts, _result.answers;
            IF NOT _score BETWEEN 0 AND 1 THEN
                _error := format('the score is %s, not 0 to 1', _score);
                _score := NULL;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            _error := SQLERRM;
        END;
        _scores := _scores || jsonb_build_object('query_id', _result.query_id, 'score', _score,
            'error', _error);
    END LOOP;
    judge := split_part(_function::text, '(', 1);
    judge_version := left(encode(rag.content_hash(pg_get_functiondef(_function)), 'hex'), 12);
    PERFORM rag.put_eval_scores(_run.run_id, judge, judge_version, _scores);
    SELECT count(s.value ->> 'score'),
           coalesce(array_agg(format('%s: %s', s.value ->> 'query_id', s.value ->> 'error'))
               FILTER (WHERE s.value ->> 'error' IS NOT NULL), '{}')
    INTO scored, failures
    FROM jsonb_array_elements(_scores) AS s;
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION rag.score_answers IS
$$Have a SQL function judge a run.
With the caller's rights: how many results it scored, and where it failed.

judge_function: its name, with its schema. It is given question text, answer text (NULL for a
search), contexts text[] and the right answers text[], and returns a number from 0 to 1, or NULL. An
error is recorded, and the others are judged all the same. A hash of its definition is its
version.
Circle: application, Evaluation.
SELECT rag.score_answers(1, 'pg_temp.judge')$$;


CREATE OR REPLACE FUNCTION rag.measure_judge(judge text, judge_version text,
    reference_judge text DEFAULT 'human')
RETURNS TABLE (samples integer, accuracy double precision, accuracy_low double precision,
    accuracy_high double precision, kappa double precision)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    needed CONSTANT integer := 20;
    _yes double precision;
    _reference_yes double precision;
    _chance double precision;
BEGIN
    PERFORM rag._require_writable('rag.measure_judge', 'keeps what it measures');
    IF measure_judge.reference_judge = measure_judge.judge
        OR measure_judge.reference_judge !~ '^(human|labels)(:.+)?$' THEN
        RAISE EXCEPTION 'judge % is measured against labels of people, not against %',
            coalesce(quote_literal(measure_judge.judge), 'NULL'),
            quote_literal(measure_judge.reference_judge)
        USING ERRCODE = 'RG001', HINT = 'record labels as the judge human or labels, or one of '
            'several people as human:name';
    END IF;
    SELECT count(*)::integer, avg(((s.score >= 0.5) = (r.score >= 0.5))::integer),
           avg((s.score >= 0.5)::integer), avg((r.score >= 0.5)::integer)
    INTO samples, accuracy, _yes, _reference_yes
    FROM rag.eval_scores AS s
    CROSS JOIN LATERAL (
        SELECT x.score FROM rag.eval_scores AS x
        WHERE x.run_id = s.run_id AND x.query_id = s.query_id
            AND x.judge = measure_judge.reference_judge AND x.score IS NOT NULL
        ORDER BY x.scored_at DESC, x.judge_version DESC LIMIT 1
    ) AS r
    WHERE s.judge = measure_judge.judge AND s.judge_version = measure_judge.judge_version
        AND s.score IS NOT NULL;
    IF samples = 0 THEN
        RAISE EXCEPTION 'no result has a score both of judge % (version %) and of %',
            coalesce(quote_literal(measure_judge.judge), 'NULL'),
            coalesce(quote_literal(measure_judge.judge_version), 'NULL'),
            coalesce(quote_literal(measure_judge.reference_judge), 'NULL')
        USING ERRCODE = 'RG002', HINT = 'record labels with rag.put_eval_scores(run_id, ''human'','
            ' ''1'', ...)';
    END IF;
    _chance := _yes * _reference_yes + (1 - _yes) * (1 - _reference_yes);
    kappa := (accuracy - _chance) / nullif(1 - _chance, 0);
    SELECT i.lower_bound, i.upper_bound INTO accuracy_low, accuracy_high
    FROM rag._clopper_pearson(round(accuracy * samples)::bigint, samples) AS i;
    INSERT INTO rag.eval_judges AS j (judge, judge_version, samples, accuracy, accuracy_low,
        accuracy_high, kappa)
    VALUES (measure_judge.judge, measure_judge.judge_version, samples, accuracy, accuracy_low,
        accuracy_high, kappa)
    ON CONFLICT (judge, judge_version) DO UPDATE
    SET samples = excluded.samples, accuracy = excluded.accuracy,
        accuracy_low = excluded.accuracy_low, accuracy_high = excluded.accuracy_high,
        kappa = excluded.kappa, measured_at = excluded.measured_at;
    IF samples < needed THEN
        RAISE WARNING 'judge % stays advisory: % labels of % are missing',
            quote_literal(measure_judge.judge), needed - samples, needed
        USING HINT = 'label more results with rag.put_eval_scores and measure again';
    END IF;
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION rag.measure_judge IS
$$How well a judge agrees with people.

Compare a judge's scores with those of people on the results that both have, and keep the result:
from 20 labels on its metrics are not advisory; a warning tells how many are missing.

Scores from 0.5 count as yes. accuracy with its 95 % interval (Clopper and Pearson); kappa:
agreement beyond chance, -1 to 1 (Cohen, Educational and Psychological Measurement 1960); NULL when
that is not defined. reference_judge: human, labels, or human:name, whose scores are right; the last
of each result counts.
Circle: application, Evaluation.
SELECT * FROM rag.measure_judge('faithfulness', '1')$$;


CREATE OR REPLACE FUNCTION rag._read_verdict(wanted_hash bytea, wanted_version text)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (SELECT v.verdict FROM rag.eval_verdicts AS v
            WHERE v.prompt_hash = wanted_hash AND v.judge_version = wanted_version);
END
$$;

COMMENT ON FUNCTION rag._read_verdict IS
$$What a judging model said of the same prompt before; NULL: it was not asked.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._keep_verdict(given_hash bytea, given_version text,
    given_verdict jsonb, age double precision)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF rag._any_erased(age) THEN
        RETURN false;
    END IF;
    INSERT INTO rag.eval_verdicts AS v (prompt_hash, judge_version, verdict)
    VALUES (given_hash, given_version, given_verdict)
    ON CONFLICT (prompt_hash, judge_version) DO UPDATE SET verdict = excluded.verdict;
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag._keep_verdict IS
$$Keep what a judging model said, so that it is not asked again; false where a document was erased
since what it judged was read, age seconds ago.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._labelled_results(of_run bigint, of_person text)
RETURNS TABLE (query_id text, question text, answer text, score double precision, reason text,
    judges jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _run rag.eval_runs := rag._require_eval_run(of_run);
BEGIN
    RETURN QUERY
    SELECT e.query_id, q.question, e.answer, l.score, l.reason, coalesce(j.scores, '{}')
    FROM rag.eval_results AS e
    LEFT JOIN rag.eval_queries AS q ON q.set_id = _run.set_id AND q.query_id = e.query_id
    LEFT JOIN LATERAL (
        SELECT s.score, s.reason FROM rag.eval_scores AS s
        WHERE s.run_id = _run.run_id AND s.query_id = e.query_id AND s.judge = of_person
        ORDER BY s.scored_at DESC, s.judge_version DESC LIMIT 1
    ) AS l ON true
    LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(s.judge, s.score) AS scores
        FROM rag._judge_versions(_run.run_id) AS n
        JOIN rag.eval_scores AS s USING (judge, judge_version)
        WHERE s.run_id = _run.run_id AND s.query_id = e.query_id AND s.judge <> of_person
            AND s.score IS NOT NULL
    ) AS j ON true
    WHERE e.run_id = _run.run_id AND e.error IS NULL
    ORDER BY e.query_id COLLATE "C";
END
$$;

COMMENT ON FUNCTION rag._labelled_results IS
$$The results of a run with the label that a person gave each (NULL: none yet) and the scores of the
other judges.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._list_judges()
RETURNS TABLE (judge text, judge_version text, scores bigint, samples integer,
    accuracy double precision, accuracy_low double precision, accuracy_high double precision,
    kappa double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT s.judge, s.judge_version, s.scores, j.samples, j.accuracy, j.accuracy_low,
           j.accuracy_high, j.kappa
    FROM (
        SELECT x.judge, x.judge_version, count(x.score) AS scores, max(x.scored_at) AS last_scored
        FROM rag.eval_scores AS x GROUP BY x.judge, x.judge_version
    ) AS s
    LEFT JOIN rag.eval_judges AS j ON j.judge = s.judge AND j.judge_version = s.judge_version
    ORDER BY s.judge, s.last_scored DESC, s.judge_version;
END
$$;

COMMENT ON FUNCTION rag._list_judges IS
$$The judges that scored results, of each the version that scored last first, with their agreement
with people where it was measured.
Circle: client.$$;
