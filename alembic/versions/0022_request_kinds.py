"""A worker takes requests of the kinds that it asks for."""

from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.execute("DROP FUNCTION IF EXISTS rag.take_request(text, text[])")
