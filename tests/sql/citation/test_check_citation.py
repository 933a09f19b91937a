"""rag.check_citation beside an oracle of its own: what is proven, and where it stands."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from citation_cases import make_cases
from citation_texts import TEXTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

Connection = psycopg.Connection[Any]
PROVEN = ("exact", "normalised")
MARKS = set("*_`")
QUOTATION = dict.fromkeys("«»“”‟„″‶〝〞〟＂", '"') | dict.fromkeys("´ʼ‘’‚‛′‵‹›＇", "'")
SOURCE = (
    "The lift stops below -5 degrees. It carries 15 % more than in 2022, that is 1,250 files. "
    "The “sealed” letters are for non-smokers only, and 10² are kept in demon-\nstration rooms."
)


@pytest.fixture(scope="module")
def connection(new_database: Callable[..., str], template: str) -> Iterator[Connection]:
    with psycopg.connect(new_database(template), autocommit=True) as open_connection:
        yield open_connection


def locate(connection: Connection, source: str, quote: str) -> Any:
    (row,) = connection.execute(
        "SELECT * FROM rag._locate_quote(%s, %s)", [source, quote]
    ).fetchall()
    return row


def skeleton(text: str) -> list[tuple[str, int]]:
    """The letters of a text that copying does not change, each with its offset: by the categories
    of Unicode, a character at a time."""
    letters = []
    for offset, character in enumerate(text):
        character = QUOTATION.get(character, character)
        if character in MARKS:
            continue
        for one in unicodedata.normalize("NFKD", character).lower():
            if unicodedata.category(one) not in ("Zs", "Zl", "Zp", "Cc", "Cf", "Pd"):
                letters.append((one.replace("ς", "σ"), offset))
    return letters


def test_what_printing_and_copying_change_is_put_aside(connection: Connection) -> None:
    cases = make_cases(TEXTS, 500, seed=7)
    for case in cases:
        status, start, stop, similarity = locate(connection, case.source, case.quote)
        assert (status in PROVEN) == case.honest, (case, status)
        assert (start is None) == (status == "fabricated")
        assert 0 <= similarity <= 1 and (similarity == 1) == (status in PROVEN)
        if case.honest:
            found = [letter for letter, _ in skeleton(case.source[start:stop])]
            quoted = [
                letter for letter, _ in skeleton(case.quote.strip('«»“”„"… \u00a0').rstrip(".,;:"))
            ]
            assert found[: len(quoted)] == quoted, case


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    words=st.lists(
        st.sampled_from(
            ["the", "fish", "ﬁsh", "Naïve", "nai\u0308ve", "15", "%", "“eats”", "–", "word-\nbreak",
             "日本", "語", "ΟΔΟΣ", "soft\u00adly", "**bold**", "㎏", "ﷺ", "한국", "a\u200bb",
             "e\u0301"]
        ),
        min_size=6,
        max_size=40,
    ),
    first=st.integers(0, 5),
    count=st.integers(4, 12),
    spaces=st.lists(st.sampled_from([" ", "  ", "\n", "\u00a0"]), min_size=40, max_size=40),
)  # fmt: skip
def test_offsets_of_a_normalised_quote_are_those_of_the_source(
    connection: Connection, words: list[str], first: int, count: int, spaces: list[str]
) -> None:
    source = "".join(w + s for w, s in zip(words, spaces, strict=False))
    quote = " ".join(words[first : first + count])
    status, start, stop, _ = locate(connection, source, quote)
    if status not in PROVEN:
        return
    here = [letter for letter, _ in skeleton(source)]
    wanted = [letter for letter, _ in skeleton(quote.strip('“”" ').rstrip(".,;:"))]
    offsets = [offset for _, offset in skeleton(source)]
    places = [
        (offsets[n], offsets[n + len(wanted) - 1] + 1)
        for n in range(len(here) - len(wanted) + 1)
        if here[n : n + len(wanted)] == wanted
    ]
    inner = (start, stop)
    if status == "exact":
        assert source[start:stop] in quote
    else:
        assert inner in places


def test_a_place_far_into_a_long_text_of_any_script_is_led_back(connection: Connection) -> None:
    words = ["Straße", "Привет", "ação", "中文", "🙂🙂", "plain", "naïve", "日本"]
    source = " ".join(f"{words[n % 8] * (1 + n % 3)}{n}" for n in range(900))
    assert len(source.encode()) > 10_000
    for first in range(0, 890, 89):
        place = source.index(f"{first} ")
        wanted = source[place + len(f"{first} ") : place + 60].rsplit(" ", 1)[0]
        status, start, stop, _ = locate(connection, source, wanted.replace(" ", "\n "))
        assert status == "normalised" and source[start:stop] == wanted


@pytest.mark.parametrize(
    "quote",
    [
        "5 degrees. It carries 15 %",  # the sign is cut off
        "5 % more than in 2022, that is",  # 15 %
        "more than in 2022, that is 1",  # 1,250
        "250 files. The “sealed” letters",
        "smokers only, and 10² are kept",
        "letters are for non",
        "and 102 are kept in demonstration rooms",
        "The lift stops below 5 degrees",
        "It carries 15 % more … are kept in demonstration",
        "It carries 15 % more [...] that is 1,250 files",
        "carries 15",
        "The lift\u200b\u200b\u200b\u200b",  # 12 characters, of which 8 are seen
        "The    **lift**",
    ],
)
def test_a_part_of_a_number_or_compound_is_no_proof(connection: Connection, quote: str) -> None:
    assert locate(connection, SOURCE, quote)[0] in ("partial", "fabricated")


@pytest.mark.parametrize(
    "quote",
    [
        "It carries 15% more than in 2022",
        'the "SEALED" letters are for non\u2011smokers only',
        "10² are kept in demonstration rooms",
        "10² are kept in demon- stration rooms.",
        "“below −5 degrees. It carries”",
    ],
)
def test_the_same_in_other_print_is_normalised(connection: Connection, quote: str) -> None:
    status, start, stop, similarity = locate(connection, SOURCE, quote)
    assert (status, similarity) == ("normalised", 1)
    assert start is not None and stop > start


@pytest.mark.parametrize(
    ("quote", "status"),
    [
        ("그는 매운 음식을 좋아하지 않는다", "exact"),
        ("그는 매운 음식을 좋아하지", "exact"),
        ("그는 매운 음식을 좋아하", "partial"),
        ("는 매운 음식을 좋아하지 않는다.", "partial"),
        ("그는 매운 음식을 좋아하지 않는.", "partial"),
        ("그는 매운 음\n식을 좋아하지 않는다", "normalised"),
    ],
)
def test_korean_words_are_not_cut(connection: Connection, quote: str, status: str) -> None:
    assert locate(connection, "그는 매운 음식을 좋아하지 않는다.", quote)[0] == status


def test_what_is_not_seen_makes_no_short_quote_a_proof(connection: Connection) -> None:
    source = "It has\u00ad\u200b\u200b a        lift."
    assert locate(connection, source, source[:-6])[0] == "partial"
    assert locate(connection, source + " It stops.", source + " It stops.")[0] == "exact"


def test_the_run_of_a_partial_quote_is_led_back(connection: Connection) -> None:
    quote = "The lift stops below -5 degrees. It carries 15 % more than in 2022, that was"
    status, start, stop, similarity = locate(connection, SOURCE, quote)
    assert (status, start) == ("partial", 0)
    assert SOURCE[start:stop].endswith("in 2022, that") and 0.85 <= similarity < 1


@pytest.fixture
def chunks(connection: Connection) -> Iterator[list[int]]:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    for uri, texts in (
        ("a", [SOURCE, "Nobody reads the second part of it."]),
        ("b", [TEXTS[0][1]]),
    ):
        connection.execute(
            "SELECT rag.put_chunks('docs', %s, %s)", [uri, Jsonb([{"content": t} for t in texts])]
        )
    rows = connection.execute(
        "SELECT c.chunk_id FROM rag.chunks AS c JOIN rag.documents AS d USING (document_id)"
        " ORDER BY d.uri, c.ordinal"
    ).fetchall()
    yield [chunk_id for (chunk_id,) in rows]
    connection.execute("SELECT rag.drop_collection('docs')")


def check(connection: Connection, chunk: int, quote: str, others: list[int]) -> Any:
    return connection.execute(
        "SELECT * FROM rag.check_citation('docs', %s, %s, others => %s::bigint[])",
        [chunk, quote, others],
    ).fetchone()


def test_a_quote_of_another_source_is_misattributed(
    connection: Connection, chunks: list[int]
) -> None:
    first, second, other = chunks
    quote = "Copies are made on the first Monday of each month"
    assert check(connection, first, quote, [])[0] == "fabricated"
    status, start, stop, similarity, found_in = check(connection, first, quote, [second, other])
    assert (status, similarity, found_in) == ("misattributed", 1, other)
    assert TEXTS[0][1][start:stop] == quote
    near = check(connection, first, "nobody READS the second part", [])
    assert (near[0], near[-1]) == ("misattributed", second)


def test_what_an_earlier_text_said_is_superseded(connection: Connection, chunks: list[int]) -> None:
    with connection.transaction(force_rollback=True):
        connection.execute(
            """CREATE OR REPLACE FUNCTION rag._document_versions(
                   collection_key integer, document_key uuid, of_version integer DEFAULT NULL)
               RETURNS TABLE (version integer, content text) LANGUAGE sql STABLE
               AS $$SELECT 1, 'Signs: the lift stops at 0 degrees.'$$"""
        )
        found = check(connection, chunks[0], "The lift stops at 0 degrees.", [])
        assert (found[0], found[1], found[3]) == ("superseded", None, 1)
    assert check(connection, chunks[0], "The lift stops at 0 degrees.", [])[0] == "fabricated"


def test_every_earlier_text_that_is_kept_is_looked_at(
    connection: Connection, chunks: list[int]
) -> None:
    with connection.transaction(force_rollback=True):
        connection.execute(
            """CREATE OR REPLACE FUNCTION rag._document_versions(
                   collection_key integer, document_key uuid, of_version integer DEFAULT NULL)
               RETURNS TABLE (version integer, content text) LANGUAGE sql STABLE
               AS $$SELECT n, CASE n WHEN 1 THEN 'Signs: the lift stops at 0 degrees.'
                    ELSE 'Text ' || n END FROM generate_series(15, 1, -1) AS n$$"""
        )
        found = check(connection, chunks[0], "The lift stops at 0 degrees.", [])
        assert (found[0], found[3]) == ("superseded", 1)


def test_a_quote_whose_chunks_are_gone_is_looked_for_in_the_texts_that_are_kept(
    connection: Connection, chunks: list[int]
) -> None:
    quotes = ("Nobody reads the second part of it.", "Somebody reads the third part of it.",
              "The lift never stopped at all.")  # fmt: skip
    given = [{"chunk_ids": [999999], "uri": "a", "quote": quote, "others": []} for quote in quotes]
    query = "SELECT status, similarity, chunk_key FROM rag._check_citations('docs', %s)"
    with connection.transaction(force_rollback=True):
        connection.execute(
            """CREATE OR REPLACE FUNCTION rag._document_versions(
                   collection_key integer, document_key uuid, of_version integer DEFAULT NULL)
               RETURNS TABLE (version integer, content text) LANGUAGE sql STABLE
               AS $$SELECT 1, 'Signs: somebody reads the third part of it.'$$"""
        )
        assert connection.execute(query, [Jsonb(given)]).fetchall() == [
            ("exact", 1, chunks[1]), ("superseded", 1, None), ("unknown", None, None),
        ]  # fmt: skip


def test_a_chunk_that_is_gone_is_an_error_that_helps(
    connection: Connection, chunks: list[int]
) -> None:
    with pytest.raises(psycopg.DatabaseError, match="has no chunk 999999") as caught:
        check(connection, 999999, "The lift stops at 0 degrees.", [])
    assert caught.value.sqlstate == "RG002"
