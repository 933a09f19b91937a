"""Settings of a collection that are no part of how it is cut or searched."""

from alembic import op

revision = "0005"
down_revision = "0004"

STATEMENTS: tuple[str, ...] = (
    "ALTER TABLE rag.collections ADD COLUMN description text NOT NULL DEFAULT ''",
    "ALTER TYPE rag.collection_info ADD ATTRIBUTE description text",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
