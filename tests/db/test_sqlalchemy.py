"""Searches in SQLAlchemy statements, beside an application's own tables and Alembic revisions."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import alembic.command
import alembic.config
import numpy as np
import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import postgresql

from rag_pg.errors import InvalidInput
from rag_pg.sqlalchemy import (
    ARGUMENTS,
    PARAMETERS,
    delete_document,
    include_name,
    put_document,
    search,
    search_keyword,
    search_vector,
)
from rag_pg.types import SHORT

DIALECT: Any = postgresql.dialect()  # type: ignore[no-untyped-call]
FUNCTIONS: list[Callable[..., Any]] = [search, search_keyword, search_vector]
SAMPLES: dict[str, Any] = {
    "query_text": "red fish",
    "offset": 0,
    "query_embedding": [1.0, 0.0, 0.0],
    "limit": 2,
    "filter": {"lang": "en"},
    "vector_weight": 1,
    "keyword_weight": 0.5,
    "fusion": "rrf",
    "rrf_k": 10,
    "candidate_limit": 20,
    "diversity": 0.3,
    "per_document": 1,
    "boosts": [{"filter": {"lang": "en"}, "multiply": 2.0}],
    "duplicates": True,
    "ef_search": 80,
    "typo_tolerance": False,
    "expected_space": 1,
    "exact_below": 500,
    "scan_limit": 20000,
    "match": "all",
}


class Base(orm.DeclarativeBase):
    pass


class Product(Base):
    __tablename__ = "product"
    product_id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    page: orm.Mapped[str]
    wish: orm.Mapped[str]
    price: orm.Mapped[float]


@pytest.fixture
def engine(dsn: str, connection: psycopg.Connection[Any]) -> Iterator[sa.Engine]:
    """An application's engine; its database has three passages and three products."""
    connection.execute("SELECT rag.create_collection('docs', 'mine', 3)")
    for uri, text, vector in (
        ("fish", "A red fish swims.", "[1, 0, 0]"),
        ("bird", "A blue bird flies.", "[0, 1, 0]"),
        ("tree", "A tree stands.", "[0, 0, 1]"),
    ):
        connection.execute(
            """SELECT rag.put_chunks('docs', %s, jsonb_build_array(jsonb_build_object(
                   'content', %s::text, 'embedding', %s::jsonb, 'metadata',
                   '{"lang": "en"}'::jsonb)))""",
            [uri, text, vector],
        )
    opened = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))
    Base.metadata.create_all(opened)
    with orm.Session(opened) as session:
        session.add_all(
            Product(page=page, wish=wish, price=price)
            for page, wish, price in (
                ("fish", "bird", 5),
                ("bird", "red fish", 7),
                ("sea", "tree", 9),
            )
        )
        session.commit()
    yield opened
    opened.dispose()


def rows(engine: sa.Engine, statement: sa.Select[Any]) -> list[Any]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(statement)]


def arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    return ARGUMENTS[function.__name__]


def rendered(statement: Any) -> str:
    """The statement in one line, without the casts of its parameters."""
    text = " ".join(str(statement.compile(dialect=DIALECT)).split())
    return re.sub(r"(\)s)::(?:[A-Z]+|pg_catalog\.\w+)", r"\1", text)


# --- the construct is what the database has


@pytest.mark.one_database
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_parameter_of_the_sql_function_is_accepted(
    connection: psycopg.Connection[Any], function: Callable[..., Any]
) -> None:
    own = {SHORT.get(name, name): name for name in (*arguments(function), "collection")}
    found = connection.execute(
        """SELECT a.name, format_type(a.type, NULL)
           FROM pg_proc AS p, unnest(p.proargnames, p.proargtypes::oid[]) AS a (name, type)
           WHERE p.pronamespace = 'rag'::regnamespace AND p.proname = %s""",
        [function.__name__],
    ).fetchall()
    assert found
    for name, type_ in found:
        assert name in own, f"rag.{function.__name__} has a new parameter {name}"
        given = PARAMETERS[own[name]].compile(dialect=DIALECT)
        assert given.lower().removeprefix("pg_catalog.") == type_.removeprefix("public."), name


