"""Exposed views: who sees what of them, and what they refuse."""

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from app_orders import COLUMNS, make_orders
from rota import tries

Connection = psycopg.Connection[Any]
READER = f"view_reader_{os.getpid()}"


@pytest.fixture
def orders(connection: Connection) -> Iterator[Connection]:
    """View sales is exposed without column secret; the reader sees rows with an even id, and not
    column price."""
    make_orders(connection)
    connection.execute(
        "SELECT rag.expose_view('app.sales', 'An order', columns => %s, max_rows => 1000)",
        [list(COLUMNS)],
    )
    granted = ", ".join(
        psycopg.sql.Identifier(name).as_string(connection) for name in COLUMNS if name != "price"
    )
    connection.execute(
        f"""CREATE ROLE {READER};
            GRANT USAGE ON SCHEMA rag, app TO {READER};
            GRANT SELECT ON rag.exposed_views TO {READER};
            GRANT EXECUTE ON ALL ROUTINES IN SCHEMA rag TO {READER};
            GRANT SELECT ({granted}) ON app.sales TO {READER};
            GRANT SELECT ON app.orders TO {READER};
            ALTER TABLE app.orders ENABLE ROW LEVEL SECURITY;
            CREATE POLICY even ON app.orders FOR SELECT USING (id % 2 = 0)""".encode()
    )
    yield connection
    connection.execute("RESET ROLE; RESET default_transaction_read_only")
    connection.execute(f"DROP OWNED BY {READER}; DROP ROLE {READER}".encode())


def rows_of(connection: Connection, call: str, *values: Any) -> list[Any]:
    found = connection.execute(f"SELECT rag.query_view({call})".encode(), values).fetchall()
    return [row for (row,) in found]


def test_a_role_with_fewer_rights_gets_no_row_and_no_column_beyond_them(
    orders: Connection,
) -> None:
    assert len(rows_of(orders, "'sales'")) == 60
    orders.execute(f"SET ROLE {READER}".encode())
    found = rows_of(orders, "'sales'")
    assert len(found) == 30 and all(row["id"] % 2 == 0 for row in found)
    assert all(row.keys() == set(COLUMNS) - {"price"} for row in found)
    (counted,) = rows_of(orders, '\'sales\', aggregates => \'{"n": {"count": "*"}}\'')
    assert counted == {"n": 30}
    ((columns,),) = orders.execute("SELECT columns FROM rag.list_views()").fetchall()
    assert {column["name"] for column in columns} == set(COLUMNS) - {"price"}
    for call in (
        """'sales', '{price}'""",
        """'sales', '{secret}'""",
        """'sales', filter => '{"price": {"$gt": 0}}'""",
        """'sales', filter => '{"secret": {"$like": "T%"}}'""",
        """'sales', filter => '{"$or": [{"$not": {"secret": "x"}}]}'""",
        """'sales', order_by => '{-price}'""",
        """'sales', group_by => '{secret}'""",
        """'sales', aggregates => '{"a": {"max": "secret"}}'""",
        """'sales', aggregates => '{"a": {"count": "*"}}', group_by => '{month(price)}'""",
        """'sales', '{tableoid}'""",
        """'sales', '{ctid}'""",
    ):
        with pytest.raises(psycopg.Error, match="there is no column") as caught:
            orders.execute(f"SELECT rag.query_view({call})".replace("%", "%%").encode(), [])
        assert caught.value.sqlstate == "RG004" and "TOPSECRET" not in str(caught.value)


def test_grants_on_columns_of_a_table_hold(orders: Connection) -> None:
    orders.execute(
        f"""REVOKE ALL ON app.orders FROM {READER};
            GRANT SELECT (id, customer) ON app.orders TO {READER}""".encode()
    )
    orders.execute(
        "SELECT rag.expose_view('app.orders', 'An order', columns => '{id,customer,secret}')"
    )
    orders.execute(f"SET ROLE {READER}".encode())
    found = rows_of(orders, "'orders', order_by => '{id}'")
    assert [row["id"] for row in found] == list(range(0, 60, 2))
    assert all(row.keys() == {"id", "customer"} for row in found)
    with pytest.raises(psycopg.Error, match="there is no column 'secret'"):
        orders.execute("SELECT rag.query_view('orders', '{secret}')")


