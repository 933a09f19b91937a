"""The cache: query vectors, calls of models, results of searches, answers."""

from alembic import op

revision = "0006"
down_revision = "0005"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
