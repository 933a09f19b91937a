"""Erasure and originals: what a collection keeps of its files, what an erased document leaves."""

from alembic import op

revision = "0016"
down_revision = "0015"

STATEMENTS: tuple[str, ...] = (
    "ALTER TABLE rag.collections ADD COLUMN keep_original boolean NOT NULL DEFAULT false",
    "ALTER TYPE rag.collection_info ADD ATTRIBUTE keep_original boolean",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
