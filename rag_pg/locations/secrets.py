"""Credentials stay in the environment or in a file of their own: not in a location, nor in what is
said or noted of it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from rag_pg.errors import InvalidInput

_NAMES = re.compile(
    r"key|secret|token|passw|pwd|credential|signature|\bsig\b|auth|cookie|session", re.I
)
_USERINFO = re.compile(r"(?<=://)[^/?#\s]*@")
_QUERY = re.compile(r"\?[^\s'\"<>)]+")
_USERS = ("sftp", "ssh", "git+ssh", "smb")  # whose addresses may name a user, without a password
_REMEDY = "leave it out, and give it by the environment: see docs/guides/sources.md"


def check_address(location: str) -> None:
    """Raise InvalidInput, without the address, where it holds a credential."""
    try:
        parts = urlsplit(location)
        user, password = parts.username, parts.password
        names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    except ValueError as exc:
        raise InvalidInput("the location is not an address that can be read") from exc
    if password is not None or (user and parts.scheme not in _USERS):
        raise InvalidInput(f"the location holds a user's name or password; {_REMEDY}")
    if secret := [name for name in names if _NAMES.search(name)]:
        raise InvalidInput(f"the location's query holds {secret[0]}, a credential; {_REMEDY}")


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
    the values of variables that hold credentials."""
    for name, value in os.environ.items():
        if len(value) >= 6 and _NAMES.search(name):
            text = text.replace(value, "…")
    text = _QUERY.sub("?…", _USERINFO.sub("…@", text))
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300]
