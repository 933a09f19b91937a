-- Metrics of runs: of each question, and their means with intervals, for all and by category.

CREATE OR REPLACE FUNCTION rag.query_metrics(run_id bigint, k integer DEFAULT 10)
RETURNS TABLE (query_id text, category text, metric text, value double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _run rag.eval_runs := rag._require_eval_run(query_metrics.run_id);
BEGIN
    PERFORM rag._check_range('k', k, 1, 10000);
    RETURN QUERY
    SELECT e.query_id, e.category, m.metric,
           CASE WHEN e.error IS NOT NULL AND NOT rag._is_cost_metric(m.metric) THEN 0
               ELSE m.value END
    FROM rag.eval_results AS e
        LEFT JOIN LATERAL (  -- no row when nothing is relevant
            SELECT count(*) > 0 AS relevant,
                   coalesce(1.0::double precision / min(g.rank) FILTER (WHERE g.rank <= k), 0)
                       AS reciprocal_rank,
                   coalesce(sum(rag._precision(e.grades, g.rank)) FILTER (WHERE g.rank <= k), 0)
                       / count(*) AS average_precision
            FROM unnest(e.judgement_grades, e.judgement_ranks) AS g (grade, rank)
            WHERE g.grade > 0
            HAVING count(*) > 0
        ) AS j ON true,
        LATERAL (VALUES
            ('recall', rag._recall(e.judgement_grades, e.judgement_ranks, k)),
            ('precision', CASE WHEN j.relevant THEN rag._precision(e.grades, k) END),
            ('hit_rate', (rag._recall(e.judgement_grades, e.judgement_ranks, k) > 0)::integer),
            ('mrr', j.reciprocal_rank),
            ('map', j.average_precision),
            ('ndcg', rag._ndcg(e.judgement_grades, e.judgement_ranks, k)),
            ('context_precision', CASE WHEN j.relevant THEN (
                SELECT coalesce(avg(rag._precision(e.grades, r.rank::integer)), 0)
                FROM unnest(e.grades[1:k]) WITH ORDINALITY AS r (grade, rank)
                WHERE r.grade > 0) END),
            ('context_recall', rag._recall(e.judgement_grades, e.judgement_ranks,
                greatest(cardinality(e.grades), 1))),
            ('assertion_pass_rate', (SELECT avg((a.value::boolean)::integer)
                FROM jsonb_each_text(e.assertions) AS a)),
            ('citation_recall', e.supported_statements::double precision
                / nullif(e.statements, 0)),
            ('citation_precision', e.supporting_citations::double precision
                / nullif(e.citations, 0)),
            ('answer_contained', e.answer_contained::integer),
            ('answer_f1', e.answer_f1),
            ('abstention', CASE WHEN _run.kind = 'ask' AND e.error IS NOT NULL THEN 0
                WHEN e.answered IS NOT NULL THEN (e.answered <> e.unanswerable)::integer END),
            ('seconds', e.seconds),
            ('tokens', e.prompt_tokens + e.answer_tokens),
            ('cost', e.cost)) AS m (metric, value)
    WHERE e.run_id = _run.run_id AND m.value IS NOT NULL
    UNION ALL
    SELECT s.query_id, e.category, 'judge:' || s.judge, s.score
    FROM rag._judge_versions(_run.run_id) AS n
    JOIN rag.eval_scores AS s ON s.run_id = _run.run_id AND s.judge = n.judge
        AND s.judge_version = n.judge_version AND s.score IS NOT NULL
    JOIN rag.eval_results AS e ON e.run_id = _run.run_id AND e.query_id = s.query_id;
END
$$;

COMMENT ON FUNCTION rag.query_metrics IS
$$Every metric of each question of a run, where it applies.

Ranking, of questions with something relevant: recall, precision, hit_rate, mrr, map and ndcg of the
first k (documents, or chunks where passages are judged), context_precision (of the first k) and
context_recall (of all hits). Answers: answer_contained, answer_f1 (0 where an answer was refused),
citation_recall and citation_precision (the shares of all statements that what they cite supports,
and of citations that support their statement, by themselves or as a part of what is cited
together: Gao et al., ALCE, EMNLP 2023, with the check of statements and rag.check_citation in
place of entailment),
abstention (1 where it answered what is answerable, or refused what is not). assertion_pass_rate,
seconds, tokens, cost in US dollars, judge:<name> (0 to 1, of its version that judged the run
last). A question that failed has 0 of what it would have, but for seconds, tokens and cost.
Circle: application, Evaluation.
SELECT * FROM rag.query_metrics(1)$$;


CREATE OR REPLACE FUNCTION rag._check_metrics(metrics text[])
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    known CONSTANT text[] := '{recall,precision,hit_rate,mrr,map,ndcg,context_precision,'
        'context_recall,assertion_pass_rate,answer_contained,answer_f1,citation_recall,'
        'citation_precision,abstention,seconds,tokens,cost}';
    _metric text;
BEGIN
    FOREACH _metric IN ARRAY coalesce(nullif(metrics, '{}'), '{NULL}') LOOP
        IF _metric IS NULL OR _metric <> ALL (known) AND NOT starts_with(_metric, 'judge:') THEN
            RAISE EXCEPTION 'there is no metric %',
                coalesce(quote_literal(left(_metric, 100)), 'NULL')
            USING ERRCODE = 'RG004', HINT = format('use %s or judge:<name>',
                array_to_string(known, ', '));
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._check_metrics IS
$$Error RG004 for names that rag.query_metrics never gives, and for none.$$;


CREATE OR REPLACE FUNCTION rag._auroc(scores double precision[], positive boolean[])
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT CASE WHEN count(*) FILTER (WHERE r.positive) > 0 AND count(*) FILTER (
            WHERE NOT r.positive) > 0
        THEN (sum(r.rank) FILTER (WHERE r.positive)
              - count(*) FILTER (WHERE r.positive) * (count(*) FILTER (WHERE r.positive) + 1) / 2.0)
             / (count(*) FILTER (WHERE r.positive) * count(*) FILTER (WHERE NOT r.positive)) END
    FROM (
        SELECT x.positive, rank() OVER (ORDER BY x.score)
            + (count(*) OVER (PARTITION BY x.score) - 1) / 2.0 AS rank
        FROM unnest(scores, positive) AS x (score, positive) WHERE x.score IS NOT NULL
    ) AS r);

