-- Where the policies of tenants would be inert: checked by every grant, upgrade and db check.

CREATE OR REPLACE FUNCTION rag._check_tenant_roles()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _roles CONSTANT record := rag._door_roles();
    -- Members read the server's files or every table, or run programs.
    mighty CONSTANT text[] := '{pg_read_all_data,pg_write_all_data,pg_read_server_files,'
        'pg_write_server_files,pg_execute_server_program}';
BEGIN
    RETURN QUERY
    SELECT DISTINCT 'tenant roles', 'warn',
        format('role %s of tenant %s is not there: whoever makes it has the tenant''s rights',
            quote_literal(t.role_name), quote_literal(t.tenant)),
        format('SELECT rag.revoke_tenant(%L)', t.role_name)
    FROM rag.tenant_roles AS t
    WHERE NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = t.role_name);
    RETURN QUERY
    SELECT DISTINCT ON (r.oid) 'tenant roles', 'fail',
        format('role %I of a tenant is %s: policies do not hold it', r.rolname,
            CASE WHEN m.oid = r.oid THEN 'a superuser or has BYPASSRLS or rights of '
                    'rag.grant_access, or is the owner'
                 ELSE format('a member of %I', m.rolname) END),
        CASE WHEN m.oid = r.oid THEN format('give the tenant a role of its own, or: '
                'ALTER ROLE %I NOSUPERUSER NOBYPASSRLS; SELECT rag.revoke_access(%L)',
                r.rolname, r.rolname)
             ELSE format('REVOKE %I FROM %I', m.rolname, r.rolname) END
    FROM rag.tenant_roles AS t
    JOIN pg_roles AS r ON r.rolname = t.role_name
    JOIN pg_roles AS m ON (m.oid = r.oid OR NOT r.rolsuper) AND pg_has_role(r.oid, m.oid, 'MEMBER')
    WHERE m.rolsuper OR m.rolbypassrls OR m.rolname = ANY (mighty)
        OR m.rolname IN (_roles.owner_name, _roles.reader, _roles.writer)
        OR EXISTS (SELECT FROM rag.access_grants AS g WHERE g.role_name = m.rolname)
    ORDER BY r.oid, m.oid <> r.oid, m.rolname;
    RETURN QUERY
    SELECT 'tenant roles', 'fail',
        format('role %I of a tenant has rights on %s', r.rolname,
            left(string_agg(c.oid::regclass::text, ', ' ORDER BY c.relname), 200)),
        format('REVOKE ALL ON ALL TABLES IN SCHEMA rag FROM %I, PUBLIC', r.rolname)
    FROM (SELECT DISTINCT t.role_name FROM rag.tenant_roles AS t) AS t
    JOIN pg_roles AS r ON r.rolname = t.role_name AND NOT r.rolsuper
    JOIN pg_class AS c ON c.relnamespace = 'rag'::regnamespace
        AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relname <> 'ordinary_words'
    WHERE has_table_privilege(r.oid, c.oid,
            'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
        OR has_any_column_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE, REFERENCES')
    GROUP BY r.rolname;
    RETURN QUERY
    SELECT 'tenant roles', 'fail',
        format('role %I of a tenant may call %s', r.rolname,
            left(string_agg(p.oid::regproc::text, ', ' ORDER BY p.proname), 200)),
        format('REVOKE ALL ON ALL ROUTINES IN SCHEMA rag FROM PUBLIC; '
            'SELECT rag.grant_tenant(%L, %L, %L)', r.rolname, min(t.tenant), min(t.access))
    FROM rag.tenant_roles AS t
    JOIN pg_roles AS r ON r.rolname = t.role_name AND NOT r.rolsuper
    JOIN pg_proc AS p ON p.pronamespace = 'rag'::regnamespace
        AND has_function_privilege(r.oid, p.oid, 'EXECUTE')
    WHERE NOT EXISTS (SELECT FROM rag._door_functions() AS f WHERE f.function_name = p.proname
            AND (f.runs_as <> 'writer' OR EXISTS (SELECT FROM rag.tenant_roles AS w
                WHERE w.role_name = t.role_name AND w.access = 'writer')))
        AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass
            AND d.objid = p.oid AND d.deptype = 'e')
    GROUP BY r.rolname;
