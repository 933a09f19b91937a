-- Calls to a worker: psql alone asks, a worker embeds or answers.
--
-- The procedures commit, so they can have no SET clause.

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
    IF coalesce(btrim(request_arguments ->> 'question'), '') = '' THEN
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

COMMENT ON FUNCTION rag._add_request(text, text, jsonb, double precision) IS
$$Leave a request for a worker and wake one when the transaction commits. It expires after
wait_seconds.$$;


CREATE OR REPLACE FUNCTION rag.take_request(worker_name text, collections text[] DEFAULT NULL,
    kinds text[] DEFAULT NULL)
RETURNS TABLE (request_id bigint, kind text, collection_name text, arguments jsonb)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    PERFORM rag._require_writable('rag.take_request', 'marks a request as taken');
    RETURN QUERY
    UPDATE rag.worker_calls AS r
    SET worker = worker_name
    FROM (
        SELECT x.request_id, c.name
        FROM rag.worker_calls AS x
        JOIN rag.collections AS c ON c.collection_id = x.collection_id AND c.dropped_at IS NULL
        WHERE x.worker IS NULL AND x.expires_at > clock_timestamp()
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

COMMENT ON FUNCTION rag.take_request(text, text[], text[]) IS
$$The oldest request that no worker has, or no row. A request is taken once: whoever asked waits no
longer than its time.

kinds: only these, NULL: any; so that questions which are embedded in a moment do not stand behind
answers. kind embed_query: answer {"embedding": [...]} for arguments.question. kind ask: answer the
question from the documents, with arguments.limit, arguments.filter and arguments.options; see
rag.ask.$$;


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

COMMENT ON FUNCTION rag.answer_request(bigint, jsonb, text) IS
$$A worker's answer to a request, or the error that stands in its way. Nothing happens when nobody
waits any more.$$;


CREATE OR REPLACE FUNCTION rag._read_answer(of_request bigint)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _request rag.worker_calls;
BEGIN
    SELECT r.* INTO _request FROM rag.worker_calls AS r WHERE r.request_id = of_request;
    IF _request.error IS NOT NULL THEN
        RAISE EXCEPTION 'worker % could not answer: %', _request.worker, _request.error
        USING ERRCODE = 'RG009', HINT = 'its log says more';
    ELSIF _request.result IS NOT NULL THEN
        DELETE FROM rag.worker_calls AS r WHERE r.request_id = of_request;
        RETURN _request.result;
    ELSIF _request.request_id IS NOT NULL AND clock_timestamp() < _request.expires_at THEN
        RETURN NULL;
    ELSIF _request.worker IS NOT NULL THEN
        RAISE EXCEPTION 'worker % took the request but did not answer in time', _request.worker
        USING ERRCODE = 'RG009', HINT = 'raise timeout, or look at the worker''s log';
    END IF;
    RAISE EXCEPTION 'no worker answered in time' USING ERRCODE = 'RG009',
    HINT = 'start one: rag-pg worker (with the same database); or raise timeout when all are busy';
END
$$;

COMMENT ON FUNCTION rag._read_answer(bigint) IS
$$The answer to a request, which is then gone; NULL while there is none; error RG009 when it failed
or came too late.$$;


CREATE OR REPLACE FUNCTION rag._remove_requests()
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _removed integer;
BEGIN
    DELETE FROM rag.worker_calls AS r WHERE r.expires_at < clock_timestamp() - interval '1 minute';
    GET DIAGNOSTICS _removed = ROW_COUNT;
    RETURN _removed;
END
$$;

COMMENT ON FUNCTION rag._remove_requests() IS
$$Remove requests that expired a minute ago and nobody read. Returns how many.$$;


CREATE OR REPLACE PROCEDURE rag._require_no_transaction(called text)
LANGUAGE plpgsql
AS $$
DECLARE
    _message pg_catalog.text;
BEGIN
    BEGIN
        -- refused in either case, for this block is a subtransaction: the message tells them apart
        COMMIT;
    EXCEPTION WHEN invalid_transaction_termination THEN
        _message := SQLERRM;
    END;
    IF _message OPERATOR(pg_catalog.=) 'invalid transaction termination' THEN
        RAISE EXCEPTION '% cannot run inside a transaction block', called USING ERRCODE = 'RG001',
        HINT = 'it commits, so that a worker sees the request: call it in autocommit mode, '
            'without BEGIN and not from a function';
    END IF;
END
$$;

COMMENT ON PROCEDURE rag._require_no_transaction(text) IS
$$Error RG001 inside a transaction block, where a procedure cannot commit.$$;


CREATE OR REPLACE PROCEDURE rag._call_worker(collection text, request_kind text,
    request_arguments jsonb,
                                                       wait_seconds double precision,
                                                           INOUT answer jsonb DEFAULT NULL)
LANGUAGE plpgsql
AS $$
DECLARE
    _id bigint;
    _pause double precision := 0.002;
BEGIN
    CALL rag._require_no_transaction(pg_catalog.concat('rag.', request_kind));
    PERFORM rag._require_writable(pg_catalog.concat('rag.', request_kind),
        'leaves its question for a worker',
        'rag.search, with query_embedding, and rag.search_keyword only read');
    _id := rag._add_request(collection, request_kind, request_arguments, wait_seconds);
    COMMIT;
    LOOP
        answer := rag._read_answer(_id);
        COMMIT;
        EXIT WHEN answer IS NOT NULL;
        PERFORM pg_catalog.pg_sleep(_pause);
        COMMIT;
        _pause := LEAST(0.02, _pause OPERATOR(pg_catalog.*) 1.1);
    END LOOP;
END
$$;

COMMENT ON PROCEDURE rag._call_worker(text, text, jsonb, double precision, jsonb) IS
$$Leave a request, commit, and look every few milliseconds, with no transaction open between, until
it is answered.$$;


CREATE OR REPLACE PROCEDURE rag.embed_query(
    collection text,
    question text,
    INOUT embedding {vector}.halfvec DEFAULT NULL,
    timeout double precision DEFAULT 10)
LANGUAGE plpgsql
AS $$
DECLARE
    _answer pg_catalog.jsonb;
BEGIN
    CALL rag._call_worker(
        collection, 'embed_query', pg_catalog.jsonb_build_object('question', question), timeout,
            _answer);
    embedding := _answer OPERATOR(pg_catalog.->>) 'embedding';
END
$$;

COMMENT ON PROCEDURE rag.embed_query(text, text, {vector}.halfvec, double precision) IS
$$Have a worker embed a question with the collection's model, and wait for it. For psql and other
programs without a model.

It commits: outside a transaction block only. timeout: seconds until error RG009, which says how to
start a worker.$$;


CREATE OR REPLACE PROCEDURE rag.search_text(
    collection text,
    question text,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    options jsonb DEFAULT '{}',
    timeout double precision DEFAULT 10,
    INOUT results jsonb DEFAULT NULL)
LANGUAGE plpgsql
AS $$
DECLARE
    _answer pg_catalog.jsonb;
BEGIN
    CALL rag._require_no_transaction('rag.search_text');
    PERFORM rag._require_writable('rag.search_text', 'leaves its question for a worker',
        'rag.search, with query_embedding, and rag.search_keyword only read');
    PERFORM rag._check_search_options(options);
    CALL rag._call_worker(
        collection, 'embed_query', pg_catalog.jsonb_build_object('question', question), timeout,
            _answer);
    results := rag._search_json(
        collection, question, _answer OPERATOR(pg_catalog.->>) 'embedding', result_limit,
            metadata_filter, options);
END
$$;

COMMENT ON PROCEDURE rag.search_text(text, text, integer, jsonb, jsonb, double precision, jsonb) IS
$$Hybrid search from a question alone: a worker embeds it, then rag.search runs, with the caller's
rights.

options: as of rag.explain_search. results is an array of its rows as objects, best first; rag.hits
makes rows of it again. It commits: outside a transaction block only. timeout: as for
rag.embed_query.$$;


CREATE OR REPLACE FUNCTION rag._search_json(
    collection text, question text, embedding text, result_limit integer, metadata_filter jsonb,
        options jsonb)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT coalesce(jsonb_agg(to_jsonb(h)), '[]')
        FROM rag._search_hits(rag._check_search_arguments(
            _search_json.collection, question, embedding::{vector}.halfvec,
                _search_json.result_limit,
            _search_json.metadata_filter, _search_json.options)) AS h);
