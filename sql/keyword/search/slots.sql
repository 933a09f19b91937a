-- Slots of the keyword index, by which the chunks of a collection are listed and sampled.

CREATE OR REPLACE FUNCTION rag._chunks_of_slots(
    collection_id integer, slots integer[], filter_sql text
)
RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
AS $$
DECLARE
    _chunks bigint[];
BEGIN
    IF filter_sql IS NULL THEN
        RETURN (
            SELECT array_agg(k.chunk_id)
            FROM rag.keyword_slots AS k
            WHERE k.collection_id = _chunks_of_slots.collection_id AND k.slot = ANY (slots)
        );
    END IF;
    EXECUTE format(
        'SELECT array_agg(c.chunk_id) FROM unnest($2) AS w (slot)'
        ' CROSS JOIN LATERAL (SELECT k.chunk_id FROM rag.keyword_slots AS k'
        ' WHERE k.collection_id = $1 AND k.slot = w.slot OFFSET 0) AS s'
        ' CROSS JOIN LATERAL (SELECT x.* FROM rag.chunks AS x'
        ' WHERE x.collection_id = $1 AND x.chunk_id = s.chunk_id OFFSET 0) AS c WHERE (%s)',
        filter_sql
    ) INTO _chunks USING _chunks_of_slots.collection_id, slots;
    RETURN _chunks;
END
$$;

COMMENT ON FUNCTION rag._chunks_of_slots IS
$$The chunks that hold these slots and pass a filter (as in rag._filter_chunks).

OFFSET 0: look-ups by key, whatever the planner thinks of the tables.$$;


CREATE OR REPLACE FUNCTION rag._sample_slots(collection_id integer, sample_size integer)
RETURNS integer[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _size integer := rag._keyword_block_size();
    _growing integer;       -- the block that grows, and how many slots of it are in use
    _filled integer;
    _blocks integer[];      -- the others
BEGIN
    SELECT rag._growing_block(t.next_slot), t.next_slot % _size
    INTO _growing, _filled
    FROM rag.keyword_totals AS t
    WHERE t.collection_id = _sample_slots.collection_id;
    SELECT coalesce(array_agg(DISTINCT s.segment / _size), '{}')
    INTO _blocks
    FROM rag.keyword_segments AS s
    WHERE s.collection_id = _sample_slots.collection_id
      AND s.segment / _size IS DISTINCT FROM _growing;
    _filled := CASE WHEN _growing IS NULL THEN 0 ELSE _filled END;
    IF cardinality(_blocks) = 0 AND _filled = 0 THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT CASE WHEN p.point < cardinality(_blocks)::bigint * _size
                    THEN _blocks[p.point / _size + 1] * _size + (p.point % _size)::integer
                    ELSE _growing * _size +
                        (p.point - cardinality(_blocks)::bigint * _size)::integer END
        FROM (
            SELECT (hashint8(g.part) & 2147483647) %
                (cardinality(_blocks)::bigint * _size + _filled) AS point
            FROM generate_series(1::bigint, sample_size) AS g (part)
        ) AS p
    );
END
$$;

COMMENT ON FUNCTION rag._sample_slots IS
$$Slots spread evenly over the blocks that a collection uses, the same ones each time; few of them
are empty.$$;
