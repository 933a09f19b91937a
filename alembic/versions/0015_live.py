"""Live queries: a sample of searches that were asked, and how exact their vector searches were."""

from alembic import op

revision = "0015"
down_revision = "0014"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
