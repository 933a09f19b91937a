-- What a word may be written as: after a typing error, and on the other side of the Atlantic.

CREATE OR REPLACE FUNCTION rag._accent_variants(word text)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN ARRAY(
        WITH accents AS MATERIALIZED (  -- letters that are typed for one another
            SELECT string_to_table(g.letters, NULL) AS letter, g.letters AS others
            FROM (VALUES ('aàáâãäåāăąæ'), ('cçćč'), ('dďđð'), ('eèéêëēėęě'), ('gğģ'), ('iìíîïīįı'),
                         ('lłľļ'), ('nñńňņ'), ('oòóôõöőøœ'), ('rř'), ('sśšşșß'), ('tťţț'),
                         ('uùúûüūůűų'), ('yýÿ'), ('zźżž'), ('αά'), ('εέ'), ('ηή'), ('ιίϊΐ'), ('οό'),
                         ('σς'), ('υύϋΰ'), ('ωώ'), ('гґ'), ('еёє'), ('иіїй'), ('уў')) AS g (letters)
        )
        SELECT overlay(word PLACING o.letter FROM c.position::integer FOR 1)
        FROM string_to_table(word, NULL) WITH ORDINALITY AS c (letter, position)
        JOIN accents AS a ON a.letter = c.letter
        CROSS JOIN LATERAL string_to_table(a.others, NULL) WITH ORDINALITY AS o (letter, number)
        WHERE o.letter <> c.letter
        ORDER BY c.position, o.number
    );
END
$$;

COMMENT ON FUNCTION rag._accent_variants IS
$$A word in lower case with another accent, one more or one less on one of its letters.$$;


CREATE OR REPLACE FUNCTION rag._edit_variants(word text)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN ARRAY(
        WITH letters AS MATERIALIZED (
            SELECT chr(c.code) AS letter, c.code
            FROM (VALUES (97, 122), (945, 969), (1072, 1103), (1377, 1414), (1488, 1514),
                         (1569, 1594), (1601, 1610), (4304, 4336)) AS s (first, last)
            CROSS JOIN LATERAL generate_series(s.first, s.last) AS c (code)
            WHERE word ~ ('[' || chr(s.first) || '-' || chr(s.last) || ']')
        ), cuts AS MATERIALIZED (
            SELECT p.position, left(word, p.position) AS head, substr(word, p.position + 1) AS tail
            FROM generate_series(0, length(word)) AS p (position)
        )
        SELECT v.variant
        FROM (
            SELECT 1 AS kind, c.position, 0 AS code,
                   c.head || substr(c.tail, 2, 1) || left(c.tail, 1) || substr(c.tail, 3) AS variant
            FROM cuts AS c
            WHERE length(c.tail) > 1
            UNION ALL
            SELECT 2, c.position, l.code, c.head || l.letter || c.tail
            FROM cuts AS c CROSS JOIN letters AS l
            UNION ALL
            SELECT 3, c.position, l.code, c.head || l.letter || substr(c.tail, 2)
            FROM cuts AS c CROSS JOIN letters AS l
            WHERE c.tail <> ''
            UNION ALL
            SELECT 4, a.position::integer, 0, a.variant
            FROM unnest(rag._accent_variants(word)) WITH ORDINALITY AS a (variant, position)
            UNION ALL
            SELECT 5, c.position, 0, c.head || substr(c.tail, 2)
            FROM cuts AS c
            WHERE c.tail <> ''
        ) AS v
        ORDER BY v.kind, v.position, v.code
    );
END
$$;

COMMENT ON FUNCTION rag._edit_variants IS
$$What a word in lower case may have been before one typing error: two neighbouring letters
exchanged, a letter lost, typed for another, typed without its accent, or added; in this order, some
more than once.

Letters are those of the word's scripts: a to z, Greek, Cyrillic, Armenian, Hebrew, Arabic,
Georgian. A letter with an accent is found in the place of the same letter with another or none.$$;


