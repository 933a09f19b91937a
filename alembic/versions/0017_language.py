"""Languages: the language of each document."""

from alembic import op

revision = "0017"
down_revision = "0016"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
