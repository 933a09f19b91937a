"""Pages of documents, and the original files of those that keep them."""

from alembic import op

revision = "0009"
down_revision = "0008"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
