"""Every error rag_pg raises on purpose. The message says what was wrong and how to mend it.

    RagError
    ├── InvalidInput            a wrong argument, query, filter, setting or document
    │   ├── UnsupportedFile     a file type without a loader, or content that is not text
    │   └── InvalidQuery        limit out of range, query too long, malformed filter
    ├── AlreadyExists           a document that was not to be replaced
    ├── NotFound                an unknown collection, document or job
    ├── CollectionMismatch      a collection exists with other settings (model, dimensions, …)
    │   └── SpaceChanged        another embedding space was activated meanwhile
    ├── GateFailed              a change would make a collection worse than its gate allows
    ├── NotReady                documents not searchable in time, an embedding space not complete
    ├── SchemaMismatch          the database's schema is missing, older or newer than this program
    ├── DatabaseUnavailable     cannot connect, connection lost, no writes now, server too old,
    │                           pgvector missing
    ├── PermissionDenied        the role may not read, write or call it
    ├── StatementCanceled       by a limit (statement_timeout, …), or by an administrator
    ├── LocationUnavailable     what a collection is synced with cannot be listed
    ├── LeaseLost               a job's lease expired or its document changed meanwhile
    ├── NoAnswer                no worker answered a request in time, or it could not
    ├── ModelUnavailable        weights or a library are missing
    │   └── UnknownModel        nothing here has a model of that name; also an InvalidInput
    └── ProviderError           an embedding or language model provider failed
        ├── ProviderAuth        no key, or a key that is refused
        ├── RateLimited         429; `retry_after` in seconds where the provider says so
        ├── ProviderUnavailable it cannot be reached, or answers 5xx
        │   └── ProviderTimeout no answer in time
        ├── UnusableReply       an answer that cannot be read, vectors that cannot be stored
        │   └── UnfitAnswer     a model wrote what does not fit, or was cut off
        ├── AnswerBlocked       the provider refused to answer
        └── BudgetExceeded      a call was not made, for it might pass a bound

SQL functions raise SQLSTATE codes of class RG, and 42501; `SQLSTATES` maps them to these classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from rag_pg.types import Usage

__all__ = [
    "AlreadyExists",
    "AnswerBlocked",
    "BudgetExceeded",
    "CollectionMismatch",
    "DatabaseUnavailable",
    "GateFailed",
    "InvalidInput",
    "InvalidQuery",
    "LeaseLost",
    "LocationUnavailable",
    "ModelUnavailable",
    "NoAnswer",
    "NotFound",
    "NotReady",
    "PermissionDenied",
    "ProviderAuth",
    "ProviderError",
    "ProviderTimeout",
    "ProviderUnavailable",
    "RagError",
    "RateLimited",
    "SchemaMismatch",
    "SpaceChanged",
    "StatementCanceled",
    "UnfitAnswer",
    "UnknownModel",
    "UnsupportedFile",
    "UnusableReply",
]


class RagError(Exception):
    """Base of every error raised on purpose. sqlstate: the database's code, where it is behind."""

    sqlstate: str | None = None

    @staticmethod
    def from_sqlstate(error: BaseException | str | None, message: str | None = None) -> RagError:
        """Return the error that a code of the database stands for; a RagError that names the code
        for one that is not rag_pg's.

        For programs that call the SQL functions over a driver of their own: `raise
        RagError.from_sqlstate(exc) from exc`.

        Args:
            error: what the driver raised, also where SQLAlchemy wraps it; or the code alone.
            message: in the place of the database's own words.
        """
        raised = getattr(error, "orig", None) or error
        code = raised if isinstance(raised, str) else _code_of(raised)
        kind = SQLSTATES.get(code or "")
        text = message or (_message_of(raised) if isinstance(raised, BaseException) else "")
        text = text or "the database gave an error without words"
        found = RagError(f"{text} (SQLSTATE {code})" if code else text) if not kind else kind(text)
        found.sqlstate = code
        return found


def _code_of(raised: object) -> str | None:
    code = getattr(raised, "sqlstate", None) or getattr(raised, "pgcode", None)
    return code if isinstance(code, str) else None


