"""Constraints, replica identities and columns that keep the tables right whoever writes to them."""

from alembic import op

revision = "0002"
down_revision = "0001"

STATEMENTS: tuple[str, ...] = (
    # They become part of the statement that makes an index.
    """
    ALTER TABLE rag.spaces
        ADD CONSTRAINT spaces_distance CHECK (distance IN ('cosine', 'l2', 'ip')),
        ADD CONSTRAINT spaces_dimensions CHECK (dimensions BETWEEN 1 AND 16000),
        ADD CONSTRAINT spaces_kind
            CHECK (coalesce(index_options ->> 'kind', '') IN ('hnsw', 'binary', 'exact'))
    """,
    # A table without a key that a publication covers can be neither updated nor deleted from.
    """
    DO $$
    DECLARE
        _table regclass;
    BEGIN
        ALTER TABLE rag.keyword_languages REPLICA IDENTITY FULL;
        FOR _table IN
            SELECT p.relid
            FROM unnest(ARRAY['rag.keyword_changes', 'rag.keyword_postings']) AS t (name),
                 pg_partition_tree(t.name::regclass) AS p
        LOOP
            EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', _table);
        END LOOP;
    END $$
    """,
    "ALTER TYPE rag.request ADD ATTRIBUTE result_offset integer",
    """
    CREATE TABLE rag.maintenance_failures (
        task text NOT NULL,
        target integer NOT NULL,
        message text NOT NULL,
        failed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT maintenance_failures_pkey PRIMARY KEY (task, target)
    )
    """,
    # Names of text search configurations were stored as pgvector's schema
    # and rag on the search path showed them.
    *(
        f"""
        UPDATE rag.{table} AS t
        SET language = format('%I.%I', n.nspname, x.cfgname)
        FROM pg_ts_config AS x
        JOIN pg_namespace AS n ON n.oid = x.cfgnamespace
        WHERE t.language = quote_ident(x.cfgname)
          AND (n.nspname = 'rag'
               OR n.oid = (SELECT e.extnamespace FROM pg_extension AS e WHERE e.extname = 'vector'))
          AND NOT EXISTS (
              SELECT FROM pg_ts_config AS y
              WHERE y.cfgname = x.cfgname
                AND (y.cfgnamespace = 'pg_catalog'::regnamespace
                     OR n.nspname <> 'rag' AND y.cfgnamespace = 'rag'::regnamespace)
          )
        """
        for table in ("collections", "documents", "chunks", "keyword_languages")
    ),
)


def upgrade() -> None:
    vector = op.get_context().config.attributes["vector_schema"]
    for statement in STATEMENTS:
        op.execute(statement.replace("{vector}", vector))
