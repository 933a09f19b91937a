-- Two runs compared question by question: how large the difference is, and whether it is chance.

CREATE OR REPLACE FUNCTION rag._subset_means(differences double precision[],
    permutations integer, seed bigint)
RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _d double precision[] := ARRAY(SELECT x.d FROM unnest(differences) WITH ORDINALITY AS x (d, n)
        WHERE abs(x.d) > 1e-12 ORDER BY x.n);  -- what rounding leaves is none
    _n integer := cardinality(_d);
    _bytes integer := (_n + 7) / 8;
    _equal double precision := (cardinality(differences) - _n) / 2.0;  -- a half is drawn
    _all boolean := _n <= 20 AND (1 << least(_n, 30)) <= permutations;
    _rounding double precision;
    _sums double precision[];  -- of each byte of a subset, the sum of its differences
BEGIN
    IF _n = 0 THEN
        RETURN '{}';
    END IF;
    SELECT 1e-9 * sum(abs(x.d)) INTO _rounding FROM unnest(_d) AS x (d);
    SELECT array_agg(s.total ORDER BY s.byte, s.bits) INTO _sums
    FROM (
        SELECT b.byte, v.bits,
               coalesce(sum(_d[8 * b.byte + i.bit + 1]) FILTER (WHERE (v.bits >> i.bit) & 1 = 1), 0)
                   AS total
        FROM generate_series(0, _bytes - 1) AS b (byte), generate_series(0, 255) AS v (bits),
            generate_series(0, 7) AS i (bit)
        GROUP BY b.byte, v.bits
    ) AS s;
    RETURN (
        SELECT array_agg(t.mean ORDER BY t.mean)
        FROM (
            SELECT CASE WHEN abs(sum(_sums[256 * b.byte + x.bits + 1])) <= _rounding THEN 0
                   ELSE sum(_sums[256 * b.byte + x.bits + 1])
                       / (sum(bit_count(x.bits::bit(8))) + _equal) END AS mean
            FROM generate_series(1, CASE WHEN _all THEN (1 << least(_n, 30)) - 1
                    ELSE permutations END) AS p (draw),
                generate_series(0, _bytes - 1) AS b (byte),
                LATERAL (
                    SELECT CASE WHEN _all THEN (p.draw >> (8 * b.byte)) & 255
                           ELSE (hashint8extended(p.draw::bigint * _bytes + b.byte, seed)
                               & CASE WHEN b.byte = _bytes - 1
                                 THEN (1 << (_n - 8 * b.byte)) - 1 ELSE 255 END)::integer END
                           AS bits
                ) AS x
            GROUP BY p.draw
            HAVING sum(x.bits) > 0
        ) AS t);
END
$$;

COMMENT ON FUNCTION rag._subset_means IS
$$The means of random subsets of paired differences, sorted: of all subsets where they are no more
than the permutations, else of so many seeded ones. Of differences of 0 every subset has a half.

A value below so many of them that the rest is a share of q is excluded by a randomisation test of
signs at level q (typical values: Hartigan, JASA 1969): a test and its interval are read from one
array and cannot contradict each other.$$;


CREATE OR REPLACE FUNCTION rag._randomisation_p(means double precision[])
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN cardinality(means) = 0 THEN 1 ELSE (
    SELECT least(1, 2.0 * (1 + least(count(*) FILTER (WHERE x.mean <= 0),
        count(*) FILTER (WHERE x.mean >= 0))) / (1 + count(*)))
    FROM unnest(means) AS x (mean)) END;

COMMENT ON FUNCTION rag._randomisation_p IS
$$The two-sided p value of paired differences under random signs (Fisher's randomisation test), by
rag._subset_means of them: the signs of the others are kept, and no difference turned is what was
observed. Source: Smucker, Allan, Carterette, CIKM 2007.$$;


CREATE OR REPLACE FUNCTION rag._randomisation_interval(means double precision[],
    significance double precision, OUT low double precision, OUT high double precision)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT ROW(CASE WHEN c.n = 0 THEN 0 ELSE means[c.k] END,
               CASE WHEN c.n = 0 THEN 0 ELSE means[c.n + 1 - c.k] END)
    FROM (
        -- no difference turned is below and above every value
        SELECT cardinality(means) AS n,
               (ceil(significance * (cardinality(means) + 1) / 2 - 1e-9) - 1)::integer AS k
    ) AS c);

COMMENT ON FUNCTION rag._randomisation_interval IS
$$The differences that rag._randomisation_p does not exclude at a significance (0 to 1): it has 0 in
it unless the p value is below the significance. NULL where so few questions exclude nothing.$$;


CREATE OR REPLACE FUNCTION rag._adjust_p_values(p_values double precision[],
    correction text DEFAULT 'holm')
RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF correction IS NULL OR correction NOT IN ('holm', 'bonferroni', 'none') THEN
        RAISE EXCEPTION 'there is no correction %', coalesce(quote_literal(left(correction, 100)),
            'NULL')
        USING ERRCODE = 'RG004', HINT = 'use holm, bonferroni or none';
    END IF;
    RETURN (
        SELECT array_agg(a.adjusted ORDER BY a.n)
        FROM (
            SELECT s.n, CASE WHEN s.p IS NULL OR correction = 'none' THEN s.p
                       WHEN correction = 'bonferroni' THEN least(1, s.p * s.m)
                       ELSE max(least(1, s.p * (s.m - s.rank + 1))) OVER (ORDER BY s.rank) END
                       AS adjusted
            FROM (
                SELECT x.n, x.p, row_number() OVER (ORDER BY x.p, x.n) AS rank, count(x.p) OVER ()
                    AS m
                FROM unnest(p_values) WITH ORDINALITY AS x (p, n)
            ) AS s
        ) AS a);
END
$$;

COMMENT ON FUNCTION rag._adjust_p_values IS
$$p values corrected for how many there are, in the order given: holm, bonferroni or none. Source:
Holm, Scandinavian Journal of Statistics 1979.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._require_comparable(a bigint, b bigint, metrics text[])
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _a rag.eval_runs := rag._require_eval_run(a);
    _b rag.eval_runs := rag._require_eval_run(b);
    _other record;
BEGIN
    IF _a.set_id <> _b.set_id THEN
        RAISE EXCEPTION 'runs % and % are of different sets', a, b USING ERRCODE = 'RG004',
        HINT = 'compare runs of one set; rag.list_eval_runs(set) names them';
    END IF;
    PERFORM rag._require_finished(_a), rag._require_finished(_b);
    SELECT judge, x.judge_version AS of_a, y.judge_version AS of_b INTO _other
    FROM rag._judge_versions(a) AS x JOIN rag._judge_versions(b) AS y USING (judge)
    WHERE x.judge_version <> y.judge_version AND 'judge:' || judge = ANY (metrics);
    IF FOUND THEN
        RAISE EXCEPTION 'judge % scored run % as version % and run % as version %',
            quote_literal(_other.judge), a, quote_literal(_other.of_a), b,
            quote_literal(_other.of_b)
        USING ERRCODE = 'RG007', HINT = 'have one version score both: rag-pg eval judge';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._require_comparable IS
$$Error RG004 when two runs are of different sets, RG007 where one goes on or was interrupted, or a
judge of the metrics is of another version for one than for the other.$$;


