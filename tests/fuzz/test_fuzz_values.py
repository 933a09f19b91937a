"""Values at the edge in every place that takes one:
an answer without NaN, or an error that names what is wrong."""

from __future__ import annotations

import json
import random
from typing import Any

import psycopg
import pytest
from fuzzing import fuzz

Connection = psycopg.Connection[Any]

NUMBERS = (0, 0.0, -0.0, 6e-8, -6e-8, 1e-4, 1, -1, 3.25, 65504, -65504)
OUT_OF_RANGE = ("[1,NaN,0]", "[1,Infinity,0]", "[1e6,0,0]", "[1,2]", "[]", "x", "[1,2,3,4]")
SCALARS = (
    None, True, 0, -1, 1.5, 10**30, 1e300, "", "x", "a" * 3000, "'; DROP TABLE rag.chunks; --",
    "$1", "%s", "\\", "{}", "\u200b", "日本", "a\nb", "2024-02-29",
)  # fmt: skip
KEYS = (
    "a", "uri", "content", "title", "heading", "metadata", "embedding", "language", "media_type",
    "filter", "add", "multiply", "recency", "half_life", "weight", "kind", "m", "ef_construction",
    "k1", "b", "$and", "$or", "$not", "$in", "$gte", "$like", "$uri", "$created_at", "query",
    "embeddings", "relevant", "method", "", "a.b", "\\",
)  # fmt: skip
CALLS = (
    "rag.put_chunks('j', 'u', %s)",
    "rag.put_chunks('j', 'u', '[{\"content\": \"alpha\"}]', metadata => %s)",
    "rag.put_document('j', 'u', 'alpha', metadata => %s)",
    "rag.put_documents('j', %s)",
    "rag.count_documents('j', %s)",
    "rag.facets('j', 'a', %s)",
    "rag.select_documents('j', %s)",
    "rag.search('j', 'alpha', '[1,1]', metadata_filter => %s)",
    "rag.search('j', 'alpha', '[1,1]', boosts => %s)",
    "rag.search_keyword('j', 'alpha', 5, %s)",
    "rag.search_vector('j', '[1,1]', 5, %s)",
    "rag.explain_search('j', 'alpha', options => %s)",
    "rag.create_collection('k', 'none', 2, index_options => %s)",
    "rag.create_collection('k', 'none', 2, chunking => %s)",
    "rag.compare_spaces('j', %s)",
)
# Wrong JSON has a code of its own class, or that of a number or text
# that the value's place does not take.
DOCUMENTED = (
    "RG",
    "22P02",
    "22003",
    "22023",
    "22007",
    "22008",
    "22018",
    "22000",
    "42704",
    "42602",
    "54000",
    "22026",
)


