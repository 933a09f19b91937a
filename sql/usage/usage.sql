-- What models were asked and what it cost, by day: written after each answer, reported.

CREATE OR REPLACE FUNCTION rag.record_usage(collection text, strategy text, calls jsonb,
    answer_count integer DEFAULT 1)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(record_usage.collection);
    _unknown text;
BEGIN
    IF record_usage.strategy IS NULL OR record_usage.answer_count IS NULL
        OR record_usage.answer_count < 0 THEN
        RAISE EXCEPTION 'the strategy or the number of answers is missing'
        USING ERRCODE = 'RG001', HINT = 'name the strategy, and count 0 or more answers';
    END IF;
    IF jsonb_typeof(record_usage.calls) IS DISTINCT FROM 'array'
        OR jsonb_array_length(record_usage.calls) > 100
        OR jsonb_path_exists(record_usage.calls, 'strict $[*] ? (@.type() != "object")', '{}',
            true)
        OR EXISTS (
            SELECT FROM jsonb_array_elements(record_usage.calls) AS x (call),
            unnest(ARRAY['calls', 'prompt_tokens', 'answer_tokens', 'cost', 'unpriced_calls',
                'cached_hits', 'failures']) AS n (name)
            WHERE coalesce(x.call ->> 'kind', '') = '' OR x.call ->> 'model' IS NULL
                OR x.call -> n.name IS NOT NULL
                AND CASE jsonb_typeof(x.call -> n.name) WHEN 'number'
                    THEN (x.call ->> n.name)::numeric NOT BETWEEN 0 AND 1e12 ELSE true END) THEN
        RAISE EXCEPTION 'the calls are no array of up to 100 objects with kind and model'
        USING ERRCODE = 'RG001',
            HINT = 'write [{"kind": "answer", "model": "...", "calls": 1, "prompt_tokens": 900, '
                '"answer_tokens": 80, "cost": 0.002}], with numbers of 0 to 10^12';
    END IF;
    SELECT min(k.name) INTO _unknown
    FROM jsonb_array_elements(record_usage.calls) AS x (call), jsonb_object_keys(x.call) AS k (name)
    WHERE k.name NOT IN ('kind', 'model', 'calls', 'prompt_tokens', 'answer_tokens', 'cost',
        'unpriced_calls', 'cached_hits', 'failures');
    IF _unknown IS NOT NULL THEN
        RAISE EXCEPTION 'a call has no field %', to_json(left(_unknown, 100)) USING
            ERRCODE = 'RG001',
        HINT = 'use kind, model, calls, prompt_tokens, answer_tokens, cost, unpriced_calls, '
            'cached_hits, failures';
    END IF;
    INSERT INTO rag.usage AS u (day, role_name, collection_name, strategy, call_kind, model_name,
        slot, answers, calls, prompt_tokens, answer_tokens, cost, unpriced_calls, cached_hits,
        failures)
    SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date, current_user, _collection.name,
        left(record_usage.strategy, 100), left(x.call ->> 'kind', 100),
        left(x.call ->> 'model', 200), pg_backend_pid() % 8,
        sum(CASE WHEN x.position = 1 THEN record_usage.answer_count ELSE 0 END),
        coalesce(sum((x.call ->> 'calls')::numeric), 0),
        coalesce(sum((x.call ->> 'prompt_tokens')::numeric), 0),
        coalesce(sum((x.call ->> 'answer_tokens')::numeric), 0),
        coalesce(sum((x.call ->> 'cost')::double precision), 0),
        coalesce(sum((x.call ->> 'unpriced_calls')::numeric), 0),
        coalesce(sum((x.call ->> 'cached_hits')::numeric), 0),
        coalesce(sum((x.call ->> 'failures')::numeric), 0)
    FROM jsonb_array_elements(record_usage.calls) WITH ORDINALITY AS x (call, position)
    GROUP BY left(x.call ->> 'kind', 100), left(x.call ->> 'model', 200)
    ORDER BY left(x.call ->> 'kind', 100), left(x.call ->> 'model', 200)
    ON CONFLICT ON CONSTRAINT usage_pkey DO UPDATE SET
        answers = u.answers + excluded.answers,
        calls = u.calls + excluded.calls,
        prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
        answer_tokens = u.answer_tokens + excluded.answer_tokens,
        cost = u.cost + excluded.cost,
        unpriced_calls = u.unpriced_calls + excluded.unpriced_calls,
        cached_hits = u.cached_hits + excluded.cached_hits,
        failures = u.failures + excluded.failures;
    -- A pooler leaves '' where another client has set it for a transaction.
    IF current_setting('rag.service_key', true) <> '' THEN
        PERFORM rag.use_service_key(decode(current_setting('rag.service_key'), 'hex'),
            tokens => sum(coalesce((x.call ->> 'prompt_tokens')::numeric, 0)
                + coalesce((x.call ->> 'answer_tokens')::numeric, 0))::bigint,
            cost => sum(coalesce((x.call ->> 'cost')::double precision, 0)))
        FROM jsonb_array_elements(record_usage.calls) AS x (call);
    END IF;