COMMENT ON FUNCTION rag._auroc IS
$$The probability that a positive has a higher score than a negative, ties counting half; NULL
without both. Source: Mann, Whitney, 1947; Hanley, McNeil, Radiology 1982.$$;


CREATE OR REPLACE FUNCTION rag.risk_coverage(run_id bigint)
RETURNS TABLE (coverage double precision, risk double precision, threshold double precision,
    answered bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _run rag.eval_runs := rag._require_eval_run(risk_coverage.run_id);
BEGIN
    RETURN QUERY
    SELECT c.answered::double precision / c.total, c.wrong::double precision / c.answered,
           c.confidence, c.answered
    FROM (
        SELECT e.confidence, sum(count(*)) OVER (ORDER BY e.confidence DESC)::bigint AS answered,
               sum(count(*) FILTER (WHERE NOT e.correct)) OVER (ORDER BY e.confidence DESC)
                   AS wrong,
               sum(count(*)) OVER () AS total
        FROM rag._confident_results(_run.run_id) AS e
        GROUP BY e.confidence
    ) AS c
    ORDER BY c.answered;
END
$$;

COMMENT ON FUNCTION rag.risk_coverage IS
$$What abstaining below each confidence would give: coverage, the share of questions that is
answered, and risk, the share of those whose answer is wrong. A row for each confidence, surest
first.

An answer is right when it holds a right one; where there are none to compare with, or nothing was
written, when something relevant is among the first 10 hits. An unanswerable question is answered
wrong. Source: El-Yaniv, Wiener, JMLR 2010.
Circle: application, Evaluation.
SELECT * FROM rag.risk_coverage(1)$$;


CREATE OR REPLACE FUNCTION rag._confident_results(of_run bigint)
RETURNS TABLE (query_id text, category text, unanswerable boolean, confidence double precision,
    correct boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT e.query_id, e.category, e.unanswerable, e.confidence,
           NOT e.unanswerable AND coalesce(e.answer_contained,
               rag._recall(e.judgement_grades, e.judgement_ranks, 10) > 0, false)
    FROM rag.eval_results AS e
    WHERE e.run_id = of_run AND e.confidence IS NOT NULL AND e.error IS NULL;
END
$$;

COMMENT ON FUNCTION rag._confident_results IS
$$The results of a run that have a confidence, and whether each is right; see rag.risk_coverage.$$;


CREATE OR REPLACE FUNCTION rag.eval_metrics(run_id bigint, k integer DEFAULT 10)
RETURNS TABLE (category text, metric text, value double precision, low double precision,
    high double precision, queries bigint, advisory boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _run rag.eval_runs := rag._require_eval_run(eval_metrics.run_id);
BEGIN
    RETURN QUERY
    WITH figures AS MATERIALIZED (
        SELECT q.* FROM rag.query_metrics(_run.run_id, k) AS q
    ), grouped AS (
        SELECT CASE WHEN grouping(f.category) = 0 THEN f.category END AS category, f.metric,
               avg(f.value) AS mean, 1.959964 * stddev_samp(f.value) / sqrt(count(*)) AS margin,
               count(*) AS queries, min(f.value) AS smallest, max(f.value) AS largest,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY f.value) AS median,
               percentile_cont(0.95) WITHIN GROUP (ORDER BY f.value) AS p95, sum(f.value) AS total
        FROM figures AS f
        GROUP BY GROUPING SETS ((f.metric), (f.metric, f.category))
        HAVING grouping(f.category) = 1 OR f.category <> ''
    ), confident AS MATERIALIZED (
        SELECT c.* FROM rag._confident_results(_run.run_id) AS c
    ), figure_rows AS (
        SELECT g.category, g.metric, g.mean AS value,
               CASE WHEN g.queries > 1
                   THEN greatest(g.mean - g.margin, least(0, g.smallest)) END AS low,
               CASE WHEN g.queries > 1
                   THEN least(g.mean + g.margin, greatest(1, g.largest)) END AS high, g.queries
        FROM grouped AS g WHERE g.metric NOT IN ('seconds', 'tokens', 'cost')
        UNION ALL
        SELECT g.category, x.metric, x.value, NULL, NULL, g.queries
        FROM grouped AS g, LATERAL (VALUES
            ('latency_p50', CASE WHEN g.metric = 'seconds' THEN g.median END),
            ('latency_p95', CASE WHEN g.metric = 'seconds' THEN g.p95 END),
            ('tokens', CASE WHEN g.metric = 'tokens' THEN g.total END),
            ('cost', CASE WHEN g.metric = 'cost' THEN g.total END)) AS x (metric, value)
        WHERE x.value IS NOT NULL
        UNION ALL
        SELECT NULL, 'auroc', rag._auroc(array_agg(c.confidence), array_agg(NOT c.unanswerable)),
               NULL, NULL, count(*)
        FROM confident AS c
        HAVING bool_or(c.unanswerable) AND bool_or(NOT c.unanswerable)
        UNION ALL
        SELECT NULL, 'aurc', avg(r.risk), NULL, NULL, max(r.answered)
        FROM rag.risk_coverage(_run.run_id) AS r
        HAVING count(*) > 0
        UNION ALL
        SELECT NULL, x.metric, x.value, NULL, NULL, x.queries
        FROM (SELECT count(e.error)::double precision AS errors,
                     sum(e.unresolved)::double precision AS unresolved, count(*) AS queries
              FROM rag.eval_results AS e WHERE e.run_id = _run.run_id) AS n,
            LATERAL (VALUES ('errors', n.errors, n.queries), ('unresolved', n.unresolved,
                n.queries), ('not_asked', CASE WHEN _run.finished_at IS NOT NULL
                    AND _run.set_fingerprint = rag._set_fingerprint(_run.set_id)
                    THEN cardinality(rag._missing_queries(_run)) END, n.queries))
                AS x (metric, value, queries)
        WHERE x.value > 0
        UNION ALL
        SELECT NULL, 'unjudged:' || n.judge, n.failed, NULL, NULL, n.results
        FROM rag._judge_versions(_run.run_id) AS n WHERE n.failed > 0
    )
    SELECT f.category, f.metric, f.value, f.low, f.high, f.queries,
           starts_with(f.metric, 'judge:') AND f.metric !~ '^judge:(human|labels)(:.+)?$'
               AND NOT EXISTS (
                   SELECT FROM rag.eval_judges AS j
                   JOIN rag._judge_versions(_run.run_id) AS n USING (judge, judge_version)
                   WHERE j.samples >= 20 AND 'judge:' || n.judge = f.metric)
    FROM figure_rows AS f
    ORDER BY f.category COLLATE "C" NULLS FIRST, f.metric COLLATE "C";
END
$$;

COMMENT ON FUNCTION rag.eval_metrics IS
$$The metrics of a run, with intervals.
Over all its questions (category NULL) and by category.

Means of rag.query_metrics with their 95 % interval (normal) and how many questions have the metric;
latency_p50 and latency_p95 in seconds, tokens and cost in total; auroc (confidence of answerable
against unanswerable questions), aurc (mean risk over the curve of rag.risk_coverage, smaller is
better); errors; not_asked: questions of the set without a result; unresolved: judgements that no
longer describe the corpus (rag.eval_drift); and unjudged:<name>: on how many results, of queries
that it was given, the judge failed.
advisory: a judge whose agreement with people is not measured on 20 labels (rag.measure_judge).
Circle: application, Evaluation.
SELECT * FROM rag.eval_metrics(1)$$;


CREATE OR REPLACE FUNCTION rag._reported_results(of_run bigint, depth integer)
RETURNS TABLE (query_id text, category text, hits jsonb, ndcg double precision,
    seconds double precision, error text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT e.query_id, e.category, e.hits, rag._ndcg(e.judgement_grades, e.judgement_ranks, depth),
           e.seconds, e.error
    FROM rag.eval_results AS e
    WHERE e.run_id = of_run
    ORDER BY e.query_id COLLATE "C";
END
$$;

COMMENT ON FUNCTION rag._reported_results IS
$$Hits, nDCG, time and error of each question of a run.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._mean_metric(run_id bigint, metric text, k integer, category text)
RETURNS double precision
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (SELECT avg(q.value) FROM rag.query_metrics(_mean_metric.run_id, _mean_metric.k) AS q
            WHERE q.metric = _mean_metric.metric
                AND (_mean_metric.category IS NULL OR q.category = _mean_metric.category));
END
$$;

COMMENT ON FUNCTION rag._mean_metric IS
$$The mean of a metric over the questions of a run that have it.$$;


CREATE OR REPLACE FUNCTION rag.recall(run_id bigint, k integer DEFAULT 10,
    category text DEFAULT NULL)
RETURNS double precision LANGUAGE sql STABLE
RETURN rag._mean_metric(run_id, 'recall', k, category);

COMMENT ON FUNCTION rag.recall IS
$$Mean recall of a run.

The share of what is relevant that stands among the first k,
averaged over the questions of a run, or of one category; see rag.query_metrics.
Circle: application, Evaluation.
SELECT rag.recall(1, 10)$$;


CREATE OR REPLACE FUNCTION rag.precision_at(run_id bigint, k integer DEFAULT 10,
    category text DEFAULT NULL)
RETURNS double precision LANGUAGE sql STABLE
RETURN rag._mean_metric(run_id, 'precision', k, category);

COMMENT ON FUNCTION rag.precision_at IS
$$Mean precision of a run.

The share of the first k that is relevant,
averaged over the questions of a run, or of one category; see rag.query_metrics.
Circle: application, Evaluation.
SELECT rag.precision_at(1, 10)$$;


CREATE OR REPLACE FUNCTION rag.mrr(run_id bigint, k integer DEFAULT 10, category text DEFAULT NULL)
RETURNS double precision LANGUAGE sql STABLE
RETURN rag._mean_metric(run_id, 'mrr', k, category);

COMMENT ON FUNCTION rag.mrr IS
$$Mean reciprocal rank of a run.

The mean of 1 / the first relevant rank, 0 beyond k,
averaged over the questions of a run, or of one category; see rag.query_metrics.
Circle: application, Evaluation.
SELECT rag.mrr(1, 10)$$;


CREATE OR REPLACE FUNCTION rag.average_precision(run_id bigint, k integer DEFAULT 10,
    category text DEFAULT NULL)
RETURNS double precision LANGUAGE sql STABLE
RETURN rag._mean_metric(run_id, 'map', k, category);

COMMENT ON FUNCTION rag.average_precision IS
$$Mean average precision of a run.

MAP of the first k, averaged over the questions of a run, or of one category; see rag.query_metrics.
Circle: application, Evaluation.
SELECT rag.average_precision(1, 10)$$;


CREATE OR REPLACE FUNCTION rag.ndcg(run_id bigint, k integer DEFAULT 10, category text DEFAULT NULL)
RETURNS double precision LANGUAGE sql STABLE
RETURN rag._mean_metric(run_id, 'ndcg', k, category);

COMMENT ON FUNCTION rag.ndcg IS
$$Mean nDCG of a run.

Normalised discounted cumulative gain of the first k,
averaged over the questions of a run, or of one category; see rag.query_metrics.
Circle: application, Evaluation.
SELECT rag.ndcg(1, 10)$$;
