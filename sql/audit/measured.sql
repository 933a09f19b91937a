-- What runs of question sets show of a collection's settings: they go before any rule.

CREATE OR REPLACE FUNCTION rag._run_setting(run rag.eval_runs, topic text)
RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE topic
    WHEN 'model' THEN run.model
    WHEN 'chunking' THEN run.chunking::text
    WHEN 'weights' THEN coalesce(run.settings ->> 'fusion', 'auto')
        || ' ' || trim_scale(coalesce((run.settings ->> 'vector_weight')::numeric,
            CASE run.settings ->> 'fusion' WHEN 'weighted' THEN 0.7 ELSE 0.5 END))
        || ' ' || trim_scale(coalesce((run.settings ->> 'keyword_weight')::numeric,
            CASE run.settings ->> 'fusion' WHEN 'weighted' THEN 0.3 ELSE 0.5 END))
    ELSE (run.settings - '{fusion,vector_weight,keyword_weight,chunking,model,cache}'::text[])::text
END;

COMMENT ON FUNCTION rag._run_setting IS
$$What a run was made with: its model, its chunking, its weights ("auto 0.5 0.5": fusion, vector,
keyword), or, for any other topic, all further settings. Those of a sweep's run name its chunking
and model again, which do not count there; nor does the cache, which changes nothing that is
found.$$;


CREATE OR REPLACE FUNCTION rag._measured_settings(collection text, topic text,
    OUT best text, OUT evidence text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    most_compared CONSTANT integer := 5;
    significant CONSTANT double precision := 0.05;
    topics CONSTANT text[] := '{model,chunking,weights,settings}';
    _collection rag.collections := rag._require_collection(collection);
    _current text := CASE topic
        WHEN 'model' THEN (rag._active_space(_collection.collection_id)).model
        WHEN 'chunking' THEN _collection.chunking::text
        ELSE 'auto 0.5 0.5' END;
    _fingerprint text;
    _base rag.eval_runs;
    _set text;
    _compared jsonb;
    _winner jsonb;
BEGIN
    PERFORM FROM rag.eval_runs AS r
    WHERE r.kind = 'search' AND r.finished_at IS NOT NULL AND NOT r.settings ? 'imported' LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    _fingerprint := rag._corpus_fingerprint(collection);
    SELECT r.* INTO _base FROM rag.eval_runs AS r
    WHERE r.kind = 'search' AND r.finished_at IS NOT NULL AND r.corpus_fingerprint = _fingerprint
        AND NOT r.settings ? 'imported'
        AND rag._run_setting(ROW(r.*)::rag.eval_runs, topic) = _current
        AND NOT EXISTS (
            SELECT FROM rag.eval_results AS e WHERE e.run_id = r.run_id AND e.error IS NOT NULL)
        AND EXISTS (
            SELECT FROM rag.eval_runs AS o
            WHERE o.set_id = r.set_id AND o.kind = 'search' AND o.finished_at IS NOT NULL
                AND o.corpus_fingerprint = _fingerprint AND o.set_fingerprint = r.set_fingerprint
                AND NOT o.settings ? 'imported'
                AND NOT EXISTS (
                    SELECT FROM unnest(topics) AS t (name)
                    WHERE (t.name = topic) = (rag._run_setting(ROW(o.*)::rag.eval_runs, t.name)
                            = rag._run_setting(ROW(r.*)::rag.eval_runs, t.name))))
    ORDER BY r.run_id DESC LIMIT 1;
    IF _base.run_id IS NULL THEN
        RETURN;
    END IF;
    _set := (SELECT s.name FROM rag.eval_sets AS s WHERE s.set_id = _base.set_id);
    SELECT jsonb_agg(jsonb_build_object('run', c.run_id, 'setting', c.setting, 'a', c.value_a,
               'b', c.value_b, 'p', a.p[c.n], 'queries', c.queries) ORDER BY c.value_b DESC)
    INTO _compared
    FROM (
        SELECT o.run_id, o.setting, m.value_a, m.value_b, m.p_value, m.queries,
               row_number() OVER (ORDER BY o.run_id) AS n,
               array_agg(m.p_value) OVER (ORDER BY o.run_id ROWS BETWEEN UNBOUNDED PRECEDING
                   AND UNBOUNDED FOLLOWING) AS p_values
        FROM (
            SELECT d.*
            FROM (
                SELECT DISTINCT ON (rag._run_setting(ROW(x.*)::rag.eval_runs, topic)) x.run_id,
                       rag._run_setting(ROW(x.*)::rag.eval_runs, topic) AS setting
                FROM rag.eval_runs AS x
                WHERE x.set_id = _base.set_id AND x.kind = 'search' AND x.finished_at IS NOT NULL
                    AND x.corpus_fingerprint = _fingerprint
                    AND x.set_fingerprint = _base.set_fingerprint
                    AND NOT x.settings ? 'imported'
                    AND NOT EXISTS (
                        SELECT FROM rag.eval_results AS e
                        WHERE e.run_id = x.run_id AND e.error IS NOT NULL)
                    AND NOT EXISTS (
                        SELECT FROM unnest(topics) AS t (name)
                        WHERE (rag._run_setting(ROW(x.*)::rag.eval_runs, t.name)
                                = rag._run_setting(_base, t.name)) = (t.name = topic))
                ORDER BY rag._run_setting(ROW(x.*)::rag.eval_runs, topic), x.run_id DESC
            ) AS d
            ORDER BY d.run_id DESC LIMIT most_compared
        ) AS o,
        LATERAL rag.compare_runs(_base.run_id, o.run_id, '{ndcg}', permutations => 2000) AS m
        WHERE m.category IS NULL
    ) AS c, LATERAL (SELECT rag._adjust_p_values(c.p_values, 'holm') AS p) AS a;
    _winner := _compared -> 0;
    IF _winner IS NULL THEN
        RETURN;
    END IF;
    best := CASE WHEN (_winner ->> 'b')::double precision > (_winner ->> 'a')::double precision
            AND (_winner ->> 'p')::double precision < significant
        THEN _winner ->> 'setting' END;
    evidence := format('measured on this collection: set %s, %s questions, nDCG@10 %s (run %s) '
        'against %s with %s (run %s), p = %s%s', _set, _winner ->> 'queries',
        round((_winner ->> 'a')::numeric, 3), _base.run_id,
        round((_winner ->> 'b')::numeric, 3), _winner ->> 'setting', _winner ->> 'run',
        round((_winner ->> 'p')::numeric, 3),
        CASE WHEN best IS NULL THEN ': no gain is shown' ELSE '' END);
END
$$;

COMMENT ON FUNCTION rag._measured_settings IS
$$What the runs of a set on these documents show for a topic (model, chunking or weights): the best
setting, NULL where none is shown to be better than the present one, and the runs that show it, NULL
where there are no two runs that differ in it alone.

The latest run with the collection's own setting is compared with the latest of each other setting,
five at most, by nDCG@10; a setting is better where the paired randomisation test, corrected by
Holm's method, gives p < 0.05. Runs of other collections of the same documents count, since a
fingerprint of the documents does not depend on how they are cut; imported rankings do not, since
no setting made them.
Circle: client.$$;
