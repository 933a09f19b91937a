-- Whose collections and documents a session sees: by who it is, not by what it sets.

CREATE OR REPLACE FUNCTION rag._tenants_of(login text)
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _tenants text[];
    _chosen text;
BEGIN
    SELECT array_agg(t.tenant) INTO _tenants FROM rag.tenant_roles AS t
    WHERE t.role_name = login;
    IF '*' = ANY (_tenants) THEN
        _chosen := current_setting('rag.tenant', true);
        -- A pooler leaves '' where another client has set it for a transaction.
        RETURN CASE WHEN _chosen IN ('', '*') OR _chosen IS NULL THEN '{}'
            ELSE ARRAY[_chosen] END;
    END IF;
    RETURN _tenants;
END
$$;

COMMENT ON FUNCTION rag._tenants_of IS
$$The tenants of a role, of a trusted application the one that it has chosen; NULL where it is no
role of a tenant.$$;


CREATE OR REPLACE FUNCTION rag.visible_tenants()
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- session_user: SET ROLE and functions with their owner's rights change current_user alone.
    _by_own_rights CONSTANT boolean := pg_has_role(session_user, current_user, 'MEMBER');
    _role CONSTANT text := current_setting('role');
    _tenants text[];
    _of_role text[];
BEGIN
    IF _by_own_rights AND NOT has_table_privilege('rag.tenant_roles', 'SELECT') THEN
        RETURN '{*}';
    END IF;
    _tenants := rag._tenants_of(session_user);
    IF _tenants IS NULL THEN
        IF _by_own_rights THEN  -- apart: an expression that reads a table is begun at each call
            _tenants := '{*}';
        ELSIF EXISTS (SELECT FROM rag.access_grants AS g
            JOIN pg_roles AS r ON r.rolname = g.role_name
            WHERE pg_has_role(session_user, r.oid, 'MEMBER')
                AND g.access = ANY (rag._door_kinds('reader'))) THEN
            _tenants := '{*}';
        ELSE
            _tenants := '{}';
        END IF;
    END IF;
    -- Who serves many logs in as itself and takes the role of each: that narrows what it sees.
    IF _role <> 'none' THEN
        _of_role := rag._tenants_of(_role);
    END IF;
    IF _of_role IS NULL THEN
        RETURN _tenants;
    ELSIF _tenants = '{*}' THEN
        RETURN _of_role;
    END IF;
    RETURN ARRAY(SELECT t.tenant FROM unnest(_tenants) AS t (tenant)
        WHERE t.tenant = ANY (_of_role));
END
$$;

COMMENT ON FUNCTION rag.visible_tenants IS
$$Whose collections this session sees: the tenants of its login role; {*} where its rights alone
decide; {} for nobody's. A tenant's role that was taken by SET ROLE sees no more than its own.

The setting rag.tenant counts for a role that rag.grant_tenant made a trusted application, and for
no other: it names one tenant, best by set_config('rag.tenant', ..., true) for a transaction.
Circle: application, Tenants.
SELECT rag.visible_tenants()$$;


CREATE OR REPLACE FUNCTION rag._find_collection(wanted text)
RETURNS rag.collections
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET enable_seqscan TO off
AS $$
DECLARE
    _tenants CONSTANT text[] := rag.visible_tenants();
    _found rag.collections;
BEGIN
    IF _tenants = '{*}' THEN
        SELECT c.* INTO _found FROM rag.collections AS c
        WHERE c.name = wanted AND c.dropped_at IS NULL;
    ELSE
        -- num_nulls: a generic plan would take the unique index of names, which holds those that
        -- are not dropped, read the other's row and ask the policy
        SELECT c.* INTO _found FROM rag.collections AS c
        WHERE c.name = wanted AND c.tenant = ANY (CASE WHEN _tenants <> '{}'
            THEN _tenants || '*'::text ELSE '{}' END) AND num_nulls(c.dropped_at) = 1;
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._find_collection IS
$$The collection of that name among those that the session sees; NULL for none.

By an index of name and tenant, so that one of another tenant costs what one that there is not
does: no row is read and no policy is asked. It holds functions with their owner's rights, for whom
there is no policy, too.$$;


CREATE OR REPLACE FUNCTION rag._groups_of(login text)
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _trusted CONSTANT boolean := EXISTS (SELECT FROM rag.tenant_roles AS t
        WHERE t.role_name = login AND t.tenant = '*');
    _tenants CONSTANT text[] := CASE WHEN _trusted THEN rag._tenants_of(login) END;
BEGIN
    IF NOT EXISTS (SELECT FROM rag.tenant_roles AS t WHERE t.role_name = login) THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(
        SELECT DISTINCT n.tenant || '/' || g.name
        FROM (
            SELECT t.tenant, t.groups FROM rag.tenant_roles AS t
            WHERE t.role_name = login AND NOT _trusted
            UNION ALL
            SELECT v.tenant, string_to_array(current_setting('rag.groups', true), ',')
            FROM unnest(_tenants) AS v (tenant)
        ) AS s,
        LATERAL unnest(ARRAY[s.tenant, '*']) AS n (tenant),
        LATERAL unnest(s.groups) AS g (name)
        ORDER BY 1);
