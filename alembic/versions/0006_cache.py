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
    """
    CREATE UNLOGGED TABLE rag.cache_entries (
        role_id oid NOT NULL DEFAULT quote_ident(current_user)::regrole::oid,
        kind text NOT NULL,
        key bytea NOT NULL,
        collection_id integer NOT NULL DEFAULT 0,
        version bigint NOT NULL DEFAULT 0,
        value bytea NOT NULL,
        question text,
        scope bytea,
        embedding real[],
        saved_tokens bigint NOT NULL DEFAULT 0,
        saved_cost double precision NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires_at timestamptz NOT NULL,
        CONSTRAINT cache_entries_pkey PRIMARY KEY (role_id, kind, key),
        CONSTRAINT cache_entries_kind
            CHECK (kind IN ('embedding', 'completion', 'search', 'answer'))
    ) WITH (autovacuum_vacuum_scale_factor = 0,
            autovacuum_vacuum_threshold = 1000,
            autovacuum_vacuum_insert_threshold = -1,
            autovacuum_analyze_scale_factor = 0,
            autovacuum_analyze_threshold = 5000)
    """,
    # values are compressed by who writes them
    "ALTER TABLE rag.cache_entries ALTER COLUMN value SET STORAGE EXTERNAL",
    "CREATE INDEX cache_entries_scope ON rag.cache_entries (scope) WHERE scope IS NOT NULL",
    "ALTER TABLE rag.cache_entries ENABLE ROW LEVEL SECURITY",
    # Its own rows are all that a role sees, and none once it may not read what they were made of.
    """
    CREATE POLICY cache_entries_own ON rag.cache_entries
    USING (role_id = quote_ident(current_user)::regrole::oid
           AND has_table_privilege('rag.documents', 'SELECT')
           AND has_table_privilege('rag.chunks', 'SELECT')
           AND NOT row_security_active('rag.documents')
           AND NOT row_security_active('rag.chunks'))
    """,
    """
    CREATE UNLOGGED TABLE rag.cache_uses (
        kind text NOT NULL,
        collection_id integer NOT NULL,
        hits bigint NOT NULL,
        misses bigint NOT NULL,
        saved_tokens bigint NOT NULL,
        saved_cost double precision NOT NULL
    ) WITH (autovacuum_vacuum_scale_factor = 0,
            autovacuum_vacuum_threshold = 1000,
            autovacuum_vacuum_insert_threshold = -1)
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
