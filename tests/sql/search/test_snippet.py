"""Snippets: the passage that matches, marked where the words do, and otherwise what is stored."""

import json
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from rag_pg import InvalidQuery, Rag

Connection = psycopg.Connection[Any]
FILLER = "Nothing of interest stands here, and it goes on for quite a while. " * 6


@pytest.fixture(scope="module")
def shared(new_database: Any, template: str) -> Iterator[Connection]:
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('c', 'none', 3)")
        yield connection


def snippet(
    connection: Connection, text: str, query: str, language: str | None = None, **options: Any
) -> str:
    connection.execute(
        "SELECT rag.put_chunks('c', 'd', %s, language => %s::regconfig, title => 'A title')",
        [json.dumps([{"content": text, "heading": "A heading"}]), language],
    )
    named = "".join(f", {name} => %({name})s" for name in options)
    (found,) = connection.execute(
        f"SELECT rag.snippet('c', c.chunk_id, %(query)s{named}) FROM rag.chunks AS c".encode(),
        {"query": query, **options},
    ).fetchone() or (None,)
    assert found is not None
    return str(found)


@pytest.mark.parametrize(
    ("text", "query", "language", "marked"),
    [
        ("The houses were sold.", "house selling", None, "The <b>houses</b> were sold."),
        (
            "Die Häuser wurden verkauft.",
            "Haus verkauft",
            "german",
            "Die <b>Häuser</b> wurden <b>verkauft</b>.",
        ),
        ("The houses were red", "houses", "simple", "The <b>houses</b> were red"),
        ("Got ERR_CONN_RESET: why?", "err_conn_reset", None, "Got <b>ERR_CONN_RESET</b>: why?"),
        ("set foo.bar_baz=1 or bar", "bar", None, "set foo.<b>bar</b>_baz=1 or <b>bar</b>"),
        ("It is version v1.2.3.", "v1.2.3", None, "It is version <b>v1.2.3</b>."),
        ("In C++, not C or C#", "C++", None, "In <b>C++</b>, not <b>C</b> or <b>C</b>#"),
        ("Host 10.0.0.1 fell over", "10.0.0.1", None, "Host <b>10.0.0.1</b> fell over"),
        (
            "COVID-19 and well-known",
            "covid-19 known",
            None,
            "<b>COVID</b>-<b>19</b> and well-<b>known</b>",
        ),
        (
            "mail someone@example.org now",
            "someone@example.org",
            None,
            "mail <b>someone@example.org</b> now",
        ),
        ("数据库的索引是用来加速查询的。", "索引", None, "数据库的<b>索引</b>是用来加速查询的。"),
        (
            "数据库的索引是用来加速查询的。",
            "用来加速",
            None,
            "数据库的索引是<b>用来加速</b>查询的。",
        ),
        ("ฐานข้อมูลเชิงสัมพันธ์", "ข้อมูล", None, "ฐาน<b>ข้อมูล</b>เชิงสัมพันธ์"),
        ("東京 and 大阪", "東京 大阪 and", None, "<b>東京</b> and <b>大阪</b>"),
        (
            "<b>bold</b> & 'raw' \"text\"\n\ttabs",
            "raw",
            None,
            "<b>bold</b> & '<b>raw</b>' \"text\"\n\ttabs",
        ),
        ("The title is not here", "heading", None, "The title is not here"),
        ("Nothing matches", "elephants", None, "Nothing matches"),
        ("Nothing matches", "", None, "Nothing matches"),
        ("x", "x", "simple", "<b>x</b>"),
    ],
)
def test_what_matched_is_marked(
    shared: Connection, text: str, query: str, language: str | None, marked: str
) -> None:
    assert snippet(shared, text, query, language) == marked


def test_the_passage_with_the_weightiest_words_is_shown(shared: Connection) -> None:
    text = (
        f"Passwords, passwords. {FILLER}Reset your password by mail, then log in. {FILLER}A mail."
    )
    found = snippet(shared, text, "reset the password", max_length=80)
    assert "<b>Reset</b> your <b>password</b> by mail" in found
    assert found.startswith("…") and found.endswith("…")
    plain = found.replace("<b>", "").replace("</b>", "").strip("…")
    assert plain in text and len(plain) <= 80
    assert f" {plain} " in text.replace("\n", " ") or text.startswith(plain)
    assert snippet(shared, FILLER, "elephants", max_length=30) == "Nothing of interest stands…"


