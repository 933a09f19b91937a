-- The audit of a collection, or of another program's table: checks as rows, each on its own.

CREATE OR REPLACE FUNCTION rag._run_checks(checks text[], collection_id integer,
    chunk_ids bigint[], names text[], texts text[], languages text[], max_tokens integer,
    collection text, set_name text)
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _check text;
BEGIN
    FOREACH _check IN ARRAY checks LOOP
        BEGIN
            RETURN QUERY EXECUTE 'SELECT f.check_name, f.status, f.detail, '
                'CASE WHEN f.status <> ''ok'' THEN f.remedy END, f.figures FROM rag.' || _check
                || ' AS f'
            USING _run_checks.collection_id, chunk_ids, names, texts, languages, max_tokens,
                collection,
                set_name;
        EXCEPTION WHEN OTHERS THEN
            RETURN QUERY SELECT replace(substring(_check FROM '_audit_([a-z_]+)'), '_', ' '),
                'fail', 'the check failed: ' || SQLERRM,
                'the other checks are complete; mend what the message names'::text, '{}'::jsonb;
        END;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._run_checks IS
$$The rows of some checks, each the call of a function of rag; one that fails is a row, and the
others go on.$$;


CREATE OR REPLACE FUNCTION rag._audit_sample(collection_id integer, sample_size integer,
    OUT chunk_ids bigint[], OUT complete boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _first bigint;
    _last bigint;
BEGIN
    chunk_ids := ARRAY(SELECT k.chunk_id FROM rag.chunks AS k
        WHERE k.collection_id = _audit_sample.collection_id LIMIT sample_size + 1);
    complete := cardinality(chunk_ids) <= sample_size;
    IF NOT complete THEN
        SELECT min(k.chunk_id), max(k.chunk_id) INTO _first, _last FROM rag.chunks AS k
        WHERE k.collection_id = _audit_sample.collection_id;
        chunk_ids := ARRAY(
            SELECT DISTINCT s.chunk_id
            FROM generate_series(0, sample_size - 1) AS i (step), LATERAL (
                SELECT k.chunk_id FROM rag.chunks AS k
                WHERE k.collection_id = _audit_sample.collection_id
                    AND k.chunk_id >= _first
                        + ((_last - _first)::numeric * i.step / sample_size)::bigint
                ORDER BY k.chunk_id LIMIT 1) AS s);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._audit_sample IS
$$All chunks that the caller may read, or, of more than sample_size, so many of them, evenly spaced
by their ids.$$;


CREATE OR REPLACE FUNCTION rag.audit(
    collection text,
    set_name text DEFAULT NULL,
    sample_size integer DEFAULT 5000,
    max_tokens integer DEFAULT NULL)
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _collection rag.collections := rag._require_collection(audit.collection);
    _id integer := _collection.collection_id;
    _sample record;
    _names text[];
    _texts text[];
    _languages text[];
    _checks text[] := ARRAY['_audit_sizes($3, $4, $6)', '_audit_copies($3, $4)',
        '_audit_hidden_text($3, $4)', '_audit_languages($3, $4, $5)', '_audit_rows($1, $2)',
        '_audit_metadata($1)', '_audit_keywords($1, $2)', '_audit_vectors($1, $2)',
        '_audit_similar($1, $2)'];
BEGIN
    PERFORM rag._check_range('sample_size', sample_size, 10, 100000),
        rag._check_range('max_tokens', coalesce(max_tokens, 1), 1, NULL);
    IF set_name IS NOT NULL THEN
        PERFORM rag._require_eval_set(set_name);
        _checks := _checks || '_audit_failures($7, $8)'::text;
    END IF;
    _sample := rag._audit_sample(_id, sample_size);
    SELECT array_agg(s.name ORDER BY s.chunk_id), array_agg(s.content ORDER BY s.chunk_id),
           array_agg(s.language ORDER BY s.chunk_id)
    INTO _names, _texts, _languages
    FROM (SELECT k.chunk_id, format('%s #%s', coalesce(d.uri, k.document_id::text), k.ordinal)
                     AS name, k.content, coalesce(k.language, d.language, _collection.language)
                     AS language
          FROM rag.chunks AS k
          LEFT JOIN rag.documents AS d ON d.collection_id = _id AND d.document_id = k.document_id
          WHERE k.collection_id = _id AND k.chunk_id = ANY (_sample.chunk_ids)) AS s;
    RETURN QUERY SELECT 'sample', 'ok',
        CASE WHEN _sample.complete
             THEN format('all %s chunks are looked at', cardinality(_sample.chunk_ids))
             ELSE format('%s chunks are looked at, evenly spaced; there are more',
                 cardinality(_sample.chunk_ids)) END,
        NULL::text, jsonb_build_object('chunks', cardinality(_sample.chunk_ids), 'complete',
            _sample.complete);
    RETURN QUERY SELECT c.*
    FROM rag._run_checks(
        CASE WHEN _names IS NULL THEN _checks[5:6] || _checks[10:] ELSE _checks END,
        _id, _sample.chunk_ids, _names, _texts, _languages,
        coalesce(max_tokens, (_collection.chunking ->> 'max_tokens')::integer, 256),
        audit.collection, set_name) AS c;
END
$$;

COMMENT ON FUNCTION rag.audit IS
$$What stands in the way of good answers in a collection: checks with status (ok, warn, fail, skip),
what was found, a remedy, and the figures. It writes nothing and sees what the caller may see.

set_name: a set of questions; its latest run tells which of four failures answers have, in the order
in which they are to be mended. sample_size: 10 to 100,000; of more chunks so many are looked at,
evenly spaced, which the first row tells. max_tokens: of the model; NULL: of the collection's
chunking. A check that fails is a row, and the others go on.
Circle: application, Maintenance and versions.
SELECT * FROM rag.audit('docs') WHERE status <> 'ok'$$;


CREATE OR REPLACE FUNCTION rag.audit_table(
    table_name text,
    content_column text DEFAULT NULL,
    language text DEFAULT 'english',
    sample_size integer DEFAULT 5000,
    max_tokens integer DEFAULT 256)
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _parts text[] := '{}';
    _table regclass;
    _column text;
    _columns text[];
    _texts text[];
    _names text[];
    _complete boolean;
BEGIN
    PERFORM rag._check_range('sample_size', sample_size, 10, 100000),
        rag._check_range('max_tokens', max_tokens, 1, NULL);
    BEGIN
        _parts := parse_ident(table_name);
    EXCEPTION WHEN invalid_parameter_value THEN
        NULL;  -- it has no parts then
    END;
    _table := (SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = _parts[1] AND c.relname = _parts[2] AND cardinality(_parts) = 2
            AND c.relkind IN ('r', 'p', 'v', 'm', 'f'));
    IF _table IS NULL THEN
        RAISE EXCEPTION 'there is no table %',
            coalesce(quote_literal(left(table_name, 200)), 'NULL')
        USING ERRCODE = 'RG002', HINT = 'write it as in SQL, with its schema: public.chunks';
    END IF;
    SELECT array_agg(a.attname ORDER BY a.attnum) INTO _columns
    FROM pg_attribute AS a
    WHERE a.attrelid = _table AND a.attnum > 0 AND NOT a.attisdropped
        AND a.atttypid IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype);
    SELECT c.name INTO _column
    FROM unnest(CASE WHEN content_column IS NULL THEN '{content,document,text,chunk}'
        ELSE ARRAY[content_column] END) WITH ORDINALITY AS c (name, position)
    WHERE c.name = ANY (_columns) ORDER BY c.position LIMIT 1;
    IF _column IS NULL THEN
        RAISE EXCEPTION 'table % has no column % of texts', _table,
            coalesce(quote_ident(content_column), 'content, document, text or chunk')
        USING ERRCODE = 'RG002', HINT = coalesce('its columns of text: '
            || array_to_string(_columns, ', '), 'it has no column of text');
    END IF;
    PERFORM rag._find_language(language);
    EXECUTE format('SELECT array_agg(t.content), count(*) <= $1 FROM (SELECT coalesce(x.%I, '''') '
        'AS content FROM %s AS x LIMIT $1 + 1) AS t', _column, _table)
    INTO _texts, _complete USING sample_size;
    _texts := _texts[:sample_size];
    _names := ARRAY(SELECT 'row ' || i.number
        FROM generate_series(1, cardinality(_texts)) AS i (number));
    RETURN QUERY SELECT 'sample', 'ok',
        CASE WHEN _complete THEN format('all %s rows are looked at',
                coalesce(cardinality(_texts), 0))
             ELSE format('the first %s rows are looked at; there are more',
                 cardinality(_texts)) END,
        NULL::text, jsonb_build_object('rows', coalesce(cardinality(_texts), 0), 'complete',
            _complete, 'column', _column);
    RETURN QUERY SELECT c.*
    FROM rag._run_checks(ARRAY[format('_audit_layout(%L::oid)', _table::oid),
        format('_audit_table_rows(%L::oid, %s)', _table::oid, sample_size)], NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, NULL) AS c;
    IF _texts IS NOT NULL THEN
        RETURN QUERY SELECT c.*
        FROM rag._run_checks('{"_audit_sizes($3, $4, $6)","_audit_copies($3, $4)",'
            '"_audit_hidden_text($3, $4)","_audit_languages($3, $4, $5)"}', NULL, NULL, _names,
            _texts, array_fill(audit_table.language, ARRAY[cardinality(_texts)]), max_tokens, NULL,
            NULL) AS c;
    END IF;
END
$$;

COMMENT ON FUNCTION rag.audit_table IS
$$The same of another program's table of chunks.

The checks of rag.audit that need texts alone, of another program's table of chunks before it is
adopted, and whether it has a layout that adopt knows, with sound vectors. It only reads.

table_name: as in SQL. content_column: NULL: content, document, text or chunk, as LangChain,
LlamaIndex, Haystack and pgai name it. language: the text search configuration that the collection
will have. max_tokens: what the model reads. Of more rows than sample_size the first are looked
at.
Circle: application, Maintenance and versions.
SELECT * FROM rag.audit_table('app.articles', 'body')$$;
