"""Credentials stay in the environment or in a file of their own: not in a location, nor in what is
said or noted of it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from urllib.parse import SplitResult, parse_qsl, urlsplit

from rag_pg.errors import InvalidInput

_NAMES = re.compile(
    r"key(?!word)|secret|token|passw|pwd|credential|signature|\bsig\b|auth(?!or(?!i))|cookie|session",
    re.I,
)
_USERINFO = re.compile(r"(?<=://)[^/?#\s]*@|[^\s:/@]+:[^\s/@]+@")
_PASSWORD = re.compile(r"://[^/?#@]*:(?!\d+[/?#])[^@]*@")  # which may hold what ends a host
_QUERY = re.compile(r"\?[^\s'\"<>)]+")
_USERS = ("sftp", "ssh", "git+ssh", "smb")  # whose addresses may name a user, without a password
_REMEDY = "leave it out, and give it by the environment: see docs/guides/sources.md"


def named_credential(address: SplitResult) -> str | None:
    """Return the name of the first credential in an address's query, fragment or parameters."""
    given = "&".join((address.path.partition(";")[2], address.query, address.fragment))
    pairs = parse_qsl(given.replace(";", "&"))
    return next((name for name, _ in pairs if _NAMES.search(name)), None)


def check_address(location: str) -> None:
    """Raise InvalidInput, without the address, where it holds a credential."""
    try:
        parts = urlsplit(location)
        user = parts.username
        secret = named_credential(parts)
    except ValueError as exc:
        raise InvalidInput("the location is not an address that can be read") from exc
    if _PASSWORD.search(location) or (user and parts.scheme not in _USERS):
        raise InvalidInput(f"the location holds a user's name or password; {_REMEDY}")
    if secret:
        raise InvalidInput(f"the location's query holds {secret}, a credential; {_REMEDY}")


def check_options(options: Mapping[str, object]) -> None:
    """Raise InvalidInput, without its value, for an option that holds a credential."""
    for name, value in options.items():
        if _NAMES.search(name):
            raise InvalidInput(f"option {name} is a credential; {_REMEDY}")
        if isinstance(value, Mapping):
            check_options({str(key): inner for key, inner in value.items()})
        elif isinstance(value, str) and "://" in value:
            check_address(value)


def without_secrets(text: str) -> str:
    """Return what a library or a server said in one line, without users, queries of addresses and
    the values of variables, and of fsspec's configuration, that hold credentials."""
    stores = getattr(sys.modules.get("fsspec.config"), "conf", {})
    for given in (os.environ, *stores.values()):
        for name, value in given.items():
            if _NAMES.search(name) and len(str(value)) >= 6:
                text = text.replace(str(value), "…")
    text = _QUERY.sub("?…", _USERINFO.sub("…@", text))
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300]
