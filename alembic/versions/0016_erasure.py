"""Erasure and originals: what a collection keeps of its files, what an erased document leaves."""

from alembic import op

revision = "0016"
down_revision = "0015"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
