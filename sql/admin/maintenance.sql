-- Maintenance in steps: each is short, fails by itself and can be a transaction of its own.

CREATE OR REPLACE FUNCTION rag.maintenance_steps()
RETURNS TABLE (step text, subject integer)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY SELECT 'leftovers', 0;
    RETURN QUERY SELECT 'spaces', 0;
    RETURN QUERY SELECT 'cache', 0;
    RETURN QUERY SELECT 'source', d.id FROM rag.due_sources(retry_broken => true) AS d (id);
    RETURN QUERY SELECT 'keywords', c.collection_id FROM rag.collections AS c WHERE c.dropped_at
        IS NULL
                 ORDER BY c.collection_id;
    RETURN QUERY SELECT 'versions', c.collection_id FROM rag.collections AS c
        WHERE c.dropped_at IS NULL AND (
            EXISTS (SELECT FROM rag.document_versions AS v WHERE v.collection_id = c.collection_id)
            OR EXISTS (SELECT FROM rag.answer_log AS a WHERE a.collection_id = c.collection_id))
        ORDER BY c.collection_id;
    IF has_table_privilege('rag.live_queries', 'DELETE') THEN
        RETURN QUERY SELECT 'queries', c.collection_id FROM rag.collections AS c
            WHERE c.dropped_at IS NULL
                AND EXISTS (SELECT FROM rag.live_queries AS l
                    WHERE l.collection_id = c.collection_id)
            ORDER BY c.collection_id;
    END IF;
    IF has_table_privilege('rag.recall_measures', 'INSERT') THEN
        RETURN QUERY SELECT 'recall', c.collection_id FROM rag.collections AS c
            WHERE c.dropped_at IS NULL AND c.recall_target > 0
                AND rag._recall_is_due(c.collection_id)
            ORDER BY c.collection_id;
    END IF;
    RETURN QUERY SELECT 'relex', c.collection_id
        FROM rag.collections AS c
        LEFT JOIN rag.keyword_totals AS t ON t.collection_id = c.collection_id
        CROSS JOIN LATERAL generate_series(1, least(200, 3  -- other steps wait behind them
            + greatest(0, coalesce(t.chunk_count, 0) - coalesce(t.relexed, 0))
                / rag._relex_batch()))
        WHERE c.dropped_at IS NULL AND c.lexer_version <> rag._lexer_version()
        ORDER BY c.collection_id;
    -- Last: each locks a table against all until its transaction ends. One to empty a table, one to
    -- drop it.
    RETURN QUERY SELECT 'dropped', 0
        FROM rag._dropped_parts() AS p, generate_series(1, 2) AS g
        LIMIT CASE WHEN rag._is_owner() AND rag._await_standbys(0) THEN 500 ELSE 0 END;
END
$$;

COMMENT ON FUNCTION rag.maintenance_steps IS
$$What there is to do for rag.maintain_step, in order: leftovers (requests and changes that nobody
reads, usage of more than 400 days ago), spaces (rag.measure_spaces), cache (entries that have
expired), source (one batch of subject, a source, broken ones included), keywords (merge and compact
those of subject, a collection), versions (those and logged answers that subject, a collection,
keeps no longer), where the caller may: queries (removes those of subject, a collection, that it
keeps no longer) and recall (rag.measure_recall, where subject, a collection, has a target and no
measure of the last day), relex (the next chunks of subject, a collection whose chunks an earlier
lexer lexed), dropped (rag.remove_dropped, as often as there is something to remove: each in a
transaction of its own).
Circle: worker, Maintenance and versions.
SELECT * FROM rag.maintenance_steps()$$;


CREATE OR REPLACE FUNCTION rag._maintain_keywords(collection_id integer, OUT merged integer,
    OUT compacted integer)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _slots bigint;
    _live bigint;
