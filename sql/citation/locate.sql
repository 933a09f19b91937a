-- Where a quotation stands in a text.

CREATE OR REPLACE FUNCTION rag._skeleton_offset(
    original text, skeleton_length integer, skeleton_offset integer, guess integer DEFAULT 0)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _left integer := skeleton_offset;
    -- how many characters of the text are surely no more than one of its skeleton, as a rule
    _ratio CONSTANT double precision :=
        least(1, length(original) / greatest(1, skeleton_length)::double precision);
    _start integer := 0;
    _step integer := CASE WHEN guess > 0 THEN guess ELSE greatest(1, _left * _ratio) END;
    _count integer;
BEGIN
    WHILE _start + _step <= length(original) OR _step > 1 LOOP
        _count := length(rag._quote_skeleton(substr(original, _start + 1, _step)));
        IF _count > _left OR _start + _step > length(original) THEN
            EXIT WHEN _step = 1;
            _step := _step / 2;
        ELSE
            _start := _start + _step;
            _left := _left - _count;
            _step := CASE WHEN _count = 0 THEN 2 * _step ELSE greatest(1, _left * _ratio) END;
        END IF;
    END LOOP;
    RETURN _start;
END
$$;

COMMENT ON FUNCTION rag._skeleton_offset IS
$$The offset, from 0, of the character of a text that stands at an offset of its skeleton. guess:
where it may stand, for which less has to be brought to its skeleton.$$;


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

COMMENT ON FUNCTION rag._same_start IS
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
    _known integer := 0;  -- how far a run reaches that was found
BEGIN
    run_start := 0;
    run_length := 0;
    -- A run of 85 % has the middle 70 % in it, a shorter one of 25 % an eighth.
    FOR _piece IN 0..8 LOOP
        IF _piece = 0 THEN
            _first := least(ceil(_length * 0.15), (_length - 1) / 2);
            _part := greatest(1, _length - 2 * _first);
        ELSE
            EXIT WHEN run_length > 0.5 * _length OR _length < 16 OR _length > 2000;
            _part := _length / 8;
            _first := (_piece - 1) * _part;
            CONTINUE WHEN _first + _part <= _known;
        END IF;
        _probe := substr(quoted, _first + 1, _part);
        _from := 0;
        FOR _try IN 1..4 LOOP
            _at := strpos(CASE WHEN _from = 0 THEN skeleton ELSE substr(skeleton, _from + 1) END,
                _probe);
            EXIT WHEN _at = 0;
            _at := _from + _at - 1;
            _before := rag._same_start(
                reverse(substr(skeleton, greatest(0, _at - _first) + 1, least(_at, _first))),
                reverse(left(quoted, _first)));
            _after := rag._same_start(
                substr(skeleton, _at + _part + 1, _length - _first - _part),
                substr(quoted, _first + _part + 1));
            _known := greatest(_known, _first + _part + _after);
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

COMMENT ON FUNCTION rag._longest_run IS
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
    -- Taken out of its storage once; 3 is the edge of a quotation.
    _original text := rag._decode_entities(replace(original, E'\x03', E'\x04'));
    _quote text;
    _core text;
    _quoted text;
    _skeleton text;
    _form text;
    _lead integer;  -- characters of the quotation before its core
    _long_enough boolean;
    _tries integer;
    _from integer;
    _at integer;
    _cuts int8range[] := '{}';  -- places that are cut from a token
    _run record;
