-- From a query text to its lexemes with live statistics, and the exact scorer.

CREATE OR REPLACE FUNCTION rag._keyword_term_limit()
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 256;

COMMENT ON FUNCTION rag._keyword_term_limit IS
$$A query of more distinct lexemes (a pasted page) is ranked by its 256 weightiest.$$;


CREATE OR REPLACE FUNCTION rag._prepare_keyword(
    collection_id integer, query_text text, typo_tolerance boolean DEFAULT true
)
RETURNS rag.keyword_query
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _q rag.keyword_query;
    _words text[];
    _qtf integer[];
    _form_of integer[];
    _term_queries tsquery[];
    _fresh_counts bigint[];
    _counts bigint[];
    _weights double precision[];
    _unknown text[];     -- words of which no chunk has a form
    _fuzzy record;
    _mistyped text[];
    _spellings text[];
    _chunks bigint;
    _lengths bigint;
    _fresh integer;
    _fresh_lengths bigint;
    _changes integer[];
    _changed_lexemes tsvector[];
BEGIN
    SELECT array_agg(t.word), array_agg(t.qtf), array_agg(t.form_of),
           array_agg(rag._term_query(t.word))
    INTO _words, _qtf, _form_of, _term_queries
    FROM rag._query_terms(_prepare_keyword.collection_id, query_text) AS t;

    SELECT c.k1, c.b, coalesce(t.chunk_count, 0), coalesce(t.length_sum, 0)
    INTO _q.k1, _q.b, _chunks, _lengths
    FROM rag.collections AS c
    LEFT JOIN rag.keyword_totals AS t ON t.collection_id = c.collection_id
    WHERE c.collection_id = _prepare_keyword.collection_id;

    SELECT sum(f.change), sum(f.change * f.lexeme_count),
           array_agg(f.chunk_id) FILTER (WHERE f.change = 1),
           array_agg(f.change), array_agg(f.lexemes)
    INTO _fresh, _fresh_lengths, _q.fresh_chunks, _changes, _changed_lexemes
    FROM rag._read_changes(_prepare_keyword.collection_id) AS f;
    IF _changes IS NOT NULL THEN
        _fresh_counts := ARRAY(
            SELECT sum(CASE WHEN f.lexemes @@ w.term_query THEN f.change END)
            FROM unnest(_changes, _changed_lexemes) AS f (change, lexemes)
            CROSS JOIN unnest(_term_queries) WITH ORDINALITY AS w (term_query, position)
            GROUP BY w.position
            ORDER BY w.position);
    END IF;

    _q.collection_id := _prepare_keyword.collection_id;
    _q.chunk_count := _chunks + coalesce(_fresh, 0);
    _q.average_length := rag._mean_length(_q.chunk_count, _lengths + coalesce(_fresh_lengths, 0));

    SELECT array_agg(n.chunks + coalesce(w.fresh, 0) ORDER BY w.position),
           array_agg(1.0::double precision)
    INTO _counts, _weights
    FROM unnest(_words, _fresh_counts) WITH ORDINALITY AS w (word, fresh, position)
    JOIN rag._chunk_counts(_prepare_keyword.collection_id, _words) AS n ON n.word = w.word;

    -- A word that only others may have is none to be told of.
    IF typo_tolerance IS NOT false AND 0 = ANY (_counts)
        AND rag._scope(_prepare_keyword.collection_id) IS NULL THEN
        _unknown := ARRAY(
            SELECT w.word
            FROM (
                SELECT u.word, sum(u.chunks) OVER (PARTITION BY u.form_of) AS chunks_of_word
                FROM unnest(_words, _form_of, _counts) AS u (word, form_of, chunks)
            ) AS w
            WHERE w.chunks_of_word = 0);
        SELECT array_agg(f.lexeme) AS lexemes, array_agg(f.qtf) AS qtf,
               array_agg(f.form_of) AS form_of, array_agg(f.chunks) AS counts,
               array_agg(rag._term_query(f.lexeme)) AS term_queries,
               array_agg(f.mistyped) AS mistyped, array_agg(f.spelling) AS spellings,
               array_agg(f.weight) AS weights
        INTO _fuzzy
        FROM (
            SELECT DISTINCT ON (t.lexeme) t.*, u.qtf, u.form_of
            FROM rag._fuzzy_terms(_prepare_keyword.collection_id, query_text,
                _unknown) WITH ORDINALITY
                AS t (lexeme, chunks, spelling, mistyped, unknown_lexeme, weight, rank)
            JOIN unnest(_words, _qtf, _form_of) AS u (word, qtf, form_of)
                ON u.word = t.unknown_lexeme
            WHERE t.lexeme <> ALL (_words)
            ORDER BY t.lexeme, t.rank
        ) AS f;
        IF _fuzzy.lexemes IS NOT NULL THEN
            _mistyped := array_fill(NULL::text, ARRAY[cardinality(_words)]) || _fuzzy.mistyped;
            _spellings := array_fill(NULL::text, ARRAY[cardinality(_words)]) || _fuzzy.spellings;
            _weights := _weights || _fuzzy.weights;
            _words := _words || _fuzzy.lexemes;
            _term_queries := _term_queries || _fuzzy.term_queries;
            _qtf := _qtf || _fuzzy.qtf;
            _form_of := _form_of || _fuzzy.form_of;
            _counts := _counts || _fuzzy.counts;
        END IF;
    END IF;

    SELECT array_agg(s.word), array_agg(s.term_query), array_agg(s.qtf), array_agg(s.chunks),
           array_agg(s.factor), array_agg(s.weight), array_agg(s.mistyped), array_agg(s.spelling)
    INTO _q.lexemes, _q.term_queries, _q.query_frequencies, _q.chunk_counts, _q.factors,
        _q.weights, _q.mistyped, _q.spellings
    FROM (
        SELECT d.*, d.weight * d.qtf * i.idf AS factor
        FROM (
            SELECT w.word, w.term_query, w.qtf, w.chunks, w.weight, w.mistyped, w.spelling,
                   sum(w.chunks) OVER (PARTITION BY w.form_of)::bigint AS chunks_of_word
            FROM unnest(_words, _term_queries, _qtf, _form_of, _counts, _weights, _mistyped,
                _spellings) AS w (word, term_query, qtf, form_of, chunks, weight, mistyped,
                spelling)
        ) AS d
        CROSS JOIN LATERAL rag._bm25_idf(
            _q.chunk_count, least(d.chunks_of_word, _q.chunk_count)) AS i (idf)
        WHERE d.chunks > 0
        ORDER BY factor DESC, d.word
        LIMIT rag._keyword_term_limit()
    ) AS s;
    RETURN _q;
