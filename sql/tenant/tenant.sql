-- Tenants: made, given collections and login roles, listed.

CREATE OR REPLACE FUNCTION rag._require_tenant(wanted text)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM rag.tenants AS t WHERE t.tenant = wanted) THEN
        RAISE EXCEPTION 'there is no tenant %', coalesce(quote_literal(left(wanted, 200)), 'NULL')
        USING ERRCODE = 'RG002', HINT = 'rag.create_tenant makes one, rag.list_tenants lists them';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._require_tenant IS
$$Error RG002 where there is no such tenant.$$;


CREATE OR REPLACE FUNCTION rag._check_tenant_name(name text, what text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF coalesce(name, '') !~ '^[^[:space:],*/]{1,100}$' THEN
        RAISE EXCEPTION '% name % is not usable', what,
            coalesce(quote_literal(left(name, 200)), 'NULL')
        USING ERRCODE = 'RG001',
            HINT = 'use 1 to 100 characters without spaces, commas, asterisks or slashes';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_tenant_name IS
$$Error RG001 for what is no name of a tenant, or of a group (what).$$;


CREATE OR REPLACE FUNCTION rag.create_tenant(tenant text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._require_owner('make a tenant');
    PERFORM rag._check_tenant_name(create_tenant.tenant, 'tenant');
    INSERT INTO rag.tenants AS t (tenant) VALUES (create_tenant.tenant) ON CONFLICT DO NOTHING;
END
$$;

COMMENT ON FUNCTION rag.create_tenant IS
$$Make a tenant: whose collections nobody but its own login roles sees through the door.

rag.set_tenant gives it collections, rag.grant_tenant login roles. Nothing happens where it is there
already. The caller owns the tables of schema rag.
Circle: application, Tenants.
SELECT rag.create_tenant('acme')$$;


CREATE OR REPLACE FUNCTION rag.set_tenant(collection text, tenant text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET client_min_messages TO warning  -- of indexes that are not there
AS $$
DECLARE
    _id integer := (rag._require_collection(set_tenant.collection)).collection_id;
BEGIN
    PERFORM rag._require_owner('give a collection to a tenant');
    IF coalesce(set_tenant.tenant, '-') NOT IN ('', '*') THEN
        PERFORM rag._require_tenant(set_tenant.tenant);
    END IF;
    UPDATE rag.collections AS c SET tenant = set_tenant.tenant WHERE c.collection_id = _id;
    IF set_tenant.tenant = '*' THEN
        EXECUTE format('CREATE INDEX IF NOT EXISTS %1$I ON rag.%2$I (tenant);'
            'CREATE INDEX IF NOT EXISTS %3$I ON rag.%4$I (tenant)',
            'chunks_tenant_' || _id, 'chunks_' || _id,
            'documents_tenant_' || _id, 'documents_' || _id);
    ELSE
        EXECUTE format('DROP INDEX IF EXISTS rag.%I, rag.%I',
            'chunks_tenant_' || _id, 'documents_tenant_' || _id);
    END IF;
    PERFORM rag._apply_tenants('{}');
END
$$;

COMMENT ON FUNCTION rag.set_tenant IS
$$Give a collection to a tenant; '': to none, so that no tenant sees it; '*': share it.

In a shared collection each tenant sees the documents that rag.set_access gave it, and no others.
Else all that belongs to the collection goes with it: documents, vectors, versions, answers, jobs.
No notice is sent on channel rag_ready for a tenant's documents. The caller owns the tables of
schema rag.
Circle: application, Tenants.
SELECT rag.create_tenant('acme'), rag.set_tenant('docs', 'acme')$$;


CREATE OR REPLACE FUNCTION rag._holds_tenant(collection_id integer, of_tenant text)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM rag.documents AS d
        WHERE d.collection_id = _holds_tenant.collection_id AND d.tenant = of_tenant);
END
$$;

COMMENT ON FUNCTION rag._holds_tenant IS
$$Whether a collection has documents of a tenant.$$;


CREATE OR REPLACE FUNCTION rag.drop_tenant(tenant text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _names text := (
        SELECT string_agg(c.name, ', ' ORDER BY c.name) FROM rag.collections AS c
        WHERE c.dropped_at IS NULL AND (c.tenant = drop_tenant.tenant
            OR c.tenant = '*' AND rag._holds_tenant(c.collection_id, drop_tenant.tenant)));
BEGIN
    PERFORM rag._require_owner('drop a tenant');
    PERFORM rag._require_tenant(drop_tenant.tenant);
    IF _names IS NOT NULL THEN
        RAISE EXCEPTION 'tenant % has collections, or documents in them: %',
            quote_literal(drop_tenant.tenant), left(_names, 500)
        USING ERRCODE = 'RG007', HINT = 'rag.drop_collection removes one, rag.set_tenant gives '
            'it to another tenant, rag.set_access gives documents to another';
    END IF;
    PERFORM rag.revoke_tenant(t.role_name, t.tenant) FROM rag.tenant_roles AS t
    WHERE t.tenant = drop_tenant.tenant;
    DELETE FROM rag.tenants AS t WHERE t.tenant = drop_tenant.tenant;
END
$$;

COMMENT ON FUNCTION rag.drop_tenant IS
$$Remove a tenant that has nothing, and take its roles' rights.
Error RG007 names the collections in which it has some. The caller owns the tables of schema rag.
Circle: application, Tenants.
SELECT rag.create_tenant('acme'), rag.drop_tenant('acme')$$;


CREATE OR REPLACE FUNCTION rag.grant_tenant(role_name text, tenant text,
    access text DEFAULT 'reader', groups text[] DEFAULT '{}')
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _finding rag.finding;
BEGIN
    PERFORM rag._check_access_call(grant_tenant.role_name, NULL);
    IF grant_tenant.access IS NULL OR grant_tenant.access NOT IN ('reader', 'writer') THEN
        RAISE EXCEPTION 'access % is unknown', coalesce(quote_literal(grant_tenant.access), 'NULL')
        USING ERRCODE = 'RG001', HINT = 'use reader or writer';
    END IF;
    PERFORM rag._check_tenant_name(g.name, 'group') FROM unnest(grant_tenant.groups) AS g (name);
    IF grant_tenant.tenant IS DISTINCT FROM '*' THEN
        PERFORM rag._require_tenant(grant_tenant.tenant);
    ELSIF grant_tenant.groups <> '{}' THEN
        RAISE EXCEPTION 'a trusted application has no groups of its own' USING ERRCODE = 'RG001',
        HINT = 'it names those of who asks: set_config(''rag.groups'', ''legal,sales'', true)';
    END IF;
    INSERT INTO rag.tenant_roles AS t (role_name, tenant, access, groups)
    VALUES (grant_tenant.role_name, grant_tenant.tenant, grant_tenant.access,
        coalesce(grant_tenant.groups, '{}'))
    ON CONFLICT ON CONSTRAINT tenant_roles_pkey
        DO UPDATE SET access = excluded.access, groups = excluded.groups;
    PERFORM rag._renew_rights(grant_tenant.role_name);
    SELECT f.* INTO _finding FROM rag.check_tenants() AS f WHERE f.status = 'fail' LIMIT 1;
    IF _finding.detail IS NOT NULL THEN
        RAISE EXCEPTION '%', _finding.detail
        USING ERRCODE = 'RG007', HINT = _finding.remedy;
    END IF;
END
$$;

COMMENT ON FUNCTION rag.grant_tenant IS
$$Let a login role use a tenant's collections, and nothing else.

It may call the functions of the door, which run with the rights of a role that policies hold, and
has no right on any table: rag.search, rag.get_document, rag.list_collections and most others that
read; access writer: also rag.put_document and others that put and delete. The first grant opens the
door: it makes that role, and from then on roles of rag.grant_access that write need BYPASSRLS.

groups: of the tenant, which access lists of documents name (rag.set_access).
tenant: * makes it a trusted application, which chooses one for each transaction by
set_config('rag.tenant', 'acme', true), and groups by rag.groups; it sees nothing without. Error
RG007 where policies would not hold (rag.check_tenants). The caller owns the tables of schema rag
and may make roles.
Circle: application, Tenants.
SELECT rag.create_tenant('acme'),
    rag.grant_tenant('pg_monitor', 'acme')$$;


CREATE OR REPLACE FUNCTION rag.revoke_tenant(role_name text, tenant text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._check_access_call(revoke_tenant.role_name, NULL);
    DELETE FROM rag.tenant_roles AS t
    WHERE t.role_name = revoke_tenant.role_name
        AND (revoke_tenant.tenant IS NULL OR t.tenant = revoke_tenant.tenant);
    PERFORM rag._renew_rights(revoke_tenant.role_name);
END
$$;

COMMENT ON FUNCTION rag.revoke_tenant IS
$$Take a tenant from a login role; NULL: all that it has. The door closes with the last.
The caller owns the tables of schema rag.
Circle: application, Tenants.
SELECT rag.revoke_tenant('pg_monitor')$$;


CREATE OR REPLACE FUNCTION rag.list_tenants()
RETURNS TABLE (tenant text, collections text[], readers text[], writers text[], groups jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT n.tenant,
        ARRAY(SELECT c.name FROM rag.collections AS c
              WHERE c.tenant = n.tenant AND c.dropped_at IS NULL ORDER BY c.name),
        ARRAY(SELECT r.role_name FROM rag.tenant_roles AS r
              WHERE r.tenant = n.tenant AND r.access = 'reader' ORDER BY r.role_name),
        ARRAY(SELECT r.role_name FROM rag.tenant_roles AS r
              WHERE r.tenant = n.tenant AND r.access = 'writer' ORDER BY r.role_name),
        (SELECT coalesce(jsonb_object_agg(r.role_name, to_jsonb(r.groups)), '{}')
         FROM rag.tenant_roles AS r WHERE r.tenant = n.tenant AND r.groups <> '{}')
    FROM (SELECT t.tenant FROM rag.tenants AS t
          UNION SELECT '*' FROM rag.tenant_roles AS r WHERE r.tenant = '*'
          UNION SELECT '*' FROM rag.collections AS c WHERE c.tenant = '*') AS n
    ORDER BY n.tenant;
END
$$;

COMMENT ON FUNCTION rag.list_tenants IS
$$Tenants with their collections, login roles and the groups of these.

* are shared collections and trusted applications.
Circle: application, Tenants.
SELECT * FROM rag.list_tenants()$$;