BEGIN
    status := 'fabricated';
    similarity := 0;
    IF octet_length(quote) > 4 * octet_length(_original) + 4000 THEN
        RETURN;
    END IF;
    _quote := rag._decode_entities(replace(quote, E'\x03', E'\x04'));
    IF strpos(_original, '>') > 0 AND _original ~ E'(?:^|\n)[ \t]*>[^\n]*\n[ \t]*>' THEN
        _original := rag._unmark_lines(_original, false);
        _quote := rag._unmark_lines(_quote, true);
    END IF;
    _original := rag._bound_marks(_original);
    _quote := btrim(rag._bound_marks(_quote),
        E' \t\n\r\u00A0\u200B\u2060\uFEFF');
    _core := rag._quote_core(_quote);
    -- the full stop of U.S., which ends no sentence, and the mark of Yahoo!
    IF right(_core, 2) LIKE '._' AND ascii(right(_core, 1)) > 64
            AND strpos(_quote, _core || '.') > 0 AND strpos(_original, right(_core, 4) || '.') > 0
        OR strpos(_quote, _core || '!') > 0 AND strpos(_original, right(_core, 4) || '!') > 0 THEN
        _core := _core || substr(_quote, strpos(_quote, _core) + length(_core), 1);
    END IF;
    _quoted := rag._quote_skeleton(_core);
    -- White space and invisible characters prove nothing.
    _long_enough := length(_core) >= 12
        AND (length(_quoted) >= 12 OR length(rag._quote_form(left(_core, 200))) >= 12);
    _lead := CASE WHEN _core <> _quote THEN strpos(_quote, _core) - 1 END;
    _tries := CASE WHEN length(_core) <= 400 THEN 16 ELSE 4 END;
    -- As it stands; what stands around it may belong to it (5').
    _from := 0;
    FOR _try IN 1..CASE WHEN _long_enough THEN _tries ELSE 0 END LOOP
        _at := strpos(substr(_original, _from + 1), _core);
        EXIT WHEN _at = 0;
        start := _from + _at - 1;
        stop := start + length(_core);
        IF rag._is_whole(_original, start, stop) THEN
            status := 'exact';
        END IF;
        _cuts := _cuts || int8range(start, stop);
        _from := start + 1;
        IF _lead >= 0 AND substr(_original, start - _lead + 1, length(_quote)) = _quote THEN
            start := start - _lead;
            stop := start + length(_quote);
            IF status <> 'exact' AND rtrim(_quote, ' .,;:!?') <> _core
                AND rag._is_whole(_original, start, stop) THEN
                status := 'exact';
            END IF;
        END IF;
        IF status = 'exact' THEN
            similarity := 1;
            RETURN;
        END IF;
    END LOOP;
    start := NULL;
    stop := NULL;
    IF _quoted = '' THEN
        RETURN;
    END IF;
    _skeleton := rag._quote_skeleton(_original);
    _from := 0;
    FOR _try IN 1.._tries LOOP
        _at := strpos(substr(_skeleton, _from + 1), _quoted);
        EXIT WHEN _at = 0;
        _at := _from + _at - 1;
        IF _from = 0 AND _cuts <> '{}' AND strpos(substr(_skeleton, _at + 2), _quoted) = 0 THEN
            start := lower(_cuts[cardinality(_cuts)]);  -- it stands nowhere else
            stop := upper(_cuts[cardinality(_cuts)]);
        ELSE
            start := rag._skeleton_offset(_original, length(_skeleton), _at,
                strpos(_original, left(_core, 8)) - 1);
            stop := start + 1 + rag._skeleton_offset(substr(_original, start + 1),
                length(_skeleton) - _at, length(_quoted) - 1,
                strpos(substr(_original, start + 1), right(_core, 8)) + 6);
        END IF;
        IF _long_enough AND int8range(start, stop) <> ALL (_cuts) THEN
            _form := rag._quote_form(_core);
            IF left(_form, 1) = '-' AND substr(_original, start, 1) ~ rag._dash() THEN
                start := start - 1;  -- the sign of a number, which no skeleton has
            END IF;
            IF rag._is_whole(_original, start, stop, _form) THEN
                status := 'normalised';
                similarity := 1;
                RETURN;
            END IF;
        END IF;
        status := 'partial';
        similarity := 1 - 1.0 / (length(_quoted) + 1);
        _from := _at + 1;
    END LOOP;
    IF status = 'partial' THEN
        RETURN;
    END IF;
    _run := rag._longest_run(_skeleton, _quoted);
    similarity := _run.run_length::double precision / length(_quoted);
    IF similarity >= 0.85 AND _run.run_length > 0 THEN
        status := 'partial';
        start := rag._skeleton_offset(_original, length(_skeleton), _run.run_start);
        stop := start + 1 + rag._skeleton_offset(substr(_original, start + 1),
            length(_skeleton) - _run.run_start, _run.run_length - 1);
    END IF;
END
$$;

COMMENT ON FUNCTION rag._locate_quote IS
$$Where a quotation stands in a text: exact, normalised (rag._quote_form of both is the same),
partial (at least 85 % of it in one run, or all of it with another space, hyphen or sign, cut out of
a word or a number, or under 12 characters), or fabricated.

start, stop: offsets of the run in the text, from 0, NULL for fabricated. similarity: the share of
the longest run. What stands around the quotation is put aside: rag._quote_core.$$;


CREATE OR REPLACE FUNCTION rag._holds_quote(original text, quote text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN original IS NOT NULL
    THEN (rag._locate_quote(original, quote)).status IN ('exact', 'normalised') END;

COMMENT ON FUNCTION rag._holds_quote IS
$$Whether a quote is proven by a text; NULL where there is no text.
Circle: client.$$;
