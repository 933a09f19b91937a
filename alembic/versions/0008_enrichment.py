"""Rules and model calls that add metadata and context to documents at ingest."""

from alembic import op

revision = "0008"
down_revision = "0007"

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE rag.enrichments (
        collection_id integer NOT NULL,
        kind text NOT NULL,
        settings jsonb NOT NULL,
        version integer NOT NULL,
        CONSTRAINT enrichments_pkey PRIMARY KEY (collection_id, kind),
        CONSTRAINT enrichments_kind CHECK (kind IN ('enrich', 'extract', 'context'))
    )
    """,
    "ALTER TABLE rag.documents ADD COLUMN given_metadata jsonb",
    "ALTER TABLE rag.documents ADD COLUMN enriched jsonb NOT NULL DEFAULT '{}'",
    "ALTER TABLE rag.chunks ADD COLUMN enriched jsonb",
    "ALTER TABLE rag.chunks ADD COLUMN context text",
    "ALTER TABLE rag.chunks ADD COLUMN context_source text",
    *(
        f"""
        ALTER TABLE rag.{table}
            DROP CONSTRAINT {table}_kind,
            ADD CONSTRAINT {table}_kind
                CHECK (kind IN ('ingest', 'embed', 'enrich', 'extract', 'context'))
        """
        for table in ("jobs", "backlogs")
    ),
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
