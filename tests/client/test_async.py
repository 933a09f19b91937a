"""The client for asyncio has what the synchronous one has, with the same arguments."""

import inspect
from typing import Any

import pytest

from rag_pg import (
    AsyncCollection,
    AsyncRag,
    Collection,
    InvalidInput,
    Rag,
    Settings,
)
from rag_pg.client.threaded import Threaded

INNER = {"database"}  # what modules of the client share


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(("plain", "threaded"), [(Rag, AsyncRag), (Collection, AsyncCollection)])
def test_each_call_is_there_with_the_same_parameters(plain: type, threaded: type) -> None:
    assert public(plain) - INNER <= public(threaded)
    for name in public(plain) - INNER:
        call, awaited = getattr(plain, name), inspect.getattr_static(threaded, name)
        if isinstance(call, property):
            assert isinstance(awaited, property)
            continue
        if isinstance(awaited, Threaded):
            assert awaited._call is call
            continue
        assert parameters(awaited) == parameters(call), name


def parameters(call: Any) -> list[tuple[str, Any, Any]]:
    """Each with its kind and default, of a method."""
    found = inspect.signature(call).parameters.values()
    return [(one.name, one.kind, one.default) for one in found]


def test_the_size_of_the_pool_is_a_setting() -> None:
    assert Settings.from_environment({"RAG_PG_POOL_SIZE": "9"}).pool_size == 9
    for wrong in ("0", "many", "1001"):
        with pytest.raises(InvalidInput, match="number of connections"):
            Settings.from_environment({"RAG_PG_POOL_SIZE": wrong})
