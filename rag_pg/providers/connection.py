"""The connection to a provider: key, address, time-out, repetition, errors in rag_pg's words.

All providers go through it, so no error leaves that is not rag_pg's, and none that shows a key.
"""

from __future__ import annotations

import math
import os
import re
import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any, Generic, Protocol, TypedDict, TypeVar

from rag_pg.deadline import current_scope, seconds_left, sleep
from rag_pg.errors import (
    InvalidInput,
    ProviderAuth,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RagError,
    RateLimited,
    UnusableReply,
)
from rag_pg.providers.interrupt import ending_in, forget_reply, last_reply
from rag_pg.retry import Backoff, retry

ATTEMPTS = 3
PAUSES = Backoff(first=0.5, factor=4.0)  # after a 429 without Retry-After, and after a 5xx
SHOWN = 80  # characters of a reply that cannot be read
PATIENCE = 20.0  # seconds: a longer Retry-After is not waited out, the error says it

C = TypeVar("C", bound="Closeable")
T = TypeVar("T")
Sleep = Callable[[float], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Provider:
    """Where a provider is, and where its key and address are set.

    free_elsewhere: at another address than `url` it may be a server of one's own,
    which asks for no key.
    """

    name: str
    url: str
    url_setting: str
    key_settings: tuple[str, ...]
    free_elsewhere: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """What an SDK is opened with. timeout: seconds per request."""

    key: str
    url: str
    timeout: float
    own: bool  # at the provider's own address


class Closeable(Protocol):
    """An SDK that a connection opens, and closes when it is no longer used."""

    def close(self) -> object: ...


def passing(message: str) -> ProviderUnavailable:
    """The error of a failure that may be over soon: a 5xx, a connection that broke."""
    error = ProviderUnavailable(message)
    error.is_passing = True
    return error


class ConnectionOptions(TypedDict, total=False):
    """How a provider is reached. timeout: seconds a request, above 0; 60 by default. sleep: pauses
    between repetitions."""

    api_key: str | None
    base_url: str | None
    timeout: float
    sleep: Sleep


class Connection(Generic[C]):
    """A lazily opened SDK of one provider. Threads may share it.

    Args:
        open_sdk: opens the SDK, told neither to repeat nor to wait; called once, at the first use.
        patience: seconds; a 429 that asks for a longer wait is raised at once,
            and with 0 every one is.
    Raises: InvalidInput (timeout).
    """

    def __init__(
        self,
        provider: Provider,
        open_sdk: Callable[[Access], C],
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 60.0,
        patience: float = PATIENCE,
        sleep: Sleep = sleep,
    ) -> None:
        if not timeout > 0:
            raise InvalidInput(f"timeout must be above 0 seconds, not {timeout:g}")
        self.provider = provider
        self._open_sdk = open_sdk
        self._given_key, self._given_url = api_key, base_url
        self._timeout, self._patience, self._sleep = timeout, patience, sleep
        self._lock = threading.Lock()
        self._sdk: C | None = None
        self._access = Access(key="", url="", timeout=timeout, own=True)

    def call(self, use: Callable[[C], T]) -> T:
        """Return use(sdk), repeated while the provider answers 5xx or asks for a short wait.
        Each time it has the time-out of the connection for all of its reply.

        Raises: ProviderError and its kinds, ModelUnavailable.
        """

        def in_time(sdk: C) -> T:
            with ending_in(self.timeout):
                return use(sdk)

        return self._repeated(in_time)

    def _repeated(self, use: Callable[[C], T]) -> T:
        sdk = self.open()

        def attempt() -> T:
            forget_reply()
            try:
                return use(sdk)
            except RagError:
                raise
            except Exception as exc:
                raise self._translate(exc) from self._cause(exc)

        return retry(attempt, pause_after=self._pause_after, sleep=self._sleep)

    def stream(self, use: Callable[[C], Iterator[T]]) -> Generator[T]:
        """Yield what use(sdk) yields; repeated as by `call` until the first came, then no more."""

        def begin(sdk: C) -> tuple[list[T], Iterator[T]]:
            pieces = use(sdk)
            return list(islice(pieces, 1)), pieces

        first, rest = self._repeated(begin)
        try:
            yield from first
            yield from rest
        except RagError:
            raise
        except Exception as exc:
            raise self._translate(exc) from self._cause(exc)
        finally:
            if isinstance(rest, Generator):
                rest.close()

    def _pause_after(self, exc: Exception, failures: int) -> float | None:
        scope = current_scope()
        if failures >= ATTEMPTS or (scope is not None and scope.is_stopped):
            return None
        if not isinstance(exc, RateLimited) and not getattr(exc, "is_passing", False):
            return None
        pause, patience = PAUSES.pause(failures), math.inf
        if isinstance(exc, RateLimited):
            patience = self._patience
            pause = pause if exc.retry_after is None else exc.retry_after
        return pause if pause <= seconds_left(patience) else None

    @property
    def url(self) -> str:
        """Where the provider is asked."""
        url = self._given_url or os.environ.get(self.provider.url_setting)
        return (url or self.provider.url).rstrip("/")

    @property
    def timeout(self) -> float:
        """Seconds that a request may take now: those of the connection, or what is left of the time
        that its caller has."""
        return seconds_left(self._timeout)

    def open(self) -> C:
        """Return the SDK, imported and given its key. Raises: ProviderAuth, ModelUnavailable."""
        with self._lock:
            if self._sdk is None:
                url = self.url
                own = url == self.provider.url
                key = self._find_key(needed=own or not self.provider.free_elsewhere)
                self._access = Access(key=key, url=url, timeout=self._timeout, own=own)
                self._sdk = self._open_sdk(self._access)
                weakref.finalize(self, self._sdk.close)
            return self._sdk

    def _find_key(self, *, needed: bool) -> str:
        """Return the key, "" for none. Raises: ProviderAuth (it is needed, or cannot be sent)."""
        name, settings = self.provider.name, self.provider.key_settings
        key = (self._given_key or next(filter(None, map(os.environ.get, settings)), "")).strip()
        if not key and needed and settings:
            raise ProviderAuth(f"no key for {name}: set {settings[0]}, or pass api_key")
        if not (key.isascii() and (key.isprintable() or not key) and " " not in key):
            raise ProviderAuth(f"the key for {name} has characters that no key has: copy it again")
        return key

    def _cause(self, exc: Exception) -> Exception | None:
        """The error to show as the cause: none whose text, or whose own causes', holds the key."""
        chain: BaseException | None = exc
        while chain is not None:
            if self._access.key and self._access.key in f"{chain} {chain!r}":
                return None
            chain = chain.__cause__ or chain.__context__
        return exc

    def _translate(self, exc: Exception) -> ProviderError:
        """Return rag_pg's error for an SDK's."""
        name, url = self.provider.name, self._access.url
        kinds = {kind.__name__ for error in _causes(exc) for kind in type(error).__mro__}
        response: Any = getattr(exc, "response", None)
        if hasattr(response, "status_code"):
            body = _error_body(response, exc)
            code = str(body.get("status") or body.get("code") or body.get("type") or "")
            status = int(response.status_code)
            told = code != str(status) and re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", code)
            label = f"{status} {code}" if told else f"{status}"
            detail = self._clean(f"{label}: {body.get('message') or ''}")
            error = self._from_response(response, status, body, detail)
            error.provider_message = detail.removeprefix(label).removeprefix(": ")
            return error
        if kinds & {"TimeoutException", "Timeout", "ReadTimeoutError", "SlowReply"}:
            return ProviderTimeout(
                f"{name} gave no answer within {self._timeout:g} s; raise timeout, or ask for less"
            )
        *_, cause = (error for error in (exc, *_causes(exc)) if error is exc or str(error))
        detail = self._clean(f"{type(cause).__name__}: {cause}")
        if kinds & {"RemoteProtocolError", "ReadError", "ChunkedEncodingError"}:
            return passing(f"{name} at {url} broke off its answer ({detail}); ask again")
        if kinds & {"TransportError", "RequestException", "InvalidURL"}:
            tls = "the certificate (SSL_CERT_FILE names whom to trust)" * ("SSLError" in kinds)
            check = filter(None, (tls, "the network", "the proxy", self.provider.url_setting))
            return ProviderUnavailable(
                f"cannot reach {name} at {url} ({detail}); check {', '.join(check)}"
            )
        if "APIError" in kinds and not kinds & {"APIResponseValidationError"}:  # inside a stream
            error = ProviderUnavailable(f"{name} broke off its answer ({detail}); ask again")
            error.provider_message = detail
            return error
        kind, text = last_reply()
        shown = f"{kind}: {self._clean(text)[:SHOWN] or 'nothing'}" if kind else detail
        mend = f"; check {self.provider.url_setting}" if self.provider.url_setting else ""
        error = UnusableReply(f"{name} at {url} gave a reply that cannot be read ({shown}){mend}")
        error.provider_message = shown
        return error

    def _from_response(
        self, response: Any, status: int, body: Mapping[str, Any], detail: str
    ) -> ProviderError:
        name = self.provider.name
        refused = status in (401, 403) or "API_KEY_INVALID" in str(body.get("details"))
        if refused or (status == 400 and "api key" in detail.lower()):
            settings = " or ".join(self.provider.key_settings)
            return ProviderAuth(f"{name} refused the key ({detail}); check {settings}")
        if status == 429:
            wait = _retry_after(body, response.headers)
            when = "" if wait is None else f"; it asks to wait {wait:g} s"
            return RateLimited(f"{name}'s rate limit is reached ({detail}){when}", wait)
        if status in (408, 504):
            return ProviderTimeout(
                f"{name} did not finish within its {self._timeout:g} s ({detail}); raise timeout"
            )
        if status >= 500:
            return passing(f"{name} answered {detail}")
        if 300 <= status < 400:
            to = self._clean(str(response.headers.get("location") or "nowhere"))
            return ProviderUnavailable(
                f"{name} at {self._access.url} answered {status}: it redirects to {to}, where"
                f" nobody sent these texts; set {self.provider.url_setting} to that if it is right"
            )
        if status < 400:  # an error inside a stream that had begun well
            return ProviderUnavailable(f"{name} broke off its answer ({detail}); ask again")
        return ProviderError(f"{name} answered {detail}")

    def _clean(self, text: str) -> str:
        """One line of at most 300 characters without the key."""
        key = self._access.key
        return " ".join((text.replace(key, "***") if key else text).split())[:300].rstrip(": ")


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """The error, what it was raised from and what it holds: libraries wrap each other's errors."""
    current: BaseException | None = exc
    while current is not None:
        yield current
        yield from (each for each in current.args if isinstance(each, BaseException))
        current = current.__cause__


def _error_body(response: Any, exc: Exception) -> Mapping[str, Any]:
    """What a reply says of the error; of one that is not JSON, its text as the message."""
    try:
        body = response.json()
    except Exception:  # no JSON, or a stream that was read already
        body = getattr(exc, "body", None)
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict):
        error = body.get("error", body.get("detail", body))
        return error if isinstance(error, dict) else {"message": str(error)}
    try:
        return {"message": str(response.text)}
    except Exception:  # a stream that was not read
        return {"message": str(exc)}


def _retry_after(body: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from the reply's RetryInfo, else from its Retry-After; None: not said."""
    details = body.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and str(detail.get("@type")).endswith("RetryInfo"):
            match = re.fullmatch(r"(\d+(?:\.\d+)?)s", str(detail.get("retryDelay")))
            if match:
                return float(match[1])
    header = headers.get("retry-after") or ""
    if re.fullmatch(r"\d+(\.\d+)?", header):
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