@pytest.mark.one_database
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_option_can_be_passed(
    engine: sa.Engine, connection: psycopg.Connection[Any], function: Callable[..., Any]
) -> None:
    row = connection.execute(
        "SELECT proargnames FROM pg_proc WHERE pronamespace = 'rag'::regnamespace AND proname = %s",
        [function.__name__],
    ).fetchone()
    assert row is not None
    options = {
        name: SAMPLES[name] for name in arguments(function) if SHORT.get(name, name) in row[0]
    }
    hits = function("docs", **options)
    assert rows(engine, sa.select(hits.c.uri).order_by(hits.c.score.desc()))[0] == ("fish",)


@pytest.mark.one_database
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_columns_are_those_of_a_hit(
    connection: psycopg.Connection[Any], function: Callable[..., Any]
) -> None:
    attributes = connection.execute(
        """SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
           WHERE attrelid = 'rag.hit'::regclass ORDER BY attnum"""
    ).fetchall()
    given = {name: SAMPLES[name] for name in ("query_text", "query_embedding")}
    names = arguments(function)
    hits = function("docs", **{name: value for name, value in given.items() if name in names})
    assert [(c.name, c.type.compile(dialect=DIALECT).lower()) for c in hits.c] == attributes


# --- statements


def test_an_argument_that_there_is_none_of_is_named() -> None:
    with pytest.raises(InvalidInput, match="search has no option 'fillter'; did you mean 'filter'"):
        search("docs", query_text="fish", fillter={})
    with pytest.raises(InvalidInput, match="search_keyword has no option 'ef_search'"):
        search_keyword("docs", "fish", ef_search=10)


def test_what_is_not_given_is_left_to_the_database() -> None:
    hits = search("docs", query_text="fish").alias("hits")
    assert (
        rendered(sa.select(hits.c.uri))
        == "SELECT hits.uri FROM rag.search(collection => %(collection_1)s, query_text =>"
        " %(query_text_1)s) AS hits"
    )


def test_hits_join_with_mapped_classes(engine: sa.Engine) -> None:
    hits = search("docs", query_text="red bird", query_embedding=[0.9, 0.1, 0], limit=3)
    statement = (
        sa.select(Product, hits.c.score, hits.c.metadata["lang"].astext)
        .join(hits, hits.c.uri == Product.page)
        .where(Product.price < 8)
        .order_by(hits.c.score.desc(), hits.c.chunk_id)
    )
    with orm.Session(engine) as session:
        found = session.execute(statement).all()
    assert [product.page for product, _, _ in found] == ["fish", "bird"]
    assert found[0][1] > found[1][1] and found[0][2] == "en"


def test_rows_have_python_types(engine: sa.Engine) -> None:
    hits = search("docs", query_text="fish")
    ((chunk_id, document_id, metadata, score, rank),) = rows(
        engine,
        sa.select(
            hits.c.chunk_id, hits.c.document_id, hits.c.metadata, hits.c.score, hits.c.vector_rank
        ),
    )
    assert (type(chunk_id), type(document_id).__name__) == (int, "UUID")
    assert metadata == {"lang": "en"} and isinstance(score, float) and rank is None


@pytest.mark.one_database
@pytest.mark.parametrize(
    "vector", [[1, 0, 0], (1.0, 0.0, 0.0), np.array([1, 0, 0], np.float32)], ids=type
)
def test_a_vector_may_be_any_sequence_of_numbers(engine: sa.Engine, vector: Any) -> None:
    hits = search_vector("docs", vector, limit=1)
    assert rows(engine, sa.select(hits.c.uri, hits.c.vector_rank)) == [("fish", 1)]


