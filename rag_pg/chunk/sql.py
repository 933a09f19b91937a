"""The statements of SQL, as PostgreSQL ends them; what they create names them.

Read by a scanner of its own: it needs no grammar, and bodies in dollar quotes, in any language,
stay whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag_pg.chunk.grammars import Definition

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*(?:.*?\*/|.*))
      | [eE]'(?:[^'\\]|\\.|'')*'? | '[^']*'? | "[^"]*"?
      | \$(?P<tag>(?:[^\W\d]\w*)?)\$(?:.*?\$(?P=tag)\$|.*)
      | (?P<end>;)
      | (?P<atomic>\bBEGIN\s+ATOMIC\b)
      | (?P<word>\w[\w$]*)
      | .""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_NAMED = re.compile(
    r"""(?: CREATE \s+ (?:OR\s+REPLACE\s+)?
            (?: (?:TEMP|TEMPORARY|UNLOGGED|MATERIALIZED|RECURSIVE|UNIQUE|CONSTRAINT|FOREIGN|EVENT)
                \s+ )*
            (?:AGGREGATE|DOMAIN|FUNCTION|INDEX|MACRO|PACKAGE|POLICY|PROCEDURE|ROLE|SCHEMA|SEQUENCE|TABLE
              |TRIGGER|TYPE|VIEW)
        |   ALTER \s+ (?:FUNCTION|MATERIALIZED\s+VIEW|PROCEDURE|SCHEMA|SEQUENCE|TABLE|TYPE|VIEW)
        |   COMMENT \s+ ON \s+ (?:AGGREGATE|FUNCTION|PROCEDURE|SCHEMA|SEQUENCE|TABLE|TYPE|VIEW)
        ) \s+ (?:IF\s+(?:NOT\s+)?EXISTS\s+)? (?:ONLY\s+)?
        (?P<name>(?:"[^"]+"|[\w$]+)(?:\.(?:"[^"]+"|[\w$]+))*)""",
    re.VERBOSE | re.IGNORECASE,
)


def sql_definitions(text: str) -> Iterator[Definition]:
    """Yield the statements that create, alter or comment on something, each with its name as path
    and the comments above it."""
    begin: int | None = None  # of the statement, comments aside
    first = row = 0
    blocks = 0  # BEGIN ATOMIC and CASE that are open
    for token in _TOKEN.finditer(text):
        lines = token[0].count("\n")
        if token.lastgroup == "space" and begin is None:
            row += lines
            if token[0].isspace() and lines > 1:  # a comment far above stands by itself
                first = row
            continue
        if begin is None:
            begin = token.start()
        row += lines
        word = (token["word"] or "").upper()
        blocks += bool(token["atomic"]) or (blocks > 0 and word == "CASE")
        blocks -= blocks > 0 and word == "END"
        if token["end"] and not blocks:
            named = _NAMED.match(text, begin)
            if named:
                yield Definition(first, row, (named["name"],))
            begin, first = None, row + 1
