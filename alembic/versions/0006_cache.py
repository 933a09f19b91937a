"""The cache: query vectors, calls of models, results of searches, answers."""

from alembic import op

revision = "0006"
down_revision = "0005"

STATEMENTS: tuple[str, ...] = (
    # A row a change, folded into one now and then: writers neither share a row nor wait for each
    # other, and a change counts from the moment that others see it.
    """
    CREATE TABLE rag.collection_changes (
        collection_id integer NOT NULL,
        change bigint NOT NULL DEFAULT uuid_hash_extended(gen_random_uuid(), 0)
    ) WITH (autovacuum_vacuum_scale_factor = 0,
            autovacuum_vacuum_threshold = 2000,
            autovacuum_vacuum_insert_threshold = -1,
            autovacuum_analyze_scale_factor = 0,
            autovacuum_analyze_threshold = 10000)
    """,
    "CREATE INDEX collection_changes_collection ON rag.collection_changes (collection_id)",
    "ALTER TABLE rag.collection_changes REPLICA IDENTITY FULL",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
