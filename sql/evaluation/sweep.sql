-- Sweeps: runs that need not be made again, and runs of temporary copies of a collection.

CREATE OR REPLACE FUNCTION rag._equal_runs(set_name text, collection text,
    any_collection boolean DEFAULT false)
RETURNS TABLE (run_id bigint, kind text, settings jsonb, model_fingerprint text, chunking jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _set integer := (rag._require_eval_set(set_name)).set_id;
    _version bigint := rag.collection_version(_equal_runs.collection);
    _corpus text := rag._corpus_fingerprint(_equal_runs.collection);
BEGIN
    RETURN QUERY
    SELECT r.run_id, r.kind, r.settings, r.model_fingerprint, r.chunking
    FROM rag.eval_runs AS r
    WHERE r.set_id = _set AND (any_collection
            OR r.collection = _equal_runs.collection AND r.collection_version = _version)
        AND r.finished_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM unnest(r.notes) AS n (note)  -- what _fuzzy_note says repeats
            WHERE n.note NOT LIKE 'no chunk has %searched for instead%')
        AND r.corpus_fingerprint = _corpus AND r.set_fingerprint = rag._set_fingerprint(_set)
        AND r.code_version = rag.version()
        AND NOT EXISTS (SELECT FROM rag.eval_results AS e
            WHERE e.run_id = r.run_id AND e.error IS NOT NULL)
        AND rag._missing_queries(ROW(r.*)::rag.eval_runs) = '{}'
    ORDER BY r.run_id;
END
$$;

COMMENT ON FUNCTION rag._equal_runs IS
$$The runs of a set that would find the same again: finished, of every question, without errors and
notes (but on typing errors), of the collection as it is now, of the same documents, questions and
release. Those of equal settings, model and chunking are equal. any_collection: also of others that
have the same documents, such as copies, whatever changed there since.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._file_eval_run(of_run bigint, of_collection text,
    run_settings jsonb, version bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _run rag.eval_runs := rag._require_eval_run(of_run);
    _found text := rag._corpus_fingerprint(of_collection);
BEGIN
    IF _run.corpus_fingerprint <> _found THEN
        RAISE EXCEPTION 'run % is of other documents than collection % has', of_run,
            quote_literal(of_collection)
        USING ERRCODE = 'RG007', HINT = 'they were changed while it was made: make it again';
    END IF;
    UPDATE rag.eval_runs AS r
    SET collection = of_collection, settings = run_settings, collection_version = version
    WHERE r.run_id = of_run;
END
$$;

COMMENT ON FUNCTION rag._file_eval_run IS
$$Make a run on a temporary copy one of the collection that was copied; error RG007 where its
documents are others meanwhile. version: rag.collection_version of the collection when it was
copied.
Circle: client.$$;
