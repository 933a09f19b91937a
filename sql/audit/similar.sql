-- Texts that say the same in other words, by their vectors.

CREATE OR REPLACE FUNCTION rag._audit_similar(collection_id integer, chunk_ids bigint[])
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    near CONSTANT double precision := 0.02;  -- below a cosine of 1, in a space of usual spread
    classes_alike CONSTANT integer := 6;  -- of 8: rag._audit_copies tells those
    neighbours CONSTANT integer := 4;
    compared CONSTANT bigint := 20000;  -- chunks that are compared one by one without an index
    _name text := (SELECT c.name FROM rag.collections AS c WHERE c.collection_id =
        _audit_similar.collection_id);
    _space rag.spaces := rag._active_space(_audit_similar.collection_id);
    _probes integer := CASE WHEN rag._has_index(_space)
        OR rag._count_chunks(_audit_similar.collection_id)
        <= compared THEN 100 ELSE 10 END;
    _least double precision := 1 - near * least(1, coalesce(_space.similarity_spread
        / rag._reference_spread(), 1));
    _probed integer := 0;
    _pairs text[];
    _p record;
    _hit record;
BEGIN
    FOR _p IN
        SELECT k.chunk_id, k.ordinal, k.content, e.embedding,
               right(coalesce(d.uri, k.document_id::text), 32) AS name
        FROM (SELECT u.chunk_id FROM unnest(chunk_ids) AS u (chunk_id)
              ORDER BY hashint8(u.chunk_id), u.chunk_id LIMIT _probes) AS i
        JOIN rag.chunks AS k ON k.collection_id = _audit_similar.collection_id AND k.chunk_id =
            i.chunk_id
        JOIN rag.embeddings AS e ON e.space_id = _space.space_id AND e.chunk_id = k.chunk_id
        LEFT JOIN rag.documents AS d ON d.collection_id = _audit_similar.collection_id
            AND d.document_id = k.document_id
        WHERE e.embedding OPERATOR({vector}.<=>) e.embedding < 0.01  -- it has a direction
        ORDER BY k.chunk_id
    LOOP
        _probed := _probed + 1;
        FOR _hit IN
            SELECT h.chunk_id, h.content, right(h.uri, 32) AS name
            FROM rag.search_vector(_name, _p.embedding, neighbours) AS h
        LOOP
            CONTINUE WHEN _hit.chunk_id = _p.chunk_id
                OR (SELECT 1 - (_p.embedding OPERATOR({vector}.<=>) e.embedding)
                    FROM rag.embeddings AS e WHERE e.space_id = _space.space_id
                        AND e.chunk_id = _hit.chunk_id) < _least
                OR regexp_replace(_hit.content, E'\\s+', '', 'g')
                    = regexp_replace(_p.content, E'\\s+', '', 'g')
                OR (SELECT count(*) FROM unnest(rag._shingle_minima(_hit.content),
                        rag._shingle_minima(_p.content)) AS m (a, b) WHERE m.a = m.b)
                    >= classes_alike;
            _pairs := _pairs || format('%s #%s ~ %s', _p.name, _p.ordinal, _hit.name);
            EXIT;
        END LOOP;
    END LOOP;
    RETURN QUERY SELECT 'copies in other words',
        CASE WHEN _probed = 0 THEN 'skip' WHEN cardinality(_pairs) > 0.05 * _probed THEN 'warn'
             ELSE 'ok' END,
        CASE WHEN _probed = 0 THEN 'no chunk that is looked at has a vector'
             ELSE format('%s of %s chunks, each compared with the whole collection, have one '
                 'with a cosine of %s or more%s', coalesce(cardinality(_pairs), 0), _probed,
                 round(_least::numeric, 4), coalesce(': ' || rag._some_names(_pairs), '')) END,
        CASE WHEN _probed = 0 THEN 'rag-pg worker embeds what waits'
             ELSE 'keep one version of a text, or search with diversity '
                 '(rag-pg search --diversity 0.3)' END,
        jsonb_build_object('copies', coalesce(cardinality(_pairs), 0), 'of', _probed,
            'least_cosine', round(_least::numeric, 4));
END
$$;

COMMENT ON FUNCTION rag._audit_similar IS
$$rag.audit: chunks that have a near copy whose words differ, by vectors.

100 of the chunks (10 where a large collection has no index) are searched for in the whole
collection by their own vectors. A copy has a cosine of 0.98 or more in a space of the usual spread,
proportionally more in a narrow one, and less than three quarters of the shingles in common, since
rag._audit_copies tells the others.$$;
