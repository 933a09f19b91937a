-- Checks of texts: their sizes, copies of each other, what cannot be seen in them.
--
-- Each takes names and texts in parallel arrays, so that it serves collections and other tables.

CREATE OR REPLACE FUNCTION rag._least_tokens(content text)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN regexp_count(content, E'\\S+') + regexp_count(content, rag._unspaced_script()) / 2;
END
$$;

COMMENT ON FUNCTION rag._least_tokens IS
$$How many tokens a text has at least, for any model: a word is one or more, and so are two
characters of a script without spaces.$$;


CREATE OR REPLACE FUNCTION rag._some_names(names text[])
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT string_agg(left(n.name, 80), ', ' ORDER BY n.position)
        FROM unnest(names[:3]) WITH ORDINALITY AS n (name, position))
    || CASE WHEN cardinality(names) > 3 THEN ', ...' ELSE '' END;

COMMENT ON FUNCTION rag._some_names IS
$$The first three names, for a line that people read.$$;


CREATE OR REPLACE FUNCTION rag._audit_sizes(names text[], texts text[], max_tokens integer)
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    tiny CONSTANT integer := 4;
    _all integer := cardinality(texts);
    _short text[];
    _long text[];
    _histogram jsonb;
    _median integer;
BEGIN
    WITH sizes AS MATERIALIZED (
        SELECT t.position, t.name, rag._least_tokens(t.content) AS tokens
        FROM unnest(names, texts) WITH ORDINALITY AS t (name, content, position)
    ), buckets AS (
        SELECT least(greatest(8, 2 ^ floor(log(2, greatest(s.tokens, 1)))), 2048)::integer AS least,
               count(*) AS chunks
        FROM sizes AS s GROUP BY 1
    )
    SELECT array_agg(s.name ORDER BY s.position) FILTER (WHERE s.tokens < tiny),
           array_agg(s.name ORDER BY s.tokens DESC, s.position)
               FILTER (WHERE s.tokens > max_tokens),
           percentile_disc(0.5) WITHIN GROUP (ORDER BY s.tokens),
           (SELECT jsonb_object_agg(CASE b.least WHEN 8 THEN '0' ELSE b.least::text END, b.chunks)
            FROM buckets AS b)
    INTO _short, _long, _median, _histogram
    FROM sizes AS s;
    RETURN QUERY SELECT 'chunk sizes',
        CASE WHEN cardinality(_short) > 0.05 * _all AND cardinality(_short) > 2 THEN 'warn'
             ELSE 'ok' END,
        format('median %s words; %s of %s are shorter than %s words%s', _median,
            coalesce(cardinality(_short), 0), _all, tiny, coalesce(': ' || rag._some_names(_short),
                '')),
        'such chunks say too little to be found: cut by headings and paragraphs '
            '(rag-pg rechunk with method auto), or leave these lines out of the source',
        jsonb_build_object('median', _median, 'too_short', coalesce(cardinality(_short), 0),
            'of', _all, 'histogram', _histogram);
    RETURN QUERY SELECT 'cut by the model',
        CASE WHEN _long IS NULL THEN 'ok' ELSE 'fail' END,
        CASE WHEN _long IS NULL THEN format('none is certain to exceed %s tokens', max_tokens)
             ELSE format('%s of %s exceed %s tokens, whatever the tokenizer; the model does not '
                 'read the rest: %s', cardinality(_long), _all, max_tokens,
                 rag._some_names(_long)) END,
        format('cut anew: rag-pg rechunk with ''{"max_tokens": %s}'', or take a model that '
            'reads more', max_tokens),
        jsonb_build_object('too_long', coalesce(cardinality(_long), 0), 'of', _all, 'max_tokens',
            max_tokens);
END
$$;

COMMENT ON FUNCTION rag._audit_sizes IS
$$rag.audit: how long chunks are, too short ones, and those that a model cuts off.

Words are counted, which no tokenizer makes fewer tokens of: what is told is certain, and a chunk
just above the limit may be missed. histogram: how many have that many words or more, up to the
next.$$;


CREATE OR REPLACE FUNCTION rag._shingle_minima(content text)
RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT array_agg(m.least ORDER BY m.class)
    FROM (
        SELECT h.hash & 7 AS class, min(h.hash) AS least
        FROM (SELECT regexp_split_to_array(lower(content), '[^[:alnum:]]+') AS words) AS w,
            LATERAL generate_series(1, cardinality(w.words) - 3) AS i (first),
            LATERAL (SELECT hashtextextended(array_to_string(w.words[i.first:i.first + 3], ' '), 0)
                AS hash) AS h
        GROUP BY 1
    ) AS m
    HAVING count(*) = 8);

COMMENT ON FUNCTION rag._shingle_minima IS
$$Eight numbers of a text, as many of which two texts share as the shingles of four words that they
have in common; NULL for texts of a few words. Source: Broder, On the resemblance and containment of
documents, 1997, with one hash function in eight classes.$$;


CREATE OR REPLACE FUNCTION rag._audit_copies(names text[], texts text[])
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    classes_alike CONSTANT integer := 6;  -- of 8: about three quarters of the shingles
    largest CONSTANT integer := 2000;
    _all integer := cardinality(texts);
    _exact text[];
    _near text[];
