"""A hundred follow-ups over a real documentation folder, written down before looking at results.

Odd numbers were looked at while the rules were made, even ones were not. The folder takes
minutes to embed, so this runs with `make test-quality`, or where RAG_PG_TEST_SLOW is set.
"""

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes import ScriptedLLM

from rag_pg import Rag, Settings
from rag_pg.client.collection import Collection

Row = dict[str, Any]
FOLLOW_UPS = [
    json.loads(line)
    for line in (Path(__file__).parent / "follow_ups.jsonl").read_text("utf-8").splitlines()
]

pytestmark = [pytest.mark.quality, pytest.mark.minutes]


@pytest.fixture(scope="module")
def docs(new_database: Callable[..., str], template: str, home: Path) -> Iterator[Collection]:
    data = os.environ.get("RAG_PG_EVAL_DATA")
    if not data or not (Path(data) / "docs-fastapi-en").is_dir():
        pytest.skip("no data: RAG_PG_EVAL_DATA with docs-fastapi-en/ is not set")
    with Rag(new_database(template), settings=Settings(home=home)) as rag:
        collection = rag.collection("docs")
        collection.add(Path(data) / "docs-fastapi-en" / "files")
        yield collection


def recall(docs: Collection, rows: list[Row], search: Callable[[Row], dict[str, Any]]) -> float:
    """The share of rows whose page is among the first ten hits of a search with these arguments."""
    found = 0
    for row in rows:
        hits = docs.search(limit=10, **search(row))
        found += any(hit.uri.endswith(f"files/{page}") for hit in hits for page in row["pages"])
    return found / len(rows)


def alone(row: Row) -> dict[str, Any]:
    return {"query": row["question"]}


def by_rules(row: Row) -> dict[str, Any]:
    return {"query": row["follow_up"], "history": row["history"]}


def by_model(row: Row) -> dict[str, Any]:
    reply = json.dumps({"question": row["question"]})
    return {**by_rules(row), "helper_llm": ScriptedLLM(reply)}


@pytest.mark.parametrize("half", [0, 1], ids=["not seen", "seen"])
def test_a_rewritten_follow_up_finds_what_the_whole_question_finds(
    docs: Collection, half: int
) -> None:
    rows = [row for row in FOLLOW_UPS if row["id"] % 2 == half]
    whole = recall(docs, rows, alone)
    assert whole >= 0.9
    assert recall(docs, rows, by_model) >= 0.95 * whole
    assert recall(docs, rows, by_rules) >= 0.9 * whole


def test_a_question_on_another_topic_is_not_spoilt_by_the_history(docs: Collection) -> None:
    others = random.Random(1).sample(FOLLOW_UPS, len(FOLLOW_UPS))
    history = {
        row["id"]: other["history"]
        for row, other in zip(FOLLOW_UPS, others, strict=True)
        if not set(row["pages"]) & set(other["pages"])
    }
    rows = [row for row in FOLLOW_UPS if row["id"] in history]
    assert len(rows) >= 90
    shifted = recall(docs, rows, lambda row: {**alone(row), "history": history[row["id"]]})
    assert shifted >= 0.95 * recall(docs, rows, alone)
