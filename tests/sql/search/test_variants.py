"""A search over several variants: equal to the fusion, in Python, of a search for each."""

import json
import random
from collections.abc import Iterator
from typing import Any

import fusion_oracle
import numpy as np
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

Variant = tuple[str | None, str | None]

Connection = psycopg.Connection[Any]
WORDS = ["red", "blue", "fish", "bird", "tree"]
DOCUMENTS, CHUNKS = 12, 60


@pytest.fixture(scope="module")
def filled(new_database: Any, template: str) -> Iterator[Connection]:
    """Few words and short vectors: many equal scores, and chunks of the same text."""
    chance, points = random.Random(3), np.random.default_rng(3)
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'simple')")
        for document in range(DOCUMENTS):
            chunks = [
                {
                    "content": " ".join(chance.choices(WORDS, k=chance.choice([1, 2, 5]))),
                    "metadata": {"k": chance.randrange(3)},
                    "embedding": points.normal(size=3).round(2).tolist(),
                }
                for _ in range(CHUNKS // DOCUMENTS)
            ]
            connection.execute(
                "SELECT rag.put_chunks('c', %s, %s)", [f"d{document}", json.dumps(chunks)]
            )
        yield connection


def found(connection: Connection, variants: list[Variant], **options: Any) -> list[tuple[Any, ...]]:
    limit, wanted = options.pop("limit", 10), options.pop("wanted", {})
    return connection.execute(
        """SELECT chunk_id, score, vector_rank, keyword_rank FROM rag.search_variants(
               'c', %s, %s::text[]::halfvec[], %s, %s, %s)""",
        [[t for t, _ in variants], [v for _, v in variants], limit, json.dumps(wanted),
         json.dumps(options)],
    ).fetchall()  # fmt: skip


def expected(
    connection: Connection, variants: list[Variant], **options: Any
) -> list[tuple[Any, ...]]:
    """One rag.search per variant; what is fused,
    taken out and put in order afterwards is Python's."""
    limit, wanted = options.get("limit", 10), options.get("wanted", {})
    depth = options.get("candidate_limit") or max(4 * limit, 40)
    rankings: list[tuple[float, list[Any]]] = []
    ranks: dict[Any, Any] = {}
    for text, vector in variants:
        rows = connection.execute(
            """SELECT chunk_id, vector_rank, keyword_rank
                   FROM rag.search('c', %s, %s::halfvec, %s, %s,
                   candidate_limit => %s, boosts => %s, duplicates => true)""",
            [text, vector, depth, json.dumps(wanted), depth, json.dumps(options.get("boosts", []))],
        ).fetchall()
        rankings.append((1.0, [row[0] for row in rows]))
        for row in rows:
            ranks.setdefault(row[0], row[1:])
    places = {
        row[0]: row[1:]
        for row in connection.execute(
            "SELECT chunk_id, document_id, content_hash FROM rag.chunks"
        ).fetchall()
    }
    kept: list[tuple[int, float]] = []
    seen: set[bytes] = set()
    documents: list[object] = []
    for chunk_id, score in fusion_oracle.rrf(rankings, options.get("rrf_k", 60)):
        document, content = places[chunk_id]
        if not options.get("duplicates") and bytes(content) in seen:
            continue
        seen.add(bytes(content))
        if documents.count(document) < options.get("per_document", CHUNKS):
            documents.append(document)
            kept.append((chunk_id, score))
    start = options.get("result_offset", 0)
    return [(i, pytest.approx(s, abs=1e-12), *ranks[i]) for i, s in kept[start : start + limit]]


VARIANTS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([*WORDS, "unheard"]), min_size=1, max_size=3).map(" ".join),
        st.none() | st.tuples(*[st.sampled_from([-1.0, 0.5, 2.0])] * 3).map(lambda v: str(list(v))),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.minutes
