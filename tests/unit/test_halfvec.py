"""Our vectors as parameters, beside those of pgvector-python, byte for byte."""

import ast
from pathlib import Path

import numpy as np
import pgvector
import pytest

import rag_pg
from rag_pg.halfvec import HalfVector, vector_text
from rag_pg.sqlalchemy import HALFVEC

RNG = np.random.default_rng(7)
VECTORS = [
    np.array([0.0]),
    np.array([1.0, -2.5, 65504.0, -65504.0, 6e-8, 1e-9]),
    *(RNG.normal(size=n).astype(np.float32) for n in (1, 3, 384, 4000)),
]


@pytest.mark.parametrize("vector", VECTORS, ids=len)
def test_bytes_and_text_are_those_of_pgvector(vector: np.ndarray) -> None:
    theirs = pgvector.HalfVector(vector)
    assert HalfVector(vector.astype(np.float32)).to_binary() == theirs.to_binary()
    assert HalfVector(vector.tolist()).to_binary() == theirs.to_binary()
    assert HalfVector(vector).to_text() == theirs.to_text()


def test_a_table_is_no_vector() -> None:
    with pytest.raises(ValueError, match="this array has 2"):
        HalfVector(np.zeros((2, 2)))


def test_sqlalchemy_takes_arrays_lists_texts_and_other_vectors() -> None:
    process = HALFVEC().bind_processor(None)  # type: ignore[arg-type]
    expected = "[1.0,0.5]"
    for given in ([1, 0.5], np.array([1, 0.5]), expected, pgvector.HalfVector([1, 0.5])):
        assert process(given) == expected
    assert process(None) is None
    assert vector_text(()) == "[]"


def test_no_module_imports_pgvector() -> None:
    for path in Path(rag_pg.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.split(".")[0] == "pgvector" for name in names), path.name
