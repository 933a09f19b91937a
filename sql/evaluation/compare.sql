-- Two runs compared question by question: how large the difference is, and whether it is chance.

CREATE OR REPLACE FUNCTION rag._permutation_test(differences double precision[],
    permutations integer, seed bigint)
RETURNS double precision
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _d double precision[] := ARRAY(SELECT x.d FROM unnest(differences) WITH ORDINALITY AS x (d, n)
        WHERE x.d <> 0 ORDER BY x.n);
    _n integer := cardinality(_d);
    _bytes integer := (_n + 7) / 8;
    _sums double precision[];  -- of each byte of signs, the sum of its eight differences
    _bound double precision;
    _extreme bigint;
BEGIN
    IF _n = 0 THEN
        RETURN 1;
    END IF;
    SELECT abs(sum(x.d)) - 1e-9 * sum(abs(x.d)) INTO _bound FROM unnest(_d) AS x (d);
    SELECT array_agg(s.total ORDER BY s.byte, s.signs) INTO _sums
    FROM (
        SELECT b.byte, v.signs, sum(CASE WHEN (v.signs >> i.bit) & 1 = 1 THEN 1 ELSE -1 END
            * coalesce(_d[8 * b.byte + i.bit + 1], 0)) AS total
        FROM generate_series(0, _bytes - 1) AS b (byte), generate_series(0, 255) AS v (signs),
            generate_series(0, 7) AS i (bit)
        GROUP BY b.byte, v.signs
    ) AS s;
    IF _n <= 20 AND (1 << _n) <= permutations THEN  -- all of them
        SELECT count(*) INTO _extreme
        FROM generate_series(0, (1 << _n) - 1) AS p (signs),
            LATERAL (
                SELECT sum(_sums[256 * b.byte + ((p.signs >> (8 * b.byte)) & 255) + 1]) AS total
                FROM generate_series(0, _bytes - 1) AS b (byte)
            ) AS t
        WHERE abs(t.total) >= _bound;
        RETURN _extreme::double precision / (1 << _n);
    END IF;
    SELECT count(*) INTO _extreme
    FROM generate_series(1, permutations) AS p (draw),
        LATERAL (
            SELECT sum(_sums[256 * b.byte + 1
                + (hashint8extended(p.draw::bigint * _bytes + b.byte, seed) & 255)]) AS total
            FROM generate_series(0, _bytes - 1) AS b (byte)
        ) AS t
    WHERE abs(t.total) >= _bound;
    RETURN (_extreme + 1.0) / (permutations + 1);
END
$$;

