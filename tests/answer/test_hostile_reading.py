"""What reads a stranger's text, of a model or of a document, ends for any of them: without an
error, and in a time that grows no faster than the text. What grows by its square takes minutes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rota import in_turn

from rag_pg.answer import attribution, reading
from rag_pg.answer.attribution.judge import Judge
from rag_pg.answer.fit import ground_text
from rag_pg.types import Citation

SIZE = 50_000  # characters
PIECES = ["7", " ", "a", "([", "\"“'", "a\u0301", "\n", "a ", ",000", "1.5 ", "000 ", "a-", "1.",
          "a, ", "| a ", "one and two ", "a: b; ", "Ab Cd ", "a\r\n", "```\n", "http://a.", "_",
          "of the ", "not "]  # fmt: skip
KEPT = "7", " ", "a"  # each was read slowly, or with an error
PLAIN = "The fee is 5 francs, and Ada pays it."
VALUES: dict[str, Callable[[str], Any]] = {
    "str": str,
    **dict.fromkeys(("Sequence[str]", "Collection[str]", "Iterable[str]"), lambda text: [text]),
    "Sequence[tuple[str, str]]": lambda text: [(text, text)],
    "Unlike | None": lambda text: None,
    "Callable[[], Embedder | None] | None": lambda text: None,
}  # by the annotation of an argument


def readers() -> Iterator[tuple[Callable[..., Any], dict[str, str]]]:
    """The functions of both packages that ask for texts alone, with their arguments."""
    for package in (reading, attribution):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for name, one in vars(importlib.import_module(module.name)).items():
                function = getattr(one, "__wrapped__", one)
                if name.startswith("_") or getattr(function, "__module__", "") != module.name:
                    continue
                if not inspect.isfunction(function):
                    continue
                asked = {
                    name: str(argument.annotation)
                    for name, argument in inspect.signature(function).parameters.items()
                    if argument.default is argument.empty
                }
                if asked and VALUES.keys() >= {*asked.values()}:
                    yield function, asked


@pytest.mark.parametrize("piece", in_turn(PIECES, *KEPT), ids=repr)
def test_a_hostile_text_is_read(piece: str) -> None:
    hostile = (piece * SIZE)[:SIZE]
    read = 0
    for function, asked in readers():
        for place in asked:
            found = function(**{
                name: VALUES[annotation](hostile if name == place else PLAIN)
                for name, annotation in asked.items()
            })  # fmt: skip
            if inspect.isgenerator(found):
                deque(found, maxlen=0)
            read += 1
    assert read > 100


@pytest.mark.parametrize("piece", in_turn(PIECES, *KEPT), ids=repr)
def test_a_hostile_text_is_judged(piece: str) -> None:
    hostile = (piece * SIZE)[:SIZE]
    for claim, source in ((hostile, PLAIN), (PLAIN, hostile)):
        shown = [Citation(number=1, chunk_id=1, uri="a.md", title="", heading="", quote=source)]
        judge = Judge("", shown, embedder=None, locate=lambda found: [(c, None) for c in found])
        assert all(one.statement.text[:9] in claim for one in ground_text(claim, judge))
