"""Arguments from Python and SQL that no database can take: an error of one line that names them."""

from datetime import datetime
from typing import Any

import psycopg
import pytest

from rag_pg import InvalidInput, Rag, RagError
from rag_pg.client.collection import Collection

LONE = "\ud800"


def nested(depth: int, key: str) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {key: value}
    return value


@pytest.fixture(scope="module")
def docs(new_database: Any, template: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    from fakes import HashEmbedder

    from rag_pg import Settings

    embedder = HashEmbedder("hash:32")
    with Rag(
        new_database(template),
        settings=Settings(home=tmp_path_factory.mktemp("home")),
        embedders={"hash": lambda name: embedder},
    ) as rag:
        collection = rag.collection("docs", model="hash:32")
        collection.add({"uri": "a", "content": "red fish", "metadata": {"n": 1}})
        yield collection


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.search(None), "there is nothing to search by; pass a query or an embedding"),
        (lambda d: d.search(5), "the query is a text, not 5"),
        (lambda d: d.search("fish", limit=2.5), "limit is a whole number, not 2.5"),
        (lambda d: d.search("fish", limit="3"), "limit is a whole number, not '3'"),
        (lambda d: d.search("fish", limit=True), "limit is a whole number, not True"),
        (lambda d: d.search("fish", limit=10**10), "limit 10000000000 is out of range"),
        (lambda d: d.search("fish", limit="3", rerank="llm"), "limit is a whole number, not '3'"),
        (lambda d: d.search("fish", candidate_limit=99.5), "candidate_limit is a whole number"),
        (lambda d: d.search("fish", per_document="1"), "per_document is a whole number"),
        (lambda d: d.search("fish", rrf_k=1.5), "rrf_k is a whole number"),
        (lambda d: d.search("fish", vector_weight="1"), "vector_weight is a number, not '1'"),
        (lambda d: d.search("fish", diversity="0.5"), "diversity is a number"),
        (lambda d: d.search("fish", fusion=5), "fusion is a text, not 5"),
        (lambda d: d.search("fish", duplicates="yes"), "duplicates is True or False, not 'yes'"),
        (lambda d: d.metadata.select(limit=2.5), "limit is a whole number, not 2.5"),
        (lambda d: d.metadata.select(offset="1"), "offset is a whole number, not '1'"),
        (lambda d: d.metadata.facets("n", limit=1.5), "limit is a whole number, not 1.5"),
        (lambda d: d.metadata.facets(5), "field is a text, not 5"),
        (lambda d: d.rag.evaluation.runs.metrics("1"), "run_id is a whole number, not '1'"),
        (
            lambda d: d.rag.evaluation.runs.metrics(2**70),
            "run_id 1180591620717411303424 is out of range",
        ),
        (lambda d: d.alter(keep_original=2), "keep_original is True or False, not 2"),
        (lambda d: d.rag.evaluation.sets.drop(5), "set_name is a text, not 5"),
        (lambda d: d.rag.admin.usage(since=5), "since is a date, not 5"),
        (lambda d: d.rag.views.expose({}, "x"), "view is a text, not {}"),
        (lambda d: d.rag.views.expose("a.b", "x", max_rows="9"), "max_rows is a whole number"),
        (lambda d: d.rag.views.expose("a.b", "x", timeout=5), "timeout is a timedelta, not 5"),
        (lambda d: d.alter(description=5), "description is a text, not 5"),
        (lambda d: d.alter(keep_versions=30), "keep_versions is a timedelta, not 30"),
        (
            lambda d: d.metadata.aggregate({"n": {"count": "*"}}, group_by="team"),
            "group_by is a list of texts, not 'team'",
        ),
        (lambda d: d.delete(["fish"]), r"uris is a list of texts, not \[\["),
        (lambda d: d.rag.admin.usage(by="day"), "by is a list of texts, not 'day'"),
        (
            lambda d: d.rag.evaluation.runs.compare(1, 2, metrics="ndcg"),
            "metrics is a list of texts, not 'ndcg'",
        ),
        (
            lambda d: d.metadata.aggregate({"n": {"count": "*"}}, group_by=[5]),
            "group_by is a list of texts",
        ),
        (lambda d: d.ask("x", max_cost=10**400), "max_cost is out of range"),
        (lambda d: d.search("fish", filter={"a": LONE}), r"'\\ud800': a lone surrogate"),
        (lambda d: d.search("fish", filter={LONE: 1}), r"'\\ud800': a lone surrogate"),
        (lambda d: d.metadata.facets(LONE), r"\\ud800.* cannot be stored as utf"),
        (lambda d: d.delete(LONE), r"\\ud800.* cannot be stored as utf"),
        (lambda d: d.get(LONE), r"\\ud800.* cannot be stored as utf"),
        (lambda d: d.metadata.select(order_by=LONE), r"\\ud800.* cannot be stored as utf"),
        (lambda d: d.rag.collection(LONE), r"\\ud800.* cannot be stored as utf"),
        (lambda d: d.metadata.index(LONE, "text"), r"\\ud800.* cannot be stored as utf"),
        (lambda d: d.search("fish", filter=nested(3000, "$not")), "nested more than 100 deep"),
        (lambda d: d.search("fish", filter={"a": nested(3000, "b")}), "nested more than 100 deep"),
        (lambda d: d.search("fish", boosts=[nested(3000, "filter")]), "nested"),
        (
            lambda d: d.search("fish", boosts=[{"filter": {}, "multiply": float("nan")}]),
            r"boosts\[0\]\.multiply is nan, a number that JSON does not have",
        ),
        (lambda d: d.search("a\0b", filter={"a": "b\0c"}), r"filter.a 'b\\x00c' holds a NUL"),
        (lambda d: d.search("fish", filter={"a\0": 1}), r"a key of filter 'a\\x00' holds a NUL"),
        (lambda d: d.get("a\0b"), r"uri 'a\\x00b' holds a NUL character"),
        (lambda d: d.delete("a\0b"), r"'a\\x00b' holds a NUL character"),
        (lambda d: d.metadata.facets("a\0b"), r"field 'a\\x00b' holds a NUL character"),
        (
            lambda d: d.count(filter={"n": 10**5000}),
            "filter.n is a number of more than 4000 digits",
        ),
        (lambda d: d.rag.collection("a\0b"), r"name 'a\\x00b' holds a NUL character"),
        (lambda d: d.rag.collection("b", language="a\0b"), r"'a\\x00b' holds a NUL character"),
        (
            lambda d: d.rag.collection("b", chunking={"method": float("inf")}),
            "chunking.method is inf",
        ),
        (
            lambda d: d.add_chunks(
                [{"uri": "a", "content": "b", "embedding": [0.5] * 32, "metadata": {"n": 1e400}}]
            ),
            "chunk 0: metadata.n is inf, a number that JSON does not have",
        ),
    ],
)
def test_a_wrong_argument_is_named_in_one_line(docs: Collection, call: Any, message: str) -> None:
    with pytest.raises(RagError, match=message) as caught:
        call(docs)
    assert isinstance(caught.value, InvalidInput) and "\n" not in str(caught.value)


