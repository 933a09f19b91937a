-- Where a quotation may begin and end: between the tokens of its source.

CREATE OR REPLACE FUNCTION rag._dash()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '[\u002D\u058A\u05BE\u1400\u1806\u2010-\u2015\u2043\u2212\u2E17\u2E1A\u2E3A\u2E3B\u2E40'
    '\u2E5D\u301C\u3030\u30A0\uFE31\uFE32\uFE58\uFE63\uFF0D\U00010EAD]';

COMMENT ON FUNCTION rag._dash IS
$$A regular expression for one hyphen, dash or minus.$$;


CREATE OR REPLACE FUNCTION rag._unseen()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '\x01-\x20\x7F-\u00A0\u00AD\u034F\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F'
    '\u2000-\u200F\u2028-\u202F\u205F-\u206F\u3000\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFF8'
    '\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF';

COMMENT ON FUNCTION rag._unseen IS
$$The inside of a bracket expression for white space and characters that are not seen.$$;


CREATE OR REPLACE FUNCTION rag._quote_core(quote text)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- figures and letters, which stay
    _kept CONSTANT int4multirange := '{[48,58),[65,91),[97,123),[192,592),[1024,1328),[1488,1515),'
        '[1568,1611),[2308,2362),[13312,40960),[44032,55204)}'::int4multirange;
    _space CONSTANT text := rag._unseen();
    -- quotation marks and brackets
    _marks CONSTANT text := E'"''`|\\u00AB\\u00B4\\u00BB\\u02B9\\u02BB-\\u02BD\\u055A\\u05F3'
        '\\u05F4\\u2018-\\u201F\\u2032\\u2033\\u2035\\u2036\\u2039\\u203A\\u3008-\\u3011'
        '\\u3014-\\u301B\\u301D-\\u301F\\uA78C\\uFF02\\uFF07\\uFF40';
    _dots CONSTANT text := E'\\u2026|[\\[(](?:\\.{3,}|\\u2026)[\\])]';
    _core text := quote;
BEGIN
    IF left(ltrim(_core), 1) IN ('*', '_') THEN  -- emphasis of the whole
        _core := regexp_replace(_core,
            E'^\\s*(\\*{1,3}|_{1,3})([^\\s*_][^*_]*[^\\s*_])\\1\\s*$', E'\\2');
    END IF;
    _core := ltrim(_core, E' \n"''');
    IF NOT _kept @> ascii(_core) THEN
        -- -5, $5 and (5) say what 5 does not
        _core := regexp_replace(_core, '^(?:[' || _space || _marks
            || E'{\\uFF3B\\u2022\\u2023\\u25AA-\\u25CF]|\\.{3}(?!\\.)|\\.{4,}(?![0-9.])|' || _dots
            || E'|[\\[(\\uFF08](?![^0-9A-Za-z]?[0-9.,]+[\\])\\uFF09])|#{1,6}(?=[' || _space
            || E'])|[>*+\\u2010-\\u2015-](?=[' || _space || ']+[^' || _space
            || E'0-9.,$\\u00A2-\\u00A5\\u20A0-\\u20CF]))+', '');
    END IF;
    _core := rtrim(_core, E' \n"''.,;:!?');
    IF NOT _kept @> ascii(right(_core, 1)) THEN
        _core := regexp_replace(_core, '(?:[' || _space || _marks
            || E'\\])}\\uFF09\\uFF3D.,;:!?\\u2026\\u3001\\u3002\\uFF0C\\uFF0E\\uFF1A\\uFF1B\\uFF01'
            '\\uFF1F\\uFF61\\uFF64\\u060C\\u061B\\u061F\\u06D4\\u0964\\u0965\\u0589]|'
            || _dots || '|(?<=[' || _space || '])' || rag._dash() || ')+$', '');
    END IF;
    RETURN _core;
END
$$;

