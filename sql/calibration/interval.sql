-- Exact intervals of a share that was counted: Clopper and Pearson.

CREATE OR REPLACE FUNCTION rag._log_gamma(x double precision)
RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
SET search_path FROM CURRENT
AS $$
DECLARE
    _at double precision := x;
    _product double precision := 0;
BEGIN
    WHILE _at < 10 LOOP
        _product := _product + ln(_at);
        _at := _at + 1;
    END LOOP;
    RETURN (_at - 0.5) * ln(_at) - _at + 0.5 * ln(2 * pi()) + 1 / (12 * _at)
        - 1 / (360 * _at ^ 3) + 1 / (1260 * _at ^ 5) - 1 / (1680 * _at ^ 7) - _product;
END
$$;

COMMENT ON FUNCTION rag._log_gamma IS
$$The logarithm of the gamma function of x > 0, to about 10 digits.

Source: Stirling's series, DLMF 5.11.1.$$;


CREATE OR REPLACE FUNCTION rag._beta_share(
    x double precision, a double precision, b double precision)
RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
SET search_path FROM CURRENT
AS $$
DECLARE
    tiny CONSTANT double precision := 1e-30;
    _c double precision := 1;
    _d double precision;
    _factor double precision;
    _fraction double precision;
    _term double precision;
BEGIN
    IF x <= 0 OR x >= 1 THEN
        RETURN CASE WHEN x <= 0 THEN 0 ELSE 1 END;
    ELSIF x > (a + 1) / (a + b + 2) THEN  -- the fraction converges fast on the other side
        RETURN 1 - rag._beta_share(1 - x, b, a);
    END IF;
    _d := 1 - (a + b) * x / (a + 1);
    _d := 1 / CASE WHEN abs(_d) < tiny THEN tiny ELSE _d END;
    _fraction := _d;
    FOR _m IN 1 .. 1000 LOOP
        _term := _m * (b - _m) * x / ((a + 2 * _m - 1) * (a + 2 * _m));
        _d := 1 + _term * _d;
        _d := 1 / CASE WHEN abs(_d) < tiny THEN tiny ELSE _d END;
        _c := 1 + _term / _c;
        _c := CASE WHEN abs(_c) < tiny THEN tiny ELSE _c END;
        _fraction := _fraction * _d * _c;
        _term := -(a + _m) * (a + b + _m) * x / ((a + 2 * _m) * (a + 2 * _m + 1));
        _d := 1 + _term * _d;
        _d := 1 / CASE WHEN abs(_d) < tiny THEN tiny ELSE _d END;
        _c := 1 + _term / _c;
        _c := CASE WHEN abs(_c) < tiny THEN tiny ELSE _c END;
        _factor := _d * _c;
        _fraction := _fraction * _factor;
        EXIT WHEN abs(_factor - 1) < 1e-13;
    END LOOP;
    _term := rag._log_gamma(a + b) - rag._log_gamma(a) - rag._log_gamma(b)
        + a * ln(x) + b * ln(1 - x) - ln(a);
    RETURN CASE WHEN _term < -700 THEN 0 ELSE exp(_term) * _fraction END;
END
$$;

COMMENT ON FUNCTION rag._beta_share IS
$$The regularized incomplete beta function I_x(a, b), a and b above 0.

Source: its continued fraction, DLMF 8.17.22, by Lentz's method.$$;


CREATE OR REPLACE FUNCTION rag._beta_quantile(
    share double precision, a double precision, b double precision)
RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
SET search_path FROM CURRENT
AS $$
DECLARE
    _low double precision := 0;
    _high double precision := 1;
    _middle double precision;
BEGIN
    FOR _step IN 1 .. 40 LOOP
        _middle := (_low + _high) / 2;
        IF rag._beta_share(_middle, a, b) < share THEN
            _low := _middle;
        ELSE
            _high := _middle;
        END IF;
    END LOOP;
    RETURN (_low + _high) / 2;
END
$$;

COMMENT ON FUNCTION rag._beta_quantile IS
$$The x at which rag._beta_share(x, a, b) is share, by bisection, to 10^-12.$$;


CREATE OR REPLACE FUNCTION rag._clopper_pearson(
    successes bigint, trials bigint, confidence double precision DEFAULT 0.95,
    OUT lower_bound double precision, OUT upper_bound double precision)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _tail double precision := (1 - confidence) / 2;
BEGIN
    IF NOT coalesce(successes BETWEEN 0 AND trials AND confidence > 0 AND confidence < 1, false)
    THEN
        RAISE EXCEPTION '% of % with confidence % is no share', coalesce(successes::text, 'NULL'),
            coalesce(trials::text, 'NULL'), coalesce(confidence::text, 'NULL')
        USING ERRCODE = 'RG001',
            HINT = 'count 0 to all of the trials; confidence is between 0 and 1, as 0.95';
    END IF;
    lower_bound := CASE WHEN successes = 0 THEN 0
        ELSE rag._beta_quantile(_tail, successes, trials - successes + 1) END;
    upper_bound := CASE WHEN successes = trials THEN 1
        ELSE rag._beta_quantile(1 - _tail, successes + 1, trials - successes) END;
END
$$;

COMMENT ON FUNCTION rag._clopper_pearson IS
$$The exact two-sided interval of a share of which successes of trials were counted: 0 to 1 where
nothing was tried.

confidence: how often such intervals hold the true share at least. Error RG001 for no share.
Source: Clopper and Pearson, Biometrika 1934.
Circle: client.$$;
