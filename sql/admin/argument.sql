-- What functions of every folder have in common: checks of arguments, small letters.

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


CREATE OR REPLACE FUNCTION rag._lower(value text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lower(replace(value, 'I', 'i'));

COMMENT ON FUNCTION rag._lower IS
$$A text in small letters, by the locale of the database but for I, of which Turkish and Azeri ones
make ı: words of lists, as units and months, are found in any locale.$$;