def test_marks_and_the_ellipsis_are_the_callers(shared: Connection) -> None:
    options: dict[str, Any] = {
        "max_length": 20,
        "start_mark": "\x02",
        "stop_mark": "",
        "ellipsis": " [...] ",
    }
    found = snippet(shared, FILLER + "elephants eat. " + FILLER, "elephant", **options)
    assert "\x02elephants" in found and "<b>" not in found
    assert found.startswith(" [...] ") and found.endswith(" [...] ")


def test_random_texts_are_marked_at_what_the_index_holds(shared: Connection) -> None:
    """Every lexeme of the query that the content has is marked somewhere;
    without its marks a snippet is the text."""
    chance = random.Random(3)
    parts = [
        "house", "Houses", "ERR_CONN", "v1.2", "v1.2.3", "a.b", "x-ray", "don't", "数据库", "索引",
        "の", "ข้อมูล", "-19", "3-5", "C++", "std::map", "/etc/hosts", "über", "naïve", "10.0.0.1",
        "1,000", "3.14", "1e-5", "http://a.de/b?c=d", "e@f.org", "&amp;", "<p>", "#tag", "हिन्दी",
        "foo_", "_bar", "50%", "$5", "O'Hara", "rock'n'roll", "\N{FISH}",
    ]  # fmt: skip
    for number in range(60):
        text = "".join(
            chance.choice(parts) + chance.choice([" ", " ", ", ", ". ", "\n", "", "(", "/", "-"])
            for _ in range(12)
        )
        query = " ".join(chance.choice(parts) for _ in range(3))
        language = chance.choice(["english", "simple", "german"])
        found = snippet(
            shared, text, query, language, max_length=5000, start_mark="\x02", stop_mark="\x03"
        )
        assert found.replace("\x02", "").replace("\x03", "") == text
        (missed,) = shared.execute(
            """SELECT ARRAY(SELECT t.word FROM rag._query_terms(1, %s) AS t
                            WHERE t.word = ANY (tsvector_to_array(rag._lexemes(%s, %s)))
                            EXCEPT SELECT x FROM rag._mark_text(%s, %s, ARRAY(SELECT word
                                FROM rag._query_terms(1, %s))) AS m,
                            unnest(m.matched) AS x)""",
            [query, language, text, language, text, query],
        ).fetchone() or ([],)
        assert missed == [], (number, text, query)


def test_a_chunk_that_is_not_there_has_none_and_wrong_lengths_are_named(
    shared: Connection,
) -> None:
    assert shared.execute("SELECT rag.snippet('c', -5, 'x')").fetchone() == (None,)
    for length in ("9", "10001", "NULL"):
        with pytest.raises(psycopg.Error, match=f"max_length {length} is out of range") as caught:
            shared.execute(f"SELECT rag.snippet('c', 1, 'x', {length})".encode())
        assert caught.value.sqlstate == "RG004"
    with pytest.raises(psycopg.Error, match="no collection 'nowhere'"):
        shared.execute("SELECT rag.snippet('nowhere', 1, 'x')")


def test_large_chunks_and_queries_end_well(shared: Connection) -> None:
    long = "索引" * 2_000 + " house " * 5_000
    for query in ("索引 house", "house " * 10_000, "索引" * 1_000):
        assert snippet(shared, long, query, max_length=50).count("<b>") > 0


def test_python_shows_what_matched(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(
        {"uri": "a", "content": FILLER + "Elephants eat grass."}, {"uri": "b", "content": "No."}
    )
    hits = docs.search("elephant")
    shown = docs.chunks.snippets("elephant", hits, start_mark="[", stop_mark="]")
    assert len(shown) == len(hits)
    assert "[Elephants] eat grass." in shown[[hit.uri for hit in hits].index("a")]
    assert docs.chunks.snippets("elephant", []) == []
    with pytest.raises(InvalidQuery, match="max_length 5 is out of range"):
        docs.chunks.snippets("elephant", hits, max_length=5)
