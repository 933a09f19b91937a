-- The door: roles of tenants call functions that run with the rights of a role that policies hold.

CREATE OR REPLACE FUNCTION rag._door_functions()
RETURNS TABLE (function_name text, runs_as text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT f.function_name, d.runs_as
    FROM (VALUES
        ('caller', '{version,api_version,min_api_version,help,content_hash,document_id,
            embedded_text}'::text[]),
        ('reader', '{visible_tenants,list_collections,get_collection,collection_stats,
            collection_version,list_fields,list_spaces,space_settings,_search_status,search,
            search_keyword,search_vector,search_variants,more_like,expand,snippet,check_citation,
            match_terms,explain_search,why_not,hits,detect_language,_check_citations,_cosine_spread,
            _export_settings,_export_page,_export_rows,_search_part,_fuse_parts,
            get_document,
            get_documents,list_documents,list_chunks,get_embeddings,get_original,count_documents,
            facets,select_documents,aggregate_documents,describe_metadata,find_values,
            list_versions,document_at,diff_versions,visible_groups,list_jobs,
            pending_documents,
            wait_until_searchable,_synced_documents,get_calibration,list_answers,replay_answer,
            log_answer,feedback,log_query}'),
        ('writer', '{put_document,put_documents,put_chunks,load_chunks,delete_document,
            delete_documents,delete_where,merge_metadata,keep_original,_note_synced,
            set_access}')
    ) AS d (runs_as, names), unnest(d.names) AS f (function_name);
END;

COMMENT ON FUNCTION rag._door_functions IS
$$The functions that roles of tenants may call, and with whose rights they then run: caller (they
read no table), reader (the door role) or writer.

Each finds the collection by its name, through rag._require_collection, or joins rag.collections,
which a policy holds; none takes the id of something of which it does not look up the collection.
Functions that commit cannot run with other rights than the caller's, and what a worker answers is
read with the worker's, views of the application among it: rag.ask and the like are not among
them.$$;


CREATE OR REPLACE FUNCTION rag._door_kinds(runs_as text)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE runs_as WHEN 'writer' THEN '{writer,worker}'::text[]
    WHEN 'reader' THEN '{reader,evaluator,writer,worker}'
    ELSE '{reader,evaluator,writer,worker,source_owner,source_writer}' END;

COMMENT ON FUNCTION rag._door_kinds IS
$$The kinds of rag.grant_access that may call functions of the door (rag._door_functions).$$;


CREATE OR REPLACE FUNCTION rag._door_roles(OUT owner_name name, OUT reader name, OUT writer name)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _superuser boolean;
BEGIN
    SELECT r.rolname, r.rolsuper INTO owner_name, _superuser
    FROM pg_class AS c JOIN pg_roles AS r ON r.oid = c.relowner
    WHERE c.oid = 'rag.collections'::regclass;
    SELECT r.rolname INTO reader
    FROM pg_policy AS p JOIN pg_roles AS r ON r.oid = p.polroles[1]
    WHERE p.polrelid = 'rag.collections'::regclass AND p.polname = 'tenant';
    reader := coalesce(reader, left('rag_door_' || current_database(), 50)::name);
    -- A name has 63 bytes; PostgreSQL cuts a longer one, and both would be the same role.
    writer := CASE WHEN _superuser THEN left(reader, (
            SELECT max(n.length)::integer FROM generate_series(1, length(reader)) AS n (length)
            WHERE octet_length(left(reader, n.length)) <= 56)) || '_writer'
        ELSE owner_name END;
END
$$;

COMMENT ON FUNCTION rag._door_roles IS
$$The owner of the tables, and with whose rights the functions of the door run.

reader: made for this database alone, for a role is there for all databases of a server. writer: the
owner, which no policy holds, or a role without a login beside it where the owner is a superuser.$$;


CREATE OR REPLACE FUNCTION rag._make_door_roles()
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _roles CONSTANT record := rag._door_roles();
    _superuser CONSTANT boolean := _roles.writer <> _roles.owner_name;
BEGIN
    IF to_regrole(quote_ident(_roles.reader)) IS NULL
        AND NOT (SELECT r.rolcreaterole OR r.rolsuper FROM pg_roles AS r
            WHERE r.rolname = current_user) THEN
        RAISE EXCEPTION 'permission denied: role % makes no roles', current_user
        USING ERRCODE = '42501', HINT = format('have an administrator run: CREATE ROLE %I NOLOGIN; '
            'GRANT %1$I TO %I WITH INHERIT TRUE, SET TRUE', _roles.reader, _roles.owner_name);
    END IF;
    IF to_regrole(quote_ident(_roles.reader)) IS NULL THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN', _roles.reader);
    END IF;
    PERFORM rag._apply_access(_roles.reader, 'reader');
    IF _superuser THEN
        IF to_regrole(quote_ident(_roles.writer)) IS NULL THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN BYPASSRLS', _roles.writer);
        END IF;
        PERFORM rag._apply_access(_roles.writer, 'writer');
    ELSIF NOT (pg_has_role(_roles.owner_name, _roles.reader, 'SET')
        AND pg_has_role(_roles.owner_name, _roles.reader, 'USAGE')) THEN
        -- An upgrade replaces the functions that the role owns by then.
        EXECUTE format('GRANT %I TO %I WITH INHERIT TRUE, SET TRUE', _roles.reader,
            _roles.owner_name);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._make_door_roles IS
$$Make the roles of the door where they are missing, and give them their rights.$$;


CREATE OR REPLACE FUNCTION rag._move_door_functions(open_door boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _roles CONSTANT record := rag._door_roles();
    _function record;
BEGIN
    -- PostgreSQL asks a function's new owner for CREATE on the schema, for this moment.
    IF open_door THEN
        EXECUTE format('GRANT CREATE ON SCHEMA rag TO %I', _roles.reader);
    END IF;
    FOR _function IN
        SELECT p.oid::regprocedure AS signature, w.definer, w.owner_name
        FROM pg_proc AS p
        LEFT JOIN rag._door_functions() AS f ON f.function_name = p.proname
            AND f.runs_as <> 'caller',
        LATERAL (SELECT f.runs_as IS NOT NULL AND open_door AS definer,
            CASE WHEN f.runs_as = 'reader' AND open_door THEN _roles.reader
                 WHEN f.runs_as = 'writer' AND open_door THEN _roles.writer
                 ELSE _roles.owner_name END AS owner_name) AS w
        WHERE p.pronamespace = 'rag'::regnamespace
            AND (f.runs_as IS NOT NULL OR p.proowner = to_regrole(quote_ident(_roles.reader)))
            AND (p.prosecdef <> w.definer
                 OR p.proowner <> to_regrole(quote_ident(w.owner_name)))
    LOOP
        EXECUTE format('ALTER ROUTINE %s OWNER TO %I', _function.signature, _function.owner_name);
        EXECUTE format('ALTER ROUTINE %s SECURITY %s', _function.signature,
            CASE WHEN _function.definer THEN 'DEFINER' ELSE 'INVOKER' END);
    END LOOP;
    IF open_door THEN
        EXECUTE format('REVOKE CREATE ON SCHEMA rag FROM %I', _roles.reader);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._move_door_functions IS
$$Let the functions of the door run with the rights of its roles, or (open_door false) with their
caller's again. An upgrade, which makes functions anew, takes it from them.$$;


CREATE OR REPLACE FUNCTION rag._tenant_policies()
RETURNS TABLE (relation text, condition text)
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    template CONSTANT text := '( SELECT %1$s() AS %1$s)';
    tenants CONSTANT text := format(template, 'visible_tenants');
    any_of CONSTANT text := format('(collection_id = ANY (%s::integer[]))', template);
    own CONSTANT text := format(any_of, '_own_collections');
    common CONSTANT text := '(tenant = ''*''::text)';
    of_tenant CONSTANT text := format('(%s OR (tenant = ANY (%s::text[])))', common, tenants);
    of_group CONSTANT text := format('((acl IS NULL) OR (acl && %s))',
        format(template, 'visible_groups'));
    of_document CONSTANT text := '_sees_document(collection_id, document_id)';
BEGIN
    RETURN QUERY
    SELECT r.relation, t.condition
    FROM (VALUES
        ('{collections}'::text[], format(
            '((ARRAY[''*''::text, tenant] && %1$s) OR (%2$s AND (%1$s <> ''{}''::text[])))',
            tenants, common)),
        ('{documents,chunks}', format('(%s OR (%s AND %s AND %s))', own,
            format(any_of, '_shared_collections'), of_tenant, of_group)),
        ('{jobs}', format('(%s OR %s)', own, of_document)),
        ('{document_versions}', format('(%s OR (%s AND %s))', own, of_tenant, of_document)),
        ('{answer_log,answer_feedback}', own)
    ) AS t (relations, condition), unnest(t.relations) AS r (relation);
END
$$;

COMMENT ON FUNCTION rag._tenant_policies IS
$$What the door sees of each table, as PostgreSQL writes it: who is asking is looked up once in a
statement. But for that of collections they are there while a collection is shared.$$;


CREATE OR REPLACE FUNCTION rag._set_tenant_policies(open_door boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET quote_all_identifiers = off
AS $$
DECLARE
    _roles CONSTANT record := rag._door_roles();
    _shared CONSTANT boolean := EXISTS (SELECT FROM rag.collections AS c WHERE c.tenant = '*');
    _granted CONSTANT oid[] := ARRAY(
        SELECT r.oid FROM rag.access_grants AS g JOIN pg_roles AS r ON r.rolname = g.role_name
        ORDER BY r.oid);
    _policy record;
BEGIN
    FOR _policy IN
        SELECT t.relation, t.condition, c.relrowsecurity,
            open_door AND (_shared OR t.relation = 'collections') AS wanted,
            t.relation IN ('collections', 'documents', 'chunks', 'jobs') AS of_tenants_alone,
            CASE WHEN t.relation IN ('answer_log', 'answer_feedback') THEN 'ALL' ELSE 'SELECT'
                END AS commands,
            (SELECT pg_get_expr(p.polqual, p.polrelid) FROM pg_policy AS p
             WHERE p.polrelid = c.oid AND p.polname = 'tenant') AS present,
            (SELECT array_agg(r.oid ORDER BY r.oid) FROM pg_policy AS p, unnest(p.polroles) AS r
             (oid) WHERE p.polrelid = c.oid AND p.polname = 'granted') AS roles
        FROM rag._tenant_policies() AS t
        JOIN pg_class AS c ON c.oid = format('rag.%I', t.relation)::regclass
    LOOP
        IF _policy.present IS NOT NULL
            AND (NOT _policy.wanted OR _policy.present <> _policy.condition) THEN
            EXECUTE format('DROP POLICY tenant ON rag.%I', _policy.relation);
            _policy.present := NULL;
        END IF;
        IF _policy.wanted AND _policy.present IS NULL THEN
            EXECUTE format('CREATE POLICY tenant ON rag.%I FOR %s TO %I USING (%s)',
                _policy.relation, _policy.commands, _roles.reader, _policy.condition);
        END IF;
        IF _policy.roles IS DISTINCT FROM (CASE WHEN _policy.wanted
            THEN nullif(_granted, '{}') END) THEN
            EXECUTE format('DROP POLICY IF EXISTS granted ON rag.%I', _policy.relation);
            IF _policy.wanted AND _granted <> '{}' THEN
                EXECUTE format('CREATE POLICY granted ON rag.%I TO %s USING (true)',
                    _policy.relation, (SELECT string_agg(g.oid::regrole::text, ', ')
                        FROM unnest(_granted) AS g (oid)));
            END IF;
        END IF;
        IF _policy.of_tenants_alone AND _policy.wanted <> _policy.relrowsecurity
            AND (_policy.wanted OR NOT EXISTS (SELECT FROM pg_policy AS p
                WHERE p.polrelid = format('rag.%I', _policy.relation)::regclass)) THEN
            EXECUTE format('ALTER TABLE rag.%I %s ROW LEVEL SECURITY', _policy.relation,
                CASE WHEN _policy.wanted THEN 'ENABLE' ELSE 'DISABLE' END);
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._set_tenant_policies IS
$$The policies of tables that tell of tenants (rag._tenant_policies): what the door sees, and that
roles of rag.grant_access see all. Whoever else reads them, but for their owner, sees nothing.
open_door: false takes them away.$$;


CREATE OR REPLACE FUNCTION rag._change_policies(open_door boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _patience CONSTANT text := current_setting('lock_timeout');
BEGIN
    FOR _try IN 1..10 LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '200ms', true);
            PERFORM rag._set_tenant_policies(open_door);
            PERFORM set_config('lock_timeout', _patience, true);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.1);  -- searches that have waited go first
        END;
    END LOOP;
    PERFORM rag._refuse_wait(ARRAY(SELECT l.pid FROM rag._tenant_policies() AS t
        JOIN pg_locks AS l ON l.relation = format('rag.%I', t.relation)::regclass
        WHERE l.granted AND l.pid <> pg_backend_pid()));
END
$$;

COMMENT ON FUNCTION rag._change_policies IS
$$Set the policies (rag._set_tenant_policies) without holding up searches for long: a policy is
changed under a lock that waits for every transaction that reads the table, and new ones wait behind
it. Error RG007, with the oldest of these, where ten attempts of 200 ms did not get it.$$;


CREATE OR REPLACE FUNCTION rag._tenants_lock()
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN hashtextextended('rag._apply_tenants', 0);

COMMENT ON FUNCTION rag._tenants_lock IS
$$The key of the advisory lock of who changes the rights of tenants.$$;


CREATE OR REPLACE FUNCTION rag._apply_tenants(roles text[] DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _is_open boolean;
    _role record;
BEGIN
    PERFORM rag._await_lock(rag._tenants_lock());
    _is_open := EXISTS (SELECT FROM pg_policy AS p WHERE p.polname = 'tenant'
        AND p.polrelid = 'rag.collections'::regclass);
    IF NOT EXISTS (SELECT FROM rag.tenant_roles) THEN
        IF EXISTS (SELECT FROM pg_policy AS p WHERE p.polname = 'tenant'
            AND p.polrelid = 'rag.collections'::regclass) THEN
            PERFORM rag._move_door_functions(false);
            PERFORM rag._change_policies(false);
        END IF;
        RETURN;
    END IF;
    IF roles IS NULL OR NOT _is_open THEN
        PERFORM rag._make_door_roles();
    END IF;
    PERFORM rag._change_policies(true);
    IF roles IS NULL OR NOT _is_open THEN
        PERFORM rag._move_door_functions(true);
    END IF;
    FOR _role IN
        SELECT quote_ident(r.rolname) AS quoted, bool_or(t.access = 'writer') AS writes
        FROM rag.tenant_roles AS t JOIN pg_roles AS r ON r.rolname = t.role_name
        WHERE roles IS NULL OR t.role_name = ANY (roles)
        GROUP BY r.rolname
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA rag TO %s', _role.quoted);
        EXECUTE (
            SELECT format('GRANT EXECUTE ON ROUTINE %s TO %s',
                string_agg(p.oid::regprocedure::text, ', '), _role.quoted)
            FROM pg_proc AS p JOIN rag._door_functions() AS f ON f.function_name = p.proname
            WHERE p.pronamespace = 'rag'::regnamespace
                AND (f.runs_as <> 'writer' OR _role.writes));
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._apply_tenants IS
$$Open the door for the roles of rag.tenant_roles, as this release's functions need it, or close it
where there are none. Called by every upgrade and by whoever changes those roles.

roles: which of them get their rights anew; NULL: all, as after an upgrade, which makes
functions. Those of others need no change where one more has a tenant.$$;
