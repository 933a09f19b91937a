"""What models were asked and what it cost, by day."""

from alembic import op

revision = "0007"
down_revision = "0006"

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE rag.usage (
        day date NOT NULL,
        role_name text NOT NULL,
        collection_name text NOT NULL,
        strategy text NOT NULL,
        call_kind text NOT NULL,
        model_name text NOT NULL,
        slot smallint NOT NULL,
        answers bigint NOT NULL,
        calls bigint NOT NULL,
        prompt_tokens bigint NOT NULL,
        answer_tokens bigint NOT NULL,
        cost double precision NOT NULL,
        unpriced_calls bigint NOT NULL,
        cached_hits bigint NOT NULL,
        failures bigint NOT NULL,
        CONSTRAINT usage_pkey PRIMARY KEY (
            day, role_name, collection_name, strategy, call_kind, model_name, slot
        )
    ) WITH (fillfactor = 50)
    """,
    "ALTER TABLE rag.usage ENABLE ROW LEVEL SECURITY",
    # Each role writes and reads its own figures; what is a year old may be seen, to be removed.
    """
    CREATE POLICY usage_write ON rag.usage
        USING (role_name = current_user) WITH CHECK (role_name = current_user)
    """,
    """
    CREATE POLICY usage_see_old ON rag.usage FOR SELECT
        USING (day < (CURRENT_TIMESTAMP AT TIME ZONE 'UTC')::date - 400)
    """,
    """
    CREATE POLICY usage_remove_old ON rag.usage FOR DELETE
        USING (day < (CURRENT_TIMESTAMP AT TIME ZONE 'UTC')::date - 400)
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
