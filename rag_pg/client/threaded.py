"""A method of the synchronous client -> one that is awaited, and the threads that it runs in."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, cast

from rag_pg.search import SearchOptions, asks_models

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
# statements: asks the database alone. search: embeds a question too. long: waits for language
# models, files or workers.
Kind = Literal["statements", "search", "long"]


def kind_of_search(options: Mapping[str, Any]) -> Kind:
    return (
        "long" if options.get("wait_for") or asks_models(cast(SearchOptions, options)) else "search"
    )


class _Wrapper(Protocol[S_co]):
    """What stands for an object of the synchronous client, and runs its calls."""

    @property
    def _sync(self) -> S_co: ...

    async def _run(self, kind: Kind, call: Callable[[], T], *, can_stop: bool) -> T: ...


class Threaded(Generic[S, P, T]):
    """A method of the synchronous client as one that is awaited, with the same parameters.

    Args:
        kind: whose threads it runs in, or what tells that by the call's options. can_stop: whether
            cancelling who awaits it ends it; what writes goes on.
    """

    def __init__(
        self,
        call: Callable[Concatenate[S, P], T],
        kind: Kind | Callable[[Mapping[str, Any]], Kind] = "statements",
        *,
        can_stop: bool = False,
    ) -> None:
        self._call, self._kind, self._can_stop = call, kind, can_stop
        update_wrapper(self, call)  # type: ignore[arg-type]

    def __get__(
        self, wrapper: _Wrapper[S], owner: type | None = None
    ) -> Callable[P, Coroutine[Any, Any, T]]:
        if wrapper is None:
            return self

        async def awaited(*args: P.args, **kwargs: P.kwargs) -> T:
            kind = self._kind(kwargs) if callable(self._kind) else self._kind
            call = partial(self._call, wrapper._sync, *args, **kwargs)
            return await wrapper._run(kind, call, can_stop=self._can_stop)

        return update_wrapper(awaited, self._call)
