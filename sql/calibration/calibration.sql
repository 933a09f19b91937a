-- Calibrations: with which evidence the answers of a collection are right, and how often.
--
-- A collection has one; it holds for the embedding space that it was measured with.

CREATE OR REPLACE FUNCTION rag.put_calibration(collection text, calibration jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(put_calibration.collection);
    _row rag.calibrations;
    _problem text;
BEGIN
    IF jsonb_typeof(put_calibration.calibration) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'the calibration is no JSON object' USING ERRCODE = 'RG001',
        HINT = 'pass what "rag-pg calibrate" measured, with features, weights and thresholds';
    END IF;
    BEGIN
        _row := jsonb_populate_record(NULL::rag.calibrations, put_calibration.calibration);
    EXCEPTION WHEN data_exception OR SQLSTATE '22P02' THEN
        RAISE EXCEPTION 'the calibration has a value of another type: %', left(SQLERRM, 200)
        USING ERRCODE = 'RG001', HINT = 'see the columns of rag.calibrations';
    END;
    _row.collection_id := _collection.collection_id;
    _row.set_name := coalesce(_row.set_name, '');
    _row.settings := coalesce(_row.settings, '{}');
    _row.figures := coalesce(_row.figures, '{}');
    _row.calibrated_at := now();
    SELECT s.space_id, s.fingerprint INTO _row.space_id, _row.model_fingerprint
    FROM rag.spaces AS s
    WHERE s.collection_id = _collection.collection_id AND s.state = 'active';
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
            'counts more correct than answered, or more answered than questions' END;
    IF _problem IS NOT NULL THEN
        RAISE EXCEPTION 'the calibration %', _problem USING ERRCODE = 'RG001',
        HINT = 'see the columns of rag.calibrations; "rag-pg calibrate" measures one';
    END IF;
    _row.lower_bounds := ARRAY(
        SELECT (rag.clopper_pearson(p.correct, p.answered)).lower_bound
        FROM unnest(_row.answered, _row.correct) WITH ORDINALITY AS p (answered, correct, n)
        ORDER BY p.n);
    BEGIN
        INSERT INTO rag.calibrations AS k SELECT _row.*
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
            calibrated_at = excluded.calibrated_at;
    EXCEPTION WHEN check_violation THEN
        RAISE EXCEPTION 'the calibration does not fit together: %', left(SQLERRM, 200)
        USING ERRCODE = 'RG001', HINT = 'there is a weight for each feature after the '
            'intercept; thresholds, answered and correct are as many; zones begin at 0 to 1';
    END;
    PERFORM rag._note_change(_collection.collection_id);  -- answers that were kept may differ
END
$$;

COMMENT ON FUNCTION rag.put_calibration(text, jsonb) IS
$$Store when a collection's answers are right, in place of what was stored; it holds for the space
that is active now.

calibration: the columns of rag.calibrations by name. Two logistic functions of the features, their
intercepts first among the weights, give the probability that the documents answer a question, and
that the answer then is right; their product is its support. Of the question_count questions,
answered[i] had a support of thresholds[i] or more, and correct[i] of these answers were right.
Error RG001 for what does not fit together.$$;


CREATE OR REPLACE FUNCTION rag.get_calibration(collection text)
RETURNS TABLE (set_name text, settings jsonb, features text[],
    answerable_weights double precision[], right_weights double precision[],
    evidence_floor double precision, thresholds double precision[], answered bigint[],
    correct bigint[], lower_bounds double precision[], question_count bigint,
    answerable_count bigint, refuse_below double precision, answer_from double precision,
    context_ratio double precision, figures jsonb, model_fingerprint text,
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
           k.answer_from, k.context_ratio, k.figures, k.model_fingerprint, k.calibrated_at,
           rag._calibration_fault(k)
    FROM rag.calibrations AS k
    WHERE k.collection_id = _id;
END
$$;

COMMENT ON FUNCTION rag.get_calibration(text) IS
$$What is stored of when a collection's answers are right; no row: it was never calibrated.

lower_bounds: of the share of right answers at each threshold, see rag.calibration_curve. stale: why
it holds no more (another space is active, or its model is another); NULL: it holds.$$;


CREATE OR REPLACE FUNCTION rag._calibration_fault(of_calibration rag.calibrations)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT CASE
            WHEN s.space_id <> of_calibration.space_id THEN
                format('it was measured with space %s, and %s is active',
                    of_calibration.space_id, s.space_id)
            WHEN s.fingerprint <> of_calibration.model_fingerprint THEN
                'the model of its space is another than it was' END
        FROM rag.spaces AS s
        WHERE s.collection_id = of_calibration.collection_id AND s.state = 'active');
END
$$;

COMMENT ON FUNCTION rag._calibration_fault(rag.calibrations) IS
$$Why a calibration holds no more; NULL: it holds.$$;


CREATE OR REPLACE FUNCTION rag.calibration_curve(collection text,
    confidence double precision DEFAULT 0.95)
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
    CROSS JOIN LATERAL rag.clopper_pearson(p.correct, p.answered,
        calibration_curve.confidence) AS i
    WHERE k.collection_id = _id
    ORDER BY p.threshold;
END
$$;

COMMENT ON FUNCTION rag.calibration_curve(text, double precision) IS
$$How many questions are answered with a support of each threshold or more, and how many of these
answers are right: accuracy, with the bounds of rag.clopper_pearson. No row: never calibrated.$$;


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

COMMENT ON FUNCTION rag.drop_calibration(text) IS
$$Forget when a collection's answers are right; whether that was stored.$$;


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
    CROSS JOIN LATERAL (SELECT rag._calibration_fault(k) AS fault) AS f
    WHERE f.fault IS NOT NULL
    ORDER BY c.name;
END
$$;

COMMENT ON FUNCTION rag._check_calibrations() IS
$$Calibrations that hold no more, as another embedding space is active.$$;
