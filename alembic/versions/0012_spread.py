"""How the cosines of an embedding space are spread, by which a search weighs them."""

from alembic import op

revision = "0012"
down_revision = "0011"

STATEMENTS: tuple[str, ...] = (
    """
    ALTER TABLE rag.spaces
        ADD COLUMN similarity_mean double precision,
        ADD COLUMN similarity_spread double precision,
        ADD COLUMN measured_chunks bigint NOT NULL DEFAULT 0,
        ADD CONSTRAINT spaces_similarity CHECK (
            (similarity_mean IS NULL) = (similarity_spread IS NULL)
            AND similarity_mean BETWEEN -1 AND 1 AND similarity_spread BETWEEN 0.008 AND 0.3
        )
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
