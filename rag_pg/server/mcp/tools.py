"""The tools: what a client may ask, and in what words it is told so.

The docstring of each is its description: all of them together stay below 2,000 tokens.
"""

from __future__ import annotations

from rag_pg.server.mcp.reading import ReadingTools
from rag_pg.server.mcp.structured import StructuredTools

NAMES = (
    "search",
    "fetch",
    "ask",
    "get_document",
    "list_collections",
    "describe_metadata",
    "count",
    "facets",
    "select",
    "aggregate",
    "list_views",
    "query_view",
)
TEXT_ONLY = ("search", "fetch")


class Tools(ReadingTools, StructuredTools):
    """All tools over what a server may read."""
