-- Where a quotation stands in a text.

CREATE OR REPLACE FUNCTION rag._cuts_word(before text, quoted text, after text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- Korean has spaces between words (Unicode Standard Annex 29 has no word boundary in Hangul).
    _word CONSTANT text := left(rag._word_character(), -1) || E'\\uAC00-\\uD7A3]';
    _first CONSTANT text := left(quoted, 1);
    _last CONSTANT text := right(quoted, 1);
BEGIN
    IF _first ~ _word AND before ~ (_word || E'[_\\u2010\\u2011-]?$') THEN
        RETURN true;
    ELSIF _last ~ _word AND after ~ (E'^([''’_\\u2010\\u2011-]?' || _word || E'|['
        '\\u0300-\\u036F])') THEN
        RETURN true;
    ELSIF _first ~ '[0-9]' AND before ~ (
        E'([+\\u00B1\\u2010-\\u2015\\u2212-]|[<>~≈≤≥±][\\x20\\u00A0]?|[0-9][.,:/]|(^|['
        '\\x09-\\x20])[.,])$') THEN
        RETURN true;
    ELSIF _first ~ '[0-9]' AND before ~ E'[0-9][\\x20\\u00A0\\u2009\\u202F]$'
        AND quoted ~ '^[0-9]{3}([^0-9]|$)' THEN
        RETURN true;
    ELSIF _last ~ '[0-9]' AND after ~ (
        E'^([.,:/\\u2010-\\u2015\\u2212-][0-9]|[\\x20\\u00A0\\u2009\\u202F]?[%\\u2030\\u00B0]'
        '|[\\x20\\u00A0\\u2009\\u202F][0-9]{3}([^0-9]|$))') THEN
        RETURN true;
    END IF;
    RETURN false;
END
$$;

COMMENT ON FUNCTION rag._cuts_word(text, text, text) IS
$$Whether a quotation begins or stops inside a word, a compound or a number, or without its sign or
per cent: 5 % is not quoted from 15 %, smoker not from non-smoker.

before, after: the characters beside it, 12 are enough. Scripts without spaces between words have no
such places but in numbers.$$;


CREATE OR REPLACE FUNCTION rag._skeleton_blocks(
    original text, OUT skeletons text[], OUT starts integer[])
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    block_bytes CONSTANT integer := 1000;
    _bytes CONSTANT bytea := convert_to(original, 'UTF8');  -- a character is found by counting
    _size CONSTANT integer := octet_length(_bytes);
    _first integer := 0;
    _next integer;
    _block text;
    _start integer := 0;
BEGIN
    skeletons := '{}';
    starts := '{0}';
    WHILE _first < _size LOOP
        _next := least(_first + block_bytes, _size);
        WHILE _next < _size AND get_byte(_bytes, _next) & 192 = 128 LOOP  -- inside a character
            _next := _next + 1;
        END LOOP;
        _block := convert_from(substr(_bytes, _first + 1, _next - _first), 'UTF8');
        _start := _start + length(_block);
        skeletons := array_append(skeletons, rag._quote_skeleton(_block));
        starts := array_append(starts, _start);
        _first := _next;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._skeleton_blocks(text) IS
$$A text in blocks of about 1,000 bytes: the skeleton of each, in order, and the offset, from 0, of
the character that each begins with; the last one is the length of the text.$$;


CREATE OR REPLACE FUNCTION rag._skeleton_offset(
    original text, skeletons text[], starts integer[], skeleton_offset integer)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _left integer := skeleton_offset;
    _number integer := 1;
    _skeleton text;
    _start integer;
    _first integer;
    _size integer;
    _half integer;
    _count integer;
    _block text;
BEGIN
    FOREACH _skeleton IN ARRAY skeletons LOOP
        EXIT WHEN length(_skeleton) > _left;
        _left := _left - length(_skeleton);
        _number := _number + 1;
    END LOOP;
    _start := starts[_number];
    _size := starts[_number + 1] - _start;
    _block := substr(original, _start + 1, _size);
    _first := _start;
    WHILE _size > 1 LOOP
        _half := _size / 2;
        _count := length(rag._quote_skeleton(substr(_block, _start - _first + 1, _half)));
        IF _count > _left THEN
            _size := _half;
        ELSE
            _left := _left - _count;
            _start := _start + _half;
            _size := _size - _half;
        END IF;
    END LOOP;
    RETURN _start;
END
$$;

COMMENT ON FUNCTION rag._skeleton_offset(text, text[], integer[], integer) IS
$$The offset, from 0, of the character of a text that stands at an offset of its skeleton.
skeletons, starts: rag._skeleton_blocks of the text.$$;


CREATE OR REPLACE FUNCTION rag._same_start(one text, other text)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _same integer := 0;
    _upto integer := least(length(one), length(other));
    _half integer;
BEGIN
    WHILE _same < _upto LOOP
        _half := (_same + _upto + 1) / 2;
        IF substr(one, _same + 1, _half - _same) = substr(other, _same + 1, _half - _same) THEN
            _same := _half;
        ELSE
            _upto := _half - 1;
        END IF;
    END LOOP;
    RETURN _same;
END
$$;

COMMENT ON FUNCTION rag._same_start(text, text) IS
$$How many characters two texts have in common from their beginning.$$;


CREATE OR REPLACE FUNCTION rag._longest_run(
    skeleton text, quoted text, OUT run_start integer, OUT run_length integer)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _length CONSTANT integer := length(quoted);
    _part integer;
    _first integer;
    _at integer;
    _from integer;
    _before integer;
    _after integer;
    _probe text;
    _piece integer;
BEGIN
    run_start := 0;
    run_length := 0;
    -- A run of 85 % has the middle 70 % in it, a shorter one of 25 % an eighth.
    FOR _piece IN 0..8 LOOP
        IF _piece = 0 THEN
            _first := ceil(_length * 0.15);
            _part := greatest(1, _length - 2 * _first);
        ELSE
            EXIT WHEN run_length > 0.5 * _length OR _length < 16 OR _length > 2000;
            _part := _length / 8;
            _first := (_piece - 1) * _part;
        END IF;
        _probe := substr(quoted, _first + 1, _part);
        _from := 0;
        FOR _try IN 1..4 LOOP
            _at := strpos(substr(skeleton, _from + 1), _probe);
            EXIT WHEN _at = 0;
            _at := _from + _at - 1;
            _before := rag._same_start(
                reverse(substr(skeleton, greatest(0, _at - _first) + 1, least(_at, _first))),
                reverse(left(quoted, _first)));
            _after := rag._same_start(
                substr(skeleton, _at + _part + 1, _length - _first - _part),
                substr(quoted, _first + _part + 1));
            IF _before + _part + _after > run_length THEN
                run_start := _at - _before;
                run_length := _before + _part + _after;
            END IF;
            EXIT WHEN run_length >= _length OR _piece > 0 OR _length > 2000;
            _from := _at + 1;
        END LOOP;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._longest_run(text, text) IS
$$The longest contiguous part of a quotation's skeleton that stands in a text's: its offset there,
from 0, and its length; 0 for none.

Sure for a part of 85 % whose middle stands at no more than 4 places of the text; of shorter parts,
one that holds an eighth of the quotation is found where there is one. Of quotations above 2,000
characters only the first place is looked at.$$;


CREATE OR REPLACE FUNCTION rag._locate_quote(
    original text, quote text,
    OUT status text, OUT start integer, OUT stop integer, OUT similarity double precision)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _original CONSTANT text := original || '';  -- taken out of its storage once
    _quote text;
    _quoted text;
    _blocks record;
    _skeleton text;
    _slice text;
    _form text;
    _other text;
    _long_enough boolean;
    _from integer;
    _at integer;
    _run record;
BEGIN
    status := 'fabricated';
    similarity := 0;
    IF octet_length(quote) > 4 * octet_length(_original) + 4000 THEN
        RETURN;
    END IF;
    _quote := btrim(quote, E' \t\r\n\f\v');
    IF strpos(_original, _quote) = 0 THEN
        _quote := regexp_replace(_quote,
            E'^["''\\x01-\\x20\\u00A0\\u00AB\\u00BB\\u2018-\\u201F\\u2026]+', '');
        _quote := regexp_replace(_quote,
            E'["''\\x01-\\x20\\u00A0\\u00AB\\u00BB\\u2018-\\u201F\\u2026]+$', '');
    END IF;
    -- White space and invisible characters prove nothing.
    _long_enough := length(_quote) >= 12 AND length(rag._quote_form(left(_quote, 200))) >= 12;
    -- As it stands: the untouched quotation, or what is between its quotation marks.
    _from := 0;
    FOR _try IN 1..4 LOOP
        EXIT WHEN NOT _long_enough;
        _at := strpos(substr(_original, _from + 1), _quote);
        EXIT WHEN _at = 0;
        _at := _from + _at - 1;
        IF NOT rag._cuts_word(substr(_original, greatest(0, _at - 12) + 1, least(_at, 12)), _quote,
            substr(_original, _at + length(_quote) + 1, 12)) THEN
            status := 'exact';
            start := _at;
            stop := _at + length(_quote);
            similarity := 1;
            RETURN;
        END IF;
        _from := _at + 1;
    END LOOP;
    _quote := rtrim(_quote, '.,;:');
    _quoted := rag._quote_skeleton(_quote);
    IF _quoted = '' THEN
        RETURN;
    END IF;
    _blocks := rag._skeleton_blocks(_original);
    _skeleton := array_to_string(_blocks.skeletons, '');
    _from := 0;
    FOR _try IN 1..4 LOOP
        _at := strpos(substr(_skeleton, _from + 1), _quoted);
        EXIT WHEN _at = 0;
        _at := _from + _at - 1;
        start := rag._skeleton_offset(_original, _blocks.skeletons, _blocks.starts, _at);
        stop := rag._skeleton_offset(_original, _blocks.skeletons, _blocks.starts,
            _at + length(_quoted) - 1) + 1;
        _slice := substr(_original, start + 1, stop - start);
        _form := coalesce(_form, rag._quote_form(_quote));
        _other := rag._quote_form(_slice);
        IF _long_enough AND length(_quote) >= 12
            AND (_other = _form OR rag._is_divided(_other, _form) OR rag._is_divided(_form, _other))
            AND NOT rag._cuts_word(substr(_original, greatest(0, start - 12) + 1, least(start, 12)),
                _slice, substr(_original, stop + 1, 12)) THEN
            status := 'normalised';
            similarity := 1;
            RETURN;
        END IF;
        status := 'partial';
        similarity := 1 - 1.0 / (length(_quoted) + 1);
        _from := _at + 1;
    END LOOP;
    IF status = 'partial' THEN
        RETURN;
    END IF;
    SELECT r.* INTO _run FROM rag._longest_run(_skeleton, _quoted) AS r;
    similarity := _run.run_length::double precision / length(_quoted);
    IF similarity >= 0.85 AND _run.run_length > 0 THEN
        status := 'partial';
        start := rag._skeleton_offset(_original, _blocks.skeletons, _blocks.starts, _run.run_start);
        stop := rag._skeleton_offset(_original, _blocks.skeletons, _blocks.starts,
            _run.run_start + _run.run_length - 1) + 1;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._locate_quote(text, text) IS
$$Where a quotation stands in a text: exact, normalised (rag._quote_form of both is the same),
partial (at least 85 % of it in one run, or all of it with another space, hyphen or sign, cut out of
a word or a number, or under 12 characters), or fabricated.

start, stop: offsets of the run in the text, from 0, NULL for fabricated. similarity: the share of
the longest run. Quotation marks and
ellipses around the quotation are put aside, and a full stop or comma that ends it.$$;


CREATE OR REPLACE FUNCTION rag._is_divided(divided text, whole text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN strpos(divided, E'\x02') > 0
    AND length(divided) - length(replace(divided, E'\x02', '')) <= 100
    AND whole LIKE replace(replace(replace(replace(divided, '\', '\\'), '%', '\%'), '_', '\_'),
        E'\x02', '%');

COMMENT ON FUNCTION rag._is_divided(text, text) IS
$$Whether two forms of rag._quote_form with the same skeleton differ only where a word of the first
is divided at the end of a line: the other has a hyphen there, or none.$$;