END
$$;

COMMENT ON FUNCTION rag._check_tenant_roles IS
$$rag.check_tenants: login roles of tenants that have more than the door.$$;


CREATE OR REPLACE FUNCTION rag._check_door()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET quote_all_identifiers = off
AS $$
DECLARE
    _roles CONSTANT record := rag._door_roles();
    _upgrade CONSTANT text := 'rag-pg db upgrade';
    _shared CONSTANT boolean := EXISTS (SELECT FROM rag.collections AS c WHERE c.tenant = '*');
BEGIN
    RETURN QUERY
    SELECT 'door', 'fail', format('row-level security is off for rag.%I', t.relation), _upgrade
    FROM rag._tenant_policies() AS t
    JOIN pg_class AS c ON c.oid = format('rag.%I', t.relation)::regclass
    WHERE (_shared OR t.relation = 'collections') AND NOT c.relrowsecurity;
    RETURN QUERY
    SELECT 'door', 'fail', format('policy tenant of rag.%I is missing or another', t.relation),
        _upgrade
    FROM rag._tenant_policies() AS t
    WHERE (_shared OR t.relation = 'collections')
        AND NOT EXISTS (SELECT FROM pg_policy AS p
            WHERE p.polrelid = format('rag.%I', t.relation)::regclass AND p.polname = 'tenant'
                AND p.polpermissive AND pg_get_expr(p.polqual, p.polrelid) = t.condition);
    RETURN QUERY
    SELECT 'door', 'fail', format('policy %I of %s lets the door see more', p.polname,
        p.polrelid::regclass), format('DROP POLICY %I ON %s', p.polname, p.polrelid::regclass)
    FROM rag._tenant_policies() AS t
    JOIN pg_policy AS p ON p.polrelid = format('rag.%I', t.relation)::regclass,
    unnest(p.polroles) AS o (oid)
    WHERE p.polpermissive AND p.polname <> ALL (ARRAY['tenant', t.relation || '_unrestricted'])
        AND t.relation NOT IN ('documents', 'chunks')
        AND (o.oid = 0 OR pg_has_role(_roles.reader, o.oid, 'USAGE'));
    RETURN QUERY
    SELECT DISTINCT 'door', 'fail',
        format('policy %I of %s holds roles, and the door is another', p.polname,
            p.polrelid::regclass),
        format('DROP POLICY %I ON %s: rag.set_access takes its place, or a collection for each '
            'tenant', p.polname, p.polrelid::regclass)
    FROM pg_policy AS p
    WHERE p.polrelid IN ('rag.documents'::regclass, 'rag.chunks'::regclass)
        AND p.polname NOT IN ('tenant', 'granted');
    RETURN QUERY
    SELECT 'door', 'fail', format('role %I can log in, is a superuser, has BYPASSRLS, is a '
            'member of another or owns tables', r.rolname),
        format('ALTER ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS; and take from it what it owns',
            r.rolname)
    FROM pg_roles AS r
    WHERE r.rolname = _roles.reader AND (r.rolsuper OR r.rolbypassrls OR r.rolcanlogin
        OR EXISTS (SELECT FROM pg_auth_members AS m WHERE m.member = r.oid)
        OR EXISTS (SELECT FROM pg_class AS c WHERE c.relowner = r.oid));
    RETURN QUERY
    SELECT 'door', 'fail',
        CASE WHEN f.runs_as IS NULL OR f.runs_as = 'caller'
             THEN format('%s runs with the rights of %I', p.oid::regprocedure, r.rolname)
             ELSE format('%s does not run with the rights of %I', p.oid::regprocedure,
                 w.owner_name) END, _upgrade
    FROM pg_proc AS p
    JOIN pg_roles AS r ON r.oid = p.proowner
    LEFT JOIN rag._door_functions() AS f ON f.function_name = p.proname,
    LATERAL (SELECT CASE f.runs_as WHEN 'reader' THEN _roles.reader WHEN 'writer'
        THEN _roles.writer END AS owner_name) AS w
    WHERE p.pronamespace = 'rag'::regnamespace AND p.proname <> 'use_service_key'
        AND CASE WHEN w.owner_name IS NULL THEN p.prosecdef
            ELSE NOT p.prosecdef OR r.rolname <> w.owner_name OR r.rolsuper END;
    RETURN QUERY
    SELECT DISTINCT 'door', 'fail', format('%s may write %s', g.grantee, a.relation::regclass),
        format('REVOKE ALL ON %s FROM %s', a.relation::regclass, g.grantee)
    FROM (SELECT c.oid AS relation, c.relowner, x.*
          FROM pg_class AS c, LATERAL aclexplode(c.relacl) AS x
          WHERE c.oid IN ('rag.tenant_roles'::regclass, 'rag.collections'::regclass)
          UNION ALL
          SELECT c.oid, c.relowner, x.*
          FROM pg_class AS c JOIN pg_attribute AS k ON k.attrelid = c.oid,
          LATERAL aclexplode(k.attacl) AS x
          WHERE c.oid = 'rag.collections'::regclass AND k.attname = 'tenant'
              OR c.oid = 'rag.tenant_roles'::regclass) AS a,
    LATERAL (SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC'
        ELSE a.grantee::regrole::text END AS grantee) AS g
    WHERE a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
        AND a.grantee <> a.relowner;
    RETURN QUERY
    SELECT 'door', 'fail', format('%s may call %s and has no such access',
            g.grantee,
            left(string_agg(p.oid::regproc::text, ', ' ORDER BY p.proname), 200)),
        format('REVOKE ALL ON ROUTINE %s FROM %s; where it was renamed, SELECT rag.revoke_tenant('
            'its old name) or rag.revoke_access',
            string_agg(p.oid::regprocedure::text, ', ' ORDER BY p.proname), g.grantee)
    FROM pg_proc AS p
    JOIN rag._door_functions() AS f ON f.function_name = p.proname
        AND f.runs_as <> 'caller' AND p.proname <> 'visible_tenants',
    LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS x,
    LATERAL (SELECT CASE x.grantee WHEN 0 THEN 'PUBLIC'
        ELSE x.grantee::regrole::text END AS grantee) AS g
    WHERE p.pronamespace = 'rag'::regnamespace AND x.grantee <> p.proowner
        AND NOT EXISTS (SELECT FROM pg_roles AS r
            WHERE r.oid = x.grantee AND (r.rolsuper
                OR r.rolname IN (_roles.owner_name, _roles.reader, _roles.writer)
                OR EXISTS (SELECT FROM rag.tenant_roles AS t WHERE t.role_name = r.rolname)
                OR EXISTS (SELECT FROM rag.access_grants AS a WHERE a.role_name = r.rolname
                    AND a.access = ANY (rag._door_kinds(f.runs_as)))))
    GROUP BY g.grantee;
    RETURN QUERY
    SELECT 'door', 'warn', format('role %I may write as %s, but policies hold it: its functions '
            'fail with 42501', r.rolname, g.access), format('ALTER ROLE %I BYPASSRLS', r.rolname)
    FROM rag.access_grants AS g JOIN pg_roles AS r ON r.rolname = g.role_name
    WHERE g.access IN ('writer', 'worker', 'evaluator') AND NOT (r.rolbypassrls OR r.rolsuper)
        AND NOT pg_has_role(r.oid, _roles.owner_name::regrole, 'USAGE');
