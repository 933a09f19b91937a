-- Texts that say nothing.

CREATE OR REPLACE FUNCTION rag._is_blank(value text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN value !~ E'[^\\s\u0085\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]';

COMMENT ON FUNCTION rag._is_blank IS
$$Whether a text is empty or white space alone, in any locale.$$;