BEGIN
    WITH hashed AS (
        SELECT t.position, t.name, min(t.position) OVER (
            PARTITION BY md5(btrim(regexp_replace(t.content, E'\\s+', ' ', 'g')))) AS first
        FROM unnest(names, texts) WITH ORDINALITY AS t (name, content, position)
    )
    SELECT array_agg(format('%s = %s', left(h.name, 80), left(names[h.first], 80))
        ORDER BY h.position) INTO _exact
    FROM hashed AS h WHERE h.position > h.first;
    WITH once AS (
        SELECT DISTINCT ON (md5(btrim(regexp_replace(t.content, E'\\s+', ' ', 'g'))))
            t.position, t.content
        FROM unnest(texts) WITH ORDINALITY AS t (content, position)
        ORDER BY md5(btrim(regexp_replace(t.content, E'\\s+', ' ', 'g'))), t.position
    ), spread AS MATERIALIZED (
        SELECT o.position, rag._shingle_minima(o.content) AS minima FROM once AS o
        ORDER BY hashint8(o.position), o.position LIMIT largest
    ), shared AS (
        SELECT s.position, min(s.position) OVER (PARTITION BY m.class, m.least) AS first
        FROM spread AS s, unnest(s.minima) WITH ORDINALITY AS m (least, class)
    ), pairs AS (
        SELECT h.position, h.first, count(*) AS classes FROM shared AS h
        WHERE h.first < h.position GROUP BY 1, 2 HAVING count(*) >= classes_alike
    )
    SELECT array_agg(format('%s ~ %s', left(names[p.position], 80), left(names[p.first], 80))
        ORDER BY p.position) INTO _near
    FROM pairs AS p;
    RETURN QUERY
    SELECT k.name, CASE WHEN cardinality(k.found) > k.share * _all THEN 'warn' ELSE 'ok' END,
           format('%s of %s%s', coalesce(cardinality(k.found), 0), least(_all, k.looked_at),
               coalesce(': ' || rag._some_names(k.found), '')),
           k.remedy,
           jsonb_build_object('copies', coalesce(cardinality(k.found), 0), 'of',
               least(_all, k.looked_at))
    FROM (VALUES
        ('exact copies', _exact, 0.02, _all,
         'add each text once (rag-pg delete URI); searches leave copies out '
            '(duplicates => false), but their places among the candidates are lost'),
        ('near copies', _near, 0.05, largest,
         'keep one version of a text, or search with diversity (rag-pg search --diversity 0.3)'))
        AS k (name, found, share, looked_at, remedy);
END
$$;

COMMENT ON FUNCTION rag._audit_copies IS
$$rag.audit: texts that are there more than once, but for white space, and texts that nearly are.
Near copies are looked for among 2,000 of the different texts.$$;


CREATE OR REPLACE FUNCTION rag._hidden_text(content text)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _plain text;
BEGIN
    IF content !~ E'[^\\u0001-\\u00AC\\u00AE-\\u05FF]|<' THEN
        RETURN '{}';
    END IF;
    -- Flags of England, Scotland and Wales are tags behind a black flag.
    _plain := regexp_replace(content, E'\\U0001F3F4[\\U000E0020-\\U000E007F]+', '', 'g');
    RETURN array_remove(ARRAY[
        CASE WHEN _plain ~ E'[\\U000E0000-\\U000E007F]' THEN 'Unicode tags' END,
        CASE WHEN _plain ~ E'[\\u200B\\u2060-\\u2064]|.\\uFEFF|[A-Za-z][\\u200C\\u200D][A-Za-z]'
             THEN 'zero-width characters' END,
        CASE WHEN _plain ~ E'[\\u202D\\u202E]'
                 OR _plain ~ E'[\\u202A-\\u202C\\u2066-\\u2069]' AND _plain !~ E'[\\u0590-\\u08FF]'
             THEN 'marks that turn the direction of text' END,
        CASE WHEN _plain ~ '<'
                 AND regexp_replace(_plain, '```.*?```|`[^`]*`', '', 'g') COLLATE "C" ~*
                 (E'<[a-z][^<>]*\\sstyle\\s*=\\s*["'']([^<>"'']*[^<>"''-])?(display\\s*:\\s*none'
                  '|visibility\\s*:\\s*hidden|(font-size|opacity)\\s*:\\s*0(px|pt|em|%)?\\s*[;"'']'
                  '|color\\s*:\\s*(white|#fff(fff)?)\\M)')
             THEN 'HTML that is not shown' END], NULL);
END
$$;

COMMENT ON FUNCTION rag._hidden_text IS
$$What a text holds that its readers do not see, a model does: kinds, by name. Joiners within words
of Persian or Indic scripts and in emoji, and marks of direction beside letters of scripts that are
written from the right, are usual, and so is HTML in code.$$;


CREATE OR REPLACE FUNCTION rag._audit_hidden_text(names text[], texts text[])
RETURNS TABLE (check_name text, status text, detail text, remedy text, figures jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    WITH kinds AS MATERIALIZED (
        SELECT t.position, t.name, k.kind
        FROM unnest(names, texts) WITH ORDINALITY AS t (name, content, position),
            unnest(rag._hidden_text(t.content)) AS k (kind)
    ), counts AS (
        SELECT k.kind, count(*) AS texts, array_agg(k.name ORDER BY k.position) AS names
        FROM kinds AS k GROUP BY k.kind
    )
    SELECT 'invisible text', CASE WHEN count(*) = 0 THEN 'ok' ELSE 'warn' END,
           coalesce(string_agg(format('%s in %s: %s', c.kind, c.texts, rag._some_names(c.names)),
               '; ' ORDER BY c.kind), 'none'),
           'read these texts: it may be instructions for models, or words that no search finds; '
               'take it out of the source and add it again',
           coalesce(jsonb_object_agg(c.kind, c.texts) FILTER (WHERE c.kind IS NOT NULL), '{}')
    FROM counts AS c;
END
$$;

COMMENT ON FUNCTION rag._audit_hidden_text IS
$$rag.audit: characters of no width, marks that turn the direction of text, Unicode tags, and HTML
that is white or not shown.$$;
