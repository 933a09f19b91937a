-- Calibrations: with which evidence the answers of a collection are right, and how often.
--
-- A collection has one, and perhaps a second one with a language model's judgement among the
-- features; they hold for the embedding space that they were measured with.

CREATE OR REPLACE FUNCTION rag.put_calibration(collection text, calibration jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(put_calibration.collection)).collection_id;
    _corpus text := rag._corpus_fingerprint(put_calibration.collection);
    _judged jsonb := nullif(put_calibration.calibration -> 'judged', 'null');
    _rows rag.calibrations[] := ARRAY[
        rag._read_calibration(_id, put_calibration.calibration, false)];
BEGIN
    IF _judged IS NOT NULL THEN
        _rows := _rows || rag._read_calibration(_id, _judged, true);
    END IF;
    FOR _n IN 1 .. cardinality(_rows) LOOP
        _rows[_n].corpus_fingerprint := _corpus;
    END LOOP;
    BEGIN
        INSERT INTO rag.calibrations AS k
        SELECT r.* FROM unnest(_rows) AS r ORDER BY r.with_judgement
        ON CONFLICT ON CONSTRAINT calibrations_pkey DO UPDATE SET
            space_id = excluded.space_id, model_fingerprint = excluded.model_fingerprint,
            set_name = excluded.set_name, settings = excluded.settings,
            features = excluded.features, answerable_weights = excluded.answerable_weights,
            right_weights = excluded.right_weights, evidence_floor = excluded.evidence_floor,
            thresholds = excluded.thresholds,
            answered = excluded.answered, correct = excluded.correct,
            lower_bounds = excluded.lower_bounds, question_count = excluded.question_count,
            answerable_count = excluded.answerable_count,
            refuse_below = excluded.refuse_below, answer_from = excluded.answer_from,
            context_ratio = excluded.context_ratio, figures = excluded.figures,
            judge_model = excluded.judge_model, judge_version = excluded.judge_version,
            corpus_fingerprint = excluded.corpus_fingerprint,
            calibrated_at = excluded.calibrated_at;
    EXCEPTION WHEN check_violation THEN
        RAISE EXCEPTION 'the calibration does not fit together: %', left(SQLERRM, 200)
        USING ERRCODE = 'RG001', HINT = 'there is a weight for each feature after the '
            'intercept; thresholds, answered and correct are as many; zones begin at 0 to 1; '
            'judged, and it alone, has the feature judgement, judge_model and judge_version';
    END;
    DELETE FROM rag.calibrations AS k
    WHERE k.collection_id = _id AND k.with_judgement AND _judged IS NULL;
    PERFORM rag._note_change(_id);  -- answers that were kept may differ
END
$$;

COMMENT ON FUNCTION rag.put_calibration IS
$$Store when answers are right, as rag-pg calibrate does.

Store when a collection's answers are right, in place of what was stored; it holds for the space
that is active now.

calibration: the columns of rag.calibrations by name. Two logistic functions of the features, their
intercepts first among the weights, give the probability that the documents answer a question, and
that the answer then is right; their product is its support. Of the question_count questions,
answered[i] had a support of thresholds[i] or more, and correct[i] of these answers were right.
judged: an object of the same columns, measured with a language model's judgement: the name
judgement is among its features, and judge_model and judge_version say whose it is. Both are stored:
an answer whose judgement is missing is assessed by the other one. One of too few questions is
stored and not applied: rag.get_calibration and rag.doctor say so.
Error RG001 for what does not fit together.
Circle: client, Calibration.
SELECT rag.put_calibration('docs', '{"features": [],
    "answerable_weights": [0], "right_weights": [0],
    "evidence_floor": 0, "thresholds": [0], "answered": [1],
    "correct": [1], "question_count": 1, "answerable_count": 1,
    "refuse_below": 0, "answer_from": 0}')$$;


CREATE OR REPLACE FUNCTION rag._read_calibration(
    collection_id integer, given jsonb, is_judged boolean)
RETURNS rag.calibrations
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _row rag.calibrations;
    _problem text;
