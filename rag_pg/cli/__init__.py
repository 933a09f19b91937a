"""arguments -> text on stdout.

The commands of `rag-pg`, a file for each noun.
"""

try:
    from rag_pg.cli.app import main
except KeyboardInterrupt:  # while the modules of the commands are read
    raise SystemExit(130) from None
