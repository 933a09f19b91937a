"""The ordinary words of languages, which typo tolerance takes for no errors."""

from alembic import op

revision = "0020"
down_revision = "0019"

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE rag.ordinary_words (
        language text NOT NULL PRIMARY KEY,
        filter bytea STORAGE EXTERNAL NOT NULL
    )
    """,
    "GRANT SELECT ON rag.ordinary_words TO PUBLIC",  # no secret, and whoever searches reads it
    "DROP FUNCTION IF EXISTS rag._fuzzy_terms(integer, text, text[])",
    "DROP FUNCTION IF EXISTS rag._fuzzy_note(rag.keyword_query)",
    "DROP FUNCTION IF EXISTS rag._collect_candidates(rag.search_arguments, integer)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
