"""Exposed views: what of the application's own tables may be asked, and by which name."""

from alembic import op

revision = "0004"
down_revision = "0003"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
