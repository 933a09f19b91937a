"""Evaluation: sets, questions with judgements, runs and their results, gates."""

from alembic import op

revision = "0010"
down_revision = "0009"

STATEMENTS: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
