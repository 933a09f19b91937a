-- Checks of arguments that functions of every folder have in common.

CREATE OR REPLACE FUNCTION rag._check_range(named text, value double precision,
    low double precision, high double precision, code text DEFAULT 'RG004')
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF value IS NULL OR value < low OR value > high THEN
        RAISE EXCEPTION '% % is out of range', named, coalesce(value::text, 'NULL')
        USING ERRCODE = code, HINT = 'use ' || coalesce(low || ' to ' || high, low || ' or more');
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_range IS
$$An error of this code for a number that is NULL, below low or above high (NULL: any is low
enough).$$;
