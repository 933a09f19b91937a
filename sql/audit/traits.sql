-- What the documents of a collection are like: the statistics from which clients advise.

CREATE OR REPLACE FUNCTION rag._text_traits(collection_id integer)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    looked_at CONSTANT integer := 300;
    longest CONSTANT integer := 8000;
    code_line CONSTANT text := E'^(.*[;{}]'
        '|\\s*(def|class|if|elif|else|for|while|try|except|with)\\y.*:'
        '|\\s*import [[:alnum:]_.]+|\\s*from [[:alnum:]_.]+ import .*|\\s*return\\y.*'
        '|\\s*(#include|package|func|fn)\\y.*|\\s*@[[:alnum:]_.]+(\\(.*\\))?)\\s*$';
    identifier CONSTANT text := E'\\S*(\\d|[[:lower:]][[:upper:]]|[[:alnum:]]_[[:alnum:]]'
        '|[[:alnum:]](::|->)[[:alnum:]])\\S*';
    _texts text[];
    _found jsonb;
    _detected jsonb;
BEGIN
    WITH taken AS MATERIALIZED (
        SELECT row_number() OVER (ORDER BY d.document_id)::integer AS number, d.media_type,
               d.version, coalesce(d.language, c.language) AS language,
               octet_length(d.content) AS bytes, left(d.content, longest) AS content
        FROM (SELECT x.* FROM rag.documents AS x WHERE x.collection_id = _text_traits.collection_id
              ORDER BY x.document_id LIMIT looked_at) AS d
        JOIN rag.collections AS c ON c.collection_id = _text_traits.collection_id
    ), counted AS MATERIALIZED (
        SELECT t.*, regexp_count(t.content, E'^.*\\S', 1, 'n') AS lines,
               regexp_count(t.content, E'^#{1,6} \\S', 1, 'n') AS headings,
               regexp_count(t.content, E'^\\s*\\|.*\\|\\s*$', 1, 'n') AS rows,
               regexp_count(t.content, code_line, 1, 'n') AS code_lines,
               regexp_count(t.content, E'^[[:upper:]][[:alnum:] _.-]{0,30}: \\S', 1, 'n') AS turns,
               regexp_count(t.content, E'\\S+') AS words,
               regexp_count(t.content, identifier) AS identifiers,
               2 * regexp_count(t.content, rag._unspaced_script())
                   > regexp_count(t.content, '[[:alpha:]]') AS unspaced
        FROM taken AS t
    ), judged AS MATERIALIZED (
        SELECT k.*, CASE WHEN k.lines >= 3 AND k.code_lines >= 0.4 * k.lines THEN 'code'
                         WHEN k.lines >= 3 AND k.rows >= 0.3 * k.lines THEN 'table'
                         WHEN k.headings >= 2 THEN 'markdown'
                         WHEN k.turns >= 4 AND k.turns >= 0.5 * k.lines THEN 'conversation'
                         ELSE 'prose' END AS kind
        FROM counted AS k
    )
    SELECT jsonb_build_object(
               'documents', count(*),
               'bytes_median', percentile_disc(0.5) WITHIN GROUP (ORDER BY j.bytes),
               'bytes_p95', percentile_disc(0.95) WITHIN GROUP (ORDER BY j.bytes),
               'put_again', round(avg((j.version > 1)::integer), 3),
               'identifiers', round(sum(j.identifiers)::numeric / nullif(sum(j.words), 0), 3),
               'unspaced', count(*) FILTER (WHERE j.unspaced),
               'kinds', (SELECT jsonb_object_agg(g.kind, g.documents)
                         FROM (SELECT x.kind, count(*) AS documents FROM judged AS x
                               GROUP BY 1) AS g),
               'plain', (SELECT jsonb_object_agg(g.kind, g.documents)
                         FROM (SELECT x.kind, count(*) AS documents FROM judged AS x
                               WHERE x.media_type = 'text/plain' GROUP BY 1) AS g)),
           array_agg(j.content ORDER BY j.number)
    INTO _found, _texts
    FROM judged AS j;
    IF _texts IS NULL THEN
        RETURN _found;
    END IF;
    SELECT jsonb_object_agg(g.language, g.texts) INTO _detected
    FROM (SELECT l.language, count(*) AS texts
          FROM rag._text_languages(_texts, array_fill('simple'::text, ARRAY[cardinality(_texts)]))
              AS l
          WHERE l.language IS NOT NULL GROUP BY 1) AS g;
    RETURN _found || jsonb_build_object('languages', coalesce(_detected, '{}'));
END
$$;

COMMENT ON FUNCTION rag._text_traits IS
$$Statistics of a collection's texts, from the first 8,000 characters of 300 documents (those with
the least document_id, which is a hash), as the caller may read them.

documents: looked at. bytes_median, bytes_p95: of a document. put_again: the share that was put more
than once. identifiers: the share of words with a digit, an underscore or a capital within. kinds:
documents that are code, table, markdown, conversation or prose, by their lines; plain: of these,
such as are stored as text/plain. unspaced: documents in a script without spaces. languages:
documents by language, told by function words or script.$$;


