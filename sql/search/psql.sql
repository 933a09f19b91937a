-- Searches and answers from psql alone: a worker embeds or answers.
--
-- The procedures commit, so they can have no SET clause.

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
    IF _message OPERATOR(pg_catalog.=) rag._refused_commit() THEN
        RAISE EXCEPTION '% cannot run inside a transaction block', called USING ERRCODE = 'RG001',
        HINT = 'it commits, so that a worker sees the request: call it in autocommit mode, '
            'without BEGIN and not from a function';
    END IF;
END
$$;

COMMENT ON PROCEDURE rag._require_no_transaction IS
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

COMMENT ON PROCEDURE rag._call_worker IS
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

COMMENT ON PROCEDURE rag.embed_query IS
$$Have a worker embed a question.

Have a worker embed a question with the collection's model, and wait for it. For psql and other
programs without a model.

It commits: outside a transaction block only. timeout: seconds until error RG009, which says how to
start a worker.
Circle: application, Requests.
CALL rag.embed_query('docs', 'fish')$$;


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

COMMENT ON PROCEDURE rag.search_text IS
$$Hybrid search from a question alone: a worker embeds it, then rag.search runs, with the caller's
rights.

options: as of rag.explain_search. results is an array of its rows as objects, best first; rag.hits
makes rows of it again. It commits: outside a transaction block only. timeout: as for
rag.embed_query.
Circle: application 4, Requests.
CALL rag.search_text('docs', 'fish')$$;


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

COMMENT ON FUNCTION rag._search_json IS
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

COMMENT ON FUNCTION rag.hits IS
$$The rows of what rag.search_text gave, best first. In psql: CALL rag.search_text(…) \gset, then
SELECT score, uri, heading FROM rag.hits(:'results').
Circle: application, Requests.
SELECT uri FROM rag.hits('[{"chunk_id": 1, "uri": "a"}]')$$;


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

COMMENT ON FUNCTION rag._check_ask_options IS
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

COMMENT ON PROCEDURE rag.ask IS
$$Have a worker answer a question.

Have a worker answer a question from the documents, with its language model (RAG_PG_LLM;
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
rag.embed_query.
Circle: application 6, Requests.
CALL rag.ask('docs', 'Do fish swim?')$$;


CREATE OR REPLACE FUNCTION rag.request_answer(
    collection text,
    question text,
    result_limit integer DEFAULT 8,
    metadata_filter jsonb DEFAULT '{}',
    options jsonb DEFAULT '{}',
    timeout double precision DEFAULT 120)
RETURNS uuid
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _key uuid := gen_random_uuid();
BEGIN
    PERFORM rag._require_writable('rag.request_answer', 'leaves its question for a worker',
        'rag.search, with query_embedding, and rag.search_keyword only read');
    PERFORM rag._check_ask_options(options);
    PERFORM rag._add_request(request_answer.collection, 'ask',
        jsonb_build_object('question', question, 'limit', result_limit,
            'filter', metadata_filter, 'options', options, 'timeout', timeout,
            'answer_key', _key), timeout);
    RETURN _key;
END
$$;

COMMENT ON FUNCTION rag.request_answer IS
$$Leave a question for a worker.

As rag.ask, for those who cannot CALL or cannot wait: inside a transaction, by PostgREST, from a
lambda, through an ORM. Returns what rag.answer_of reads the answer by; who knows it may read it.

A worker takes the question when the transaction commits. timeout: seconds, 0 to 3600, until it has
to be answered; the answer is kept for an hour more.
Circle: application, Requests.
SELECT rag.request_answer('docs', 'Do fish swim?')$$;
