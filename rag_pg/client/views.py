"""Views of the application's own tables that questions may be put to."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Unpack

from rag_pg.client.opened import OfRag
from rag_pg.search import check_names
from rag_pg.types import ExposedView, ViewQuery

TIMEOUT = timedelta(seconds=5)
log = logging.getLogger(__name__)


class Views(OfRag):
    """Views of the application's own tables that questions may be put to."""

    def list(self) -> list[ExposedView]:
        """Return the exposed views that this caller may read, by name."""
        return self._rag.database.list_views()

    def expose(
        self,
        view: str,
        description: str | None = None,
        *,
        name: str | None = None,
        columns: Sequence[str] | None = None,
        column_descriptions: Mapping[str, str] | None = None,
        max_rows: int = 100,
        timeout: timedelta = TIMEOUT,
    ) -> str:
        """Let questions be put to a view, materialized view or table of the application's own.

        What had that name before is replaced. It grants nothing: callers need the right to read it.
        A warning is logged for policies that do not hold for callers, and for functions in the
        view that are volatile or SECURITY DEFINER.

        Args:
            view: with its schema, e.g. "public.orders".
            description: what one row is; None: the view's own comment.
            name: None: that of the view.
            columns: those to expose; None: all that it has now.
            column_descriptions: e.g. {"total": "in euros"}; otherwise the columns' comments.
            max_rows: 1 to 1000 rows or groups per query.
            timeout: per query, 10 milliseconds to 1 hour.
        Returns: its name. Raises: InvalidInput, NotFound, RagError (no right to).
        """
        found = self._rag.database.value(
            str,
            "expose_view",
            view=view,
            description=description,
            name=name,
            columns=columns,
            column_descriptions=column_descriptions or {},
            max_rows=max_rows,
            timeout=timeout,
        )
        for warning in self._rag.database.view_warnings(found):
            log.warning("view %s: %s", found, warning)
        return found

    def query(self, name: str, **query: Unpack[ViewQuery]) -> builtins.list[dict[str, Any]]:
        """Return rows of an exposed view, or aggregates over them, with the caller's rights.

        Args:
            columns: those to return; None: all that are exposed to this caller.
            filter: as of metadata, over columns: {"total": {"$gte": 100}}.
            aggregates, group_by, having: as of `Collection.metadata.aggregate`.
            order_by: columns, or names of groups and aggregates; "-total" descends.
            limit: 1 to the view's max_rows, which is the default.
        Raises: NotFound (no such view, or none that the caller may read), InvalidQuery,
            SchemaMismatch (it is not what was exposed), StatementCanceled (its timeout passed).
        """
        check_names(query, known=ViewQuery.__optional_keys__, call="query")
        return self._rag.database.query_view(name, **query)

    def hide(self, name: str) -> bool:
        """Let no more questions be put to a view. False when there was none of that name."""
        return self._rag.database.value(bool, "hide_view", name=name)
