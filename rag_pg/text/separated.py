"""Text of separated values -> rows, whatever the length of a cell."""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterator
from typing import Any

_LIMIT = threading.Lock()


def separated_rows(
    text: str, dialect: str | csv.Dialect | type[csv.Dialect], **options: Any
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row of a table with the number of its last line, from 1.

    The library's limit of a cell (131,072 characters) holds for the whole process: it is lifted
    while a row is read, and is as before in between.

    Args:
        dialect, options: as csv.reader has them.
    Raises: csv.Error (a row that cannot be read; its message begins with its line).
    """
    table = csv.reader(io.StringIO(text, newline=""), dialect, **options)
    while True:
        with _LIMIT:
            limit = csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
            try:
                row = next(table, None)
            except csv.Error as exc:
                raise csv.Error(f"line {table.line_num} is no row of a table: {exc}") from exc
            finally:
                csv.field_size_limit(limit)
        if row is None:
            return
        yield table.line_num, row
