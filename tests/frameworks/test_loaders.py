"""Documents of the frameworks' loaders are added as any others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from haystack import Document as HaystackDocument
from haystack.components.converters import TextFileToDocument
from langchain_community.document_loaders import CSVLoader, TextLoader
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import SimpleDirectoryReader

from rag_pg import Rag
from rag_pg.errors import InvalidInput
from rag_pg.frameworks import foreign_documents

PAGES = {"a.txt": "Restore a backup.", "b.txt": "Rotate the keys.", "empty.txt": " \n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_loaders_of_langchain(rag: Rag, folder: Path) -> None:
    docs = rag.collection("docs", model="hash:32")
    (folder / "staff.csv").write_text("name,team\nAnn,Search\nBob,Data\n", encoding="utf-8")
    table = str(folder / "staff.csv")
    loaders = [TextLoader(folder / name) for name in PAGES]
    report = docs.add(
        *(foreign_documents(loader.lazy_load()) for loader in loaders),
        foreign_documents(CSVLoader(table, metadata_columns=["team"]).lazy_load()),
    )
    uris = [str(folder / "a.txt"), str(folder / "b.txt"), table, f"{table}#2"]
    assert [*report.uris] == uris and report.added == 4
    assert docs.search("Bob", limit=1, filter={"team": "Data"})[0].uri == f"{table}#2"
    again = docs.add(foreign_documents(CSVLoader(table, metadata_columns=["team"]).lazy_load()))
    assert (again.added, again.unchanged) == (0, 2)


def test_a_reader_of_llama_index(rag: Rag, folder: Path) -> None:
    docs = rag.collection("docs", model="hash:32")
    reader = SimpleDirectoryReader(str(folder))
    for _ in range(2):  # its ids are others each time, the files are not
        report = docs.add(foreign_documents(reader.load_data()))
        assert {*report.uris} == {str(folder / "a.txt"), str(folder / "b.txt")}
    assert docs.count() == 2 and report.unchanged == 2
    found = docs.get(str(folder / "b.txt"))
    assert found.content == PAGES["b.txt"] and found.title == "b.txt"
    assert found.metadata["file_type"] == "text/plain"


def test_a_converter_of_haystack(rag: Rag, folder: Path) -> None:
    docs = rag.collection("docs", model="hash:32")
    sources = [str(folder / name) for name in PAGES]
    converter = TextFileToDocument(store_full_path=True)
    found = converter.run(sources=sources, meta={"team": "Data"})
    report = docs.add(foreign_documents(found["documents"], media_type="text/markdown"))
    assert {*report.uris} == {str(folder / "a.txt"), str(folder / "b.txt")}
    assert docs.count(filter={"team": "Data", "$media_type": "text/markdown"}) == 2


def test_an_id_names_what_no_metadata_do() -> None:
    given = [
        LangChainDocument(id="one", page_content="a"),
        LlamaIndexDocument(id_="two", text="b"),
        HaystackDocument(id="three", content="c", meta={"source": ""}),
        HaystackDocument(id="four", content=None),
    ]
    assert [one["uri"] for one in foreign_documents(given)] == ["one", "two", "three"]


def test_what_is_no_document_is_refused_by_its_kind() -> None:
    with pytest.raises(InvalidInput, match="int"):
        [*foreign_documents([7])]
    with pytest.raises(InvalidInput, match="file_path"):
        [*foreign_documents([LangChainDocument(page_content="a")])]


def test_documents_are_read_as_they_are_needed(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    stored: list[int] = []

    def endless() -> Iterator[LangChainDocument]:
        for number in range(130):
            stored.append(docs.count())
            yield LangChainDocument(id=str(number), page_content=f"text {number}")

    assert docs.add(foreign_documents(endless()), wait=False).added == 130
    assert stored[0] == 0 and stored[-1] >= 64