CREATE OR REPLACE FUNCTION rag._chunk_traits(collection_id integer)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _sample bigint[] := (rag._audit_sample(_chunk_traits.collection_id, 300)).chunk_ids;
    _space rag.spaces := rag._active_space(_chunk_traits.collection_id);
    _visible boolean := NOT row_security_active('rag.chunks'::regclass);
    _chunks bigint;
    _found jsonb;
BEGIN
    _chunks := CASE WHEN _visible THEN rag._count_chunks(_chunk_traits.collection_id)
        ELSE (SELECT count(*) FROM rag.chunks AS k WHERE k.collection_id =
            _chunk_traits.collection_id) END;
    SELECT jsonb_build_object(
               'chunks', _chunks,
               'words_median', percentile_disc(0.5) WITHIN GROUP (ORDER BY s.words),
               'words_p95', percentile_disc(0.95) WITHIN GROUP (ORDER BY s.words),
               'vectors', count(s.length),
               'length_spread', round((stddev_samp(s.length) / nullif(avg(s.length), 0))::numeric,
                   3))
    INTO _found
    FROM (SELECT rag._least_tokens(k.content) AS words,
                 {vector}.l2_norm(e.embedding) AS length
          FROM rag.chunks AS k
          LEFT JOIN rag.embeddings AS e ON e.space_id = _space.space_id AND e.chunk_id = k.chunk_id
          WHERE k.collection_id = _chunk_traits.collection_id AND k.chunk_id = ANY (_sample)) AS s;
    RETURN _found || jsonb_build_object(
        'similarity_spread', _space.similarity_spread,
        'vector_leg', (SELECT v.figures -> 'lead'
                       FROM rag._audit_vectors(_chunk_traits.collection_id, _sample) AS v
                       WHERE (v.figures ->> 'pairs')::integer >= 30),
        'index_bytes', CASE WHEN _visible THEN pg_relation_size(
            to_regclass('rag.' || rag._index_name(_space.space_id))) END,
        'shared_buffers', pg_size_bytes(current_setting('shared_buffers')),
        'dead_vectors', (
            SELECT round(t.n_dead_tup::numeric / nullif(t.n_dead_tup + t.n_live_tup, 0), 3)
            FROM pg_stat_all_tables AS t
            WHERE _visible AND t.relid = to_regclass('rag.embeddings_' || _space.space_id)));
END
$$;

COMMENT ON FUNCTION rag._chunk_traits IS
$$Statistics of a collection's chunks, vectors and index, from 300 chunks.

chunks: all that the caller may read. words_median, words_p95: of a chunk. vectors: of those looked
at. length_spread: deviation of the vectors' lengths by their mean. vector_leg: how often a chunk is
nearer to the next of its document than to one of another; NULL of fewer than 30 pairs. index_bytes,
dead_vectors (share): NULL where row-level security hides chunks from the caller.$$;


CREATE OR REPLACE FUNCTION rag._collection_traits(collection text)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    worthwhile CONSTANT integer := 10000;  -- chunks from which on an index of a field pays
    _collection rag.collections := rag._require_collection(_collection_traits.collection);
    _key integer := _collection.collection_id;
    _space rag.spaces := rag._active_space(_key);
    _traits jsonb := rag._text_traits(_key) || rag._chunk_traits(_key);
    _chunks bigint := (_traits ->> 'chunks')::bigint;
BEGIN
    RETURN _traits || jsonb_build_object(
        'settings', jsonb_build_object(
            'language', _collection.language, 'chunking', _collection.chunking,
            'space_id', _space.space_id, 'model', _space.model, 'dimensions', _space.dimensions,
            'distance', _space.distance, 'kind', _space.index_options ->> 'kind',
            'similarity_spread', _space.similarity_spread),
        'lexed', (SELECT coalesce(jsonb_agg(l.language), '[]')
            FROM jsonb_object_keys(_traits -> 'languages') AS l (language)
            WHERE rag._has_language(l.language)),
        'compared', rag._exact_search_limit(
            rag._choose_ef_search(_space.ef_search, NULL, _chunks, 10)),
        'indexed', rag._has_index(_space),
        'declared', (SELECT coalesce(jsonb_agg(f.field ORDER BY f.field COLLATE "C"), '[]')
            FROM rag.fields AS f WHERE f.collection_id = _key),
        'undeclared', CASE WHEN _chunks < worthwhile THEN '{}' ELSE (
            SELECT coalesce(jsonb_object_agg(u.field, u.type), '{}')
            FROM rag._undeclared_fields(_key) AS u) END);
END
$$;

COMMENT ON FUNCTION rag._collection_traits IS
$$What rag._text_traits and rag._chunk_traits tell of a collection, with the settings that they may
speak for or against. Nothing is changed.

lexed: those of the languages that have a text search configuration. compared: so many chunks are
compared without an index. indexed: whether the index of the vectors is there. declared, undeclared:
metadata fields with and without an index; undeclared ones, with their types, from 10,000 chunks on.
Circle: client.$$;