def test_texts_of_a_view_match_in_any_case(connection: Connection) -> None:
    connection.execute(
        "CREATE SCHEMA app; CREATE TYPE app.mood AS ENUM ('Happy', 'sad');"
        "CREATE TABLE app.people (name text, mood app.mood);"
        "INSERT INTO app.people VALUES ('Zoë', 'Happy'), ('ZOË', 'sad'), ('Zoe', NULL)"
    )
    connection.execute("SELECT rag.expose_view('app.people', 'People')")
    found = rows_of(connection, """'people', '{name}', '{"name": {"$ilike": "z_Ë"}}'""")
    assert sorted(row["name"] for row in found) == ["ZOË", "Zoë"]
    assert rows_of(connection, """'people', '{name}', '{"mood": {"$ilike": "HA__y"}}'""") == [
        {"name": "Zoë"}
    ]


def test_a_view_that_the_caller_may_not_read_is_not_there(orders: Connection) -> None:
    orders.execute("CREATE VIEW app.payroll AS SELECT 1 AS pay")
    orders.execute("SELECT rag.expose_view('app.payroll', 'Pay')")
    orders.execute(f"SET ROLE {READER}".encode())
    assert orders.execute("SELECT name FROM rag.list_views()").fetchall() == [("sales",)]
    messages = []
    for name in ("payroll", "nowhere"):
        with pytest.raises(psycopg.Error) as caught:
            orders.execute("SELECT rag.query_view(%s)", [name])
        assert caught.value.sqlstate == "RG002"
        messages.append(str(caught.value).replace(name, ""))
    assert messages[0] == messages[1]


def test_the_view_may_be_readable_and_what_it_reads_not(orders: Connection) -> None:
    orders.execute(f"REVOKE ALL ON app.orders FROM {READER}".encode())
    orders.execute(f"SET ROLE {READER}".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="for what view 'sales' reads"):
        orders.execute("SELECT rag.query_view('sales')")


def test_only_who_may_write_the_list_exposes_and_only_what_it_may_read(
    orders: Connection,
) -> None:
    orders.execute(f"SET ROLE {READER}".encode())
    for call in (
        "expose_view('app.sales', 'x', columns => '{id}')",
        "hide_view('sales')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="exposed_views"):
            orders.execute(f"SELECT rag.{call}".encode())
    orders.execute("RESET ROLE")
    orders.execute(f"GRANT INSERT, UPDATE ON rag.exposed_views TO {READER}".encode())
    orders.execute(f"SET ROLE {READER}".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="denied for view app.sales"):
        orders.execute("SELECT rag.expose_view('app.sales', 'x')")
    assert orders.execute(
        "SELECT rag.expose_view('app.sales', 'x', 'mine', columns => '{id}')"
    ).fetchone() == ("mine",)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DROP VIEW app.sales", "app.sales is gone or renamed"),
        ("ALTER VIEW app.sales RENAME TO other", "app.sales is gone or renamed"),
        ("ALTER VIEW app.sales SET SCHEMA public", "app.sales is gone or renamed"),
        ("ALTER VIEW app.sales RENAME qty TO amount", "column qty of app.sales is gone"),
        ("ALTER VIEW app.sales RESET (security_invoker)", "the definition of app.sales"),
        (
            "CREATE OR REPLACE VIEW app.sales WITH (security_invoker = true) AS"
            " SELECT * FROM app.orders WHERE id < 5",
            "the definition of app.sales, or of what it reads, is another one",
        ),
        (
            "DROP VIEW app.sales; ALTER TABLE app.orders ALTER qty TYPE bigint;"
            " CREATE VIEW app.sales WITH (security_invoker = true) AS SELECT * FROM app.orders",
            "column qty of app.sales is of type bigint, and was integer",
        ),
    ],
)
@pytest.mark.few(3)
def test_a_view_that_was_altered_is_refused_until_it_is_exposed_again(
    orders: Connection, statement: str, problem: str
) -> None:
    orders.execute(statement.encode())
    with pytest.raises(psycopg.Error, match=problem.split(" ")[-1]) as caught:
        orders.execute("SELECT rag.query_view('sales')")
    assert caught.value.sqlstate == "RG006" and problem in str(caught.value)
    assert "expose" in (caught.value.diag.message_hint or "")
    (found,) = orders.execute("SELECT problem FROM rag.list_views()").fetchone() or ("",)
    assert problem in found
    finding = orders.execute(
        "SELECT status, detail FROM rag.doctor() WHERE check_name = 'exposed views'"
    ).fetchall()
    assert ("fail", f"view 'sales' is not what was exposed: {found}") in finding


