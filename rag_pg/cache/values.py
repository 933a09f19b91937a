"""Values as they are kept: keys are digests, values are compressed JSON that names no class.

Nothing that is read can run code, as a pickle could: an entry is what a role wrote.
"""

from __future__ import annotations

import hashlib
import json
import types
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from rag_pg.version import __version__

T = TypeVar("T")


def digest(*parts: object) -> bytes | None:
    """Return a key: the SHA-256 of the parts and of this program's version; None where one of them
    has no canonical form, as a function or an object of the caller's."""
    try:
        text = json.dumps([__version__, *parts], sort_keys=True, default=_plain, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def pack(value: object) -> bytes:
    """Raises: TypeError (a value that is no data)."""
    return zlib.compress(json.dumps(value, default=_plain).encode(), level=1)


def unpack(cls: type[T], packed: bytes | None) -> T | None:
    """Return the value of a class that was packed; None where there is none, or another."""
    if packed is None:
        return None
    try:
        read: T = _read(cls, json.loads(zlib.decompress(packed)))
    except (ValueError, KeyError, TypeError, zlib.error):
        return None
    return read


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | list):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no data")


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _read(kind: Any, value: Any) -> Any:
    """A value of JSON as a value of a type: the types that rag_pg.types use."""
    origin, arguments = get_origin(kind), get_args(kind)
    if value is None or kind is Any or origin is Literal:
        return value
    if origin in (Union, types.UnionType):
        (kind,) = [part for part in arguments if part is not type(None)]
        return _read(kind, value)
    if origin in (Sequence, list, tuple):
        read = [_read(arguments[0], item) for item in value]
        return read if origin is list else tuple(read)
    if origin in (Mapping, dict):
        return {name: _read(arguments[1], item) for name, item in value.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: _read(hints[name], item) for name, item in value.items()})
    if kind in (UUID, date, datetime):
        return UUID(value) if kind is UUID else kind.fromisoformat(value)
    if not isinstance(value, (int, float) if kind is float else kind):
        raise TypeError(f"{value!r:.100} is no {kind}")
    return value