BEGIN
    IF jsonb_typeof(given) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'the calibration is no JSON object' USING ERRCODE = 'RG001',
        HINT = 'pass what "rag-pg calibrate" measured, with features, weights and thresholds';
    END IF;
    BEGIN
        _row := jsonb_populate_record(NULL::rag.calibrations, given);
    EXCEPTION WHEN data_exception OR SQLSTATE '22P02' THEN
        RAISE EXCEPTION 'the calibration has a value of another type: %', left(SQLERRM, 200)
        USING ERRCODE = 'RG001', HINT = 'see the columns of rag.calibrations';
    END;
    _row.collection_id := _read_calibration.collection_id;
    _row.with_judgement := is_judged;
    _row.set_name := coalesce(_row.set_name, '');
    _row.settings := coalesce(_row.settings, '{}');
    _row.figures := coalesce(_row.figures, '{}');
    _row.calibrated_at := now();
    SELECT s.space_id, s.fingerprint INTO _row.space_id, _row.model_fingerprint
    FROM rag.spaces AS s
    WHERE s.collection_id = _read_calibration.collection_id AND s.state = 'active';
    _problem := CASE
        WHEN num_nulls(_row.space_id, _row.features, _row.answerable_weights,
            _row.right_weights, _row.evidence_floor, _row.thresholds, _row.answered,
            _row.correct, _row.question_count, _row.answerable_count,
            _row.refuse_below, _row.answer_from) > 0 THEN 'has no value for a field that it needs'
        WHEN array_position(_row.answerable_weights || _row.right_weights, NULL) IS NOT NULL
            OR array_position(_row.features, NULL) IS NOT NULL
            OR array_position(_row.thresholds, NULL) IS NOT NULL
            OR array_position(_row.answered, NULL) IS NOT NULL
            OR array_position(_row.correct, NULL) IS NOT NULL THEN 'has nulls in its arrays'
        WHEN EXISTS (
            SELECT FROM unnest(_row.answerable_weights || _row.right_weights
                || _row.evidence_floor || _row.refuse_below || _row.answer_from
                || _row.thresholds) AS w (value)
            WHERE NOT abs(w.value) <= 1e9) THEN 'has numbers beyond 10^9, or that are none'
        WHEN EXISTS (
            SELECT FROM unnest(_row.answered, _row.correct) AS p (answered, correct)
            WHERE NOT coalesce(p.correct BETWEEN 0 AND p.answered
                AND p.answered <= _row.question_count, false)) THEN
            'counts more correct than answered, or more answered than questions'
        WHEN NOT coalesce(_row.judge_model ~ '^[^[:cntrl:]]{1,200}$'
            AND _row.judge_version ~ '^[^[:cntrl:]]{1,200}$', true) THEN
            'has a judge_model or judge_version that is no name of 1 to 200 characters' END;
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION 'the calibration %', _problem USING ERRCODE = 'RG001',
        HINT = 'see the columns of rag.calibrations; "rag-pg calibrate" measures one';
    END IF;
    _row.lower_bounds := ARRAY(
        SELECT (rag._clopper_pearson(p.correct, p.answered)).lower_bound
        FROM unnest(_row.answered, _row.correct) WITH ORDINALITY AS p (answered, correct, n)
        ORDER BY p.n);
    RETURN _row;
END
$$;

COMMENT ON FUNCTION rag._read_calibration IS
$$A row of rag.calibrations of what rag.put_calibration is given. Error RG001 for one that lacks
values or has impossible ones.$$;


CREATE OR REPLACE FUNCTION rag.get_calibration(collection text)
RETURNS TABLE (set_name text, settings jsonb, features text[],
    answerable_weights double precision[], right_weights double precision[],
    evidence_floor double precision, thresholds double precision[], answered bigint[],
    correct bigint[], lower_bounds double precision[], question_count bigint,
    answerable_count bigint, refuse_below double precision, answer_from double precision,
    context_ratio double precision, figures jsonb, model_fingerprint text,
    judge_model text, judge_version text, corpus_fingerprint text,
    calibrated_at timestamptz, stale text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(get_calibration.collection)).collection_id;
BEGIN
    RETURN QUERY
    SELECT k.set_name, k.settings, k.features, k.answerable_weights, k.right_weights,
           k.evidence_floor, k.thresholds, k.answered, k.correct,
           k.lower_bounds, k.question_count, k.answerable_count, k.refuse_below,
           k.answer_from, k.context_ratio, k.figures, k.model_fingerprint,
           k.judge_model, k.judge_version, k.corpus_fingerprint, k.calibrated_at,
           rag._calibration_fault(ROW(k.*)::rag.calibrations)
    FROM rag.calibrations AS k
    WHERE k.collection_id = _id
    ORDER BY k.with_judgement;
END
$$;

COMMENT ON FUNCTION rag.get_calibration IS
$$What is stored of when a collection's answers are right: a row, and a second one where it was also
measured with the judgement of judge_model; no row: it was never calibrated.

lower_bounds: of the share of right answers at each threshold, see rag.calibration_curve.
corpus_fingerprint: of the documents then; where rag._corpus_fingerprint is another now, they were
changed since. stale: why no answer is assessed by it (it was measured with fewer than 100 right
answers or 100 questions without one, another space is active, or its model is another); NULL: it
holds.
Circle: application, Calibration.
SELECT * FROM rag.get_calibration('docs')$$;