CREATE OR REPLACE FUNCTION rag._is_answer_metric(metric text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN metric IN ('answer_contained', 'answer_f1', 'citation_recall', 'citation_precision',
    'abstention');

COMMENT ON FUNCTION rag._is_answer_metric IS
$$Whether a metric is one that runs of answers alone have, and that is larger when better.$$;


CREATE OR REPLACE FUNCTION rag._is_cost_metric(metric text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN metric IN ('seconds', 'tokens', 'cost');

COMMENT ON FUNCTION rag._is_cost_metric IS
$$Whether a metric of a question is smaller when better: what a failure costs is no 0.$$;


CREATE OR REPLACE FUNCTION rag._counts_as_lost(of_run rag.eval_runs, metric text,
    missing_result boolean)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN rag._is_cost_metric(metric) THEN false
    WHEN starts_with(metric, 'judge:') THEN missing_result  -- else the judge failed, not the run
    WHEN rag._is_answer_metric(metric) THEN of_run.kind = 'ask'
    ELSE true END;

COMMENT ON FUNCTION rag._counts_as_lost IS
$$Whether a metric that another run has of a question counts as 0 for a run that has not.
missing_result: that run has no result of the question, or an error.$$;


CREATE OR REPLACE FUNCTION rag._is_beyond(of_run rag.eval_runs, of_query text)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN of_run.settings ? 'imported' AND EXISTS (
        SELECT FROM rag.eval_judgements AS j
        WHERE j.set_id = of_run.set_id AND j.query_id = of_query
            AND (j.quote IS NOT NULL OR j.start_offset IS NOT NULL));
END
$$;

COMMENT ON FUNCTION rag._is_beyond IS
$$Whether a run is an imported ranking of documents, and passages are judged for a question: it has
no result of it, and loses nothing by that.$$;


CREATE OR REPLACE FUNCTION rag._paired_metrics(run_a bigint, run_b bigint, metrics text[],
    k integer)
RETURNS TABLE (query_id text, category text, metric text, of_a double precision,
    of_b double precision, missing_a text, missing_b text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _a rag.eval_runs := rag._require_eval_run(run_a);
    _b rag.eval_runs := rag._require_eval_run(run_b);
    _same_questions boolean := _a.set_fingerprint = _b.set_fingerprint;
BEGIN
    RETURN QUERY
    SELECT p.query_id, p.category, p.metric,
           coalesce(p.of_a, CASE WHEN rag._counts_as_lost(_a, p.metric,
               a.run_id IS NULL OR a.error IS NOT NULL) THEN 0 END),
           coalesce(p.of_b, CASE WHEN rag._counts_as_lost(_b, p.metric,
               b.run_id IS NULL OR b.error IS NOT NULL) THEN 0 END),
           CASE WHEN a.run_id IS NULL THEN 'not asked'
                WHEN p.of_a IS NULL OR NOT rag._is_cost_metric(p.metric)
                    THEN coalesce(a.error, CASE WHEN p.of_a IS NULL THEN 'not measured' END) END,
           CASE WHEN b.run_id IS NULL THEN 'not asked'
                WHEN p.of_b IS NULL OR NOT rag._is_cost_metric(p.metric)
                    THEN coalesce(b.error, CASE WHEN p.of_b IS NULL THEN 'not measured' END) END
    FROM (
        SELECT query_id, metric, coalesce(x.category, y.category) AS category, x.value AS of_a,
               y.value AS of_b
        FROM rag.query_metrics(run_a, _paired_metrics.k) AS x
        FULL JOIN rag.query_metrics(run_b, _paired_metrics.k) AS y USING (query_id, metric)
        WHERE metric = ANY (_paired_metrics.metrics)
    ) AS p
    LEFT JOIN rag.eval_results AS a ON a.run_id = run_a AND a.query_id = p.query_id
    LEFT JOIN rag.eval_results AS b ON b.run_id = run_b AND b.query_id = p.query_id
    -- a question that the set had not yet, or no more, is no loss
    WHERE (a.run_id IS NOT NULL OR _same_questions AND NOT rag._is_beyond(_a, p.query_id))
        AND (b.run_id IS NOT NULL OR _same_questions AND NOT rag._is_beyond(_b, p.query_id));
END
$$;

COMMENT ON FUNCTION rag._paired_metrics IS
$$Metrics of two runs question by question. What one of them lost, since it failed, was not asked or
has nothing to measure, counts as 0 (NULL for seconds, tokens, cost, and judges that failed).

missing_a, missing_b: why a run has not the metric, NULL where it has it. Questions that were put
into the set, or taken out, between the runs are left out, and those that an imported ranking could
not be judged by.$$;


CREATE OR REPLACE FUNCTION rag.compare_queries(run_a bigint, run_b bigint,
    metric text DEFAULT 'ndcg', k integer DEFAULT 10)
RETURNS TABLE (query_id text, question text, category text, value_a double precision,
    value_b double precision, difference double precision, missing_a text, missing_b text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._require_comparable(run_a, run_b, ARRAY[compare_queries.metric]),
        rag._check_metrics(ARRAY[compare_queries.metric]);
    RETURN QUERY
    SELECT p.query_id, q.question, p.category, p.of_a, p.of_b, p.of_b - p.of_a, p.missing_a,
           p.missing_b
    FROM rag._paired_metrics(run_a, run_b, ARRAY[compare_queries.metric], compare_queries.k) AS p
    JOIN rag.eval_runs AS r ON r.run_id = run_a
    LEFT JOIN rag.eval_queries AS q ON q.set_id = r.set_id AND q.query_id = p.query_id
    WHERE p.of_a IS NOT NULL AND p.of_b IS NOT NULL
    ORDER BY p.of_b - p.of_a, p.query_id COLLATE "C";
END
$$;

COMMENT ON FUNCTION rag.compare_queries IS
$$A metric of two runs for each question, what lost most first. difference is b - a. metric: a name
that rag.query_metrics gives.

missing_a, missing_b: why that run has not the metric: its error, not asked, or not measured; NULL
where it has it. What is missing counts as 0; for seconds, tokens and cost the question is left
out. Error RG007 where a run is not finished, or a judge scored the runs as two versions.
Circle: application, Evaluation.
SELECT * FROM rag.compare_queries(1, 2, 'ndcg')$$;


CREATE OR REPLACE FUNCTION rag.compare_runs(
    run_a bigint,
    run_b bigint,
    metrics text[] DEFAULT '{ndcg,recall,mrr}',
    k integer DEFAULT 10,
    permutations integer DEFAULT 10000,
    seed bigint DEFAULT 0,
    correction text DEFAULT 'holm',
    significance double precision DEFAULT 0.05)
RETURNS TABLE (category text, metric text, queries bigint, value_a double precision,
    value_b double precision, difference double precision, low double precision,
    high double precision, p_value double precision, adjusted_p_value double precision,
    wins bigint, ties bigint, losses bigint, detectable double precision,
    missing_a bigint, missing_b bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF compare_runs.seed IS NULL THEN
        RAISE EXCEPTION 'seed is NULL' USING ERRCODE = 'RG004', HINT = 'use any whole number';
    END IF;
    PERFORM rag._check_range('permutations', compare_runs.permutations, 100, 1000000),
        rag._check_range('significance', compare_runs.significance, 0, 0.5),
        rag._adjust_p_values('{}', compare_runs.correction),
        rag._require_comparable(run_a, run_b, compare_runs.metrics),
        rag._check_metrics(compare_runs.metrics);
    RETURN QUERY
    WITH paired AS MATERIALIZED (
        SELECT p.*, p.of_a IS NOT NULL AND p.of_b IS NOT NULL AS both
        FROM rag._paired_metrics(run_a, run_b, compare_runs.metrics, compare_runs.k) AS p
    ), grouped AS MATERIALIZED (
        SELECT CASE WHEN grouping(p.category) = 0 THEN p.category END AS category, p.metric,
               count(*) FILTER (WHERE p.both) AS queries, avg(p.of_a) FILTER (WHERE p.both) AS of_a,
               avg(p.of_b) FILTER (WHERE p.both) AS of_b,
               array_agg(p.of_b - p.of_a ORDER BY p.query_id COLLATE "C") FILTER (WHERE p.both)
                   AS differences,
               count(*) FILTER (WHERE p.of_b > p.of_a + 1e-12) AS wins,
               count(*) FILTER (WHERE abs(p.of_b - p.of_a) <= 1e-12) AS ties,
               count(*) FILTER (WHERE p.of_b < p.of_a - 1e-12) AS losses,
               nullif((1.959964 + 0.841621) * stddev_samp(p.of_b - p.of_a)
                   / sqrt(count(*) FILTER (WHERE p.both)), 0) AS detectable,
               count(p.missing_a) AS missing_a, count(p.missing_b) AS missing_b
        FROM paired AS p
        GROUP BY GROUPING SETS ((p.metric), (p.metric, p.category))
        HAVING count(*) FILTER (WHERE p.both) > 0
            AND (grouping(p.category) = 1 OR p.category <> '')
    ), tested AS MATERIALIZED (
        SELECT g.*, m.means, rag._randomisation_p(m.means) AS p,
               row_number() OVER (PARTITION BY g.category IS NULL ORDER BY g.category COLLATE "C",
                   array_position(compare_runs.metrics, g.metric)) AS n
        FROM grouped AS g,
            LATERAL (SELECT rag._subset_means(g.differences, compare_runs.permutations,
                compare_runs.seed) AS means) AS m
    ), adjusted AS MATERIALIZED (
        SELECT t.*, a.p[t.n] AS adjusted
        FROM tested AS t
        JOIN (
            SELECT x.category IS NULL AS whole,
                   rag._adjust_p_values(array_agg(x.p ORDER BY x.n), compare_runs.correction) AS p
            FROM tested AS x GROUP BY x.category IS NULL
        ) AS a ON a.whole = (t.category IS NULL)
    )
    SELECT t.category, t.metric, t.queries, t.of_a, t.of_b, t.of_b - t.of_a, i.low, i.high, t.p,
           t.adjusted, t.wins, t.ties, t.losses, t.detectable, t.missing_a, t.missing_b
    FROM adjusted AS t,
        LATERAL rag._randomisation_interval(t.means,
            compare_runs.significance * t.p / t.adjusted) AS i
    ORDER BY t.category COLLATE "C" NULLS FIRST, t.n;
END
$$;

COMMENT ON FUNCTION rag.compare_runs IS
$$Two runs of one set compared question by question: over all (category NULL), and by category. What
one of them lost (a question that failed, was not asked, or has not the metric) counts as 0, and for
seconds, tokens and cost is left out; missing_a, missing_b: how many.

difference: b - a. p_value: paired randomisation test. adjusted_p_value: corrected (holm, bonferroni
or none) for the number of metrics asked for; the rows of categories among themselves, for how many
they are. low, high: the differences that the same test does not exclude at the level that the
correction leaves, so that 0 is outside just when adjusted_p_value is below the significance; NULL
where so few questions show nothing. wins, ties, losses:
questions on which b is better, equal, worse (for seconds, tokens and cost, more). detectable: the
smallest difference that so many questions show with 80 % power at p < 0.05; NULL where all
differences are equal. metrics: names that
rag.query_metrics gives. seed: the same one gives the same result. Error RG007 where a run is not
finished.
Circle: application, Evaluation.
SELECT * FROM rag.compare_runs(1, 2)$$;
