-- Sets of questions with what is right for them: put, listed, removed.

CREATE OR REPLACE FUNCTION rag._require_eval_set(wanted text)
RETURNS rag.eval_sets
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found rag.eval_sets;
BEGIN
    SELECT s.* INTO _found FROM rag.eval_sets AS s WHERE s.name = wanted;
    IF _found.set_id IS NULL THEN
        RAISE EXCEPTION 'there is no evaluation set %',
            coalesce(quote_literal(left(wanted, 200)), 'NULL')
        USING ERRCODE = 'RG002', HINT = coalesce(
            (SELECT 'sets here: ' || string_agg(n.name, ', ' ORDER BY n.name)
             FROM (SELECT s.name FROM rag.eval_sets AS s ORDER BY s.name LIMIT 10) AS n),
            'make one with rag.put_eval_set(name)');
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._require_eval_set IS
$$The evaluation set of that name, or error RG002 naming those that exist.$$;


CREATE OR REPLACE FUNCTION rag.put_eval_set(set_name text, description text DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer;
BEGIN
    IF coalesce(set_name, '') !~ '^[^[:space:]/]{1,100}$' THEN
        RAISE EXCEPTION 'name % of an evaluation set is not usable',
            coalesce(quote_literal(left(set_name, 200)), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use 1 to 100 characters without spaces or slashes';
    END IF;
    INSERT INTO rag.eval_sets AS s (set_id, name, description)
    VALUES (rag._next_id('eval_sets', 'set_id'), set_name, coalesce(put_eval_set.description, ''))
    ON CONFLICT (name) DO NOTHING;
    UPDATE rag.eval_sets AS s SET description = put_eval_set.description
    WHERE s.name = set_name AND s.description <> put_eval_set.description;
    SELECT s.set_id INTO STRICT _id FROM rag.eval_sets AS s WHERE s.name = set_name;
    RETURN _id;
END
$$;

COMMENT ON FUNCTION rag.put_eval_set IS
$$Make an evaluation set, or give one another description. Returns its id.
Circle: application, Evaluation.
SELECT rag.put_eval_set('faq', 'what users ask')$$;


CREATE OR REPLACE FUNCTION rag._read_judgements(relevant jsonb)
RETURNS TABLE (uri text, quote text, start_offset integer, stop_offset integer,
    grade double precision)
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _entry jsonb;
    _grade jsonb;
    _span text;
BEGIN
    IF jsonb_typeof(relevant) = 'object' AND NOT relevant ? 'uri' THEN
        relevant := (SELECT jsonb_agg(jsonb_build_object('uri', o.key, 'grade', o.value)
            ORDER BY o.key) FROM jsonb_each(relevant) AS o);
    ELSIF jsonb_typeof(relevant) IN ('string', 'object') THEN
        relevant := jsonb_build_array(relevant);
    END IF;
    IF jsonb_typeof(coalesce(relevant, '[]')) NOT IN ('array', 'null') THEN
        RAISE EXCEPTION 'relevant is a JSON %', jsonb_typeof(relevant) USING ERRCODE = 'RG001',
        HINT = 'use ["uri", ...], {"uri": grade, ...} or [{"uri": "...", "quote": "...", '
            '"grade": 1}, ...]';
    END IF;
    FOR _entry IN SELECT e.value FROM jsonb_array_elements(
        CASE jsonb_typeof(relevant) WHEN 'array' THEN relevant ELSE '[]' END) AS e
    LOOP
        IF jsonb_typeof(_entry) = 'string' THEN
            _entry := jsonb_build_object('uri', _entry);
        END IF;
        _grade := coalesce(nullif(_entry -> 'grade', 'null'), '1');
        SELECT string_agg(k.name, ', ') INTO _span
        FROM jsonb_object_keys(CASE jsonb_typeof(_entry) WHEN 'object' THEN _entry ELSE '{}' END)
            AS k (name)
        WHERE k.name NOT IN ('uri', 'quote', 'start', 'stop', 'grade');
        IF jsonb_typeof(_entry) <> 'object' OR jsonb_typeof(_entry -> 'uri') IS DISTINCT FROM
            'string' OR _entry ->> 'uri' = '' OR _span IS NOT NULL THEN
            RAISE EXCEPTION 'a judgement is %', left(_entry::text, 200)
            USING ERRCODE = 'RG001',
            HINT = 'a judgement is a uri, or an object of uri and perhaps quote, start and stop, '
                'grade';
        END IF;
        IF octet_length(_entry ->> 'uri') > 2000 THEN
            RAISE EXCEPTION 'the uri of a judgement has % bytes', octet_length(_entry ->> 'uri')
            USING ERRCODE = 'RG001', HINT = 'no document has one of more than 2000';
        END IF;
        IF jsonb_typeof(_grade) <> 'number' OR NOT _grade::text::numeric BETWEEN 0
            AND 1000000 THEN
            RAISE EXCEPTION 'a grade is %', left(_grade::text, 100) USING ERRCODE = 'RG001',
            HINT = 'use a number, 0 to 1000000; above 0 is relevant';
        END IF;
        IF (nullif(_entry -> 'start', 'null') IS NULL) <> (nullif(_entry -> 'stop', 'null') IS NULL)
            OR coalesce(_entry ->> 'start', '0') !~ '^[0-9]{1,9}$'
            OR coalesce(_entry ->> 'stop', '1') !~ '^[0-9]{1,9}$'
            OR (_entry ->> 'start')::integer >= (_entry ->> 'stop')::integer THEN
            RAISE EXCEPTION 'a passage goes from % to %', left(coalesce(_entry ->> 'start',
                'nowhere'), 100), left(coalesce(_entry ->> 'stop', 'nowhere'), 100)
            USING ERRCODE = 'RG001',
            HINT = 'start and stop are characters of the document, from 0, start before stop';
        END IF;
        IF jsonb_typeof(coalesce(_entry -> 'quote', 'null')) NOT IN ('string', 'null')
            OR rag._is_blank(_entry ->> 'quote') THEN
            RAISE EXCEPTION 'a quote is %', left(_entry ->> 'quote', 100) USING ERRCODE = 'RG001',
            HINT = 'use a text that stands in the document, or leave it out';
        END IF;
        uri := _entry ->> 'uri';
        quote := _entry ->> 'quote';
        start_offset := _entry ->> 'start';
        stop_offset := _entry ->> 'stop';
        grade := _grade::text;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._read_judgements IS
$$The judgements of a question as rows; error RG001 for what is none.

relevant: a uri, an array of uris and of objects (uri, quote, start, stop, grade), or grades by
uri.$$;


CREATE OR REPLACE FUNCTION rag._read_texts(given jsonb, field text)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF jsonb_typeof(given) = 'string' THEN
        RETURN ARRAY[given #>> '{}'];
    ELSIF coalesce(jsonb_typeof(given), 'null') = 'null' THEN
        RETURN '{}';
    ELSIF jsonb_typeof(given) <> 'array'
        OR jsonb_path_exists(given, 'strict $[*] ? (@.type() != "string")') THEN
        RAISE EXCEPTION '% is %', field, left(given::text, 100) USING ERRCODE = 'RG001',
        HINT = 'use a text or an array of texts';
    END IF;
    RETURN ARRAY(SELECT t.item FROM jsonb_array_elements_text(given) AS t (item));
END
$$;

COMMENT ON FUNCTION rag._read_texts IS
$$A text, or an array of texts, as an array; error RG001 that names the field.$$;


CREATE OR REPLACE FUNCTION rag._save_eval_query(of_set integer, entry jsonb, default_source text)
RETURNS TABLE (query_id text, state text)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _row rag.eval_queries;
    _old rag.eval_queries;
    _judgements rag.eval_judgements[];
    _stored rag.eval_judgements[];
    _unknown text;
BEGIN
    IF jsonb_typeof(entry) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'a question is a JSON %', coalesce(jsonb_typeof(entry), 'null')
        USING ERRCODE = 'RG001', HINT = 'use an object: {"question": "...", "relevant": ["uri"]}';
    END IF;
    SELECT min(k.name) INTO _unknown FROM jsonb_object_keys(entry) AS k (name)
    WHERE k.name NOT IN ('id', 'question', 'category', 'source', 'unanswerable', 'relevant',
        'answers', 'expected_terms', 'expected_metadata', 'min_score');
    IF _unknown IS NOT NULL THEN
        RAISE EXCEPTION 'a question has no field %', to_json(left(_unknown, 100)) USING
            ERRCODE = 'RG001',
        HINT = 'use id, question, category, source, unanswerable, relevant, answers, '
            'expected_terms, expected_metadata, min_score';
    END IF;
    SELECT min(f.name) INTO _unknown
    FROM unnest('{id,question,category,source,unanswerable,expected_metadata,min_score}'::text[],
        '{string,string,string,string,boolean,object,number}'::text[]) AS f (name, type)
    WHERE jsonb_typeof(coalesce(entry -> f.name, 'null')) NOT IN ('null', f.type);
    IF _unknown IS NOT NULL THEN
        RAISE EXCEPTION '% is %', _unknown, left((entry -> _unknown)::text, 100)
        USING ERRCODE = 'RG001', HINT = 'id, question, category and source are texts, '
            'unanswerable true or false, expected_metadata an object, min_score a number';
    END IF;
    IF coalesce(rag._is_blank(entry ->> 'question'), true) THEN
        RAISE EXCEPTION 'a question has no text' USING ERRCODE = 'RG001',
        HINT = 'set its field question';
    END IF;
    IF octet_length(entry ->> 'question') > 100000 THEN
        RAISE EXCEPTION 'the question has % bytes', octet_length(entry ->> 'question')
        USING ERRCODE = 'RG001', HINT = 'use at most 100000';
    ELSIF octet_length(entry ->> 'id') NOT BETWEEN 1 AND 2000 THEN
        RAISE EXCEPTION 'the id of the question has % bytes', octet_length(entry ->> 'id')
        USING ERRCODE = 'RG001', HINT = 'use 1 to 2000, or leave the id out';
    ELSIF octet_length(entry ->> 'category') > 2000 THEN
        RAISE EXCEPTION 'the category of the question has % bytes',
            octet_length(entry ->> 'category')
        USING ERRCODE = 'RG001', HINT = 'use at most 2000';
    END IF;
    _row.set_id := of_set;
    _row.question := entry ->> 'question';
    _row.query_id := coalesce(entry ->> 'id',
        left(encode(rag.content_hash(_row.question), 'hex'), 12));
    _row.category := coalesce(entry ->> 'category', '');
    _row.source := coalesce(entry ->> 'source', default_source);
    _row.unanswerable := coalesce((entry ->> 'unanswerable')::boolean, false);
    _row.answers := rag._read_texts(entry -> 'answers', 'answers');
    _row.expected_terms := rag._read_texts(entry -> 'expected_terms', 'expected_terms');
    _row.expected_metadata := coalesce(nullif(entry -> 'expected_metadata', 'null'), '{}');
    _row.min_score := (entry ->> 'min_score')::double precision;
    PERFORM rag._compile_filter(NULL, _row.expected_metadata);
    IF _row.source IS NULL OR _row.source NOT IN ('human', 'synthetic', 'feedback', 'log') THEN
        RAISE EXCEPTION 'the source of a question is %', coalesce(quote_literal(left(_row.source,
            100)), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use human, synthetic, feedback or log';
    END IF;
    -- An erasure that is under way is waited for, and then known.
    PERFORM rag._await_erasures(0);
    SELECT array_agg(ROW(of_set, _row.query_id, j.n, j.uri, j.quote, j.start_offset,
        j.stop_offset, j.grade)::rag.eval_judgements ORDER BY j.n)
    INTO _judgements
    FROM rag._read_judgements(entry -> 'relevant') WITH ORDINALITY
        AS j (uri, quote, start_offset, stop_offset, grade, n);
    IF _row.unanswerable AND EXISTS (SELECT FROM unnest(_judgements) AS j WHERE j.grade > 0) THEN
        RAISE EXCEPTION 'question % is unanswerable and has what is relevant',
            to_json(_row.query_id)
        USING ERRCODE = 'RG001', HINT = 'leave out unanswerable, or relevant';
    END IF;
    IF _row.source <> 'human' AND EXISTS (
        SELECT FROM unnest(_judgements) AS j
        JOIN rag.erasures AS e
            ON e.document_hashes @> ARRAY[encode(sha256(convert_to(j.uri, 'UTF8')), 'hex')]
        WHERE NOT rag._has_document(e.collection, j.uri)) THEN
        RAISE EXCEPTION 'question % was made from a document that was erased',
            to_json(_row.query_id)
        USING ERRCODE = 'RG001', HINT = 'leave it out';
    END IF;

    SELECT q.* INTO _old FROM rag.eval_queries AS q
    WHERE q.set_id = of_set AND q.query_id = _row.query_id;
    SELECT array_agg(j ORDER BY j.judgement_number) INTO _stored FROM rag.eval_judgements AS j
    WHERE j.set_id = of_set AND j.query_id = _row.query_id;
    _row.created_at := coalesce(_old.created_at, now());
    query_id := _row.query_id;
    state := CASE WHEN _old.query_id IS NULL THEN 'added' WHEN _old IS DISTINCT FROM _row
        OR _stored IS DISTINCT FROM _judgements THEN 'updated' ELSE 'unchanged' END;
    IF state <> 'unchanged' THEN
        INSERT INTO rag.eval_queries AS q SELECT _row.*
        ON CONFLICT (set_id, query_id) DO UPDATE
        SET question = excluded.question, category = excluded.category, source = excluded.source,
            unanswerable = excluded.unanswerable, answers = excluded.answers,
            expected_terms = excluded.expected_terms,
            expected_metadata = excluded.expected_metadata, min_score = excluded.min_score;
        DELETE FROM rag.eval_judgements AS j
        WHERE j.set_id = of_set AND j.query_id = _row.query_id;
        INSERT INTO rag.eval_judgements AS j SELECT n.* FROM unnest(_judgements) AS n;
    END IF;
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION rag._save_eval_query IS
$$Store a question with its judgements; state is added, updated or unchanged. Errors RG001 and, of
its filter, RG004 say what is wrong with it.$$;


CREATE OR REPLACE FUNCTION rag.put_eval_queries(set_name text, queries jsonb,
    source text DEFAULT 'human')
RETURNS TABLE (entry_number integer, query_id text, state text, reason text)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET enable_seqscan = off  -- a set is filled in one call: its tables' statistics are of before
AS $$
#variable_conflict use_column
DECLARE
    _id integer := rag.put_eval_set(set_name);
    _entry jsonb;
BEGIN
    IF jsonb_typeof(queries) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'the questions are no JSON array' USING ERRCODE = 'RG001',
        HINT = 'pass [{"question": "...", "relevant": ["uri", ...]}, ...]';
    END IF;
    FOR entry_number, _entry IN
        SELECT e.n, e.value FROM jsonb_array_elements(queries) WITH ORDINALITY AS e (value, n)
        ORDER BY e.n
    LOOP
        reason := NULL;
        BEGIN
            SELECT s.query_id, s.state INTO query_id, state
            FROM rag._save_eval_query(_id, _entry, put_eval_queries.source) AS s;
        EXCEPTION WHEN SQLSTATE 'RG001' OR SQLSTATE 'RG004' OR data_exception THEN
            query_id := CASE WHEN jsonb_typeof(_entry) = 'object' THEN _entry ->> 'id' END;
            state := 'rejected';
            reason := SQLERRM;
        END;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.put_eval_queries IS
$$Store questions in a set, which is made when there is none. A row for each entry, from 1: state is
added, updated, unchanged or rejected, and why. A bad entry does not stop the others.

queries: [{"question": text, "id": text, "category": text, "relevant": …, "answers": [text, …],
"unanswerable": boolean, "expected_terms": [text, …], "expected_metadata": filter, "min_score":
number, "source": text}, …]; only question is needed. relevant: uris, grades by uri, or objects of
uri, quote or start and stop, and grade. An id that is known replaces that question; without one it
is made from the text. source: human, synthetic, feedback or log, where an entry has none.
Circle: application, Evaluation.
SELECT * FROM rag.put_eval_queries('faq', '[{"question": "a"}]')$$;


CREATE OR REPLACE FUNCTION rag.list_eval_sets()
RETURNS TABLE (name text, description text, queries bigint, judgements bigint,
    unanswerable bigint, categories text[], sources text[], runs bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT s.name, s.description, coalesce(q.queries, 0), coalesce(j.judgements, 0),
           coalesce(q.unanswerable, 0), coalesce(q.categories, '{}'), coalesce(q.sources, '{}'),
           coalesce(r.runs, 0)
    FROM rag.eval_sets AS s
    LEFT JOIN (
        SELECT e.set_id, count(*) AS queries,
               count(*) FILTER (WHERE e.unanswerable) AS unanswerable,
               array_agg(DISTINCT e.category) FILTER (WHERE e.category <> '') AS categories,
               array_agg(DISTINCT e.source) AS sources
        FROM rag.eval_queries AS e GROUP BY e.set_id
    ) AS q ON q.set_id = s.set_id
    LEFT JOIN (
        SELECT e.set_id, count(*) AS judgements FROM rag.eval_judgements AS e GROUP BY e.set_id
    ) AS j ON j.set_id = s.set_id
    LEFT JOIN (
        SELECT e.set_id, count(*) AS runs FROM rag.eval_runs AS e GROUP BY e.set_id
    ) AS r ON r.set_id = s.set_id
    ORDER BY s.name;
END
$$;

COMMENT ON FUNCTION rag.list_eval_sets IS
$$Every evaluation set: how many questions, judgements and runs it has.
Circle: application, Evaluation.
SELECT * FROM rag.list_eval_sets()$$;


CREATE OR REPLACE FUNCTION rag.list_eval_queries(set_name text)
RETURNS TABLE (query_id text, question text, category text, source text, unanswerable boolean,
    relevant jsonb, answers text[], expected_terms text[], expected_metadata jsonb,
    min_score double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_eval_set(set_name)).set_id;
BEGIN
    RETURN QUERY
    SELECT q.query_id, q.question, q.category, q.source, q.unanswerable,
           -- by the primary key, whatever the planner thinks of new tables
           coalesce((
               SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('uri', e.uri,
                   'quote', e.quote, 'start', e.start_offset, 'stop', e.stop_offset,
                   'grade', e.grade)) ORDER BY e.judgement_number)
               FROM rag.eval_judgements AS e
               WHERE e.set_id = _id AND e.query_id = q.query_id), '[]'),
           q.answers, q.expected_terms, q.expected_metadata, q.min_score
    FROM rag.eval_queries AS q
    WHERE q.set_id = _id
    ORDER BY q.query_id COLLATE "C";
END
$$;

COMMENT ON FUNCTION rag.list_eval_queries IS
$$The questions of a set as rag.put_eval_queries takes them.
Circle: application, Evaluation.
SELECT * FROM rag.list_eval_queries('faq')$$;


CREATE OR REPLACE FUNCTION rag.delete_eval_queries(set_name text, query_ids text[])
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_eval_set(set_name)).set_id;
    _count bigint;
BEGIN
    DELETE FROM rag.eval_judgements AS j WHERE j.set_id = _id AND j.query_id = ANY (query_ids);
    DELETE FROM rag.eval_embeddings AS e WHERE e.set_id = _id AND e.query_id = ANY (query_ids);
    DELETE FROM rag.eval_queries AS q WHERE q.set_id = _id AND q.query_id = ANY (query_ids);
    GET DIAGNOSTICS _count = ROW_COUNT;
    RETURN _count;
END
$$;

COMMENT ON FUNCTION rag.delete_eval_queries IS
$$Remove questions from a set; return how many there were. What runs found for them stays.
Circle: application, Evaluation.
SELECT rag.delete_eval_queries('faq', '{q1}')$$;


CREATE OR REPLACE FUNCTION rag.drop_eval_set(set_name text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_eval_set(set_name)).set_id;
    _gated text;
BEGIN
    SELECT min(c.name) INTO _gated
    FROM rag.gates AS g JOIN rag.collections AS c ON c.collection_id = g.collection_id
    WHERE g.set_id = _id;
    IF _gated IS NOT NULL THEN
        RAISE EXCEPTION 'collection % has a gate on set %', quote_literal(_gated),
            quote_literal(drop_eval_set.set_name)
        USING ERRCODE = 'RG007', HINT = 'rag.drop_gate removes it';
    END IF;
    PERFORM rag.drop_eval_run(r.run_id) FROM rag.eval_runs AS r WHERE r.set_id = _id;
    DELETE FROM rag.eval_judgements AS j WHERE j.set_id = _id;
    DELETE FROM rag.eval_embeddings AS e WHERE e.set_id = _id;
    DELETE FROM rag.eval_queries AS q WHERE q.set_id = _id;
    DELETE FROM rag.eval_sets AS s WHERE s.set_id = _id;
END
$$;

COMMENT ON FUNCTION rag.drop_eval_set IS
$$Remove a set with its questions and its runs. Error RG007 while a gate is on it.
Circle: application, Evaluation.
SELECT rag.drop_eval_set('faq')$$;


CREATE OR REPLACE FUNCTION rag._set_fingerprint(of_set integer)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT encode(sha256(coalesce(string_agg(sha256(convert_to(p.line, 'UTF8')), ''::bytea
            ORDER BY p.query_id COLLATE "C", p.n), '')), 'hex')
        FROM (
            SELECT q.query_id, 0 AS n,
                   jsonb_build_array(q.query_id, q.question, q.category, q.unanswerable, q.answers,
                       q.expected_terms, q.expected_metadata, q.min_score)::text AS line
            FROM rag.eval_queries AS q WHERE q.set_id = of_set
            UNION ALL
            SELECT j.query_id, j.judgement_number,
                   jsonb_build_array(j.query_id, j.uri, j.quote, j.start_offset, j.stop_offset,
                       j.grade)::text
            FROM rag.eval_judgements AS j WHERE j.set_id = of_set
        ) AS p);
END
$$;

COMMENT ON FUNCTION rag._set_fingerprint IS
$$A hash of the questions and judgements of a set: runs with equal ones are of the same
questions.$$;


CREATE OR REPLACE FUNCTION rag.add_logged_queries(set_name text, collection text,
    since timestamptz DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(add_logged_queries.collection)).collection_id;
    _queries jsonb;
BEGIN
    -- what an erasure under way removes is seen as gone
    PERFORM rag._await_erasures(_id);
    -- without an id, which is then made from the text: a question asked again has the same
    SELECT jsonb_agg(jsonb_build_object('question', x.question, 'source', x.source,
        'category', x.category, 'relevant', x.relevant) ORDER BY x.answered_at, x.answer_id)
    INTO _queries
    FROM (
        SELECT DISTINCT ON (a.question) a.answer_id, a.question, a.answered_at,
            CASE WHEN f.rating IS NULL THEN 'log' ELSE 'feedback' END AS source,
            CASE WHEN f.rating > 0 THEN 'liked' WHEN f.rating < 0 THEN 'disliked'
                ELSE 'unanswered' END AS category,
            CASE WHEN f.rating > 0 THEN (
                SELECT coalesce(jsonb_agg(DISTINCT jsonb_build_object('uri', c -> 'uri', 'quote',
                    c -> 'quote')), '[]')
                FROM jsonb_array_elements(a.citations) AS c
                WHERE c ->> 'status' IN ('exact', 'normalised')
                    AND c ->> 'supports' IS DISTINCT FROM 'false' AND coalesce((
                    SELECT sum(v.rating) FROM rag.answer_feedback AS v
                    WHERE v.answer_id = a.answer_id AND v.collection_id = _id
                        AND v.citation::text = c ->> 'number'), 0) >= 0)
                ELSE '[]'::jsonb END AS relevant
        FROM rag.answer_log AS a
        LEFT JOIN LATERAL (
            SELECT sum(v.rating) AS rating FROM rag.answer_feedback AS v
            WHERE v.answer_id = a.answer_id AND v.collection_id = _id AND v.citation IS NULL
        ) AS f ON true
        WHERE a.collection_id = _id AND (since IS NULL OR a.answered_at >= since)
            AND (NOT a.found OR NOT a.sufficient OR f.rating <> 0)
            AND NOT EXISTS (
                SELECT FROM rag.eval_sets AS s
                JOIN rag.eval_queries AS q ON q.set_id = s.set_id
                WHERE s.name = add_logged_queries.set_name AND (q.question = a.question
                    OR q.query_id = left(encode(rag.content_hash(a.question), 'hex'), 12)))
        ORDER BY a.question, a.answered_at DESC
    ) AS x;
    IF _queries IS NULL THEN
        RETURN 0;
    END IF;
    RETURN (SELECT count(*) FROM rag.put_eval_queries(set_name, _queries) AS p
            WHERE p.state = 'added');
END
$$;

COMMENT ON FUNCTION rag.add_logged_queries IS
$$Add logged questions to an evaluation set: those that nothing, or not enough, was found for
(source log), and those whose answers were liked or disliked (source feedback). Returns how many
were added.

A liked answer brings its proven citations as judgements, by uri and quote, but for those that were
disliked or do not support their statement; the others have none yet and await a person's. A
question that the set has already stays as it is, with what people said of it.
Circle: application, History.
SELECT rag.add_logged_queries('asked', 'docs')$$;
