"""The connection to Gemini: key, address, time-out, repetition, errors in rag_pg's words."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any, TypeVar

from rag_pg.errors import (
    InvalidInput,
    ProviderAuth,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
    UnusableReply,
)
from rag_pg.providers.gemini.sdk import Sdk, SdkChoice, open_sdk

URL = "https://generativelanguage.googleapis.com"
URL_SETTING = "RAG_PG_GEMINI_BASE_URL"
KEY_SETTINGS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
PAUSES = (0.25, 1.0)  # seconds before the first and the second repetition of a request that got 5xx

_T = TypeVar("_T")


class Connection:
    """A lazily opened SDK. Its errors leave as rag_pg's, without the key in any message."""

    def __init__(
        self, api_key: str | None, base_url: str | None, sdk: SdkChoice, timeout: float
    ) -> None:
        if timeout <= 0:
            raise InvalidInput(f"timeout must be above 0 seconds, not {timeout:g}")
        self._given_key, self._given_url = api_key, base_url
        self._choice, self._timeout = sdk, timeout
        self._lock = threading.Lock()
        self._sdk: Sdk | None = None
        self._key = self._url = ""

    def stream(self, use: Callable[[Sdk], Iterator[_T]]) -> Generator[_T]:
        """Yield what use(sdk) yields; the request is tried again as by `call` until the first came."""

        def begin(sdk: Sdk) -> tuple[list[_T], Iterator[_T]]:
            pieces = use(sdk)
            return list(islice(pieces, 1)), pieces

        first, rest = self.call(begin)
        try:
            yield from first
            yield from rest
        except Exception as exc:
            raise self._translate(exc)[0] from (None if self._key in str(exc) else exc)
        finally:
            close = getattr(rest, "close", None)
            if close:
                close()

    def call(self, use: Callable[[Sdk], _T]) -> _T:
        """Return use(sdk), tried again after each of PAUSES while the provider answers 5xx."""
        sdk = self.open()
        pauses = iter(PAUSES)
        while True:
            try:
                return use(sdk)
            except Exception as exc:
                error, again = self._translate(exc)
                pause = next(pauses, None) if again else None
                if pause is None:
                    raise error from (None if self._key in str(exc) else exc)
            time.sleep(pause)

    def open(self) -> Sdk:
        """Return the SDK, imported and given its key. Raises: ProviderAuth, ModelUnavailable."""
        with self._lock:
            if self._sdk is None:
                self._key = _find_key(self._given_key)
                self._url = (self._given_url or os.environ.get(URL_SETTING) or URL).rstrip("/")
                self._sdk = open_sdk(
                    self._choice, api_key=self._key, base_url=self._url, timeout=self._timeout
                )
            return self._sdk

    def _translate(self, exc: Exception) -> tuple[ProviderError, bool]:
        """Return rag_pg's error for an SDK's, and whether to try again."""
        kinds = {kind.__name__ for kind in type(exc).__mro__}  # httpx, httpx2 or requests
        response = getattr(exc, "response", None)
        if response is not None and hasattr(response, "status_code"):
            return self._from_response(response)
        if kinds & {"TimeoutException", "Timeout"}:
            return ProviderTimeout(
                f"gemini gave no answer within {self._timeout:g} s; raise timeout, or ask for less"
            ), False
        said = self._clean(f"{type(exc).__name__}: {exc}")
        if kinds & {"TransportError", "RequestException", "InvalidURL"}:
            return ProviderUnavailable(
                f"cannot reach gemini at {self._url} ({said}); "
                f"check the network, the proxy and {URL_SETTING}"
            ), False
        return UnusableReply(
            f"gemini at {self._url} gave a reply that cannot be read ({said})"
        ), False

    def _from_response(self, response: Any) -> tuple[ProviderError, bool]:
        status = int(response.status_code)
        body = _error_body(response)
        said = self._clean(f"{status} {body.get('status') or ''}: {body.get('message') or ''}")
        refused = status in (401, 403) or "API_KEY_INVALID" in str(body.get("details"))
        if refused or (status == 400 and "api key" in said.lower()):
            return ProviderAuth(
                f"gemini refused the key ({said}); check {' or '.join(KEY_SETTINGS)}"
            ), False
        if status == 429:
            wait = _retry_after(body, response.headers)
            when = "" if wait is None else f"; it asks to wait {wait:g} s"
            return RateLimited(f"gemini's rate limit is reached ({said}){when}", wait), False
        if status in (408, 504):
            return ProviderTimeout(
                f"gemini did not finish within its {self._timeout:g} s ({said}); raise timeout"
            ), False
        if status >= 500:
            return ProviderUnavailable(f"gemini answered {said}"), True
        return ProviderError(f"gemini answered {said}"), False

    def _clean(self, text: str) -> str:
        """One line of at most 300 characters without the key."""
        return " ".join(text.replace(self._key, "***").split())[:300].rstrip(": ")


def _find_key(given: str | None) -> str:
    """Return the key. Raises: ProviderAuth (none, or one that cannot be sent)."""
    key = (given or next(filter(None, map(os.environ.get, KEY_SETTINGS)), "")).strip()
    if not key:
        raise ProviderAuth(f"no key for gemini: set {KEY_SETTINGS[0]}, or pass api_key")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ProviderAuth("the key for gemini has characters that no key has: copy it again")
    return key


def _error_body(response: Any) -> Mapping[str, Any]:
    """The "error" object of a reply; of one that is not JSON, its text as the message."""
    try:
        body = response.json()
        error = (body[0] if isinstance(body, list) else body)["error"]
    except (ValueError, LookupError, TypeError):
        error = None
    return error if isinstance(error, dict) else {"message": str(response.text)}


def _retry_after(body: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from the reply's RetryInfo, else from its Retry-After; None: not said."""
    for detail in body.get("details") or ():
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
