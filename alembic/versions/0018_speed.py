"""What searches and writes read, in fewer and smaller pieces."""

from alembic import op

revision = "0018"
down_revision = "0017"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
