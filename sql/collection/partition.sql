-- Where the rows of a collection lie: its partitions, and that of an embedding space.

CREATE OR REPLACE FUNCTION rag._collection_tables()
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['documents', 'chunks', 'keyword_changes', 'keyword_slots', 'keyword_postings',
    'keyword_removed'];

COMMENT ON FUNCTION rag._collection_tables IS
$$The partitioned tables of which every collection has a partition of its own, named
<table>_<collection_id>.$$;


CREATE OR REPLACE PROCEDURE rag._attach_partition(parent text, partition_key integer,
    in_line boolean DEFAULT true)
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $$
DECLARE
    _partition text := format('%s_%s', parent, partition_key);
BEGIN
    IF to_regclass(format('rag.%I', _partition)) IS NOT NULL THEN
        RAISE EXCEPTION 'rag.% is there already: schema rag is a copy without its rows',
            quote_ident(_partition)
        USING ERRCODE = 'RG006', HINT = 'run "rag-pg db upgrade"';
    END IF;
    EXECUTE format('CREATE TABLE rag.%I (LIKE rag.%I INCLUDING ALL EXCLUDING COMMENTS %s)',
                   _partition, parent, CASE WHEN NOT in_line THEN 'EXCLUDING STORAGE' END);
    -- What default privileges gave: no policy of the parent would hold who reads it here.
    EXECUTE (SELECT format('REVOKE ALL ON %s FROM %s', c.oid::regclass, concat_ws(', ', 'PUBLIC',
            string_agg(DISTINCT a.grantee::regrole::text, ', ')))
        FROM pg_class AS c
        LEFT JOIN LATERAL aclexplode(c.relacl) AS a ON a.grantee NOT IN (0, c.relowner)
        WHERE c.oid = format('rag.%I', _partition)::regclass
        GROUP BY c.oid);
    EXECUTE format('ALTER TABLE rag.%I ATTACH PARTITION rag.%I FOR VALUES IN (%s)',
                   parent, _partition, partition_key);
    -- LIKE does not copy it: without one, a publication of all tables forbids updates and deletes.
    IF NOT EXISTS (SELECT FROM pg_index AS i
        WHERE i.indrelid = format('rag.%I', parent)::regclass AND i.indisprimary) THEN
        EXECUTE format('ALTER TABLE rag.%I REPLICA IDENTITY FULL', _partition);
    END IF;
END
$$;

COMMENT ON PROCEDURE rag._attach_partition IS
$$Make the partition parent_key and attach it. ATTACH passes beside open readers and writers, which
CREATE TABLE … PARTITION OF does not.

in_line: values are kept in the row, as the parent says; else where their types would have them.$$;
