"""A question of numbers, lists and dates -> rows: one description of each tool, for the agent, the
MCP server and every other door. A door adds what is its own: how a collection is named, pages, and
the form of a result."""

from rag_pg.tools.errors import describe_error, one_line
from rag_pg.tools.metadata import METADATA_TOOLS, RULES, SAMPLED, field_row
from rag_pg.tools.schema import LONGEST_DESCRIPTION, as_json, check_tool, make_tool, read_arguments
from rag_pg.tools.shared import (
    DETAIL,
    FILTER,
    INTEGER,
    LIMIT,
    TEXT,
    Filter,
    Schema,
    SharedTool,
    Source,
    listed,
    row,
)
from rag_pg.tools.views import VIEW_TOOLS, column_row
