"""The text search configuration rag.auto: documents in it are those whose language nobody told."""

from alembic import op

revision = "0017"
down_revision = "0016"

STATEMENTS: tuple[str, ...] = (
    "DROP FUNCTION IF EXISTS rag._query_terms(integer, text)",
    "CREATE TEXT SEARCH CONFIGURATION rag.auto (COPY = pg_catalog.simple)",
    """
    COMMENT ON TEXT SEARCH CONFIGURATION rag.auto IS
    'The language of a collection whose documents have several: rag.detect_language tells that of
each; words of the others are kept as they are'
    """,
    """
    ALTER TABLE rag.eval_scores
        ADD COLUMN scored_at timestamptz NOT NULL DEFAULT clock_timestamp()
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
