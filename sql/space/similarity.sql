-- How the cosines of an embedding space are spread: what a search weighs them by.

CREATE OR REPLACE FUNCTION rag._reference_spread()
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 0.133;

COMMENT ON FUNCTION rag._reference_spread IS
$$The spread of cosines that the constants of rag._auto_weight belong to: that of all-MiniLM-L6-v2,
whose own spaces are not measured.$$;


CREATE OR REPLACE FUNCTION rag._sample_vectors(of_space integer, sample_size integer)
RETURNS TABLE (chunk_id bigint, embedding {vector}.halfvec)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
SET row_security TO off
AS $$
DECLARE
    _first bigint := (SELECT min(e.chunk_id) FROM rag.embeddings AS e WHERE e.space_id = of_space);
    _last bigint := (SELECT max(e.chunk_id) FROM rag.embeddings AS e WHERE e.space_id = of_space);
BEGIN
    RETURN QUERY
    SELECT DISTINCT ON (n.chunk_id) n.chunk_id, n.embedding
    FROM generate_series(0, sample_size - 1) AS i (step)
    CROSS JOIN LATERAL (
        SELECT e.chunk_id, e.embedding FROM rag.embeddings AS e
        WHERE e.space_id = of_space
            AND e.chunk_id >= _first
                + ((_last - _first)::numeric * i.step / (sample_size - 1))::bigint  -- by the key
        ORDER BY e.chunk_id LIMIT 1
    ) AS n
    ORDER BY n.chunk_id;
END
$$;

COMMENT ON FUNCTION rag._sample_vectors IS
$$At most sample_size vectors of a space, evenly spaced by their chunk ids: the same for the same
rows, by so many looks into the primary key.$$;


CREATE OR REPLACE FUNCTION rag._count_chunks(collection_id integer)
RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN coalesce((SELECT t.chunk_count FROM rag.keyword_totals AS t
            WHERE t.collection_id = _count_chunks.collection_id), 0)
        + coalesce((SELECT sum(k.change) FROM rag.keyword_changes AS k
            WHERE k.collection_id = _count_chunks.collection_id), 0);
END
$$;

COMMENT ON FUNCTION rag._count_chunks IS
$$How many chunks a collection has, from the keyword index: no chunk is read.$$;


CREATE OR REPLACE FUNCTION rag._measure_similarity(of_space integer)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO off
AS $$
DECLARE
    _space rag.spaces;
    _vectors {vector}.halfvec[];
    _mean double precision;
    _spread double precision;
    _chunks bigint;
BEGIN
    IF NOT has_column_privilege('rag.spaces', 'similarity_spread', 'UPDATE')
        OR row_security_active('rag.embeddings'::regclass) THEN
        RETURN false;
    END IF;
    SELECT s.* INTO _space FROM rag.spaces AS s
    WHERE s.space_id = of_space AND s.dropped_at IS NULL AND s.model <> 'minilm'
    FOR NO KEY UPDATE SKIP LOCKED;  -- another session measures it, or it is being switched
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    _vectors := ARRAY(SELECT v.embedding FROM rag._sample_vectors(of_space, 200) AS v);
    IF cardinality(_vectors) < 10 THEN
        RETURN false;
    END IF;
    SELECT avg(p.cosine), stddev_samp(p.cosine)
    INTO _mean, _spread
    FROM (
        SELECT nullif(1 - (a.vector OPERATOR({vector}.<=>) b.vector), 'NaN') AS cosine
        FROM unnest(_vectors) WITH ORDINALITY AS a (vector, position)
        JOIN unnest(_vectors) WITH ORDINALITY AS b (vector, position) ON a.position < b.position
    ) AS p;
    IF _mean IS NOT NULL THEN
        _mean := least(greatest(_mean, -1), 1);
        _spread := least(greatest(coalesce(_spread, 0), 0.008), 0.3);
    END IF;
    _chunks := rag._count_chunks(_space.collection_id);
    UPDATE rag.spaces AS s
    SET similarity_mean = _mean, similarity_spread = _spread,
        measured_chunks = greatest(_chunks, cardinality(_vectors))
    WHERE s.space_id = of_space;
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag._measure_similarity IS
$$Store the mean and the standard deviation of the cosines between a sample of a space's own vectors
(200, every pair). False where nothing is measured: a space of model minilm, fewer than ten vectors,
one that another session changes now, or a role that may not update rag.spaces or sees only some of
the rows.

The spread varies by 1 to 2 percent from sample to sample. It is kept between 0.008 and 0.3.$$;


CREATE OR REPLACE FUNCTION rag.measure_spaces(collections text[] DEFAULT NULL)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _space rag.spaces;
    _measured integer := 0;
BEGIN
    PERFORM rag._require_writable('rag.measure_spaces', 'keeps what it measures');
    FOR _space IN
        SELECT s.*
        FROM rag.spaces AS s
        JOIN rag.collections AS c ON c.collection_id = s.collection_id AND c.dropped_at IS NULL
        WHERE s.dropped_at IS NULL AND s.model <> 'minilm'
            AND (collections IS NULL OR c.name = ANY (collections))
        ORDER BY s.space_id
    LOOP
        CONTINUE WHEN rag._count_chunks(_space.collection_id)
            < greatest(2 * _space.measured_chunks, 10);
        _measured := _measured + rag._measure_similarity(_space.space_id)::integer;
    END LOOP;
    RETURN _measured;
END
$$;

COMMENT ON FUNCTION rag.measure_spaces IS
$$How their cosines are spread, where that is due.

Measure how the cosines are spread in the spaces of these collections (NULL: of all) whose chunks
have doubled since; returns how many were measured. Workers, bulk loads and building an index do the
same.

A hybrid search weighs the cosines of a space by their spread, so that a model that squeezes them
counts as much as one that does not: see docs/internals/fusion.md. Spaces of model minilm are not
measured.
Circle: worker, Embedding spaces.
SELECT rag.measure_spaces(ARRAY['docs'])$$;


CREATE OR REPLACE FUNCTION rag._similarity_scale(space rag.spaces,
    OUT subtracted double precision, OUT factor double precision)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW(
    coalesce(space.similarity_mean, 0),
    coalesce(rag._reference_spread() / space.similarity_spread, 1));

COMMENT ON FUNCTION rag._similarity_scale IS
$$How a cosine of a space becomes a similarity that is alike for all models:
(cosine - subtracted) * factor. For a space that is not measured the similarity is the cosine.$$;
