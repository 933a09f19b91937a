"""Earlier versions of documents, the log of answers, feedback, receipts of erasures."""

from alembic import op

revision = "0011"
down_revision = "0010"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