def test_another_definition_below_a_view_is_refused(connection: Connection) -> None:
    make_orders(connection)
    connection.execute("CREATE VIEW app.low AS SELECT id, customer AS note FROM app.orders")
    connection.execute("CREATE MATERIALIZED VIEW app.kept AS SELECT * FROM app.low")
    connection.execute("CREATE VIEW app.high AS SELECT * FROM app.low")
    for name in ("kept", "high"):
        connection.execute("SELECT rag.expose_view(%s, 'Orders')", [f"app.{name}"])
        assert rows_of(connection, f"'{name}', columns => '{{note}}', result_limit => 1")
    connection.execute("CREATE OR REPLACE VIEW app.low AS SELECT id, secret note FROM app.orders")
    for name in ("kept", "high"):
        with pytest.raises(psycopg.Error, match="or of what it reads, is another one") as caught:
            rows_of(connection, f"'{name}'")
        assert caught.value.sqlstate == "RG006"


@pytest.mark.parametrize("others", ["ADD later text", "RENAME hidden TO shown_no_more"])
def test_a_hidden_column_under_the_name_of_an_exposed_one_is_not_shown(
    connection: Connection, others: str
) -> None:
    connection.execute("CREATE TABLE public.notes (id integer, shown text, hidden text)")
    connection.execute("INSERT INTO public.notes VALUES (1, 'public', 'secret')")
    connection.execute("SELECT rag.expose_view('public.notes', 'x', columns => '{id,shown}')")
    connection.execute(f"ALTER TABLE public.notes {others}".encode())
    assert rows_of(connection, "'notes'") == [{"id": 1, "shown": "public"}]
    hidden = "shown_no_more" if "RENAME" in others else "hidden"
    connection.execute("ALTER TABLE public.notes RENAME shown TO was_shown")
    connection.execute(f"ALTER TABLE public.notes RENAME {hidden} TO shown".encode())
    with pytest.raises(psycopg.Error, match="is another one") as caught:
        rows_of(connection, "'notes'")
    assert caught.value.sqlstate == "RG006"


def test_nothing_that_a_view_calls_can_write(connection: Connection) -> None:
    make_orders(connection)
    connection.execute("CREATE VIEW app.evil AS SELECT app.touch() AS x FROM app.orders LIMIT 3")
    notices: list[str] = []
    connection.add_notice_handler(lambda one: notices.append(str(one.message_primary)))
    connection.execute("SELECT rag.expose_view('app.evil', 'Evil')")
    assert any("app.touch(), which is volatile" in one for one in notices)
    with pytest.raises(psycopg.Error, match="writes when it is read") as caught:
        connection.execute("SELECT rag.query_view('evil')")
    assert caught.value.sqlstate == "RG004" and caught.value.diag.message_hint
    with connection.transaction():  # only the query reads, not what follows it in the transaction
        connection.execute("CREATE VIEW app.fine AS SELECT 1 AS x")
        connection.execute("SELECT rag.expose_view('app.fine', 'Fine')")
        assert rows_of(connection, "'fine'") == [{"x": 1}]
        connection.execute("CREATE TABLE app.later (x integer)")
    assert connection.execute("SELECT is_called FROM app.canary").fetchone() == (False,)


def test_policies_that_do_not_hold_and_definers_are_told(orders: Connection) -> None:
    orders.execute(
        """CREATE VIEW app.whole AS SELECT * FROM app.sales;
           CREATE FUNCTION app.definer() RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER
               AS 'SELECT 1';
           CREATE VIEW app.above AS SELECT w.id, app.definer() AS d FROM app.whole AS w"""
    )
    notices: list[str] = []
    orders.add_notice_handler(lambda one: notices.append(str(one.message_primary)))
    orders.execute("SELECT rag.expose_view('app.above', 'Above')")
    assert any("the policies there do not hold for callers" in one for one in notices)
    assert any("app.definer()" in one for one in notices)
    details = orders.execute(
        "SELECT detail FROM rag.doctor() WHERE check_name = 'exposed views' AND status = 'warn'"
    ).fetchall()
    assert len(details) == 2


