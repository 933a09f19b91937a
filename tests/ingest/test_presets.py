"""Presets: chunking for a kind of content."""

import pytest

from rag_pg import CollectionMismatch, InvalidInput, Rag


@pytest.mark.parametrize("preset", ["documentation", "code", "conversations", "papers"])
@pytest.mark.few(1)
def test_a_preset_makes_a_collection_that_opens_again(rag: Rag, preset: str) -> None:
    made = rag.collection("docs", model="hash:32", preset=preset)
    assert rag.collection("docs", preset=preset).info == made.info
    made.add({"uri": "a", "content": "Ann: Is it open?\n\nBob: It is.\n\nAnn: Thank you."})
    assert made.search("open")


def test_what_is_given_beside_a_preset_goes_first(rag: Rag) -> None:
    made = rag.collection("docs", model="hash:32", preset="code", chunking={"max_tokens": 99})
    assert made.info.chunking == {"method": "code", "max_tokens": 99}
    with pytest.raises(CollectionMismatch, match="chunking"):
        rag.collection("docs", preset="papers")


def test_an_unknown_preset_names_those_there_are(rag: Rag) -> None:
    with pytest.raises(InvalidInput, match="no preset 'books'.*documentation, code, conv"):
        rag.collection("docs", model="hash:32", preset="books")
    assert rag.collections() == []
