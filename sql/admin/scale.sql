-- More machines: Citus keeps the schema whole on one of its nodes.

CREATE OR REPLACE FUNCTION rag._next_id(of_table text, id_column text)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    next_value CONSTANT text := format('SELECT nextval(%L)',
        pg_get_serial_sequence(format('rag.%I', of_table), id_column));
    _id text;
    _known boolean;
    _worker boolean := false;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_local_group') IS NOT NULL THEN
        EXECUTE 'SELECT g.groupid <> 0 FROM pg_catalog.pg_dist_local_group AS g' INTO _worker;
    END IF;
    IF NOT _worker THEN
        EXECUTE next_value INTO _id;
        RETURN _id;
    END IF;
    EXECUTE 'SELECT c.success, c.result FROM pg_catalog.run_command_on_coordinator($1) AS c'
    INTO _known, _id USING next_value;
    IF NOT _known THEN
        RAISE EXCEPTION 'the coordinator gives no id for rag.%: %', of_table, _id
        USING ERRCODE = 'RG006', HINT = 'this role has to reach it from here: see pg_dist_authinfo';
    END IF;
    RETURN _id;
END
$$;

COMMENT ON FUNCTION rag._next_id IS
$$The next id of a table whose ids are integers. On a node of Citus its coordinator gives it: each
node has a part of the numbers for itself, and those of integers are all the coordinator's.$$;


CREATE OR REPLACE FUNCTION rag._stored_as(relation regclass)
RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _stored regclass;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_shard') IS NOT NULL THEN
        EXECUTE 'SELECT to_regclass(format(''rag.%I'', c.relname || ''_'' || s.shardid))
            FROM pg_catalog.pg_class AS c
            LEFT JOIN pg_catalog.pg_index AS i ON i.indexrelid = c.oid
            JOIN pg_catalog.pg_dist_shard AS s ON s.logicalrelid = coalesce(i.indrelid, c.oid)
            WHERE c.oid = $1' INTO _stored USING relation;
    END IF;
    RETURN coalesce(_stored, relation);
END
$$;

COMMENT ON FUNCTION rag._stored_as IS
$$The relation that has the rows of a table or an index, with their size and statistics: itself, or
on a node of Citus its one shard.$$;


CREATE OR REPLACE FUNCTION rag._other_node()
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _node text;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_placement') IS NOT NULL THEN
        EXECUTE 'SELECT format(''%s:%s'', n.nodename, n.nodeport)
            FROM pg_catalog.pg_dist_shard AS s
            JOIN pg_catalog.pg_dist_placement AS p ON p.shardid = s.shardid
            JOIN pg_catalog.pg_dist_node AS n ON n.groupid = p.groupid
            WHERE s.logicalrelid = ''rag.collections''::regclass
                AND n.groupid <> (SELECT l.groupid FROM pg_catalog.pg_dist_local_group AS l)'
        INTO _node;
    END IF;
    RETURN _node;
END
$$;

COMMENT ON FUNCTION rag._other_node IS
$$The node to which Citus has given the schema, where that is not this one.$$;


CREATE OR REPLACE FUNCTION rag._require_rows(caller text)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _node CONSTANT text := rag._other_node();
BEGIN
    IF _node IS NOT NULL THEN
        RAISE EXCEPTION '% runs on the node that has schema rag', caller
        USING ERRCODE = 'RG007', HINT = format('connect to %s', _node);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._require_rows IS
$$Error RG007 where Citus has the schema on another node than this one.$$;
