"""Which kind of location an address is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_pg.errors import InvalidInput
from rag_pg.locations.files import ARCHIVES, Files
from rag_pg.locations.folder import Folder
from rag_pg.locations.location import Limits, Location
from rag_pg.locations.secrets import check_address, check_options


def open_location(location: str | Path, limits: Limits, options: Mapping[str, Any]) -> Location:
    """Return what reads a location: a folder's path, or an address.

    options: of its kind. Raises: InvalidInput, LocationUnavailable.
    """
    text = str(location)
    check_options(options)
    if isinstance(location, str) and ("://" in text or "::" in text):
        check_address(text)
        return Files(text, limits, options)
    if text.lower().endswith(tuple(ARCHIVES)) and Path(text).is_file():
        return Files(text, limits, options)
    if options:
        raise InvalidInput(f"a folder has no options; {sorted(options)[0]} is none")
    return Folder(Path(text), limits)