COMMENT ON FUNCTION rag._quote_core IS
$$A quotation without what stands around it, and says nothing: quotation marks, brackets, ellipses
(..., …, […]), the mark of a list, a heading, a table or a block quote before it, punctuation and
brackets behind it. A sign or a currency before a number stays, and so does an item's number.$$;


CREATE OR REPLACE FUNCTION rag._is_unit(word text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN length(word) < 2
        -- also stop words, in one language or another
        OR word = ANY ('{am,da,defa,em,ha,in,kez,lei,li,ma,mes,mi,mia,min,mio,mu,per,por,pour,sen'
            ',som,ton,var,vi,раз}')
        OR NOT (ts_lexize('pg_catalog.english_stem', word) = '{}'
            OR ts_lexize('pg_catalog.german_stem', word) = '{}'
            OR ts_lexize('pg_catalog.french_stem', word) = '{}'
            OR ts_lexize('pg_catalog.spanish_stem', word) = '{}'
            OR ts_lexize('pg_catalog.russian_stem', word) = '{}'
            OR ts_lexize('pg_catalog.italian_stem', word) = '{}'
            OR ts_lexize('pg_catalog.portuguese_stem', word) = '{}'
            OR ts_lexize('pg_catalog.dutch_stem', word) = '{}'
            OR ts_lexize('pg_catalog.danish_stem', word) = '{}'
            OR ts_lexize('pg_catalog.swedish_stem', word) = '{}'
            OR ts_lexize('pg_catalog.norwegian_stem', word) = '{}'
            OR ts_lexize('pg_catalog.finnish_stem', word) = '{}'
            OR ts_lexize('pg_catalog.hungarian_stem', word) = '{}'
            OR ts_lexize('pg_catalog.turkish_stem', word) = '{}');
END
$$;

COMMENT ON FUNCTION rag._is_unit IS
$$Whether the word behind a number may be its unit (5 mg, 5 million, 5 days): any word but the stop
words of PostgreSQL's dictionaries (in 2020 the, 5 of), without those that are units as well.$$;


CREATE OR REPLACE FUNCTION rag._is_dated(quoted text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN quoted ~ '(1[5-9]|20)[0-9]{2}$|[0-9]-[0-9]{2}$' AND quoted ~ (
    E'(?:^|[^0-9.,/-])(?:[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2})$'
    '|(?:year|fy|[hq][1-4]|jahre?[ns]?|anne\u0301e|an|an\u0303o|anno|ano|jaar|a\u030Ar(?:et)?|roku?'
    '|год[ау]?) [0-9]{4}$'
    '|(?:^|[^a-z])(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|mai|ma\u0308rz|okt|dez'
    '|jan[uv]|fe\u0301?[bv]r|enero|mars|marzo|a[bv]ri?|mayo|juin|jui|juni|juli|aou\u0302t|ago'
    '|dici?|de\u0301c)[a-z]*[.]?(?: de)?(?: [0-9]{1,2})?,? [0-9]{4}$');

COMMENT ON FUNCTION rag._is_dated IS
$$Whether a quotation, in its form, ends with a date or a year that says so (year 2020, March 2020,
31.12.2020): no word behind it is its unit.$$;


CREATE OR REPLACE FUNCTION rag._parts_range(edge text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN edge ~ (E'[0-9](?: ?\x03 ?(?:to|or|till|until|through|bis|oder|a\u0300?|ou|o|до|или) '
    '| (?:to|or|till|until|through|bis|oder|a\u0300?|ou|o|до|или) ?\x03 ?)[$]?[0-9]'
    '|(?:between|zwischen|entre|между) [^ ]+'
    '(?: ?\x03 ?(?:and|und|et|y|и) | (?:and|und|et|y|и) ?\x03 ?)[$]?[0-9]'
    '|[0-9] ?x ?\x03 ?[0-9]|[0-9] ?\x03 ?x ?[0-9]'
    -- no year
    '|(?:^|[^0-9])[0-9]{1,3}(?: out)?(?: ?\x03 ?(?:(?:out )?of|by|von|aus|mal|sur|из|\u00B7) '
    '| (?:(?:out )?of|by|von|aus|mal|sur|из|\u00B7) ?\x03 ?)[0-9]'
    '|[0-9] ?(?:h|hrs?|std|min|m|km|kg|ft|lbs?|st) ?\x03 ?[0-9.]+'
    ' ?(?:min|m|s|sec|sek|cm|mm|g|in|oz|lbs?|hrs?)(?![a-z])|[0-9] ?h ?\x03 ?[0-5][0-9](?![0-9])');

COMMENT ON FUNCTION rag._parts_range IS
$$Whether the character 3 parts a range in words (5 to 10, between 5 and 10), a product or a share
(5 x 10, 5 by 10, 5 of 10) or an amount of two units (5 h 30 min) of a form.$$;


CREATE OR REPLACE FUNCTION rag._is_inside(shape text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN strpos(' BUN(),', right(split_part(shape, E'\x03', 1), 1)) = 0
    AND strpos(' BUN(),', left(split_part(shape, E'\x03', 2), 1)) = 0
    AND shape !~ E'(^|[ BUN(),])(?:[:;?''*_-]|[.!]{2,})+\x03[^0$+%.-]'
        '|\x03[.:;!?''*_]+($|[ BUN(),])|[^0]\x03[.:;!?]+\\^0+\\^($|[ BUN(),])'
    OR shape ~ E'~~ ?\x03|\x03 ?~~|[^ BUN(),]- *\x03 *[^ BUN(),]|[0N] *\x03 *\\^?[0N]|0\x03,[+$-]*0'
        '|(^|[ 0])\\^[^^0N]*[0N][^^]*\\^ *\x03 *[0N]|0 ?%\x03 ?0+[''%B]|0 *\x03 *:*[%$+^/~]'
        '|0 *\x03 *\\* *0|[0%] *\x03 *- *[0$(]|(^|[0 ]),\x030'
        '|\\( ?\x03[$0., -]*0[$0., -]*\\)|[-+~*/$]\\^? *\x03[$ (]*[.,]?0'
        '|[^] BUN(),.:;!?''*_$+%^~/-](([()]*\x03[()]+|[()]+\x03)[^] BUN(),.:;!?''*_$+%^~/0-]'
        '|[()]*\\)\x03[()]*0|[()]*\x03[()]*\\)[()]*0)';

COMMENT ON FUNCTION rag._is_inside IS
$$Whether the character 3 stands inside a token of a text, given in the classes of rag._quote_shape:
between characters without white space, but for marks that stand before or behind a word; beside
what is struck out; in a divided word; beside a bracket in a word; between figures, or a number and
its sign, per cent, currency or power; (5) is -5.$$;


CREATE OR REPLACE FUNCTION rag._begins_inside(before text, quoted text, shape text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _before CONSTANT text := split_part(shape, E'\x03', 1);
    _quoted CONSTANT text := split_part(shape, E'\x03', 2);
    _first CONSTANT text := left(_quoted, 1);
BEGIN
    RETURN rag._is_inside(shape)
        -- ,5 is a number, and 5' are feet
        OR left(_quoted, 2) = ',0' AND right(_before, 1) NOT IN ('', ' ')
        OR _first = '''' AND right(_before, 1) = '0'
        OR strpos(_before, '0') > 0 AND strpos(_quoted, '0') > 0
            AND rag._parts_range(right(before, 40) || E'\x03' || left(quoted, 40))
        -- an ordinal of Chinese, a section, a sign in words
        OR _first IN ('N', '0') AND before ~ '(第|§|minus|минус) ?$'
        OR right(before, 1) <> ' ' AND before <> '' AND rag._is_mark(quoted)
        -- what a negation negates: Chinese, Thai, Lao, Khmer, Burmese
        OR ascii(right(rtrim(before), 1)) >= 3584 AND strpos(' B(),', _first) = 0 AND before ~ (
            E'([\\u4E0D\\u672A\\u6CA1\\u6C92\\u975E\\u65E0\\u7121\\u52FF\\u83AB\\u5F17\\u6BCB'
            '\\u522B\\u5225\\u5426]|\\u0E44\\u0E21\\u0E48|\\u0E21\\u0E34|\\u0E2D\\u0E22'
            '\\u0E48\\u0E32'
            '|\\u0E44\\u0E23\\u0E49|\\u0E9A\\u0ECD\\u0EC8|\\u1798\\u17B7\\u1793|\\u17A5\\u178F'
            '|\\u1782\\u17D2\\u1798\\u17B6\\u1793|\\u1019) ?$');
END
$$;

COMMENT ON FUNCTION rag._begins_inside IS
$$Whether a quotation begins inside a token of its source. before, quoted: the forms of what stands
before it and of its beginning. shape: rag._quote_shape of the edge, with the character 3 at it.$$;


CREATE OR REPLACE FUNCTION rag._ends_inside(quoted text, after text, shape text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _quoted CONSTANT text := split_part(shape, E'\x03', 1);
    _after CONSTANT text := split_part(shape, E'\x03', 2);
    _next CONSTANT text := left(ltrim(_after), 1);
BEGIN
    RETURN rag._is_inside(shape)
            -- the mark of a note is no part of the word before it; 20 metre² is one
            AND (_next NOT IN ('^', '+') OR shape !~ E'(^|[^0 ] )[^] BUN(),.:;!?''*_$+%^~/0-]{4,}'
                '\x03'
                '(\\^0+\\^|\\+sup\\+0+\\+/sup\\+)($|[ BUN(),.:;!?])')
        OR strpos(shape, E'0,\x030') + strpos(shape, E'NN\x03U') > 0  -- 1, of 1,250
        -- ca n't, as some programs leave it
        OR left(after, 4) LIKE ' %''t%' AND after ~ '^ n?''t([^a-z]|$)'
        -- feet and inches, where no quotation has begun that it could end
        OR left(after, 1) IN ('''', '"') AND strpos(shape, E'0\x03') > 0
            AND strpos(quoted, left(after, 1)) = 0
        OR strpos(_quoted, '0') > 0 AND strpos(_after, '0') > 0
            AND rag._parts_range(right(quoted, 40) || E'\x03' || left(after, 40))
        -- a number without its unit
        OR right(_quoted, 1) IN ('0', '^')
            AND shape ~ (E'(^|[ BUN(),;!?])[-0.,:''^/+*$~]*(?:0e[-+]?0*)?0(?:[.)]*\\^)?\x03('
            ' *[UN]| +[^ BUN(),0.:;!?''*_~-])')
            AND (_next IN ('U', 'N')
                OR rag._is_unit(substring(after, '^ +([^][ ,;:.!?()"'']*)'))
                AND NOT rag._is_dated(quoted)
                AND NOT (after LIKE ' in %' AND shape ~ E'[$] ?[0.,]+\x03'))
        OR _next IN ('N', '0') AND quoted ~ '(第|§|minus|минус) ?$'
        OR rag._is_mark(after)
        -- a negation behind the verb: Chinese, Burmese, and among the Hiragana that follow,
        -- or half of a syllable
        OR left(_after, 1) = 'U' AND strpos(' B(),', right(_quoted, 1)) = 0 AND after ~ (
            E'^([\\u4E0D\\u6CA1\\u6C92]|\\u1018\\u1030\\u1038|[\\u3041-\\u3096]*('
            '\\u306A[\\u3044\\u304F\\u304B\\u3051]|\\u307E\\u305B|\\u306C|\\u305A|\\u307E\\u3044'
            '|\\u3056\\u308B)|[\\u3041\\u3043\\u3045\\u3047\\u3049\\u3063\\u3083\\u3085\\u3087'
            '\\u3005\\u309D\\u309E])');
END
$$;

COMMENT ON FUNCTION rag._ends_inside IS
$$Whether a quotation ends inside a token of its source. quoted, after: the forms of its end and of
what stands behind it. shape: as for rag._begins_inside.$$;


CREATE OR REPLACE FUNCTION rag._parts_amount(before text, after text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _currencies CONSTANT text :=
        ' AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD'
        ' BTC BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN'
        ' ETB ETH EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR'
        ' IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD'
        ' MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR'
        ' PAB PEN PGK PHP PKR PLN PYG QAR RMB RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE'
        ' SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS'
        ' VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL US$ CA$ AU$ A$ C$ HK$ NZ$ S$ R$ Rs'
        ' Fr kr ';
    _units CONSTANT text :=
        E' m g l km kg kl cm cg cl mm mg ml dm dg dl nm ng nl um ug ul \u00B5m \u00B5g \u00B5l'
        ' \u03BCm \u03BCg \u03BCl Hz kHz MHz GHz kB kiB kbit kW kWh MB MiB Mbit MW MWh GB GiB'
        ' Gbit GW GWh TB TiB Tbit TW TWh Wh bit kV MV mV Pa kPa MPa hPa mA kA kJ MJ cal kcal'
        ' kN s ms ns min h ha t hl oz lb lbs ft yd mph ppm bps mol mmol percent Prozent'
        ' thousand million millions billion billions trillion trillions tausend Tausend'
        ' Million Millionen Milliarde Milliarden Mio Mrd milliard milliards mil mill millones'
        ' mill\u00F3n millon L mL cL dL M G T ';
    _money CONSTANT text := ' euro euros dollar dollars pound pounds cent cents Euro Dollar Cent '
        || E'\u20AC \u00A3 \u00A5 $ ';
    _letters CONSTANT text := E'([^\\x01-#%-@[-`{-\\x7F]+)';  -- and $
    _mark CONSTANT text := E'[^0-9A-Za-z\x03\u00B5\u00C0-\u02B8\u0370-\u052F\u0590-\u167F'
        '\u1681-\u1FFF\u3040-\uD7FF]*';
    _edge CONSTANT text := normalize(before || E'\x03' || after, NFKC);
    _head text;
    _tail text;
    _word text;
BEGIN
    -- a figure beside the edge, but for marks and a word before it
    IF _edge !~ ('[0-9](?:' || _mark || E'[A-Za-z\u0430-\u044F]{2,11})?' || _mark
            || E'\x03|\x03' || _mark || '[0-9]') THEN
        RETURN false;
    ELSIF strpos(_edge, ':') > 0 AND strpos(translate(_edge, E'\x03', ''), ' :') > 0
        AND _edge ~ E'(^|[^0-9])[0-9]{1,3}[ \x03]*:[ \x03]*[0-9]' THEN
        RETURN true;  -- 5 : 3
    END IF;
    _head := regexp_replace(before, '[*_' || rag._unseen() || ']+$', '');
    _tail := regexp_replace(after, '^[.]?[*_' || rag._unseen() || ']+', '');
    _word := normalize(' ' || substring(_tail, '^' || _letters || '(?![0-9])') || ' ', NFKC);
    IF ascii(right(_head, 1)) BETWEEN 48 AND 57 THEN
        IF strpos(_units, _word) + strpos(_currencies, _word) + strpos(_money, _word) > 0
            OR _word IN (' per ', ' pour ', ' por ') AND _tail ~ '^[a-z]+ c(ent|iento)' THEN
            RETURN true;
        END IF;
    ELSIF strpos(_currencies, _word) + strpos(_money, _word) > 0 AND _head ~* (E'[0-9][^0-9A-Za-z]*'
            '(?:tsd|mio|mrd|mi?ll|mln|mld|[bm]n|thousand|hundred|tausend|mil(?:le)?|тыс|млн|млрд'
            '|(?:m|b|tr)illi(?:on|ard)(?:s|en?)?|mill(?:ones|\u00F3n))[.]?$') THEN
        RETURN true;
    ELSIF ascii(_tail) BETWEEN 48 AND 57
        AND strpos(_currencies, ' ' || substring(_head, _letters || '[.]?$') || ' ') > 0 THEN
        RETURN true;
    END IF;
    RETURN false;
END
$$;

COMMENT ON FUNCTION rag._parts_amount IS
$$Whether the edge between two texts, as they stand, parts an amount: a number from the unit, the
magnitude or the currency behind it, or from the currency before it (codes of ISO 4217), a magnitude
from the currency behind it, or a ratio (5 : 3).$$;


CREATE OR REPLACE FUNCTION rag._parts_ordinal(before text, after text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (before || E'\x03' || after) ~* (E'(?:^|[^0-9.,])[0-9]{1,2}[*_]*(?:[.]\x03|\x03[.])[*_'
    || rag._unseen() || E']+(?:januar|februar|m\u00E4rz|mars|marts|april|ma[ij]|jun[ij]|jul[ij]'
    '|august|september|oktober|november|de[zsc]ember|jahrh)')
    OR (before || E'\x03' || after) ~ (E'(?:^|[ \\n])(?:der|die|das|dem|den|des|im|zum|vom|beim) '
    '[0-9]{1,2}(?:[.]\x03|\x03[.]) [A-Z\u00C4\u00D6\u00DC]');

COMMENT ON FUNCTION rag._parts_ordinal IS
$$Whether the edge between two texts, as they stand, parts an ordinal from what it counts (2. Mai,
19. Jahrhundert): months in the languages that write them so.$$;


CREATE OR REPLACE FUNCTION rag._is_cut(original text, start integer, stop integer)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    seen CONSTANT integer := 16;  -- characters beside it that tell what it is cut from
    _slice text := substr(original, start + 1, stop - start);
    _before text := substr(original, greatest(0, start - seen) + 1, least(start, seen));
    _after text := substr(original, stop + 1, seen);
    _width integer := 48;
    _parts text[];
BEGIN
    IF _before || E'\x03' || left(_slice, seen) !~ ('^(?:|' || rag._prose() || '['
            || rag._prose_letter() || E'.,;:!?][ \n]["(\u00AB\u201C-\u201E]?)\x03['
            || rag._prose_letter() || ']' || rag._prose() || '$') THEN
        LOOP
            _before := substr(original, greatest(0, start - _width) + 1, least(start, _width));
            EXIT WHEN _width >= start OR length(rag._quote_skeleton(_before)) >= seen;
            _width := _width * 8;
        END LOOP;
        IF strpos('0123456789$', left(_slice, 1)) > 0 AND _before ~ E'[-*+>][\\t ]+$' THEN
            -- the mark of a list or of a block quote is no sign
            _before := regexp_replace(
                substr(original, greatest(0, start - 400) + 1, least(start, 400)),
                E'(^|\\n[\\t ]*\\n|[.:;!?][\\t ]*\\n|(^|\\n)[\\t >]*[-*+>][\\t ][^\\n]*\\n)'
                '[\\t >]*[-*+>][\\t ]+$', E'\\1');
        END IF;
        _parts := string_to_array(
            rag._quote_form(_before || E'\x03' || left(_slice, 80)), E'\x03');
        IF rag._parts_amount(right(_before, seen), left(_slice, seen))
            OR rag._begins_inside(_parts[1], _parts[2],
                rag._quote_shape(right(_parts[1], 40) || E'\x03' || left(_parts[2], 40))) THEN
            RETURN true;
        END IF;
    END IF;
    IF right(_slice, seen) || E'\x03' || _after ~ ('^' || rag._prose() || '['
            || rag._prose_letter() || E'][.,;:!?]*\x03[.,;:!?]*["\u00BB\u201C\u201D)]?(?:|[ \n]+['
            || rag._prose_letter() || ']{2}' || rag._prose() || ')$') THEN
        RETURN false;
    END IF;
    _width := 48;
    LOOP
        _after := substr(original, stop + 1, _width);
        EXIT WHEN length(_after) < _width OR length(rag._quote_skeleton(_after)) >= seen;
        _width := _width * 8;
    END LOOP;
    IF left(_after, 2) = '](' THEN  -- behind the text of a link
        _after := regexp_replace(_after, E'^\\]\\([^ ()]*[/#.:][^ ()]*(?:[)]|$)', '');
    END IF;
    IF rag._parts_amount(right(_slice, seen), left(_after, seen))
        OR strpos('0123456789.*_', right(_slice, 1)) > 0
            AND rag._parts_ordinal(right(_slice, seen), left(_after, seen)) THEN
        RETURN true;
    END IF;
    _parts := string_to_array(rag._quote_form(right(_slice, 140) || E'\x03' || _after), E'\x03');
    _slice := rag._quote_shape(right(_parts[1], 40) || E'\x03' || left(_parts[2], 40));
    RETURN rag._ends_inside(_parts[1], _parts[2], _slice)
        -- of numbers that are one character only raised ones are marks of notes: not those of
        -- formulas, fractions, circled ones
        OR strpos(_slice, E'\x03^') > 0
            AND (ascii(_after) > 8319 OR ascii(_after) BETWEEN 188 AND 190)
            AND strpos(' .:;!?"''', right(_parts[1], 1)) = 0;
END
$$;

COMMENT ON FUNCTION rag._is_cut IS
$$Whether the run of a text (without the character 3) from start to stop begins or ends inside a
token.

A token is what has no white space inside, less the punctuation around it; a number has its sign,
currency, unit, power and further figures with it, also where a blank stands between. In scripts
without spaces each character is one, but for numerals, and a negation with what it negates. The
text is seen in the form in which quotations are compared, so that the kind of a hyphen, an
apostrophe or an emphasis makes no difference.$$;


CREATE OR REPLACE FUNCTION rag._is_same_form(one text, other text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _breaker CONSTANT text := ' ?([][(){};!?|]|,(?! ?[0-9])|' || rag._breaker() || ') ?';
    _one text := one;
    _other text := other;
BEGIN
    IF one = other THEN
        RETURN true;
    ELSIF translate(one, E'\x02- ', '') <> translate(other, E'\x02- ', '') THEN
        RETURN false;
    END IF;
    IF translate(one, E'\x02-', '') <> translate(other, E'\x02-', '') THEN
        -- white space beside a mark between words
        _one := regexp_replace(one, _breaker, E'\\1', 'g');
        _other := regexp_replace(other, _breaker, E'\\1', 'g');
    END IF;
    IF _one = _other THEN
        RETURN true;
    ELSIF length(_one || _other) - length(translate(_one || _other, E'\x02', ''))
            NOT BETWEEN 1 AND 100
        OR translate(_one, E'\x02-', '') <> translate(_other, E'\x02-', '') THEN
        RETURN false;
    END IF;
    -- a word that one of them divides has in the other a hyphen there, or none
    RETURN NOT EXISTS (
        SELECT FROM (
            SELECT w.number, p.found[2] AS mark,
                sum(length(p.found[1])) OVER (PARTITION BY w.number ORDER BY p.position) AS behind
            FROM (VALUES (1, _one), (2, _other)) AS w (number, form),
                regexp_matches(w.form, E'([^\x02-]*)([\x02-]+)', 'g')
                    WITH ORDINALITY AS p (found, position)
        ) AS m
        GROUP BY m.behind
        HAVING coalesce(max(m.mark) FILTER (WHERE m.number = 1), '')
            || '|' || coalesce(max(m.mark) FILTER (WHERE m.number = 2), '')
            !~ E'^(.*)\\|\\1$|^\x02\\|-?$|^-?\\|\x02$');
END
$$;

COMMENT ON FUNCTION rag._is_same_form IS
$$Whether two forms of rag._quote_form are equal, but for white space beside marks between words,
and words that one of them divides at the end of a line: the other has a hyphen there, or none.$$;
