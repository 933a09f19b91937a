"""What a notebook shows of hits, and the columns that data frames are made of."""

from __future__ import annotations

from datetime import datetime
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import pytest

from rag_pg import Hit, Hits, Rag, as_table

HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)> \u202e'\"&"


def hit(number: int, **other: Any) -> Hit:
    given: dict[str, Any] = {
        "chunk_id": number, "document_id": UUID(int=number), "uri": f"d{number}", "title": "T",
        "heading": "", "content": "x" * 500, "metadata": {"n": number}, "score": 1 / number,
        "vector_rank": number, "vector_distance": 0.5, "keyword_rank": None, "keyword_score": None,
    }  # fmt: skip
    return Hit(**(given | other))


class Cells(HTMLParser):
    """The tags of a page and the texts of its cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.rows: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.tags[-1][0] in ("td", "th"):
            self.rows[-1][-1] += data


def test_hits_are_shown_as_a_table_in_which_nothing_is_markup() -> None:
    hits = Hits(
        [hit(1, uri=HOSTILE, heading=HOSTILE, content=HOSTILE), *map(hit, range(2, 26))],
        notes=[HOSTILE],
    )
    page = Cells(hits._repr_html_())
    assert {tag for tag, _ in page.tags} == {"table", "thead", "tbody", "tr", "th", "td", "p"}
    assert {name for _, attributes in page.tags for name, _ in attributes} == {"dir", "style"}
    assert len(page.rows) == 1 + 20
    assert page.rows[1][:4] == ["1", "1", "1", ""] and page.rows[1][4] == HOSTILE
    assert page.rows[2][5:] == ["T", "x" * 159 + "…"]
    assert "and 5 more" in hits._repr_html_()
    assert Cells(Hits()._repr_html_()).rows == [Cells(hits._repr_html_()).rows[0]]


def test_values_are_told_in_a_line(rag: Rag) -> None:
    docs = rag.collection("docs", model="mine", dimensions=3)
    docs.add_chunks([{"uri": "a", "content": "long " * 500, "embedding": [1, 0, 0]}])
    for value in (
        *docs.search("long", vector_weight=0),
        docs.get("a"),
        *docs.list(),
        *docs.chunks.list("a"),
        *docs.ask("long").citations,
    ):
        told = repr(value)
        assert len(told) < 200 and "\n" not in told and "uri='a'" in told
        assert told.startswith(f"{type(value).__name__}(")
    assert repr(next(docs.list())).endswith("content=None)")
    told = repr(docs.ask("long"))
    assert len(told) < 200 and told.startswith("Answer(found=True, ") and "text='**long" in told


def test_rows_are_columns_of_plain_values(rag: Rag) -> None:
    docs = rag.collection("docs", model="mine", dimensions=3)
    docs.add_chunks([
        {"uri": "a", "content": "red fish", "embedding": [1, 0, 0], "n": 1, "tags": ["x"]},
        {"uri": "b", "content": "red bird", "embedding": [0, 1, 0], "n": "two"},
    ])  # fmt: skip
    hits = docs.search("red", embedding=[1, 0, 0])
    columns = hits.table()
    assert columns["uri"] == ["a", "b"] and columns["score"] == [h.score for h in hits]
    assert columns["metadata"] == ['{"n": 1, "tags": ["x"]}', '{"n": "two"}']
    assert columns["document_id"] == [str(h.document_id) for h in hits]
    listed = as_table(docs.list())
    assert listed["uri"] == ["a", "b"] and isinstance(listed["created_at"][0], datetime)
    grouped = as_table(docs.metadata.aggregate({"docs": {"count": "*"}}, group_by=["tags"]))
    assert sorted(map(str, grouped["docs"])) == ["1", "1"]
    assert as_table([{"a": 1}, {"b": 2.5}]) == {"a": [1, None], "b": [None, 2.5]}
    assert as_table([]) == {} and as_table(docs.chunks.list("a"))["content"] == ["red fish"]
    for table in (columns, listed, grouped, as_table(docs.metadata.facets("n"))):
        assert len({len(column) for column in table.values()}) == 1
        kinds = {type(value) for column in table.values() for value in column}
        assert kinds <= {str, int, float, bool, datetime, type(None)}
    (vector,) = as_table(docs.get_many(["a"], embeddings=True))["embeddings"]
    assert vector == "[[1.0, 0.0, 0.0]]"
    with pytest.raises(TypeError, match="a row is a mapping or a value of rag_pg, not int"):
        as_table([5])
