-- Metadata fields: where a dotted path leads, and what its value is as a type.
--
-- A filter always compares rag._as_<type>(value); declaring a field only puts a btree on that same
-- expression. So a declaration changes how long a search takes, never what it finds. Changing an
-- as_ function means REINDEX.

CREATE OR REPLACE FUNCTION rag._as_numeric(value jsonb)
RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN jsonb_typeof(value) = 'number'
    AND length(value::text) <= 1000 THEN value::numeric END;

COMMENT ON FUNCTION rag._as_numeric IS
$$A JSON number, or NULL: for any other value, and for a number of more than 1,000 characters, which
no btree holds.$$;


CREATE OR REPLACE FUNCTION rag._as_boolean(value jsonb)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN jsonb_typeof(value) = 'boolean' THEN value::boolean END;

COMMENT ON FUNCTION rag._as_boolean IS
$$A JSON boolean, or NULL for any other value.$$;


CREATE OR REPLACE FUNCTION rag._as_text(value jsonb)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN jsonb_typeof(value) = 'string' THEN left(value #>> '{}', 500) END;

COMMENT ON FUNCTION rag._as_text IS
$$The first 500 characters of a JSON string (what a btree can hold), or NULL for any other value.

Comparing them with fewer than 500 characters gives what comparing the whole string would.$$;


CREATE OR REPLACE FUNCTION rag._as_timestamptz(value jsonb)
RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
-- a search_path of its own would double the cost of what runs once per row: every name is written
-- in full instead
AS $$
DECLARE
    _text pg_catalog.text := value OPERATOR(pg_catalog.#>>) '{}';
    _shape pg_catalog.text;
    _zone pg_catalog.text;
BEGIN
    IF pg_catalog.jsonb_typeof(value) OPERATOR(pg_catalog.<>) 'string'
        OR pg_catalog.length(_text) OPERATOR(pg_catalog.<) 10
        OR pg_catalog.length(_text) OPERATOR(pg_catalog.>) 40
    THEN
        RETURN NULL;
    END IF;
    _shape := pg_catalog.translate(_text, '012345678 ', '999999999T');
    _zone := CASE WHEN _shape OPERATOR(pg_catalog.=) '9999-99-99' THEN ''
                  WHEN _shape OPERATOR(pg_catalog.~~) '9999-99-99T99:99:99.9%'
                      THEN pg_catalog.ltrim(pg_catalog.substr(_shape, 21), '9')
                  WHEN _shape OPERATOR(pg_catalog.~~) '9999-99-99T99:99:99%' THEN
                      pg_catalog.substr(_shape, 20)
                  WHEN _shape OPERATOR(pg_catalog.~~) '9999-99-99T99:99%' THEN
                      pg_catalog.substr(_shape, 17) END;
    IF _zone OPERATOR(pg_catalog.=) ANY
        ('{"",Z,+99,-99,+99:99,-99:99,+9999,-9999}'::pg_catalog.text[]) THEN
        IF _zone OPERATOR(pg_catalog.=) '' THEN
            _text := _text OPERATOR(pg_catalog.||) 'Z';
        END IF;
        IF pg_catalog.pg_input_is_valid(_text, 'pg_catalog.timestamptz') THEN
            RETURN _text::pg_catalog.timestamptz;
        END IF;
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION rag._as_timestamptz IS
$$A JSON string that is an ISO 8601 date, or a date and a time, as a point in time, or NULL for any
other value.

2024-02-29, 2024-02-29T12:30, 2024-02-29 12:30:05.25+02:00. Without an offset it is UTC; a date
alone is its midnight. Immutable, because year, month, day and offset are given in full: no setting
of the session has a say.$$;


CREATE OR REPLACE FUNCTION rag._field_steps(field text)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _steps text[];
BEGIN
    IF field !~ E'^([^\\\\]|\\\\[\\\\.$])*$' THEN
        RAISE EXCEPTION 'field % has a backslash that escapes nothing',
            quote_literal(left(field, 100))
        USING ERRCODE = 'RG004',
            HINT = 'a backslash stands before a dot, a dollar sign or another backslash';
    END IF;
    SELECT array_agg(replace(replace(replace(s.step, E'\\d', '.'), E'\\e', '$'), E'\\b', E'\\')
        ORDER BY s.position)
    INTO _steps
    FROM unnest(CASE WHEN field = '' THEN '{""}' ELSE string_to_array(
             replace(replace(replace(field, E'\\\\', E'\\b'), E'\\.', E'\\d'), E'\\$', E'\\e'), '.')
                 END)
         WITH ORDINALITY AS s (step, position);
    IF cardinality(_steps) > 32 THEN
        RAISE EXCEPTION 'field % has % steps', quote_literal(left(field, 100)), cardinality(_steps)
        USING ERRCODE = 'RG004',
            HINT = E'use at most 32; a dot that is part of a name is written \\.';
    END IF;
    RETURN _steps;
END
$$;

COMMENT ON FUNCTION rag._field_steps IS
$$A dotted path as the keys it leads through: author.name gives {author,name}.

A dot, a dollar sign or a backslash that is part of a key stands after a backslash: v1\.0 gives
{v1.0}.$$;


CREATE OR REPLACE FUNCTION rag._field_name(steps text[])
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT string_agg(replace(replace(replace(s.step, '\', '\\'), '.', '\.'), '$', '\$'), '.'
    ORDER BY s.position)
        FROM unnest(steps) WITH ORDINALITY AS s (step, position));

COMMENT ON FUNCTION rag._field_name IS
$$The dotted path of some keys: the inverse of rag._field_steps, so each field has one name.$$;


CREATE OR REPLACE FUNCTION rag._field_value(metadata_column text, steps text[])
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN metadata_column || (SELECT string_agg(format(' -> %L', s.step), '' ORDER BY s.position)
                           FROM unnest(steps) WITH ORDINALITY AS s (step, position));

COMMENT ON FUNCTION rag._field_value IS
$$The SQL expression of a field's value as jsonb: NULL where there is none. It leads through objects
only.$$;


CREATE OR REPLACE FUNCTION rag._field_expression(metadata_column text, steps text[], type text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format('rag._as_%s(%s)%s', type, rag._field_value(metadata_column, steps),
              CASE type WHEN 'text' THEN ' COLLATE "C"' END);

COMMENT ON FUNCTION rag._field_expression IS
$$The SQL expression of a field's value as text, numeric, timestamptz or boolean: what filters
compare and what rag.index_field indexes.$$;
