-- Where a quotation may begin and end in a row of figures: between two of them, and behind the row.

CREATE OR REPLACE FUNCTION rag._between_amounts(before text, after text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _next CONSTANT text := ltrim(after, E' \t\n|;\u00A0');
    _last CONSTANT text := rtrim(right(before, 40), E' \t\n|;\u00A0');
    _blanks text;
    _amount text;
BEGIN
    IF strpos('0123456789', right(_last, 1)) = 0
        OR strpos(E'0123456789$\u00A3\u20AC', left(_next, 1)) = 0
            AND strpos(right(before, 1) || left(after, 1), E'\n') = 0 THEN
        RETURN false;
    END IF;
    _blanks := E'[ \\t\u00A0|;]*';
    -- 46.22, 1,234.50, 1 234,50, €5.00
    _amount := E'[$\u00A3\u20AC]?'
        '(?:[0-9]{1,3}(?:[., ''\u2019\u00A0\u202F][0-9]{3})+|[0-9]+)[.,][0-9]{2}';
    RETURN right(before, 40) || E'\x03' || left(after, 40) ~ (
            -- 46.22 55.00, 12 5.00, no sign, other figure or unit beside which could be of both
            E'(?<![0-9.,])(?<![-+/x:=%~\u00B1\u00D7\u00F7\u2212\u2013] ?)(?:' || _amount
            || E'|[0-9]{1,4}(?=[^0-9]+[0-9]{1,2}[.,]))(?=[^0-9]*[ \\t\u00A0|;])'
            || _blanks || E'\x03' || _blanks || _amount || E'(?![0-9.,'']*[0-9]| ?[[:lower:]]'
            '| ?[-+/%*$\u00B0\u00B1\u00D7\u00F7\u2030\u2212\u2013\u00A3\u20AC])'
            -- the end of a line with several
            || E'|[0-9][ \\t\u00A0|;]' || _blanks || _amount || _blanks
            || E'(?:\x03' || _blanks || E'\\n|\\n' || _blanks || E'\x03)(?![[:lower:]])')
        AND strpos(rag._units() || rag._money(), ' ' || split_part(_next, ' ', 1) || ' ') = 0;
END
$$;

COMMENT ON FUNCTION rag._between_amounts IS
$$Whether the edge between two texts, as they stand, is between two figures of a row, neither of
which can be a part of the other: amounts with two decimals that blanks part (46.22 55.00), a whole
number and one below a hundred (12 5.00), or behind the last of several in a line, where no unit
follows.$$;
