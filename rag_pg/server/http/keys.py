"""Who may ask: keys of the database, each with a role, scopes, an end and limits."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException

from rag_pg.client import AsyncRag
from rag_pg.types import UsedKey


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key. name: what logs call it. digest: SHA-256 of its secret. settings: of the database, in
    each of its transactions."""

    name: str
    digest: bytes
    scopes: frozenset[str]
    settings: tuple[tuple[str, str], ...]

    def check_scope(self, scope: str) -> None:
        """Raises: HTTPException."""
        implied = {"read"} if "ask" in self.scopes else set()  # answers show what they cite
        if scope not in self.scopes | implied:
            told = f"this key may not {scope}; it may {', '.join(sorted(self.scopes))}"
            raise HTTPException(403, told)


async def find_key(rag: AsyncRag, headers: Sequence[str], state: dict[str, Any]) -> Key:
    """Return the key that a request brings as Authorization: Bearer KEY, and count the request.

    Args:
        headers: the values of Authorization. state: of the request, where the name of a key that
            there is stands as key_name, though it may be refused.
    Raises: HTTPException, with the same words for every key that is none, and for one that was
        revoked, has expired or lost its role with those, as who brings it has its secret; with 429
        beyond a limit.
    """
    scheme, _, given = (headers[0] if len(headers) == 1 else "").partition(" ")
    digest = hashlib.sha256(given.strip().encode("utf-8", "replace")).digest()
    found: UsedKey | None = None
    if scheme.lower() == "bearer" and given.strip():
        found = await rag.run(lambda: rag.sync.database.use_service_key(digest))
    if found is None:
        raise HTTPException(401, "send a key that this service knows: Authorization: Bearer KEY")
    state["key_name"] = found.key_name
    _check(found)
    settings = {**found.settings, f"{rag.sync.database.schema}.service_key": digest.hex()}
    if found.role_name:
        settings["role"] = found.role_name  # last, as it may not set the others
    scopes = frozenset(found.scopes)
    return Key(name=found.key_name, digest=digest, scopes=scopes, settings=(*settings.items(),))


async def check_again(rag: AsyncRag, key: Key) -> None:
    """Raises: HTTPException, as `find_key`, where a key has ended, or reached a limit of tokens or
    cost, since its request was counted: while its body came, or while it waited."""
    found = await rag.run(lambda: rag.sync.database.use_service_key(key.digest, tokens=0))
    if found is not None:
        _check(found)


def _check(found: UsedKey) -> None:
    if found.refused in ("revoked", "expired", "without its role"):
        raise HTTPException(401, f"this key is {found.refused}")
    if found.refused is not None:
        seconds = math.ceil(found.wait_seconds)
        told = f"this key has reached its limit {found.refused}; come again in {seconds:,} seconds"
        raise HTTPException(429, told, {"Retry-After": str(seconds)})
