-- Checks of rag.doctor: exposed views that are not what was exposed, or that one should know about.

CREATE OR REPLACE FUNCTION rag._check_views()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT 'exposed views', 'fail',
        format('view %L is not what was exposed: %s', v.name, p.problem),
        format('look at it, then SELECT rag.expose_view(%L, ...) again, or'
            ' SELECT rag.hide_view(%L)',
            format('%I.%I', v.schema_name, v.view_name), v.name)
    FROM rag.exposed_views AS v,
    LATERAL rag._view_problem(v.schema_name, v.view_name, v.columns, v.fingerprint) AS p (problem)
    WHERE p.problem IS NOT NULL
    UNION ALL
    SELECT 'exposed views', 'warn', format('view %L: %s', v.name, w.warning),
        format('mend %I.%I, or SELECT rag.hide_view(%L)', v.schema_name, v.view_name, v.name)
    FROM rag.exposed_views AS v,
    LATERAL unnest(rag._view_warnings(rag._view_relation(v.schema_name, v.view_name)))
        AS w (warning);
END
$$;

COMMENT ON FUNCTION rag._check_views IS
$$rag.doctor: exposed views that are gone or altered, that policies do not protect, or that call
functions which are volatile or SECURITY DEFINER.$$;
