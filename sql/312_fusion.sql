CREATE OR REPLACE FUNCTION rag.auto_weight(runner_up double precision, echo double precision)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 / (1 + exp(-(-2.6 + 3.3 * runner_up + 0.6 * echo)));

COMMENT ON FUNCTION rag.auto_weight(double precision, double precision) IS
$$Interim.$$;