def test_errors_of_a_view_show_no_value_of_it(connection: Connection) -> None:
    make_orders(connection)
    connection.execute("CREATE VIEW app.broken AS SELECT secret::integer AS x FROM app.orders")
    connection.execute("SELECT rag.expose_view('app.broken', 'Broken')")
    with pytest.raises(psycopg.Error, match="SQLSTATE 22P02") as caught:
        connection.execute("SELECT rag.query_view('broken')")
    assert caught.value.sqlstate == "RG004" and "TOPSECRET" not in str(caught.value)


def test_types_of_others_are_not_exposed(connection: Connection) -> None:
    make_orders(connection)
    connection.execute(
        """CREATE TYPE app.pair AS (a integer, b integer);
           CREATE TABLE app.pairs (id integer, p app.pair, v public.vector(2), ps app.pair[])"""
    )
    with pytest.raises(psycopg.Error, match=r"p \(app.pair\), v \(.*vector.*\), ps") as caught:
        connection.execute("SELECT rag.expose_view('app.pairs', 'Pairs')")
    assert caught.value.sqlstate == "RG001" and "cast them" in str(caught.value.diag.message_hint)


def test_casts_and_operators_of_a_type_are_not_called(orders: Connection) -> None:
    orders.execute("SET search_path = app, public")
    found = rows_of(orders, """'sales', '{id,state}', '{"state": {"$in": ["new", "paid"]}}'""")
    assert {row["state"] for row in found} == {"new", "paid"}
    assert {
        row["state"]
        for row in rows_of(
            orders,
            """'sales', aggregates => '{"n": {"count_distinct": "state"}, "m": {"min": "state"}}',
               group_by => '{state}', order_by => '{state}'""",
        )
    } == {"new", "paid", "sent", None}
    assert orders.execute("SELECT is_called FROM app.canary").fetchone() == (False,)


def test_values_of_every_kind_come_back_and_are_found(connection: Connection) -> None:
    connection.execute(
        """CREATE SCHEMA app; CREATE TABLE app.kinds AS SELECT
           1::smallint AS a, 'NaN'::float8 AS b, 'infinity'::timestamptz AS c, 0.1::real AS d,
           '\\x00ff'::bytea AS e, '[2024-01-01,2024-02-01)'::daterange AS f, '1 day'::interval AS g,
           '10.0.0.1'::inet AS h, 'ab'::char(5) AS i, '{1,NULL,3}'::integer[] AS j,
           '{"k": [1, {"l": "m"}]}'::json AS k, '12:30'::time AS l, 'x'::name AS m,
           9007199254740993 AS n, '00000000-0000-0000-0000-000000000001'::uuid AS o,
           '2024-02-29'::date AS p, '(1,2)'::point AS q"""
    )
    connection.execute("SELECT rag.expose_view('app.kinds', 'Kinds')")
    (row,) = rows_of(connection, "'kinds'")
    assert row == {
        "a": 1, "b": "NaN", "c": "infinity", "d": 0.1, "e": "\\x00ff",
        "f": "[2024-01-01,2024-02-01)", "g": "1 day", "h": "10.0.0.1", "i": "ab   ",
        "j": [1, None, 3], "k": {"k": [1, {"l": "m"}]}, "l": "12:30:00", "m": "x",
        "n": 9007199254740993, "o": "00000000-0000-0000-0000-000000000001", "p": "2024-02-29",
        "q": "(1,2)",
    }  # fmt: skip
    for wanted, count in (
        ({"a": 1.0}, 1), ({"a": {"$lt": 1.5}}, 1), ({"a": 10**40}, 0), ({"a": {"$lt": 10**40}}, 1),
        ({"b": {"$gt": 1e308}}, 1), ({"c": {"$gt": "9999-12-31"}}, 1), ({"d": 0.1}, 1),
        ({"d": {"$lt": 1e300}}, 1), ({"e": "\\x00ff"}, 1), ({"f": "[2024-01-01,2024-02-01)"}, 1),
        ({"g": {"$gte": "24 hours"}}, 1), ({"h": {"$lt": "10.0.0.2"}}, 1), ({"i": "ab"}, 1),
        ({"j": 3}, 1), ({"j": {"$contains": [1, 3]}}, 1), ({"k.k": 1}, 1),
        ({"k.k": {"$contains": {"l": "m"}}}, 1), ({"l": {"$lt": "13:00"}}, 1), ({"m": "x"}, 1),
        ({"n": 9007199254740993}, 1), ({"n": 9007199254740992}, 0),
        ({"o": "00000000-0000-0000-0000-000000000001"}, 1), ({"p": "2024-02-29"}, 1),
        ({"p": {"$lte": "2024-02-28"}}, 0), ({"q": "(1,2)"}, 1), ({"q": {"$exists": True}}, 1),
    ):  # fmt: skip
        found = connection.execute(
            "SELECT count(*) FROM rag.query_view('kinds', filter => %s)", [json.dumps(wanted)]
        ).fetchone()
        assert found == (count,), wanted


