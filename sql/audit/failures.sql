-- How answers fail, in the order in which it is to be mended, measured on a run.
--
-- What is not found cannot be read, and what is lost among other text cannot be used.

CREATE OR REPLACE FUNCTION rag._shell_word(word text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN word ~ '^[A-Za-z0-9_./:=+][A-Za-z0-9_./:=+-]*$' THEN word
            ELSE '''' || replace(word, '''', '''\''''') || '''' END;

COMMENT ON FUNCTION rag._shell_word IS
$$A name as an argument in a shell's command.$$;


CREATE OR REPLACE FUNCTION rag._latest_run(of_set integer, of_collection text, of_kind text)
RETURNS rag.eval_runs
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(of_collection);
    _run rag.eval_runs;
BEGIN
    SELECT r.* INTO _run FROM rag.eval_runs AS r
    WHERE r.set_id = of_set AND r.collection = of_collection AND r.kind = of_kind
        AND r.finished_at IS NOT NULL AND r.chunking = _collection.chunking
        AND NOT r.settings ? 'contexts'
        AND r.model_fingerprint IS NOT DISTINCT FROM
            (rag._active_space(_collection.collection_id)).fingerprint
    ORDER BY r.run_id DESC LIMIT 1;
    RETURN _run;
END
$$;

COMMENT ON FUNCTION rag._latest_run IS
$$The latest finished run of a set on a collection, of kind search or ask; NULL where there is
none. Runs of the chunking and the model that it has now, not those of copies that a gate or a sweep
made.$$;


CREATE OR REPLACE FUNCTION rag._audit_failures(collection text, set_name text)
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    enough CONSTANT integer := 10;
    _set integer := (rag._require_eval_set(set_name)).set_id;
    _search rag.eval_runs := rag._latest_run(_set, collection, 'search');
    _ask rag.eval_runs := rag._latest_run(_set, collection, 'ask');
    _run rag.eval_runs := coalesce(_ask, _search);
    _command text := format('rag-pg eval run %s %s', rag._shell_word(set_name),
        rag._shell_word(collection));
    _f record;
    _support record;
BEGIN
    IF _run.run_id IS NULL THEN
        RETURN QUERY SELECT k.name, 'skip',
            'not measured: the set was not run on this collection as it is now',
            _command || k.option, '{}'::jsonb
        FROM (VALUES (1, 'retrieval miss', ''), (2, 'context dilution', ' --kind ask'),
              (3, 'lost in the middle', ' --kind ask'), (4, 'unsupported answer', ' --kind ask'))
            AS k (number, name, option)
        ORDER BY k.number;
        RETURN;
    END IF;
    IF _run.corpus_fingerprint <> rag._corpus_fingerprint(collection) THEN
        RETURN QUERY SELECT 'evaluation run', 'warn',
            format('run %s is of other documents than there are now', _run.run_id),
            _command, jsonb_build_object('run', _run.run_id);
    END IF;
    SELECT count(*) AS questions, count(*) FILTER (WHERE j.relevant = 0) AS missed,
           count(*) FILTER (WHERE j.unresolved = cardinality(j.judgement_grades)) AS gone,
           avg(1 - j.relevant::double precision / j.hits) FILTER (WHERE j.relevant > 0) AS dilution,
           count(*) FILTER (WHERE j.relevant > 0 AND j.correct AND m.diluted) AS diluted_right,
           count(j.correct) FILTER (WHERE j.relevant > 0 AND m.diluted) AS diluted,
           count(*) FILTER (WHERE j.relevant > 0 AND j.correct AND NOT m.diluted) AS dense_right,
           count(j.correct) FILTER (WHERE j.relevant > 0 AND NOT m.diluted) AS dense,
           count(*) FILTER (WHERE j.correct AND m.middle) AS middle_right,
           count(j.correct) FILTER (WHERE m.middle) AS middle,
           count(*) FILTER (WHERE j.correct AND NOT m.middle) AS edge_right,
           count(j.correct) FILTER (WHERE NOT m.middle) AS edge,
           count(*) FILTER (WHERE m.middle) AS in_the_middle
    INTO _f
    FROM (
        SELECT e.unresolved, e.judgement_grades, e.answer_contained AS correct,
               cardinality(e.grades) AS hits, g.*
        FROM rag.eval_results AS e, LATERAL (
            SELECT count(*) AS relevant, min(x.rank) AS first_rank
            FROM unnest(e.grades) WITH ORDINALITY AS x (grade, rank) WHERE x.grade > 0) AS g
        WHERE e.run_id = _run.run_id AND NOT e.unanswerable AND e.error IS NULL
            AND rag._relevant_count(e.judgement_grades) > 0
    ) AS j,
        LATERAL (SELECT j.relevant < 0.2 * j.hits AS diluted,
                        j.first_rank BETWEEN 3 AND j.hits - 2 AS middle) AS m;
    RETURN QUERY SELECT 'retrieval miss',
        CASE WHEN _f.questions = 0 THEN 'skip' WHEN _f.missed > 0.3 * _f.questions THEN 'fail'
             WHEN _f.missed > 0.1 * _f.questions THEN 'warn' ELSE 'ok' END,
        format('%s of %s questions have nothing relevant among their hits%s (run %s)', _f.missed,
            _f.questions, CASE WHEN _f.gone > 0 THEN format('; of %s the judged text is gone',
                _f.gone) ELSE '' END, _run.run_id),
        CASE WHEN _f.gone > 0.5 * _f.missed AND _f.gone > 0
             THEN format('mend the set first: rag-pg call eval_drift set_name=%s collection=%s',
                 rag._shell_word(set_name), rag._shell_word(collection))
             ELSE 'more hits (--limit 50) with --rerank; then --rewrite; then another model or '
                 'smaller chunks; it should move recall' END,
        jsonb_build_object('run', _run.run_id, 'questions', _f.questions, 'missed', _f.missed,
            'gone', _f.gone, 'should_move', 'recall');
    RETURN QUERY SELECT 'context dilution',
        CASE WHEN least(_f.diluted, _f.dense) < enough THEN 'skip'
             WHEN _f.dense_right::double precision / _f.dense
                 - _f.diluted_right::double precision / _f.diluted > 0.1 THEN 'warn'
             ELSE 'ok' END,
        CASE WHEN least(_f.diluted, _f.dense) < enough
             THEN 'effect not measured: it takes 10 judged answers with much other text beside '
                 'what is relevant, and 10 with little'
             ELSE format('right answers: %s of %s with much other text, %s of %s with little',
                 _f.diluted_right, _f.diluted, _f.dense_right, _f.dense) END
            || coalesce(format('; %s %% of the hits beside relevant ones are not relevant',
                round((100 * _f.dilution)::numeric)), '') || format(' (run %s)', _run.run_id),
        'fewer hits (--limit 5), --rerank, or one chunk of a document (--per-document 1); it '
            'should move context_precision',
        jsonb_build_object('run', _run.run_id, 'dilution', round(_f.dilution::numeric, 4),
            'diluted', _f.diluted, 'diluted_right', _f.diluted_right, 'dense', _f.dense,
            'dense_right', _f.dense_right, 'should_move', 'context_precision');
    RETURN QUERY SELECT 'lost in the middle',
        CASE WHEN least(_f.middle, _f.edge) < enough THEN 'skip'
             WHEN _f.edge_right::double precision / _f.edge
                 - _f.middle_right::double precision / _f.middle > 0.1 THEN 'warn'
             ELSE 'ok' END,
        CASE WHEN least(_f.middle, _f.edge) < enough
             THEN format('effect not measured: it takes 10 judged answers from the middle of the '
                 'hits and 10 from their ends; %s questions have their first relevant hit in the '
                 'middle', _f.in_the_middle)
             ELSE format('right answers: %s of %s with the relevant text in the middle of the hits,'
                 ' %s of %s at their ends', _f.middle_right, _f.middle, _f.edge_right, _f.edge) END
            || format(' (run %s)', _run.run_id),
        '--rerank, so that what is relevant comes first, and fewer hits; it should move mrr',
        jsonb_build_object('run', _run.run_id, 'in_the_middle', _f.in_the_middle, 'middle',
            _f.middle, 'middle_right', _f.middle_right, 'edge', _f.edge, 'edge_right',
            _f.edge_right, 'should_move', 'mrr');
    SELECT coalesce(sum(e.statements), 0) AS statements,
           coalesce(sum(e.supported_statements), 0) AS supported
    INTO _support
    FROM rag.eval_results AS e WHERE e.run_id = _run.run_id AND e.error IS NULL;
    RETURN QUERY SELECT 'unsupported answer',
        CASE WHEN _support.statements = 0 THEN 'skip'
             WHEN _support.supported < 0.8 * _support.statements THEN 'fail'
             WHEN _support.supported < 0.95 * _support.statements THEN 'warn' ELSE 'ok' END,
        CASE WHEN _support.statements = 0 THEN 'not measured: no run with answers'
             ELSE format('%s of %s statements are not supported by a citation (run %s)',
                 _support.statements - _support.supported, _support.statements, _run.run_id) END,
        CASE WHEN _support.statements = 0 THEN _command || ' --kind ask'
             ELSE 'ask with unsupported="drop", a strategy that quotes, or min_support; it should '
                 'move citation_recall' END,
        jsonb_build_object('run', _run.run_id, 'statements', _support.statements, 'supported',
            _support.supported, 'should_move', 'citation_recall');
END
$$;

COMMENT ON FUNCTION rag._audit_failures IS
$$rag.audit: four ways in which answers fail, in the order in which they are to be mended, by the
latest finished run of a set: of answers where there is one, else of searches.

retrieval miss: nothing relevant among the hits. context dilution: answers are right less often
where less than a fifth of the hits is relevant. lost in the middle: they are right less often where
the first relevant hit is none of the first two, nor of the last two (Liu et al., TACL 2024).
unsupported answer: statements that no citation of theirs proves. An effect counts from a tenth on.
status skip: the run cannot tell. figures.should_move: the metric that a remedy should raise.$$;
