"""The body of a request that is JSON, read whole: of a key that an object has twice, one value
would be lost without a word."""

from __future__ import annotations

import json

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from rag_pg.errors import InvalidInput
from rag_pg.text import unique_object

MOST = 2_000_000  # bytes


async def with_whole_json(scope: Scope, receive: Receive, most: int = MOST) -> Receive:
    """Return what gives the messages of `receive`, the body in one where it is JSON; what is no
    JSON is left to who reads it. Raises: InvalidInput (a key twice in an object, more than `most`
    bytes, too many levels or digits)."""
    kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        return receive
    body, message = bytearray(), await receive()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        if len(body) > most:
            raise InvalidInput(f"the body has more than {most} bytes")
        if not message.get("more_body", False):
            message = {"type": "http.request", "body": bytes(body), "more_body": False}
            break
        message = await receive()
    try:
        json.loads(body, object_pairs_hook=unique_object)
    except RecursionError:
        raise InvalidInput("the body is nested too deep; send fewer levels") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        pass
    except ValueError as exc:  # of a key, or of Python about digits
        told = "the body has a number of thousands of digits; shorten it"
        raise exc if isinstance(exc, InvalidInput) else InvalidInput(told) from None
    messages = [message]

    async def given() -> Message:
        return messages.pop() if messages else await receive()

    return given
