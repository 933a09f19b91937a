-- How a quotation and its source are compared, whatever printing and copying change.

CREATE OR REPLACE FUNCTION rag._word_character()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '[0-9A-Za-z\u00AA\u00B2\u00B3\u00B5\u00B9\u00BA\u00BC-\u00BE\u00C0-\u00D6\u00D8-\u00F6'
    '\u00F8-\u037D\u037F-\u0386\u0388-\u0559\u0560-\u0588\u058B-\u05BD\u05BF\u05C1\u05C2\u05C4-'
    '\u05F2\u05F5-\u060B\u060D-\u061A\u061C-\u061E\u0620-\u0669\u066E-\u06D3\u06D5-\u0963\u0966-'
    '\u0DFF\u0F00-\u0FFF\u10A0-\u1360\u1369-\u177F\u1810-\u1FFF\u2070-\u209C\u2150-\u218B\u2C00-'
    '\u2DFF\u3099\u309A\uA490-\uABFF\uFB00-\uFDFF\uFE70-\uFEFC\uFF10-\uFF19\uFF21-\uFF3A\uFF41-'
    '\uFF5A]';

COMMENT ON FUNCTION rag._word_character IS
$$A regular expression for one character of a word or a number, in scripts that put spaces between
words; the same in every locale.$$;


