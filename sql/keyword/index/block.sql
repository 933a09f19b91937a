-- Sizes of the keyword index, in chunks: constants, of which what is stored depends on the first.

CREATE OR REPLACE FUNCTION rag._keyword_block_size()
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 16000;

COMMENT ON FUNCTION rag._keyword_block_size IS
$$Slots per block: the most dimensions that pgvector's dense vectors have.$$;


CREATE OR REPLACE FUNCTION rag._keyword_merge_size()
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 256;

COMMENT ON FUNCTION rag._keyword_merge_size IS
$$How many fresh changes may wait before the writer who adds one merges them.$$;


CREATE OR REPLACE FUNCTION rag._keyword_seal_size()
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 4000;

COMMENT ON FUNCTION rag._keyword_seal_size IS
$$How many slots of a growing block may be open: about a microsecond per posting of theirs and
search.$$;