def test_arguments_may_come_from_the_rows_before(engine: sa.Engine) -> None:
    hits = search_keyword("docs", Product.wish, limit=1).lateral("hits")
    statement = (
        sa.select(Product.page, hits.c.uri).join(hits, sa.true()).order_by(Product.product_id)
    )
    assert rows(engine, statement) == [("fish", "bird"), ("bird", "fish"), ("sea", "tree")]


def test_two_searches_stand_in_one_statement_and_compiled_forms_are_reused(
    engine: sa.Engine,
) -> None:
    for first, second in (("fish", "bird"), ("bird", "tree")):
        one, two = search("docs", query_text=first), search("docs", query_text=second)
        statement = sa.select(one.c.uri, two.c.uri).join_from(one, two, sa.true())
        assert rows(engine, statement) == [(first, second)]


def test_hostile_values_stay_values(engine: sa.Engine) -> None:
    hits = search("docs", query_text="'); DROP TABLE product; --", filter={"a": "'\"%(x)s"})
    assert rows(engine, sa.select(hits.c.uri)) == []
    assert rows(engine, sa.select(sa.func.count()).select_from(Product)) == [(3,)]


def test_the_databases_own_errors_come_through(engine: sa.Engine) -> None:
    with pytest.raises(sa.exc.DBAPIError, match="limit 0 is out of range"):
        rows(engine, sa.select(search("docs", query_text="fish", limit=0).c.uri))
    with pytest.raises(sa.exc.DBAPIError, match="the query is empty"):
        rows(engine, sa.select(search("docs").c.uri))


def psycopg_engine(dsn: str) -> Any:
    from sqlalchemy.ext.asyncio import create_async_engine

    return create_async_engine(
        "postgresql+psycopg://", async_creator=lambda: psycopg.AsyncConnection.connect(dsn)
    )


def asyncpg_engine(dsn: str) -> Any:
    import asyncpg  # type: ignore[import-untyped]
    from sqlalchemy.ext.asyncio import create_async_engine

    names = {"dbname": "database"}
    parts = {names.get(k, k): v for k, v in psycopg.conninfo.conninfo_to_dict(dsn).items()}
    return create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(**parts)
    )


@pytest.mark.parametrize("open_engine", [psycopg_engine, asyncpg_engine])
def test_asynchronous_engines_run_the_same_statements(
    engine: sa.Engine, dsn: str, open_engine: Callable[[str], Any]
) -> None:
    from sqlalchemy.ext.asyncio import AsyncSession

    opened = open_engine(dsn)

    async def life() -> list[Any]:
        hits = search(
            "docs", query_text="red", query_embedding=[1, 0, 0], limit=5, filter={"lang": "en"}
        )
        statement = (
            sa.select(Product, hits.c.score, hits.c.metadata)
            .join(hits, hits.c.uri == Product.page)
            .order_by(hits.c.score.desc(), hits.c.chunk_id)
        )
        async with AsyncSession(opened) as session:
            found = (await session.execute(statement)).all()
        await opened.dispose()
        return [(product.page, metadata) for product, _, metadata in found]

    english = {"lang": "en"}
    assert asyncio.run(life()) == [("fish", english), ("bird", english)]


@pytest.mark.parametrize("open_engine", [psycopg_engine, asyncpg_engine])
def test_a_type_before_pg_catalog_is_not_used(
    engine: sa.Engine, dsn: str, open_engine: Callable[[str], Any]
) -> None:
    from sqlalchemy.ext.asyncio import AsyncSession

    with psycopg.connect(dsn, autocommit=True) as connection:
        name = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
        for statement in (
            "CREATE SCHEMA first",
            "CREATE FUNCTION first.told() RETURNS boolean LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE 'used'; END $$",
            *(
                f"CREATE DOMAIN first.{kind} AS pg_catalog.{kind} CHECK (first.told())"
                for kind in ("jsonb", "text", "varchar", "int4", "float8", "bool", "uuid")
            ),
            f"ALTER DATABASE {name} SET search_path = first, pg_catalog, public",
        ):
            connection.execute(statement.encode())
    opened = open_engine(dsn)

    async def life() -> Any:
        hits = search(
            "docs",
            query_text="red",
            filter={"lang": "en"},
            limit=3,
            vector_weight=0.25,
            duplicates=True,
            boosts=[{"filter": {"lang": "de"}, "multiply": 2}],
        )
        async with AsyncSession(opened) as session:
            await session.execute(put_document("docs", "sea", "A red sea.", metadata={"n": 1}))
            found = (await session.execute(sa.select(hits.c.uri))).scalars().all()
        await opened.dispose()
        return found

    assert asyncio.run(life()) == ["fish"]


