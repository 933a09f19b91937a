"""What a client calls a passage or a document: an id, a URL, the URI of a resource."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

from rag_pg.errors import InvalidInput

RESOURCE = "rag://{collection}/{+uri}"
VARIABLES = ("collection", "uri", "document_id")
_ID = re.compile(r"([^\s:]+):([0-9]{1,19})(?:@([0-9]{1,9}))?")
_WEB = re.compile(r"https?://[^/\s]", re.IGNORECASE)
_URL_CHARACTERS = ":/?#[]@!$&'()*+,;=%~"


class Address(str):
    """An id or URL of printable ASCII, without a space."""

    __slots__ = ()


def item_id(collection: str, chunk_id: int, start: int | None = None) -> Address:
    """Return the id of a passage. start: of a piece of its document, in characters."""
    name = quote(collection, safe="")
    return Address(f"{name}:{chunk_id}" if start is None else f"{name}:{chunk_id}@{start}")


def read_id(text: str) -> tuple[str, int, int | None]:
    """Return collection, chunk and start of an id. Raises: InvalidInput."""
    match = _ID.fullmatch(text)
    if match is None or int(match[2]) >= 2**63:
        raise InvalidInput(f"{text!r:.60} is no id; use one that search returned")
    return unquote(match[1]), int(match[2]), None if match[3] is None else int(match[3])


def resource_uri(collection: str, uri: str) -> Address:
    """Return the URI of a document as a resource: rag://collection/uri, percent-encoded."""
    return Address(f"rag://{quote(collection, safe='')}/{quote(uri, safe='', errors='replace')}")


class DocumentUrls:
    """Where people read a document.

    template: an RFC 6570 template of collection, uri, document_id and metadata.<field>, e.g.
    https://wiki.example/{+uri}; None: the uri where it is an http address, else the resource's.
    Raises: InvalidInput (no template, an unknown variable).
    """

    def __init__(self, template: str | None = None) -> None:
        self._template = None if template is None else _parsed(template)

    def of(
        self, collection: str, uri: str, *, document_id: object, metadata: Mapping[str, Any]
    ) -> Address:
        """Return an http address, or the URI of the resource where there is none."""
        url = uri
        if self._template is not None:
            values = {"collection": collection, "uri": uri, "document_id": str(document_id)}
            for name in self._template.variable_names:
                field = name.removeprefix("metadata.")
                if field != name and isinstance(metadata.get(field), str | int | float):
                    values[name] = str(metadata[field])
            plain = {k: v.encode(errors="replace").decode() for k, v in values.items()}
            url = self._template.expand(plain)
        if _WEB.match(url):
            return Address(quote(url, safe=_URL_CHARACTERS, errors="replace"))
        return resource_uri(collection, uri)


def _parsed(template: str) -> UriTemplate:
    try:
        parsed = UriTemplate.parse(template)
    except InvalidUriTemplate as exc:
        raise InvalidInput(
            f"document URL {template!r} is no URI template: {exc}; write it like"
            " https://wiki.example/{+uri}"
        ) from exc
    unknown = [
        name
        for name in parsed.variable_names
        if name not in VARIABLES and not name.startswith("metadata.")
    ]
    if unknown or not parsed.variable_names:
        raise InvalidInput(
            f"document URL {template!r} names {', '.join(unknown) or 'no variable'}; use"
            f" {', '.join(VARIABLES)} or metadata.<field>, e.g. https://wiki.example/{{+uri}}"
        )
    return parsed
