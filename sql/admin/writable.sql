-- What cannot be done where nothing can be written, told before it is begun.

CREATE OR REPLACE FUNCTION rag._require_writable(called text, because text, otherwise text
    DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT current_setting('transaction_read_only')::boolean THEN
        RETURN;
    END IF;
    RAISE EXCEPTION '% %, and %', called, because, CASE WHEN pg_is_in_recovery()
        THEN 'this server is a standby, which takes no writes'
        ELSE 'this transaction is read only' END
    USING ERRCODE = 'RG011', HINT = concat_ws('; ',
        CASE WHEN pg_is_in_recovery() THEN 'call it on the primary'
            ELSE 'call it where default_transaction_read_only is off' END, otherwise);
END
$$;

COMMENT ON FUNCTION rag._require_writable IS
$$Error RG011 on a standby and in a transaction that is read only.

called, because: what cannot be done, and why it writes although it looks like a read. otherwise:
what can be done there.$$;