# --- Alembic


ENV = """
import psycopg, sqlalchemy
from alembic import context
from rag_pg.sqlalchemy import include_name

config = context.config.attributes
engine = sqlalchemy.create_engine(
    "postgresql+psycopg://", creator=lambda: psycopg.connect(config["dsn"])
)
with engine.connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=config["metadata"],
        include_schemas=True,
        include_name=include_name,
    )
    with context.begin_transaction():
        context.run_migrations()
engine.dispose()
"""
TEMPLATE = """
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}

import sqlalchemy as sa
from alembic import op

def upgrade():
    ${upgrades if upgrades else "pass"}

def downgrade():
    ${downgrades if downgrades else "pass"}
"""


def test_an_applications_revisions_do_not_see_schema_rag(
    dsn: str, connection: psycopg.Connection[Any], tmp_path: Path
) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'mine', 3)")
    connection.execute("CREATE SCHEMA shop")
    metadata = sa.MetaData()
    sa.Table("item", metadata, sa.Column("item_id", sa.Integer, primary_key=True))
    sa.Table("order", metadata, sa.Column("order_id", sa.Integer, primary_key=True), schema="shop")
    (tmp_path / "versions").mkdir()
    (tmp_path / "env.py").write_text(ENV)
    (tmp_path / "script.py.mako").write_text(TEMPLATE)
    config = alembic.config.Config(attributes={"dsn": dsn, "metadata": metadata})
    config.set_main_option("script_location", str(tmp_path))
    config.set_main_option("path_separator", "os")

    alembic.command.revision(config, "first", autogenerate=True)
    (written,) = (tmp_path / "versions").glob("*.py")
    text = written.read_text()
    assert "create_table('item'" in text and "schema='shop'" in text
    assert "drop_" not in text.partition("def downgrade")[0] and "rag" not in text
    alembic.command.upgrade(config, "head")
    alembic.command.check(config)  # raises when a revision would have something to do

    versions = (
        "SELECT (SELECT count(*) FROM alembic_version), (SELECT count(*) FROM rag.alembic_version)"
    )
    assert connection.execute(versions).fetchone() == (1, 1)


def test_include_name_passes_everything_else() -> None:
    assert include_name(None, "schema", {})
    assert include_name("shop", "schema", {})
    assert include_name("rag", "table", {"schema_name": None})
    assert not include_name("rag", "schema", {})
    assert not include_name("chunks", "table", {"schema_name": "rag"})


def test_documents_are_put_and_deleted_in_the_transaction_of_the_application(
    engine: sa.Engine,
) -> None:
    with orm.Session(engine) as session:
        put = put_document("docs", "page-1", "Text", title="Page", metadata={"lang": "en"})
        first = session.scalar(sa.select(put))
        assert isinstance(first, UUID)
        session.rollback()
        assert session.scalar(sa.select(delete_document("docs", "page-1"))) is False
        for product in (1, 2):  # an argument may come from another table
            uri = sa.func.concat("product-", Product.product_id)
            session.execute(
                sa.select(put_document("docs", uri, Product.wish)).where(
                    Product.product_id == product
                )
            )
        session.commit()
        assert session.scalar(sa.select(delete_document("docs", "product-2"))) is True
        uris = session.scalars(sa.text("SELECT uri FROM rag.list_documents('docs')")).all()
        assert uris == ["bird", "fish", "product-1", "tree"]
