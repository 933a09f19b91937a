-- Roles get the rights of a kind of use, and keep them through upgrades.

CREATE OR REPLACE FUNCTION rag._access_rights()
RETURNS TABLE (access text, rights text, tables text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT a.access, g.rights, g.tables
    FROM (VALUES
        ('{reader,writer,worker,evaluator}'::text[], 'INSERT',
            '{answer_log,answer_feedback,live_queries}'::text[]),
        ('{reader,writer,worker,evaluator}', 'INSERT, UPDATE', '{usage}'),
        ('{reader,writer,worker,evaluator}', 'INSERT, UPDATE, DELETE',
            '{cache_entries,cache_uses}'),
        ('{reader,writer,worker,evaluator}', 'INSERT, DELETE', '{worker_calls}'),
        ('{reader}', 'SELECT (collection_id)', '{live_queries}'),
        ('{writer,worker,evaluator}', 'SELECT', '{live_queries}'),
        ('{writer,worker,evaluator}', 'INSERT, UPDATE, DELETE',
            '{eval_sets,eval_queries,eval_judgements,eval_embeddings,eval_runs,eval_results,
            eval_scores,eval_verdicts,eval_judges,calibrations}'),
        ('{writer,worker,evaluator}', 'INSERT', '{gate_checks,collection_changes}'),
        ('{writer,worker,evaluator}', 'INSERT, DELETE', '{recall_measures}'),
        ('{writer,worker}', 'INSERT, UPDATE, DELETE',
            '{documents,chunks,embeddings,keyword_changes,keyword_slots,keyword_postings,
            keyword_removed,keyword_segments,keyword_totals,keyword_languages,jobs,backlogs,budgets,
            workers,worker_calls,collection_changes,originals,version_commits}'),
        ('{writer,worker}', 'INSERT, DELETE', '{document_versions}'),
        ('{writer,worker}',
            'UPDATE (fingerprint, similarity_mean, similarity_spread, measured_chunks)',
            '{spaces}'),
        ('{worker}', 'UPDATE (lexer_version)', '{collections}'),
        ('{worker}', 'DELETE', '{answer_log,answer_feedback,live_queries,usage}'),
        ('{worker}', 'INSERT, UPDATE, DELETE',
            '{source_changes,source_documents,maintenance_failures,maintenance_runs}'),
        ('{worker}', 'DELETE, UPDATE (phase, reached, rows_done, rows_total, rows_failed, '
            'row_error, broken, followed_at)', '{sources}'),
        ('{worker}',
            'UPDATE (due_at, worker, lease_expires_at, synced_at, result, last_error)',
            '{locations}'),
        ('{source_owner}', 'SELECT, INSERT, UPDATE, DELETE', '{sources}'),
        ('{source_owner}', 'SELECT, DELETE', '{source_changes}'),
        ('{source_owner}', 'SELECT', '{collections,tenant_roles,access_grants}'),
        ('{source_writer}', 'SELECT, INSERT', '{source_changes}')
    ) AS g (kinds, rights, tables), unnest(g.kinds) AS a (access);
END;

COMMENT ON FUNCTION rag._access_rights IS
$$What a kind of use may do with the tables, beside reading them.$$;


CREATE OR REPLACE FUNCTION rag._apply_access(role_name text, access text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    hidden CONSTANT text[] := '{live_queries,service_keys,service_key_uses}';
    owners CONSTANT text[] := '{_record_changes,attach_source}';
    writers CONSTANT text[] := '{_source_sql,_source_columns,_key_operator,_table_name,'
        '_note_version}';
    _of_a_source CONSTANT boolean := access IN ('source_owner', 'source_writer');
    _kinds CONSTANT text[] := access || ARRAY(SELECT g.access FROM rag.access_grants AS g
        WHERE g.role_name = _apply_access.role_name);
    -- These run with the rights of the door once there are tenants, whoever calls them.
    _withheld CONSTANT oid[] := ARRAY(
        SELECT p.oid FROM pg_proc AS p
        JOIN rag._door_functions() AS f ON f.function_name = p.proname
        WHERE p.pronamespace = 'rag'::regnamespace AND p.proname <> 'visible_tenants'
            AND NOT _kinds && rag._door_kinds(f.runs_as));
    _routines text;
    _readable text;
    _right record;
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA rag TO %I', role_name);
    SELECT string_agg(p.oid::regprocedure::text, ', ') INTO _routines
    FROM pg_proc AS p
    WHERE p.pronamespace = 'rag'::regnamespace AND CASE access
        WHEN 'source_writer' THEN p.proname = ANY (writers)
        ELSE (access = 'source_owner' OR p.proname <> ALL (owners)) AND p.oid <> ALL (_withheld)
        END;
    IF _withheld <> '{}' THEN
        EXECUTE format('REVOKE ALL ON ROUTINE %s FROM %I',
            (SELECT string_agg(w.id::regprocedure::text, ', ') FROM unnest(_withheld) AS w (id)),
            role_name);
    END IF;
    EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO %I', _routines, role_name);
    IF NOT _of_a_source THEN
        -- Not the partitions, which no policy protects.
        SELECT string_agg(format('rag.%I', c.relname), ', ') INTO _readable
        FROM pg_class AS c
        WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p')
            AND NOT c.relispartition AND c.relname <> ALL (hidden);
        EXECUTE format('GRANT SELECT ON %s TO %I', _readable, role_name);
    END IF;
    FOR _right IN SELECT r.rights, r.tables FROM rag._access_rights() AS r
        WHERE r.access = _apply_access.access
    LOOP
        EXECUTE format('GRANT %s ON %s TO %I', _right.rights,
            (SELECT string_agg(format('rag.%I', t.name), ', ')
             FROM unnest(_right.tables) AS t (name)), role_name);
    END LOOP;
    IF access IN ('writer', 'worker', 'evaluator', 'source_owner') THEN
        -- Of what it inserts by rag._next_id, and of columns without an identity, whose numbers
        -- need no right: who has more could use up those of others.
        EXECUTE (SELECT format('GRANT USAGE ON SEQUENCE %s TO %I',
                string_agg(DISTINCT s.oid::regclass::text, ', '), role_name)
            FROM rag._access_rights() AS r, unnest(r.tables) AS t (name), pg_depend AS d,
                pg_class AS s
            WHERE r.access = _apply_access.access AND r.rights ~ 'INSERT'
                AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
                AND d.refobjid = format('rag.%I', t.name)::regclass
                AND (d.deptype = 'a' OR t.name IN ('backlogs', 'eval_sets', 'sources'))
                AND s.oid = d.objid AND s.relkind = 'S');
    END IF;
END
$$;

COMMENT ON FUNCTION rag._apply_access IS
$$Grant a role the rights of a kind of use, as this release's functions and tables need them.
What puts and deletes documents may be called by writers and workers alone, what reads them not by
who only attaches sources or writes their tables.$$;


CREATE OR REPLACE FUNCTION rag._check_access_call(role_name text, access text)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    kinds CONSTANT text[] := '{reader,writer,worker,evaluator,source_owner,source_writer}';
BEGIN
    PERFORM rag._require_owner('say who has access');
    IF access <> ALL (kinds) THEN
        RAISE EXCEPTION 'access % is unknown', quote_literal(access)
        USING ERRCODE = 'RG001', HINT = 'use one of ' || array_to_string(kinds, ', ');
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = role_name) THEN
        RAISE EXCEPTION 'there is no role %', coalesce(quote_literal(role_name), 'NULL')
        USING ERRCODE = 'RG002',
            HINT = 'SELECT rolname FROM pg_roles lists them; CREATE ROLE makes one';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_access_call IS
$$Error 42501 unless the caller owns the tables, RG001 for an unknown access, RG002 where the role
is not there.$$;


CREATE OR REPLACE FUNCTION rag.grant_access(role_name text, access text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._check_access_call(role_name, coalesce(access, ''));
    INSERT INTO rag.access_grants AS g (role_name, access)
    VALUES (grant_access.role_name, grant_access.access)
    ON CONFLICT DO NOTHING;
    PERFORM rag._apply_access(role_name, access);
    PERFORM rag._apply_tenants(ARRAY[role_name]);
END
$$;

COMMENT ON FUNCTION rag.grant_access IS
$$Give a role the rights of a kind of use.
Every upgrade gives these privileges (the permissions of its users) again, so that they cover what
it adds.

access: reader searches, reads and counts; evaluator also keeps evaluation sets, runs and
calibrations; writer also puts and deletes documents and works the queue; worker also follows
sources and clears up. source_owner attaches tables of its own; source_writer only writes a table
that is followed. A role may have several. The caller owns the tables of schema rag.
Circle: application, Maintenance and versions.
SELECT rag.grant_access('pg_monitor', 'reader')$$;


CREATE OR REPLACE FUNCTION rag._renew_rights(role_name text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _routines CONSTANT text := (
        SELECT string_agg(DISTINCT p.oid::regprocedure::text, ', ')
        FROM pg_proc AS p, aclexplode(p.proacl) AS a
        WHERE p.pronamespace = 'rag'::regnamespace
            AND a.grantee = to_regrole(quote_ident(role_name)));
BEGIN
    IF _routines IS NOT NULL THEN
        EXECUTE format('REVOKE ALL ON ROUTINE %s FROM %I', _routines, role_name);
    END IF;
    EXECUTE format('REVOKE ALL ON SCHEMA rag FROM %I', role_name);
    PERFORM rag._apply_access(g.role_name, g.access) FROM rag.access_grants AS g
    WHERE g.role_name = _renew_rights.role_name;
    PERFORM rag._apply_tenants(ARRAY[role_name]);
END
$$;

COMMENT ON FUNCTION rag._renew_rights IS
$$Give a role the rights that it has by rag.access_grants and rag.tenant_roles, and no other on
functions.$$;


CREATE OR REPLACE FUNCTION rag.revoke_access(role_name text, access text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._check_access_call(role_name, access);
    DELETE FROM rag.access_grants AS g
    WHERE g.role_name = revoke_access.role_name
        AND (revoke_access.access IS NULL OR g.access = revoke_access.access);
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA rag FROM %1$I;'
        'REVOKE ALL ON ALL SEQUENCES IN SCHEMA rag FROM %1$I', role_name);
    PERFORM rag._renew_rights(role_name);
END
$$;

COMMENT ON FUNCTION rag.revoke_access IS
$$Take the rights of a kind of use from a role.
And what else it was granted in schema rag; those of the other kinds that it has stay.

access: as in rag.grant_access; NULL: all. The caller owns the tables of schema rag.
Circle: application, Maintenance and versions.
SELECT rag.revoke_access('pg_monitor')$$;


CREATE OR REPLACE FUNCTION rag.list_access()
RETURNS TABLE (role_name text, access text, role_exists boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT g.role_name, g.access, EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = g.role_name)
    FROM rag.access_grants AS g
    ORDER BY g.role_name, g.access;
END
$$;

COMMENT ON FUNCTION rag.list_access IS
$$Which roles have which rights.
Those that rag.grant_access gave, and whether the role is there.
Circle: application, Maintenance and versions.
SELECT * FROM rag.list_access()$$;


CREATE OR REPLACE FUNCTION rag._renew_access()
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _role text;
BEGIN
    FOR _role IN SELECT DISTINCT a.role_name FROM rag.list_access() AS a WHERE a.role_exists LOOP
        -- an earlier release gave all
        EXECUTE format('REVOKE ALL ON ALL SEQUENCES IN SCHEMA rag FROM %I', _role);
    END LOOP;
    PERFORM rag._apply_access(a.role_name, a.access) FROM rag.list_access() AS a
    WHERE a.role_exists;
    PERFORM rag._apply_tenants();
END
$$;

COMMENT ON FUNCTION rag._renew_access IS
$$Give every role its rights again, those of tenants, too: an upgrade made functions and tables.$$;
