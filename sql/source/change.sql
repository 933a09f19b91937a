-- Changes of a source: the trigger on its table notes which rows were written.

CREATE OR REPLACE FUNCTION rag._record_changes()
RETURNS trigger
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET TimeZone TO 'UTC'           -- keys are texts: always the same ones
SET DateStyle TO 'ISO, YMD'
SET IntervalStyle TO 'postgres'
SET extra_float_digits TO 1
SET bytea_output TO 'hex'
SET lc_monetary TO 'C'
AS $$
DECLARE
    _source integer := TG_ARGV[0]::integer;
    _note jsonb := TG_ARGV[2]::jsonb;
    _columns text[] := ARRAY(SELECT jsonb_array_elements_text(_note -> 'columns'));
    _keys jsonb[];
    _reason text;
    _allowed boolean;
    _nothing_waited boolean;
    _noted bigint;
BEGIN
    -- first: without it the table has no name
    _allowed := CASE WHEN has_schema_privilege('rag', 'USAGE')
                     THEN has_table_privilege('rag.source_changes', 'SELECT')
                          AND has_table_privilege('rag.source_changes', 'INSERT') END;
    IF _allowed IS NOT TRUE THEN
        RAISE EXCEPTION 'role % may not note changes of table % in schema rag', current_user,
            TG_RELID::regclass
        USING ERRCODE = '42501',
            HINT = format('have the owner of schema rag call rag.grant_access(%L, %L)',
                current_user, 'source_writer');
    END IF;
    _nothing_waited := NOT EXISTS (SELECT FROM rag.source_changes AS c WHERE c.source_id = _source);
    -- Nothing is written inside a block with an exception handler: a transaction of many statements
    -- stays cheap.
    IF TG_OP <> 'TRUNCATE' AND (_note -> 'version' IS DISTINCT FROM to_jsonb(rag._note_version())
        OR (SELECT count(*) FROM pg_attribute AS a
            WHERE a.attrelid = TG_RELID AND a.attname = ANY (_columns) AND NOT a.attisdropped
        ) < greatest(1, cardinality(_columns))) THEN
        BEGIN  -- a column was renamed, or another release made the trigger
            _note := (rag._source_sql(TG_RELID, TG_ARGV[1]::jsonb)).note_sql;
        EXCEPTION WHEN OTHERS THEN
            _note := NULL;
            _reason := SQLERRM;
        END;
    END IF;
    IF TG_OP = 'TRUNCATE' OR _note IS NULL THEN
        INSERT INTO rag.source_changes (source_id, reason) VALUES (_source, _reason);
    ELSIF TG_OP = 'UPDATE' THEN
        BEGIN
            EXECUTE _note ->> 'UPDATE' INTO _keys;
        EXCEPTION WHEN OTHERS THEN  -- the condition: who follows will say so
            EXECUTE _note ->> 'ANY' INTO _keys;
        END;
        INSERT INTO rag.source_changes (source_id, key) SELECT _source, k.key
            FROM unnest(_keys) AS k (key);
    ELSE
        EXECUTE _note ->> TG_OP USING _source;
    END IF;
    GET DIAGNOSTICS _noted = ROW_COUNT;
    IF _nothing_waited AND _noted > 0 THEN
        -- only then: a NOTIFY makes the commits of all writers queue up
        PERFORM pg_notify('rag_sources', '');
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION rag._record_changes IS
$$The trigger on a source's table: notes the keys of the rows that a statement wrote, in the same
transaction.

It runs as whoever writes the table (SECURITY INVOKER) with the definition and the statements made
of it in its arguments, which only the table's owner can change. Where a column was renamed since,
or they are of another rag._note_version, the statements are made anew, at about a millisecond.
Whatever goes wrong with the definition, the
application's write goes through and every row is read again later. Only a role without the right to
note anything is refused: its changes would be lost. An UPDATE counts where a column that the source
reads, the condition's verdict or the key changes.$$;
