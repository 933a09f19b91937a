"""Views of the application's own tables that questions may be put to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewColumn:
    """A column of an exposed view; type as PostgreSQL writes it, labels of an enum."""

    name: str
    type: str
    description: str | None = None
    labels: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ExposedView:
    """A view that may be asked, with the columns that this caller may read.

    max_rows, timeout: of one query. rights: "caller", or "owner" where the tables below are read
    with those of the view's owner. problem: how it differs from what was exposed; None: it does
    not.
    """

    name: str
    description: str
    columns: Sequence[ViewColumn]
    max_rows: int
    timeout: timedelta
    rights: str
    problem: str | None