END
$$;

COMMENT ON FUNCTION rag._search_json(text, text, text, integer, jsonb, jsonb) IS
$$The rows of rag.search as one JSON array, best first.$$;


CREATE OR REPLACE FUNCTION rag.hits(results jsonb)
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF jsonb_typeof(results) <> 'array'
        OR jsonb_path_exists(results, 'strict $[*] ? (@.type() != "object")', '{}', true) THEN
        RAISE EXCEPTION 'the results are no JSON array of objects' USING ERRCODE = 'RG001',
        HINT = 'pass what rag.search_text or rag.ask gave';
    END IF;
    RETURN QUERY SELECT h.* FROM jsonb_populate_recordset(NULL::rag.hit, results) AS h;
END
$$;

COMMENT ON FUNCTION rag.hits(jsonb) IS
$$The rows of what rag.search_text gave, best first. In psql: CALL rag.search_text(…) \gset, then
SELECT score, uri, heading FROM rag.hits(:'results').$$;


CREATE OR REPLACE FUNCTION rag._check_ask_options(options jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF octet_length(options::text) > 200000 THEN
        RAISE EXCEPTION 'the options have % bytes', octet_length(options::text)
        USING ERRCODE = 'RG004',
        HINT = 'use at most 200000; leave out the oldest turns of the history';
    END IF;
    PERFORM rag._check_search_options(options, '{
        "strategy": "string", "verify": "string", "unsupported": "string", "rewrite": "array",
        "history": "array", "time_zone": "string", "max_steps": "integer", "max_tokens": "integer",
        "max_cost": "number", "timeout": "number", "min_support": "number"}', 'a question');
END
$$;

COMMENT ON FUNCTION rag._check_ask_options(jsonb) IS
$$Error RG004 for an option of rag.ask that there is none of, whose value is of another JSON type,
or that is too long.$$;


CREATE OR REPLACE PROCEDURE rag.ask(
    collection text,
    question text,
    INOUT answer jsonb DEFAULT NULL,
    result_limit integer DEFAULT 8,
    metadata_filter jsonb DEFAULT '{}',
    options jsonb DEFAULT '{}',
    timeout double precision DEFAULT 120)
LANGUAGE plpgsql
AS $$
BEGIN
    CALL rag._require_no_transaction('rag.ask');
    PERFORM rag._check_ask_options(options);
    CALL rag._call_worker(
        collection, 'ask',
        pg_catalog.jsonb_build_object('question', question, 'limit', result_limit,
            'filter', metadata_filter, 'options', options, 'timeout', timeout),
        timeout, answer);
END
$$;

COMMENT ON PROCEDURE rag.ask(text, text, jsonb, integer, jsonb, jsonb, double precision) IS
$$Have a worker answer a question from the documents, with its language model (RAG_PG_LLM;
extractive without one).

answer: {"text", "found", "citations": [{"number", "start", "stop", "chunk_id", "chunk_start",
"chunk_stop", "document_id", "document_start", "document_stop", "version", "uri", "title",
"heading", "page", "page_kind", "quote", "status", "similarity", "supports"}], "unsupported",
"freshness", "sufficient", "support", "reason", "strategy", "model", "notes", "steps", "usage",
"cost", "seconds", "trace_id"}, as Answer in Python. result_limit: how many passages are read.
options: strategy (auto, extractive, single, verify, self_ask, iterative, evidence, agent,
full_context, or one that the worker registered), verify (once, strict), unsupported (drop, mark,
keep), rewrite (array of names), history (array of {"role", "content"}), time_zone, max_steps,
max_tokens, max_cost, min_support (0 to 1: refuse what the calibration does not show to be right
that often), timeout (of the answer, in seconds; default: 95 % of that below), and those of
rag.explain_search; null is the default. Which models answer is the worker's setting. The worker
searches with its own rights. It commits: outside a transaction block only. timeout: as for
rag.embed_query.$$;
