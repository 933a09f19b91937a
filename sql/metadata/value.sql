-- Values as results show them: points in time in UTC, and their parts.

CREATE OR REPLACE FUNCTION rag._utc_text(moment timestamptz)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (to_jsonb(moment AT TIME ZONE 'UTC') #>> '{}') ||
    CASE WHEN isfinite(moment) THEN 'Z' ELSE '' END;

COMMENT ON FUNCTION rag._utc_text IS
$$A point in time as ISO 8601 in UTC, whatever the session's time zone: 2024-02-29T12:30:00Z.$$;


CREATE OR REPLACE FUNCTION rag._date_value(moment timestamptz)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_jsonb(regexp_replace(rag._utc_text(moment), 'T00:00:00Z$', ''));

COMMENT ON FUNCTION rag._date_value IS
$$A date of metadata as JSON, as a filter takes it: 2024-02-29 for the midnight of a day in UTC.$$;


CREATE OR REPLACE FUNCTION rag._date_part(part text, moment timestamp)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN NOT isfinite(moment) THEN NULL
    WHEN part = 'year' THEN to_jsonb(date_part('year', moment)::integer)
    WHEN part = 'weekday' THEN to_jsonb(date_part('isodow', moment)::integer)
    ELSE to_jsonb(to_char(moment, CASE part
        WHEN 'quarter' THEN 'YYYY-"Q"Q' WHEN 'month' THEN 'YYYY-MM' WHEN 'week' THEN 'IYYY-"W"IW'
        WHEN 'day' THEN 'YYYY-MM-DD' ELSE 'YYYY-MM-DD"T"HH24' END)) END;

COMMENT ON FUNCTION rag._date_part IS
$$A part of a date: year (2024), quarter (2024-Q1), month (2024-02), week (2024-W09, ISO 8601), day
(2024-02-29), hour (2024-02-29T12) or weekday (1 Monday to 7 Sunday). NULL for infinity.$$;


CREATE OR REPLACE FUNCTION rag._count_distinct(json_texts text[])
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT count(DISTINCT e.value) FILTER (WHERE e.value <> 'null')
        FROM (SELECT t::jsonb AS value FROM unnest(json_texts) AS t OFFSET 0) AS d,
        LATERAL jsonb_array_elements(CASE jsonb_typeof(d.value) WHEN 'array' THEN d.value
            ELSE jsonb_build_array(d.value) END) AS e);
END
$$;

COMMENT ON FUNCTION rag._count_distinct IS
$$How many distinct values of JSON there are, of an array each element, without nulls.

They come as texts, which sort quickly.$$;