COMMENT ON FUNCTION rag._permutation_test(double precision[], integer, bigint) IS
$$The two-sided p value of paired differences under random signs (Fisher's randomisation test).

Exact where all signs are no more than the permutations, else of so many seeded ones, the observed
signs included. Source: Smucker, Allan, Carterette, CIKM 2007.$$;


CREATE OR REPLACE FUNCTION rag._bootstrap_interval(differences double precision[],
    resamples integer, seed bigint, OUT low double precision, OUT high double precision)
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _n integer := cardinality(differences);
BEGIN
    SELECT percentile_cont(0.025) WITHIN GROUP (ORDER BY t.mean),
           percentile_cont(0.975) WITHIN GROUP (ORDER BY t.mean)
    INTO low, high
    FROM generate_series(1, resamples) AS p (draw),
        LATERAL (
            SELECT avg(differences[1 + (hashint8extended(-(p.draw::bigint * _n + i.n), seed)
                & 9007199254740991) % _n]) AS mean
            FROM generate_series(1, _n) AS i (n)
        ) AS t;
END
$$;

COMMENT ON FUNCTION rag._bootstrap_interval(double precision[], integer, bigint) IS
$$The 95 % percentile bootstrap interval of a mean, from seeded resamples.
Source: Efron, Tibshirani, An Introduction to the Bootstrap, 1993.$$;


CREATE OR REPLACE FUNCTION rag.adjust_p_values(p_values double precision[],
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

COMMENT ON FUNCTION rag.adjust_p_values(double precision[], text) IS
$$p values corrected for how many there are, in the order given: holm, bonferroni or none. Source:
Holm, Scandinavian Journal of Statistics 1979.$$;


CREATE OR REPLACE FUNCTION rag._require_same_set(a bigint, b bigint)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _a rag.eval_runs := rag._require_eval_run(a);
    _b rag.eval_runs := rag._require_eval_run(b);
BEGIN
    IF _a.set_id <> _b.set_id THEN
        RAISE EXCEPTION 'runs % and % are of different sets', a, b USING ERRCODE = 'RG004',
        HINT = 'compare runs of one set; rag.list_eval_runs(set) names them';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._require_same_set(bigint, bigint) IS
$$Error RG004 when two runs are of different sets.$$;


CREATE OR REPLACE FUNCTION rag.compare_queries(run_a bigint, run_b bigint,
    metric text DEFAULT 'ndcg', k integer DEFAULT 10)
RETURNS TABLE (query_id text, question text, category text, value_a double precision,
    value_b double precision, difference double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    PERFORM rag._require_same_set(run_a, run_b);
    RETURN QUERY
    SELECT a.query_id, q.question, a.category, a.value, b.value, b.value - a.value
    FROM rag.query_metrics(run_a, compare_queries.k) AS a
    JOIN rag.query_metrics(run_b, compare_queries.k) AS b
        ON b.query_id = a.query_id AND b.metric = compare_queries.metric
    JOIN rag.eval_runs AS r ON r.run_id = run_a
    LEFT JOIN rag.eval_queries AS q ON q.set_id = r.set_id AND q.query_id = a.query_id
    WHERE a.metric = compare_queries.metric
    ORDER BY b.value - a.value, a.query_id COLLATE "C";
END
$$;

COMMENT ON FUNCTION rag.compare_queries(bigint, bigint, text, integer) IS
$$A metric of two runs for each question that both have, what lost most first. difference is b - a.
metric: a name that rag.query_metrics gives.$$;


CREATE OR REPLACE FUNCTION rag.compare_runs(
    run_a bigint,
    run_b bigint,
    metrics text[] DEFAULT '{ndcg,recall,mrr}',
    k integer DEFAULT 10,
    permutations integer DEFAULT 10000,
    seed bigint DEFAULT 0,
    correction text DEFAULT 'holm')
RETURNS TABLE (category text, metric text, queries bigint, value_a double precision,
    value_b double precision, difference double precision, low double precision,
    high double precision, p_value double precision, adjusted_p_value double precision,
    wins bigint, ties bigint, losses bigint, detectable double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    resampled_values CONSTANT integer := 1000000;
BEGIN
    IF compare_runs.permutations IS NULL OR compare_runs.permutations NOT BETWEEN 100 AND 1000000
        OR compare_runs.seed IS NULL THEN
        RAISE EXCEPTION 'permutations is %, seed %', coalesce(compare_runs.permutations::text,
            'NULL'), coalesce(compare_runs.seed::text, 'NULL')
        USING ERRCODE = 'RG004', HINT = 'use 100 to 1000000 permutations, and any whole number';
    END IF;
    PERFORM rag.adjust_p_values('{}', compare_runs.correction);
    PERFORM rag._require_same_set(run_a, run_b);
    RETURN QUERY
    WITH paired AS MATERIALIZED (
        SELECT a.query_id, a.category, a.metric, a.value AS of_a, b.value AS of_b
        FROM rag.query_metrics(run_a, compare_runs.k) AS a
        JOIN rag.query_metrics(run_b, compare_runs.k) AS b
            ON b.query_id = a.query_id AND b.metric = a.metric
        WHERE a.metric = ANY (compare_runs.metrics)
    ), grouped AS MATERIALIZED (
        SELECT CASE WHEN grouping(p.category) = 0 THEN p.category END AS category, p.metric,
               count(*) AS queries, avg(p.of_a) AS of_a, avg(p.of_b) AS of_b,
               array_agg(p.of_b - p.of_a ORDER BY p.query_id COLLATE "C") AS differences,
               count(*) FILTER (WHERE p.of_b > p.of_a + 1e-12) AS wins,
               count(*) FILTER (WHERE abs(p.of_b - p.of_a) <= 1e-12) AS ties,
               count(*) FILTER (WHERE p.of_b < p.of_a - 1e-12) AS losses,
               (1.959964 + 0.841621) * stddev_samp(p.of_b - p.of_a) / sqrt(count(*)) AS detectable
        FROM paired AS p
        GROUP BY GROUPING SETS ((p.metric), (p.metric, p.category))
        HAVING grouping(p.category) = 1 OR p.category <> ''
    ), tested AS MATERIALIZED (
        SELECT g.*, rag._permutation_test(g.differences, compare_runs.permutations,
                   compare_runs.seed) AS p, i.low, i.high,
               row_number() OVER (ORDER BY g.category COLLATE "C" NULLS FIRST,
                   array_position(compare_runs.metrics, g.metric)) AS n
        FROM grouped AS g,
            LATERAL rag._bootstrap_interval(g.differences, greatest(200, least(2000,
                resampled_values / g.queries::integer)), compare_runs.seed) AS i
    ), adjusted AS (
        SELECT rag.adjust_p_values(array_agg(t.p ORDER BY t.n), compare_runs.correction) AS p
        FROM tested AS t
    )
    SELECT t.category, t.metric, t.queries, t.of_a, t.of_b, t.of_b - t.of_a, t.low, t.high, t.p,
           a.p[t.n], t.wins, t.ties, t.losses, t.detectable
    FROM tested AS t, adjusted AS a
    ORDER BY t.n;
END
$$;

COMMENT ON FUNCTION rag.compare_runs(bigint, bigint, text[], integer, integer, bigint, text) IS
$$Two runs of one set compared on the questions that both have: all (category NULL), and by
category.

difference: b - a, with its 95 % bootstrap interval (low, high). p_value: paired randomisation test;
adjusted_p_value: corrected for the number of rows (holm, bonferroni or none). wins, ties, losses:
questions on which b is better, equal, worse (for seconds, tokens and cost, more). detectable: the
smallest difference that so many questions show with 80 % power at p < 0.05. metrics: names that
rag.query_metrics gives. seed: the same one gives the same result.$$;
