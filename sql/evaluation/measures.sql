-- Measures of one question: formulas over grades and ranks, and over an answer and the right ones.

CREATE OR REPLACE FUNCTION rag._dcg(grades double precision[], ranks integer[], depth integer)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(sum(j.grade * ln(2.0::double precision)
            / ln(j.rank + 1.0::double precision) ORDER BY j.rank, j.grade), 0)
        FROM unnest(grades, ranks) AS j (grade, rank) WHERE j.rank <= depth AND j.grade > 0);

COMMENT ON FUNCTION rag._dcg IS
$$Discounted cumulative gain: the sum of grade / log2(rank + 1) over what was found within depth.

grades, ranks: in parallel, one of each judgement; rank NULL: not found. A grade below 0 gains
nothing.
Source: Järvelin, Kekäläinen, TOIS 2002, with the gain of trec_eval.$$;


CREATE OR REPLACE FUNCTION rag._ndcg(grades double precision[], ranks integer[], depth integer)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT CASE WHEN s.share > 1 THEN 1 ELSE s.share END
    FROM (SELECT rag._dcg(grades, ranks, depth) / nullif(rag._dcg(
              ARRAY(SELECT g.grade FROM unnest(grades) AS g (grade) ORDER BY g.grade DESC),
              ARRAY(SELECT g.n::integer FROM generate_series(1, cardinality(grades)) AS g (n)),
              depth), 0) AS share) AS s);

COMMENT ON FUNCTION rag._ndcg IS
$$DCG as a share of the best that these grades allow; NULL when nothing is relevant.

At most 1: a chunk that holds two judged passages gains both at one rank.$$;


CREATE OR REPLACE FUNCTION rag._relevant_count(grades double precision[])
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT count(*) FROM unnest(grades) AS g (grade) WHERE g.grade > 0);

COMMENT ON FUNCTION rag._relevant_count IS
$$How many grades are above 0.$$;


CREATE OR REPLACE FUNCTION rag._recall(grades double precision[], ranks integer[], depth integer)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT count(*) FILTER (WHERE j.rank <= depth)::double precision / nullif(count(*), 0)
        FROM unnest(grades, ranks) AS j (grade, rank) WHERE j.grade > 0);

COMMENT ON FUNCTION rag._recall IS
$$The share of what is relevant that was found within depth; NULL when nothing is relevant.$$;


CREATE OR REPLACE FUNCTION rag._precision(ranked_grades double precision[], depth integer)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN rag._relevant_count(ranked_grades[1:depth])::double precision / depth;

COMMENT ON FUNCTION rag._precision IS
$$The share of the first ranks that is relevant; ranks that are missing count as not relevant.

ranked_grades: the grade of each rank, 0 where nothing relevant stands.$$;


CREATE OR REPLACE FUNCTION rag._answer_words(answer text)
RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(
    SELECT w.word
    FROM regexp_split_to_table(
        -- what is written without spaces is compared letter by letter
        regexp_replace(
            regexp_replace(rag._lower(answer),
                E'[]!"#$%&''()*+,./:;<=>?@\\\\^_`{|}~[\u00a1-\u00bf\u2010-\u205e\u3001-\u303f'
                    '\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65-]',
                '', 'g'),
            E'([\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])', E' \\1 ', 'g'),
        E'\\s+') AS w (word)
    WHERE w.word NOT IN ('', 'a', 'an', 'the'));

COMMENT ON FUNCTION rag._answer_words IS
$$The words of an answer without punctuation, case and English articles.

Source: the evaluation script of SQuAD (Rajpurkar et al., EMNLP 2016); letters of scripts without
spaces are words, as in MLQA (Lewis et al., ACL 2020).$$;


CREATE OR REPLACE FUNCTION rag._best_token_f1(answer text, answers text[])
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT max(CASE WHEN w.given = 0 OR w.wanted = 0 THEN (w.given = w.wanted)::integer
                    ELSE 2.0::double precision * w.shared / (w.given + w.wanted) END)
    FROM unnest(answers) AS c (correct), LATERAL (
        SELECT cardinality(rag._answer_words(answer)) AS given,
               cardinality(rag._answer_words(c.correct)) AS wanted,
               (SELECT coalesce(sum(least(a.n, b.n)), 0)
                FROM (SELECT x.word, count(*) AS n
                      FROM unnest(rag._answer_words(answer)) AS x (word) GROUP BY x.word) AS a
                JOIN (SELECT x.word, count(*) AS n
                      FROM unnest(rag._answer_words(c.correct)) AS x (word) GROUP BY x.word) AS b
                    ON b.word = a.word) AS shared
    ) AS w);

COMMENT ON FUNCTION rag._best_token_f1 IS
$$The best token F1 of an answer with one of the right answers, 0 to 1; NULL without one: the
harmonic mean of the precision and recall of its words, which are compared without punctuation, case
and English articles. Source: the evaluation script of SQuAD.$$;


CREATE OR REPLACE FUNCTION rag._contains_answer(answer text, answers text[])
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT bool_or(strpos(' ' || array_to_string(rag._answer_words(answer), ' ') || ' ',
                              ' ' || array_to_string(rag._answer_words(c.correct), ' ') || ' ') > 0)
        FROM unnest(answers) AS c (correct));

COMMENT ON FUNCTION rag._contains_answer IS
$$Whether an answer holds one of the right answers, word by word as in rag._best_token_f1; NULL
without one.$$;
