-- The definition of a source, made from what rag.attach_source is told, and checked.

CREATE OR REPLACE FUNCTION rag._column_pairs(relation oid, names text[])
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _root oid := coalesce(pg_partition_root(relation), relation);
    _pairs jsonb;
    _missing text;
BEGIN
    SELECT coalesce(jsonb_agg(jsonb_build_array(n.name, a.attnum) ORDER BY n.position), '[]'),
           string_agg(coalesce(quote_ident(n.name), 'NULL'), ', ') FILTER (WHERE a.attnum IS NULL)
    INTO _pairs, _missing
    FROM unnest(names) WITH ORDINALITY AS n (name, position)
    LEFT JOIN pg_attribute AS a ON a.attrelid = _root AND a.attname = n.name AND a.attnum > 0
        AND NOT a.attisdropped;
    IF _missing IS NOT NULL THEN
        RAISE EXCEPTION 'table % has no column %', rag._table_name(relation), _missing
        USING ERRCODE = 'RG001', HINT = 'its columns: ' || (
            SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
            FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attnum > 0
                AND NOT a.attisdropped);
    END IF;
    RETURN _pairs;
END
$$;

COMMENT ON FUNCTION rag._column_pairs IS
$$Columns as [[name, attnum], …]; error RG001 for a name that the table does not have.$$;


CREATE OR REPLACE FUNCTION rag._uri_pieces(template text, key_names text[])
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _pieces jsonb := '[]';
    _part text[];
    _position integer;
BEGIN
    FOR _part IN SELECT m FROM regexp_matches(template, '[{]([^{}]+)[}]|([^{}]+)', 'g') AS m LOOP
        _position := array_position(key_names, _part[1]) - 1;
        IF _part[1] IS NOT NULL AND _position IS NULL THEN
            RAISE EXCEPTION 'uri % names %, which is not a key column', quote_literal(template),
                quote_ident(_part[1])
            USING ERRCODE = 'RG001', HINT = 'key columns: ' || array_to_string(key_names, ', ');
        END IF;
        IF _position IS NOT NULL AND jsonb_typeof(_pieces -> -1) = 'number'
            OR _position IS NOT NULL AND _pieces @? '$[*] ? (@.type() == "number")'
                AND _pieces ->> -1 NOT LIKE '%/%' THEN
            RAISE EXCEPTION 'uri % has no slash between its columns', quote_literal(template)
            USING ERRCODE = 'RG001', HINT = 'two keys could share a uri: write {a}/{b}';
        END IF;
        _pieces := _pieces || coalesce(to_jsonb(_position), to_jsonb(_part[2]));
    END LOOP;
    IF EXISTS (SELECT FROM generate_subscripts(key_names, 1) AS k
        WHERE NOT _pieces @> to_jsonb(k - 1)) THEN
        RAISE EXCEPTION 'uri % does not name every key column', quote_literal(template)
        USING ERRCODE = 'RG001', HINT = 'key columns: ' || array_to_string(key_names, ', ');
    END IF;
    RETURN _pieces;
END
$$;

COMMENT ON FUNCTION rag._uri_pieces IS
$$A template of a uri, such as articles/{id}, as an array of texts and places of key columns. Error
RG001 unless it names every key column, with a slash between two.$$;


