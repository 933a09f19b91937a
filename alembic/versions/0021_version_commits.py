"""When the transactions that wrote versions of documents were committed."""

from alembic import op

revision = "0021"
down_revision = "0020"

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE rag.version_commits (
        commit_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        written_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
        committed_at timestamptz
    )
    """,
    "CREATE INDEX version_commits_at ON rag.version_commits (committed_at)",
    "ALTER TABLE rag.documents ADD COLUMN text_commit bigint",
    """
    ALTER TABLE rag.document_versions
        ADD COLUMN from_commit bigint,
        ADD COLUMN until_commit bigint
    """,
    # Who may read or write versions may read or date them.
    """
    DO $$
    DECLARE
        _grant record;
    BEGIN
        FOR _grant IN
            SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role,
                CASE a.privilege_type WHEN 'INSERT' THEN 'INSERT, UPDATE' ELSE a.privilege_type END
                    AS rights
            FROM pg_class AS c, aclexplode(c.relacl) AS a
            WHERE c.oid = 'rag.document_versions'::regclass AND a.grantee <> c.relowner
                AND a.privilege_type IN ('SELECT', 'INSERT', 'DELETE')
        LOOP
            EXECUTE format('GRANT %s ON rag.version_commits TO %s', _grant.rights, _grant.role);
        END LOOP;
    END $$
    """,
    # Its body is among the functions, which are made after this.
    """
    CREATE FUNCTION rag._date_commit() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RETURN NULL; END $$
    """,
    """
    CREATE CONSTRAINT TRIGGER date_commit AFTER INSERT ON rag.version_commits
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION rag._date_commit()
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