END
$$;

COMMENT ON FUNCTION rag.record_usage IS
$$Count what an answer cost.

Add what models were asked for an answer to the day's figures (UTC) of the calling role.

calls: an object for each kind of call and model: {"kind": answer, helper, rewrite, verify, rerank,
…, "model", "calls", "prompt_tokens", "answer_tokens", "cost" (US dollars), "unpriced_calls",
"cached_hits", "failures"}; a missing number is 0. The answers are counted with the first. strategy:
of the answer; search, enrichment or evaluation for calls beside answers, with answer_count 0. No
text is kept. Call it in a transaction of its own: a day's row is locked until that ends. It waits
for such a lock for a second at most (55P03).
Circle: worker, Workers and budgets.
SELECT rag.record_usage('docs', 'single',
  '[{"kind": "answer", "model": "m", "calls": 1}]')$$;


CREATE OR REPLACE FUNCTION rag.usage_report(since date DEFAULT NULL, until date DEFAULT NULL,
    by text[] DEFAULT '{day}')
RETURNS TABLE (day date, role text, collection text, strategy text, kind text, model text,
    answers bigint, calls bigint, prompt_tokens bigint, answer_tokens bigint,
    cost double precision, cost_per_answer double precision, unpriced_calls bigint,
    cached_hits bigint, failures bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    _by text[] := usage_report.by;
    _known text[] := '{day,role,collection,strategy,kind,model}';
BEGIN
    IF _by IS NULL OR NOT _by <@ _known THEN
        RAISE EXCEPTION 'unknown grouping %', coalesce(_by::text, 'NULL')
        USING ERRCODE = 'RG004', HINT = 'use some of ' || array_to_string(_known, ', ');
    END IF;
    RETURN QUERY
    SELECT g.day, g.role, g.collection, g.strategy, g.kind, g.model, g.answers, g.calls,
        g.prompt_tokens, g.answer_tokens, g.cost, g.cost / nullif(g.answers, 0),
        g.unpriced_calls, g.cached_hits, g.failures
    FROM (
        SELECT k.day, k.role, k.collection, k.strategy, k.kind, k.model,
            sum(u.answers)::bigint AS answers, sum(u.calls)::bigint AS calls,
            sum(u.prompt_tokens)::bigint AS prompt_tokens,
            sum(u.answer_tokens)::bigint AS answer_tokens, sum(u.cost) AS cost,
            sum(u.unpriced_calls)::bigint AS unpriced_calls,
            sum(u.cached_hits)::bigint AS cached_hits, sum(u.failures)::bigint AS failures
        FROM rag.usage AS u,
        LATERAL (SELECT CASE WHEN 'day' = ANY (_by) THEN u.day END,
            CASE WHEN 'role' = ANY (_by) THEN u.role_name END,
            CASE WHEN 'collection' = ANY (_by) THEN u.collection_name END,
            CASE WHEN 'strategy' = ANY (_by) THEN u.strategy END,
            CASE WHEN 'kind' = ANY (_by) THEN u.call_kind END,
            CASE WHEN 'model' = ANY (_by) THEN u.model_name END)
            AS k (day, role, collection, strategy, kind, model)
        WHERE u.day BETWEEN coalesce(usage_report.since, _today - 29)
            AND coalesce(usage_report.until, _today)
        GROUP BY k.day, k.role, k.collection, k.strategy, k.kind, k.model
    ) AS g
    ORDER BY g.day, g.cost DESC, g.calls DESC, g.role, g.collection, g.strategy, g.kind, g.model;
END
$$;

COMMENT ON FUNCTION rag.usage_report IS
$$What models were asked, and what it cost.
In US dollars by the list prices.

since, until: days (UTC), both included; default: the last 30. by: what has a row each: day, role,
collection, strategy, kind, model; {}: one row for all. The others are NULL. Calls whose model's
price is not known are unpriced_calls and cost nothing here. cost_per_answer: NULL where no answer
is counted, as by kinds other than the first. A role sees its own figures, the owner of the schema
all.
Circle: application, Workers and budgets.
SELECT * FROM rag.usage_report(by => '{day,strategy}')$$;