@settings(max_examples=40)
@given(VARIANTS, st.data())
def test_the_fused_list_equals_the_fusion_of_single_searches(
    filled: Connection, variants: list[Variant], data: st.DataObject
) -> None:
    options: dict[str, Any] = {"limit": data.draw(st.sampled_from([1, 5, 20]))}
    choices: dict[str, list[Any]] = {
        "candidate_limit": [20, 30], "rrf_k": [0, 5], "duplicates": [True], "per_document": [1, 2],
        "result_offset": [3], "boosts": [[{"filter": {"k": 1}, "multiply": 2}]],
    }  # fmt: skip
    for name, values in choices.items():
        if data.draw(st.booleans(), label=name):
            options[name] = data.draw(st.sampled_from(values))
    if data.draw(st.booleans(), label="filter"):
        options["wanted"] = {"k": 2}
    assert found(filled, variants, **options) == expected(filled, variants, **options)


def test_one_variant_keeps_the_order_of_a_search(filled: Connection) -> None:
    alone = filled.execute(
        "SELECT chunk_id FROM rag.search('c', 'red fish', '[1, 0.5, 0]', 15, candidate_limit => 60)"
    ).fetchall()
    fused = found(filled, [("red fish", "[1, 0.5, 0]")], limit=15, candidate_limit=60)
    assert [row[0] for row in fused] == [i for (i,) in alone]


def test_a_variant_repeated_changes_no_order(filled: Connection) -> None:
    once = [row[0] for row in found(filled, [("red fish", "[1, 0.5, 0]")])]
    thrice = [row[0] for row in found(filled, [("red fish", "[1, 0.5, 0]")] * 3)]
    assert thrice == once


def test_pages_of_variants_are_cut_from_one_list(filled: Connection) -> None:
    variants = [("red fish", "[1, 0.5, 0]"), ("bird", None), (None, "[0, 1, 0]")]
    for extra in ({}, {"diversity": 0.4}, {"per_document": 2}):
        options = {"candidate_limit": 60, **extra}
        whole = [row[0] for row in found(filled, variants, limit=20, **options)]
        pages = [
            row[0]
            for offset in (0, 8, 16)
            for row in found(filled, variants, limit=8, result_offset=offset, **options)
        ]
        assert pages[:20] == whole


def test_diversity_takes_unlike_chunks_of_the_fused_list_first(filled: Connection) -> None:
    variants: list[Variant] = [("red", "[1, 0, 0]"), ("red fish", "[1, 0.1, 0]")]
    plain = [row[0] for row in found(filled, variants, limit=10)]
    diverse = [row[0] for row in found(filled, variants, limit=10, diversity=0.9)]
    assert diverse[0] == plain[0]
    assert set(diverse) != set(plain)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'c'", "0 variants"),
        ("'c', '{}'", "0 variants"),
        ("'c', array_fill('a'::text, ARRAY[17])", "17 variants"),
        ("'c', '{a,b}', ARRAY['[1,0,0]']::halfvec[]", "no two lists of one length"),
        ("'c', '{{a,b}}'", "no two lists of one length"),
        ("'c', '{a,NULL}'", "the query is empty"),
        ("'c', '{a}', options => '{\"limit\": 3}'", "no option"),
        ("'c', '{a}', expected_space => 999", "space"),
        ("'none', '{a}'", "none"),
    ],
)
def test_what_is_no_list_of_variants_is_an_error_with_a_hint(
    filled: Connection, arguments: str, message: str
) -> None:
    with pytest.raises(psycopg.Error, match=message) as raised:
        filled.execute(f"SELECT * FROM rag.search_variants({arguments})".encode())
    assert (raised.value.sqlstate or "").startswith("RG")
    assert raised.value.diag.message_hint


def test_arrays_that_begin_elsewhere_than_one_are_read_whole(filled: Connection) -> None:
    at_zero = filled.execute("SELECT chunk_id FROM rag.search_variants('c', '[0:1]={fish,bird}')")
    assert [i for (i,) in at_zero] == [
        row[0] for row in found(filled, [("fish", None), ("bird", None)])
    ]
