"""Rules and model calls that add metadata and context to documents at ingest."""

from alembic import op

revision = "0008"
down_revision = "0007"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