CREATE OR REPLACE FUNCTION rag._calibration_fault(of_calibration rag.calibrations)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT CASE
            WHEN least(n.answers_right, n.unanswerable) < 100 THEN
                format('it was measured with %s right answers and %s questions without one,'
                    ' fewer than 100 of each', n.answers_right, n.unanswerable)
            WHEN s.space_id <> of_calibration.space_id THEN
                format('it was measured with space %s, and %s is active',
                    of_calibration.space_id, s.space_id)
            WHEN s.fingerprint <> of_calibration.model_fingerprint THEN
                'the model of its space is another than it was' END
        FROM rag.spaces AS s
        CROSS JOIN (
            SELECT of_calibration.question_count - of_calibration.answerable_count AS unanswerable,
                   (SELECT max(c.correct) FROM unnest(of_calibration.correct) AS c (correct))
                       AS answers_right
        ) AS n
        WHERE s.collection_id = of_calibration.collection_id AND s.state = 'active');
END
$$;

COMMENT ON FUNCTION rag._calibration_fault IS
$$Why a calibration is not applied: it was measured on too few questions, or its space or model is
another; NULL: it is applied.$$;


CREATE OR REPLACE FUNCTION rag.calibration_curve(collection text,
    confidence double precision DEFAULT 0.95, judged boolean DEFAULT false)
RETURNS TABLE (threshold double precision, answered bigint, correct bigint,
    coverage double precision, accuracy double precision, lower_bound double precision,
    upper_bound double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(calibration_curve.collection)).collection_id;
BEGIN
    RETURN QUERY
    SELECT p.threshold, p.answered, p.correct,
           p.answered::double precision / k.question_count,
           p.correct::double precision / nullif(p.answered, 0),
           i.lower_bound, i.upper_bound
    FROM rag.calibrations AS k
    CROSS JOIN LATERAL unnest(k.thresholds, k.answered, k.correct)
        AS p (threshold, answered, correct)
    CROSS JOIN LATERAL rag._clopper_pearson(p.correct, p.answered,
        calibration_curve.confidence) AS i
    WHERE k.collection_id = _id AND k.with_judgement = calibration_curve.judged
    ORDER BY p.threshold;
END
$$;

COMMENT ON FUNCTION rag.calibration_curve IS
$$How many questions are answered, how many of them right.
With a support of each threshold or more; accuracy has the bounds of rag._clopper_pearson. No row:
never calibrated.

judged: with a language model's judgement among the features; false: without.
Circle: application, Calibration.
SELECT * FROM rag.calibration_curve('docs')$$;


CREATE OR REPLACE FUNCTION rag._relevant_chunks(
    of_collection text, of_set text, of_query text, found_chunks bigint[])
RETURNS SETOF bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT (h.value ->> 'chunk_id')::bigint
    FROM rag._judge_hits((rag._require_collection(of_collection)).collection_id,
        (rag._require_eval_set(of_set)).set_id, ARRAY[of_query], ARRAY[(
            SELECT coalesce(jsonb_agg(jsonb_build_object('chunk_id', f.chunk_id)), '[]')
            FROM unnest(found_chunks) AS f (chunk_id))]) AS j
    CROSS JOIN LATERAL jsonb_array_elements(j.described_hits) AS h
    WHERE (h.value ->> 'grade')::double precision > 0;
END
$$;

COMMENT ON FUNCTION rag._relevant_chunks IS
$$Those of the chunks that are relevant to a question of a set by rag._judge_hits: they share
a passage with it, or belong to its document where no passage is judged.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag.drop_calibration(collection text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(drop_calibration.collection)).collection_id;
BEGIN
    DELETE FROM rag.calibrations AS k WHERE k.collection_id = _id;
    IF FOUND THEN
        PERFORM rag._note_change(_id);
    END IF;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION rag.drop_calibration IS
$$Forget when a collection's answers are right; whether that was stored.
Circle: application, Calibration.
SELECT rag.drop_calibration('docs')$$;


CREATE OR REPLACE FUNCTION rag._check_calibrations()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT 'calibrations', 'warn', format('%s: %s', c.name, f.fault),
        format('measure it anew: rag-pg calibrate %s --set %s', c.name,
            coalesce(nullif(k.set_name, ''), 'SET'))
    FROM rag.calibrations AS k
    JOIN rag.collections AS c ON c.collection_id = k.collection_id AND c.dropped_at IS NULL
    CROSS JOIN LATERAL (SELECT rag._calibration_fault(ROW(k.*)::rag.calibrations) AS fault) AS f
    WHERE f.fault IS NOT NULL AND NOT k.with_judgement
    ORDER BY c.name;
END
$$;

COMMENT ON FUNCTION rag._check_calibrations IS
$$Calibrations that are not applied, as they are of too few questions or of another space.$$;