def test_read_functions_work_in_a_read_only_transaction(orders: Connection) -> None:
    orders.execute("SELECT rag.create_collection('c', 'none', 3)")
    orders.execute("SELECT rag.put_document('c', 'a', 'text', metadata => '{\"k\": \"v\"}')")
    orders.execute("SET default_transaction_read_only = on")
    assert len(rows_of(orders, "'sales', filter => '{\"qty\": {\"$gte\": 0}}'")) > 5
    assert orders.execute("SELECT name FROM rag.list_views()").fetchall() == [("sales",)]
    for call in (
        "describe_metadata('c')",
        "find_values('c', 'k', 'V')",
        """aggregate_documents('c', '{"n": {"count": "*"}}')""",
    ):
        assert len(orders.execute(f"SELECT * FROM rag.{call}".encode()).fetchall()) == 1


def test_an_index_of_the_table_serves_a_filter(connection: Connection) -> None:
    connection.execute(
        """CREATE SCHEMA app;
           CREATE TABLE app.big (id bigint PRIMARY KEY, at timestamptz, code uuid, name varchar);
           INSERT INTO app.big SELECT g, '2024-01-01'::timestamptz + g * interval '1 minute',
               md5(g::text)::uuid, 'n' || g FROM generate_series(1, 20000) AS g;
           CREATE INDEX ON app.big (at); CREATE INDEX ON app.big (code);
           CREATE INDEX ON app.big (name); ANALYZE app.big;
           CREATE VIEW app.v AS SELECT * FROM app.big"""
    )
    connection.execute("SELECT rag.expose_view('app.v', 'Big')")
    for wanted in (
        {"id": 5},
        {"id": {"$in": [5, 6]}},
        {"at": {"$gte": "2024-01-02", "$lt": "2024-01-02T00:05:00Z"}},
        {"code": "c4ca4238-a0b9-2382-0dcc-509a6f75849b"},
        {"name": "n7"},
    ):
        (plan,) = connection.execute(
            """SELECT rag._view_row_sql('app.v AS c', f.condition, k.columns, '{id}', '{}', 10),
                      f.bound
               FROM (SELECT jsonb_object_agg(v.name, to_jsonb(v)) AS columns
                     FROM rag._view_columns('app.v'::regclass) AS v) AS k,
               LATERAL rag._compile_object(NULL, k.columns, %s, 1, '{}') AS f""",
            [json.dumps(wanted)],
        ).fetchall()
        statement, bound = plan
        connection.execute("SET plan_cache_mode = force_custom_plan")
        connection.execute(f"PREPARE q (text[]) AS {statement}".encode())
        lines = connection.execute(
            psycopg.sql.SQL("EXPLAIN EXECUTE q ({})").format(bound)
        ).fetchall()
        connection.execute("DEALLOCATE q")
        assert any("Index" in line or "Bitmap" in line for (line,) in lines), (wanted, lines)


