"""Which kind of location an address is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_pg.errors import InvalidInput
from rag_pg.locations.addresses import Network
from rag_pg.locations.files import ARCHIVES, Files
from rag_pg.locations.folder import Folder
from rag_pg.locations.git import Repository
from rag_pg.locations.location import Labelled, Limits, Location, numbers
from rag_pg.locations.secrets import check_address, check_options
from rag_pg.locations.web import Website


def open_location(
    location: str | Path, limits: Limits, options: Mapping[str, Any], network: Network
) -> Location:
    """Return what reads a location: a folder's path, or an address.

    options: of its kind, and "metadata", which all kinds have: an object that the metadata of each
    document get. network: how websites and repositories are reached.
    Raises: InvalidInput, LocationUnavailable.
    """
    own = {name: value for name, value in options.items() if name != "metadata"}
    check_options(own)
    metadata = options.get("metadata", {})
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f'option metadata is {metadata!r}; use an object: {{"trust": "low"}}')
    return Labelled(_open(location, limits, own, network), metadata)


def _open(
    location: str | Path, limits: Limits, options: Mapping[str, Any], network: Network
) -> Location:
    text = str(location)
    if isinstance(location, str) and ("://" in text or "::" in text):
        check_address(text)
        if text.startswith(("http://", "https://")):
            return Website(text, limits, options, network)
        if text.startswith("git+"):
            return Repository(text, limits, options, network)
        return Files(text, limits, options)
    if text.lower().endswith(tuple(ARCHIVES)) and Path(text).is_file():
        return Files(text, limits, options)
    numbers(options, {}, "a folder")
    return Folder(Path(text), limits)
