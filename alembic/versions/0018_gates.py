"""Refused changes are recorded beside those that passed, failed or were forced."""

from alembic import op

revision = "0018"
down_revision = "0017"

STATEMENTS: tuple[str, ...] = (
    """
    ALTER TABLE rag.gate_checks
        DROP CONSTRAINT gate_checks_outcome,
        ADD CONSTRAINT gate_checks_outcome
            CHECK (outcome IN ('passed', 'failed', 'refused', 'forced'))
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