BEGIN
    merged := 0;
    compacted := 0;
    IF (SELECT count(*) >= rag._keyword_merge_size() / 4
        FROM rag.keyword_changes AS k WHERE k.collection_id = _maintain_keywords.collection_id) THEN
        merged := rag._merge_keyword(_maintain_keywords.collection_id);
    END IF;
    SELECT count(*) INTO _slots FROM rag.keyword_slots AS s WHERE s.collection_id =
        _maintain_keywords.collection_id;
    SELECT t.chunk_count INTO _live FROM rag.keyword_totals AS t
        WHERE t.collection_id = _maintain_keywords.collection_id;
    IF _slots - _live > 0.2 * _slots THEN
        compacted := rag._compact_keyword(_maintain_keywords.collection_id);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._maintain_keywords IS
$$Merge a collection's fresh keywords, if there are enough, and compact its blocks of which more
than a fifth is deleted. Returns the changes merged and the blocks compacted.$$;


CREATE OR REPLACE FUNCTION rag.note_maintenance(step text, subject integer, failure text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF step IS NULL OR length(step) > 100 OR subject IS NULL THEN
        RAISE EXCEPTION 'a failure has a step and a subject, not % and %',
            quote_nullable(left(step, 100)),
            coalesce(subject::text, 'NULL')
        USING ERRCODE = 'RG001', HINT = 'pass a row of rag.maintenance_steps()';
    END IF;
    IF failure IS NULL THEN
        DELETE FROM rag.maintenance_failures AS f WHERE f.task = step AND f.target = subject;
        INSERT INTO rag.maintenance_runs AS r (task) VALUES (step)
        ON CONFLICT ON CONSTRAINT maintenance_runs_pkey DO UPDATE SET done_at = excluded.done_at
        -- Without a time zone the difference is immutable, as a distributed table has it.
        WHERE r.done_at AT TIME ZONE 'UTC'
            < excluded.done_at AT TIME ZONE 'UTC' - interval '10 seconds';
        RETURN;
    END IF;
    INSERT INTO rag.maintenance_failures AS f (task, target, message)
    VALUES (step, subject, left(failure, 2000))
    ON CONFLICT ON CONSTRAINT maintenance_failures_pkey
    DO UPDATE SET message = excluded.message, failed_at = excluded.failed_at;
    IF step = 'source' THEN
        PERFORM rag.break_source(subject, failure);
    END IF;
END
$$;

COMMENT ON FUNCTION rag.note_maintenance IS
$$Remember that a step of maintenance failed, for rag.doctor; NULL: that it did not. A source is
then broken.
Circle: worker, Maintenance and versions.
SELECT rag.note_maintenance('source', 1, 'no')$$;


CREATE OR REPLACE FUNCTION rag.maintain_step(step text, subject integer DEFAULT 0,
                                             OUT merged integer, OUT compacted integer)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _a_minute_ago CONSTANT timestamptz := clock_timestamp() - interval '1 minute';
    _an_hour_ago CONSTANT timestamptz := clock_timestamp() - interval '1 hour';
BEGIN
    BEGIN
        CASE step
            WHEN 'leftovers' THEN
                -- An answer may be read later by its key.
                DELETE FROM rag.worker_calls AS r
                WHERE r.expires_at < CASE WHEN r.arguments ? 'answer_key' THEN _an_hour_ago
                    ELSE _a_minute_ago END;
                DELETE FROM rag.usage AS u
                WHERE u.day < (CURRENT_TIMESTAMP AT TIME ZONE 'UTC')::date - 400;
                DELETE FROM rag.source_changes AS x
                WHERE x.source_id NOT IN (SELECT s.source_id FROM rag.sources AS s);
                DELETE FROM rag.maintenance_failures AS f
                WHERE f.target <> 0 AND CASE f.task
                    WHEN 'source' THEN f.target NOT IN (SELECT s.source_id FROM rag.sources AS s)
                    ELSE f.target NOT IN (SELECT c.collection_id FROM rag.collections AS c
                                          WHERE c.dropped_at IS NULL) END;
            WHEN 'cache' THEN
                IF has_table_privilege('rag.cache_entries', 'DELETE')
                    AND has_table_privilege('rag.cache_uses', 'DELETE') THEN
                    PERFORM rag._trim_cache(NULL), rag._fold_cache_uses();
                    PERFORM rag._settle_erasures();
                END IF;
            WHEN 'source' THEN
                PERFORM rag.follow_source(subject);
            WHEN 'keywords' THEN
                SELECT k.merged, k.compacted INTO merged, compacted
                    FROM rag._maintain_keywords(subject) AS k;
            WHEN 'spaces' THEN
                PERFORM rag.measure_spaces();
            WHEN 'versions' THEN
                PERFORM rag._remove_old_versions(subject);
            WHEN 'queries' THEN
                PERFORM rag._trim_live_queries(subject);
            WHEN 'recall' THEN
                PERFORM rag._maintain_recall(subject);
            WHEN 'relex' THEN
                PERFORM rag._relex_chunks(subject);
            WHEN 'dropped' THEN
                PERFORM rag.remove_dropped();
            ELSE
                RAISE EXCEPTION 'unknown step %', coalesce(quote_literal(step), 'NULL')
                USING ERRCODE = 'RG001', HINT = 'rag.maintenance_steps() lists them';
        END CASE;
    EXCEPTION WHEN SQLSTATE 'RG001' THEN
        RAISE;
    WHEN OTHERS THEN
        PERFORM rag.note_maintenance(step, subject, SQLERRM);
        merged := 0;
        compacted := 0;
        RETURN;
    END;
    PERFORM rag.note_maintenance(step, subject, NULL);
    merged := coalesce(merged, 0);
    compacted := coalesce(compacted, 0);
END
$$;

COMMENT ON FUNCTION rag.maintain_step IS
$$One of rag.maintenance_steps(). An error of it is remembered for rag.doctor and does not reach the
caller, except a cancelled statement. Returns the changes merged and the blocks compacted.
Circle: worker, Maintenance and versions.
SELECT * FROM rag.maintain_step('leftovers')$$;


-- A procedure that commits can have no SET clause.


CREATE OR REPLACE FUNCTION rag._refused_commit()
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    COMMIT;
EXCEPTION WHEN invalid_transaction_termination THEN
    RETURN SQLERRM;
END
$$;

COMMENT ON FUNCTION rag._refused_commit IS
$$What the server says, in its language, where a transaction block does not let a procedure commit:
no function may.$$;


CREATE OR REPLACE PROCEDURE rag.maintain()
LANGUAGE plpgsql
AS $$
DECLARE
    _step record;
    _commits pg_catalog.bool := true;
BEGIN
    BEGIN
        -- refused in either case, for this block is a subtransaction: the message tells them apart
        COMMIT;
    EXCEPTION WHEN invalid_transaction_termination THEN
        _commits := SQLERRM OPERATOR(pg_catalog.<>) rag._refused_commit();
    END;
    FOR _step IN SELECT s.step, s.subject FROM rag.maintenance_steps() AS s LOOP
        PERFORM rag.maintain_step(_step.step, _step.subject);
        IF _commits THEN
            COMMIT;
        END IF;
    END LOOP;
END
$$;

COMMENT ON PROCEDURE rag.maintain IS
$$What an idle worker does now and then, and pg_cron or you may: remove requests that nobody read,
follow sources (broken ones again), merge fresh keywords, compact keyword blocks of which more than
a fifth is deleted, remove what was dropped.

It commits after each step, so that no lock is held longer than its step; inside a transaction block
it does all of them in that transaction, which locks readers and writers out where a table is
removed: commit at once. No step holds up another by an error; rag.doctor tells those that
failed.
Circle: application, Maintenance and versions.
CALL rag.maintain()$$;
