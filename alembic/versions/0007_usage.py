"""What models were asked and what it cost, by day."""

from alembic import op

revision = "0007"
down_revision = "0006"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
