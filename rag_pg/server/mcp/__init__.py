"""a call of an MCP client -> what a role may read: typed, quoted as data, below a cap of tokens.

Nothing is written: each statement is sent in a read-only transaction.
"""

from rag_pg.server.connection import configured
from rag_pg.server.mcp.http import (
    LOCAL,
    KeyVerifier,
    check_names,
    http_app,
    is_local,
    listening,
    parse_address,
    read_keys,
)
from rag_pg.server.mcp.server import (
    RagServer,
    make_server,
)
