"""text -> Spans.

Texts are cut into chunks that an embedder reads whole.
"""

from rag_pg.chunk.pages import pages_of
from rag_pg.chunk.settings import Chunking, preset_chunking
from rag_pg.chunk.splitter import Splitter, check_chunking
