-- Whose collections a session sees: by who it is, not by what it sets.

CREATE OR REPLACE FUNCTION rag.visible_tenants()
RETURNS text[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- session_user: SET ROLE and functions with their owner's rights change current_user alone.
    _by_own_rights CONSTANT boolean := pg_has_role(session_user, current_user, 'MEMBER');
    _tenants text[];
    _chosen text;
BEGIN
    IF _by_own_rights AND NOT has_table_privilege('rag.tenant_roles', 'SELECT') THEN
        RETURN '{*}';
    END IF;
    SELECT array_agg(t.tenant) INTO _tenants FROM rag.tenant_roles AS t
    WHERE t.role_name = session_user;
    IF _tenants IS NULL THEN
        IF _by_own_rights THEN
            RETURN '{*}';
        END IF;
        RETURN CASE WHEN EXISTS (SELECT FROM rag.access_grants AS g
                JOIN pg_roles AS r ON r.rolname = g.role_name
                WHERE pg_has_role(session_user, r.oid, 'MEMBER'))
            THEN '{*}' ELSE '{}' END;
    ELSIF '*' = ANY (_tenants) THEN
        _chosen := current_setting('rag.tenant', true);
        -- A pooler leaves '' where another client has set it for a transaction.
        RETURN CASE WHEN _chosen IN ('', '*') OR _chosen IS NULL THEN '{}'
            ELSE ARRAY[_chosen] END;
    END IF;
    RETURN _tenants;
END
$$;

COMMENT ON FUNCTION rag.visible_tenants IS
$$Whose collections this session sees: the tenants of its login role; {*} where its rights alone
decide; {} for nobody's.

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
        SELECT c.* INTO _found FROM rag.collections AS c
        WHERE c.name = wanted AND c.tenant = ANY (_tenants) AND c.dropped_at IS NULL;
    END IF;
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._find_collection IS
$$The collection of that name among those that the session sees; NULL for none.

By an index of name and tenant, so that one of another tenant costs what one that there is not
does: no row is read and no policy is asked. It holds functions with their owner's rights, for whom
there is no policy, too.$$;