END
$$;

COMMENT ON FUNCTION rag._groups_of IS
$$The groups of a role, of a trusted application those that it has named; NULL where it is no role
of a tenant.$$;


CREATE OR REPLACE FUNCTION rag.visible_groups()
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _groups CONSTANT text[] := rag._groups_of(session_user);
    _role CONSTANT text := current_setting('role');
    _of_role text[];
BEGIN
    IF _role <> 'none' THEN
        _of_role := rag._groups_of(_role);
    END IF;
    RETURN CASE WHEN _of_role IS NULL THEN coalesce(_groups, '{}') WHEN _groups IS NULL
        THEN _of_role ELSE ARRAY(SELECT g.name FROM unnest(_groups) AS g (name)
            WHERE g.name = ANY (_of_role)) END;
END
$$;

COMMENT ON FUNCTION rag.visible_groups IS
$$The groups of tenants that this session is in.

As access lists of documents name them: acme/legal is group legal of tenant acme, */legal that group
of any. Those that rag.grant_tenant gave its login role; for a trusted application those that the
setting rag.groups names, with commas between, as rag.tenant names the tenant.
A tenant's role that was taken by SET ROLE is in no more than its own.
Circle: application, Tenants.
SELECT rag.visible_groups()$$;


CREATE OR REPLACE FUNCTION rag._scope(collection_id integer)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _of text;
    _tenants text[];
BEGIN
    IF _scope.collection_id IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT c.tenant INTO _of FROM rag.collections AS c
    WHERE c.collection_id = _scope.collection_id;
    IF _of <> '*' THEN
        RETURN NULL;
    END IF;
    _tenants := rag.visible_tenants();
    IF _tenants = '{*}' THEN
        RETURN NULL;
    ELSIF _of IS NULL OR _tenants = '{}' THEN
        RETURN 'false';
    END IF;
    RETURN format('(c.tenant = ANY (%L::text[]) AND (c.acl IS NULL OR c.acl && %L::text[]))',
        _tenants || '*'::text, rag.visible_groups());
END
$$;

COMMENT ON FUNCTION rag._scope IS
$$What a session sees of a shared collection, as an SQL condition on alias c of rag.documents or
rag.chunks. NULL: all, as of a collection that is a tenant's own.$$;


CREATE OR REPLACE FUNCTION rag._scoped_documents(
    collection_id integer, document_ids uuid[])
RETURNS uuid[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _condition CONSTANT text := rag._scope(_scoped_documents.collection_id);
    _ids uuid[] := document_ids;
BEGIN
    IF _condition IS NOT NULL THEN
        EXECUTE format('SELECT array_agg(c.document_id) FROM rag.documents AS c '
            'WHERE c.collection_id = $1 AND c.document_id = ANY ($2) AND %s', _condition)
        INTO _ids USING _scoped_documents.collection_id, document_ids;
    END IF;
    RETURN coalesce(_ids, '{}');
END
$$;

COMMENT ON FUNCTION rag._scoped_documents IS
$$Those of the documents that the session sees in a shared collection; all of them in another.$$;


CREATE OR REPLACE FUNCTION rag._scoped_chunks(collection_id integer, chunk_ids bigint[])
RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _condition CONSTANT text := rag._scope(_scoped_chunks.collection_id);
    _seen bigint[];
BEGIN
    IF _condition IS NULL THEN
        RETURN chunk_ids;
    END IF;
    _seen := rag._filter_chunks(_scoped_chunks.collection_id, chunk_ids, _condition);
    RETURN ARRAY(SELECT CASE WHEN u.id = ANY (_seen) THEN u.id END
        FROM unnest(chunk_ids) WITH ORDINALITY AS u (id, position) ORDER BY u.position);
END
$$;

COMMENT ON FUNCTION rag._scoped_chunks IS
$$The ids of chunks with NULL in the place of those that the session does not see in a shared
collection.$$;


CREATE OR REPLACE FUNCTION rag._own_collections()
RETURNS integer[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _tenants CONSTANT text[] := rag.visible_tenants();
BEGIN
    RETURN ARRAY(SELECT c.collection_id FROM rag.collections AS c
        WHERE _tenants = '{*}' OR c.tenant = ANY (_tenants));
END
$$;

COMMENT ON FUNCTION rag._own_collections IS
$$For policies: the collections of which the session sees all.$$;


CREATE OR REPLACE FUNCTION rag._shared_collections()
RETURNS integer[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(SELECT c.collection_id FROM rag.collections AS c WHERE c.tenant = '*');
END
$$;

COMMENT ON FUNCTION rag._shared_collections IS
$$For policies: the collections in which each document has its own tenant.$$;


CREATE OR REPLACE FUNCTION rag._sees_document(collection_id integer, document_id uuid)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM rag.documents AS d
        WHERE d.collection_id = _sees_document.collection_id
            AND d.document_id = _sees_document.document_id);
END
$$;

COMMENT ON FUNCTION rag._sees_document IS
$$For policies on what belongs to a document: whether the caller sees that.$$;
