"""A database -> schema rag in it, as this program needs it: installed, upgraded, compared."""

from rag_pg.db.schema.install import LOCK_KEY, check, ensure, share, sql_files, upgrade

__all__ = ["LOCK_KEY", "check", "ensure", "share", "sql_files", "upgrade"]
