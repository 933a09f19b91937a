"""A method of the synchronous client -> one that is awaited, and the threads that it runs in."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, cast

from rag_pg.search import SearchOptions, asks_models

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
N = TypeVar("N")
S_co = TypeVar("S_co", covariant=True)
Call = TypeVar("Call", bound=Callable[..., Any])
# statements: asks the database alone. search: embeds a question too. long: waits for language
# models, files or workers.
Kind = Literal["statements", "search", "long"]
KindOf = Callable[[Mapping[str, Any]], Kind]


def in_thread(kind: Kind | KindOf, *, can_stop: bool = False) -> Callable[[Call], Call]:
    """Mark a method as one that an `AsyncRag` runs in other threads than those of statements.

    Args:
        kind: which, or what tells that by the call's options.
        can_stop: whether cancelling who awaits it ends it; what writes goes on.
    """

    def mark(call: Call) -> Call:
        cast(Any, call).in_thread = kind, can_stop
        return call

    return mark


def kind_of_search(options: Mapping[str, Any]) -> Kind:
    return (
        "long" if options.get("wait_for") or asks_models(cast(SearchOptions, options)) else "search"
    )


class Runs(Protocol):
    """What has threads, an `AsyncRag`."""

    def __call__(
        self, kind: Kind, call: Callable[[], T], *, can_stop: bool
    ) -> Coroutine[Any, Any, T]: ...


class _Wrapper(Protocol[S_co]):
    """What stands for an object of the synchronous client, and runs its calls."""

    @property
    def _sync(self) -> S_co: ...

    @property
    def _run(self) -> Runs: ...


class Threaded(Generic[S, P, T]):
    """A method of the synchronous client as one that is awaited, with the same parameters, in a
    thread as `in_thread` says."""

    def __init__(self, call: Callable[Concatenate[S, P], T]) -> None:
        self._call = call
        self._kind: Kind | KindOf
        self._can_stop: bool
        self._kind, self._can_stop = getattr(call, "in_thread", ("statements", False))
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


class Inner(Generic[N]):
    """A namespace of the synchronous client as one whose calls are awaited."""

    def __init__(self, kind: Callable[[Runs, Any], N]) -> None:
        self.kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, wrapper: _Wrapper[Any], owner: type | None = None) -> N:
        if wrapper is None:
            return cast(N, self)
        return self.kind(wrapper._run, getattr(wrapper._sync, self._name))


class Beside(Generic[S]):
    """A namespace of the asynchronous client, made of the one of the synchronous client."""

    def __init__(self, run: Runs, sync: S) -> None:
        self._run = run
        self._sync = sync

    def __repr__(self) -> str:
        return f"Async{self._sync!r}"
