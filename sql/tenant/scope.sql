-- Whose the documents of a shared collection are, and who of the tenant may read them.

CREATE OR REPLACE FUNCTION rag._may_change(document rag.documents)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _tenants CONSTANT text[] := rag.visible_tenants();
BEGIN
    RETURN _tenants = '{*}' OR document.tenant = ANY (_tenants)
        AND (document.acl IS NULL OR document.acl && rag.visible_groups());
END
$$;

COMMENT ON FUNCTION rag._may_change IS
$$Whether the session may change a document of a shared collection: one of its tenant that it sees.
Those of every tenant are the owner's to change.$$;


CREATE OR REPLACE FUNCTION rag.set_access(
    collection text, tenant text, groups text[] DEFAULT NULL, uris text[] DEFAULT NULL,
    metadata_filter jsonb DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
DECLARE
    _collection CONSTANT rag.collections := rag._require_collection(set_access.collection);
    _id CONSTANT integer := _collection.collection_id;
    _tenants CONSTANT text[] := rag.visible_tenants();
    _list text[];
    _document_ids uuid[];
BEGIN
    IF coalesce(set_access.tenant, '-') NOT IN ('', '*') OR _tenants <> '{*}' THEN
        IF _tenants <> '{*}' AND coalesce(set_access.tenant = ANY (_tenants), false) IS FALSE THEN
            -- the same for one that is there and one that is not
            RAISE EXCEPTION 'there is no tenant %',
                coalesce(quote_literal(left(set_access.tenant, 200)), 'NULL')
            USING ERRCODE = 'RG002', HINT = 'tenants here: ' || array_to_string(_tenants, ', ');
        END IF;
        PERFORM rag._require_tenant(set_access.tenant);
    END IF;
    PERFORM rag._check_tenant_name(g.name, 'group') FROM unnest(set_access.groups) AS g (name);
    _list := CASE WHEN set_access.groups IS NOT NULL THEN ARRAY(
        SELECT DISTINCT set_access.tenant || '/' || g.name
        FROM unnest(set_access.groups) AS g (name) ORDER BY 1) END;
    IF num_nonnulls(set_access.uris, set_access.metadata_filter) <> 1 THEN
        RAISE EXCEPTION 'neither or both of uris and metadata_filter were given'
        USING ERRCODE = 'RG001', HINT = 'say which documents: their uris, or a filter of metadata';
    ELSIF _collection.tenant <> '*' THEN
        RAISE EXCEPTION 'collection ''%'' is not shared', _collection.name
        USING ERRCODE = 'RG007', HINT = 'rag.set_tenant(collection, ''*'') shares it';
    END IF;
    _document_ids := ARRAY(SELECT rag.document_id(_collection.name, u.uri)
        FROM unnest(coalesce(set_access.uris,
            rag._lock_documents(_id, set_access.metadata_filter))) AS u (uri));
    -- By uri, as puts lock them.
    _document_ids := ARRAY(
        SELECT d.document_id FROM rag.documents AS d
        WHERE d.collection_id = _id AND d.document_id = ANY (_document_ids)
            AND rag._may_change(ROW(d.*)::rag.documents)
        ORDER BY d.uri COLLATE "C" FOR UPDATE);
    UPDATE rag.documents AS d SET tenant = set_access.tenant, acl = _list
    WHERE d.collection_id = _id AND d.document_id = ANY (_document_ids);
    UPDATE rag.chunks AS c SET tenant = set_access.tenant, acl = _list
    WHERE c.collection_id = _id AND c.document_id = ANY (_document_ids);
    IF _document_ids <> '{}' THEN
        PERFORM rag._note_change(_id);
    END IF;
    RETURN cardinality(_document_ids);
END
$$;

COMMENT ON FUNCTION rag.set_access IS
$$Say whose documents of a shared collection are.

And which groups of the tenant may read them. Returns how many documents there were. Nothing is cut
or embedded anew.

tenant: '*': every tenant's; '': nobody's, as documents are that the owner puts. groups: NULL: the
whole tenant; {}: none of it. uris or metadata_filter: which documents, all or none. A tenant says
it of its own documents alone, and of none but itself. Error RG007 where the collection is not
shared (rag.set_tenant).
Circle: application, Tenants.
SELECT rag.set_tenant('docs', '*'), rag.create_tenant('acme'),
    rag.set_access('docs', 'acme', '{legal}', uris => '{d1}')$$;