CREATE OR REPLACE FUNCTION rag._respelled(words text[])
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT v.variant
        FROM unnest(words) AS w (word)
        CROSS JOIN (VALUES
            -- colour, behaviour; not scour, for before it stands a vowel
            ('([aeiou].*)our((?:s|ed|ing|ings|er|ers|able|ably|ful|fully|less|ite|ites|al|ally|hood'
                '|hoods|ist|ists|ly|some|ism|y)?)$', E'\\1or\\2'),
            ('([aeiou].*)or((?:s|ed|ing|ings|er|ers|able|ably|ful|fully|less|ite|ites|al|ally|hood'
                '|hoods|ist|ists|ly|some|ism|y)?)$', E'\\1our\\2'),
            -- centre, fibre; timbre is no timber
            ('^(?!timb)(.+[bt])re(s?)$', E'\\1er\\2'),
            ('^(?!timb)(.+[bt])er(s?)$', E'\\1re\\2'),
            ('(.+[bt])red$', E'\\1ered'), ('(.+[bt])ered$', E'\\1red'),
            -- organise, analyse
            ('(...)is(e|es|ed|ing|er|ers|able|ation|ations|ational)$', E'\\1iz\\2'),
            ('(...)iz(e|es|ed|ing|er|ers|able|ation|ations|ational)$', E'\\1is\\2'),
            ('(..)ys(e|es|ed|ing|er|ers)$', E'\\1yz\\2'),
            ('(..)yz(e|es|ed|ing|er|ers)$', E'\\1ys\\2'),
            -- catalogue
            ('(...)ogue(s?)$', E'\\1og\\2'), ('(...)og(s?)$', E'\\1ogue\\2'),
            ('(...)ogu(ed|ing|er|ers)$', E'\\1og\\2'), ('(...)og(ed|ing|er|ers)$', E'\\1ogu\\2'),
            -- anaemia, oestrogen; not aero-, Michael, daemon, canoes
            ('^(?!daemon)(.*)ae(?!r?o|l$)([^aeiou].)', E'\\1e\\2'),
            ('^(?!demon)(.*[^aeiou])e([^aeiou].)', E'\\1ae\\2'),
            ('^(?!demon)([^e]*[^aeiou])e([^aeiou].)', E'\\1ae\\2'), ('^e([^aeiou].)', E'ae\\1'),
            ('(^|f|rrh|om|am|man)oe(.)', E'\\1e\\2'), ('(^|f|rrh|om|am|man)e(.)', E'\\1oe\\2'),
            -- travelling, jeweller; not filled
            ('([aeiou][^aeiou]+[aeiou]|[du]e)ll(ed|ing|ings|er|ers|or|ors|ous|ously)$', E'\\1l\\2'),
            ('([aeiou][^aeiou]+[aeiou]|[du]e)l(ed|ing|ings|er|ers|or|ors|ous|ously)$', E'\\1ll\\2'),
            ('(fulfi|enro|disti|insti|insta|appa|enthra)l(s|ment|ments|)$', E'\\1ll\\2'),
            ('(fulfi|enro|disti|insti|insta|appa|enthra)ll(s|ment|ments|)$', E'\\1l\\2'),
            ('^(ski|wi)lful', E'\\1llful'), ('^(ski|wi)llful', E'\\1lful'),
            ('^woollen', 'woolen'), ('^woolen', 'woollen'),
            -- licence, practise, judgement
            ('(def|off|lic|pret)enc(e|es|ed|ee|ees|ing|eless)$', E'\\1ens\\2'),
            ('(def|off|lic|pret)ens(e|es|ed|ee|ees|ing|eless)$', E'\\1enc\\2'),
            ('practis(e|es|ed|ing|er|ers)$', E'practic\\1'),
            ('practic(e|es|ed|ing|er|ers)$', E'practis\\1'),
            ('dgement', 'dgment'), ('dgment', 'dgement'), ('ageing$', 'aging'),
            ('aging$', 'ageing'),
            -- single roots
            ('sulph', 'sulf'), ('sulf', 'sulph'), ('^(s?)mou(ld|lt)', E'\\1mo\\2'),
            ('^(s?)mo(ld|lt)', E'\\1mou\\2'), ('scept', 'skept'), ('skept', 'scept'),
            ('plough', 'plow'), ('plow', 'plough'), ('grey', 'gray'), ('gray', 'grey'),
            ('^tyre', 'tire'), ('^tire', 'tyre'), ('^cheque', 'check'), ('^check', 'cheque'),
            ('^kerb', 'curb'), ('^curb', 'kerb'), ('aluminium', 'aluminum'),
            ('aluminum', 'aluminium'), ('artefact', 'artifact'), ('artifact', 'artefact'),
            ('program(s?)$', E'programme\\1'), ('programme(s?)$', E'program\\1'),
            ('^cosy', 'cozy'), ('^cozy', 'cosy'), ('^moustach', 'mustach'),
            ('^mustach', 'moustach'), ('^pyjama', 'pajama'), ('^pajama', 'pyjama'),
            ('^jewellery', 'jewelry'), ('^jewelry', 'jewellery'), ('draught', 'draft'),
            ('draft', 'draught'), ('manoeuvre', 'maneuver'), ('maneuver', 'manoeuvre'),
            ('manoeuvr', 'maneuver'), ('maneuver(ed|ing|able)$', E'manoeuvr\\1'),
            ('yoghurt', 'yogurt'), ('yogurt', 'yoghurt')
        ) AS r (pattern, replacement)
        CROSS JOIN LATERAL regexp_replace(w.word, r.pattern, r.replacement) AS v (variant)
        WHERE v.variant <> ALL (words)
    );
END
$$;

COMMENT ON FUNCTION rag._respelled IS
$$English words in lower case as the other side of the Atlantic may write them: one difference of
British and American spelling each, in either direction.

What is made is a word or none (motour): whoever asks looks whether it is one.$$;


CREATE OR REPLACE FUNCTION rag._same_word(word text, languages text[])
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _respelled text[] := CASE WHEN 'english' = ANY (languages)
        THEN rag._respelled(ARRAY[word]) ELSE '{}' END;
BEGIN
    RETURN _respelled || rag._respelled(_respelled) || ARRAY(
        SELECT a.variant
        FROM unnest(rag._accent_variants(word)) AS a (variant)
        WHERE languages && '{catalan,french,italian,portuguese,spanish}'
            AND word ~ '^[a-z]' AND substr(a.variant, 2) = substr(word, 2)
    );
END
$$;

COMMENT ON FUNCTION rag._same_word IS
$$What a word in lower case is written as where it is no other word: in British or American
spelling, or with the accent of its first letter, which Romance languages leave out on a capital
(Etat).$$;
