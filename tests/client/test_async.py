"""The client for asyncio has what the synchronous one has, with the same arguments."""

import asyncio
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any, assert_type, cast, get_type_hints

import pytest
from fakes import HashEmbedder
from paths import script

from rag_pg import (
    AsyncCollection,
    AsyncRag,
    Collection,
    InvalidInput,
    Rag,
    Settings,
)
from rag_pg.client.threaded import Inner, Threaded
from rag_pg.evaluation.client import (
    AsyncCollectionEvaluation,
    AsyncEvaluation,
    CollectionEvaluation,
    Evaluation,
)
from rag_pg.types import Space

INNER = {"database"}  # what modules of the client share


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")} - INNER


def pairs(plain: type, threaded: type) -> Iterator[tuple[type, type, str]]:
    """Yield each member of a class and of its namespaces, beside the class of asyncio."""
    for name in sorted(public(plain)):
        yield plain, threaded, name
        call = getattr(plain, name)
        beside = inspect.getattr_static(threaded, name, None)
        if isinstance(beside, Inner):
            yield from pairs(get_type_hints(call.fget)["return"], cast(type, beside.kind))


MEMBERS = [
    *pairs(Rag, AsyncRag),
    *pairs(Collection, AsyncCollection),
    *pairs(Evaluation, AsyncEvaluation),
    *pairs(CollectionEvaluation, AsyncCollectionEvaluation),
]


@pytest.mark.parametrize(
    ("plain", "threaded", "name"), [pytest.param(*m, id=f"{m[0].__name__}.{m[2]}") for m in MEMBERS]
)
def test_each_call_is_there_with_the_same_parameters(
    plain: type, threaded: type, name: str
) -> None:
    call, awaited = getattr(plain, name), inspect.getattr_static(threaded, name)
    if isinstance(call, property):
        assert isinstance(awaited, property | Inner)
    elif isinstance(awaited, Threaded):
        assert awaited._call is call
    else:
        assert parameters(awaited) == parameters(call)


def parameters(call: Any) -> list[tuple[str, Any, Any]]:
    """Each with its kind and default, of a method."""
    found = inspect.signature(call).parameters.values()
    return [(one.name, one.kind, one.default) for one in found]


def test_the_calls_of_namespaces_are_among_them() -> None:
    names = {f"{threaded.__name__}.{name}" for _, threaded, name in MEMBERS}
    assert names > {
        "AsyncSpaces.list",
        "AsyncGates.check",
        "AsyncEvalRuns.judge",
        "AsyncJobs.retry",
    }


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return script("generate_async")


def test_what_is_written_by_make_docs_is_as_the_classes_are_now(generator: ModuleType) -> None:
    for path, kinds in generator.PAGES.items():
        page = path.read_text(encoding="utf-8")
        assert len(generator.PART.findall(page)) == (3 if Rag in kinds else 1)
        assert generator.written(page, kinds) == page, "run: make docs"


def test_calls_of_namespaces_are_awaited_and_typed(rag: Rag, dsn: str) -> None:
    rag.collection("docs", model="hash:32").add({"uri": "a", "content": "Fish are red."})

    async def life() -> list[Space]:
        settings = Settings(home=rag.settings.home)
        embedders = {"hash": lambda name: HashEmbedder(name)}
        async with AsyncRag(dsn, settings=settings, embedders=embedders) as there:
            docs = await there.get_collection("docs")
            run = there.evaluation.sets.list
            assert await run() == []
            spaces = await docs.spaces.list()
            assert_type(spaces, list[Space])
            return spaces

    assert [space.model for space in asyncio.run(life())] == ["hash:32"]


@pytest.mark.one_database
@pytest.mark.parametrize(
    "name", ["spaces", "chunks", "metadata", "versions", "answers", "enrichment"]
)
def test_a_namespace_is_shown_with_its_collection(rag: Rag, name: str) -> None:
    docs = rag.collection("docs", model="hash:32")
    assert repr(getattr(docs, name)) == f"{name.title()}('docs')"


def test_a_name_that_is_not_there_is_refused_as_anywhere_in_python(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    there: Any
    for there in (rag, rag.jobs, docs, docs.spaces):
        with pytest.raises(AttributeError, match="has no attribute 'lists'"):
            there.lists  # noqa: B018


def test_the_size_of_the_pool_is_a_setting() -> None:
    assert Settings.from_environment({"RAG_PG_POOL_SIZE": "9"}).pool_size == 9
    for wrong in ("0", "many", "1001"):
        with pytest.raises(InvalidInput, match="number of connections"):
            Settings.from_environment({"RAG_PG_POOL_SIZE": wrong})
