"""Statements about the keys of the HTTP service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from rag_pg.db.statements import Statements
from rag_pg.types import ServiceKey, UsedKey


class ServiceKeys(Statements):
    """Keys: made, listed, used."""

    def make_service_key(
        self,
        key_name: str,
        *,
        role_name: str | None = None,
        scopes: Sequence[str],
        settings: Mapping[str, str],
        limits: Mapping[str, float],
        expires_at: datetime | None = None,
    ) -> str:
        """Return the secret of a new key, which is kept nowhere."""
        return self.value(
            str,
            "make_service_key",
            key_name=key_name,
            role_name=role_name,
            scopes=scopes,
            settings=settings,
            limits=limits,
            expires_at=expires_at,
        )

    def list_service_keys(self) -> list[ServiceKey]:
        return self.rows(ServiceKey, "list_service_keys")

    def use_service_key(
        self, digest: bytes, *, tokens: int | None = None, cost: float | None = None
    ) -> UsedKey | None:
        return self.row(UsedKey, "use_service_key", digest=digest, tokens=tokens, cost=cost)
