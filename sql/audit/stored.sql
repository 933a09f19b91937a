-- Checks of what a collection stores: what hangs together, metadata, the two legs of a search.

CREATE OR REPLACE FUNCTION rag._audit_rows(collection_id integer, chunk_ids bigint[])
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    looked_at CONSTANT integer := 20000;
    _space integer := (rag._active_space(_audit_rows.collection_id)).space_id;
    _orphans bigint;
    _changed text[];
    _missing bigint;
    _behind text[];
    _empty text[];
    _without bigint;
BEGIN
    SELECT count(*) FILTER (WHERE d.document_id IS NULL),
           count(*) FILTER (WHERE e.chunk_id IS NULL AND j.document_id IS NULL),
           array_agg(DISTINCT d.uri) FILTER (WHERE j.document_id IS NULL
               AND d.indexed_version = d.version AND k.content_hash IS DISTINCT FROM
                   rag.content_hash(rag.embedded_text(d.title, k.heading, k.content)))
    INTO _orphans, _missing, _changed
    FROM rag.chunks AS k
    LEFT JOIN rag.documents AS d ON d.collection_id = _audit_rows.collection_id
        AND d.document_id = k.document_id
    LEFT JOIN rag.embeddings AS e ON e.space_id = _space AND e.chunk_id = k.chunk_id
    LEFT JOIN LATERAL (
        SELECT x.document_id FROM rag.jobs AS x WHERE x.collection_id = _audit_rows.collection_id
            AND x.document_id = k.document_id AND x.state = 'waiting' LIMIT 1) AS j ON true
    WHERE k.collection_id = _audit_rows.collection_id AND k.chunk_id = ANY (chunk_ids);
    SELECT array_agg(d.uri ORDER BY d.uri COLLATE "C") FILTER (
               WHERE d.indexed_version < d.version),
           array_agg(d.uri ORDER BY d.uri COLLATE "C") FILTER (
               WHERE d.indexed_version >= d.version AND d.filled AND NOT EXISTS (
                   SELECT FROM rag.chunks AS k WHERE k.collection_id = _audit_rows.collection_id
                       AND k.document_id = d.document_id))
    INTO _behind, _empty
    FROM (SELECT x.document_id, x.uri, x.version, x.indexed_version,
                 left(x.content, 1000) ~ E'\\w' AS filled
          FROM rag.documents AS x WHERE x.collection_id =
              _audit_rows.collection_id LIMIT looked_at) AS d
    WHERE NOT EXISTS (SELECT FROM rag.jobs AS x WHERE x.collection_id = _audit_rows.collection_id
        AND x.document_id = d.document_id AND x.state = 'waiting');
    SELECT count(*) INTO _without
    FROM (SELECT e.chunk_id FROM rag.embeddings AS e WHERE e.space_id = _space
          LIMIT looked_at) AS v
    WHERE NOT EXISTS (SELECT FROM rag.chunks AS k
        WHERE k.collection_id = _audit_rows.collection_id AND k.chunk_id = v.chunk_id);
    RETURN QUERY SELECT 'orphans', CASE WHEN _orphans + _without > 0 THEN 'fail' ELSE 'ok' END,
        format('%s chunks without documents, %s vectors without chunks', _orphans, _without),
        'rag.doctor() counts them all and names the statement that removes them',
        jsonb_build_object('chunks', _orphans, 'vectors', _without);
    RETURN QUERY SELECT 'missing vectors', CASE WHEN _missing > 0 THEN 'fail' ELSE 'ok' END,
        format('%s of %s chunks have none, and no job will embed them', _missing,
            cardinality(chunk_ids)),
        'run rag.doctor() as the owner: it names the statement that queues them',
        jsonb_build_object('chunks', _missing, 'of', cardinality(chunk_ids));
    RETURN QUERY SELECT 'stale chunks',
        CASE WHEN num_nonnulls(_behind, _changed) > 0 THEN 'fail' ELSE 'ok' END,
        concat_ws('; ',
            coalesce('changed since they were cut, and no job will do it: '
                || rag._some_names(_behind), CASE WHEN _changed IS NULL THEN 'none' END),
            'texts that are not those that were embedded: ' || rag._some_names(_changed)),
        'put these documents again, or rag-pg jobs --retry where a job failed',
        jsonb_build_object('documents', coalesce(cardinality(_behind), 0), 'changed',
            coalesce(cardinality(_changed), 0));
    RETURN QUERY SELECT 'documents without chunks',
        CASE WHEN _empty IS NULL THEN 'ok' ELSE 'warn' END,
        coalesce(cardinality(_empty) || ': ' || rag._some_names(_empty), 'none'),
        'no search finds them: put them again',
        jsonb_build_object('documents', coalesce(cardinality(_empty), 0));
