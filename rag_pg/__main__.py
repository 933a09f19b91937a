"""`python -m rag_pg` is `rag-pg`."""

from rag_pg.cli.app import main

main()
