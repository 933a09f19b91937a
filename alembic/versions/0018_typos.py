"""Typo tolerance: what a search keeps of mistyped words."""

from alembic import op

revision = "0018"
down_revision = "0017"

STATEMENTS: tuple[str, ...] = (
    "ALTER TYPE rag.search_arguments ADD ATTRIBUTE typo_tolerance boolean",
    "ALTER TYPE rag.keyword_query ADD ATTRIBUTE weights double precision[]",
    "ALTER TYPE rag.keyword_query ADD ATTRIBUTE mistyped text[]",
    "ALTER TYPE rag.keyword_query ADD ATTRIBUTE spellings text[]",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
