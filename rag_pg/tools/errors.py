"""What a tool's caller is told of an error: one line, nothing of addresses or keys."""

from __future__ import annotations

import logging
from typing import Any

from rag_pg.errors import (
    DatabaseUnavailable,
    ProviderAuth,
    ProviderError,
    RagError,
    SchemaMismatch,
    StatementCanceled,
)
from rag_pg.text import neutralise

READ_ONLY = ("25006", "RG011")  # a write of ours, and one that was told before
CHANGED_VIEW = "RG006"
ERROR_LENGTH = 400  # characters
log = logging.getLogger(__name__)


def describe_error(exc: BaseException) -> str:
    """Return one line about an error. What its caller can do nothing about is logged."""
    if isinstance(exc, TimeoutError) and not isinstance(exc, RagError):
        return f"{exc}; ask for less, e.g. with a filter, or try again"
    cause: Any = exc.__cause__
    if getattr(cause, "sqlstate", None) in READ_ONLY:
        return "what was called tried to write, and this only reads"
    if isinstance(exc, DatabaseUnavailable):
        log.warning("%s", exc)
        return "the database cannot be reached now; try again"
    if isinstance(exc, ProviderError):
        log.warning("%s", exc)
        remedy = "the log says why" if isinstance(exc, ProviderAuth) else "try again, or use search"
        return f"a model did not answer ({type(exc).__name__}); {remedy}"
    if isinstance(exc, SchemaMismatch) and getattr(cause, "sqlstate", None) != CHANGED_VIEW:
        log.warning("%s", exc)
        return "the database does not fit this program; its log says why"
    if isinstance(exc, StatementCanceled):
        return "it is more than the database allows at once; ask for less, e.g. with a filter"
    return one_line(str(exc))


def one_line(text: str) -> str:
    """Return a text on one neutral line of at most 400 characters."""
    line = " ".join(neutralise(text).split())
    return line if len(line) <= ERROR_LENGTH else f"{line[:ERROR_LENGTH]}…"
