-- Gates: what a collection demands of a change, that a metric on a set does not fall.

CREATE OR REPLACE FUNCTION rag.set_gate(
    collection text,
    set_name text,
    metric text DEFAULT 'ndcg',
    epsilon double precision DEFAULT 0,
    k integer DEFAULT 10,
    options jsonb DEFAULT '{}')
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    metrics CONSTANT text[] := '{recall,precision,hit_rate,mrr,map,ndcg,context_precision,'
        'context_recall,assertion_pass_rate,answer_contained,answer_f1,citation_recall,'
        'citation_precision,abstention}';
    _id integer := (rag._require_collection(set_gate.collection)).collection_id;
    _set integer := (rag._require_eval_set(set_gate.set_name)).set_id;
BEGIN
    IF set_gate.metric IS NULL OR set_gate.metric <> ALL (metrics) THEN
        RAISE EXCEPTION 'a gate of metric %',
            coalesce(quote_literal(left(set_gate.metric, 100)), 'NULL')
        USING ERRCODE = 'RG001', HINT = format('gates take %s; rag.test_regression compares two '
            'runs by any other', array_to_string(metrics, ', '));
    END IF;
    IF rag._is_answer_metric(set_gate.metric) AND set_gate.options <> '{}' THEN
        RAISE EXCEPTION 'a gate of metric % has options of a search',
            quote_literal(set_gate.metric)
        USING ERRCODE = 'RG001', HINT = 'leave them out: it tests runs of answers, each as it was '
            'made';
    END IF;
    PERFORM rag._check_range('epsilon', set_gate.epsilon, 0, 1),
        rag._check_range('k', set_gate.k, 1, 1000), rag._check_search_options(set_gate.options),
        rag._check_search_arguments(set_gate.collection, 'question', NULL, set_gate.k, '{}',
            set_gate.options);
    INSERT INTO rag.gates AS g (collection_id, set_id, metric, epsilon, k, options)
    VALUES (_id, _set, set_gate.metric, set_gate.epsilon, set_gate.k, set_gate.options)
    ON CONFLICT (collection_id, set_id, metric) DO UPDATE
    SET epsilon = excluded.epsilon, k = excluded.k, options = excluded.options;
END
$$;

COMMENT ON FUNCTION rag.set_gate IS
$$Refuse changes that make a collection worse.

Demand of changes of a collection that a metric on a set does not fall by more than epsilon, over
all questions or in a category. rag.activate_space, rag.set_chunking and rag.alter_collection (its
ef_search) keep to it, and rag.check_gates tests a run. One of a set and metric; another call
replaces it.

metric: one that searches have: a ranking metric of rag.query_metrics, or assertion_pass_rate; or
one of answers: answer_contained, answer_f1, citation_recall, citation_precision, abstention. The
database makes no answers: a gate of these tests runs of kind ask (rag.check_gates), and refuses no
change. rag.test_regression compares runs by any other. epsilon: 0 to 1. k: of how many hits.
options: other arguments of rag.search that are measured with, as {"fusion": "rrf"}.
Circle: application, Evaluation.
SELECT rag.set_gate('docs', 'faq', 'ndcg', epsilon => 0.01)$$;


CREATE OR REPLACE FUNCTION rag.drop_gate(collection text, set_name text,
    metric text DEFAULT 'ndcg')
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(drop_gate.collection)).collection_id;
    _set integer := (rag._require_eval_set(drop_gate.set_name)).set_id;
BEGIN
    DELETE FROM rag.gates AS g
    WHERE g.collection_id = _id AND g.set_id = _set AND g.metric = drop_gate.metric;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION rag.drop_gate IS
$$Demand no longer what rag.set_gate did; false where there was no such gate.
Circle: application, Evaluation.
SELECT rag.drop_gate('docs', 'faq')$$;


CREATE OR REPLACE FUNCTION rag.list_gates(collection text DEFAULT NULL)
RETURNS TABLE (collection_name text, eval_set text, metric text, epsilon double precision,
    k integer, options jsonb, queries bigint, kind text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF list_gates.collection IS NOT NULL THEN
        PERFORM rag._require_collection(list_gates.collection);
    END IF;
    RETURN QUERY
    SELECT c.name, s.name, g.metric, g.epsilon, g.k, g.options,
           (SELECT count(*) FROM rag.eval_queries AS q WHERE q.set_id = g.set_id),
           CASE WHEN rag._is_answer_metric(g.metric) THEN 'ask' ELSE 'search' END
    FROM rag.gates AS g
    JOIN rag.collections AS c ON c.collection_id = g.collection_id AND c.dropped_at IS NULL
    JOIN rag.eval_sets AS s ON s.set_id = g.set_id
    WHERE list_gates.collection IS NULL OR c.name = list_gates.collection
    ORDER BY c.name, s.name, g.metric;
END
$$;

COMMENT ON FUNCTION rag.list_gates IS
$$The gates of a collection, or of all, as rag.set_gate made them. queries: of the set. kind:
search, or ask: it tests runs of answers, and refuses no change.
Circle: application, Evaluation.
SELECT * FROM rag.list_gates()$$;


CREATE OR REPLACE FUNCTION rag._latest_answers(set_name text, of_collection text)
RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _set integer := (rag._require_eval_set(set_name)).set_id;
    _version bigint := rag.collection_version(of_collection);
    _corpus text := rag._corpus_fingerprint(of_collection);
BEGIN
    RETURN (
        SELECT max(r.run_id) FROM rag.eval_runs AS r
        WHERE r.set_id = _set AND r.collection = of_collection AND r.kind = 'ask'
            AND r.collection_version = _version AND r.corpus_fingerprint = _corpus
            AND r.set_fingerprint = rag._set_fingerprint(_set) AND r.code_version = rag.version()
            AND NOT r.settings ?| '{chunking,model,contexts}');  -- made on a copy
END
$$;

COMMENT ON FUNCTION rag._latest_answers IS
$$The latest run of answers that is of the collection as it is, of the same documents, questions and
release, whatever it failed on, and also while it goes on; NULL without one.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag.list_gate_checks(collection text DEFAULT NULL,
    result_limit integer DEFAULT 100)
RETURNS TABLE (check_id bigint, collection_name text, action text, outcome text, details jsonb,
    checked_by text, checked_at timestamptz)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._check_range('limit', list_gate_checks.result_limit, 1, 1000);
    RETURN QUERY
    SELECT x.check_id, x.collection, x.action, x.outcome, x.details, x.checked_by, x.checked_at
    FROM rag.gate_checks AS x
    WHERE list_gate_checks.collection IS NULL OR x.collection = list_gate_checks.collection
    ORDER BY x.check_id DESC
    LIMIT list_gate_checks.result_limit;
END
$$;

COMMENT ON FUNCTION rag.list_gate_checks IS
$$What gates decided, the latest first: which change or run, by whom, and whether it passed, failed
(a run, by rag.check_gates), was refused, or forced.

A change that is refused is rolled back with whatever it wrote: the client records it after that.
SQL alone cannot, and leaves no row: the caller has error RG010, whose DETAIL is the row's content,
and the server's log has it too.
Circle: application, Evaluation.
SELECT * FROM rag.list_gate_checks('docs')$$;