def test_of_documents_that_no_database_holds_each_is_told_by_itself(docs: Collection) -> None:
    moment = datetime(2024, 2, 29)
    values = {
        "nan": float("nan"),
        "infinite": 1e400,
        "huge": 10**5000,
        "date": moment,
        "bytes": b"x",
        "set": {1},
        "nul": "a\0b",
        "lone": LONE,
        "deep": nested(3000, "b"),
    }
    report = docs.add(
        *[{"uri": n, "content": "bird", "metadata": {"x": [v]}} for n, v in values.items()],
        {"uri": "good", "content": "blue bird", "metadata": {"x": [10**300, 0.5, -0.0, None]}},
        wait=False,
    )
    reasons = {failure.uri: failure.error for failure in report.failures}
    assert reasons.keys() == values.keys()
    for name, words in (
        ("nan", "documents[0].metadata.x[0] is nan, a number that JSON does not have"),
        ("infinite", "is inf, a number that JSON does not have"),
        ("huge", "is a number of more than 4000 digits: pass it as text"),
        ("date", "(datetime), which JSON does not have"),
        ("bytes", "is b'x' (bytes), which JSON does not have"),
        ("set", "is {1} (set), which JSON does not have"),
        ("nul", "holds a NUL character, which no text can"),
        ("lone", "holds a lone surrogate"),
        ("deep", "nested too deeply"),
    ):
        assert words in reasons[name]
    stored = docs.get("good")
    assert stored is not None and stored.metadata["x"] == [10**300, 0.5, 0, None]


def test_numbers_of_other_libraries_are_whole_numbers(docs: Collection) -> None:
    import numpy as np

    numbers: dict[str, Any] = {"limit": np.int64(3), "vector_weight": np.float32(1)}
    assert len(docs.search("fish", **numbers)) == 1


@pytest.mark.parametrize("depth", [101, 3000])
@pytest.mark.parametrize(
    "outside", ['{"a": %s}', '{"a": {"$contains": %s}}', '{"$or": [{"a": %s}]}']
)
def test_a_deep_value_in_a_filter_is_refused_by_the_database(
    docs: Collection, depth: int, outside: str
) -> None:
    value = outside % ('{"b": ' * depth + "1" + "}" * depth)
    with docs.rag.database.connection() as connection, pytest.raises(Exception) as caught:
        try:
            connection.execute("SELECT rag.count_documents('docs', %s)", [value])
        except psycopg.Error as error:
            assert error.sqlstate == "RG004" and "100 deep" in str(error)
            raise
    assert caught


@pytest.mark.one_database
@pytest.mark.parametrize(
    "wanted", ["5", '{"a": 5}', '{"a": [1]}', '{"a": {"$not": 5}}', '{"$uri": "a"}']
)
def test_a_plain_value_is_compiled_under_forced_parallel_queries(
    connection: psycopg.Connection[Any], wanted: str
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    for setting in ("debug_parallel_query = on", "parallel_setup_cost = 0"):
        connection.execute(f"SET {setting}".encode())
    statement = "SELECT rag.count_documents('c', %s)"
    if wanted == "5":
        with pytest.raises(psycopg.Error, match="the filter is a JSON number"):
            connection.execute(statement, [wanted])
        with pytest.raises(psycopg.Error, match="no JSON array of objects"):
            connection.execute("SELECT rag.compare_spaces('c', %s)", [wanted])
    else:
        assert connection.execute(statement, [wanted]).fetchone() == (0,)
