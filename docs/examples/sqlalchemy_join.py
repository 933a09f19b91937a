"""Join a search with an application's own table, through SQLAlchemy.

RAG_PG_DSN=postgresql://… python sqlalchemy_join.py

Needs a database with schema rag ("rag-pg db upgrade"), and for the asynchronous half
pip install "sqlalchemy[asyncio]". It writes a collection "example-catalogue"
and a table example_product.
"""

import asyncio
import os
from typing import Any

import psycopg
from sqlalchemy import Engine, Select, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from rag_pg import Rag
from rag_pg.sqlalchemy import search

DSN = os.environ["RAG_PG_DSN"]

# Vectors of three dimensions stand for those of an embedding model.
PAGES = {
    "tent": ("A light tent for two that keeps out the rain.", [0.9, 0.1, 0.0], 129.0),
    "tarp": ("A tarp gives shelter from rain and sun.", [0.8, 0.3, 0.0], 39.0),
    "stove": ("A gas stove that boils water in three minutes.", [0.0, 0.1, 0.9], 45.0),
}


class Base(DeclarativeBase):
    pass


class Product(Base):
    __tablename__ = "example_product"

    page: Mapped[str] = mapped_column(primary_key=True)
    price: Mapped[float]


def prepare(engine: Engine) -> None:
    """Fill the collection, and beside it the application's table."""
    with Rag(DSN) as rag:
        catalogue = rag.collection("example-catalogue", model="example", dimensions=3)
        catalogue.add_chunks(
            {"uri": uri, "content": text, "embedding": vector}
            for uri, (text, vector, _) in PAGES.items()
        )
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add_all(Product(page=uri, price=price) for uri, (_, _, price) in PAGES.items())
        session.commit()


def affordable(text: str, vector: list[float], price: float) -> Select[Any]:
    """The products whose pages match best, and that cost no more than `price`."""
    hits = search("example-catalogue", query_text=text, query_embedding=vector, limit=50)
    return (
        select(Product, hits.c.score)
        .join(hits, hits.c.uri == Product.page)
        .where(Product.price <= price)
        .order_by(hits.c.score.desc(), hits.c.chunk_id)
    )


def main() -> None:
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(DSN))
    prepare(engine)
    with Session(engine) as session:
        for product, score in session.execute(affordable("rain shelter", [1.0, 0.2, 0.0], 100)):
            print(f"{score:.4f} {product.page} {product.price:.2f}")
    engine.dispose()


async def main_async() -> None:
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine  # needs greenlet

    engine = create_async_engine(
        "postgresql+psycopg://", async_creator=lambda: psycopg.AsyncConnection.connect(DSN)
    )
    async with AsyncSession(engine) as session:
        found = await session.execute(affordable("rain shelter", [1.0, 0.2, 0.0], 100))
        print("asynchronously:", [product.page for product, _ in found])
    await engine.dispose()


if __name__ == "__main__":
    main()
    asyncio.run(main_async())
