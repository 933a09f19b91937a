-- Advice from statistics: which settings suit a collection, why, and whether that was measured.
--
-- A rule names its source: a measurement of this project, by its page, or that there is none.

CREATE OR REPLACE FUNCTION rag._percent(part numeric, whole numeric)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(round(100 * part / nullif(whole, 0))::text, '0') || ' %';

COMMENT ON FUNCTION rag._percent IS
$$A share for people: 12 %.$$;


CREATE OR REPLACE FUNCTION rag._advise_language(collection rag.collections, space rag.spaces,
    traits jsonb)
RETURNS TABLE (topic text, current text, advised text, reason text, evidence text, command text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    unmeasured CONSTANT text := 'not measured here; Hull, Stemming Algorithms: A Case Study for '
        'Detailed Evaluation, JASIS 1996';
    _all bigint := (SELECT sum(l.value::bigint) FROM jsonb_each_text(traits -> 'languages') AS l);
    _most text;
    _count bigint;
    _name text := rag._shell_word(collection.name);
    _own text := split_part(collection.language, '.', -1);
    _summary text;
BEGIN
    SELECT l.key, l.value::bigint INTO _most, _count
    FROM jsonb_each_text(traits -> 'languages') AS l ORDER BY l.value::bigint DESC, l.key LIMIT 1;
    _summary := (SELECT string_agg(format('%s %s', initcap(l.key), rag._percent(l.value::numeric,
            _all)), ', ' ORDER BY l.value::bigint DESC, l.key)
        FROM jsonb_each_text(traits -> 'languages') AS l);
    IF _all IS NULL OR _all < 5 THEN
        RETURN QUERY SELECT 'language', collection.language, collection.language,
            CASE WHEN (traits ->> 'unspaced')::integer * 2 > (traits ->> 'documents')::integer
                THEN 'a script without spaces is matched by pairs of characters in any language'
                ELSE format('%s texts tell their language by their function words: too few',
                    coalesce(_all, 0)) END,
            CASE WHEN (traits ->> 'unspaced')::integer * 2 > (traits ->> 'documents')::integer
                THEN 'measured: docs/internals/fusion.md, xquad-zh: keyword leg 0.963'
                ELSE 'not measured here' END, NULL::text;
    ELSIF _most = _own AND _count >= 0.9 * _all THEN
        RETURN QUERY SELECT 'language', collection.language, collection.language, _summary,
            unmeasured, NULL::text;
    ELSIF _count >= 0.9 * _all THEN
        _most := CASE WHEN rag._has_language(_most) THEN _most ELSE 'simple' END;
        IF _most = _own OR _most = 'simple' AND collection.language = 'rag.auto' THEN
            RETURN QUERY SELECT 'language', collection.language, collection.language, _summary
                || '; no text search configuration fits it', unmeasured, NULL::text;
            RETURN;
        END IF;
        RETURN QUERY SELECT 'language', collection.language, _most,
            _summary || '; words are matched by the stems of their own language', unmeasured,
            format('rag-pg add PATH --collection %s --language %s',
                rag._shell_word(collection.name || '-' || _most), _most);
    ELSE
        RETURN QUERY SELECT 'language', collection.language, 'each document its own',
            _summary || '; a query is matched in every language that a document has', unmeasured,
            format('SELECT rag.put_document(%L, uri, content, language => %L)', collection.name,
                CASE WHEN _most = _own THEN (
                    SELECT l.key FROM jsonb_each_text(traits -> 'languages') AS l
                    WHERE l.key <> _own ORDER BY l.value::bigint DESC, l.key LIMIT 1)
                ELSE _most END);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._advise_language IS
$$rag.advise: the text search configuration, by the languages of the texts.$$;


CREATE OR REPLACE FUNCTION rag._advise_model(collection rag.collections, space rag.spaces,
    traits jsonb)
RETURNS TABLE (topic text, current text, advised text, reason text, evidence text, command text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- nDCG@10 of the hybrid search: docs/internals/fusion.md
    measured CONSTANT jsonb := '{"german": ["xquad-de", 0.956, 0.975],
        "spanish": ["xquad-es", 0.968, 0.983], "russian": ["xquad-ru", 0.951, 0.977],
        "chinese": ["xquad-zh", 0.965, 0.981], "french": ["piaf-fr", 0.806, 0.856]}';
    page CONSTANT text := 'docs/internals/fusion.md';
    _languages jsonb := (traits -> 'languages') || CASE WHEN (traits ->> 'unspaced')::integer > 0
        THEN jsonb_build_object('chinese', (traits ->> 'unspaced')::integer) ELSE '{}' END;
    _all numeric;
    _foreign numeric;
    _most text;
    _summary text;
    _lead numeric := (traits ->> 'vector_leg')::numeric;
    _reembed text := format('rag-pg reembed %s --model ', rag._shell_word(collection.name));
BEGIN
    SELECT sum(l.value::numeric), coalesce(sum(l.value::numeric) FILTER (WHERE l.key <> 'english'),
               0)
    INTO _all, _foreign FROM jsonb_each_text(_languages) AS l;
    _most := (SELECT l.key FROM jsonb_each_text(_languages) AS l WHERE l.key <> 'english'
        ORDER BY l.value::integer DESC, l.key LIMIT 1);
    _summary := CASE WHEN _all > 0
        THEN format('%s of %s texts whose language is told are not English',
            rag._percent(_foreign, _all), _all) ELSE 'no text tells its language' END;
    IF space.model = 'minilm' AND _foreign >= 0.2 * _all THEN
        RETURN QUERY SELECT 'model', space.model, 'e5', _summary || '; minilm knows English alone',
            coalesce((SELECT format('measured: %s, %s: nDCG@10 %s with minilm, %s with e5', page,
                          m.value ->> 0, m.value ->> 1, m.value ->> 2)
                      FROM jsonb_each(measured) AS m WHERE m.key = _most),
                format('not measured here for %s; five other languages gain 0.015 to 0.050: %s',
                    initcap(_most), page)),
            _reembed || 'e5';
    ELSIF space.model IN ('minilm', 'e5') AND _all > 0 AND _foreign < 0.2 * _all THEN
        RETURN QUERY SELECT 'model', space.model, space.model, _summary,
            format('measured: %s, nDCG@10 of minilm and e5: anthropic-docs 0.819 and 0.787, '
                'squad2-dev 0.910 and 0.926, xquad-en 0.980 and 0.982: neither is better in '
                'English', page), NULL::text;
    ELSIF space.model = 'e5' THEN
        RETURN QUERY SELECT 'model', space.model, space.model, _summary,
            'measured: ' || page || ', eight sets with e5', NULL::text;
    ELSIF _lead < 0.6 THEN
        RETURN QUERY SELECT 'model', space.model, 'e5', format('a chunk is nearer to the next of '
            'its document than to one of another in %s of cases: 50 %% is chance',
            rag._percent(_lead, 1)), 'not measured here: minilm and e5 alone were',
            _reembed || 'e5';
    ELSE
        RETURN QUERY SELECT 'model', space.model, space.model, concat_ws('; ', _summary,
            CASE WHEN _lead IS NOT NULL THEN format('a chunk is nearer to the next of its document '
                'than to one of another in %s of cases', rag._percent(_lead, 1)) END),
            'not measured here: minilm and e5 alone were', NULL::text;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._advise_model IS
$$rag.advise: the embedder, by the languages of the texts and by whether vectors tell documents
apart.$$;


CREATE OR REPLACE FUNCTION rag._advise_chunking(collection rag.collections, space rag.spaces,
    traits jsonb)
RETURNS TABLE (topic text, current text, advised text, reason text, evidence text, command text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _all numeric := (traits ->> 'documents')::numeric;
    _method text := coalesce(collection.chunking ->> 'method', 'auto');
    _plain jsonb := coalesce(nullif(traits -> 'plain', 'null'), '{}');
    _limit integer := least((collection.chunking ->> 'max_tokens')::integer,
        CASE space.model WHEN 'minilm' THEN 256 WHEN 'e5' THEN 512 END);
    _summary text := (
        SELECT string_agg(format('%s %s', k.key, rag._percent(k.value::numeric, _all)), ', '
            ORDER BY k.value::numeric DESC, k.key)
        FROM jsonb_each_text(traits -> 'kinds') AS k);
    _rechunk text := format('rag-pg rechunk %s --chunking ', rag._shell_word(collection.name));
BEGIN
    IF (traits ->> 'words_p95')::integer > coalesce(_limit, 256) THEN
        RETURN QUERY SELECT 'chunking', collection.chunking::text, (collection.chunking
                || jsonb_build_object('max_tokens', coalesce(_limit, 256)))::text,
            format('one chunk in 20 has %s words or more, and %s tokens are read: the rest is not '
                'embedded', traits ->> 'words_p95', coalesce(_limit, 256)),
            'not measured here: rag.audit names the chunks',
            CASE WHEN collection.chunking -> 'max_tokens' IS DISTINCT FROM
                to_jsonb(coalesce(_limit, 256)) THEN format('%s''%s''', _rechunk,
                collection.chunking
                || jsonb_build_object('max_tokens', coalesce(_limit, 256))) END;
    ELSIF _method IN ('auto', 'text') AND (_plain ->> 'markdown')::numeric > 0.5 * _all THEN
        RETURN QUERY SELECT 'chunking', collection.chunking::text, (collection.chunking
                || '{"method": "markdown"}')::text, _summary || format('; %s are Markdown stored '
                'as text/plain, so their headings are cut as prose',
                rag._percent((_plain ->> 'markdown')::numeric, _all)),
            'measured: docs/decisions: title and headings in front of a chunk change recall by '
                '0.007 at most; they are shown with a hit',
            format('%s''%s''', _rechunk, collection.chunking || '{"method": "markdown"}');
    ELSIF _method IN ('auto', 'code') AND (_plain ->> 'code')::numeric > 0.5 * _all THEN
        RETURN QUERY SELECT 'chunking', collection.chunking::text,
            'a media type that names the language', _summary || format('; %s are code stored as '
                'text/plain, so functions are cut like paragraphs',
                rag._percent((_plain ->> 'code')::numeric, _all)), 'not measured here',
            format('SELECT rag.put_document(%L, uri, content, media_type => ''text/x-python'')',
                collection.name);
    ELSIF _method = 'auto' THEN
        RETURN QUERY SELECT 'chunking', collection.chunking::text, collection.chunking::text,
            _summary, CASE WHEN (traits #>> '{kinds,conversation}')::numeric > 0.5 * _all
                THEN 'measured: docs/decisions, chat logs: recall 0.973 by auto, 0.979 by '
                    'conversation (standard error 0.02): no difference is shown'
                WHEN (traits #>> '{kinds,code}')::numeric > 0.5 * _all THEN 'not measured here'
                ELSE 'measured: docs/guides/enrich.md: no other setting found more' END, NULL::text;
    ELSE
        RETURN QUERY SELECT 'chunking', collection.chunking::text, collection.chunking::text,
            _summary || '; the method was chosen', 'not measured here: bench/chunking.py compares '
            'the methods on one set', NULL::text;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._advise_chunking IS
$$rag.advise: how texts are cut, by what their lines are, their media types and their chunks'
lengths.$$;


CREATE OR REPLACE FUNCTION rag._advise_weights(collection rag.collections, space rag.spaces,
    traits jsonb)
RETURNS TABLE (topic text, current text, advised text, reason text, evidence text, command text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    page CONSTANT text := 'measured: docs/internals/fusion.md';
    _identifiers numeric := (traits ->> 'identifiers')::numeric;
    _summary text := format('%s of the words are numbers or identifiers', rag._percent(_identifiers,
        1));
BEGIN
    IF (traits ->> 'vectors')::integer >= 10 AND space.similarity_spread IS NULL
        AND space.model <> 'minilm' THEN
        RETURN QUERY SELECT 'weights', 'auto, unmeasured', 'auto',
            'the spread of the cosines was never measured, so the vector leg weighs too little or '
                'too much', page || ', e5: 0.962, 0.955 and 0.810 unmeasured, 0.975, 0.977 and '
                '0.856 measured (xquad-de, xquad-ru, piaf-fr)',
            format('SELECT rag.measure_spaces(ARRAY[%L])', collection.name);
    ELSIF space.distance <> 'cosine' AND (traits ->> 'length_spread')::numeric > 0.05 THEN
        RETURN QUERY SELECT 'weights', 'auto', 'rrf', format('the vectors differ in length by %s, '
            'and auto orders by the cosine, not by %s', rag._percent((traits ->> 'length_spread')
                ::numeric, 1), space.distance), 'not measured here: docs/internals/fusion.md says '
            'how each orders',
            format('SELECT * FROM rag.search(%L, query, embedding, fusion => ''rrf'')',
                collection.name);
    ELSE
        RETURN QUERY SELECT 'weights', 'auto', 'auto', concat_ws('; ', _summary,
            'spread of cosines ' || round(space.similarity_spread::numeric, 3)),
            CASE WHEN _identifiers >= 0.2
                THEN page || ': for queries of one or two rare words auto is within 0.002 of the '
                    'better leg'
                ELSE page || ': auto is not below the better leg on any of 11 sets, rrf loses to '
                    'the keyword leg on six' END, NULL::text;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._advise_weights IS
$$rag.advise: how the two legs are fused, by identifiers, the spread of the cosines, and the lengths
of the vectors.$$;


CREATE OR REPLACE FUNCTION rag._advise_index(collection rag.collections, space rag.spaces,
    traits jsonb)
RETURNS TABLE (topic text, current text, advised text, reason text, evidence text, command text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    page CONSTANT text := 'measured: docs/internals/vector-search.md';
    slow CONSTANT integer := 20000;  -- chunks: 14 ms of comparisons at 384 dimensions
    _kind text := space.index_options ->> 'kind';
    _chunks bigint := (traits ->> 'chunks')::bigint;
    _compared integer := rag._exact_search_limit(  -- up to so many chunks without an index anyway
        rag._choose_ef_search(space.ef_search, NULL, _chunks, 10));
    _hnsw numeric := _chunks * (2 * space.dimensions + 430.0);  -- 117 MB: 100,000 of 384
    _bytes numeric := coalesce((traits ->> 'index_bytes')::numeric, CASE _kind
        WHEN 'hnsw' THEN _hnsw WHEN 'binary' THEN _chunks * (space.dimensions / 8 + 320.0)
        ELSE 0 END);
    _buffers numeric := (traits ->> 'shared_buffers')::numeric;
    _size text := format('%s chunks of %s dimensions', _chunks, space.dimensions);
    _wanted text;
BEGIN
    _wanted := CASE WHEN _chunks <= _compared THEN _kind
        WHEN _kind = 'exact' AND _chunks > slow THEN
            CASE WHEN space.dimensions > 4000 THEN 'binary' ELSE 'hnsw' END
        WHEN _kind = 'binary' AND space.dimensions <= 4000 AND _hnsw < 0.5 * _buffers THEN 'hnsw'
        ELSE _kind END;
    RETURN QUERY SELECT 'index', _kind, _wanted,
        CASE WHEN _chunks <= _compared THEN _size || ': every vector is compared, without an index'
            WHEN _kind = 'exact' THEN _size || ', each compared by every search'
            ELSE format('%s; the index has %s', _size, pg_size_pretty(_bytes::bigint)) END,
        CASE WHEN _chunks <= _compared THEN page
            WHEN _kind = 'exact' THEN page || ', 100,000 chunks of 384 dimensions: recall@10 1.000 '
                'in 72 ms exact, 0.973 in 3.5 ms by hnsw with ef_search 100'
            ELSE page || ', 100,000 chunks of 384 dimensions, ef_search 100: recall@10 0.973 by '
                'hnsw (117 MB), 0.897 by binary (35 MB)' END,
        CASE WHEN _wanted <> _kind THEN format('SELECT rag.create_space(%L, %L, %s, %L, %L)',
            collection.name, space.model, space.dimensions, space.distance,
            jsonb_build_object('kind', _wanted)) END;
    IF _kind <> 'exact' AND _chunks > _compared AND NOT rag._has_index(space) THEN
        RETURN QUERY SELECT 'missing index', 'none', _kind, _size || ', each compared by every '
            'search', page, format('SELECT rag.build_vector_index(%L)', collection.name);
    END IF;
    RETURN QUERY SELECT 'memory', pg_size_pretty(_buffers::bigint),
        CASE WHEN _bytes > 0.75 * _buffers THEN pg_size_pretty((2 * _bytes)::bigint)
             ELSE pg_size_pretty(_buffers::bigint) END,
        format('the index takes %s of shared_buffers', rag._percent(_bytes, _buffers)),
        'not measured here: an index that is not in memory is read from disk at random',
        CASE WHEN _bytes > 0.75 * _buffers THEN format('ALTER SYSTEM SET shared_buffers = ''%sMB''',
            ceil(2 * _bytes / 1048576)) END;
    IF (traits ->> 'dead_vectors')::numeric > 0.2 AND _chunks > _compared THEN
        RETURN QUERY SELECT 'vacuum', format('%s of vectors are dead',
                rag._percent((traits ->> 'dead_vectors')::numeric, 1)), 'a vacuum',
            format('%s of documents were put again; searches walk past what is dead',
                rag._percent((traits ->> 'put_again')::numeric, 1)),
            'not measured here: docs/internals/vector-search.md says what a walk does',
            format('VACUUM rag.embeddings_%s', space.space_id);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._advise_index IS
$$rag.advise: the kind of vector index, its memory, and dead rows in it.$$;


CREATE OR REPLACE FUNCTION rag._advise_fields(collection rag.collections, space rag.spaces,
    traits jsonb)
RETURNS TABLE (topic text, current text, advised text, reason text, evidence text, command text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    worthwhile CONSTANT integer := 10000;
    _declared text := coalesce((SELECT string_agg(f.field, ', ' ORDER BY f.field COLLATE "C")
        FROM rag.fields AS f WHERE f.collection_id = collection.collection_id), 'none');
    _fields text[];
    _types text[];
BEGIN
    IF (traits ->> 'chunks')::bigint >= worthwhile THEN
        SELECT array_agg(u.field ORDER BY u.field COLLATE "C"),
               array_agg(u.type ORDER BY u.field COLLATE "C")
        INTO _fields, _types FROM rag._undeclared_fields(collection.collection_id) AS u;
    END IF;
    IF _fields IS NULL THEN
        RETURN QUERY SELECT 'fields', _declared, _declared, CASE
            WHEN (traits ->> 'chunks')::bigint < worthwhile THEN format('fewer than %s chunks are '
                'read quickly by any filter', worthwhile)
            ELSE 'no further field of numbers or dates' END,
            'not measured here: docs/guides/filters.md says which filters an index serves',
            NULL::text;
    ELSE
        RETURN QUERY SELECT 'fields', _declared, left(array_to_string(_fields, ', '), 200),
            format('%s numbers or dates without an index: a filter by a range reads every chunk; '
                'declare those that filters ask for', cardinality(_fields)),
            'not measured here: docs/guides/filters.md says which filters an index serves',
            format('rag-pg call index_field field=%s type=%s collection=%s',
                rag._shell_word(_fields[1]), _types[1], rag._shell_word(collection.name));
    END IF;
END
$$;

COMMENT ON FUNCTION rag._advise_fields IS
$$rag.advise: metadata fields that rag.index_field would serve. Which filters are used is known to
the application alone.$$;


CREATE OR REPLACE FUNCTION rag.advise(collection text)
RETURNS TABLE (topic text, current text, advised text, reason text, evidence text, command text,
    figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    rules CONSTANT text[] := '{language,model,chunking,weights,index,fields}';
    _collection rag.collections := rag._require_collection(advise.collection);
    _space rag.spaces := rag._active_space(_collection.collection_id);
    _traits jsonb;
    _rule text;
    _best text;
    _measured text;
BEGIN
    _traits := rag._text_traits(_collection.collection_id)
        || rag._chunk_traits(_collection.collection_id);
    IF (_traits ->> 'documents')::integer = 0 THEN
        RETURN QUERY SELECT 'documents', '0', '1 or more', 'there is no document that this role '
            'may read: nothing to go by', 'not measured here', format('rag-pg add PATH '
            '--collection %s', rag._shell_word(_collection.name)), _traits;
        RETURN;
    END IF;
    RETURN QUERY SELECT 'statistics', format('%s chunks', _traits ->> 'chunks'), NULL::text,
        format('%s documents and %s vectors were looked at; half of the documents have %s bytes or '
            'less, half of the chunks %s words or less', _traits ->> 'documents',
            _traits ->> 'vectors', _traits ->> 'bytes_median', coalesce(_traits ->> 'words_median',
            'no')), NULL::text, NULL::text, _traits;
    FOREACH _rule IN ARRAY rules LOOP
        BEGIN
            _best := NULL;
            _measured := NULL;
            IF _rule IN ('model', 'chunking', 'weights') THEN
                SELECT m.best, m.evidence INTO _best, _measured
                FROM rag._measured_settings(advise.collection, _rule) AS m;
            END IF;
            RETURN QUERY EXECUTE format('SELECT a.topic, a.current, CASE WHEN $5 IS NULL THEN '
                'a.advised ELSE coalesce($4, a.current) END, a.reason, coalesce($5, a.evidence), '
                'CASE WHEN $5 IS NULL THEN a.command ELSE rag._change_command($1, $6, $4) END, '
                'NULL::jsonb '
                'FROM rag.%I($1, $2, $3) AS a', '_advise_' || _rule)
            USING _collection, _space, _traits, _best, _measured, _rule;
        EXCEPTION WHEN OTHERS THEN
            RETURN QUERY SELECT _rule, NULL::text, NULL::text, 'the rule failed: ' || SQLERRM,
                NULL::text, NULL::text, NULL::jsonb;
        END;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.advise IS
$$Which settings suit a collection, from statistics of it alone: a row for each topic. It changes
nothing, and sees what the caller may see.

topic: statistics first, then language, model, chunking, weights, index, memory, fields, and missing
index or vacuum where it is due. advised: equal to current where nothing is better. reason: the
figures that speak for it. evidence: where that was measured, or that it was not; runs of a question
set on these documents go before any rule, and are named. command: what would change it, in a shell
or in SQL; NULL where there is nothing to change. figures: of the first row: all statistics, of 300
documents and 300 chunks. A rule that fails is a row, and the others go on.
Circle: application, Maintenance and versions.
SELECT * FROM rag.advise('docs') WHERE command IS NOT NULL$$;