END
$$;

COMMENT ON FUNCTION rag._check_door IS
$$rag.check_tenants: whether the policies are there and hold the roles of the door, and these alone
run its functions.$$;


CREATE OR REPLACE FUNCTION rag._check_around()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE readers AS (
        SELECT r.oid, r.rolname FROM rag.tenant_roles AS t
        JOIN pg_roles AS r ON r.rolname = t.role_name AND NOT r.rolsuper
    ), above AS (
        SELECT c.oid, false AS by_owner FROM pg_class AS c
        WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p')
        UNION
        SELECT v.oid, a.by_owner OR v.relkind = 'm' OR NOT coalesce(
            v.reloptions && '{security_invoker=true,security_invoker=on,security_invoker=1,'
                'security_invoker=yes}', false)
        FROM above AS a
        JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = a.oid
            AND d.classid = 'pg_rewrite'::regclass
        JOIN pg_rewrite AS w ON w.oid = d.objid
        JOIN pg_class AS v ON v.oid = w.ev_class AND v.oid <> a.oid AND v.relkind IN ('v', 'm')
    )
    SELECT DISTINCT 'around the door', 'fail',
        format('view %s reads tables of schema rag as its owner, and role %I of a tenant reads it',
            a.oid::regclass, r.rolname),
        format('REVOKE ALL ON %s FROM %I, PUBLIC, or ALTER VIEW %1$s SET (security_invoker)',
            a.oid::regclass, r.rolname)
    FROM above AS a JOIN readers AS r ON has_any_column_privilege(r.oid, a.oid, 'SELECT')
    WHERE a.by_owner;
    RETURN QUERY
    SELECT DISTINCT 'around the door', 'fail',
        format('%s runs with the rights of %I and reads schema rag, and role %I of a tenant may '
            'call it', p.oid::regprocedure, o.rolname, r.rolname),
        format('REVOKE ALL ON FUNCTION %s FROM %I, PUBLIC', p.oid::regprocedure, r.rolname)
    FROM pg_proc AS p
    JOIN pg_roles AS o ON o.oid = p.proowner
    JOIN rag.tenant_roles AS t ON true
    JOIN pg_roles AS r ON r.rolname = t.role_name AND NOT r.rolsuper
    WHERE p.prosecdef AND p.pronamespace <> 'rag'::regnamespace AND p.proowner <> r.oid
        AND coalesce(p.prosrc, '') || coalesce(pg_get_function_sqlbody(p.oid), '')
            ~* E'\\mrag\\M'
        AND has_table_privilege(o.oid, 'rag.chunks', 'SELECT')
        AND has_function_privilege(r.oid, p.oid, 'EXECUTE')
        AND has_schema_privilege(r.oid, p.pronamespace, 'USAGE');
    RETURN QUERY
    SELECT DISTINCT 'around the door', 'fail',
        format('role %I of a tenant may create in schema rag', r.rolname),
        format('REVOKE CREATE ON SCHEMA rag FROM %I, PUBLIC', r.rolname)
    FROM rag.tenant_roles AS t JOIN pg_roles AS r ON r.rolname = t.role_name AND NOT r.rolsuper
    WHERE has_schema_privilege(r.oid, 'rag', 'CREATE');
END
$$;

COMMENT ON FUNCTION rag._check_around IS
$$rag.check_tenants: ways past the door: views and functions of others that read schema rag with
their owners' rights, and the right to create in it.$$;


CREATE OR REPLACE FUNCTION rag.check_tenants()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF EXISTS (SELECT FROM rag.tenant_roles) THEN
        RETURN QUERY SELECT f.* FROM rag._check_door() AS f;
        RETURN QUERY SELECT f.* FROM rag._check_tenant_roles() AS f;
        RETURN QUERY SELECT f.* FROM rag._check_around() AS f;
    END IF;
END
$$;

COMMENT ON FUNCTION rag.check_tenants IS
$$Where tenants could see more than their own, each with what mends it.

No rows: the policies hold whoever comes as a tenant, or no role is a tenant's. status: fail, or
warn for what is no way yet. rag.grant_tenant refuses with the first failure, rag-pg db check and
rag-pg db upgrade tell all.
Circle: application, Tenants.
SELECT * FROM rag.check_tenants()$$;
