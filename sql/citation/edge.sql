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


CREATE OR REPLACE FUNCTION rag._around()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN rag._unseen() || '"''`|\u00AB\u00B4\u00BB\u02B9\u02BB-\u02BD\u0374\u055A\u05F3\u05F4'
    '\u2018-\u201F\u2032-\u2037\u2039\u203A\u2057\u3008-\u3011\u3014-\u301B'
    '\u301D-\u301F\uA78C\uFF02\uFF07\uFF40';

COMMENT ON FUNCTION rag._around IS
$$The inside of a bracket expression for what is not seen, quotation marks and brackets.$$;


CREATE OR REPLACE FUNCTION rag._prose_letter()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'A-Za-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u024F\u0388-\u0481\u048A-\u0556\u0561-\u0587'
    '\u05D0-\u05EA\u0620-\u064A\u0904-\u0939\u0985-\u09B9\u0B85-\u0BB9\u10D0-\u10FA\uAC00-\uD7A3';

COMMENT ON FUNCTION rag._prose_letter IS
$$The inside of a bracket expression for letters of scripts with spaces.$$;


CREATE OR REPLACE FUNCTION rag._prose()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '[' || rag._prose_letter() || E'"''.,;:!?() \n\u00AB\u00BB\u0300-\u0337\u0589\u0591-\u05BD'
    '\u060C\u061B\u061F\u064B-\u065F\u06D4\u0900-\u0903\u093A-\u0964\u0981-\u0983\u09BC-\u09CD'
    '\u0BBE-\u0BCD\u2013\u2014\u2018-\u201E-]*';

COMMENT ON FUNCTION rag._prose IS
$$A regular expression for words without figures and signs, and what stands between them.$$;


CREATE OR REPLACE FUNCTION rag._quote_core(quote text)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- figures and letters, which stay
    _kept CONSTANT int4multirange := '{[48,58),[65,91),[97,123),[192,592),[880,1370),[1371,1417),'
        '[1488,1515),[1568,1642),[2308,2404),[2406,4447),[12353,12448),[12449,12544),[13312,40960),'
        '[44032,55204)}'::int4multirange;
    _around CONSTANT text := E' \n"''\u2026\u00AB\u00BB\u2018\u2019\u201C\u201D\u201E';
    _core text := ltrim(rtrim(quote, _around || '.,;:!?'), _around);
BEGIN
    IF _kept @> ascii(_core) AND _kept @> ascii(right(_core, 1)) THEN
        RETURN _core;
    END IF;
    IF left(_core, 1) IN ('*', '_') THEN  -- emphasis of the whole
        _core := ltrim(rtrim(regexp_replace(_core,
            E'^(\\*{1,3}|_{1,3})([^\\s*_][^*_]*[^\\s*_])\\1$', E'\\2'), E' \n"''.,;:!?'),
            E' \n"''');
    END IF;
    IF NOT _kept @> ascii(_core) THEN
        -- -5, $5 and (5) say what 5 does not
        _core := regexp_replace(_core, '^(?:[' || rag._around()
            || E'{\\uFF3B\\u2022\\u2023\\u25AA-\\u25CF]|\\.{3}(?!\\.)|\\.{4,}(?![0-9.])'
            '|\\u2026|[\\[(](?:\\.{3,}|\\u2026)[\\])]'
            '|[\\[(\\uFF08](?![^0-9A-Za-z]?[0-9.,]+[\\])\\uFF09])|#{1,6}(?=[' || rag._unseen()
            || E'])|[>*+\\u2010-\\u2015-](?=[' || rag._unseen() || ']+[^' || rag._unseen()
            || E'0-9.,$\\u00A2-\\u00A5\\u20A0-\\u20CF]))+', '');
    END IF;
    IF NOT _kept @> ascii(right(_core, 1)) THEN
        _core := regexp_replace(_core, '(?:[' || rag._around()
            || E'\\])}\\uFF09\\uFF3D.,;:!?\\u037E\\u203C\\u2024-\\u2026\\u2047-\\u2049'
            '\\u3001\\u3002\\uFF0C\\uFF0E\\uFF1A\\uFF1B\\uFF01\\uFF1F\\uFF61\\uFF64'
            '\\u060C\\u061B\\u061F\\u06D4\\u0964\\u0965\\u0589'
            '\\uFE10-\\uFE16\\uFE19\\uFE30\\uFE50-\\uFE52\\uFE54-\\uFE57]'
            '|[\\[(](?:\\.{3,}|\\u2026)[\\])]|(?<=[' || rag._unseen() || '])' || rag._dash()
            || ')+$', '');
    END IF;
    RETURN _core;
END
$$;

COMMENT ON FUNCTION rag._quote_core IS
$$A quotation without what stands around it, and says nothing: quotation marks, brackets, ellipses
(..., …, […]), the mark of a list, a heading, a table or a block quote before it, punctuation and
brackets behind it. A sign or a currency before a number stays, and so does an item's number.$$;


