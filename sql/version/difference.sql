-- The difference between two texts, line by line.

CREATE OR REPLACE FUNCTION rag._increasing(numbers integer[])
RETURNS integer[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _tails integer[] := '{}';       -- positions: the least last number of a run of each length
    _before integer[] := '{}';      -- the position that comes before each one in its run
    _low integer;
    _high integer;
    _middle integer;
    _run integer[] := '{}';
    _position integer;
BEGIN
    FOR _position IN 1..cardinality(numbers) LOOP
        _low := 1;
        _high := cardinality(_tails) + 1;
        WHILE _low < _high LOOP
            _middle := (_low + _high) / 2;
            IF numbers[_tails[_middle]] < numbers[_position] THEN
                _low := _middle + 1;
            ELSE
                _high := _middle;
            END IF;
        END LOOP;
        _before[_position] := CASE WHEN _low > 1 THEN _tails[_low - 1] END;
        _tails[_low] := _position;
    END LOOP;
    _position := _tails[cardinality(_tails)];
    WHILE _position IS NOT NULL LOOP
        _run := _position || _run;
        _position := _before[_position];
    END LOOP;
    RETURN _run;
END
$$;

COMMENT ON FUNCTION rag._increasing IS
$$The positions of a longest increasing run of numbers, in order (patience sorting).$$;


CREATE OR REPLACE FUNCTION rag._different_lines(before text, after text)
RETURNS TABLE (change text, old_line integer, new_line integer, line text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET enable_nestloop TO off  -- the planner knows nothing of how many lines there are
AS $$
DECLARE
    _old text[] := string_to_array(before, E'\n');
    _new text[] := string_to_array(after, E'\n');
    _anchors_old integer[];
    _anchors_new integer[];
    _run integer[];
    _number integer;
    _i integer := 1;        -- the next line of each text
    _j integer := 1;
    _to_old integer;        -- up to the next anchor, exclusive
    _to_new integer;
    _tail integer;
BEGIN
    -- Anchors: lines that stand once in either text, in the order that most of them have (Bram
    -- Cohen's patience diff).
    SELECT array_agg(o.number ORDER BY o.number), array_agg(n.number ORDER BY o.number)
    INTO _anchors_old, _anchors_new
    FROM (SELECT u.line, min(u.number)::integer AS number
          FROM unnest(_old) WITH ORDINALITY AS u (line, number)
          GROUP BY u.line HAVING count(*) = 1) AS o
    JOIN (SELECT u.line, min(u.number)::integer AS number
          FROM unnest(_new) WITH ORDINALITY AS u (line, number)
          GROUP BY u.line HAVING count(*) = 1) AS n ON n.line = o.line;
    _run := CASE WHEN _anchors_new IS NULL THEN '{}'::integer[]
        ELSE rag._increasing(_anchors_new) END;
    FOR _number IN 1..cardinality(_run) + 1 LOOP
        _to_old := coalesce(_anchors_old[_run[_number]], cardinality(_old) + 1);
        _to_new := coalesce(_anchors_new[_run[_number]], cardinality(_new) + 1);
        -- Between two anchors: what is equal at the beginning and at the end is kept.
        WHILE _i < _to_old AND _j < _to_new AND _old[_i] = _new[_j] LOOP
            RETURN QUERY SELECT '=', _i, _j, _old[_i];
            _i := _i + 1;
            _j := _j + 1;
        END LOOP;
        _tail := 0;
        WHILE _to_old - _tail > _i AND _to_new - _tail > _j
            AND _old[_to_old - _tail - 1] = _new[_to_new - _tail - 1] LOOP
            _tail := _tail + 1;
        END LOOP;
        WHILE _i < _to_old - _tail LOOP
            RETURN QUERY SELECT '-', _i, NULL::integer, _old[_i];
            _i := _i + 1;
        END LOOP;
        WHILE _j < _to_new - _tail LOOP
            RETURN QUERY SELECT '+', NULL::integer, _j, _new[_j];
            _j := _j + 1;
        END LOOP;
        -- the equal end, and the anchor itself
        WHILE _i < _to_old OR (_i = _to_old AND _i <= cardinality(_old)) LOOP
            RETURN QUERY SELECT '=', _i, _j, _old[_i];
            _i := _i + 1;
            _j := _j + 1;
        END LOOP;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag._different_lines IS
$$The lines of both texts in order: = stands in both, - in the first, + in the second alone.$$;


CREATE OR REPLACE FUNCTION rag.diff_versions(collection text, uri text, old_version integer,
    new_version integer, context_lines integer DEFAULT 3)
RETURNS TABLE (change text, old_line integer, new_line integer, line text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _old text := rag._version_text(diff_versions.collection, diff_versions.uri, old_version);
    _new text := rag._version_text(diff_versions.collection, diff_versions.uri, new_version);
BEGIN
    IF context_lines < 0 THEN
        RAISE EXCEPTION 'context_lines is %', context_lines
        USING ERRCODE = 'RG001', HINT = 'use 0 and more, or NULL for all lines';
    END IF;
    RETURN QUERY
    SELECT x.change, x.old_line, x.new_line, x.line
    FROM (
        SELECT d.*, d.number - max(d.number) FILTER (WHERE d.change <> '=')
                OVER (ORDER BY d.number) AS since,
            -- in this direction no row is looked at again for each one before it
            min(d.number) FILTER (WHERE d.change <> '=')
                OVER (ORDER BY d.number DESC) - d.number AS until
        FROM rag._different_lines(_old, _new) WITH ORDINALITY
            AS d (change, old_line, new_line, line, number)
    ) AS x
    WHERE context_lines IS NULL OR x.since <= context_lines OR x.until <= context_lines
    ORDER BY x.number;
END
$$;

COMMENT ON FUNCTION rag.diff_versions IS
$$How two versions of a document differ, line by line: = stands in both, - in the old one alone, +
in the new one alone; no row where they are equal.

context_lines: equal lines shown beside each change; NULL: all. Error RG002 for a version that is
not kept.
Circle: application, History.
SELECT change, line FROM rag.diff_versions('docs', 'd1', 1, 1)$$;
