-- What the operators of the filter language compile to: SQL conditions on alias c of rag.chunks.
--
-- What compiles returns (condition, indexed, undeclared), see rag._compile_filter. A condition is
-- two-valued where it is negated (IS NOT TRUE) and may otherwise be NULL for false: there is no
-- other negation, so NULL never becomes true.

CREATE OR REPLACE FUNCTION rag._join_conditions(conditions text[], word text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE cardinality(conditions)
       WHEN 0 THEN CASE word WHEN 'AND' THEN 'true' ELSE 'false' END
       WHEN 1 THEN conditions[1]
       ELSE '(' || array_to_string(conditions, ' ' || word || ' ') || ')' END;

COMMENT ON FUNCTION rag._join_conditions IS
$$SQL conditions joined by AND or OR. None at all: true for AND, false for OR.$$;


CREATE OR REPLACE FUNCTION rag._equals_any(value_sql text, operands jsonb[])
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format(
    '(%1$s = ANY (%2$L::jsonb[]) OR CASE WHEN jsonb_typeof(%1$s) = ''array'''
    ' THEN EXISTS (SELECT FROM jsonb_array_elements(%1$s) AS e (value)'
    ' WHERE e.value = ANY (%2$L::jsonb[])) END)', '(' || value_sql || ')', operands);

COMMENT ON FUNCTION rag._equals_any IS
$$The condition that a value, or an element of the array it is, equals one of the operands. Each
element is read once: the path $[*] would look it up from the first.$$;


CREATE OR REPLACE FUNCTION rag._compile_equal(steps text[], operands jsonb, OUT condition text,
    OUT indexed boolean)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- GIN compares each match with every value: many are hashed instead
    by_index CONSTANT integer := 64;
    _value text := rag._field_value('c.metadata', steps);
    _path text := '@';
    _objects text := '';
    _scalars jsonb[];
    _parts text[] := '{}';
    _compounds jsonb[];
BEGIN
    indexed := true;
    FOR _position IN 1..cardinality(steps) LOOP
        IF _position > 1 THEN  -- jsonpath would look into the elements of an array as well
            _objects := _objects || format('%s.type() == "object" && ', _path);
        END IF;
        _path := _path || '.' || to_jsonb(steps[_position]);
    END LOOP;
    SELECT array_agg(o.value) FILTER (WHERE NOT k.compound),
        array_agg(o.value) FILTER (WHERE k.compound)
    INTO _scalars, _compounds
    FROM jsonb_array_elements(operands) AS o,
    LATERAL (SELECT jsonb_typeof(o.value) IN ('object', 'array') AS compound) AS k;
    IF cardinality(_scalars) <= by_index THEN
        _parts := ARRAY[format('c.metadata @? %L::jsonpath', format('$ ? (%s(%s))', _objects, (
            SELECT string_agg(format('%s == %s', _path, s.value), ' || ')
                FROM unnest(_scalars) AS s (value))))];
    ELSIF _scalars IS NOT NULL THEN
        indexed := false;
        _parts := ARRAY[rag._equals_any(_value, _scalars)];
    END IF;
    IF cardinality(_compounds) <= by_index THEN  -- containment is for GIN
        _parts := _parts || (
            SELECT format('((%s) AND %s)',
                string_agg(DISTINCT format('c.metadata @> %L::jsonb', a.around), ' OR '),
                rag._equals_any(_value, _compounds))
            FROM unnest(_compounds) AS o (operand),
                unnest(rag._wrap_operand(steps, o.operand)) AS a (around));
        indexed := indexed
            AND (SELECT bool_and(rag._has_scalar(o.operand))
                FROM unnest(_compounds) AS o (operand));
    ELSIF _compounds IS NOT NULL THEN
        indexed := false;
        _parts := _parts || rag._equals_any(_value, _compounds);
    END IF;
    condition := rag._join_conditions(_parts, 'OR');
END
$$;

COMMENT ON FUNCTION rag._compile_equal IS
$$The condition that a field, or an element of the array it holds, equals one of the operands (a
JSON array).$$;


CREATE OR REPLACE FUNCTION rag._wrap_operand(steps text[], operand jsonb)
RETURNS jsonb[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _value jsonb := operand;
    _element jsonb := jsonb_build_array(operand);
BEGIN
    FOR _position IN REVERSE cardinality(steps)..1 LOOP
        _value := jsonb_build_object(steps[_position], _value);
        _element := jsonb_build_object(steps[_position], _element);
    END LOOP;
    RETURN ARRAY[_value, _element];
END
$$;

COMMENT ON FUNCTION rag._wrap_operand IS
$$Metadata that holds the operand at a field, and metadata that holds it there as the element of an
array.$$;


CREATE OR REPLACE FUNCTION rag._has_scalar(operand jsonb)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_path_exists(operand, 'strict $.** ? (@.type() != "object" && @.type() != "array")');

COMMENT ON FUNCTION rag._has_scalar IS
$$Whether there is any string, number, boolean or null in a value: without one, GIN has nothing to
look up.$$;


CREATE OR REPLACE FUNCTION rag._compile_range(
    collection_id integer, field text, steps text[], operator text, operand jsonb,
    OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _sign text := CASE operator WHEN '$gt' THEN '>' WHEN '$gte' THEN '>=' WHEN '$lt' THEN '<'
        WHEN '$lte' THEN '<=' END;
    _declared text;
    _type text := CASE jsonb_typeof(operand)
                  WHEN 'number' THEN 'numeric' WHEN 'boolean' THEN 'boolean'
                  WHEN 'string' THEN CASE WHEN rag._as_timestamptz(operand)
                      IS NOT NULL THEN 'timestamptz' ELSE 'text' END END;
BEGIN
    IF _type IS NULL OR rag._as_numeric(operand) IS NULL AND _type = 'numeric' THEN
        RAISE EXCEPTION '% of field % takes a number, a date, a text or a boolean, not %', operator,
            quote_literal(left(field, 100)), left(operand::text, 100)
        USING ERRCODE = 'RG004',
            HINT = 'for example {"year": {"$gte": 2024}} or {"day": {"$lt": "2024-02-29"}}';
    END IF;
    IF _compile_range.collection_id IS NOT NULL THEN
        SELECT f.type INTO _declared FROM rag.fields AS f
        WHERE f.collection_id = _compile_range.collection_id AND f.field = rag._field_name(steps);
    END IF;
    IF _declared <> _type AND (_declared, _type) <> ('text', 'timestamptz') THEN
        RAISE EXCEPTION 'field % is declared %, % cannot compare it with %',
            quote_literal(left(field, 100)), _declared,
            operator, left(operand::text, 100)
        USING ERRCODE = 'RG004',
            HINT = 'pass a value of that type; dates are written like "2024-02-29T12:30:00Z"';
    END IF;
    indexed := coalesce(_declared = _type, false);
    undeclared := CASE WHEN _declared IS NULL THEN ARRAY[rag._field_name(steps)] ELSE '{}' END;
    IF _type = 'text' AND length(operand #>> '{}') >= 500 THEN  -- longer than what as_text keeps
        indexed := false;
        condition := format('%s %s %L', rag._whole_text(steps), _sign, operand #>> '{}');
    ELSIF _type = 'timestamptz' THEN
        condition := format('%s %s rag._as_timestamptz(%L::jsonb)',
                            rag._field_expression('c.metadata', steps, _type), _sign, operand);
    ELSE
        condition := format('%s %s %L::%s', rag._field_expression('c.metadata', steps, _type),
            _sign,
                            operand #>> '{}', _type);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._compile_range IS
$$The condition that a field's one value is greater or less than the operand, by the operand's
type.$$;


CREATE OR REPLACE FUNCTION rag._whole_text(steps text[])
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format('CASE WHEN jsonb_typeof(%s) = ''string'' THEN %1$s #>> ''{}'' END COLLATE "C"',
              '(' || rag._field_value('c.metadata', steps) || ')');

COMMENT ON FUNCTION rag._whole_text IS
$$The SQL expression of a field's text in its full length.$$;


CREATE OR REPLACE FUNCTION rag._fold_case(value text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(value) = length(value) THEN lower(value COLLATE "C")
    ELSE normalize(translate(lower(replace(normalize(value, NFD), E'I\u0307', 'İ') COLLATE "C"),
        'µÆÐØÞĐĦĲĿŁŊŒŦſƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǄǅǇǈǊǋǤǱǲǶǷȜȠȢȤȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶͿΑΒΓΔΕΖΗ'
        'ΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςϏϐϑϕϖϘϚϜϞϠϢϤϦϨϪϬϮϰϱϴϵϷϹϺϽϾϿЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤ'
        'ѦѨѪѬѮѰѲѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹ'
        'ԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖẞỺỼỾ',
        'μæðøþđħĳŀłŋœŧsɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǆǆǉǉǌǌǥǳǳƕƿȝƞȣȥⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷϳαβγδεζη'
        'θικλμνξοπρστυφχψωσϗβθφπϙϛϝϟϡϣϥϧϩϫϭϯκρθεϸϲϻͻͼͽђєѕіјљњћџабвгдежзиклмнопрстуфхцчшщъыьэюяѡѣѥ'
        'ѧѩѫѭѯѱѳѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթ'
        'ժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆßỻỽỿ'),
        NFC) END;

COMMENT ON FUNCTION rag._fold_case IS
$$A text in one case, the same in any locale: letters of Latin, Greek, Cyrillic and Armenian script
by Unicode's simple case folding, with or without marks, composed. The dotted capital İ has no small
letter of its own and stays.$$;


CREATE OR REPLACE FUNCTION rag._check_pattern(field text, operator text, operand jsonb)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF jsonb_typeof(operand) <> 'string' OR operand #>> '{}' ~ E'(^|[^\\\\])(\\\\\\\\)*\\\\$' THEN
        RAISE EXCEPTION '% of field % takes a pattern, not %', operator,
            quote_literal(left(field, 100)), left(operand::text, 100)
        USING ERRCODE = 'RG004',
            HINT = 'use text with % and _, e.g. "Guide%"; a backslash takes what follows as it is';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_pattern IS
$$Error RG004 for what is no SQL LIKE pattern.$$;


CREATE OR REPLACE FUNCTION rag._like_sql(expression text, field text, operator text, operand jsonb)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._check_pattern(field, operator, operand);
    RETURN CASE operator
        WHEN '$like' THEN format('%s LIKE %L', expression, operand #>> '{}')
        ELSE format('rag._fold_case(%s) LIKE %L', expression, rag._fold_case(operand #>> '{}'))
        END;
END
$$;

COMMENT ON FUNCTION rag._like_sql IS
$$The condition that a text matches the pattern of $like, or of $ilike, which looks at no case.$$;


CREATE OR REPLACE FUNCTION rag._compile_like(
    collection_id integer, field text, steps text[], operator text, operand jsonb,
    OUT condition text, OUT indexed boolean, OUT undeclared text[])
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _pattern text := operand #>> '{}';
    _prefix text := left(substring(_pattern FROM E'^[^%_\\\\]+'), 400);
BEGIN
    indexed := false;
    undeclared := '{}';
    condition := rag._like_sql(rag._whole_text(steps), field, operator, operand);
    IF operator = '$like' AND _prefix IS NOT NULL AND _compile_like.collection_id IS NOT NULL THEN
        indexed := EXISTS (SELECT FROM rag.fields AS f WHERE f.collection_id =
            _compile_like.collection_id
                           AND f.field = rag._field_name(steps) AND f.type = 'text');
        undeclared := CASE WHEN indexed THEN '{}' ELSE ARRAY[rag._field_name(steps)] END;
        condition := format('(%s LIKE %L%s)', rag._field_expression('c.metadata', steps, 'text'),
            _prefix || '%',
                            CASE WHEN _pattern <> _prefix || '%' THEN ' AND ' || condition END);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._compile_like IS
$$The condition that a field's text matches an SQL LIKE pattern, $ilike in any case. What stands
before the first % or _ of $like can use the field's index.$$;