END
$$;

COMMENT ON FUNCTION rag._audit_rows IS
$$rag.audit: chunks and vectors that belong to nothing, chunks without vectors, chunks and vectors
that are not of the documents as they are, and documents without chunks. It looks at 20,000
documents and vectors.$$;


CREATE OR REPLACE FUNCTION rag._audit_metadata(collection_id integer)
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    looked_at CONSTANT integer := 5000;
    worthwhile CONSTANT integer := 10000;  -- chunks, where a range without an index is slow
    _name text := (SELECT c.name FROM rag.collections AS c WHERE c.collection_id =
        _audit_metadata.collection_id);
    _mixed text[];
    _unused text[];
    _undeclared text[];
    _seen jsonb[];
BEGIN
    _seen := ARRAY(SELECT d.metadata FROM rag.documents AS d
        WHERE d.collection_id = _audit_metadata.collection_id LIMIT looked_at);
    SELECT array_agg(m.key ORDER BY m.key COLLATE "C") INTO _mixed
    FROM (SELECT e.key FROM unnest(_seen) AS s (metadata), jsonb_each(s.metadata) AS e
          WHERE jsonb_typeof(e.value) NOT IN ('null', 'array')
          GROUP BY e.key HAVING count(DISTINCT jsonb_typeof(e.value)) > 1) AS m;
    SELECT array_agg(f.field ORDER BY f.field COLLATE "C") INTO _unused
    FROM rag.fields AS f
    WHERE f.collection_id = _audit_metadata.collection_id AND cardinality(_seen) BETWEEN 1
        AND looked_at - 1
        AND NOT EXISTS (
        SELECT FROM rag.chunks AS k WHERE k.collection_id = _audit_metadata.collection_id
            AND k.metadata #> rag._field_steps(f.field) IS NOT NULL);
    PERFORM FROM rag.chunks AS k WHERE k.collection_id =
        _audit_metadata.collection_id OFFSET worthwhile - 1
        LIMIT 1;
    IF FOUND THEN
        SELECT array_agg(format('%s (%s)', u.field, u.type) ORDER BY u.field COLLATE "C")
        INTO _undeclared FROM rag._undeclared_fields(_audit_metadata.collection_id) AS u;
    END IF;
    RETURN QUERY SELECT 'metadata of several types', CASE WHEN _mixed IS NULL THEN 'ok'
            ELSE 'warn' END, coalesce(rag._some_names(_mixed), 'none'),
        'a filter finds the values of one type alone: put the same type in every document',
        jsonb_build_object('fields', to_jsonb(coalesce(_mixed, '{}')));
    RETURN QUERY SELECT 'declared fields without values', CASE WHEN _unused IS NULL THEN 'ok'
            ELSE 'warn' END, coalesce(rag._some_names(_unused),
                CASE WHEN cardinality(_seen) < looked_at THEN 'none'
                     ELSE format('not looked for: there are %s documents or more', looked_at) END),
        format('SELECT rag.unindex_field(%L, %L)', _name, coalesce(_unused[1], 'field')),
        jsonb_build_object('fields', to_jsonb(coalesce(_unused, '{}')));
    RETURN QUERY SELECT 'undeclared fields', CASE WHEN _undeclared IS NULL THEN 'ok'
            ELSE 'warn' END, coalesce(rag._some_names(_undeclared), 'none of a large collection'),
        'if filters ask for ranges of them: rag-pg call index_field',
        jsonb_build_object('fields', to_jsonb(coalesce(_undeclared, '{}')));
END
$$;

COMMENT ON FUNCTION rag._audit_metadata IS
$$rag.audit: fields whose values are of several types, declared fields that nothing has, and fields
of large collections that filters may ask ranges of.$$;


CREATE OR REPLACE FUNCTION rag._audit_keywords(collection_id integer, chunk_ids bigint[])
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    most_probes CONSTANT integer := 20;
    _name text := (SELECT c.name FROM rag.collections AS c WHERE c.collection_id =
        _audit_keywords.collection_id);
    _probed bigint;
    _found bigint;
    _without bigint;
BEGIN
    SELECT count(*) INTO _without FROM rag.chunks AS k
    WHERE k.collection_id = _audit_keywords.collection_id AND k.chunk_id = ANY (chunk_ids)
        AND k.lexeme_count = 0 AND k.content ~ '[[:alpha:]]{4}';
    SELECT count(*), count(*) FILTER (WHERE EXISTS (
        SELECT FROM rag.search_keyword(_name, p.query, 10) AS h
        WHERE h.chunk_id = p.chunk_id OR h.content = p.content))
    INTO _probed, _found
    FROM (
        SELECT k.chunk_id, k.content, w.query
        FROM rag.chunks AS k, LATERAL (
            SELECT string_agg(x.word, ' ') AS query, count(*) AS words
            FROM (SELECT DISTINCT m.match[1] AS word FROM regexp_matches(left(k.content, 4000),
                      '[[:alpha:]]{5,30}', 'g') AS m (match) ORDER BY 1 LIMIT 12) AS x) AS w
        WHERE k.collection_id = _audit_keywords.collection_id AND k.chunk_id = ANY (chunk_ids)
            AND w.words >= 4
        ORDER BY hashint8(k.chunk_id), k.chunk_id LIMIT most_probes
    ) AS p;
    RETURN QUERY SELECT 'keyword leg',
        CASE WHEN _probed >= 3 AND _found < 0.5 * _probed OR _without > 0.5 * cardinality(chunk_ids)
             THEN 'fail' WHEN _probed >= 3 AND _found < 0.8 * _probed
                 OR _without > 0.05 * cardinality(chunk_ids) THEN 'warn' ELSE 'ok' END,
        format('%s of %s chunks are found by 12 of their own words; %s of %s chunks have '
            'words but no keyword', _found, _probed, _without, cardinality(chunk_ids)),
        'put the documents again with their own language; rag._explain_keyword tells what becomes '
            'of the words of a question',
        jsonb_build_object('found', _found, 'probes', _probed, 'without_keywords', _without);
END
$$;

COMMENT ON FUNCTION rag._audit_keywords IS
$$rag.audit: whether keywords find chunks at all: 20 chunks are searched for by words of theirs.$$;


CREATE OR REPLACE FUNCTION rag._audit_vectors(collection_id integer, chunk_ids bigint[])
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    looked_at CONSTANT integer := 300;
    enough CONSTANT integer := 30;
    _space rag.spaces := rag._active_space(_audit_vectors.collection_id);
    _vectors bigint;
    _void bigint;
    _same bigint;
    _mean double precision;
    _spread double precision;
    _lead double precision;
    _pairs bigint;
BEGIN
    WITH taken AS MATERIALIZED (
        SELECT k.chunk_id, k.document_id, k.ordinal, k.content, e.embedding
        FROM (SELECT u.chunk_id FROM unnest(chunk_ids) AS u (chunk_id)
              ORDER BY hashint8(u.chunk_id), u.chunk_id LIMIT looked_at) AS i
        JOIN rag.chunks AS k ON k.collection_id = _audit_vectors.collection_id AND k.chunk_id =
            i.chunk_id
        JOIN rag.embeddings AS e ON e.space_id = _space.space_id AND e.chunk_id = k.chunk_id
    ), numbered AS MATERIALIZED (
        SELECT t.*, row_number() OVER (ORDER BY hashint8(t.chunk_id), t.chunk_id) AS number
        FROM taken AS t
    ), apart AS (
        SELECT 1 - (a.embedding OPERATOR({vector}.<=>) b.embedding) AS cosine
        FROM numbered AS a JOIN numbered AS b ON b.number IN (a.number + 1, a.number + 7)
        WHERE a.document_id <> b.document_id
    ), beside AS (
        SELECT 1 - (t.embedding OPERATOR({vector}.<=>) e.embedding) AS cosine
        FROM taken AS t
        JOIN rag.chunks AS k ON k.collection_id = _audit_vectors.collection_id
            AND k.document_id = t.document_id AND k.ordinal = t.ordinal + 1
        JOIN rag.embeddings AS e ON e.space_id = _space.space_id AND e.chunk_id = k.chunk_id
    ), compared AS (
        SELECT a.cosine, false AS near FROM apart AS a WHERE a.cosine <> 'NaN'::double precision
        UNION ALL
        SELECT b.cosine, true FROM beside AS b WHERE b.cosine <> 'NaN'::double precision
    )
    SELECT (SELECT count(*) FROM taken),
           (SELECT count(*) FROM taken AS t
            WHERE NOT (t.embedding OPERATOR({vector}.<=>) t.embedding) < 0.01),
           (SELECT coalesce(sum(g.texts - 1), 0)
            FROM (SELECT count(DISTINCT t.content) AS texts FROM taken AS t
                  GROUP BY t.embedding::text) AS g),
           (SELECT avg(a.cosine) FROM compared AS a WHERE NOT a.near),
           (SELECT stddev_samp(a.cosine) FROM compared AS a WHERE NOT a.near),
           (SELECT rag._auroc(array_agg(x.cosine), array_agg(x.near)) FROM compared AS x),
           (SELECT count(*) FROM beside)
    INTO _vectors, _void, _same, _mean, _spread, _lead, _pairs;
    RETURN QUERY SELECT 'vector leg',
        CASE WHEN _vectors = 0 AND cardinality(chunk_ids) > 0 OR _void > 0
                 OR _vectors >= enough AND _same > 0.2 * _vectors THEN 'fail'
             WHEN _vectors >= enough AND (_same > 0.05 * _vectors OR _pairs >= enough
                 AND _lead < 0.6) THEN 'warn'
             ELSE 'ok' END,
        concat_ws('; ',
            CASE WHEN _vectors = 0 THEN 'no chunk looked at has a vector' END,
            CASE WHEN _void > 0 THEN format('%s vectors have no direction (zero or not a number)',
                _void) END,
            CASE WHEN _same > 0 THEN format('%s of %s vectors are those of other texts', _same,
                _vectors) END,
            CASE WHEN _pairs >= enough THEN format('a chunk is nearer to the next of its document '
                'than to one of another in %s %% of cases', round((100 * _lead)::numeric)) END,
            CASE WHEN _vectors > 0 AND _void + _same = 0 AND _pairs < enough
                THEN format('%s vectors looked at', _vectors) END),
        'the model may not know the language of these texts: take a multilingual one '
            '(rag-pg reembed --model e5), and compare both on a set of questions',
        jsonb_build_object('vectors', _vectors, 'without_direction', _void, 'same', _same,
            'cosine_mean', round(_mean::numeric, 4), 'cosine_spread', round(_spread::numeric, 4),
            'lead', round(_lead::numeric, 4), 'pairs', _pairs,
            'similarity_spread', round(_space.similarity_spread::numeric, 4));
END
$$;

COMMENT ON FUNCTION rag._audit_vectors IS
$$rag.audit: whether vectors tell texts apart: by 300 of them.

A model that does not know a script gives all its texts nearly the same vector. lead: how often a
chunk is nearer to the next one of its document than to a chunk of another; 0.5 is chance.$$;
