-- The formulas of BM25 (Robertson and Zaragoza 2009, in Lucene's form) and how postings are packed.

CREATE OR REPLACE FUNCTION rag._bm25_idf(total bigint, containing bigint)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ln((total + 1) / (containing + 0.5::double precision));

COMMENT ON FUNCTION rag._bm25_idf IS
$$Inverse document frequency of a lexeme that `containing` of `total` chunks contain, as in Lucene.

The same number as ln(1 + (total - containing + 0.5) / (containing + 0.5)).$$;


CREATE OR REPLACE FUNCTION rag._bm25_saturation(
    frequency double precision, length double precision, mean_length double precision,
    tf_saturation double precision, length_weight double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN frequency / (
    frequency + tf_saturation * (1 - length_weight + length_weight * length / mean_length)
);

COMMENT ON FUNCTION rag._bm25_saturation IS
$$What a lexeme that occurs `frequency` times (at least once) in a chunk of `length` lexemes is
worth, 0 to 1.$$;


CREATE OR REPLACE FUNCTION rag._bm25_grid(contribution double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round(contribution * 4294967296.0::double precision) / 4294967296.0::double precision;

COMMENT ON FUNCTION rag._bm25_grid IS
$$Rounds one lexeme's contribution to a multiple of 2^-32.

Such numbers add up without rounding errors, so a score does not depend on the order of addition and
equal contributions give equal scores: ties are real ties, broken by chunk_id.$$;


CREATE OR REPLACE FUNCTION rag._posting(at_slot integer, length integer, frequency integer)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (at_slot::bigint << 32) | (least(length, 16777215)::bigint << 8) | least(frequency, 255);

COMMENT ON FUNCTION rag._posting IS
$$Packs one posting into a number: slot (31 bits), chunk length (24 bits), frequency (8 bits: a
lexeme counts at most 255 times in a chunk; a tsvector keeps 256 of its positions).$$;


CREATE OR REPLACE FUNCTION rag._posting_count(posting_or_count bigint)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN greatest(1, -posting_or_count)::integer;

COMMENT ON FUNCTION rag._posting_count IS
$$How many chunks a row of keyword_postings stands for: posting_or_count is one posting or minus
their number.$$;


CREATE OR REPLACE FUNCTION rag._posting_list(posting_or_count bigint, postings bigint[])
RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN posting_or_count >= 0 THEN ARRAY[posting_or_count] ELSE postings END;

COMMENT ON FUNCTION rag._posting_list IS
$$The exact postings of a row of keyword_postings; NULL where it has weights.$$;


CREATE OR REPLACE FUNCTION rag._posting_saturation(
    posting bigint, mean_length double precision, tf_saturation double precision,
    length_weight double precision
)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN rag._bm25_saturation(
    (posting & 255)::double precision, ((posting >> 8) & 16777215)::double precision,
    mean_length, tf_saturation, length_weight
);

COMMENT ON FUNCTION rag._posting_saturation IS
$$rag._bm25_saturation of a packed posting.$$;


CREATE OR REPLACE FUNCTION rag._mean_length(chunks bigint, lengths bigint)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN chunks > 0 AND lengths > 0 THEN lengths / chunks::double precision ELSE 1 END;

COMMENT ON FUNCTION rag._mean_length IS
$$Average chunk length; 1 for a collection without lexemes.$$;


CREATE OR REPLACE FUNCTION rag._idf_within_tolerance(factor double precision,
    idf_then double precision)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN abs(factor - idf_then) <= greatest(0.04 * idf_then, 0.02);

COMMENT ON FUNCTION rag._idf_within_tolerance IS
$$Whether stored weights can be added as they are: the query has the lexeme once and its idf has
drifted little.$$;
