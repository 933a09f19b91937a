-- Keys of the HTTP service: made, listed and revoked by the owner; looked up, and counted.

CREATE OR REPLACE FUNCTION rag.make_service_key(
    key_name text,
    role_name text DEFAULT NULL,
    scopes text[] DEFAULT '{read,ask,write,operate}',
    settings jsonb DEFAULT '{}',
    limits jsonb DEFAULT '{}',
    expires_at timestamptz DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    known_scopes CONSTANT text[] := '{read,ask,write,operate}';
    known_limits CONSTANT text[] := '{requests_per_minute,requests_per_day,tokens_per_minute,'
        'tokens_per_day,cost_per_minute,cost_per_day}';
    -- Three random UUIDs have more than 256 random bits, and need no extension.
    _secret CONSTANT text := 'rag_' || encode(sha256(uuid_send(gen_random_uuid())
        || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
BEGIN
    PERFORM rag._require_owner('make a key of the service');
    IF coalesce(make_service_key.key_name, '') !~ '^[^[:space:][:cntrl:]]{1,100}$' THEN
        RAISE EXCEPTION 'key name % is not usable',
            coalesce(quote_literal(left(make_service_key.key_name, 200)), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 1 to 100 characters without spaces';
    END IF;
    IF make_service_key.role_name IS NOT NULL AND NOT EXISTS (
        SELECT FROM pg_roles AS r WHERE r.rolname = make_service_key.role_name) THEN
        RAISE EXCEPTION 'there is no role %', quote_literal(left(make_service_key.role_name, 200))
        USING ERRCODE = 'RG002',
            HINT = 'SELECT rolname FROM pg_roles lists them; CREATE ROLE makes one';
    END IF;
    IF coalesce(make_service_key.scopes, '{}') = '{}'
        OR NOT make_service_key.scopes <@ known_scopes THEN
        RAISE EXCEPTION 'scopes % are unknown',
            coalesce(left(make_service_key.scopes::text, 200), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use some of ' || array_to_string(known_scopes, ', ');
    END IF;
    IF jsonb_typeof(make_service_key.settings) IS DISTINCT FROM 'object' OR EXISTS (
        SELECT FROM jsonb_each(CASE jsonb_typeof(make_service_key.settings)
            WHEN 'object' THEN make_service_key.settings END) AS s (name, value)
        WHERE s.name !~ '^[a-z_][a-z0-9_]*[.][a-z_][a-z0-9_]*$' OR s.name = 'rag.service_key'
            OR jsonb_typeof(s.value) <> 'string') THEN
        RAISE EXCEPTION 'the settings are no object of texts by names such as app.tenant'
        USING ERRCODE = 'RG001', HINT = 'write {"app.tenant": "7"}';
    END IF;
    IF jsonb_typeof(make_service_key.limits) IS DISTINCT FROM 'object' OR EXISTS (
        SELECT FROM jsonb_each(CASE jsonb_typeof(make_service_key.limits)
            WHEN 'object' THEN make_service_key.limits END) AS l (name, value)
        WHERE l.name <> ALL (known_limits) OR CASE jsonb_typeof(l.value)
            WHEN 'number' THEN l.value::numeric NOT BETWEEN 0 AND 1e15 ELSE true END) THEN
        RAISE EXCEPTION 'the limits are no object of numbers from 0 to 10^15 by their names'
        USING ERRCODE = 'RG001', HINT = 'use some of ' || array_to_string(known_limits, ', ');
    END IF;
    INSERT INTO rag.service_keys AS k
        (key_name, digest, role_name, scopes, settings, limits, expires_at)
    VALUES (make_service_key.key_name, sha256(_secret::bytea), make_service_key.role_name,
        make_service_key.scopes, make_service_key.settings, make_service_key.limits,
        make_service_key.expires_at)
    ON CONFLICT ON CONSTRAINT service_keys_pkey DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is or was a key %', quote_literal(make_service_key.key_name)
        USING ERRCODE = 'RG012', HINT = 'give it a name of its own: logs tell keys by it';
    END IF;
    RETURN _secret;
END
$$;

COMMENT ON FUNCTION rag.make_service_key IS
$$Make a key of the HTTP service and return its secret.
The secret is kept nowhere: only its SHA-256 is.

role_name: whose rights its statements have; NULL: those of the service. scopes: some of read, ask
(which may read, too), write, operate. settings: what holds in its transactions, for policies:
{"app.tenant": "7"}. limits: {"requests_per_minute", "requests_per_day", "tokens_per_minute",
"tokens_per_day", "cost_per_minute", "cost_per_day"} (UTC, US dollars); one that is missing is none.
expires_at: NULL: never. Error RG012 where there is or was a key of that name. The caller owns the
tables of schema rag.
Circle: application, HTTP service.
SELECT rag.make_service_key('website',
  limits => '{"requests_per_minute": 60}')$$;


CREATE OR REPLACE FUNCTION rag.revoke_service_key(key_name text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _now CONSTANT timestamptz := clock_timestamp();
BEGIN
    PERFORM rag._require_owner('revoke a key of the service');
    UPDATE rag.service_keys AS k SET revoked_at = _now
    WHERE k.key_name = revoke_service_key.key_name AND k.revoked_at IS NULL;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION rag.revoke_service_key IS
$$Revoke a key of the HTTP service, from its next request on.
False where there is none that was not revoked. The caller owns the tables of schema rag.
Circle: application, HTTP service.
SELECT rag.revoke_service_key('website')$$;


CREATE OR REPLACE FUNCTION rag.list_service_keys()
RETURNS TABLE (key_name text, role_name text, scopes text[], settings jsonb, limits jsonb,
    created_at timestamptz, expires_at timestamptz, revoked_at timestamptz,
    requests bigint, tokens bigint, cost double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._require_owner('list the keys of the service');
    RETURN QUERY
    SELECT k.key_name, k.role_name, k.scopes, k.settings, k.limits, k.created_at, k.expires_at,
        k.revoked_at, coalesce(u.requests, 0), coalesce(u.tokens, 0), coalesce(u.cost, 0)
    FROM rag.service_keys AS k
    LEFT JOIN rag.service_key_uses AS u ON u.key_name = k.key_name AND u.period = 'day'
        AND u.since = date_trunc('day', clock_timestamp(), 'UTC')
    ORDER BY k.key_name;
END
$$;

COMMENT ON FUNCTION rag.list_service_keys IS
$$The keys of the HTTP service, and what each has used today (UTC): requests, tokens, US dollars.
The caller owns the tables of schema rag.
Circle: application, HTTP service.
SELECT * FROM rag.list_service_keys()$$;


CREATE OR REPLACE FUNCTION rag.use_service_key(
    digest bytea,
    tokens bigint DEFAULT NULL,
    cost double precision DEFAULT NULL)
RETURNS TABLE (key_name text, role_name text, scopes text[], settings jsonb, refused text,
    wait_seconds double precision)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    _at CONSTANT timestamptz := clock_timestamp();
    _spends CONSTANT boolean := use_service_key.tokens IS NOT NULL
        OR use_service_key.cost IS NOT NULL;
    _key rag.service_keys;
    _reached text;
BEGIN
    PERFORM rag._check_range('tokens', coalesce(use_service_key.tokens, 0), 0, 1e12, 'RG001'),
        rag._check_range('cost', coalesce(use_service_key.cost, 0), 0, 1e12, 'RG001');
    SELECT k.* INTO _key FROM rag.service_keys AS k WHERE k.digest = use_service_key.digest;
    IF _key.key_name IS NULL THEN
        RETURN;
    END IF;
    key_name := _key.key_name;
    role_name := _key.role_name;
    scopes := _key.scopes;
    settings := _key.settings;
    wait_seconds := 0;
    refused := CASE WHEN _key.revoked_at IS NOT NULL THEN 'revoked'
        WHEN _key.expires_at <= _at THEN 'expired'
        WHEN _key.role_name IS NOT NULL AND NOT EXISTS (
            SELECT FROM pg_roles AS r WHERE r.rolname = _key.role_name) THEN 'without its role'
        END;
    -- A standby counts nothing, and serves the keys that have no limits.
    IF (refused IS NULL OR _spends)
        AND NOT (_key.limits = '{}' AND current_setting('transaction_read_only')::boolean) THEN
        INSERT INTO rag.service_key_uses AS u
            (key_name, period, since, requests, tokens, cost)
        SELECT _key.key_name, p.period, date_trunc(p.period, _at, 'UTC'), 0,
            coalesce(use_service_key.tokens, 0), coalesce(use_service_key.cost, 0)
        FROM (VALUES ('day'), ('minute')) AS p (period)
        ON CONFLICT ON CONSTRAINT service_key_uses_pkey DO UPDATE SET
            since = greatest(u.since, excluded.since),
            requests = CASE WHEN u.since < excluded.since THEN 0 ELSE u.requests END,
            tokens = CASE WHEN u.since < excluded.since THEN 0 ELSE u.tokens END
                + excluded.tokens,
            cost = CASE WHEN u.since < excluded.since THEN 0 ELSE u.cost END + excluded.cost;
        -- The row of the day is locked by now, so that requests are counted one by one.
        SELECT l.name, extract(epoch FROM u.since + ('1 ' || u.period)::interval - _at)
        INTO _reached, wait_seconds
        FROM rag.service_key_uses AS u,
        LATERAL (VALUES ('requests', u.requests), ('tokens', u.tokens), ('cost', u.cost))
            AS n (name, used),
        LATERAL (SELECT format('%s_per_%s', n.name, u.period) AS name) AS l
        WHERE u.key_name = _key.key_name
            AND n.used >= (_key.limits ->> l.name)::double precision
            AND NOT (_spends AND n.name = 'requests')
        ORDER BY 2 DESC LIMIT 1;
        refused := coalesce(refused, _reached);
        wait_seconds := coalesce(wait_seconds, 0);
        IF refused IS NULL AND NOT _spends THEN
            UPDATE rag.service_key_uses AS u SET requests = u.requests + 1
            WHERE u.key_name = _key.key_name;
        END IF;
    END IF;
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION rag.use_service_key IS
$$What the HTTP service asks for each request: whose key has this SHA-256, and whether it may go on.

No row: there is no such key. refused: NULL; revoked, expired, without its role (which was dropped
or renamed); or the limit that is reached, such as requests_per_minute, and then wait_seconds until
it ends; a request that is not refused is counted.
With tokens or cost (US dollars) no request is counted but what one has used, also beyond a limit:
rag.record_usage calls it so for transactions with the setting rag.service_key, a digest in hex.
refused is then the limit of tokens or cost that is reached by it.

It runs with its owner's rights: a service needs no right on the tables of keys. A digest is found
by an index; how long that takes tells nothing of a secret, of which it is the hash.
Circle: client, HTTP service.
SELECT * FROM rag.use_service_key(sha256('rag_0'))$$;