def random_json(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if depth < 4 and kind < 0.3:
        return [random_json(chance, depth + 1) for _ in range(chance.randint(0, 3))]
    if depth < 4 and kind < 0.75:
        return {
            chance.choice(KEYS): random_json(chance, depth + 1) for _ in range(chance.randint(0, 3))
        }
    return chance.choice(SCALARS)


def odd_metadata(connection: Connection) -> int:
    """How many chunks and documents have metadata that is no object."""
    (odd,) = connection.execute(
        """SELECT count(*) FROM (SELECT metadata FROM rag.chunks UNION ALL SELECT metadata
           FROM rag.documents) AS m
           WHERE jsonb_typeof(m.metadata) <> 'object'"""
    ).fetchone() or (0,)
    return int(odd)


@pytest.fixture(scope="module")
def fuzz_dsn(new_database: Any, template: str) -> str:
    return str(new_database(template))


def test_any_json_is_taken_or_refused_by_name(fuzz_dsn: str) -> None:
    with psycopg.connect(fuzz_dsn, autocommit=True) as first:
        first.execute("SELECT rag.create_collection('j', 'none', 2)")

    def values(seed: int) -> None:
        chance = random.Random(seed)
        with psycopg.connect(fuzz_dsn, autocommit=True) as connection:
            for _ in range(150):
                call, value = chance.choice(CALLS), random_json(chance)
                if chance.random() < 0.5 and "put_" in call:  # as an array of chunks or documents
                    value = [{"content": "alpha", "uri": "u", chance.choice(KEYS[1:9]): value}]
                try:
                    connection.execute(f"SELECT * FROM {call} AS x".encode(), [json.dumps(value)])
                except psycopg.Error as error:
                    told = f"{call} with {json.dumps(value)[:500]}: {error.sqlstate} {error}"
                    assert str(error.sqlstate).startswith(DOCUMENTED), told
                if "put_" in call:
                    assert odd_metadata(connection) == 0, f"{call} with {json.dumps(value)[:500]}"
                connection.execute(
                    "SELECT rag.drop_collection(name) FROM rag.collections WHERE name = 'k' AND"
                    " dropped_at IS NULL"
                )
            connection.execute("SELECT rag.remove_dropped()")
            # Whatever was stored can be searched and written again.
            connection.execute(
                "SELECT count(*) FROM rag.search('j', 'alpha', '[1,1]', 100, '{\"a\": {\"$ne\":"
                " 5}}')"
            )
            connection.execute(
                "SELECT rag.put_document('j', 'u', 'alpha text', metadata => '{\"a\": 1}')"
            )

    fuzz(values, 2)


def test_vectors_at_the_edge_give_no_nan(fuzz_dsn: str) -> None:
    def vectors(seed: int) -> None:
        chance = random.Random(seed)
        with psycopg.connect(fuzz_dsn, autocommit=True) as connection:
            for distance in ("cosine", "l2", "ip"):
                name = f"{distance}{seed}"
                connection.execute(
                    "SELECT rag.create_collection(%s, 'none', 3, %s)", [name, distance]
                )
                for number in range(chance.randint(0, 12)):
                    connection.execute(
                        "SELECT rag.put_chunks(%s, %s, %s)",
                        [name, f"d{number}", json.dumps([{
                            "content": chance.choice(["alpha", "beta", f"alpha {number}"]),
                            "embedding": chance.choices(NUMBERS, k=3)}])],
                    )  # fmt: skip
                (count,) = connection.execute(
                    """SELECT count(*) FROM rag.embeddings AS e JOIN rag.spaces AS s
                       USING (space_id)
                       JOIN rag.collections AS c USING (collection_id) WHERE c.name = %s""",
                    [name],
                ).fetchone() or (0,)
                for _ in range(6):
                    vector = str(chance.choices(NUMBERS, k=3))
                    for call in (
                        "rag.search(%s, 'alpha', %s)",
                        "rag.search(%s, 'alpha', %s, fusion => 'weighted')",
                        "rag.search(%s, 'alpha', %s, fusion => 'rrf')",
                        "rag.search(%s, NULL, %s)",
                        "rag.search(%s, 'alpha', %s, diversity => 0.5)",
                        "rag.search_vector(%s, %s, 1000)",
                        "rag.search_vector(%s, %s, 1000, exact_below => 0)",
                    ):
                        (found,) = connection.execute(
                            f"""SELECT coalesce(jsonb_agg(to_jsonb(h)), '[]')::text
                                FROM {call} AS h""".encode(),
                            [name, vector],
                        ).fetchone() or ("",)
                        told = f"{call} {name} {vector}"
                        assert "NaN" not in found and "Infinity" not in found, told
                        if "search_vector" in call:
                            assert len(json.loads(found)) == count, told
                for wrong in OUT_OF_RANGE:
                    with pytest.raises(psycopg.Error) as caught:
                        connection.execute("SELECT rag.search_vector(%s, %s)", [name, wrong])
                    assert str(caught.value.sqlstate).startswith(DOCUMENTED), wrong
                connection.execute("SELECT rag.drop_collection(%s)", [name])
            connection.execute("SELECT rag.remove_dropped()")

    fuzz(vectors, 2)
