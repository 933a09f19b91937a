"""Alembic's entry point. `rag_pg.db.schema.upgrade` opens the transaction
and hands over its connection."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="alembic_version",
    version_table_schema=context.config.attributes["schema"],
    transaction_per_migration=False,
)
context.run_migrations()
