-- Enrichment rules: regular expressions that give documents and chunks metadata, checked and run.

CREATE OR REPLACE FUNCTION rag._check_rule(rule jsonb, rule_number bigint)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    known CONSTANT text[] := '{field,pattern,in,scope,value,type,all}';
    _name text := 'rule ' || rule_number;
    _wrong text;
    _pattern text;
BEGIN
    IF jsonb_typeof(rule) <> 'object' THEN
        RAISE EXCEPTION '% is a JSON %', _name, jsonb_typeof(rule) USING ERRCODE = 'RG001',
        HINT = 'a rule is an object, e.g. {"field": "phase", "pattern": "^Phase: (.+)$"}';
    END IF;
    _name := concat(_name, ' (field ', coalesce(rule -> 'field', 'null'), ')');
    SELECT min(k.key) INTO _wrong FROM jsonb_object_keys(rule) AS k (key)
    WHERE k.key <> ALL (known);
    IF _wrong IS NOT NULL THEN
        RAISE EXCEPTION '% has the unknown key %', _name, quote_literal(_wrong)
        USING ERRCODE = 'RG001', HINT = 'known: ' || array_to_string(known, ', ');
    END IF;
    PERFORM rag._check_enriched_field(rule -> 'field', _name);
    IF jsonb_typeof(rule -> 'pattern') IS DISTINCT FROM 'string'
        OR length(rule ->> 'pattern') NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION '% has the pattern %', _name, left(coalesce((rule -> 'pattern')::text,
            'null'), 100)
        USING ERRCODE = 'RG001', HINT = 'pattern is a regular expression of 1 to 1000 characters';
    END IF;
    SELECT format('%s has %s %s; take %s', _name, o.key, rule -> o.key,
                  array_to_string(o.known, ', ')) INTO _wrong
    FROM (VALUES ('in', ARRAY['content', 'heading', 'title', 'uri']),
                 ('scope', ARRAY['document', 'chunk']),
                 ('type', ARRAY['text', 'number', 'boolean', 'date'])) AS o (key, known)
    WHERE rule ? o.key AND (jsonb_typeof(rule -> o.key) <> 'string'
        OR rule ->> o.key <> ALL (o.known))
    LIMIT 1;
    _wrong := coalesce(_wrong, CASE
        WHEN rule ? 'all' AND jsonb_typeof(rule -> 'all') <> 'boolean'
            THEN format('%s has all %s; take true or false', _name, rule -> 'all')
        WHEN rule ? 'value' AND (rule ? 'type' OR rule ? 'all')
            THEN format('%s has a value, and so takes neither type nor all', _name)
        WHEN pg_column_size(rule -> 'value') > 2000
            THEN format('%s has a value of %s bytes; 2000 are the most', _name,
                pg_column_size(rule -> 'value'))
        WHEN rule ->> 'scope' = 'chunk' AND rule ->> 'in' IN ('title', 'uri')
            THEN format('%s gives each chunk what its %s says, which is the same for all of them: '
                'take the scope document', _name, rule ->> 'in') END);
    IF _wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', _wrong USING ERRCODE = 'RG001',
        HINT = 'rag.set_enrichment lists what a rule is made of';
    END IF;
    _pattern := replace(rule ->> 'pattern', E'\\\\', '');
    IF _pattern ~ E'\\\\b' THEN
        RAISE EXCEPTION E'% has \\b in its pattern, which is a backspace to PostgreSQL', _name
        USING ERRCODE = 'RG001',
            HINT = E'the edge of a word is \\y, its beginning \\m, its end \\M';
    END IF;
    IF _pattern ~ E'\\\\[1-9]' THEN
        RAISE EXCEPTION '% has a back reference in its pattern, which can take for ever', _name
        USING ERRCODE = 'RG001', HINT = E'write the pattern without \\1';
    END IF;
    BEGIN
        -- the call that the rule makes: with groups a pattern is more complex than without
        PERFORM rag._match_rule(rule, '');
    EXCEPTION WHEN invalid_regular_expression OR internal_error OR program_limit_exceeded THEN
        RAISE EXCEPTION '% has a pattern that cannot be read: %', _name, SQLERRM
        USING ERRCODE = 'RG001',
            HINT = 'patterns are those of PostgreSQL: '
                'https://www.postgresql.org/docs/current/functions-matching.html';
    END;
END
$$;

COMMENT ON FUNCTION rag._check_rule IS
$$Error RG001 naming what is wrong with a rule of rag.set_enrichment.$$;


