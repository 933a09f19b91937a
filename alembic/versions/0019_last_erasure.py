"""Which transaction began the last erasure, for those whose snapshots are older."""

from alembic import op

revision = "0019"
down_revision = "0018"

STATEMENTS: tuple[str, ...] = (
    "CREATE SEQUENCE rag.last_erasure MINVALUE 0 START 0",
    """
    COMMENT ON SEQUENCE rag.last_erasure IS
    'The transaction that began the last erasure, known at once to all whatever they see'
    """,
    "GRANT SELECT ON SEQUENCE rag.last_erasure TO PUBLIC",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
