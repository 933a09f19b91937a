"""Pages of searches: of one list, in a total order, disjoint, and complete."""

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from fakes import WordReranker
from sqlalchemy import create_engine, select
from walk import walk_above

from rag_pg import InvalidQuery, Rag
from rag_pg.sqlalchemy import search, search_keyword, search_vector

Connection = psycopg.Connection[Any]
CHUNKS = 3000  # whose vector index is walked
VECTOR = "[1, 0.5, 0.2, 0.1]"


@pytest.fixture(scope="module")
def filled(new_database: Any, template: str) -> Iterator[Connection]:
    """Many chunks of few words: many equal scores, some chunks of the same text."""
    chance, points = random.Random(5), np.random.default_rng(5)
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        walk_above(connection)
        connection.execute("SELECT rag.create_collection('c', 'none', 4, language => 'simple')")
        words = [f"w{n}" for n in range(12)]
        for document in range(CHUNKS // 100):
            chunks = [
                {
                    "content": " ".join(chance.choices(words, k=chance.choice([2, 6]))),
                    "metadata": {"k": chance.randrange(3)},
                    "embedding": points.normal(size=4).round(3).tolist(),
                }
                for _ in range(100)
            ]
            connection.execute(
                "SELECT rag.put_chunks('c', %s, %s)", [f"d{document}", json.dumps(chunks)]
            )
        connection.execute("CALL rag.maintain()")
        yield connection


def page(connection: Connection, call: str, limit: int, offset: int) -> list[int]:
    statement = f"SELECT chunk_id FROM rag.{call}, result_limit => %s, result_offset => %s)"
    return [i for (i,) in connection.execute(statement.encode(), [limit, offset]).fetchall()]


ONE_LIST = [
    "search_keyword('c', 'w1 w2'",
    "search_keyword('c', 'w1 w2', match => 'all'",
    "search_keyword('c', 'w1', metadata_filter => '{\"k\": 1}'",
    f"search_vector('c', '{VECTOR}', exact_below => 100000",
    f"search_vector('c', '{VECTOR}', metadata_filter => '{{\"k\": 1}}', exact_below => 100000",
    f"search('c', 'w1 w2', '{VECTOR}', candidate_limit => 4000",
    (
        f"search('c', 'w1 w2', '{VECTOR}', candidate_limit => 4000, fusion => 'rrf', duplicates =>"
        " true"
    ),
    f"search('c', 'w1', '{VECTOR}', candidate_limit => 4000, per_document => 3",
    (
        f"search('c', 'w1', '{VECTOR}', candidate_limit => 4000, boosts => '[{{\"filter\": {{\"k\":"
        ' 2}, "add": 1}]\''
    ),
]


@pytest.mark.parametrize("call", ONE_LIST)
@pytest.mark.few(3)
def test_pages_are_cut_from_the_list_that_is_found_at_once(filled: Connection, call: str) -> None:
    whole = page(filled, call, 300, 0)
    for limit, offset in ((1, 0), (10, 0), (10, 10), (7, 93), (100, 100), (60, 240)):
        assert page(filled, call, limit, offset) == whole[offset : offset + limit], (limit, offset)


GROWING = [
    f"search('c', 'w1 w2', '{VECTOR}'",
    f"search('c', 'w1', '{VECTOR}', fusion => 'rrf'",
    f"search('c', 'w1 w2', '{VECTOR}', diversity => 0.5",
    f"search('c', 'w3', '{VECTOR}', per_document => 2",
    f"search('c', query_embedding => '{VECTOR}'",
    "search('c', 'w1 w5'",
    f"search_vector('c', '{VECTOR}'",
    f"search_vector('c', '{VECTOR}', metadata_filter => '{{\"k\": 1}}'",
    "search_keyword('c', 'w4'",
]


@pytest.mark.parametrize("call", GROWING)
@pytest.mark.few(3)
def test_pages_share_no_chunk_and_leave_none_out(filled: Connection, call: str) -> None:
    seen: list[int] = []
    for offset in range(0, 480, 40):
        found = page(filled, call, 40, offset)
        seen += found
        if len(found) < 40:
            break
    assert len(seen) == len(set(seen))
    assert len(seen) == (2 * CHUNKS // 100 if "per_document" in call else 480)
    assert seen[:40] == page(filled, call, 40, 0)


def test_the_last_pages_hold_what_is_left(filled: Connection) -> None:
    for call in ("search_keyword('c', 'w1'", f"search('c', 'w1', '{VECTOR}', duplicates => true"):
        pages = [page(filled, call, 1000, offset) for offset in range(0, 4000, 1000)]
        found = [i for one in pages for i in one]
        total = CHUNKS
        if call.startswith("search_keyword"):
            (total,) = filled.execute(
                "SELECT count(*) FROM rag.chunks WHERE lexemes @@ 'w1'::tsquery"
            ).fetchone() or (0,)
        assert len(found) == len(set(found)) == total
        assert page(filled, call, 10, 9990) == []


def test_ranks_go_on_and_offsets_have_bounds(filled: Connection) -> None:
    ranks = filled.execute(
        "SELECT keyword_rank FROM rag.search_keyword('c', 'w1', 2, result_offset => 5)"
    ).fetchall()
    assert ranks == [(6,), (7,)]
    (explained,) = filled.execute(
        "SELECT rag.explain_search('c', 'w1', result_limit => 2, options => '{\"result_offset\":"
        " 5}') -> 'hits'"
    ).fetchone() or ([],)
    assert [hit["rank"] for hit in explained] == [6, 7]
    assert page(filled, "search('c', 'w1'", 2, 5) == [hit["chunk_id"] for hit in explained]
    (answer,) = filled.execute(
        """SELECT rag._search_json('c', 'w1', NULL, 2, '{}', '{"result_offset": 5}')"""
    ).fetchone() or ([],)
    assert [hit["chunk_id"] for hit in answer] == [hit["chunk_id"] for hit in explained]
    for call in ("search('c', 'w1'", "search_keyword('c', 'w1'", f"search_vector('c', '{VECTOR}'"):
        for limit, offset in ((10, -1), (10, 9991), (1, 2_147_483_647)):
            with pytest.raises(psycopg.Error, match=f"offset {offset} is out of range") as caught:
                page(filled, call, limit, offset)
            assert caught.value.sqlstate == "RG004"
        statement = f"SELECT chunk_id FROM rag.{call}, result_offset => NULL)"
        assert len(filled.execute(statement.encode()).fetchall()) == 10


def test_python_pages_with_and_without_a_reranker(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(*({"uri": f"d{n}", "content": f"red fish {'red ' * n}"} for n in range(12)))
    whole = [hit.uri for hit in docs.search("red fish", limit=12)]
    assert [hit.uri for hit in docs.search("red fish", limit=5, offset=5)] == whole[5:10]
    assert [hit.uri for hit in docs.search("red fish", limit=5, offset=10)] == whole[10:]
    words = WordReranker()
    whole = [hit.uri for hit in docs.search("red fish", limit=12, rerank=words)]
    pages = [docs.search("red fish", limit=5, offset=o, rerank=words) for o in (0, 5, 10)]
    assert [hit.uri for one in pages for hit in one] == whole
    with pytest.raises(InvalidQuery, match="offset 40 is out of range: 40 candidates"):
        docs.search("red fish", limit=5, offset=40, rerank=words)
    with pytest.raises(InvalidQuery, match="offset -1 is out of range"):
        docs.search("red fish", offset=-1)


def test_sqlalchemy_pages(filled: Connection) -> None:
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(filled.info.dsn)
    )
    for table, call in (
        (search("c", query_text="w1", limit=4, offset=8), "search('c', 'w1'"),
        (search_keyword("c", "w1", limit=4, offset=8), "search_keyword('c', 'w1'"),
        (
            search_vector("c", [1, 0.5, 0.2, 0.1], limit=4, offset=8),
            f"search_vector('c', '{VECTOR}'",
        ),
    ):
        with engine.connect() as opened:
            found = {row.chunk_id for row in opened.execute(select(table.c.chunk_id))}
        assert found == set(page(filled, call, 4, 8))
    engine.dispose()
