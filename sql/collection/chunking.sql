-- How the documents of a collection are cut: checked, and changed.

CREATE OR REPLACE FUNCTION rag._check_chunking(chunking jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    methods CONSTANT text[] :=
        '{auto,text,markdown,code,conversation,fixed,sentence,semantic,small-to-big}';
    _method text := CASE WHEN chunking ? 'method' THEN chunking ->> 'method' ELSE 'auto' END;
    _wrong text;
BEGIN
    IF jsonb_typeof(chunking) <> 'object' THEN
        RAISE EXCEPTION 'chunking is a JSON %', jsonb_typeof(chunking) USING ERRCODE = 'RG001',
        HINT = 'use a JSON object, e.g. {"max_tokens": 256}';
    END IF;
    SELECT min(k.key) INTO _wrong FROM jsonb_object_keys(chunking) AS k (key)
    WHERE k.key NOT IN ('max_tokens', 'overlap', 'method', 'parent_tokens', 'breakpoint');
    IF _wrong IS NOT NULL THEN
        RAISE EXCEPTION 'unknown chunking setting %', quote_literal(_wrong) USING ERRCODE = 'RG001',
        HINT = 'known: max_tokens, overlap, method, parent_tokens, breakpoint';
    END IF;
    IF coalesce(_method <> ALL (methods), true)
        OR jsonb_typeof(chunking -> 'method') <> 'string' THEN
        RAISE EXCEPTION 'chunking method is %', chunking -> 'method' USING ERRCODE = 'RG001',
        HINT = 'take ' || array_to_string(methods, ', ');
    END IF;
    SELECT format('chunking %s is %s; it must be %s to %s', r.key, v.value, r.low, r.high)
        INTO _wrong
    FROM (VALUES ('max_tokens', 16, 8192, true), ('overlap', 0, 0.5, false),
        ('breakpoint', 0, 1, false),
                 ('parent_tokens', 16, 65536, true)) AS r (key, low, high, whole),
    LATERAL (SELECT chunking -> r.key AS value) AS v
    WHERE v.value IS NOT NULL
        AND CASE WHEN jsonb_typeof(v.value) = 'number'
                 THEN v.value::numeric NOT BETWEEN r.low AND r.high OR r.whole
                     AND v.value::text LIKE '%.%'
                 ELSE true END
    LIMIT 1;
    IF _wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', _wrong USING ERRCODE = 'RG001',
            HINT = 'max_tokens and parent_tokens are whole numbers';
    END IF;
    SELECT format('chunking %s is for the method %s, not %s', o.key, o.of, _method) INTO _wrong
    FROM (VALUES ('parent_tokens', 'small-to-big'), ('breakpoint', 'semantic')) AS o (key, of)
    WHERE chunking ? o.key AND o.of <> _method
    LIMIT 1;
    IF _wrong IS NULL AND (chunking ->> 'overlap')::numeric > 0
        AND _method NOT IN ('auto', 'text', 'markdown', 'code', 'fixed') THEN
        _wrong := format('chunking overlap is %s, but the method %s repeats nothing',
            chunking -> 'overlap', _method);
    END IF;
    IF _wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', _wrong USING ERRCODE = 'RG001', HINT = 'leave it out';
    END IF;
    IF _method = 'small-to-big' AND coalesce((chunking ->> 'parent_tokens')::integer, 512)
                                    <= coalesce((chunking ->> 'max_tokens')::integer, 64) THEN
        RAISE EXCEPTION 'chunking parent_tokens is %, max_tokens is %',
            coalesce(chunking ->> 'parent_tokens', '512'),
            coalesce(chunking ->> 'max_tokens', '64')
        USING ERRCODE = 'RG001', HINT = 'a parent must be larger than its chunks';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_chunking IS
$$Error RG001 naming the setting that a worker could not cut documents by: rag.create_collection
lists them.$$;


CREATE OR REPLACE FUNCTION rag.set_chunking(collection text, chunking jsonb,
    force boolean DEFAULT false)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(set_chunking.collection);
    _chunking jsonb := coalesce(set_chunking.chunking, '{}');
    _candidates bigint[];
BEGIN
    PERFORM rag._check_chunking(_chunking);
    IF _collection.chunking <> _chunking AND EXISTS (
        SELECT FROM rag.gates AS g WHERE g.collection_id = _collection.collection_id)
    THEN
        IF force THEN
            PERFORM rag._record_gate_check(_collection.collection_id,
                'set_chunking ' || _chunking::text, 'forced');
        ELSE
            _candidates := rag._measure_gates(_collection.collection_id, _chunking);
            PERFORM rag._enforce_gates(_collection.collection_id,
                'set_chunking ' || _chunking::text,
                rag._measure_gates(_collection.collection_id), _candidates);
        END IF;
    END IF;
    UPDATE rag.collections AS c SET chunking = _chunking
    WHERE c.collection_id = _collection.collection_id AND c.chunking <> _chunking;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    DELETE FROM rag.backlogs AS b WHERE b.collection_id = _collection.collection_id
        AND b.kind = 'ingest';
    INSERT INTO rag.backlogs (backlog_id, collection_id, kind)
    VALUES (rag._next_id('backlogs', 'backlog_id'), _collection.collection_id, 'ingest');
    PERFORM pg_notify('rag_jobs', '');
    RETURN (SELECT count(*) FROM rag.documents AS d
        WHERE d.collection_id = _collection.collection_id);
END
$$;

COMMENT ON FUNCTION rag.set_chunking IS
$$Change how documents are cut, and cut them again.
They are queued for it. Returns how many documents there are.

Workers queue and cut them again in the background, after newly put ones. Documents stay searchable
by their old chunks until the new ones are stored; chunks whose text stays the same keep their id
and their vectors. Documents whose chunks were brought ready-made (without offsets) are left as they
are. 0: the collection is cut like this already. chunking: see rag.create_collection.

Gates of the collection (rag.set_gate) want a run on a copy that is cut like this (error RG007), not
worse than the collection as it is (error RG010); force => true goes on without them, and is
recorded.
Circle: application, Collections.
SELECT rag.set_chunking('docs', '{"max_tokens": 128}')$$;
