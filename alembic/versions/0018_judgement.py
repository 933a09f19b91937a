"""Calibrations with the judgement of a language model among their features, and of which texts;
changes that a gate refused are recorded; typo tolerance."""

from alembic import op

revision = "0018"
down_revision = "0017"

STATEMENTS: tuple[str, ...] = (
    "DROP FUNCTION IF EXISTS rag.get_calibration(text)",
    "DROP FUNCTION IF EXISTS rag.calibration_curve(text, double precision)",
    """
    ALTER TABLE rag.calibrations
        ADD COLUMN with_judgement boolean NOT NULL DEFAULT false,
        ADD COLUMN judge_model text,
        ADD COLUMN judge_version text,
        ADD COLUMN corpus_fingerprint text,
        DROP CONSTRAINT calibrations_pkey,
        ADD CONSTRAINT calibrations_pkey PRIMARY KEY (collection_id, with_judgement),
        ADD CONSTRAINT calibrations_judgement CHECK (
            with_judgement = ('judgement' = ANY (features))
            AND with_judgement = (judge_model IS NOT NULL)
            AND with_judgement = (judge_version IS NOT NULL)
        )
    """,
    "DROP FUNCTION IF EXISTS rag.list_gates(text)",
    """
    ALTER TABLE rag.gate_checks
        DROP CONSTRAINT gate_checks_outcome,
        ADD CONSTRAINT gate_checks_outcome
            CHECK (outcome IN ('passed', 'failed', 'refused', 'forced'))
    """,
    # What typo tolerance keeps of mistyped words.
    "ALTER TYPE rag.search_arguments ADD ATTRIBUTE typo_tolerance boolean",
    "ALTER TYPE rag.keyword_query ADD ATTRIBUTE weights double precision[]",
    "ALTER TYPE rag.keyword_query ADD ATTRIBUTE mistyped text[]",
    "ALTER TYPE rag.keyword_query ADD ATTRIBUTE spellings text[]",
    "ALTER TABLE rag.erasures ADD COLUMN settled_at timestamptz",
    "UPDATE rag.erasures SET settled_at = erased_at",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
