"""Libraries that the core is installed without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rag_pg.errors import ModelUnavailable, RagError


@contextmanager
def extra(name: str, user: str = "", error: type[RagError] = ModelUnavailable) -> Iterator[None]:
    """Around the imports of what the extra `name` installs: where one fails, the error is one line
    that says what to install.

    Args:
        user: what needs the library, as a subject with its verb; "": left out.
    Raises: `error`.
    """
    try:
        yield
    except ImportError as exc:
        raise error(
            f"{user or 'needs'} the library {exc.name}, which is not installed: pip install"
            f' "rag-pg[{name}]"'
        ) from exc