NAMES = [
    *COLUMNS, "secret", "ctid", "tableoid", "xmin", "c", "c.secret", "sales", "orders.secret", "",
    " ", "*", "-", "--", "-id", "id; DROP TABLE app.orders", "id) FROM app.orders --",
    "app.touch()", "touch", "'", '"', '""', "''", "\\", "\\.", "$id", "$1", "($1)[1]", "%s", "%I",
    "%1$L", "attrs.color", "attrs.color'; SELECT app.touch(); --", "attrs.\u0000"[:6], "a" * 700,
    "ünï", "日本", "\u202e", "month(day)", "month(secret)", "month(app.touch())", "year()",
    "weekday(made)", "hour(((made)))", "1", "null", "NaN", "{}", "[]", "tags.0", "rag.collections",
    "pg_sleep(1)", "odd \"na\\.me",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 0.5, 1e308, 10**400, -(10**30), "", "x", "new", "NaN", "Infinity",
    "-infinity", "2024-02-29", "2024-02-30", "2024-02-29T25:00", "0001-01-01", "9999-12-31T23:59",
    "1; DROP TABLE app.orders", "'; SELECT app.touch(); --", "$1", "($1)[1]", "%s%I%L", "\\",
    "\\\\", "%", "_", "app.touch()", "{1,2}", '{"a"}', "(SELECT secret FROM app.orders)",
    [], {}, [[]], [None], ["new", 5], {"$gt": 5}, {"a": {"b": [1]}}, "日本", "\u202e",
    "a" * 5000, list(range(200)), ["x'y", 'x"y', "x\\y", "{", "}", ","],
]  # fmt: skip
OPERATORS = [
    "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$like", "$ilike",
    "$contains", "$not", "$and", "$or", "$regex", "$where", "$expr", "", "=",
    "; DROP TABLE app.orders",
]  # fmt: skip
FUNCTIONS = [
    "count", "count_distinct", "sum", "avg", "min", "max", "app.touch", "pg_sleep", "string_agg",
    "array_agg", "lo_import", "", "sum(secret)",
]  # fmt: skip


def hostile_arguments(rng: random.Random) -> dict[str, Any]:
    """Arguments of rag.query_view: some of them are right, most are not."""

    def wanted(depth: int) -> Any:
        kind = rng.random()
        if kind < 0.2:
            return (
                {rng.choice(OPERATORS): [wanted(depth + 1)] for _ in range(2)} if depth < 4 else 5
            )
        if kind < 0.3:
            return {rng.choice(NAMES): rng.choice(VALUES)}
        return {rng.choice(NAMES): {rng.choice(OPERATORS): rng.choice(VALUES)}}

    def names(most: int) -> list[Any]:
        return [rng.choice(NAMES) for _ in range(rng.randrange(most))]

    found: dict[str, Any] = {"name": "sales" if rng.random() < 0.95 else rng.choice(NAMES)}
    if rng.random() < 0.7:
        found["filter"] = wanted(0) if rng.random() < 0.95 else rng.choice(VALUES)
    if rng.random() < 0.4:
        found["aggregates"] = {
            rng.choice([*NAMES, "n", "m"]): {rng.choice(FUNCTIONS): rng.choice([*NAMES, "*"])}
            for _ in range(rng.randrange(1, 3))
        }
        found["group_by"] = names(3)
        found["having_filter"] = wanted(2) if rng.random() < 0.2 else {}
    elif rng.random() < 0.5:
        found["columns"] = names(4)
    if rng.random() < 0.4:
        found["order_by"] = [rng.choice(["", "-"]) + one for one in names(3)]
    if rng.random() < 0.3:
        found["result_limit"] = rng.choice([-1, 0, 1, 5, 1000, 1001, 2**31 - 1])
    return found


@pytest.mark.longer
def test_a_thousand_hostile_arguments_execute_nothing_and_leak_nothing(
    orders: Connection,
) -> None:
    rng, count = random.Random(13), tries(1000, 250)
    orders.execute(f"SET ROLE {READER}".encode())
    answered = refused = 0
    for _ in range(count):
        arguments = hostile_arguments(rng)
        call = ", ".join(f"{name} => %({name})s" for name in arguments)
        values = {
            name: json.dumps(value) if name in ("filter", "aggregates", "having_filter") else value
            for name, value in arguments.items()
        }
        try:
            rows = orders.execute(f"SELECT rag.query_view({call})".encode(), values).fetchall()
        except psycopg.Error as error:
            assert (error.sqlstate or "").startswith("RG"), (arguments, str(error))
            assert error.diag.message_hint, (arguments, str(error))
            assert "TOPSECRET" not in str(error).replace(json.dumps(arguments), "")
            refused += 1
            continue
        answered += 1
        assert "TOPSECRET" not in str(rows), arguments
        if "aggregates" not in arguments and not arguments.get("group_by"):
            assert all(set(row) <= {*COLUMNS, *NAMES} - {"price", "secret"} for (row,) in rows)
            assert all(row.get("id", 0) % 2 == 0 for (row,) in rows)
    assert answered > count / 20 and refused > count * 0.3, (answered, refused)
    orders.execute("RESET ROLE")
    assert orders.execute("SELECT is_called FROM app.canary").fetchone() == (False,)
    assert orders.execute("SELECT count(*) FROM app.orders").fetchone() == (60,)
