"""An application with a table of orders, a view of it, a canary that no question may touch."""

import datetime
import random
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

Connection = psycopg.Connection[Any]
Row = Mapping[str, Any]

TABLES = """
CREATE SCHEMA app;
CREATE TYPE app.state AS ENUM ('new', 'paid', 'sent');
CREATE DOMAIN app.cents AS integer CHECK (VALUE >= 0);
CREATE TABLE app.orders (
    id integer PRIMARY KEY, customer text, qty integer, price numeric(12,2), rate float8,
    state app.state, cents app.cents, ok boolean, day date, made timestamptz, local timestamp,
    tags text[], attrs jsonb, code uuid, "odd ""na.me" text, secret text DEFAULT 'TOPSECRET'
);
CREATE VIEW app.sales WITH (security_invoker = true) AS SELECT * FROM app.orders;
CREATE SEQUENCE app.canary;
CREATE FUNCTION app.touch() RETURNS integer LANGUAGE sql VOLATILE
    AS $$ SELECT nextval('app.canary')::integer $$;
CREATE FUNCTION app.touch_enum(app.state) RETURNS json LANGUAGE sql
    AS $$ SELECT to_json(nextval('app.canary')) $$;
CREATE FUNCTION app.touch_text(app.state) RETURNS text LANGUAGE sql
    AS $$ SELECT nextval('app.canary')::text $$;
CREATE FUNCTION app.touch_equal(app.state, app.state) RETURNS boolean LANGUAGE sql
    AS $$ SELECT nextval('app.canary') > 0 $$;
CREATE CAST (app.state AS json) WITH FUNCTION app.touch_enum(app.state);
CREATE CAST (app.state AS text) WITH FUNCTION app.touch_text(app.state);
CREATE OPERATOR app.= (LEFTARG = app.state, RIGHTARG = app.state, FUNCTION = app.touch_equal);
CREATE OPERATOR public.= (LEFTARG = app.state, RIGHTARG = app.state, FUNCTION = app.touch_equal);
"""
COLUMNS = (
    "id", "customer", "qty", "price", "rate", "state", "cents", "ok", "day", "made", "local",
    "tags", "attrs", "code", 'odd "na.me',
)  # fmt: skip


def make_orders(connection: Connection, rows: int = 60) -> list[Row]:
    """Make the tables, fill them in the same way each time, and return the rows."""
    connection.execute(TABLES)
    rng = random.Random(7)

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.15 else value

    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    found: list[Row] = []
    for number in range(rows):
        moment = start + datetime.timedelta(hours=rng.randrange(0, 3000))
        found.append(
            {
                "id": number,
                "customer": maybe(rng.choice(["Ann", "bob", "Émile", "d'Or", "%_", ""])),
                "qty": maybe(rng.randrange(-3, 4)),
                "price": maybe(Decimal(rng.randrange(0, 9000)) / 100),
                "rate": maybe(rng.choice([0.1, 0.25, -1.5, 3.0])),
                "state": maybe(rng.choice(["new", "paid", "sent"])),
                "cents": maybe(rng.randrange(0, 5)),
                "ok": maybe(rng.random() < 0.5),
                "day": maybe(moment.date()),
                "made": maybe(moment),
                "local": maybe(moment.replace(tzinfo=None)),
                "tags": maybe(rng.sample(["x", "y", "z"], rng.randrange(0, 3))),
                "attrs": maybe({"color": rng.choice(["red", "blue"]), "n": rng.randrange(3)}),
                "code": None,
                'odd "na.me': maybe(rng.choice(["a", "b"])),
            }
        )
    with connection.cursor() as cursor:
        cursor.executemany(
            """INSERT INTO app.orders VALUES (%s, %s, %s, %s, %s, %s::text::app.state, %s, %s, %s,
               %s, %s, %s, %s, %s, %s)""".replace("::text::app", "::app"),
            [
                [
                    Jsonb(value) if name == "attrs" and value else value
                    for name, value in row.items()
                ]
                for row in found
            ],
        )
    return found
