"""What was computed once, kept in the database -> read again while all that it depends on is the
same."""

from rag_pg.cache.completions import keep_completions
from rag_pg.cache.entries import Entries
from rag_pg.cache.questions import ask_the_same
from rag_pg.cache.settings import OFF, Cache, parse_cache
from rag_pg.cache.uses import UseCounter
from rag_pg.cache.values import digest, pack, unpack
