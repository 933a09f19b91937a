"""Questions to an exposed view, against the same written in plain Python over the rows."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any

import psycopg
import pytest
from app_orders import COLUMNS, Row, make_orders
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rota import tries

Connection = psycopg.Connection[Any]
Json = dict[str, Any]
ORDER = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}

DAYS = ["2024-01-20", "2024-02-29", "2024-03-31", "2025-01-01"]
MOMENTS = ["2024-01-20T07:00:00Z", "2024-02-29T12:00:00+05:30", "2024-03-31 00:00:00"]
VALUES: dict[str, list[Any]] = {
    "id": [0, 7, 59, 7.5, -1, 10**30],
    "customer": ["Ann", "bob", "Émile", "d'Or", "%_", "", "zzz"],
    "qty": [-3, 0, 3, 0.5, 10**20],
    "price": [0, 12.5, 45, 89.99, 1e300],
    "rate": [0.1, 0.25, -1.5, 3, 1e308],
    "cents": [0, 2, 4],
    "ok": [True, False],
    "day": DAYS,
    "made": MOMENTS,
    "local": MOMENTS,
    'odd "na\\.me': ["a", "b"],
}
UNORDERED: dict[str, list[Any]] = {"state": ["new", "paid", "sent"]}


def operators(column: str) -> st.SearchStrategy[Json]:
    values = st.sampled_from([*VALUES.get(column, []), *UNORDERED.get(column, [])])
    nullable = st.one_of(values, st.none())
    found = [
        st.builds(lambda name, value: {name: value}, st.sampled_from(["$eq", "$ne"]), nullable),
        st.builds(
            lambda name, listed: {name: listed},
            st.sampled_from(["$in", "$nin"]),
            st.lists(nullable, max_size=3),
        ),
        st.builds(lambda wanted: {"$exists": wanted}, st.booleans()),
    ]
    if column in VALUES:
        found.append(
            st.builds(lambda name, value: {name: value}, st.sampled_from([*ORDER]), values)
        )
    return st.one_of(*found, st.builds(lambda one: {"$not": one}, st.one_of(*found)))


leaves = st.sampled_from([*VALUES, *UNORDERED]).flatmap(
    lambda column: operators(column).map(lambda wanted: {column: wanted})
)
filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(
            lambda name, listed: {name: listed},
            st.sampled_from(["$and", "$or"]),
            st.lists(inner, max_size=3),
        ),
        st.builds(lambda one: {"$not": one}, inner),
    ),
    max_leaves=4,
)
numbers = st.sampled_from(["id", "qty", "price", "rate", "cents"])
ordered = st.sampled_from(["id", "qty", "price", "customer", "day", "made", "local", "ok", "state"])
aggregates = st.dictionaries(
    st.sampled_from(["one", "two.x"]),
    st.one_of(
        st.just({"count": "*"}),
        st.builds(lambda f, c: {f: c}, st.sampled_from(["sum", "avg"]), numbers),
        st.builds(
            lambda f, c: {f: c}, st.sampled_from(["count", "count_distinct", "min", "max"]), ordered
        ),
    ),
    min_size=1,
)
groups = st.lists(
    st.sampled_from(
        ["customer", "ok", "state", "cents", "attrs.color", "tags", "month(day)", "year(made)"]
    ),
    max_size=2,
    unique=True,
)


@pytest.fixture(scope="module")
def sales(new_database: Any, template: str) -> Iterator[tuple[Connection, list[Row]]]:
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        # by code point, as Python compares texts
        connection.execute("SET TimeZone = 'Asia/Kolkata'; SET DateStyle = 'SQL, DMY'")
        rows = make_orders(connection)
        connection.execute(
            """DROP VIEW app.sales;
               ALTER TABLE app.orders ALTER customer TYPE text COLLATE "C",
                   ALTER "odd ""na.me" TYPE text COLLATE "C";
               CREATE VIEW app.sales AS SELECT * FROM app.orders"""
        )
        connection.execute(
            "SELECT rag.expose_view('app.sales', 'An order', columns => %s, max_rows => 1000)",
            [list(COLUMNS)],
        )
        yield connection, rows


def comparable(column: str, value: Any) -> Any:
    """An operand, or a cell, as something that Python compares as PostgreSQL does."""
    if column in ("made", "local", "day") and isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        at = value if value.tzinfo else value.replace(tzinfo=UTC)
        return at.astimezone(UTC).replace(tzinfo=None) if column != "day" else value.date()
    if column in ("price", "qty", "id", "cents") and isinstance(value, (int, float)):
        return Decimal(repr(value))
    return value


def passes(row: Row, wanted: Json) -> bool:
    for key, operand in wanted.items():
        if key in ("$and", "$or"):
            found = [passes(row, one) for one in operand]
            held = all(found) if key == "$and" else any(found)
        elif key == "$not":
            held = not passes(row, operand)
        else:
            column = key.replace("\\", "")
            held = all(holds(column, row[column], name, one) for name, one in operand.items())
        if not held:
            return False
    return True


def holds(column: str, cell: Any, name: str, operand: Any) -> bool:
    if name == "$not":
        return not all(holds(column, cell, *pair) for pair in operand.items())
    if name == "$exists":
        return bool((cell is not None) == operand)
    if name in ("$eq", "$ne", "$in", "$nin"):
        listed = operand if name in ("$in", "$nin") else [operand]
        found = any(
            cell is None if one is None
            else cell is not None and comparable(column, cell) == comparable(column, one)
            for one in listed
        )  # fmt: skip
        return found == (name in ("$eq", "$in"))
    return cell is not None and bool(
        ORDER[name](comparable(column, cell), comparable(column, operand))
    )


@pytest.mark.longer
@settings(max_examples=tries(12, 4), deadline=None, suppress_health_check=list(HealthCheck))
@given(specs=st.lists(filters, min_size=8, max_size=8))
def test_filters_of_a_view_agree_with_plain_python(
    sales: tuple[Connection, list[Row]], specs: list[Json]
) -> None:
    connection, rows = sales
    for wanted in specs:
        found = connection.execute(
            "SELECT rag.query_view('sales', '{id}', %s, order_by => '{id}')", [json.dumps(wanted)]
        ).fetchall()
        assert [row["id"] for (row,) in found] == [r["id"] for r in rows if passes(r, wanted)], (
            wanted
        )


def keys_of(row: Row, term: str) -> list[Any]:
    if term == "month(day)":
        return [row["day"] and row["day"].strftime("%Y-%m")]
    if term == "year(made)":
        return [row["made"] and row["made"].astimezone(UTC).year]
    if term == "attrs.color":
        return [row["attrs"] and row["attrs"]["color"]]
    if term == "tags":
        return list(dict.fromkeys(row["tags"] or [None]))
    return [row[term]]


def shown(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat()
        return f"{text}Z" if value.tzinfo else text
    return value.isoformat() if isinstance(value, date) else value


def computed(rows: list[Row], function: str, column: str) -> Any:
    if column == "*":
        return len(rows)
    cells = [row[column] for row in rows if row[column] is not None]
    states = ["new", "paid", "sent"]
    if function == "count":
        return len(cells)
    if function == "count_distinct":
        return len(set(cells))
    if not cells:
        return None
    if function in ("sum", "avg"):
        total = float(sum(cells))
        return total / (len(cells) if function == "avg" else 1)
    pick = min if function == "min" else max
    return shown(pick(cells, key=states.index if column == "state" else None))


@pytest.mark.longer
@settings(max_examples=tries(12, 4), deadline=None, suppress_health_check=list(HealthCheck))
@given(specs=st.lists(st.tuples(filters, aggregates, groups), min_size=6, max_size=6))
def test_aggregates_of_a_view_agree_with_plain_python(
    sales: tuple[Connection, list[Row]], specs: list[Any]
) -> None:
    connection, rows = sales
    for where, wanted, terms in specs:
        found: dict[tuple[Any, ...], list[Row]] = {} if terms else {(): []}
        for row in (one for one in rows if passes(one, where)):
            keys: list[tuple[Any, ...]] = [()]
            for term in terms:
                keys = [(*key, one) for key in keys for one in keys_of(row, term)]
            for key in keys:
                found.setdefault(key, []).append(row)
        expected = {
            key: {name: computed(rows_, *next(iter(of.items()))) for name, of in wanted.items()}
            for key, rows_ in found.items()
        }
        answered = connection.execute(
            "SELECT rag.query_view('sales', NULL, %s, %s, %s)",
            [json.dumps(where), json.dumps(wanted), terms],
        ).fetchall()
        result = {
            tuple(row[term] for term in terms): {name: row[name] for name in wanted}
            for (row,) in answered
        }
        assert result.keys() == expected.keys(), (where, wanted, terms)
        for key, one in expected.items():
            for name, value in one.items():
                same = (
                    pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value
                )
                assert result[key][name] == same, (where, wanted, terms, key)