CREATE OR REPLACE FUNCTION rag._parts_token(shape text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN strpos(' BUN(),', right(split_part(shape, E'\x03', 1), 1)) = 0
    AND strpos(' BUN(),', left(split_part(shape, E'\x03', 2), 1)) = 0
    AND shape !~ E'(^|[ BUN(),])(?:[:;?''*_-]|[.!]{2,})[.:;!?''*_-]*\x03[^0$+%.-]'
        '|(^|[ BUN(),])!*[;?][;!?]*\x03|\x03[.:;!?''*_]+($|[ BUN(),])'
        '|[^0]\x03[.:;!?]+\\^0+\\^($|[ BUN(),])'
    -- first whether there is a figure or a mark beside it, as that takes no regular expression
    OR (strpos('0N%^$+~/()-*:,.', right(rtrim(split_part(shape, E'\x03', 1)), 1)) > 0
        OR strpos('0N%^$+~/()-*:,.', left(ltrim(split_part(shape, E'\x03', 2)), 1)) > 0)
    AND shape ~ E'~~ ?\x03|\x03 ?~~|[^ BUN(),]- *\x03 *[^ BUN(),]|[0N] *\x03 *\\^?[0N]'
        '|0\x03,(?:-|[+$]*0)|[$][(]\x03'
        '|(^|[ 0])\\^[^^0N]*[0N][^^]*\\^ *\x03 *[0N]|0 ?%\x03 ?0+[''%B]|0 *\x03 *:*[%$+^/~]'
        '|0 *\x03 *\\* *0|[0%] *\x03 *- *[0$(]|(^|[0 ]),\x030'
        '|\\( ?\x03[$0., -]*0[$0., -]*\\)|[-+~*/$]\\^? *\x03[$ (]*[.,]?0'
        '|[^] BUN(),.:;!?''*_$+%^~/-](([()]*\x03[()]+|[()]+\x03)[^] BUN(),.:;!?''*_$+%^~/0-]'
        '|[()]*\\)\x03[()]*0|[()]*\x03[()]*\\)[()]*0)';

COMMENT ON FUNCTION rag._parts_token IS
$$Whether the character 3 stands inside a token of a text, given in the classes of rag._quote_shape:
between characters without white space, but for marks that stand before or behind a word; beside
what is struck out; in a divided word; beside a bracket in a word; between figures, or a number and
its sign, per cent, currency or power; (5) is -5.$$;


CREATE OR REPLACE FUNCTION rag._parts_words(form text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN form LIKE E'% _\x03. _.%'  -- z. B.
    OR form LIKE E'% _. \x03_.%'
    OR form LIKE E'% _.\x03 _.%'
    OR strpos(form, '&') > 0  -- Procter & Gamble
        AND (form LIKE E'%_\x03 & _%' OR form LIKE E'%_ &\x03 _%'
            OR form LIKE E'%_ \x03& _%' OR form LIKE E'%_ & \x03_%')
    OR (strpos(form, '''t') > 0 OR octet_length(form) > length(form))
    -- ca n''t; an ordinal of Chinese
    AND form ~ (E'\x03 n?''t(?:[^a-z]|$)|第 ?\x03'
    -- what a negation negates: Chinese, Thai, Lao, Khmer, Burmese
    '|(?:[\u4E0D\u672A\u6CA1\u6C92\u975E\u65E0\u7121\u52FF\u83AB\u5F17\u6BCB\u522B\u5225\u5426]'
    '|\u0E44\u0E21\u0E48|\u0E21\u0E34|\u0E2D\u0E22\u0E48\u0E32|\u0E44\u0E23\u0E49'
    '|\u0E9A\u0ECD\u0EC8|\u1798\u17B7\u1793|\u17A5\u178F|\u1782\u17D2\u1798\u17B6\u1793|\u1019)'
    ' ?\x03 ?(?:[0-9]|[^\x01-\x40\u3001-\u3011\u3014-\u301F])'
    -- a sign, a decimal, a fraction of Chinese and Japanese
    '|(?:[负負]|零下|氷点下|マイナス) ?\x03 ?[0-9〇零一二两三四五六七八九十百千万]'
    '|[0-9〇零一二两三四五六七八九十百千万] ?(?:[点點・比] ?\x03|\x03 ?[点點・比]) ?'
    '[0-9〇零一二两三四五六七八九十百千万]'
    '|(?:分之 ?\x03|分 ?\x03 ?之) ?[0-9〇零一二两三四五六七八九十百千万]'
    '|[0-9〇零一二两三四五六七八九十百千万] ?\x03 ?分之');

COMMENT ON FUNCTION rag._parts_words IS
$$Whether the character 3 parts in a form what words make one: a short form (ca n't), an
abbreviation of letters (z. B.), names that & joins, an ordinal, a decimal, a fraction or a sign of
Chinese and Japanese, a negation and what it negates.$$;


CREATE OR REPLACE FUNCTION rag._operator()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'(?:[-+*/:!<>=]?=|[+*<>\u2212\u00B1\u00B7\u00D7\u00F7\u2190-\u21FF\u2200-\u22FF])';

COMMENT ON FUNCTION rag._operator IS
$$A regular expression for the operator of a formula.$$;


CREATE OR REPLACE FUNCTION rag._is_operator(token text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN token <> '' AND translate(token,
        E'-:!=+*/<>\uFE61\uFF0A\u2212\u00B1\u00B7\u00D7\u00F7\u2190\u2192\u2194'
        '\u21D2\u21D4\u21CC\u2208\u221E\u2227\u2228\u2229\u222A\u2248\u2260'
        '\u2261\u2264\u2265\u2282\u2286\u22C5\u2A75\u2A76', '') = ''
    OR length(token) = 1 AND ascii(token) BETWEEN 8592 AND 8959;

COMMENT ON FUNCTION rag._is_operator IS
$$Whether a token may be the operator of a formula, told without a regular expression.$$;


CREATE OR REPLACE FUNCTION rag._index()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'[\u00B2\u00B3\u00B9\u2070-\u209C]';

COMMENT ON FUNCTION rag._index IS
$$A regular expression for a raised or lowered figure.$$;


CREATE OR REPLACE FUNCTION rag._symbol(is_behind boolean)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN is_behind
    THEN '[([]*(?:[' || rag._prose_letter() || ']|\w*' || rag._index() || ')(?![\w.''’-])'
    ELSE '(?:(?:^|[^\w.''’])[' || rag._prose_letter() || ']|' || rag._index() || ')[])]*' END;

COMMENT ON FUNCTION rag._symbol IS
$$A regular expression for an operand of one letter or with an index. is_behind: behind an
operator.$$;


CREATE OR REPLACE FUNCTION rag._parts_formula(edge text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (octet_length(edge) > length(edge) OR strpos(edge, '{') > 0) AND edge ~ (
    -- Ca(OH)₂, [CuCl₄]²⁻, −½
    E'(?:[^ \n]\x03[])}]+|[])}]\x03)'
    '(?:[\u2080-\u208E]|[\u2070-\u2079\u00B2\u00B3\u00B9]*[\u207A\u207B])'
    '|[-+\u00B1\u2212]\x03[\u00BC-\u00BE\u2150-\u215F]'
    -- x_{1}, 10^{5}, ません
    '|[^ \n]\x03[_^][{]|[_^](?:\x03[{]|[{]\x03)'
    '|\u307E(?:\x03\u305B|\u305B\x03)\u3093'
    -- vowels of Thai and Lao, which stand behind or before a consonant; 2 H₂
    '|\x03[\u0E30\u0E32\u0E33\u0E45\u0EB0\u0EB2\u0EB3]|[\u0E40-\u0E44\u0EC0-\u0EC4]\x03'
    '|[0-9] ?\x03 ?[A-Z][a-z]?[\u2080-\u2089]');

COMMENT ON FUNCTION rag._parts_formula IS
$$Whether the character 3 parts a formula, in a text as it stands: what is lowered or charged behind
a bracket, a sign and a fraction of one character, an index or a power of TeX; or a syllable of Thai
or Lao, the negation ません.$$;


CREATE OR REPLACE FUNCTION rag._parts_equation(edge text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- first whether one may stand beside the edge, for a regular expression takes longer
RETURN (rag._is_operator(split_part(ltrim(split_part(edge, E'\x03', 2), ' ])}'), ' ', 1))
        OR rag._is_operator(split_part(rtrim(split_part(edge, E'\x03', 1)), ' ', -1)))
    AND (edge ~ (
    '(?:' || rag._symbol(false) || E'(?: *\x03 +| +\x03 *)' || rag._operator()
    || E' |(?: *\x03 +| +\x03 *)' || rag._operator() || ' ' || rag._symbol(true) || '|'
    || rag._symbol(false) || ' ' || rag._operator() || E'(?: *\x03 +| +\x03 *)|[^ \n] +'
    || rag._operator() || E'(?: *\x03 +| +\x03 *)' || rag._symbol(true) || ')')
    OR regexp_replace(edge, E' +\x03 *|\x03([])}]*) +', E'\\1 \x03 ') ~ (
        -- price * quantity, net_price + tax, total = price - rebate
        E'[^ \n] (?:\x03 )?(?:[:=!<>]=|[*\u00D7\u00F7\u2260\u2264\u2265\u2A75\u2A76\uFE61\uFF0A])'
        '(?: \x03 |(?<=\x03 .{1,2}) )[^ \n\x03]'
        '|[A-Za-z0-9](?:_[A-Za-z0-9]+|[.][a-z][a-z_]+|[(][)]) (?:\x03 [+/=]|[+/=] \x03) [^ \n]'
        '|[^ \n] (?:\x03 [+/=]|[+/=] \x03) [A-Za-z]+(?:_[A-Za-z0-9]|[.][a-z]{2}|[(][)])'
        '|[^ \n] \x03 [+] [0-9]|[^ \n] (?:\x03 =|= \x03) [^ \n]+ [-+*/] [^ \n]'
        '|[^ \n] = [^ \n]+ (?:\x03 [-+/]|[-+/] \x03) [^ \n]'));

COMMENT ON FUNCTION rag._parts_equation IS
$$Whether the character 3 stands, in a text as it stands, beside an operator of which one side is
one letter or has an index (E = mc², a + b), beside a comparison (>=), * or × between blanks, or
beside another operator that has a name of code at its side, or an equals sign next to it.$$;


CREATE OR REPLACE FUNCTION rag._first_word(form text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN split_part(
    translate(ltrim(split_part(form, E'\x03', 2)), ',;:.!?()[]"''', '            '), ' ', 1);

COMMENT ON FUNCTION rag._first_word IS
$$The word behind the character 3 in a form, without punctuation.$$;


CREATE OR REPLACE FUNCTION rag._ends_inside(form text, shape text, quoted text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN rag._parts_token(shape)
        -- the mark of a note is no part of the word before it; 20 metre² is one
        AND (strpos(shape, E'\x03^') + strpos(shape, E'\x03+sup') = 0
            OR shape !~ E'(^|[^0 ] )[^] BUN(),.:;!?''*_$+%^~/0-]{4,}\x03'
                '(\\^0+\\^|\\+sup\\+0+\\+/sup\\+)($|[ BUN(),.:;!?])')
    OR strpos(shape, E'0,\x030') > 0  -- 1, of 1,250
    -- a numeral of Chinese without its unit; one also ends words, as that for united
    OR strpos(shape, E'N\x03U') > 0
        AND (strpos(shape, E'NN\x03U') > 0
            OR form !~ E'[统統唯同单単單之专専周期拜逐不合划其归如均]一\x03')
    -- feet and inches, where no quotation has begun that it could end
    OR shape LIKE E'%0\x03''%' AND strpos(quoted, '''') = 0
    OR form LIKE E'%\x03"%' AND shape LIKE E'%0\x03%' AND strpos(quoted, '"') = 0
    -- a number without its unit
    OR (shape LIKE E'%0\x03%' OR shape LIKE E'%^\x03%')
        AND shape ~ (E'(^|[ BUN(),;!?])[-0.,:''^/+*$~]*(?:0e[-+]?0*)?'
            '(?:0(?:[.,)+]*\\^)?|\\^[(]?N+[)]?\\^)\x03('
        ' *[UN]| +[^ BUN(),0.:;!?''*_~-])')
        AND (strpos(replace(replace(shape, ' ', ''), 'N', 'U'), E'\x03U') > 0
            OR rag._is_unit(rag._first_word(form))
            AND NOT rag._has_no_unit(quoted, rag._first_word(form))
            -- inches neither of money nor of 3:16, 6e-23, 10^8, 3/5/24 and ISO 9001, nor before an
            -- article
            AND NOT (form LIKE E'%\x03 in %'
                AND (form ~ E'\x03 in (?:the|an?|this) '
                    OR shape ~ (E'(?:[$] ?[0.,]+|0 ?: ?0+|0e-?0+|00[+]-?0+|0\\^0+\\^|0{4}/0+'
                        '|0/0+/0+|(?:^|[^0.,])0{4,})\x03'))))
    -- a negation behind the verb: Chinese, Burmese, and among the Hiragana that follow,
    -- or half of a syllable
    OR shape LIKE E'%\x03U%' AND form ~ (
        E'[^\x01-\x40\\u3001-\\u3011\\u3014-\\u301F\\uFF00-\\uFF20]\x03([\\u4E0D\\u6CA1\\u6C92]'
        '|\\u1018\\u1030\\u1038|[\\u3041-\\u3096]*('
        '\\u306A[\\u3044\\u304F\\u304B\\u3051]|\\u307E\\u305B|\\u306C|\\u305A|\\u307E\\u3044'
        '|\\u3056\\u308B)|[\\u3041\\u3043\\u3045\\u3047\\u3049\\u3063\\u3083\\u3085\\u3087'
        '\\u3005\\u309D\\u309E])');

COMMENT ON FUNCTION rag._ends_inside IS
$$Whether a quotation ends inside a token of its source. form, shape: of the edge, with the
character 3 at it (rag._quote_form, rag._quote_shape). quoted: the form of the quotation's end.$$;


CREATE OR REPLACE FUNCTION rag._parts_rows(original text, boundary integer)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _before CONSTANT text := right(left(original, boundary), 400);
    _after CONSTANT text := substr(original, boundary + 1, 400);
    _begins CONSTANT boolean := right(rtrim(_before, E' \t'), 1) = E'\n';
    _gap CONSTANT text := E' *[|\t][ |\t]*| {2,}|;(?! )';
    _figures CONSTANT text := E'^[-+(.,:/''’*$%)0-9 \u00A2-\u00A5\u00B0\u00B1\u2013\u2014\u20AC'
        '\u2212]*[0-9][)%]?$';
    _row text[];
    _next text[];
    _first text;  -- cell of the next row
BEGIN
    IF NOT _begins AND left(ltrim(_after, E').\t\r '), 1) IS DISTINCT FROM E'\n' THEN
        RETURN false;
    END IF;
    _row := regexp_split_to_array(btrim(CASE WHEN _begins
        THEN substring(_before FROM E'([^\n]*)\n[ \t]*$')
        ELSE substring(_before FROM E'[^\n]*$') || split_part(_after, E'\n', 1) END,
        E' \t\r'), _gap);
    _next := regexp_split_to_array(btrim(
        split_part(_after, E'\n', CASE WHEN _begins THEN 1 ELSE 2 END), E' \t\r'), _gap);
    _first := rtrim(_next[1], '.');
    RETURN cardinality(_row) > 1 AND cardinality(_row) = cardinality(_next)
        AND _row[cardinality(_row)] ~ _figures AND _next[cardinality(_next)] ~ _figures
        -- no sign, unit or further figures of the last cell, which goes on in the next line
        AND _first ~ E'^(?![-+*/=%^(\u00B0-\u00B3\u00B7\u00B9\u00BC-\u00BE\u00D7\u00F7\u2030\u2070'
            '-\u20CF\u2150-\u22FF])(?:..|[0-9A-Za-z])'
        AND (_first ~ '^[0-9]') = (_row[1] ~ '^[0-9]')
        AND NOT (_row[1] ~ _figures AND _next[cardinality(_next)] ~ '^[0-9]{3}$')
        AND strpos(rag._lower(rag._units() || rag._money()) || rag._magnitudes(),
            ' ' || rag._lower(_first) || ' ') = 0
        AND NOT rag._is_unit_name(_first) AND NOT rag._is_unit_name(rag._lower(_first));
END
$$;

COMMENT ON FUNCTION rag._parts_rows IS
$$Whether an offset of a text is between two rows of a table: at the end of a line whose last cell,
like that of the next line, has figures alone, and that has as many cells, which tabs, bars or two
blanks part.$$;


CREATE OR REPLACE FUNCTION rag._parts_name(before text, after text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- without regular expressions, which have to be compiled
    _blanks CONSTANT text := E'\t\n\x0B\f\r\x1C\x1D\x1E\x1F\u0085\u00A0\u1680\u2000\u2001\u2002'
        '\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000*_';
    _after text := ltrim(translate(after, _blanks, rpad('', 30)), ' .§');
    _before text;
    _behind text;
    _which text := split_part(_after, ' ', 1);  -- B
    _word text;  -- Appendix
    _mark text;  -- behind it
    _is_number boolean;
    _is_short boolean;  -- Fig.
    _is_name boolean;
    _is_stop boolean;
BEGIN
    -- a small letter behind what is referred to by one: lit. f, item (c)
    IF substr(ltrim(_after, '('), 2, 1) IN ('', ' ', ')', '.', ',', ';')
        AND ascii(ltrim(_after, '(')) BETWEEN 97 AND 122 THEN
        _before := rtrim(translate(before, _blanks, rpad('', 30)));
        RETURN (right(_before, 1) = '.' OR after LIKE '.%' OR _after LIKE '(_)%')
            AND strpos(' lit litt buchst buchstabe lett lettre lettera letra item point punkt'
                ' nr no para abs al art' || rag._references(), ' ' || rag._lower(split_part(
                rtrim(_before, '.'), ' ', -1)) || ' ') > 0;
    END IF;
    -- a symbol, in a circle, of full width, bold
    IF '{[1012,1013),[8450,8506),[9398,9450),[65281,65371),[119808,120832)}'::int4multirange
            @> ascii(_which) THEN
        _after := normalize(_after, NFKC);
        _which := split_part(_after, ' ', 1);
    END IF;
    -- a figure, or a capital of Latin, Greek or Cyrillic
    IF NOT '{[48,58),[65,91),[192,215),[216,223),[913,938),[1040,1072),[1632,1642),[2406,2416)}'
            ::int4multirange @> ascii(_which)
        OR left(_which, 2) <> upper(left(_which, 2)) AND ascii(_which) > 57 THEN
        RETURN false;
    END IF;
    _mark := _which;
    _which := rtrim(_which, '.,;:)]!?+"”»');
    _mark := substr(_mark, length(_which) + 1, 1);
    _is_number := translate(
        rtrim(_which, 'abcdef'), '0123456789٠١٢٣٤٥٦٧٨٩०१२३४५६७८९.,:/-', '') = '';
    IF NOT (_is_number OR length(_which) = 1 AND _which <> rag._lower(_which)
        OR length(_which) > 1 AND btrim(_which, 'IVXLCDM') = ''
        OR btrim(ltrim(left(_which, 3), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') || substr(_which, 4),
            '0123456789.') = '' AND right(_which, 1) BETWEEN '0' AND '9') THEN
        RETURN false;
    END IF;
    _before := rtrim(translate(normalize(before, NFKC), _blanks || '("“„«', rpad('', 35)));
    _word := split_part(rtrim(_before, '.'), ' ', -1);
    _behind := rtrim(split_part(_after, ' ', 2), '.,;:)]!?"”»');
    _is_short := right(_before, 1) = '.' OR ltrim(after) LIKE '.%';
    IF translate(_word, E'0123456789+-\u2013*/=<>)]{}|&%$\u20AC\u00A3#@~^,;:!?''\u2019', '')
        <> _word THEN
        RETURN false;
    ELSIF (_is_short OR length(_word) < 3) AND _is_number AND strpos(
            ' art sec sect fig figs tab tabs kap cap chap ch para eq eqs'
            ' vol p pp pag pág párr abb abs ziff lit ext no nr nº alin buchst rn rz'
            ' anm op ст рис табл стр п ', ' ' || normalize(rag._lower(_word), NFC) || ' ') > 0 THEN
        RETURN true;
    ELSIF _is_short AND _is_number AND strpos(_word, '.') > 0
        AND rtrim(split_part(_before, ' ', -2), '0123456789') = ''
        AND split_part(_before, ' ', -2) <> '' THEN
        RETURN true;  -- 410 U.S. 113, 42 U.S.C. § 1983
    ELSIF _is_short AND substr(_word, 2) <> rag._lower(substr(_word, 2))
        AND right(_word, 1) <> upper(right(_word, 1)) THEN
        RETURN _is_number OR _behind <> rag._lower(_behind);  -- BGBl. I S. 123
    ELSIF _is_short OR length(_word) < 2 OR length(_word) = 2 AND _word <> initcap(_word) THEN
        RETURN false;
    ELSIF strpos(rag._references(), ' ' || normalize(rag._lower(_word), NFC) || ' ') > 0 THEN
        RETURN true;
    ELSIF rag._lower(right(_word, 1)) = upper(right(_word, 1)) THEN  -- no letter, but a mark
        RETURN false;
    END IF;
    _is_stop := rag._is_stop_word(rag._lower(_word));
    _before := right(rtrim(left(_before, -length(_word))), 1);
    -- no first word of a sentence
    _is_name := _word <> rag._lower(_word)
        AND (left(_word, 1) = rag._lower(left(_word, 1))  -- iPhone
            OR strpos(',;', _before) > 0 AND _before <> ''
            OR upper(_before) <> rag._lower(_before));
    RETURN CASE
        WHEN _is_number THEN
            -- no year, number of an item, of a page, 3/4 of it
            NOT _is_stop AND (length(_which) <> 4 OR strpos('12', left(_which, 1)) = 0
                OR strpos(_which, '.') > 0)
            AND NOT (ltrim(after, E' \t\r') LIKE E'\n%'
                AND (_mark IN ('.', ')') OR translate(after, E' \t\r', '') LIKE E'\n\n%'))
            AND (_behind <> 'of' OR strpos(_which, '/') = 0)
            AND (_is_name AND _behind = rag._lower(_behind) OR _mark <> '' OR _behind = ''
                OR rag._is_stop_word(rag._lower(_behind)))
        WHEN _which IN ('A', 'I') AND _mark = '' AND _behind <> '' THEN
            _is_name AND _behind <> rag._lower(_behind)
        ELSE (_is_name OR NOT _is_stop)
            AND (left(_word, 1) <> rag._lower(left(_word, 1)) OR _mark <> '.') END;
END
$$;

COMMENT ON FUNCTION rag._parts_name IS
$$Whether the edge between two texts, as they stand, parts a word from what tells which: a letter, a
Roman numeral, a code or a number (Appendix B, Section IV, Gate B12, Apollo 11). A number is that
behind what is referred to by one (Article 5, Fig. 3), behind a name within a sentence, and where
nothing follows that it counts (size 5 of).$$;


CREATE OR REPLACE FUNCTION rag._parts_person(before text, after text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- with the full stop that a quotation may leave out
    _before CONSTANT text := rtrim(translate(before, E'\n\t\u00A0', '   '))
        || CASE left(after, 1) WHEN '.' THEN '.' ELSE '' END;
    _after CONSTANT text := ltrim(translate(after, E'\n\t\u00A0', '   '), ' ,.');
    _next text := split_part(_after, ' ', 1);
    _last CONSTANT text := split_part(_before, ' ', -1);
    _name text;  -- before the last word
BEGIN
    IF _next IN ('der', 'den', 'dem', 'la') AND _last <> rag._lower(_next) THEN  -- von der Leyen
        _next := split_part(_after, ' ', 2);
    END IF;
    IF left(_next, 1) = rag._lower(left(_next, 1)) THEN
        RETURN false;
    ELSIF rtrim(_next, '.,;:!?)') IN ('Jr', 'Sr') THEN
        RETURN _last <> rag._lower(_last);
    END IF;
    _name := split_part(_before, ' ', -2);
    RETURN (strpos(' Dr. Prof. St. Mr. Mrs. Ms. Mme. Sra. ', ' ' || _last || ' ') > 0
            OR length(_last) = 2 AND _last <> rag._lower(_last) AND right(_last, 1) = '.'
                AND length(_name) = 2 AND _name <> rag._lower(_name) AND right(_name, 1) = '.')
            AND NOT rag._is_stop_word(rag._lower(rtrim(_next, '.,;:!?)')))  -- Main St. The
        OR strpos(' von van de da di du del ', ' ' || _last || ' ') > 0
            AND left(_name, 1) <> rag._lower(left(_name, 1));
END
$$;

COMMENT ON FUNCTION rag._parts_person IS
$$Whether the edge between two texts, as they stand, parts a name: behind a title (Dr. Weiss) or two
initials (T. S. Eliot), behind a word that joins it to the one before (Ursula von der Leyen), before
Jr. and Sr.$$;


CREATE OR REPLACE FUNCTION rag._parts_denial(after text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- first how it begins: a regular expression has to be compiled
RETURN strpos('/nev/nic/nie/noo/pas/jam/nun/ikk/ald/int/ej./ej,/değ/not/',
        '/' || rag._lower(left(ltrim(after, E' \n'), 3)) || '/') > 0
    AND after COLLATE "C" ~* (E'^[ \n]+(?:not|never|nicht|nie|niemals|niet|nooit|pas|jamais|nunca'
        '|ikke|aldrig|inte|ej|değil)(?:[ \n]+(?:again|any[ \n]?more|mehr|wieder|meer|más))?'
        '[.,;:!?)]');

COMMENT ON FUNCTION rag._parts_denial IS
$$Whether a negation with which its clause ends follows a quotation (Das gilt nicht mehr.).$$;


CREATE OR REPLACE FUNCTION rag._is_whole(
    original text, start integer, stop integer, form text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- 16 characters beside it tell what it is cut from; a dash behind four letters is no hyphen
    _slice text := substr(original, start + 1, stop - start);
    _before text := substr(original, greatest(0, start - 48) + 1, least(start, 48));
    _after text := substr(original, stop + 1, 48);
    _begins CONSTANT boolean := right(_before, 16) || E'\x03' || left(_slice, 16) ~ (
        '^(?:|' || rag._prose() || '(?:[' || rag._prose_letter() || E'.,;:!?][ \n]|['
        || rag._prose_letter() || E']{4}(?:\u2014[ \n]?|--))["(\u00AB\u201C-\u201E]?)'
        '\x03(?![A-Z]{2}|[B-HJ-Z\u00C0-\u00DE\u0391-\u03A9\u03F4\u0410-\u042F][ \n])['
        || rag._prose_letter() || '](?![.])'
        || rag._prose() || '$');
    _ends CONSTANT boolean := right(_slice, 16) || E'\x03' || left(_after, 16) ~ (
        '^' || rag._prose() || '(?:[' || rag._prose_letter()
        || E'][.,;:!?]*\x03[.,;:!?]*["\u00BB\u201C\u201D)]?(?:|[ \n]+(?![A-Z]{2})['
        || rag._prose_letter() || ']{2}' || rag._prose() || ')|[' || rag._prose_letter()
        || E']{4}\x03(?:\u2014[.,;:!?]*|(?:\u2014[ \n]?|--)["(\u201C]?(?![A-Z]{2})['
        || rag._prose_letter() || ']' || rag._prose() || '))$');
    _width integer := 48;
    _parts text[];
    _edge text;
    _shape text;
    _is_cut boolean;
BEGIN
    -- a statement each: what is not executed is not prepared
    IF rag._parts_numeral(right(_slice, 24), left(_after, 24), true)
        OR rag._parts_numeral(rtrim(right(_before, 24), E' \n'),  -- two hundred, before its blank
            substr(_before, length(rtrim(_before, E' \n')) + 1) || left(_slice, 24), false)
        AND _before COLLATE "C" !~* E'\\m(?:une?|eine?)[ \n]+$'  -- a Viertel is one
        OR rag._parts_denial(_after)
        OR (right(_slice, 3) IN ('von', 'van', ' de')
                OR ascii(ltrim(_after, ' ,.')) BETWEEN 65 AND 90)
            AND rag._parts_person(right(_slice, 24), left(_after, 24))
        OR ascii(_slice) BETWEEN 65 AND 90
            AND rag._parts_person(right(_before, 24), left(_slice, 24))
        OR left(_after, 1) = '.' AND ascii(right(_slice, 1)) BETWEEN 65 AND 90  -- E. coli
            AND right(_slice, 2) ~ E'(?:^|\\W)[A-Z]$' AND _after ~ E'^[.][ \n]+[a-z]'
        OR ascii(right(_slice, 1)) BETWEEN 65 AND 72 AND left(right(_slice, 2), 1) = ' '  -- C minor
            AND strpos(' minor major sharp flat dur moll majeur mineur mayor menor maggiore'
                ' minore ', ' ' || rtrim(split_part(ltrim(_after), ' ', 1), '.,;:!?)') || ' ') > 0
        OR right(_slice, 3) LIKE ':__' AND _after ~ '^ [A-Z]{3,4}([^A-Za-z]|$)'  -- 18:00 EST
        OR left(_after, 1) = '!' AND _after ~ E'^![ \n]+[a-z]'  -- Yahoo! is, n! for
            AND right(_slice, 24) ~ E'[^\\w](?:[A-Z]\\w*|[a-z])$' THEN
        RETURN false;
    ELSIF form IS NULL AND _begins AND _ends THEN
        RETURN true;
    END IF;
    IF NOT _begins THEN
        IF right(_before, 2) = ' -'  -- a flag: -v
                AND _slice ~ E'^[b-df-hj-np-tv-xz]{1,2}(?![\\w''’-])'
            OR rag._parts_formula(right(_before, 2) || E'\x03' || left(_slice, 4))
            OR rag._parts_equation(right(_before, 24) || E'\x03' || left(_slice, 24))
            OR rag._parts_name(right(_before, 24), left(_slice, 32)) THEN
            RETURN false;
        END IF;
    END IF;
    IF NOT _ends THEN
        IF left(_after, 2) IN ('()', '!(', '[0', '[-', '[:', '''(', '’(', '′(')
            OR rag._parts_formula(right(_slice, 2) || E'\x03' || left(_after, 4))
            OR rag._parts_equation(right(_slice, 24) || E'\x03' || left(_after, 24))
            OR rag._parts_name(right(_slice, 24), left(_after, 32)) THEN
            RETURN false;
        END IF;
    END IF;
    IF form IS NULL AND length(_slice) > 160 THEN
        _slice := left(_slice, 60) || E'\n' || right(_slice, 100);
    END IF;
    LOOP
        IF strpos('0123456789$', left(_slice, 1)) > 0 AND right(_before, 1) IN (' ', E'\t')
            AND strpos('-*+>', right(rtrim(_before, E' \t'), 1)) > 0 THEN
            -- the mark of a list or of a block quote is no sign
            _before := regexp_replace(
                substr(original, greatest(0, start - 400) + 1, least(start, 400)),
                E'(^|\\n[\\t ]*\\n|[.:;!?][\\t ]*\\n|(^|\\n)[\\t >]*[-*+>][\\t ][^\\n]*\\n)'
                '[\\t >]*[-*+>][\\t ]+$', E'\\1');
        END IF;
        IF left(_after, 2) = '](' THEN  -- behind the text of a link
            _after := regexp_replace(_after, E'^\\]\\([^ ()]*[/#.:][^ ()]*(?:[)]|$)', '');
        END IF;
        _parts := string_to_array(
            rag._quote_form(_before || E'\x03' || _slice || E'\x03' || _after), E'\x03');
        EXIT WHEN (_width >= start OR length(_parts[1]) >= 16)
            AND (_width >= length(original) - stop OR length(_parts[3]) >= 16);
        _width := _width * 8;
        _before := substr(original, greatest(0, start - _width) + 1, least(start, _width));
        _after := substr(original, stop + 1, _width);
    END LOOP;
    IF coalesce(_parts[2] <> form, false) AND NOT rag._is_same_form(_parts[2], form) THEN
        RETURN false;
    END IF;
    IF NOT _begins THEN
        _edge := right(_parts[1], 24) || E'\x03' || left(_parts[2], 24);
        _shape := rag._quote_shape(_edge);
        _is_cut := rag._parts_token(_shape) OR rag._parts_words(_edge)
            OR right(_parts[1], 1) NOT IN ('', ' ') AND rag._is_mark(_parts[2]);
        IF strpos(_shape, '0') > 0 THEN
            _is_cut := (_is_cut
                -- ,5 is a number, and 5' are feet
                OR _shape LIKE E'%_\x03,0%' AND strpos(_shape, E' \x03,0') = 0
                OR strpos(_shape, E'0\x03''') > 0
                OR rag._parts_figures(_edge)
                OR rag._parts_amount(right(_before, 16), left(_slice, 16)))
                AND NOT rag._parts_rows(original, start);
        END IF;
        IF _is_cut THEN
            RETURN false;
        END IF;
    END IF;
    IF NOT _ends THEN
        _edge := right(_parts[2], 24) || E'\x03' || left(_parts[3], 24);
        _shape := rag._quote_shape(_edge);
        _is_cut := rag._ends_inside(_edge, _shape, _parts[2]) OR rag._parts_words(_edge)
            OR rag._is_mark(_parts[3])
            -- of numbers that are one character only raised ones are marks of notes: not those of
            -- formulas, fractions, circled ones
            OR strpos(_shape, E'\x03^') > 0 AND strpos(_shape, E'U\x03^') = 0
                AND (ascii(_after) > 8319 OR ascii(_after) BETWEEN 188 AND 190)
                AND strpos(' .:;!?"''', right(_parts[2], 1)) = 0;
        IF strpos(_shape, '0') > 0 THEN
            _is_cut := (_is_cut OR rag._parts_figures(_edge)
                OR rag._parts_amount(right(_slice, 16), left(_after, 16)))
                AND NOT rag._parts_rows(original, stop);
        END IF;
        RETURN NOT _is_cut;
    END IF;
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag._is_whole IS
$$Whether the run of a text (without the character 3) from start to stop begins and ends between the
tokens of the text and, where one is given, has that form.

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
