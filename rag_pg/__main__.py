"""`python -m rag_pg` is `rag-pg`."""

from rag_pg.cli import main

main()