def _message_of(raised: BaseException) -> str:
    """Return what a driver's error says, with its remedy, without where it was raised."""
    told = getattr(raised, "diag", None)
    message = getattr(told, "message_primary", None) or str(raised).strip()
    hint = getattr(told, "message_hint", None) or getattr(raised, "hint", None)
    return f"{message}; {hint}" if hint else message


class InvalidInput(RagError, ValueError):
    """A wrong argument, query, filter, setting or document."""


class UnsupportedFile(InvalidInput):
    """A file type without a loader, or content that is not text."""


class InvalidQuery(InvalidInput):
    """Limit out of range, query too long, malformed filter."""


class AlreadyExists(RagError):
    """A document with that uri is there, and was not to be replaced."""


class NotFound(RagError, LookupError):
    """An unknown collection, document or job."""


class CollectionMismatch(RagError):
    """A collection exists with other settings."""


class SpaceChanged(CollectionMismatch):
    """Another embedding space was activated since the collection was opened."""


class GateFailed(RagError):
    """A change would make a collection worse than its gate allows.

    change: what was refused. checks: the figures of each gate and category, as in
    `GateCheck.details`. Both are empty where the error does not come from a call of the database.
    """

    change: str = ""
    checks: Sequence[Mapping[str, Any]] = ()


class NotReady(RagError):
    """Documents are not searchable in time, or an embedding space is not complete."""


class SchemaMismatch(RagError):
    """The schema is missing, older or newer than this program, or was changed by hand."""


class DatabaseUnavailable(RagError, ConnectionError):
    """Cannot connect, connection lost, no writes now, server too old, pgvector missing."""


class PermissionDenied(RagError, PermissionError):
    """The role may not read, write or call it, or a policy refuses the row."""


class StatementCanceled(RagError):
    """The database ended a statement: by a limit of the role or database (statement_timeout,
    temp_file_limit, …), or because an administrator asked it to."""


class LocationUnavailable(RagError):
    """A location that a collection is synced with cannot be listed: nothing of it is deleted."""


class LeaseLost(RagError):
    """A job's lease expired, or its document changed while it was being processed."""


class NoAnswer(RagError):
    """No worker answered a request in time, or it could not."""


class ModelUnavailable(RagError):
    """Weights or a library are missing."""


class UnknownModel(InvalidInput, ModelUnavailable):
    """Nothing here has a model of that name, as of vectors that are brought."""


class ProviderError(RagError):
    """An embedding or language model provider failed. usage: of calls answered before it did.
    provider_message: what is the provider's own; it may quote keys or what it was sent."""

    usage: Usage | None = None
    provider_message: str = ""

    @property
    def told(self) -> str:
        """The message without the provider's own words, for others than who runs this."""
        return str(self).replace(self.provider_message, "…") if self.provider_message else str(self)


class ProviderAuth(ProviderError):
    """No key, or a key that is refused."""


class RateLimited(ProviderError):
    """The provider asks to slow down."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ProviderUnavailable(ProviderError):
    """The provider cannot be reached, or says that it cannot answer anybody now. is_passing: it may
    be over soon, as a 5xx: it was asked again."""

    is_passing = False


class ProviderTimeout(ProviderUnavailable):
    """No answer in time."""


class UnusableReply(ProviderError):
    """An answer that cannot be read, or vectors of a wrong number, length or value."""


class UnfitAnswer(UnusableReply):
    """What a model wrote is not what was asked for, or was cut off: its provider is up."""


class AnswerBlocked(ProviderError):
    """The provider refused to answer."""


class BudgetExceeded(ProviderError):
    """A call of a model was not made, for it might pass a bound: max_tokens (3000), …"""

    def __init__(self, message: str, *, bound: str) -> None:
        super().__init__(message)
        self.bound = bound


SQLSTATES: dict[str, type[RagError]] = {
    "42501": PermissionDenied,
    "RG001": InvalidInput,
    "RG002": NotFound,
    "RG003": CollectionMismatch,
    "RG004": InvalidQuery,
    "RG005": LeaseLost,
    "RG006": SchemaMismatch,
    "RG007": NotReady,
    "RG008": SpaceChanged,
    "RG009": NoAnswer,
    "RG010": GateFailed,
    "RG011": DatabaseUnavailable,
    "RG012": AlreadyExists,
}