CREATE OR REPLACE FUNCTION rag._quote_skeleton(original text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(original) = length(original)
    THEN lower(regexp_replace(replace(replace(original, ' ', ''), E'\n', ''),
        '[\x01-\x20\x7F*_`''-]+', '', 'g'))
    ELSE translate(lower(normalize(regexp_replace(regexp_replace(
        translate(original, 'İ ', 'i'),
        '[\x01-\x20*_`''\u007F-\u00A0\u00AD\u00B4\u02B9\u02BB-\u02BD\u034F\u055A\u058A\u05BE\u05F3'
        '\u061C\u115F\u1160\u1400\u1680\u17B4\u17B5\u1806\u180B-\u180F\u2000-\u2015\u2018-\u201B'
        '\u2028-\u202F\u2032\u2035\u2039\u203A\u2043\u205F-\u206F\u2212\u2E17\u2E1A\u2E3A\u2E3B'
        '\u2E40\u2E5D\u3000\u301C\u3030\u30A0\u3164\uA78C\uFE00-\uFE0F\uFE31\uFE32\uFE58\uFE63'
        '\uFEFF\uFF07\uFF0D\uFFA0\uFFF0-\uFFF8\U00010EAD\U0001BCA0-\U0001BCA3'
        '\U0001D173-\U0001D17A\U000E0000-\U000E0FFF-]+', '', 'g'),
        '[\u00AB\u00BB\u201C-\u201F\u2033\u2036\u301D-\u301F\uFF02]', '"', 'g'),
        NFKD)), 'ς ', 'σ')
    END;

COMMENT ON FUNCTION rag._quote_skeleton IS
$$A text without what printing and copying change: white space, dashes, hyphens, apostrophes, soft
hyphens, invisible characters and marks of emphasis are left out; double quotation marks are
straight, letters small, ligatures and other compatible characters apart (NFKD).

Every character is replaced by itself, so the skeleton of a text is that of its parts, one after the
other: this is how an offset in it is led back to the original. It says where a quotation may stand;
whether it does, rag._quote_form decides.$$;


CREATE OR REPLACE FUNCTION rag._quote_form(original text)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _unspaced CONSTANT text := rag._unspaced_letter();
    _katakana CONSTANT text := E'[\\u3099\\u309A\\u30A1-\\u30FA\\u30FC-\\u30FF]';
    _word CONSTANT text := rag._word_character();
    _no_letter CONSTANT text := rag._breaker() || '|' || rag._figure();
    _text text := original;
BEGIN
    IF octet_length(_text) > length(_text) THEN
        _text := regexp_replace(normalize(_text, NFC),
            E'[\x01\x02\x04-\x08\x0E-\x1B\\u007F-\\u0084\\u0086-\\u009F\\u034F\\u061C\\u115F\\u1160'
            '\\u17B4\\u17B5\\u180B-\\u180F\\u200B-\\u200F\\u202A-\\u202E\\u2060-\\u206F\\u3164'
            '\\uFE00-\\uFE0F\\uFEFF\\uFFA0\\uFFF0-\\uFFF8\\U0001BCA0-\\U0001BCA3'
            '\\U0001D173-\\U0001D17A\\U000E0000-\\U000E0FFF]+', '', 'g');
        -- a soft hyphen divides a word at the end of a line; elsewhere it is not seen
        IF strpos(_text, chr(173)) > 0 THEN
            _text := regexp_replace(_text,
                E'\\u00AD(?=\x03?[\\x09-\\x20\\u2028\\u2029])', '-', 'g');
        END IF;
        _text := regexp_replace(_text,
            E'[\\u058A\\u05BE\\u1400\\u1806\\u2010-\\u2015\\u2043\\u2212\\u2E17\\u2E1A\\u2E3A'
            '\\u2E3B\\u2E40\\u2E5D\\u301C\\u3030\\u30A0\\uFE31\\uFE32\\uFE58\\uFE63\\uFF0D'
            '\\U00010EAD]',
            '-', 'g');
        _text := regexp_replace(_text,
            E'[\\u0085\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000]', ' ', 'g');
        _text := regexp_replace(_text, E'[\\u00AB\\u00BB\\u201C-\\u201F\\u2033\\u2036'
            '\\u301D-\\u301F\\uFF02]',
            '"', 'g');
        _text := regexp_replace(_text, E'[\\u00B4\\u02B9\\u02BB-\\u02BD\\u055A\\u05F3'
            '\\u2018-\\u201B\\u2032\\u2035\\u2039\\u203A\\uA78C\\uFF07]',
            '''', 'g');
        _text := translate(_text, E'İ\u00AD', 'i');
    ELSIF _text ~ E'[\x01\x02\x04-\x08\x0E-\x1B\x7F]' THEN
        _text := regexp_replace(_text, E'[\x01\x02\x04-\x08\x0E-\x1B\x7F]', '', 'g');
    END IF;
    IF strpos(_text, '*') + strpos(_text, '_') + strpos(_text, '`') > 0 THEN
        _text := regexp_replace(_text,
            E'(?<=[^\\x01-\\x40\\x5B-\\x60])`(?=[^\\x01-\\x40\\x5B-\\x60])', '''', 'g');
        _text := replace(_text, '`', '');
        _text := regexp_replace(_text, E'(?<=[^0-9\\x09-\\x20*])\\*{2,3}(?=[^\\x09-\\x20*])'
            '|(?<=[^\\x09-\\x20*])\\*{2,3}(?=[^0-9\\x09-\\x20*])', '', 'g');
        -- not 2*3, nor file_size, nor 15*
        _text := regexp_replace(_text, '(^|(?!' || _word || E')[^*_])('
            '\\*{2,3}|_{2,3}|[*_](?![0-9]))'
            '(?=[^\\x09-\\x20*_])', E'\\1', 'g');
        _text := regexp_replace(_text, E'(?<=[^\\x09-\\x20*_])(\\*{2,3}|_{2,3}|(?<![0-9])[*_])'
            '(?=$|(?!' || _word || ')[^*_])', '', 'g');
    END IF;
    IF octet_length(_text) > length(_text) THEN
        -- 10² is not 102, 1½ not 11/2
        _text := regexp_replace(_text,
            E'([\\u00B2\\u00B3\\u00B9\\u00BC-\\u00BE\\u2070-\\u209C\\u2150-\\u215F\\u2189'
            '\\u2460-\\u249B'
            '\\u24EA-\\u24FF\\u2776-\\u2793\\u3192-\\u3195\\u3220-\\u3229\\u3248-\\u324F'
            '\\u3251-\\u325F\\u3280-\\u3289\\u32B1-\\u32BF\\U0001F100-\\U0001F10A]+)',
            E'\x01\\1\x01', 'g');
        _text := translate(lower(normalize(_text, NFKD)), 'ς', 'σ');
        _text := regexp_replace(_text,
            '(?<=' || _unspaced || E')[\\x09-\\x20]+(?![\\x09-\\x20\x03-])|(?<![\\x09-\\x20\x03-])['
            '\\x09-\\x20]+(?=' || _unspaced || ')|(?<=' || _katakana || E')[\\x09-\\x20]+(?='
            || _katakana || E')|(?<=[\\u1100-\\u11FF])[\\x09-\\x20]+(?=[\\u1100-\\u11FF])',
            '', 'g');
    ELSE
        _text := lower(_text);
    END IF;
    _text := regexp_replace(_text, E'[\\x09-\\x20]+', ' ', 'g');
    IF strpos(_text, '- ') > 0 THEN
        -- a word divided at the end of a line
        _text := CASE WHEN octet_length(_text) = length(_text)
            THEN regexp_replace(_text, E'(?<=[a-z])- (?=[a-z])', E'\x02', 'g')
            ELSE regexp_replace(_text,
                E'(?<=[^\\x01-\\x40\\x5B-\\x60\\x7B-\\x7F])(?<!' || _no_letter
                || E')- (?=[^\\x01-\\x40\\x5B-\\x60\\x7B-\\x7F])(?!' || _no_letter || ')',
                E'\x02', 'g') END;
    END IF;
    _text := regexp_replace(_text, E'(?<=[0-9]) (?=%)| (?=[;!?)\\]])| (?=[.,]([^0-9\x03]|$))'
        '| (?=:([ \x03]|$))|(?<=[(\\[]) ', '', 'g');
    IF strpos(_text, '"') > 0 THEN
        _text := replace(replace(_text, ' "', '"'), '" ', '"');
    END IF;
    RETURN btrim(_text);
END
$$;

COMMENT ON FUNCTION rag._quote_form IS
$$The form in which a quotation has to equal what its source says: small letters, one space for any
white space and none beside marks of punctuation, one kind of dash, apostrophe and quotation
mark, no marks of emphasis, no invisible character; the character 1 around raised digits and
fractions, 2 where a word is divided at the end of a line. The character 3 stays where it is: the
edge of a quotation.

Beside a number and between words a space, a hyphen and a sign count: 1 5 is not 15, -5 not 5, 10²
not 102.$$;
