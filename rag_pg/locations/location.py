"""What a sync asks of a location, and what all kinds of them have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

from rag_pg.errors import InvalidInput
from rag_pg.load import SUPPORTED, read_documents
from rag_pg.text import clean_text
from rag_pg.types import Loaded, LoadFailure, Skipped, Unchanged
from rag_pg.version import __version__

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

State = Mapping[str, Any]
Known = Mapping[str, State]  # uri -> what was noted with its document
Item = Loaded | LoadFailure | Skipped | Unchanged


class Location(Protocol):
    """Where documents come from. prefix: what the uris of all of them begin with."""

    prefix: str

    def read(self, known: Known) -> Iterator[Item]:
        """Yield all that is there: Unchanged where `known` tells so. What is not yielded is gone,
        unless it lies at or below the uri of a failure.

        Raises: LocationUnavailable (it cannot be listed), InvalidInput.
        """

    def owns(self, state: State) -> bool:
        """Whether a document below the prefix, with this state, is deleted when it is gone."""
        return True


class Labelled:
    """A location, each of whose documents has these metadata, whatever it says of itself. Other
    ones than before make all documents of it changed."""

    def __init__(self, location: Location, metadata: Mapping[str, Any]) -> None:
        self.prefix = location.prefix
        self._location, self._metadata = location, dict(metadata)

    def read(self, known: Known) -> Iterator[Item]:
        same = {u: s for u, s in known.items() if s.get("metadata", {}) == self._metadata}
        for item in self._location.read(same):
            if self._metadata and isinstance(item, Loaded):
                state = item.sync_state and {**item.sync_state, "metadata": self._metadata}
                metadata = {**item.metadata, **self._metadata}
                item = replace(item, metadata=metadata, sync_state=state)
            yield item

    def owns(self, state: State) -> bool:
        return self._location.owns(state)


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """max_bytes: of one object. exclude: patterns as in .gitignore. ocr: see `load_file`."""

    max_bytes: int
    ocr: str = ""
    exclude: Sequence[str] = ()


def state_of(tag: str, limits: Limits, **others: object) -> dict[str, Any]:
    """Return what is noted of bytes that were read: another release, or OCR, may read more out of
    them."""
    return {"tag": tag, "release": __version__, "ocr": bool(limits.ocr), **others}


def is_same(state: State | None, tag: str, limits: Limits) -> bool:
    if not tag or not state or (limits.ocr and not state.get("ocr")):
        return False
    return (state.get("tag"), state.get("release")) == (tag, __version__)


def noted(item: Item, uri: str, state: State | None, **metadata: str) -> Item:
    """Return an item of the object `uri`, with its state where it is the one document in it."""
    if not isinstance(item, Loaded):
        return item
    return replace(
        item,
        metadata={**item.metadata, **metadata},
        sync_state=state if item.uri == uri else None,
    )


def read_object(
    name: str, uri: str, data: bytes, limits: Limits, state: State | None, **metadata: str
) -> Iterator[Item]:
    """Yield the documents in an object's bytes; the suffix of `name` says what it is."""
    for item in read_documents(Path(name), uri, data, max_bytes=limits.max_bytes, ocr=limits.ocr):
        yield noted(item, uri, state, **metadata)


def numbers(
    options: Mapping[str, Any], known: Mapping[str, tuple[int, int, int]], kind: str
) -> dict[str, int]:
    """Return the whole numbers that options are, with the others' defaults.

    known: the least, the largest and the default. Raises: InvalidInput.
    """
    for name, value in options.items():
        if name not in known:
            raise InvalidInput(f"{kind} has no option {name}; it has {', '.join(known) or 'none'}")
        least, most, _ = known[name]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise InvalidInput(f"option {name} is {value!r}; use {least} to {most}")
    return {name: options.get(name, default) for name, (_, _, default) in known.items()}


class Choice:
    """Which names below a location are read."""

    def __init__(self, prefix: str, limits: Limits) -> None:
        from pathspec import GitIgnoreSpec  # a search needs none

        self._prefix = prefix
        self._without: GitIgnoreSpec = GitIgnoreSpec.from_lines(limits.exclude)

    def of(self, name: str) -> str | LoadFailure | Skipped | None:
        """Return the uri of a name, why it has none, that it is of a type which is passed over, or
        None for what is left out: hidden and excluded names."""
        path = PurePosixPath(name)
        if any(part.startswith(".") for part in path.parts) or self._without.match_file(name):
            return None
        uri = self._prefix + name
        if clean_text(uri)[1] or not uri.isprintable():
            shown = "".join(
                c if c.isprintable() else c.encode("unicode_escape").decode() for c in uri
            )
            return LoadFailure(uri=shown, error="this name cannot be stored; rename it")
        if not name.lower().endswith(SUPPORTED):
            last = PurePosixPath(name.rpartition("/")[2])
            return Skipped(uri=uri, reason=last.suffix.lower() or "no suffix")
        return uri
