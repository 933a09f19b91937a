"""Who may ask: keys of a file, each with a role of the database, scopes and an end."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rag_pg.errors import InvalidInput
from rag_pg.server.http.problem import Refused

SCOPES = ("read", "ask", "write", "operate")
SHORTEST_KEY = 32  # characters
DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
SETTING = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key. name: what logs call it. role: whose rights its statements have; None: the service's.
    settings: of the database, for its policies. expires_at: None: never."""

    name: str
    digest: bytes = field(repr=False)
    role: str | None = None
    scopes: frozenset[str] = frozenset(SCOPES)
    settings: Mapping[str, str] = field(default_factory=dict)
    expires_at: datetime | None = None

    @property
    def database_settings(self) -> dict[str, str]:
        """What holds in each of its transactions; the role last, as it may not set the others."""
        return {**self.settings, **({"role": self.role} if self.role else {})}

    def check_scope(self, scope: str) -> None:
        """Raises: Refused."""
        implied = {"read"} if "ask" in self.scopes else set()  # answers show what they cite
        if scope not in self.scopes | implied:
            raise Refused(403, f"this key may not {scope}; it may {', '.join(sorted(self.scopes))}")


def find_key(keys: Sequence[Key], headers: Sequence[str]) -> Key:
    """Return the key that a request brings as Authorization: Bearer KEY. All are compared, in the
    same time whichever it is.

    Args:
        headers: the values of Authorization.
    Raises: Refused, with the same words for every key that is none.
    """
    scheme, _, given = (headers[0] if len(headers) == 1 else "").partition(" ")
    digest = hashlib.sha256(given.strip().encode("utf-8", "replace")).digest()
    found = [key for key in keys if hmac.compare_digest(key.digest, digest)]
    if scheme.lower() != "bearer" or not found:
        raise Refused(401, "send a key that this service knows: Authorization: Bearer KEY")
    if found[0].expires_at is not None and found[0].expires_at <= datetime.now(UTC):
        raise Refused(401, "this key has expired")
    return found[0]


def read_keys(path: Path) -> list[Key]:
    """Read the keys of a file: one a line, or sha256: and its digest, then NAME=VALUE of role,
    scopes (with commas between), expires (a date or moment) and of settings such as app.tenant.

    Raises: InvalidInput, which repeats no key.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as exc:
        raise InvalidInput(f"cannot read the keys of {path}: {exc}") from exc
    keys = [
        _read_key(f"{path.name}:{number}", line.split())
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not keys:
        raise InvalidInput(f"{path} holds no key; write one a line, as from: openssl rand -hex 32")
    if len({key.digest for key in keys}) < len(keys):
        raise InvalidInput(f"{path} holds a key twice; which of its lines is meant?")
    return keys


def _read_key(name: str, words: Sequence[str]) -> Key:
    known = DIGEST.fullmatch(words[0])
    if not known and len(words[0]) < SHORTEST_KEY:
        raise InvalidInput(f"{name}: the key has fewer than {SHORTEST_KEY} characters")
    digest = bytes.fromhex(known[1]) if known else hashlib.sha256(words[0].encode()).digest()
    given = dict(word.partition("=")[::2] for word in words[1:])
    scopes = frozenset(given.pop("scopes", ",".join(SCOPES)).split(","))
    if not scopes <= {*SCOPES}:
        raise InvalidInput(f"{name}: scopes are some of {','.join(SCOPES)}")
    role, until = given.pop("role", None), given.pop("expires", None)
    try:
        expires_at = None if until is None else datetime.fromisoformat(until)
    except ValueError as exc:
        raise InvalidInput(f"{name}: expires is no date, as 2027-01-31") from exc
    if expires_at is not None and expires_at.tzinfo is None:
        expires_at = expires_at.replace(tzinfo=UTC)
    if role == "" or not all(SETTING.fullmatch(one) for one in given):
        raise InvalidInput(f"{name}: use role=, scopes=, expires= and settings such as app.tenant=")
    return Key(
        name=name, digest=digest, role=role, scopes=scopes, settings=given, expires_at=expires_at
    )
