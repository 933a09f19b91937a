"""Tenants: whose collections and documents are, and which roles are whose. Keys of the service.
What is measured and traced."""

from alembic import op

revision = "0002_tenants"
down_revision = "0001_schema"

STATEMENTS = (
    """
    CREATE TABLE rag.tenants (
        tenant text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT tenants_pkey PRIMARY KEY (tenant),
        CONSTRAINT tenants_tenant CHECK (tenant <> '' AND tenant <> '*')
    )
    """,
    """
    CREATE TABLE rag.tenant_roles (
        role_name text NOT NULL,
        tenant text NOT NULL,
        access text NOT NULL,
        groups text[] NOT NULL DEFAULT '{}',
        CONSTRAINT tenant_roles_pkey PRIMARY KEY (role_name, tenant),
        CONSTRAINT tenant_roles_access CHECK (access IN ('reader', 'writer')),
        CONSTRAINT tenant_roles_groups CHECK (tenant <> '*' OR groups = '{}')
    )
    """,
    "ALTER TABLE rag.collections ADD COLUMN tenant text NOT NULL DEFAULT ''",
    "ALTER TABLE rag.documents ADD COLUMN acl text[]",
    "ALTER TABLE rag.chunks ADD COLUMN acl text[]",
    # By it the name of another tenant's collection is not found, as one that there is not.
    "CREATE INDEX collections_by_tenant ON rag.collections (name, tenant) WHERE dropped_at IS NULL",
    "ALTER TABLE rag.documents ADD COLUMN sync_state jsonb",
    """
    CREATE TABLE rag.service_keys (
        key_name text NOT NULL,
        digest bytea NOT NULL,
        role_name text,
        scopes text[] NOT NULL,
        settings jsonb NOT NULL,
        limits jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz,
        revoked_at timestamptz,
        CONSTRAINT service_keys_pkey PRIMARY KEY (key_name),
        CONSTRAINT service_keys_digest UNIQUE (digest)
    )
    """,
    """
    CREATE TABLE rag.service_key_uses (
        key_name text NOT NULL,
        period text NOT NULL,
        since timestamptz NOT NULL,
        requests bigint NOT NULL,
        tokens bigint NOT NULL,
        cost double precision NOT NULL,
        CONSTRAINT service_key_uses_pkey PRIMARY KEY (key_name, period)
    ) WITH (fillfactor = 50)
    """,
    """
    CREATE TABLE rag.maintenance_runs (
        task text NOT NULL,
        done_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT maintenance_runs_pkey PRIMARY KEY (task)
    ) WITH (fillfactor = 50)
    """,
    """
    CREATE TYPE rag.metric AS (
        name text,
        kind text,
        help text,
        labels jsonb,
        value double precision
    )
    """,
    # The span that a job was put in, as W3C trace context: what works on it belongs to that trace.
    """
    ALTER TABLE rag.jobs ADD COLUMN traceparent text DEFAULT substring(
        current_setting('rag.traceparent', true) FROM '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$')
    """,
    # It returns that, too.
    "DROP FUNCTION IF EXISTS rag.take_jobs(integer, double precision, text[], text, text[])",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
