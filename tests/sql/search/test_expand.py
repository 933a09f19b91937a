"""Passages around chunks."""

from typing import Any

import psycopg
import pytest

from rag_pg import Rag
from rag_pg.client.collection import Collection

Connection = psycopg.Connection[Any]
TEXT = "\n\n".join(
    f"# Part {part}\n\n" + "\n\n".join(f"Sentence {part}.{n} says a little. " * 4 for n in range(4))
    for part in range(3)
)


@pytest.fixture
def docs(rag: Rag) -> Collection:
    found = rag.collection("docs", model="hash:32", chunking={"max_tokens": 40})
    found.add({"uri": "book", "content": TEXT, "media_type": "text/markdown"})
    return found


def chunks(connection: Connection) -> list[tuple[int, str, str]]:
    return connection.execute(
        "SELECT chunk_id, heading, content FROM rag.chunks ORDER BY ordinal"
    ).fetchall()


def expand(connection: Connection, ids: list[int], options: str = "") -> list[Any]:
    return connection.execute(
        "SELECT content, chunk_keys, rank, start_offset, stop_offset FROM rag.expand('docs',"
        f" %s{options})".encode(),
        [ids],
    ).fetchall()


def test_a_window_is_cut_from_the_document_without_repetition(
    docs: Collection, connection: Connection
) -> None:
    found = chunks(connection)
    assert len(found) >= 9
    ((content, keys, rank, start, stop),) = expand(connection, [found[4][0]])
    assert keys == [i for i, *_ in found[3:6]]
    assert content == TEXT[start:stop]
    assert rank == 1
    assert found[4][2] in content


def test_windows_that_touch_become_one_passage(docs: Collection, connection: Connection) -> None:
    ids = [i for i, *_ in chunks(connection)]
    ((_, keys, rank, *_),) = expand(connection, [ids[5], ids[3]])
    assert keys == ids[2:7]
    assert rank == 1
    apart = expand(connection, [ids[-1], ids[0]], ", 0, 0")
    assert [(keys, rank) for _, keys, rank, *_ in apart] == [([ids[-1]], 1), ([ids[0]], 2)]


def test_up_to_a_section_and_up_to_the_document(docs: Collection, connection: Connection) -> None:
    found = chunks(connection)
    inside = [i for i, heading, _ in found if heading == found[4][1]]
    ((_, keys, *_),) = expand(connection, [found[4][0]], ", upto => 'section'")
    assert keys == inside
    ((content, keys, *_),) = expand(connection, [found[4][0]], ", upto => 'document'")
    assert keys == [i for i, *_ in found]
    assert content.strip() == TEXT.strip()


def test_a_small_chunk_leads_to_its_parent(rag: Rag, connection: Connection) -> None:
    docs = rag.collection(
        "docs",
        model="hash:32",
        chunking={"method": "small-to-big", "max_tokens": 24, "parent_tokens": 80},
    )
    docs.add({"uri": "book", "content": TEXT, "media_type": "text/markdown"})
    parents = connection.execute(
        "SELECT chunk_id, metadata -> 'parent' FROM rag.chunks ORDER BY ordinal"
    ).fetchall()
    chosen, parent = parents[5]
    ((content, keys, _, start, stop),) = expand(connection, [chosen], ", upto => 'parent'")
    assert keys == [i for i, p in parents if p == parent]
    assert len(keys) > 1
    assert content == TEXT[start:stop]
    assert parent[0] <= start < stop <= parent[1]

    connection.execute(
        """SELECT rag.put_document('docs', uri, content, title, '{"lang": "en"}', media_type)
           FROM rag.get_document('docs', 'book')"""
    )
    changed = connection.execute("SELECT metadata FROM rag.chunks ORDER BY ordinal").fetchall()
    assert [m for (m,) in changed] == [{"lang": "en", "parent": p} for _, p in parents]


def test_chunks_older_than_their_document_are_joined(
    docs: Collection, connection: Connection
) -> None:
    found = chunks(connection)
    ((before, *_),) = expand(connection, [found[4][0]], ", 0, 0")
    connection.execute("SELECT rag.put_document('docs', 'book', 'something else')")
    ((after, *_),) = expand(connection, [found[4][0]], ", 0, 0")
    assert after == found[4][2] == before


@pytest.mark.one_database
@pytest.mark.parametrize("options", [", -1", ", 1, 1001", ", upto => 'chapter'"])
def test_bad_expansions_are_errors(docs: Collection, connection: Connection, options: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        expand(connection, [1], options)
    assert caught.value.sqlstate == "RG004"


def test_ids_that_do_not_exist_are_left_out(docs: Collection, connection: Connection) -> None:
    assert expand(connection, [0]) == []
