-- What happens to a fused list: boosts, duplicates, chunks per document, diversity.

CREATE OR REPLACE FUNCTION rag._boost(
    collection_id integer, chunk_keys bigint[], scores double precision[], boosts jsonb
)
RETURNS double precision[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _scores double precision[] := scores;
    _boost jsonb;
    _kept bigint[];
    _add double precision;
    _multiply double precision;
    _weight double precision;
    _half_life double precision;    -- seconds
BEGIN
    PERFORM rag._check_boosts(coalesce(boosts, '[]'));
    FOR _boost IN SELECT b.value FROM jsonb_array_elements(boosts) WITH ORDINALITY AS b
        ORDER BY b.ordinality LOOP
        IF _boost ? 'recency' THEN
            _weight := coalesce(round((_boost -> 'weight')::numeric, 15)::double precision, 0.5);
            _half_life := extract(epoch FROM (_boost ->> 'half_life')::interval);
            SELECT array_agg(k.score + abs(k.score) * _weight * (coalesce(r.freshness, 0) - 1)
                ORDER BY k.position)
            INTO _scores
            FROM unnest(chunk_keys, _scores) WITH ORDINALITY AS k (chunk_key, score, position)
            LEFT JOIN LATERAL (
                -- 0.5 ^ 1000 is as good as nothing, 0.5 ^ 1100 an error
                SELECT CASE WHEN d.age <= 1000 * _half_life THEN 0.5 ^
                    (greatest(0, d.age) / _half_life) END AS freshness
                FROM rag.chunks AS c,
                LATERAL (
                    SELECT extract(epoch FROM now() - CASE
                        WHEN _boost ->> 'recency' IN ('$created_at', '$updated_at')
                        THEN (SELECT CASE _boost ->> 'recency' WHEN '$created_at' THEN x.created_at
                            ELSE x.updated_at END
                              FROM rag.documents AS x
                              WHERE x.collection_id = _boost.collection_id
                                  AND x.document_id = c.document_id)
                        ELSE rag._as_timestamptz(c.metadata #>
                            rag._field_steps(_boost ->> 'recency')) END
                    )::double precision AS age
                ) AS d
                WHERE c.collection_id = _boost.collection_id AND c.chunk_id = k.chunk_key
                OFFSET 0
            ) AS r ON true;
        ELSE
            _add := coalesce(round((_boost -> 'add')::numeric, 15)::double precision, 0);
            _multiply := coalesce(round((_boost -> 'multiply')::numeric, 15)::double precision, 1);
            _kept := rag._filter_chunks(
                _boost.collection_id, chunk_keys,
                    (rag._compile_filter(_boost.collection_id, _boost -> 'filter')).condition
            );
            SELECT array_agg(
                CASE WHEN p.chunk_key
                    IS NOT NULL THEN k.score + abs(k.score) * (_multiply - 1) + _add
                     ELSE k.score END ORDER BY k.position)
            INTO _scores
            FROM unnest(chunk_keys, _scores) WITH ORDINALITY AS k (chunk_key, score, position)
            LEFT JOIN unnest(_kept) AS p (chunk_key) ON p.chunk_key = k.chunk_key;
        END IF;
        -- Many boosts that take nearly all of a score would leave what no float holds.
        _scores := ARRAY(SELECT CASE WHEN abs(s.score) < 1e-100 THEN 0 ELSE s.score END
                         FROM unnest(_scores)
                             WITH ORDINALITY AS s (score, position) ORDER BY s.position);
    END LOOP;
    RETURN _scores;
END
$$;

COMMENT ON FUNCTION rag._boost IS
$$The scores after boosts, in the order given. Each boost acts on what the one before it left.

At most 32 boosts; their numbers count to 15 decimals.
{"filter": …, "add": a, "multiply": m}: chunks that pass become score + |score| (m - 1) + a.
{"recency": field (or $created_at, $updated_at), "half_life": interval, "weight": w}: score +
|score| w (2^(-age / half_life) - 1); w is 0 to 1, default 0.5; a chunk without the date counts as
infinitely old, a date in the future as now.$$;


CREATE OR REPLACE FUNCTION rag._check_boosts(boosts jsonb)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _boost jsonb;
    _key text;
BEGIN
    IF jsonb_typeof(boosts) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'boosts is a JSON %', coalesce(jsonb_typeof(boosts), 'null')
        USING ERRCODE = 'RG004',
            HINT = 'pass an array, e.g. [{"filter": {"lang": "en"}, "multiply": 1.2}]';
    END IF;
    IF jsonb_array_length(boosts) > 32 THEN
        RAISE EXCEPTION '% boosts were given', jsonb_array_length(boosts) USING ERRCODE = 'RG004',
        HINT = 'use at most 32; chunks that share a boost can share its filter, by $or';
    END IF;
    PERFORM rag._check_filter_size('the boosts have', boosts);
    FOR _boost IN SELECT b.value FROM jsonb_array_elements(boosts) AS b LOOP
        IF jsonb_typeof(_boost) <> 'object' OR (_boost ? 'recency') = (_boost ? 'filter') THEN
            RAISE EXCEPTION 'boost % has neither or both of filter and recency',
                left(_boost::text, 100)
            USING ERRCODE = 'RG004',
            HINT = 'use {"filter": ..., "add": a, "multiply": m} or {"recency": field, '
                '"half_life": "30 days"}';
        END IF;
        SELECT k.key INTO _key FROM jsonb_object_keys(_boost) AS k (key)
        WHERE k.key <> ALL (CASE
            WHEN _boost ? 'recency' THEN ARRAY['recency', 'half_life', 'weight']
                                 ELSE ARRAY['filter', 'add', 'multiply'] END)
        LIMIT 1;
        IF _key IS NOT NULL THEN
            RAISE EXCEPTION 'boost % has an unknown key %', left(_boost::text, 100),
                quote_literal(left(_key, 100))
                USING ERRCODE = 'RG004',
            HINT = 'a filter boost takes add and multiply, a recency boost half_life and weight';
        END IF;
        SELECT n.key INTO _key
        FROM (VALUES ('add', -1000, 1000), ('multiply', 0, 1000), ('weight', 0, 1)) AS n
            (key, low, high)
        WHERE _boost ? n.key AND CASE WHEN jsonb_typeof(_boost -> n.key) = 'number'
            THEN (_boost -> n.key)::numeric NOT BETWEEN n.low AND n.high ELSE true END
        LIMIT 1;
        IF _key IS NOT NULL THEN
            RAISE EXCEPTION '% of boost % is out of range', _key, left(_boost::text, 100)
            USING ERRCODE = 'RG004',
            HINT = 'add is -1000 to 1000, multiply 0 to 1000, weight 0 to 1';
        END IF;
        IF _boost ? 'recency' AND NOT coalesce(CASE
            WHEN jsonb_typeof(_boost -> 'recency') = 'string'
                AND pg_input_is_valid(_boost ->> 'half_life', 'interval')
            THEN extract(epoch FROM (_boost ->> 'half_life')::interval) > 0
                AND (_boost ->> 'recency' IN ('$created_at', '$updated_at')
                    OR NOT starts_with(_boost ->> 'recency', '$')) END, false)
        THEN
            RAISE EXCEPTION 'boost % needs a field and a half_life', left(_boost::text, 100)
            USING ERRCODE = 'RG004',
            HINT = 'e.g. {"recency": "published_at", "half_life": "30 days"}; the document''s own '
                'are $created_at and $updated_at';
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._check_boosts IS
$$Error RG004 unless boosts are as rag._boost takes them.$$;


CREATE OR REPLACE FUNCTION rag._distinct_chunks(
    collection_id integer, chunk_keys bigint[], per_document integer, keep_duplicates boolean,
    wanted integer
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _first bigint[] := chunk_keys[:coalesce(wanted + 10, cardinality(chunk_keys))];
    _kept bigint[];
BEGIN
    _kept := ARRAY(
        SELECT n.chunk_id
        FROM (
            SELECT d.chunk_id, d.position,
                   row_number() OVER (PARTITION BY d.document_id ORDER BY d.position) AS nth
            FROM (
                SELECT k.chunk_id, k.position, c.document_id,
                       row_number() OVER (PARTITION BY c.content_hash ORDER BY k.position) AS copy
                FROM unnest(_first) WITH ORDINALITY AS k (chunk_id, position)
                JOIN rag._read_hashes(_distinct_chunks.collection_id, _first) AS c ON c.chunk_id =
                    k.chunk_id
            ) AS d
            WHERE keep_duplicates OR d.copy = 1
        ) AS n
        WHERE n.nth <= coalesce(per_document, n.nth)
        ORDER BY n.position
    );
    IF cardinality(_kept) < wanted AND cardinality(_first) < cardinality(chunk_keys) THEN
        RETURN rag._distinct_chunks(_distinct_chunks.collection_id, chunk_keys, per_document,
            keep_duplicates, NULL);
    END IF;
    RETURN _kept;
END
$$;

COMMENT ON FUNCTION rag._distinct_chunks IS
$$The chunks, best first, without those whose text stands above already, and at most per_document of
each document.

wanted: when so many are found, the rest need not be looked at; NULL: all are.$$;


CREATE OR REPLACE FUNCTION rag._diversify(
    space rag.spaces, chunk_keys bigint[], scores double precision[], result_limit integer,
    diversity double precision
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _chosen bigint[] := '{}';
    _left bigint[] := chunk_keys;
    _relevance double precision[];
    _vectors {vector}.halfvec[];
    _nearest double precision[];    -- of each one left: its greatest similarity to one chosen
    _position integer;
    _mean double precision;
    _factor double precision;
BEGIN
    SELECT s.subtracted, s.factor INTO _mean, _factor FROM rag._similarity_scale(space) AS s;
    IF array_ndims(chunk_keys) > 1 OR array_position(chunk_keys, NULL) IS NOT NULL
        OR cardinality(chunk_keys) <> cardinality(scores) THEN
        RAISE EXCEPTION 'the chunks and their scores are no two lists of one length'
        USING ERRCODE = 'RG004', HINT = 'pass two arrays in parallel, no chunk NULL';
    END IF;
    SELECT array_agg(CASE WHEN r.most > r.least THEN (r.score - r.least) / (r.most - r.least)
        ELSE 1 END ORDER BY r.position),
           array_agg(e.embedding ORDER BY r.position), array_agg(0 ORDER BY r.position)
    INTO _relevance, _vectors, _nearest
    FROM (
        SELECT k.chunk_key, k.score, k.position, min(k.score) OVER () AS least,
            max(k.score) OVER () AS most
        FROM unnest(chunk_keys, scores) WITH ORDINALITY AS k (chunk_key, score, position)
    ) AS r
    LEFT JOIN rag._read_vectors(space.space_id, chunk_keys) AS e ON e.chunk_id = r.chunk_key;

    WHILE cardinality(_chosen) < result_limit
        AND cardinality(_chosen) < cardinality(chunk_keys) LOOP
        SELECT u.position INTO _position
        FROM unnest(_left, _relevance, _nearest) WITH ORDINALITY AS u
            (chunk_key, relevance, nearest, position)
        WHERE u.chunk_key IS NOT NULL
        ORDER BY (1 - diversity) * u.relevance - diversity * u.nearest DESC, u.position
        LIMIT 1;
        _chosen := _chosen || _left[_position];
        _left[_position] := NULL;
        SELECT array_agg(greatest(u.nearest,
            (nullif(1 - (u.vector OPERATOR({vector}.<=>) _vectors[_position]), 'NaN') - _mean)
                * _factor)
                ORDER BY u.position)
        INTO _nearest
        FROM unnest(_vectors, _nearest) WITH ORDINALITY AS u (vector, nearest, position);
    END LOOP;
    RETURN _chosen;
END
$$;

COMMENT ON FUNCTION rag._diversify IS
$$result_limit of the chunks by maximal marginal relevance, the best first: each next one maximises
(1 - diversity) * relevance - diversity * (greatest similarity to one chosen before).

similarity: the cosine, by the scale of the space (rag._similarity_scale).
relevance: the score, scaled to 0 to 1 over the chunks. diversity: 0 (the order of the scores) to 1.
A chunk without a vector (or with one of length 0) is like no other. Source: Carbonell, Goldstein,
SIGIR 1998.$$;
