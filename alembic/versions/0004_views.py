"""Exposed views: what of the application's own tables may be asked, and by which name."""

from alembic import op

revision = "0004"
down_revision = "0003"

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE rag.exposed_views (
        name text NOT NULL PRIMARY KEY,
        schema_name text NOT NULL,
        view_name text NOT NULL,
        description text NOT NULL,
        columns jsonb NOT NULL,
        max_rows integer NOT NULL,
        timeout interval NOT NULL,
        fingerprint text NOT NULL,
        exposed_at timestamptz NOT NULL DEFAULT now()
    )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
