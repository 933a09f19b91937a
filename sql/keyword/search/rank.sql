-- The keyword search's core, rag._rank_keyword (its steps stand at the top of scan.sql).

CREATE OR REPLACE FUNCTION rag._least_bound(score double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN score * (1 - 1e-5::double precision) - 1e-7::double precision;

COMMENT ON FUNCTION rag._least_bound IS
$$The least upper bound of a chunk that may have this score: contributions are rounded in a score
(rag._bm25_grid) and not in a bound, so equal ones could otherwise seem less.$$;


CREATE OR REPLACE FUNCTION rag._refine_topk(
    query rag.keyword_query, best rag.scored_chunk[], slots integer[], bounds double precision[],
    result_limit integer, filter_sql text, first_step integer
)
RETURNS rag.scored_chunk[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _best rag.scored_chunk[] := best;
    _order integer[];
    _next integer := 1;
    _step integer := first_step;
BEGIN
    SELECT array_agg(o.position ORDER BY o.bound DESC)
    INTO _order
    FROM unnest(bounds) WITH ORDINALITY AS o (bound, position);

    WHILE _next <= coalesce(cardinality(_order), 0)
          AND (_best[result_limit] IS NULL
              OR bounds[_order[_next]] >= rag._least_bound((_best[result_limit]).score))
    LOOP
        _best := rag._merge_topk(
            query, _best,
            rag._chunks_of_slots(query.collection_id, ARRAY(
                SELECT slots[o.position]
                    FROM unnest(_order[_next:_next + _step - 1]) AS o (position)
            ), filter_sql),
            result_limit
        );
        _next := _next + _step;
        _step := least(_next / 2 + 20, 2000);
    END LOOP;
    RETURN _best;
END
$$;

COMMENT ON FUNCTION rag._refine_topk IS
$$Scores candidates, highest upper bound first, until no bound reaches the result_limit-th best
score (rag._least_bound: those that equal it are scored, ties are decided by chunk_id).

first_step: how many at first; later batches are half as many as all before.$$;


CREATE OR REPLACE FUNCTION rag._sample_cut(
    scores {vector}.vector, highest double precision, wanted integer
)
RETURNS double precision
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _low double precision := 0;
    _high double precision := highest;
    _middle double precision;
    _passed bigint;
BEGIN
    FOR _round IN 1..10 LOOP
        _middle := (_low + _high) / 2;
        _passed := bit_count({vector}.binary_quantize(
            scores OPERATOR({vector}.-) rag._constant_block(_middle::real)));
        IF _passed < wanted THEN
            _high := _middle;
        ELSE
            _low := _middle;
            EXIT WHEN _passed < 2 * wanted;
        END IF;
    END LOOP;
    RETURN _low;
END
$$;

COMMENT ON FUNCTION rag._sample_cut IS
$$A bound (in thousandths) that at least `wanted` chunks of one segment reach, not many more, by
bisection from `highest`: where a first scan may cut. scores: of the segment
(rag._block_scores).$$;


CREATE OR REPLACE FUNCTION rag._rank_by_scan(
    query rag.keyword_query, required text[], filter_sql text, share double precision,
    result_limit integer
)
RETURNS rag.scored_chunk[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _best rag.scored_chunk[] := '{}';
    _bar double precision;              -- score of the result_limit-th best so far
    _reach double precision;            -- what a bound needs for a score that equals the bar
    -- candidates among which result_limit should pass the filter
    _wanted integer := least((result_limit + 10) / share, 4000)::integer;
    -- chunks that are scored first, to make a bar; too few would pass a filter of small share
    _seeds integer := CASE WHEN share < 0.3 THEN 0 ELSE result_limit + 20 END;
    _lists record;
    _docs record;
    _scan record;
    _kept integer;
    _strong rag.keyword_query;
    _first_scores {vector}.vector;      -- of the first segment that is scanned
    _slack double precision;            -- what lexemes left out of the scan may add to a score
    _cut double precision;              -- least sum of weights that a scan returns
    _below double precision := 'infinity';  -- the cut of the scan before
    _needed double precision;           -- the cut below which nothing reaches the bar
    _found record;
BEGIN
    -- 2 fresh chunks are scored one by one
    IF query.fresh_chunks IS NOT NULL THEN
        _best := rag._merge_topk(
            query, _best,
            rag._filter_chunks(query.collection_id, query.fresh_chunks, filter_sql), result_limit
        );
    END IF;

    -- 3 postings of rare lexemes are added up
    _lists := rag._keyword_lists(query, required);
    -- 4 the best of those are scored: their worst score is the bar
    IF coalesce(cardinality(_lists.dense_segments), 0) <= 16 THEN
        -- Their weights tell the best chunks nearly exactly: a bar would hardly spare one of them.
        _seeds := 0;
    END IF;
    IF _lists.rare_slots IS NOT NULL AND _seeds > 0 THEN
        _best := rag._merge_topk(query, _best, rag._chunks_of_slots(
            query.collection_id, _lists.rare_slots[1:_seeds], filter_sql
        ), result_limit);
    END IF;
    _bar := (_best[result_limit]).score;
    _reach := rag._least_bound(_bar);

    -- 5 blocks in which frequent lexemes could lift a chunk above the bar: which they are
    SELECT array_agg(s.segment ORDER BY s.bound DESC) AS segments,
           array_agg(s.rare_vector ORDER BY s.bound DESC) AS rare_vectors,
           1000 * max(s.highest) AS highest
    INTO _scan
    FROM (
        SELECT d.segment, d.bound, d.bound + coalesce(max(r.score), 0) AS highest,
               ('{' || string_agg(
                   (r.slot % rag._keyword_block_size() + 1) || ':' || ceil(1000 * r.score)::bigint,
                   ','
               ) || '}/' || rag._keyword_block_size())::{vector}.sparsevec AS rare_vector
        FROM unnest(_lists.dense_segments, _lists.dense_bounds, _lists.dense_gated)
            AS d (segment, bound, gated)
        LEFT JOIN unnest(_lists.rare_slots, _lists.rare_scores, _lists.rare_segments)
            AS r (slot, score, segment) ON r.segment = d.segment
        WHERE NOT d.gated
        GROUP BY d.segment, d.bound
        HAVING _bar IS NULL
            OR d.bound >= _reach
            OR count(*) FILTER (WHERE r.score + d.bound >= _reach) > 20
    ) AS s;

    -- 6 of the others, what may reach the bar is scored, highest bound first
    IF _bar IS NOT NULL OR NOT _lists.all_dense THEN     -- else all of them are scanned
        SELECT array_agg(r.slot) AS slots, array_agg(r.score + coalesce(d.bound, 0)) AS bounds
        INTO _docs
        FROM unnest(
            _lists.rare_slots[_seeds + 1:], _lists.rare_scores[_seeds + 1:],
            _lists.rare_segments[_seeds + 1:]
        ) AS r (slot, score, segment)
        LEFT JOIN unnest(_lists.dense_segments, _lists.dense_bounds) AS d (segment, bound)
            ON d.segment = r.segment
        WHERE r.segment <> ALL (coalesce(_scan.segments, '{}'))
          AND r.score + coalesce(d.bound, 0) >= coalesce(_reach, 0);
        _best := rag._refine_topk(query, _best, _docs.slots, _docs.bounds, result_limit, filter_sql,
            _wanted);
        _bar := (_best[result_limit]).score;
    END IF;

    -- 5 those blocks are scanned; 6 what reached the bar there is scored
    IF _scan.segments IS NOT NULL THEN
        _first_scores := rag._block_scores(query, _scan.segments[1], _scan.rare_vectors[1]);
        _cut := rag._sample_cut(_first_scores, _scan.highest,
            greatest(result_limit + 10, 2 * _wanted / cardinality(_scan.segments)));
        -- The commonest lexemes weigh least and are dearest to add up: what makes up 12 % of a good
        -- score at most is only allowed for.
        _strong := query;
        _slack := _lists.slack;
        _kept := cardinality(query.factors);
        WHILE _kept > 1 AND _slack - _lists.slack + query.factors[_kept]
            <= 0.12 * greatest(_bar, _cut / 1000)
        LOOP
            _slack := _slack + query.factors[_kept];
            _kept := _kept - 1;
        END LOOP;
        _strong.lexemes := query.lexemes[1:_kept];
        _strong.factors := query.factors[1:_kept];
        _cut := _cut - 1000 * (_slack - _lists.slack);
        IF cardinality(_strong.lexemes) < cardinality(query.lexemes) THEN
            _first_scores := NULL;
        END IF;
        LOOP
            -- Nothing below _needed can reach the bar, so a scan from there on is the last one.
            _needed := greatest(1e-6, (_bar * (1 - 1e-5) - _slack) / _lists.drift * 1000);
            _cut := greatest(_cut, _needed);
            _found := rag._scan_blocks(
                _strong, required, _scan.segments, _scan.rare_vectors, _cut, _below,
                _first_scores
            );
            _best := rag._refine_topk(query, _best, _found.slots, ARRAY(
                SELECT x.bound / 1000 * _lists.drift * (1 + 1e-5) + _slack
                FROM unnest(_found.bounds) WITH ORDINALITY AS x (bound, position)
                ORDER BY x.position
            ), result_limit, filter_sql, _wanted);
            _bar := (_best[result_limit]).score;
            EXIT WHEN _cut = _needed
                OR _bar > _cut / 1000 * _lists.drift * (1 + 1e-5) + _slack;
            _below := _cut;
            _cut := CASE WHEN _cut > 200 THEN _cut / 2 ELSE 0 END;
        END LOOP;
    END IF;

    RETURN _best;
END
$$;

COMMENT ON FUNCTION rag._rank_by_scan IS
$$The result_limit best chunks of a collection, best first: steps 2 to 6 of scan.sql.

required: lexemes that a chunk must contain. filter_sql: as in rag._rank_keyword, with the condition
of match. share: of the chunks that pass it, roughly.$$;


CREATE OR REPLACE FUNCTION rag._rank_prepared(
    query rag.keyword_query, query_text text, result_limit integer, filter_sql text, match text,
    filter_indexed boolean
)
RETURNS SETOF rag.scored_chunk
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _condition text := filter_sql;
    _matching tsquery;
    _words record;
    _required text[] := '{}';
    _share double precision := 1;
    _listed rag.scored_chunk[];
BEGIN
    IF coalesce(match, '') NOT IN ('any', 'all', 'phrase', 'web') THEN
        RAISE EXCEPTION 'unknown match %', quote_nullable(match)
        USING ERRCODE = 'RG004', HINT = 'use any, all, phrase or web';
    END IF;
    IF query.lexemes IS NULL OR result_limit < 1 THEN
        RETURN;
    END IF;

    IF match <> 'any' THEN
        _matching := rag._match_query(query.collection_id, query_text, match);
        IF match <> 'phrase' AND num_nonnulls(VARIADIC query.mistyped) > 0 THEN
            FOR _words IN  -- what is searched for instead of mistyped words
                SELECT w.unknown_lexeme::tsquery AS unknown,
                    string_agg(f.term_query::text, ' | ')::tsquery AS instead
                FROM unnest(query.mistyped, query.term_queries) AS f (mistyped, term_query)
                CROSS JOIN rag._query_languages(query.collection_id) AS k
                CROSS JOIN LATERAL (
                    SELECT DISTINCT rag._quoted_lexeme(u.lexeme) AS unknown_lexeme
                    FROM unnest(tsvector_to_array(
                        rag._words(k.language, f.mistyped, k.lexer))) AS u (lexeme)
                ) AS w
                GROUP BY w.unknown_lexeme
            LOOP
                _matching := ts_rewrite(_matching, _words.unknown, _words.instead);
            END LOOP;
        END IF;
        _required := rag._required_words(query.lexemes, _matching);
        IF numnode(_matching) = 0 OR _required IS NULL THEN
            RETURN;
        END IF;
        _condition := concat_ws(' AND ', '(' || filter_sql || ')',
                                format('c.lexemes @@ %L::tsquery', _matching));
    END IF;

    -- 1 a filter that few chunks pass: those are listed and scored, and that is all
    IF filter_sql IS NOT NULL THEN
        _share := rag._filter_share(query.collection_id, filter_sql);
        IF rag._prefer_listing(query, _share, result_limit, filter_indexed) THEN
            _listed := rag._rank_by_listing(
                query, filter_sql, _matching, result_limit, filter_indexed,
                least(4 * _share * query.chunk_count + 1000, 2e9)::integer
            );
        END IF;
    END IF;
    IF _listed IS NULL THEN
        _listed := rag._rank_by_scan(query, _required, _condition, _share, result_limit);
    END IF;
    RETURN QUERY SELECT b.chunk_id, b.score FROM unnest(_listed) AS b;
END
$$;

COMMENT ON FUNCTION rag._rank_prepared IS
$$rag._rank_keyword of a query that rag._prepare_keyword made of query_text.$$;


CREATE OR REPLACE FUNCTION rag._rank_keyword(
    collection_id integer, query_text text, result_limit integer DEFAULT 10,
    filter_sql text DEFAULT NULL, match text DEFAULT 'any', filter_indexed boolean DEFAULT true,
    typo_tolerance boolean DEFAULT true
)
RETURNS SETOF rag.scored_chunk
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT r.chunk_id, r.score
    FROM rag._rank_prepared(
        rag._prepare_keyword(_rank_keyword.collection_id, query_text, typo_tolerance), query_text,
            result_limit,
        filter_sql, match, filter_indexed
    ) AS r;
END
$$;

COMMENT ON FUNCTION rag._rank_keyword IS
$$The result_limit chunks with the highest BM25 scores, best first; ties by chunk_id. Exact.

filter_sql: NULL or a trusted SQL condition on alias c of rag.chunks; filter_indexed: an index
serves it, so that its matches are cheap to list (rag._prefer_listing). match: any, all, phrase or
web.$$;
