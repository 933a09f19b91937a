"""Pages of documents, and the original files of those that keep them."""

from alembic import op

revision = "0009"
down_revision = "0008"

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE rag.originals (
        collection_id integer NOT NULL,
        document_id uuid NOT NULL,
        file_name text NOT NULL,
        media_type text NOT NULL,
        size integer NOT NULL,
        sha256 bytea NOT NULL,
        data bytea NOT NULL,
        kept_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT originals_pkey PRIMARY KEY (collection_id, document_id),
        CONSTRAINT originals_size CHECK (size = octet_length(data) AND size <= 100000000)
    )
    """,
    # files of these kinds are compressed already
    "ALTER TABLE rag.originals ALTER COLUMN data SET STORAGE EXTERNAL",
    # Who may not see a document sees no file of it.
    "ALTER TABLE rag.originals ENABLE ROW LEVEL SECURITY",
    """
    CREATE POLICY originals_of_documents ON rag.originals
    USING (EXISTS (
        SELECT FROM rag.documents AS d
        WHERE d.collection_id = originals.collection_id AND d.document_id = originals.document_id))
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