CREATE OR REPLACE FUNCTION rag._check_enriched_field(field jsonb, of_what text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF jsonb_typeof(field) IS DISTINCT FROM 'string'
        OR (field #>> '{}') !~ '^[^$.[:space:]][^.[:space:]]{0,62}$' THEN
        RAISE EXCEPTION '% names no metadata field', of_what USING ERRCODE = 'RG001',
        HINT = 'a field has 1 to 63 characters without dots and spaces and no $ at its beginning';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_enriched_field IS
$$Error RG001 unless that is the name of a metadata field that a rule or a model may fill.$$;


CREATE OR REPLACE FUNCTION rag._check_rules(rules jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF jsonb_typeof(rules) <> 'array' OR jsonb_array_length(rules) > 100 THEN
        RAISE EXCEPTION 'rules are %', CASE jsonb_typeof(rules) WHEN 'array'
            THEN jsonb_array_length(rules)::text ELSE 'a JSON ' || jsonb_typeof(rules) END
        USING ERRCODE = 'RG001', HINT = 'use a JSON array of at most 100 rules';
    END IF;
    PERFORM rag._check_rule(r.value, r.ordinality)
    FROM jsonb_array_elements(rules) WITH ORDINALITY AS r;
END
$$;

COMMENT ON FUNCTION rag._check_rules IS
$$Error RG001 naming the first rule that is wrong, and what is wrong with it.$$;


CREATE OR REPLACE FUNCTION rag._typed_value(matched text, wanted text)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _text text := btrim(left(matched, 1000), E' \t\r\n\f\x0B');
BEGIN
    RETURN CASE
        WHEN _text = '' THEN NULL
        WHEN wanted = 'text' THEN to_jsonb(_text)
        WHEN wanted = 'number' AND _text ~ '^[-+]?[0-9]{1,30}([.][0-9]{1,30})?$'
            THEN to_jsonb(_text::numeric)
        WHEN wanted = 'boolean' AND lower(_text) IN ('true', 'yes', 'on', '1') THEN 'true'
        WHEN wanted = 'boolean' AND lower(_text) IN ('false', 'no', 'off', '0') THEN 'false'
        WHEN wanted = 'date' AND _text ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'
            AND pg_input_is_valid(_text, 'date') THEN to_jsonb(_text) END;
END
$$;

COMMENT ON FUNCTION rag._typed_value IS
$$What a rule found, as JSON of its type: text (1000 characters), number (1234.5), boolean (true,
yes, on, 1 …), date (YYYY-MM-DD); NULL where it is none.$$;


CREATE OR REPLACE FUNCTION rag._match_rule(rule jsonb, source text)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _pattern text := rule ->> 'pattern';
    _type text := coalesce(rule ->> 'type', 'text');
BEGIN
    IF rule ? 'value' THEN
        RETURN CASE WHEN regexp_like(source, _pattern, 'n') THEN rule -> 'value' END;
    END IF;
    IF (rule -> 'all')::boolean THEN
        RETURN (
            SELECT jsonb_agg(d.value ORDER BY d.position)
            FROM (
                SELECT v.value, min(m.position) AS position
                FROM regexp_matches(source, _pattern, 'gn') WITH ORDINALITY AS m (groups, position),
                LATERAL (SELECT g.found FROM unnest(m.groups) AS g (found)
                         WHERE g.found IS NOT NULL LIMIT 1) AS f,
                LATERAL (SELECT rag._typed_value(f.found, _type) AS value) AS v
                WHERE v.value IS NOT NULL
                GROUP BY v.value
                ORDER BY position
                LIMIT 100
            ) AS d);
    END IF;
    RETURN (
        SELECT rag._typed_value(g.found, _type)
        FROM unnest(regexp_match(source, _pattern, 'n')) AS g (found)
        WHERE g.found IS NOT NULL
        LIMIT 1);
END
$$;

COMMENT ON FUNCTION rag._match_rule IS
$$What a rule makes of a text: its value, or the first group of its first match (the whole match
where it has no group), or of all matches the distinct ones, at most 100. NULL where nothing fits.

^ and $ are the ends of a line.$$;


CREATE OR REPLACE FUNCTION rag._match_rules(rules jsonb, wanted_scope text, sources jsonb)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _rule jsonb;
    _value jsonb;
    _fields jsonb := '{}';
BEGIN
    FOR _rule IN SELECT r.value FROM jsonb_array_elements(rules) AS r LOOP
        CONTINUE WHEN coalesce(_rule ->> 'scope', 'document') <> wanted_scope
            OR _fields ? (_rule ->> 'field');
        _value := rag._match_rule(_rule, sources ->> coalesce(_rule ->> 'in', 'content'));
        IF _value IS NOT NULL THEN
            _fields := _fields || jsonb_build_object(_rule ->> 'field', _value);
        END IF;
    END LOOP;
    RETURN _fields;
END
$$;

COMMENT ON FUNCTION rag._match_rules IS
$$The fields that the rules of a scope (document, chunk) find; of several for one field the first
that fits. sources: {"content", "heading", "title", "uri"}.$$;


CREATE OR REPLACE FUNCTION rag._document_sources(document rag.documents)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security TO off
AS $$
BEGIN
    RETURN jsonb_build_object('content', document.content, 'title', document.title, 'uri',
        document.uri, 'heading', (
            SELECT coalesce(string_agg(h.heading, E'\n' ORDER BY h.position), '')
            FROM (SELECT c.heading, min(c.ordinal) AS position FROM rag.chunks AS c
                  WHERE c.collection_id = document.collection_id
                      AND c.document_id = document.document_id
                  GROUP BY c.heading) AS h));
END
$$;

COMMENT ON FUNCTION rag._document_sources IS
$$What rules of scope document look at. heading: the heading paths of its chunks, a line each.$$;
