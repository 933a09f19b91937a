"""Aggregates over metadata, against the same written in plain Python."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from filter_oracle import MISSING, date, matches
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from metadata_rows import fill, new_collections, value_of
from random_filters import DECLARED, Json, filters, metadata
from rota import tries

Connection = psycopg.Connection[Any]

FIELDS = ["num", "txt", "day", "flag", "a", "n", "n.x", "q\\.r", "\\$x"]
PARTS = ["year", "quarter", "month", "week", "day", "hour", "weekday"]
terms = st.one_of(
    st.sampled_from(FIELDS),
    st.builds("{}({})".format, st.sampled_from(PARTS), st.sampled_from(["day", "a", "num"])),
)
aggregates = st.dictionaries(
    st.sampled_from(["one", "two", "three"]),
    st.one_of(
        st.just({"count": "*"}),
        st.builds(
            lambda function, field: {function: field},
            st.sampled_from(["count", "count_distinct", "min", "max"]),
            st.sampled_from(FIELDS),
        ),
        st.builds(
            lambda function, field: {function: field},
            st.sampled_from(["sum", "avg"]),
            st.sampled_from(["num", "n.x", "a"]),
        ),
    ),
    min_size=1,
)


@pytest.fixture(scope="module")
def prepared(new_database: Any, template: str) -> Iterator[Connection]:
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        new_collections(connection)
        yield connection


def canonical(value: Any) -> str:
    """Equal texts for equal values of JSON: 1 and 1.0 are."""
    return json.dumps(json.loads(json.dumps(value), parse_int=float), sort_keys=True)


def elements(row: Json, field: str) -> list[Any]:
    """The distinct values of a row, of an array each element; None: there is none."""
    value = value_of(row, field)
    listed = value if isinstance(value, list) else [None if value is MISSING else value]
    return list({canonical(one): one for one in listed}.values()) or [None]


def part_of(value: Any, part: str) -> Any:
    moment = date(value)
    if moment is None:
        return None
    at = moment.astimezone(UTC)
    year, week, weekday = at.isocalendar()
    return {
        "year": at.year,
        "quarter": f"{at.year:04}-Q{(at.month + 2) // 3}",
        "month": f"{at.year:04}-{at.month:02}",
        "week": f"{year:04}-W{week:02}",
        "day": f"{at.year:04}-{at.month:02}-{at.day:02}",
        "hour": f"{at.year:04}-{at.month:02}-{at.day:02}T{at.hour:02}",
        "weekday": weekday,
    }[part]


def keys_of(row: Json, term: str) -> list[Any]:
    part, _, rest = term.partition("(")
    if not rest:
        return elements(row, term)
    found = [part_of(one, part) for one in elements(row, rest[:-1])]
    return list({canonical(one): one for one in found}.values())


def extreme(found: Sequence[Any], pick: Any) -> Any:
    numbers = [v for v in found if type(v) in (int, float)]
    texts = [v for v in found if isinstance(v, str)]
    dates = [moment for v in texts if (moment := date(v))]
    if numbers:
        return pick(numbers)
    if len(texts) > len(dates):
        return pick(v[:500] for v in texts)
    if texts:
        at = pick(dates).astimezone(UTC)
        text = at.replace(tzinfo=None).isoformat()
        return text[:10] if at == datetime(at.year, at.month, at.day, tzinfo=UTC) else f"{text}Z"
    truths = [v for v in found if isinstance(v, bool)]
    return pick(truths) if truths else None


def computed(rows: Sequence[Json], function: str, field: str) -> Any:
    if field == "*":
        return len(rows)
    found = [v for row in rows if (v := value_of(row, field)) is not MISSING and v is not None]
    numbers = [float(v) for v in found if type(v) in (int, float)]
    if function == "count":
        return len(found)
    if function == "count_distinct":
        return len({canonical(v) for row in rows for v in elements(row, field)} - {"null"})
    if function in ("min", "max"):
        return extreme(found, min if function == "min" else max)
    if not numbers:
        return None
    return sum(numbers) / (len(numbers) if function == "avg" else 1)


def grouped(rows: Sequence[Json], groups: Sequence[str], wanted: Json) -> list[Json]:
    """What rag.aggregate_documents returns, in any order."""
    found: dict[str, tuple[list[Any], list[Json]]] = {} if groups else {"": ([], [])}
    for row in rows:
        keys: list[list[Any]] = [[]]
        for term in groups:
            keys = [[*key, one] for key in keys for one in keys_of(row, term)]
        for key in keys:
            found.setdefault(canonical(key) if groups else "", (key, []))[1].append(row)
    return [
        dict(zip(groups, key, strict=True))
        | {
            name: computed(members, *next(iter(function.items())))
            for name, function in wanted.items()
        }
        for key, members in found.values()
    ]


def same(found: Any, wanted: Any) -> bool:
    if type(found) is float and type(wanted) in (int, float):
        return found == pytest.approx(wanted, rel=1e-9)
    return canonical(found) == canonical(wanted)


def assert_same(found: list[Json], wanted: list[Json], groups: Sequence[str]) -> None:
    def at(row: Json) -> str:
        return canonical([row[name] for name in groups])

    assert len(found) == len(wanted), (found, wanted)
    for one, other in zip(sorted(found, key=at), sorted(wanted, key=at), strict=True):
        assert one.keys() == other.keys()
        assert all(same(one[name], other[name]) for name in one), (one, other)


@pytest.mark.longer
@settings(max_examples=tries(25, 10), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(metadata, min_size=1, max_size=10),
    specs=st.lists(
        st.tuples(st.lists(terms, max_size=2, unique=True), aggregates, filters),
        min_size=6,
        max_size=6,
    ),
)
def test_aggregates_agree_with_plain_python(
    prepared: Connection, rows: list[Json], specs: list[Any]
) -> None:
    fill(prepared, rows)
    for groups, wanted, where in specs:
        passing = [row for row in rows if matches(row, where)]
        found = [
            row
            for (row,) in prepared.execute(
                "SELECT rag.aggregate_documents('plain', %s, %s, %s, result_limit => 1000)",
                [json.dumps(wanted), groups, json.dumps(where)],
            )
        ]
        assert_same(found, grouped(passing, groups, wanted), groups)


def test_a_declaration_changes_no_aggregate(prepared: Connection) -> None:
    rows: list[Json] = [
        {"num": n % 3, "txt": "abc"[n % 3], "day": f"2024-0{1 + n % 4}-01", "n": {"x": n}}
        for n in range(20)
    ]
    fill(prepared, rows)
    assert DECLARED["num"] == "numeric"
    wanted = json.dumps({"s": {"sum": "num"}, "d": {"max": "day"}, "t": {"min": "txt"}})
    for groups in ([], ["txt"], ["month(day)", "num"]):
        one, two = (
            prepared.execute(
                "SELECT rag.aggregate_documents(%s, %s, %s)", [name, wanted, groups]
            ).fetchall()
            for name in ("plain", "declared")
        )
        assert one == two and one


def test_groups_are_kept_by_their_aggregates_ordered_and_cut(prepared: Connection) -> None:
    fill(
        prepared, [{"kind": k, "amount": a} for k, a in zip("abcab", (5, 7, 1, 2, 1), strict=True)]
    )
    call = """SELECT rag.aggregate_documents(
                  'plain', '{"n": {"count": "*"}, "s": {"sum": "amount"}}', '{kind}',
                  having_filter => %s, order_by => %s, result_limit => %s)"""

    def kinds(having: Json, order: list[str], limit: int = 100) -> str:
        found = prepared.execute(call.encode(), [json.dumps(having), order, limit])
        return "".join(row["kind"] for (row,) in found)

    assert kinds({}, []) == "abc"
    assert kinds({}, ["-s"]) == "bac"
    assert kinds({}, ["-n", "-kind"]) == "bac"
    assert kinds({"n": {"$gte": 2}}, ["s"]) == "ab"
    assert kinds({"$or": [{"s": 1}, {"$not": {"s": {"$lt": 8}}}]}, ["s"]) == "cb"
    assert kinds({}, ["-s"], 1) == "b"


def test_dates_between_two_days_by_month_and_the_next_one(prepared: Connection) -> None:
    days = ["2024-01-31", "2024-02-01T00:30:00+01:00", "2024-02-15", "2024-02-29", "2024-03-01"]
    fill(prepared, [{"day": day} for day in days])
    february = {"day": {"$gte": "2024-02-01", "$lt": "2024-03-01"}}
    for name in ("plain", "declared"):
        assert prepared.execute(
            "SELECT rag.count_documents(%s, %s)", [name, json.dumps(february)]
        ).fetchone() == (2,)
        by_month = prepared.execute(
            """SELECT rag.aggregate_documents(%s, '{"n": {"count": "*"}}', '{month(day)}')""",
            [name],
        ).fetchall()
        assert [tuple(row.values()) for (row,) in by_month] == [
            (2, "2024-01"),
            (2, "2024-02"),
            (1, "2024-03"),
        ]
        for after, descending, wanted in (
            ({"$gte": "2024-02-16"}, False, "2024-02-29"),
            ({"$lt": "2024-02-16"}, True, "2024-02-15"),
        ):
            assert prepared.execute(
                """SELECT metadata ->> 'day' FROM rag.select_documents(%s, %s, 'day', %s, 1)""",
                [name, json.dumps({"day": after}), descending],
            ).fetchone() == (wanted,)


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        ("'{}'", "RG004", "there are 0 aggregates and 0 groups"),
        ("NULL", "RG004", "aggregates is no JSON object"),
        ("""'{"a": {"median": "n"}}'""", "RG004", "aggregate 'a' is"),
        ("""'{"a": {"sum": "n", "avg": "n"}}'""", "RG004", "aggregate 'a' is"),
        ("""'{"a": {"sum": 5}}'""", "RG004", "aggregate 'a' is"),
        ("""'{"a": {"sum": "*"}}'""", "RG004", "aggregate 'a' is"),
        (
            """'{"a": {"count": "*"}}', '{}', '{}', '{"b": 1}'""",
            "RG004",
            "'b', which is no aggregate",
        ),
        ("""'{"a": {"sum": "$uri"}}'""", "RG004", "'.uri' has no sum: it is of type text"),
        ("""'{"a": {"sum": "txt"}}'""", "RG004", "'txt' has no sum: it is of type text"),
        ("""'{"a": {"count": "$nope"}}'""", "RG004", "unknown operator or column"),
        ("""'{"-a": {"count": "*"}}'""", "RG004", "cannot be the name"),
        ("""'{"a": {"count": "*"}}', '{a}'""", "RG004", "cannot be the name"),
        ("""'{"a": {"count": "*"}}', '{n,n}'""", "RG004", "group_by names 'n' twice"),
        ("""'{"a": {"count": "*"}}', '{month($title)}'""", "RG004", "has no month"),
        ("""'{"a": {"count": "*"}}', order_by => '{b}'""", "RG004", "order_by names 'b'"),
        ("""'{"a": {"count": "*"}}', having_filter => '{"$uri": "x"}'""", "RG004", "no aggregate"),
        ("""'{"a": {"count": "*"}}', result_limit => 0""", "RG004", "limit 0 is out of range"),
    ],
)
def test_a_wrong_aggregate_gets_one_line_and_a_hint(
    prepared: Connection, call: str, code: str, message: str
) -> None:
    with pytest.raises(psycopg.Error, match=message) as caught:
        prepared.execute(f"SELECT rag.aggregate_documents('declared', {call})".encode())
    assert caught.value.sqlstate == code and caught.value.diag.message_hint


def test_fields_are_described(prepared: Connection) -> None:
    fill(
        prepared,
        [
            {"num": 1, "txt": "b", "tags": ["x", "y"], "day": "2024-02-29", "who": {"name": "Ann"}},
            {"num": 2.5, "txt": "a", "tags": [], "day": "2024-03-01T12:00:00+02:00", "odd": 1},
            {"num": None, "txt": "a", "who": {"name": "Bob", "age": 5}, "odd": "x", "none": None},
        ],
    )
    found = prepared.execute("SELECT * FROM rag.describe_metadata('plain')").fetchall()
    assert found == [
        ("num", "numeric", False, 3, 2, 1, 2.5, [1, 2.5], None),
        ("txt", "text", False, 3, 2, None, None, ["a", "b"], None),
        ("day", "timestamptz", False, 2, 2, "2024-02-29", "2024-03-01T10:00:00Z",
         ["2024-02-29", "2024-03-01T12:00:00+02:00"], None),
        ("odd", "mixed", False, 2, 2, None, None, ["x", 1], None),
        ("tags", "text[]", False, 2, 2, None, None, ["x", "y"], None),
        ("who.name", "text", False, 2, 2, None, None, ["Ann", "Bob"], None),
        ("none", "null", False, 1, 0, None, None, [], None),
        ("who.age", "numeric", False, 1, 1, 5, 5, [5], None),
    ]  # fmt: skip
    declared = prepared.execute(
        """SELECT field, type, declared FROM rag.describe_metadata('declared', '{"txt": "b"}', 0)
           WHERE declared"""
    ).fetchall()
    assert declared == [
        ("day", "timestamptz", True),
        ("num", "numeric", True),
        ("txt", "text", True),
    ]


def test_fields_of_many_documents_are_estimated_from_a_sample(prepared: Connection) -> None:
    fill(prepared, [{"id": i, "half": i % 2, "day": i % 100} for i in range(1000)])

    def described(arguments: str) -> dict[str, tuple[Any, ...]]:
        rows = prepared.execute(
            f"""SELECT field, documents, distinct_values, sampled_documents, examples
                FROM rag.describe_metadata('plain', {arguments})""".encode()
        ).fetchall()
        return {row[0]: row[1:] for row in rows}

    found = described("sample_size => 500")
    assert {name: row[0] for name, row in found.items()} == {"id": 1000, "half": 1000, "day": 1000}
    assert found["id"][1] == 1000 and found["half"][1] == 2 and 95 <= found["day"][1] <= 105
    assert {row[2] for row in found.values()} == {500}
    assert found == described("sample_size => 500")
    exact = described("sample_size => NULL")
    assert [exact[name][:3] for name in ("id", "half", "day")] == [
        (1000, 1000, None),
        (1000, 2, None),
        (1000, 100, None),
    ]
    few = described("""'{"day": 7}', sample_size => 500""")
    assert few["id"][:3] == (10, 10, None)
    with pytest.raises(psycopg.errors.DatabaseError, match="sample size is 0") as caught:
        described("sample_size => 0")
    assert caught.value.sqlstate == "RG004"


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(metadata, min_size=1, max_size=8), where=filters)
def test_a_description_agrees_with_counts_and_facets(
    prepared: Connection, rows: list[Json], where: Json
) -> None:
    fill(prepared, rows)
    passing = [row for row in rows if matches(row, where)]
    described = prepared.execute(
        """SELECT field, documents, distinct_values, examples
           FROM rag.describe_metadata('plain', %s)""",
        [json.dumps(where)],
    ).fetchall()
    for field, documents, distinct, examples in described:
        whole = [v for row in passing if (v := value_of(row, field)) is not MISSING]
        assert documents == sum(not isinstance(v, dict) or not v for v in whole), field
        held = {canonical(v) for row in passing for v in elements(row, field)} - {"null"}
        if not any(isinstance(v, dict) and v for v in whole):
            assert distinct == len(held) and {canonical(v) for v in examples} <= held, field
    named = {field for field, *_ in described}
    for row in passing:
        assert {f for f in ("num", "txt", "day", "flag") if f in row and row[f] != {}} <= named | {
            f for f in row if isinstance(row[f], dict)
        }
