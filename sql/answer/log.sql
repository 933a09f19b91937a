-- The log of answers, for collections that keep one, and what people say of them.

CREATE OR REPLACE FUNCTION rag._was_erased(of_collection rag.collections, uris text[],
    seconds double precision)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    -- after an erasure that is under way, in whose transaction nobody sees the receipt yet
    PERFORM rag._await_lock(rag._erasure_lock(of_collection.collection_id), shared => true);
    PERFORM rag._settle_erasures();
    RETURN rag._erased_since_snapshot() OR EXISTS (
        SELECT FROM rag.erasures AS e
        WHERE e.collection = of_collection.name
            AND coalesce(e.settled_at, 'infinity') > clock_timestamp()
                - make_interval(secs => 60 + least(greatest(coalesce(seconds, 0), 0), 86400))
            AND (uris IS NULL OR e.document_hashes && ARRAY(
                SELECT encode(sha256(convert_to(u.uri, 'UTF8')), 'hex')
                FROM unnest(uris) AS u (uri))));
END
$$;

COMMENT ON FUNCTION rag._was_erased IS
$$Whether one of these documents (NULL: any of the collection) was erased since an answer was begun.
seconds: how long the answer took; one minute more is for clocks and what came between. Until the
transaction ends no erasure of the collection can remove what was there before.$$;


CREATE OR REPLACE FUNCTION rag.log_answer(collection text, answer_id uuid, question text,
    answer jsonb)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    longest CONSTANT integer := 100000;
    _collection rag.collections := rag._require_collection(log_answer.collection);
    _own CONSTANT integer[] := rag._own_collections();
    _retrieved text[];
    _notes text[];
    _unknown text;
