CREATE OR REPLACE FUNCTION rag.maintain()
RETURNS TABLE (collection text, merged integer, compacted integer)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _collection rag.collections;
    _slots bigint;
    _live bigint;
BEGIN
    PERFORM rag.remove_dropped();
    PERFORM rag.remove_requests();
    DELETE FROM rag.source_changes AS x WHERE x.source_id NOT IN (SELECT s.source_id FROM rag.sources AS s);
    PERFORM rag.follow_sources(retry_broken => true);
    FOR _collection IN SELECT c.* FROM rag.collections AS c WHERE c.dropped_at IS NULL ORDER BY c.collection_id LOOP
        collection := _collection.name;
        merged := 0;
        compacted := 0;
        IF (SELECT count(*) >= rag.keyword_merge_size() / 4
            FROM rag.keyword_changes AS k WHERE k.collection_id = _collection.collection_id) THEN
            merged := rag.merge_keyword(_collection.collection_id);
        END IF;
        SELECT count(*) INTO _slots FROM rag.keyword_slots AS s WHERE s.collection_id = _collection.collection_id;
        SELECT t.chunk_count INTO _live FROM rag.keyword_totals AS t WHERE t.collection_id = _collection.collection_id;
        IF _slots - _live > 0.2 * _slots THEN
            compacted := rag.compact_keyword(_collection.collection_id);
        END IF;
        IF merged + compacted > 0 THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.maintain() IS
$$What an idle worker does now and then, and pg_cron or you may: remove dropped collections and requests that nobody read, try
broken sources again, merge fresh keywords, compact keyword blocks of which more than a fifth is deleted. Blocks neither readers nor writers. Returns a row for each
collection with something done: changes merged, blocks compacted.$$;
