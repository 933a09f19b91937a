"""arguments -> text on stdout.

The commands of `rag-pg`, a file for each noun.
"""

from rag_pg.cli.app import main

__all__ = ["main"]