END
$$;

COMMENT ON FUNCTION rag._prepare_keyword IS
$$Lexes a query and looks up the live statistics of its lexemes; those that no chunk contains are
left out.

Document frequencies are those of the merged chunks (rag._chunk_counts) corrected by the fresh
changes. What several languages make of a word has one idf, by the sum of its document frequencies:
a form that only one odd chunk has is not rarer than the word.
typo_tolerance: in the place of a word that no chunk has stand those that rag._fuzzy_terms finds, as
forms of one word, at their weights; NULL is true.$$;


CREATE OR REPLACE FUNCTION rag._frequency_of_rank(rank real)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(255, round(1 / (1.6449340668482264::double precision
    - rank * 1.64493406685::double precision) - 0.5::double precision));

COMMENT ON FUNCTION rag._frequency_of_rank IS
$$How often a lexeme occurs, from ts_rank('{1,1,1,1}', …) of it alone; 0 where it does not.

That of a lexeme that occurs n times is (1 + 1/4 + … + 1/n²) / (π²/6), which lacks about
1 / (n + 1/2) of π²/6. Exact up to the 255 positions that are counted, of up to 256 that a tsvector
keeps, and several times faster than unnesting it.$$;


CREATE OR REPLACE FUNCTION rag._score_chunks(query rag.keyword_query, chunk_keys bigint[])
RETURNS SETOF rag.scored_chunk
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _chunks record := rag._read_lexemes(query.collection_id, chunk_keys);
    -- plain variables: fields cost more per row
    _mean double precision := query.average_length;
    _k1 double precision := query.k1;
    _b double precision := query.b;
BEGIN
    IF cardinality(query.lexemes) <= 25 THEN
        RETURN QUERY
        SELECT s.chunk_id, s.score
        FROM (
            SELECT c.chunk_id, (
                SELECT sum(rag._bm25_grid(f.factor * rag._bm25_saturation(
                    f.frequency, c.lexeme_count, _mean, _k1, _b
                )))
                FROM (
                    SELECT t.factor, rag._frequency_of_rank(
                        ts_rank('{1,1,1,1}', c.lexemes, t.term_query)) AS frequency
                    FROM unnest(query.term_queries, query.factors) AS t (term_query, factor)
                    OFFSET 0
                ) AS f
                WHERE f.frequency > 0
            ) AS score
            FROM unnest(_chunks.found_keys, _chunks.lexemes, _chunks.lengths) AS c
                (chunk_id, lexemes, lexeme_count)
            OFFSET 0
        ) AS s
        WHERE s.score IS NOT NULL;
    ELSE
        RETURN QUERY
        SELECT c.chunk_id, sum(rag._bm25_grid(t.factor * rag._bm25_saturation(
            least(cardinality(u.positions), 255), c.lexeme_count, _mean, _k1, _b
        )))
        FROM unnest(_chunks.found_keys, _chunks.lexemes, _chunks.lengths) AS c
            (chunk_id, lexemes, lexeme_count)
        CROSS JOIN LATERAL unnest(c.lexemes) AS u
        JOIN unnest(query.lexemes, query.factors) AS t (lexeme, factor)
            ON t.lexeme = u.lexeme COLLATE "C"
        GROUP BY c.chunk_id;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._score_chunks IS
$$Exact BM25 scores of the given chunks, from their lexemes; chunks that match nothing or are gone
are left out.

Up to 25 lexemes are looked up one by one in the tsvector, more by unnesting it.$$;
