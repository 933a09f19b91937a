-- Metadata fields that are declared: their index, and what is declared.

CREATE OR REPLACE FUNCTION rag._field_index(of_table text, collection_id integer, field text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format('%s_%s_field_%s', of_table, _field_index.collection_id, left(md5(field), 16));

COMMENT ON FUNCTION rag._field_index IS
$$The name of a declared field's index on chunks or documents.$$;


CREATE OR REPLACE FUNCTION rag._require_field(field text)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF coalesce(field, '') = '' OR octet_length(field) > 500 THEN
        RAISE EXCEPTION 'a field''s name has % bytes', coalesce(octet_length(field), 0)
        USING ERRCODE = 'RG001',
            HINT = 'name a field of the metadata, in at most 500 bytes, e.g. year or author.name';
    ELSIF starts_with(field, '$') THEN
        RAISE EXCEPTION '% is no field of the metadata', quote_literal(left(field, 100))
        USING ERRCODE = 'RG001', HINT = E'a field whose name begins with $ is written \\$';
    END IF;
    RETURN rag._field_steps(field);
END
$$;

COMMENT ON FUNCTION rag._require_field IS
$$The keys that a field's name leads through, or error RG001 for a name that is empty, too long, or
a column's ($uri).$$;


CREATE OR REPLACE FUNCTION rag.field_index_statement(
    collection text, field text, type text, of_table text DEFAULT 'chunks')
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(field_index_statement.collection)).collection_id;
    _steps text[] := rag._require_field(field);
BEGIN
    IF type IS NULL OR type NOT IN ('text', 'numeric', 'timestamptz', 'boolean') THEN
        RAISE EXCEPTION 'unknown field type %', quote_nullable(type)
        USING ERRCODE = 'RG001', HINT = 'use text, numeric, timestamptz or boolean';
    END IF;
    IF of_table IS NULL OR of_table NOT IN ('chunks', 'documents') THEN
        RAISE EXCEPTION 'fields have no index on %', quote_nullable(of_table)
        USING ERRCODE = 'RG001', HINT = 'use chunks or documents';
    END IF;
    -- It runs under whatever search_path the caller has: all names are written in full.
    RETURN format('CREATE INDEX CONCURRENTLY IF NOT EXISTS %I ON rag.%I '
        '((rag._as_%s(metadata%s)%s)%s)',
                  rag._field_index(of_table, _id, rag._field_name(_steps)), of_table || '_' || _id,
                      type,
                  (SELECT string_agg(format(' OPERATOR(pg_catalog.->) %L', s.step), ''
                      ORDER BY s.position)
                   FROM unnest(_steps) WITH ORDINALITY AS s (step, position)),
                  CASE type WHEN 'text' THEN ' COLLATE pg_catalog."C"' END,
                  -- the order of "the latest ones"
                  CASE of_table WHEN 'documents' THEN ' DESC NULLS LAST' END);
END
$$;

COMMENT ON FUNCTION rag.field_index_statement IS
$$The statement that makes a field's index while others write; then rag.index_field has only to
declare it.

In psql: SELECT rag.field_index_statement('docs', 'year', 'numeric') \gexec
of_table: chunks (searches) or documents (counts, facets and selections; a smaller index, so it
seldom matters). It cannot run inside a transaction, so no function can run it for you.
Circle: application, Filters.
SELECT rag.field_index_statement('docs', 'tag', 'text')$$;


CREATE OR REPLACE FUNCTION rag.index_field(collection text, field text, type text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(index_field.collection)).collection_id;
    at_most CONSTANT integer := 50;
    _tables CONSTANT text[] := ARRAY['documents', 'chunks'];  -- as writers lock them
    _statements text[] :=
        ARRAY(SELECT rag.field_index_statement(index_field.collection, index_field.field,
            index_field.type, t.name)
                                FROM unnest(_tables) AS t (name));
    _name text := rag._field_name(rag._require_field(index_field.field));
    _before text;
    _index text;
