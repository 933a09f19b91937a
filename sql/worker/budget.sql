-- Budgets: what all workers together may ask of a provider of models.

CREATE OR REPLACE FUNCTION rag._current_budget(stored rag.budgets, at timestamptz)
RETURNS rag.budgets
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF at >= stored.window_started_at + interval '1 minute' THEN
        stored.window_started_at := at;
        stored.window_requests := 0;
        stored.window_tokens := 0;
    END IF;
    IF stored.spend_period = 'day'
        AND date_trunc('day', stored.spent_since, 'UTC') < date_trunc('day', at, 'UTC') THEN
        stored.spent_since := at;
        stored.spent := 0;
    END IF;
    RETURN stored;
END
$$;

COMMENT ON FUNCTION rag._current_budget IS
$$The budget with its counters as they are at that time: those of a past minute or day (UTC) begin
at 0 again.$$;


CREATE OR REPLACE FUNCTION rag._check_budget(stored rag.budgets, requests bigint, tokens bigint,
    at timestamptz,
                                            OUT wait_seconds double precision, OUT reason text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _now rag.budgets := rag._current_budget(stored, at);
BEGIN
    IF _now.spent >= _now.spend_cap THEN
        wait_seconds := CASE _now.spend_period WHEN 'total' THEN 'Infinity' ELSE
            extract(epoch FROM date_trunc('day', at, 'UTC') + interval '1 day' - at) END;
        reason := format('the spend cap of %s is reached: %s of %s units (%s)', _now.provider,
                         round(_now.spent::numeric, 4), _now.spend_cap, _now.spend_period);
    ELSIF _now.blocked_until > at THEN
        wait_seconds := extract(epoch FROM _now.blocked_until - at);
        reason := format('%s is blocked for %s s: %s', _now.provider, ceil(wait_seconds),
            _now.blocked_reason);
    -- What is larger than a whole window passes when the window is empty.
    ELSIF (_now.window_requests > 0 AND _now.window_requests + requests > _now.requests_per_minute)
        OR (_now.window_tokens > 0 AND _now.window_tokens + tokens > _now.tokens_per_minute) THEN
        wait_seconds := extract(epoch FROM _now.window_started_at + interval '1 minute' - at);
        reason := format('%s has had its requests or tokens of this minute', _now.provider);
    ELSE
        wait_seconds := 0;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_budget IS
$$How many seconds a provider has to be left alone, and why: 0 and NULL when it may be asked now.$$;


CREATE OR REPLACE FUNCTION rag.set_budget(
    provider text,
    requests_per_minute integer DEFAULT NULL,
    tokens_per_minute bigint DEFAULT NULL,
    spend_cap double precision DEFAULT NULL,
    spend_period text DEFAULT 'day',
    token_price double precision DEFAULT 1,
    reset_spent boolean DEFAULT false)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _wrong text;
BEGIN
    IF coalesce(set_budget.provider, '') !~ '^[^[:space:]:]{1,200}$' THEN
        RAISE EXCEPTION 'provider % is not usable',
            coalesce(quote_literal(left(set_budget.provider, 200)), 'NULL')
        USING ERRCODE = 'RG001',
            HINT = 'use the name of a model up to its first colon, e.g. gemini';
    END IF;
    IF set_budget.spend_period IS NULL OR set_budget.spend_period NOT IN ('day', 'total') THEN
        RAISE EXCEPTION 'unknown spend_period %',
            coalesce(quote_literal(set_budget.spend_period), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use day or total';
    END IF;
    SELECT string_agg(format('%s is %s', v.name, v.value), ', ') INTO _wrong
    FROM (VALUES ('requests_per_minute', set_budget.requests_per_minute::double precision),
                 ('tokens_per_minute', set_budget.tokens_per_minute::double precision),
                 ('spend_cap', set_budget.spend_cap),
                 ('token_price', coalesce(set_budget.token_price, 0))) AS v (name, value)
    WHERE v.value <= 0;
    IF _wrong IS NOT NULL THEN
        RAISE EXCEPTION 'a budget is out of range: %', _wrong
        USING ERRCODE = 'RG001', HINT = 'use positive numbers, or NULL for no limit';
    END IF;
    INSERT INTO rag.budgets AS b
        (provider, requests_per_minute, tokens_per_minute, spend_cap, spend_period, token_price)
    VALUES (set_budget.provider, set_budget.requests_per_minute, set_budget.tokens_per_minute,
        set_budget.spend_cap,
            set_budget.spend_period, set_budget.token_price)
    ON CONFLICT ON CONSTRAINT budgets_pkey DO UPDATE SET
        requests_per_minute = excluded.requests_per_minute,
        tokens_per_minute = excluded.tokens_per_minute,
        spend_cap = excluded.spend_cap,
        spend_period = excluded.spend_period,
        token_price = excluded.token_price,
        spent = CASE WHEN reset_spent THEN 0 ELSE b.spent END,
        spent_since = CASE WHEN reset_spent THEN excluded.spent_since ELSE b.spent_since END;
    PERFORM pg_notify('rag_jobs', '');
END
$$;

COMMENT ON FUNCTION rag.set_budget IS
$$Limit what all workers together ask of a provider (gemini, openai: a model's name up to the
colon). Replaces its limits.

requests_per_minute, tokens_per_minute: NULL for no limit. spend_cap: units per spend_period, day
(UTC) or total; past it its jobs wait, and rag.explain_job and rag.job_stats say so. token_price:
units per million tokens, so that a unit is what you pay in; 1 counts millions of tokens. Tokens are
counted before each call, as the embedder estimates them; a cap may be exceeded by the calls that
are under way when it is reached. reset_spent: begin at 0.
Circle: application, Workers and budgets.
SELECT rag.set_budget('gemini', requests_per_minute => 60)$$;


CREATE OR REPLACE FUNCTION rag.take_budget(provider text, requests integer DEFAULT 1,
    tokens bigint DEFAULT 0)
RETURNS double precision
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _budget rag.budgets;
    _at timestamptz;
    _wait double precision;
BEGIN
    PERFORM rag._check_range('requests', requests, 0, NULL, 'RG001'),
        rag._check_range('tokens', tokens, 0, NULL, 'RG001');
    SELECT b.* INTO _budget FROM rag.budgets AS b
        WHERE b.provider = take_budget.provider FOR UPDATE;
    IF _budget.provider IS NULL THEN
        RETURN 0;
    END IF;
    _at := clock_timestamp();
    _budget := rag._current_budget(_budget, _at);
    SELECT c.wait_seconds INTO _wait FROM rag._check_budget(_budget, requests, tokens, _at) AS c;
    IF _wait > 0 THEN
        RETURN _wait;
    END IF;
    UPDATE rag.budgets AS b
    SET window_started_at = _budget.window_started_at,
        window_requests = _budget.window_requests + requests,
        window_tokens = _budget.window_tokens + tokens,
        spent_since = _budget.spent_since,
        spent = _budget.spent + tokens * b.token_price / 1e6
    WHERE b.provider = take_budget.provider;
    RETURN 0;
END
$$;

COMMENT ON FUNCTION rag.take_budget IS
$$Ask before calling a provider: 0 means go, and the call is counted; otherwise wait so many seconds
and ask again.

Infinity: until somebody raises the spend cap. A provider without a budget is always free. Call it
in a transaction of its own: the budget's row is locked until that ends.
Circle: worker, Workers and budgets.
SELECT rag.take_budget('gemini', 1, 2000)$$;


CREATE OR REPLACE FUNCTION rag.block_provider(provider text, seconds double precision,
    reason text DEFAULT 'its rate limit')
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF coalesce(length(block_provider.provider), 0) NOT BETWEEN 1 AND 200 THEN
        RAISE EXCEPTION 'the name of the provider has % characters',
            coalesce(length(block_provider.provider), 0)
        USING ERRCODE = 'RG001', HINT = 'use 1 to 200, e.g. gemini';
    END IF;
    PERFORM rag._check_range('seconds', block_provider.seconds, 0, 86400, 'RG001');
    INSERT INTO rag.budgets AS b (provider, blocked_until, blocked_reason)
    VALUES (block_provider.provider,
        clock_timestamp() + make_interval(secs => block_provider.seconds),
            left(block_provider.reason, 500))
    ON CONFLICT ON CONSTRAINT budgets_pkey DO UPDATE SET
        blocked_until = greatest(b.blocked_until, excluded.blocked_until),
        blocked_reason = excluded.blocked_reason;
END
$$;

COMMENT ON FUNCTION rag.block_provider IS
$$Leave a provider alone, as after a 429.
No worker asks it for so many seconds. A longer block stays.
Circle: worker, Workers and budgets.
SELECT rag.block_provider('gemini', 30)$$;


CREATE OR REPLACE FUNCTION rag.list_budgets()
RETURNS TABLE (provider text, requests_per_minute integer, tokens_per_minute bigint,
    window_requests bigint,
               window_tokens bigint, spend_cap double precision, spend_period text,
                   spent double precision,
               wait_seconds double precision, reason text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT b.provider, b.requests_per_minute, b.tokens_per_minute, n.window_requests,
        n.window_tokens,
           b.spend_cap, b.spend_period, n.spent, c.wait_seconds, c.reason
    FROM rag.budgets AS b,
    LATERAL rag._current_budget(ROW(b.*)::rag.budgets, clock_timestamp()) AS n,
    LATERAL rag._check_budget(ROW(b.*)::rag.budgets, 1, 1, clock_timestamp()) AS c
    ORDER BY b.provider;
END
$$;

COMMENT ON FUNCTION rag.list_budgets IS
$$Every provider with a budget: its limits, what is used of them, and for how long and why it is
left alone.
Circle: application, Workers and budgets.
SELECT * FROM rag.list_budgets()$$;


CREATE OR REPLACE FUNCTION rag.throttled_spaces()
RETURNS TABLE (collection_id integer, space_id integer, active boolean,
    wait_seconds double precision, reason text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT s.collection_id, s.space_id, s.state = 'active', c.wait_seconds, c.reason
    FROM rag.budgets AS b
    JOIN rag.spaces AS s ON s.dropped_at IS NULL AND split_part(s.model, ':', 1) = b.provider,
    LATERAL rag._check_budget(ROW(b.*)::rag.budgets, 1, 1, clock_timestamp()) AS c
    WHERE c.wait_seconds > 0;
END
$$;

COMMENT ON FUNCTION rag.throttled_spaces IS
$$Spaces whose provider may not be asked now.
With the reason: their jobs are not taken. A document is ingested for the active one.
Circle: worker, Workers and budgets.
SELECT * FROM rag.throttled_spaces()$$;
