"""a call of the user -> the package that does it.

`Rag`, `Collection` and their asynchronous likes.
"""

from rag_pg.answer import AskOptions
from rag_pg.client.aio import AsyncCollection, AsyncRag
from rag_pg.client.collection import Collection
from rag_pg.client.enrichment import CONTEXT_TOKENS, Enrichment
from rag_pg.client.opened import OfCollection, OfRag, OpenCollection
from rag_pg.client.rag import Rag
from rag_pg.client.resources import Resources
from rag_pg.client.threaded import Beside, Inner, Threaded, in_thread