CREATE OR REPLACE FUNCTION rag._define_source(
    relation oid, content text[], key text[], title text[], metadata text[], condition text,
        uri text, language text,
    separator text, media_type text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _definition jsonb;
    _key text[] := coalesce(_define_source.key, (
        SELECT array_agg(a.attname::text ORDER BY k.position)
        FROM pg_index AS i,
            unnest(i.indkey[:i.indnkeyatts - 1]) WITH ORDINALITY AS k (attnum, position)
        JOIN pg_attribute AS a ON a.attrelid = relation AND a.attnum = k.attnum
        WHERE i.indrelid = relation AND i.indisprimary));
    _nullable text;
    _sql record;
BEGIN
    IF (SELECT c.relkind NOT IN ('r', 'p') OR c.relpersistence = 't'
        OR c.relnamespace = 'rag'::regnamespace
        FROM pg_class AS c WHERE c.oid = relation) THEN
        RAISE EXCEPTION '% is not an ordinary or partitioned table of the application',
            rag._table_name(relation)
        USING ERRCODE = 'RG001',
            HINT = 'attach the table beneath a view; temporary tables and those of schema rag '
                'cannot be sources';
    END IF;
    IF coalesce(cardinality(_key), 0) = 0 THEN
        RAISE EXCEPTION 'table % has no primary key', rag._table_name(relation)
        USING ERRCODE = 'RG001', HINT = 'name unique columns: key => ''{id}''';
    END IF;
    IF coalesce(cardinality(_define_source.content), 0) = 0 THEN
        RAISE EXCEPTION 'a source needs content columns' USING ERRCODE = 'RG001',
        HINT = 'for example content => ''{title,body}''';
    END IF;
    _definition := jsonb_build_object(
        'key', rag._column_pairs(relation, _key),
        'title', rag._column_pairs(relation, _define_source.title),
        'content', rag._column_pairs(relation, _define_source.content),
        'metadata', rag._column_pairs(relation, _define_source.metadata),
        'language', rag._column_pairs(relation, array_remove(ARRAY[_define_source.language], NULL)),
        'condition', _define_source.condition,
        'separator', coalesce(_define_source.separator, ''),
        'media_type', coalesce(_define_source.media_type, 'text/plain'),
        'uri', CASE WHEN _define_source.uri
            IS NOT NULL THEN rag._uri_pieces(_define_source.uri, _key) ELSE (
            SELECT jsonb_build_array(n.nspname || '.' || c.relname)
            FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                WHERE c.oid = relation) || (
            SELECT jsonb_agg(p.piece ORDER BY k.position, p.piece)
            FROM generate_subscripts(_key, 1) AS k (position),
                 unnest(ARRAY[to_jsonb('/'::text), to_jsonb(k.position - 1)]) AS p (piece)) END);
    SELECT string_agg(quote_ident(a.attname), ', ') INTO _nullable
    FROM pg_attribute AS a
    WHERE a.attrelid = relation AND a.attname = ANY (_key) AND NOT a.attnotnull;
    IF _nullable IS NOT NULL THEN
        RAISE EXCEPTION 'key column % of table % may be NULL', _nullable, rag._table_name(relation)
        USING ERRCODE = 'RG001', HINT = 'use the primary key, or set the column NOT NULL';
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_index AS i
        WHERE i.indrelid = relation AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
            AND _key @> ARRAY(
                SELECT a.attname::text FROM unnest(i.indkey[:i.indnkeyatts - 1]) AS k (attnum)
                JOIN pg_attribute AS a ON a.attrelid = relation AND a.attnum = k.attnum)) THEN
        RAISE EXCEPTION 'key (%) of table % is not unique', array_to_string(_key, ', '),
            rag._table_name(relation)
        USING ERRCODE = 'RG001',
            HINT = 'rows with the same key would make one document: use the primary key, or add a '
                'unique index';
    END IF;
    _sql := rag._source_sql(relation, _definition);
    BEGIN
        EXECUTE format('EXPLAIN SELECT %s, %s FROM %s AS t WHERE %s', _sql.key_sql, _sql.row_sql,
            rag._table_name(relation),
                       _sql.condition_sql);
    EXCEPTION WHEN syntax_error_or_access_rule_violation OR data_exception THEN
        RAISE EXCEPTION 'condition % cannot be used: %', quote_literal(_define_source.condition),
            SQLERRM
        USING ERRCODE = 'RG001',
            HINT = 'write it as after WHERE; names outside pg_catalog carry their schema';
    END;
    RETURN _definition;
END
$$;

COMMENT ON FUNCTION rag._define_source IS
$$The arguments of rag.attach_source, checked against the table; error RG001 says what does not
fit.$$;