BEGIN
    IF (SELECT count(*) FILTER (WHERE f.field <> _name) >= at_most FROM rag.fields AS f
        WHERE f.collection_id = _id) THEN
        RAISE EXCEPTION 'collection ''%'' has % declared fields', index_field.collection, at_most
        USING ERRCODE = 'RG001',
            HINT = 'each costs every write two indexes; take one back with rag.unindex_field, '
            'and declare those only that are asked for ranges, prefixes or order';
    END IF;
    INSERT INTO rag.fields AS f (collection_id, field, type) VALUES (_id, _name, index_field.type)
    ON CONFLICT DO NOTHING;
    SELECT f.type INTO STRICT _before FROM rag.fields AS f WHERE f.collection_id = _id
        AND f.field = _name;
    IF _before <> index_field.type THEN
        RAISE EXCEPTION 'field % of collection ''%'' is declared %, not %', quote_literal(_name),
            index_field.collection,
            _before, index_field.type
        USING ERRCODE = 'RG003', HINT = 'call rag.unindex_field first to change it';
    END IF;
    FOR _position IN 1..cardinality(_tables) LOOP
        _index := rag._field_index(_tables[_position], _id, _name);
        IF EXISTS (SELECT FROM pg_index AS i
                   WHERE i.indexrelid = to_regclass(format('rag.%I', _index))
                       AND NOT i.indisvalid) THEN
            -- left behind by a CREATE INDEX CONCURRENTLY that failed
            PERFORM rag._discard_index(_index);
        END IF;
        IF to_regclass(format('rag.%I', _index)) IS NULL THEN
            EXECUTE regexp_replace(_statements[_position], '^CREATE INDEX CONCURRENTLY',
                'CREATE INDEX');
        END IF;
        EXECUTE format('ANALYZE %s', rag._stored_as(
            format('rag.%I', _tables[_position] || '_' || _id)::regclass));
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.index_field IS
$$Declare a field, so that filters on it are quick.
Indexes then serve its ranges and prefixes, and the planner knows its values.

field: a dotted path as in filters. type: text, numeric, timestamptz or boolean. Idempotent; error
RG003 when it is declared with another type. Values of other types stay as they are: no comparison
of this type matches them. Chunks have one for searches, documents one for counts, facets and
selections.
Writers of this collection wait while they are made, a few seconds per 100,000 chunks; to let them
pass, run what rag.field_index_statement returns first. Only the owner of the tables may do this. A
collection has at most 50: each is two indexes that every write fills, locks and pays for.
Circle: application 8, Filters.
SELECT rag.index_field('docs', 'tag', 'text')$$;


CREATE OR REPLACE FUNCTION rag.unindex_field(collection text, field text)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(unindex_field.collection)).collection_id;
    _name text := rag._field_name(rag._field_steps(unindex_field.field));
BEGIN
    DELETE FROM rag.fields AS f WHERE f.collection_id = _id AND f.field = _name;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM rag._discard_index(rag._field_index(t.name, _id, _name))
    FROM (VALUES ('documents'), ('chunks')) AS t (name);
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag.unindex_field IS
$$Take back the declaration of a metadata field and give up its indexes. False when it was not
declared.

It waits for nobody. The indexes are dropped by rag.remove_dropped(): by the next idle worker, or at
once by the Python client.
Circle: application, Filters.
SELECT rag.unindex_field('docs', 'n')$$;


CREATE OR REPLACE FUNCTION rag.list_fields(collection text)
RETURNS TABLE (field text, type text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _id integer := (rag._require_collection(list_fields.collection)).collection_id;
BEGIN
    RETURN QUERY SELECT f.field, f.type FROM rag.fields AS f WHERE f.collection_id = _id
        ORDER BY f.field;
END
$$;

COMMENT ON FUNCTION rag.list_fields IS
$$The declared metadata fields with their types, by name.
Circle: application, Filters.
SELECT * FROM rag.list_fields('docs')$$;
