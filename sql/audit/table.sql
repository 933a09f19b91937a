-- Another program's table before it is adopted: its layout, its vectors, what tells its documents.

CREATE OR REPLACE FUNCTION rag._table_layouts()
RETURNS TABLE (program text, columns text[], content text, embedding text, metadata text,
    uri_keys text[])
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    paths CONSTANT text[] := '{source,file_path,url,uri}';
BEGIN
    RETURN QUERY VALUES
        ('langchain', '{langchain_id,content,embedding,langchain_metadata}'::text[], 'content',
         'embedding', 'langchain_metadata', paths || '{doc_id,document_id}'::text[]),
        ('langchain', '{id,document,embedding,cmetadata,collection_id}', 'document', 'embedding',
         'cmetadata', paths || '{doc_id,document_id}'::text[]),
        ('langchain', '{uuid,document,embedding,cmetadata,collection_id,custom_id}', 'document',
         'embedding', 'cmetadata', paths || '{doc_id,document_id}'::text[]),
        ('llamaindex', '{node_id,text,embedding,metadata_,id}', 'text', 'embedding', 'metadata_',
         '{file_path,url,uri,source,ref_doc_id,document_id,doc_id}'::text[]),
        ('haystack', '{id,content,embedding,meta,blob_data,blob_meta,blob_mime_type}', 'content',
         'embedding', 'meta', '{file_path,url,uri,source,source_id}'::text[]),
        ('pgai', '{embedding_uuid,chunk,embedding,chunk_seq}', 'chunk', 'embedding', NULL,
         '{}'::text[]);
END
$$;

COMMENT ON FUNCTION rag._table_layouts IS
$$The layouts of tables that `rag-pg adopt` takes over: the columns by which each is known, those of
texts, vectors and metadata, and the metadata that tell a row's document.$$;


CREATE OR REPLACE FUNCTION rag._audit_layout(of_table regclass)
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _columns text[];
    _vectors text[];
    _known text[];
    _nearest record;
BEGIN
    SELECT array_agg(a.attname::text ORDER BY a.attnum),
           array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.atttypid IN (
               '{vector}.vector'::regtype, '{vector}.halfvec'::regtype))
    INTO _columns, _vectors
    FROM pg_attribute AS a WHERE a.attrelid = of_table AND a.attnum > 0 AND NOT a.attisdropped;
    _known := ARRAY(SELECT DISTINCT l.program FROM rag._table_layouts() AS l
        WHERE l.columns <@ _columns AND l.embedding = ANY (_vectors) ORDER BY 1);
    SELECT l.program, ARRAY(SELECT c.name FROM unnest(l.columns) AS c (name)
               WHERE c.name <> ALL (_columns)) AS missing
    INTO _nearest
    FROM rag._table_layouts() AS l
    ORDER BY (SELECT count(*) FROM unnest(l.columns) AS c (name) WHERE c.name <> ALL (_columns)),
        l.program
    LIMIT 1;
    RETURN QUERY SELECT 'layout',
        CASE WHEN _known <> '{}' THEN 'ok' WHEN _vectors IS NULL THEN 'skip' ELSE 'warn' END,
        CASE WHEN _known <> '{}' THEN format('that of %s: rag-pg adopt --from %s takes it over '
                 'with its vectors', array_to_string(_known, ' or '), _known[1])
             WHEN _vectors IS NULL THEN 'it has no column of vectors'
             ELSE format('unknown, with vectors in %s; %s has also %s',
                 array_to_string(_vectors, ', '), _nearest.program,
                 array_to_string(_nearest.missing, ', ')) END,
        CASE WHEN _vectors IS NULL
             THEN 'follow the table instead of adopting it: rag.attach_source embeds its texts'
             ELSE 'adopt a view that gives its columns the names of a layout '
                 '(docs/guides/adopt.md)' END,
        jsonb_build_object('layouts', to_jsonb(_known), 'vectors', to_jsonb(coalesce(_vectors,
            '{}')), 'missing', to_jsonb(_nearest.missing));
END
$$;

COMMENT ON FUNCTION rag._audit_layout IS
$$rag.audit_table: which of the layouts that `rag-pg adopt` knows a table has.$$;


CREATE OR REPLACE FUNCTION rag._audit_table_rows(of_table regclass, sample_size integer)
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found jsonb := (SELECT a.figures FROM rag._audit_layout(of_table) AS a);
    _layout record;
    _metadata text := 'NULL::jsonb';
    _embedding text := _found #>> '{vectors,0}';
    _f record;
BEGIN
    SELECT l.* INTO _layout FROM rag._table_layouts() AS l
    WHERE l.columns <@ ARRAY(SELECT a.attname::text FROM pg_attribute AS a
            WHERE a.attrelid = of_table AND a.attnum > 0 AND NOT a.attisdropped)
        AND _found -> 'layouts' ? l.program
    ORDER BY cardinality(l.columns) DESC, l.program
    LIMIT 1;
    IF _embedding IS NULL THEN
        RETURN;
    END IF;
    _embedding := coalesce(_layout.embedding, _embedding);
    IF _layout.metadata IS NOT NULL THEN
        _metadata := format('CASE jsonb_typeof(x.%1$I::jsonb) WHEN ''object'' THEN x.%1$I::jsonb '
            'END', _layout.metadata);
    END IF;
    EXECUTE format($sql$
        SELECT count(*) AS rows, count(*) FILTER (WHERE s.vector IS NULL) AS without,
               count(*) FILTER (WHERE NOT (s.vector OPERATOR({vector}.<=>) s.vector) < 0.01)
                   AS void,
               array_agg(DISTINCT {vector}.vector_dims(s.vector))
                   FILTER (WHERE s.vector IS NOT NULL) AS dimensions,
               count(*) FILTER (WHERE s.metadata ?| $2) AS keyed
        FROM (SELECT x.%1$I AS vector, %2$s AS metadata FROM %3$s AS x LIMIT $1) AS s
        $sql$, _embedding, _metadata, of_table)
    INTO _f USING sample_size, coalesce(_layout.uri_keys, '{}');
    RETURN QUERY SELECT 'vectors of the table',
        CASE WHEN cardinality(_f.dimensions) > 1 OR _f.void > 0 THEN 'fail'
             WHEN _f.without > 0 THEN 'warn' ELSE 'ok' END,
        format('%s of %s rows have none, %s have no direction; dimensions %s', _f.without, _f.rows,
            _f.void, coalesce(array_to_string(_f.dimensions, ', '), 'unknown')),
        'rows of one size alone are adopted: embed the others anew; a worker embeds rows without a '
            'vector once they are adopted',
        jsonb_build_object('rows', _f.rows, 'without', _f.without, 'void', _f.void, 'dimensions',
            to_jsonb(_f.dimensions));
    IF _layout.metadata IS NOT NULL THEN
        RETURN QUERY SELECT 'documents of the table',
            CASE WHEN _f.keyed < _f.rows THEN 'warn' ELSE 'ok' END,
            format('%s of %s rows name their document in %s', _f.keyed, _f.rows, _layout.metadata),
            format('a row without %s is a document of its own: rag-pg adopt --uri-key names '
                'another key', array_to_string(_layout.uri_keys, ', ')),
            jsonb_build_object('keyed', _f.keyed, 'rows', _f.rows);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._audit_table_rows IS
$$rag.audit_table: vectors that are missing, of several sizes or without direction, and rows whose
metadata do not tell their document, among the first sample_size rows.$$;