BEGIN
    IF _collection.keep_answers <= interval '0'
        OR rag._scope(_collection.collection_id) IS NOT NULL THEN
        RETURN false;
    END IF;
    IF answer_id IS NULL OR jsonb_typeof(answer) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'an answer to log has an id and is a JSON object, not a JSON %',
            coalesce(jsonb_typeof(answer), 'null')
        USING ERRCODE = 'RG001', HINT = 'pass what rag.ask returns';
    END IF;
    SELECT min(k.name) INTO _unknown FROM jsonb_object_keys(answer) AS k (name)
    WHERE k.name <> ALL ('{text,found,citations,sufficient,reason,strategy,model,notes,steps,usage'
        ',cost,seconds,trace_id,unsupported,freshness,tool_results,cached,support,retrieved}');
    IF _unknown IS NOT NULL THEN
        RAISE EXCEPTION 'an answer has no field %', to_json(left(_unknown, 100))
        USING ERRCODE = 'RG001', HINT = 'pass what rag.ask returns, and retrieved';
    END IF;
    IF jsonb_typeof(answer -> 'retrieved') = 'array' THEN
        _retrieved := ARRAY(SELECT DISTINCT u.uri FROM (
            SELECT jsonb_array_elements_text(answer -> 'retrieved')
            UNION ALL
            SELECT c ->> 'uri' FROM jsonb_array_elements(
                coalesce(nullif(answer -> 'citations', 'null'), '[]')) AS c) AS u (uri)
            WHERE u.uri IS NOT NULL ORDER BY u.uri);
    END IF;
    IF EXISTS (SELECT FROM rag.answer_log AS a WHERE a.answer_id = log_answer.answer_id
            AND a.collection_id = ANY (_own))
        OR rag._was_erased(_collection, _retrieved, (answer ->> 'seconds')::double precision) THEN
        RETURN false;
    END IF;
    _notes := ARRAY(SELECT jsonb_array_elements_text(
        coalesce(nullif(answer -> 'notes', 'null'), '[]')));
    INSERT INTO rag.answer_log (answer_id, collection_id, question, answer, found, sufficient,
        reason, strategy, model, citations, retrieved, notes, prompt_tokens, answer_tokens, cost,
        seconds)
    VALUES (
        log_answer.answer_id, _collection.collection_id, left(coalesce(log_answer.question, ''),
            longest),
        left(coalesce(answer ->> 'text', ''), longest),
        coalesce((answer ->> 'found')::boolean, false), (answer ->> 'sufficient')::boolean,
        coalesce(answer ->> 'reason', ''), coalesce(answer ->> 'strategy', ''),
        coalesce(answer ->> 'model', ''), coalesce(nullif(answer -> 'citations', 'null'), '[]'),
        coalesce(_retrieved, '{}'),
        _notes,
        coalesce((answer #>> '{usage,prompt_tokens}')::bigint, 0),
        coalesce((answer #>> '{usage,answer_tokens}')::bigint, 0),
        (answer ->> 'cost')::double precision,
        coalesce((answer ->> 'seconds')::double precision, 0))
    ON CONFLICT ON CONSTRAINT answer_log_pkey DO NOTHING;
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION rag.log_answer IS
$$Keep an answer, where the collection says so.

Keep an answer with its question and its citations, where the collection keeps answers (see
rag.alter_collection); false where it does not, or has this one, or where a document that it was
made from was erased meanwhile, or for a tenant in a shared collection.

answer_id: the trace id of the answer. answer: as rag.ask returns it; retrieved: the uris of all
documents that were found for it, NULL where they are not all known: such an answer goes with any
document that is erased. The client and the workers call this.
Circle: client, History.
SELECT rag.log_answer('docs', gen_random_uuid(),
    'Why?', '{"text": "So."}')$$;


CREATE OR REPLACE FUNCTION rag._require_answer(answer_id uuid)
RETURNS rag.answer_log
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _answer rag.answer_log;
    _own CONSTANT integer[] := rag._own_collections();
BEGIN
    SELECT a.* INTO _answer
    FROM rag.answer_log AS a JOIN rag.collections AS c ON c.collection_id = a.collection_id
    WHERE a.answer_id = _require_answer.answer_id AND a.collection_id = ANY (_own);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no answer %', coalesce(answer_id::text, 'NULL')
        USING ERRCODE = 'RG002', HINT = 'answers are kept where the collection says so: '
            'rag.alter_collection(..., keep_answers => ''90 days'')';
    END IF;
    RETURN _answer;
END
$$;

COMMENT ON FUNCTION rag._require_answer IS
$$The row of a logged answer, or error RG002.$$;


CREATE OR REPLACE FUNCTION rag.feedback(answer_id uuid, rating integer, comment text DEFAULT '',
    citation integer DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _answer rag.answer_log := rag._require_answer(feedback.answer_id);
    _id bigint;
BEGIN
    IF rating IS NULL OR rating NOT IN (-1, 1) THEN
        RAISE EXCEPTION 'rating is %', coalesce(rating::text, 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 1 (thumb up) or -1 (thumb down)';
    END IF;
    IF citation IS NOT NULL AND NOT EXISTS (
        SELECT FROM jsonb_array_elements(_answer.citations) AS c
        WHERE c ->> 'number' = citation::text) THEN
        RAISE EXCEPTION 'the answer has no citation %', citation
        USING ERRCODE = 'RG001', HINT = 'pass the number of one, or NULL for the whole answer';
    END IF;
    -- An erasure that is under way may remove the answer.
    PERFORM rag._await_erasures(_answer.collection_id);
    _answer := rag._require_answer(feedback.answer_id);
    INSERT INTO rag.answer_feedback AS f (answer_id, collection_id, rating, citation, comment)
    VALUES (_answer.answer_id, _answer.collection_id, feedback.rating, feedback.citation,
        left(coalesce(feedback.comment, ''), 10000))
    RETURNING f.feedback_id INTO _id;
    RETURN _id;
END
$$;

COMMENT ON FUNCTION rag.feedback IS
$$Note what somebody says of a logged answer: rating 1 (thumb up) or -1 (thumb down), of the whole
answer or of one of its citations by its number. Returns the number of the note.
Circle: application, History.
SELECT rag.feedback(answer_id, 1) FROM rag.list_answers('docs')$$;


CREATE OR REPLACE FUNCTION rag.list_answers(collection text, since timestamptz DEFAULT NULL,
    only_open boolean DEFAULT false, result_limit integer DEFAULT 100)
RETURNS TABLE (answer_id uuid, answered_at timestamptz, question text, answer text, found boolean,
    reason text, strategy text, model text, sources text[], likes bigint, dislikes bigint,
    comments text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _id integer := (rag._require_collection(list_answers.collection)).collection_id;
BEGIN
    PERFORM rag._check_range('limit', result_limit, 1, 1000);
    RETURN QUERY
    SELECT a.answer_id, a.answered_at, a.question, a.answer, a.found, a.reason, a.strategy, a.model,
        ARRAY(SELECT DISTINCT c ->> 'uri' FROM jsonb_array_elements(a.citations) AS c ORDER BY 1),
        f.likes, f.dislikes, f.comments
    FROM rag.answer_log AS a
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE x.rating = 1) AS likes,
            count(*) FILTER (WHERE x.rating = -1) AS dislikes,
            coalesce(array_agg(x.comment ORDER BY x.feedback_id)
                FILTER (WHERE x.comment <> ''), '{}') AS comments
        FROM rag.answer_feedback AS x
        WHERE x.answer_id = a.answer_id AND x.collection_id = _id
    ) AS f
    WHERE a.collection_id = _id AND (since IS NULL OR a.answered_at >= since)
        AND (NOT only_open OR NOT a.found OR f.dislikes > 0)
    ORDER BY a.answered_at DESC, a.answer_id
    LIMIT result_limit;
END
$$;

COMMENT ON FUNCTION rag.list_answers IS
$$Logged answers and what was said of them.

Logged answers of a collection, the latest first, with what was said of them. only_open: those
that nothing was found for, or that somebody disliked.
Circle: application, History.
SELECT question, likes FROM rag.list_answers('docs')$$;


CREATE OR REPLACE FUNCTION rag.replay_answer(answer_id uuid)
RETURNS TABLE (number integer, uri text, quote text, version_then integer, stood_then boolean,
    version_now integer, stands_now boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _answer rag.answer_log := rag._require_answer(replay_answer.answer_id);
    _name text := (SELECT c.name FROM rag.collections AS c
        WHERE c.collection_id = _answer.collection_id);
BEGIN
    RETURN QUERY
    SELECT (c.value ->> 'number')::integer, c.value ->> 'uri', c.value ->> 'quote',
        t.version, rag._holds_quote(t.content, c.value ->> 'quote'),
        n.version, rag._holds_quote(n.content, c.value ->> 'quote')
    FROM jsonb_array_elements(_answer.citations) WITH ORDINALITY AS c (value, position)
    LEFT JOIN LATERAL rag.document_at(_name, c.value ->> 'uri', _answer.answered_at) AS t ON true
    LEFT JOIN LATERAL rag.document_at(_name, c.value ->> 'uri', 'infinity') AS n ON true
    ORDER BY c.position;
END
$$;

COMMENT ON FUNCTION rag.replay_answer IS
$$Its citations against its sources as they were and are.

Each citation of a logged answer against what its source said when it was asked, and says now.

version_then, stood_then: NULL where that version is not kept. A quote stands in a text as
rag.check_citation proves it: exactly, or but for spaces, quotation marks, case and hyphenation.
Circle: application, History.
SELECT r.* FROM rag.list_answers('docs') AS a,
    rag.replay_answer(a.answer_id) AS r$$;
