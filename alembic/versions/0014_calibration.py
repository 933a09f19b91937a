"""Calibration: when a collection's answers are right, measured on questions with known answers."""

from alembic import op

revision = "0014"
down_revision = "0013"

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE rag.calibrations (
        collection_id integer NOT NULL,
        space_id integer NOT NULL,
        model_fingerprint text,
        set_name text NOT NULL,
        settings jsonb NOT NULL,
        features text[] NOT NULL,
        answerable_weights double precision[] NOT NULL,
        right_weights double precision[] NOT NULL,
        evidence_floor double precision NOT NULL,
        thresholds double precision[] NOT NULL,
        answered bigint[] NOT NULL,
        correct bigint[] NOT NULL,
        lower_bounds double precision[] NOT NULL,
        question_count bigint NOT NULL,
        answerable_count bigint NOT NULL,
        refuse_below double precision NOT NULL,
        answer_from double precision NOT NULL,
        context_ratio double precision,
        figures jsonb NOT NULL,
        calibrated_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT calibrations_pkey PRIMARY KEY (collection_id),
        CONSTRAINT calibrations_model CHECK (
            cardinality(answerable_weights) = cardinality(features) + 1
            AND cardinality(right_weights) = cardinality(features) + 1
        ),
        CONSTRAINT calibrations_curve CHECK (
            cardinality(thresholds) = cardinality(answered)
            AND cardinality(thresholds) = cardinality(correct) AND cardinality(thresholds) > 0
        ),
        CONSTRAINT calibrations_zones CHECK (
            refuse_below BETWEEN 0 AND 1 AND answer_from BETWEEN 0 AND 1
        ),
        CONSTRAINT calibrations_counts CHECK (
            answerable_count BETWEEN 0 AND question_count AND question_count > 0
        ),
        CONSTRAINT calibrations_context CHECK (context_ratio BETWEEN 0 AND 1)
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
