-- Calls to a worker: left, taken, answered, read.

CREATE OR REPLACE FUNCTION rag._add_request(collection text, request_kind text,
    request_arguments jsonb,
                                           wait_seconds double precision)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(_add_request.collection);
    _id bigint;
BEGIN
    IF coalesce(rag._is_blank(request_arguments ->> 'question'), true) THEN
        RAISE EXCEPTION 'the question is empty' USING ERRCODE = 'RG004', HINT = 'ask for something';
    END IF;
    IF wait_seconds IS NULL OR wait_seconds <= 0 OR wait_seconds > 3600 THEN
        RAISE EXCEPTION 'timeout % is out of range', coalesce(wait_seconds::text, 'NULL')
        USING ERRCODE = 'RG004', HINT = 'use seconds above 0, up to 3600';
    END IF;
    INSERT INTO rag.worker_calls AS r (collection_id, kind, arguments, expires_at)
    VALUES (_collection.collection_id, request_kind, request_arguments,
            clock_timestamp() + make_interval(secs => wait_seconds))
    RETURNING r.request_id INTO _id;
    PERFORM pg_notify('rag_requests', '');
    RETURN _id;
END
$$;

COMMENT ON FUNCTION rag._add_request IS
$$Leave a request for a worker and wake one when the transaction commits. It expires after
wait_seconds. Its answer is read by who waits, or later by its argument answer_key.$$;


CREATE OR REPLACE FUNCTION rag.take_request(worker_name text, collections text[] DEFAULT NULL,
    kinds text[] DEFAULT NULL)
RETURNS TABLE (request_id bigint, kind text, collection_name text, arguments jsonb)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _now CONSTANT timestamptz := clock_timestamp();
BEGIN
    PERFORM rag._require_writable('rag.take_request', 'marks a request as taken');
    RETURN QUERY
    UPDATE rag.worker_calls AS r
    SET worker = worker_name
    FROM (
        SELECT x.request_id, c.name
        FROM rag.worker_calls AS x
        JOIN rag.collections AS c ON c.collection_id = x.collection_id AND c.dropped_at IS NULL
        WHERE x.worker IS NULL AND x.expires_at > _now
            AND (collections IS NULL OR c.name = ANY (collections))
            AND (kinds IS NULL OR x.kind = ANY (kinds))
        ORDER BY x.request_id
        LIMIT 1
        FOR UPDATE OF x SKIP LOCKED
    ) AS due
    WHERE r.request_id = due.request_id
    RETURNING r.request_id, r.kind, due.name, r.arguments;
END
$$;

COMMENT ON FUNCTION rag.take_request IS
$$The oldest request that no worker has, or no row. A request is taken once: whoever asked waits no
longer than its time.

kinds: only these, NULL: any; so that questions which are embedded in a moment do not stand behind
answers. kind embed_query: answer {"embedding": [...]} for arguments.question. kind ask: answer the
question from the documents, with arguments.limit, arguments.filter and arguments.options; see
rag.ask.
Circle: worker, Requests.
SELECT * FROM rag.take_request('worker-1')$$;


CREATE OR REPLACE FUNCTION rag.answer_request(request_id bigint, result jsonb,
    error text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._require_writable('rag.answer_request', 'keeps the answer');
    UPDATE rag.worker_calls AS r
    SET result = answer_request.result, error = answer_request.error
    WHERE r.request_id = answer_request.request_id;
END
$$;

COMMENT ON FUNCTION rag.answer_request IS
$$A worker's answer to a request, or the error that stands in its way. Nothing happens when nobody
waits any more.
Circle: worker, Requests.
SELECT rag.answer_request(1, '{}')$$;


CREATE OR REPLACE FUNCTION rag._request_failure(of_request rag.worker_calls, OUT message text,
    OUT remedy text)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF of_request.error IS NOT NULL THEN
        message := format('worker %s could not answer: %s', of_request.worker, of_request.error);
        remedy := 'its log says more';
    ELSIF of_request.result IS NOT NULL OR clock_timestamp() < of_request.expires_at THEN
        RETURN;
    ELSIF of_request.worker IS NOT NULL THEN
        message := format('worker %s took the request but did not answer in time',
            of_request.worker);
        remedy := 'raise timeout, or look at the worker''s log';
    ELSE
        message := 'no worker answered in time';
        remedy := 'start one: rag-pg worker (with the same database); or raise timeout when all '
            'are busy';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._request_failure IS
$$Why a request has no answer and will get none; NULLs for one that has, or may get one.$$;


CREATE OR REPLACE FUNCTION rag._read_answer(of_request bigint)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _request rag.worker_calls;
    _failure record;
BEGIN
    SELECT r.* INTO _request FROM rag.worker_calls AS r WHERE r.request_id = of_request;
    _failure := rag._request_failure(_request);
    IF _failure.message IS NOT NULL THEN
        RAISE EXCEPTION '%', _failure.message
        USING ERRCODE = 'RG009', HINT = _failure.remedy;
    END IF;
    IF _request.result IS NOT NULL THEN
        DELETE FROM rag.worker_calls AS r WHERE r.request_id = of_request;
    END IF;
    RETURN _request.result;
END
$$;

COMMENT ON FUNCTION rag._read_answer IS
$$The answer to a request, which is then gone; NULL while there is none; error RG009 when it failed
or came too late.$$;


CREATE OR REPLACE FUNCTION rag.answer_of(request uuid)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _request rag.worker_calls;
    _failure record;
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'this server is a standby, which has no requests'
        USING ERRCODE = 'RG007', HINT = 'ask the primary';
    END IF;
    SELECT r.* INTO _request FROM rag.worker_calls AS r
    WHERE r.arguments ->> 'answer_key' = answer_of.request::text;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no request %', coalesce(answer_of.request::text, 'NULL')
        USING ERRCODE = 'RG002',
            HINT = 'an answer is kept for an hour after the timeout of rag.request_answer';
    END IF;
    _failure := rag._request_failure(_request);
    RETURN CASE
        WHEN _failure.message IS NOT NULL THEN jsonb_build_object('state', 'failed',
            'error', concat(_failure.message, '; ', _failure.remedy))
        WHEN _request.result IS NOT NULL
            THEN jsonb_build_object('state', 'done', 'answer', _request.result)
        ELSE jsonb_build_object('state', 'pending') END;
END
$$;

COMMENT ON FUNCTION rag.answer_of IS
$$What became of a question that rag.request_answer left.

{"state": "pending"}, {"state": "done", "answer": {...}} with the answer of rag.ask, or {"state":
"failed", "error": "..."}. It only reads: ask as often as you like. Error RG002 for a request that
is not there (any more).
Circle: application, Requests.
SELECT rag.answer_of('6a1c1c1e-0000-4000-8000-000000000001')$$;
