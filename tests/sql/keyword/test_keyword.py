"""The keyword search as its callers see it:
match modes, languages, identifiers, odd queries, explanations."""

import json
from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def collection(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('k', 'none', 3)")


def put(connection: Connection, language: str | None = None, **texts: str) -> None:
    for uri, text in texts.items():
        connection.execute(
            "SELECT rag.put_chunks('k', %s, %s, language => %s::regconfig)",
            [uri, json.dumps([{"content": text}]), language],
        )


def found(connection: Connection, query: str, match: str = "any", **options: Any) -> list[str]:
    rows = connection.execute(
        "SELECT uri FROM rag.search_keyword('k', %s, %s, %s, %s)",
        [query, options.get("limit", 10), json.dumps(options.get("filter", {})), match],
    ).fetchall()
    return [uri for (uri,) in rows]


def test_match_modes(connection: Connection) -> None:
    put(
        connection,
        both="the red house by the sea",
        split="the house is red",
        red="a red boat",
        house="a house in town",
    )
    assert set(found(connection, "red house")) == {"both", "split", "red", "house"}
    assert set(found(connection, "red house", "all")) == {"both", "split"}
    assert found(connection, "red house", "phrase") == ["both"]
    assert set(found(connection, '"red house" or boat', "web")) == {"both", "red"}
    assert set(found(connection, "house -red", "web")) == {"house"}
    with pytest.raises(psycopg.Error, match="unknown match 'some'"):
        found(connection, "x", "some")


@pytest.mark.one_database
@pytest.mark.parametrize(
    "identifier",
    [
        "ERR_CONN_RESET", "v1.2.3", "foo.bar_baz", "C++", "C#", ".NET", "/etc/pg_hba.conf",
        "max_wal_size", "someone@example.org", "HTTP/2", "std::vector", "10.0.0.1",
        "CVE-2024-1234",
    ],
)  # fmt: skip
def test_identifiers_find_the_chunk_that_holds_them(
    connection: Connection, identifier: str
) -> None:
    put(
        connection,
        hit=f"The log says {identifier} after a while.",
        other="The log says nothing of the kind after a while, in C or on the net.",
        more="Version 1 of foo and bar, error 3.",
    )
    assert found(connection, identifier)[0] == "hit"
    assert found(connection, f"what does {identifier} mean?")[0] == "hit"


def test_a_documents_own_language_decides_its_lexemes(connection: Connection) -> None:
    put(connection, english="He was running through the houses")
    put(connection, "german", german="Die Häuser der Stadt wurden verkauft")
    assert found(connection, "verkaufen Haus") == ["german"]
    assert found(connection, "house runs") == ["english"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("数据库的索引是用来加速查询的", "用来加速查询"),
        ("東京の桜はとても美しいです", "東京の桜"),
        ("데이터베이스 색인은 빠르다", "색인은"),
        ("ฐานข้อมูลเชิงสัมพันธ์", "ข้อมูล"),
    ],
)
def test_scripts_without_spaces_are_searchable(
    connection: Connection, text: str, query: str
) -> None:
    put(connection, hit=text, other="an English text about databases", third="另一篇文章")
    assert found(connection, query)[0] == "hit"
    assert found(connection, query, "all") == ["hit"]
    if not query.startswith("ข"):  # phrase and web: not for scripts with combining vowels
        assert found(connection, query, "phrase") == ["hit"]


def test_a_word_said_twice_counts_twice(connection: Connection) -> None:
    put(connection, red="red", blue="blue", both="red blue")
    score = "SELECT keyword_score FROM rag.search_keyword('k', %s) WHERE uri = 'red'"
    (once,) = connection.execute(score, ["red"]).fetchone() or (0,)
    (twice,) = connection.execute(score, ["red red"]).fetchone() or (0,)
    assert twice == pytest.approx(2 * once)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "query",
    [
        "the of and", "?!… --", "", "'", "\\", "a & b | !c:*", "<->", "()", "red " * 20_000,
        "x" * 90_000, " ".join(f"w{i}" for i in range(10_000)), "索" * 20_000,
    ],
    ids=lambda q: q[:12],
)  # fmt: skip
@pytest.mark.parametrize("match", ["any", "all", "phrase", "web"])
@pytest.mark.few(12)
def test_odd_queries_end_well(connection: Connection, query: str, match: str) -> None:
    put(connection, hit="red fish w1 w2 w3")
    assert set(found(connection, query, match)) <= {"hit"}


def test_changes_are_visible_at_once_in_their_own_transaction(
    connection: Connection, dsn: str
) -> None:
    put(connection, a="red fish")
    with psycopg.connect(dsn) as writer:
        put(writer, b="red bird")
        assert set(found(writer, "red")) == {"a", "b"}
        writer.execute("SELECT rag.delete_document('k', 'a')")
        assert found(writer, "red") == ["b"]
        assert found(connection, "red") == ["a"]
    assert found(connection, "red") == ["b"]


def test_explanations_add_up_to_the_score(connection: Connection) -> None:
    put(connection, a="red red fish", b="red bird", c="blue fish and a blue bird")
    hits = dict(
        connection.execute(
            "SELECT chunk_id, score FROM rag.search_keyword('k', 'red fish fish')"
        ).fetchall()
    )
    rows = connection.execute(
        """SELECT chunk_id, score, term, qtf, tf, df, chunk_count, idf, length_norm, contribution
           FROM rag._explain_keyword('k', 'red fish fish')"""
    ).fetchall()
    assert {row[0] for row in rows} == set(hits)
    for chunk_id, score in hits.items():
        mine = [row for row in rows if row[0] == chunk_id]
        assert sum(row[9] for row in mine) == score == mine[0][1]
        for _, _, _, qtf, tf, _, _, idf, norm, contribution in mine:
            assert contribution == pytest.approx(qtf * idf * tf / (tf + 1.2 * norm), abs=1e-9)
    one = next(iter(hits))
    only = connection.execute(
        "SELECT DISTINCT chunk_id FROM rag._explain_keyword('k', 'red fish', chunk_ids => %s)",
        [[one]],
    ).fetchall()
    assert only == [(one,)]


def test_a_read_only_transaction_can_search(connection: Connection) -> None:
    put(connection, a="red fish")
    with connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        assert found(connection, "red fish") == ["a"]
        assert found(connection, "red fish", "web", filter={"x": 1}) == []


def test_a_filter_is_listed_only_up_to_its_bound(connection: Connection) -> None:
    put(connection, a="red fish", b="red", c="blue")

    def listed(at_most: int, matching: str | None, indexed: bool) -> int | None:
        (count,) = connection.execute(
            """
            SELECT cardinality(rag._rank_by_listing(
                rag._prepare_keyword(c.collection_id, 'red'), 'true', %s::tsquery, 10, %s, %s
            ))
            FROM rag.collections AS c
            """,
            [matching, indexed, at_most],
        ).fetchone() or (None,)
        return count

    for indexed in (True, False):
        assert listed(3, None, indexed) == 2
        assert listed(3, "fish", indexed) == 1
        assert listed(2, None, indexed) is None


def test_listing_pays_for_few_matches_only(connection: Connection) -> None:
    put(connection, a="red fish")

    def pays(chunks: int, share: float, indexed: bool = True) -> bool:
        (answer,) = connection.execute(
            """
            SELECT rag._prefer_listing(q, %s, 10, %s)
            FROM rag.collections AS c,
                 jsonb_populate_record(rag._prepare_keyword(c.collection_id, 'red'), %s) AS q
            """,
            [share, indexed, json.dumps({"chunk_count": chunks, "chunk_counts": [chunks // 100]})],
        ).fetchone() or (None,)
        return bool(answer)

    assert pays(100_000, 0.01) and pays(1_000_000, 0.01)
    assert not pays(100_000, 0.5) and not pays(1_000_000, 0.1)
    assert pays(100_000, 0.001, indexed=False) and not pays(100_000, 0.1, indexed=False)


def test_maintenance_merges_and_compacts_without_changing_a_score(connection: Connection) -> None:
    put(connection, **{f"d{i}": f"red fish number{i} {'blue ' * (i % 7)}" for i in range(100)})
    scores = "SELECT uri, score FROM rag.search_keyword('k', 'red blue number7', 1000)"
    before = connection.execute(scores).fetchall()
    steps = """SELECT m.* FROM rag.maintenance_steps() AS s,
                   rag.maintain_step(s.step, s.subject) AS m
               WHERE m.merged + m.compacted > 0"""
    ((merged, _),) = connection.execute(steps).fetchall()
    assert merged > 0
    assert connection.execute(scores).fetchall() == before
    for i in range(70):
        connection.execute("SELECT rag.delete_document('k', %s)", [f"d{i}"])
    before = connection.execute(scores).fetchall()
    assert len(before) == 30
    ((_, compacted),) = connection.execute(steps).fetchall()
    assert compacted > 0
    assert connection.execute(scores).fetchall() == before
    assert connection.execute(steps).fetchall() == []


def test_the_frequency_of_a_lexeme_is_told_by_its_rank_alone(connection: Connection) -> None:
    rows = connection.execute(
        "SELECT f.n, rag._frequency_of_rank(ts_rank('{1,1,1,1}', to_tsvector('simple', 'other '"
        " || repeat('word ', f.n)), 'word')) FROM generate_series(0, 300) AS f (n)"
    ).fetchall()
    assert [(n, frequency) for n, frequency in rows] == [(n, min(n, 255)) for n in range(301)]
    positions = ",".join(map(str, range(1, 257)))  # more than to_tsvector keeps
    rows = connection.execute(
        "SELECT rag._frequency_of_rank(ts_rank('{1,1,1,1}', %s::tsvector, 'word'))",
        [f"word:{positions}"],
    ).fetchall()
    assert rows == [(255,)]
