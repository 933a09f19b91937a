"""Applications that put, edit and delete documents by SQL,
and do again what a broken connection left open."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence

import psycopg
from chaos.corpus import POISONS, Book, Version
from psycopg.errors import ReadOnlySqlTransaction


class Writer:
    """Owns some documents; `last` is the last version of each that the database acknowledged, None:
    deleted.

    First each document is put, then versions follow, by chance, until told to stop.
    """

    def __init__(
        self, dsn: str, collection: str, books: Sequence[Book], poisoned: set[str], seed: int
    ) -> None:
        self.last: dict[str, Version | None] = {}
        self.done: Counter[str] = Counter()
        self.retries = 0
        self._dsn, self._collection = dsn, collection
        self._books, self._poisoned = list(books), poisoned
        self._chance = random.Random(seed)

    def run(self, stop: threading.Event, seconds: float) -> None:
        """Put every document within a third of `seconds`, then edit and delete until `stop`."""
        for book in self._books:
            self._write(book, "put")
            stop.wait(seconds / 3 / len(self._books) * self._chance.uniform(0.5, 1.5))
        while not stop.wait(seconds / len(self._books) * self._chance.uniform(0.5, 1.5)):
            book = self._chance.choice(self._books)
            deleted = self.last[book.uri] is None
            self._write(book, "delete" if not deleted and self._chance.random() < 0.15 else "edit")

    def _write(self, book: Book, action: str) -> None:
        if action == "delete":
            self._do("SELECT rag.delete_document(%s, %s)", [self._collection, book.uri])
            self.last[book.uri] = None
        else:
            version = book.edit(self._poison(book, action))
            self._do(
                "SELECT rag.put_document(%s, %s, %s)",
                [self._collection, version.uri, version.content],
            )
            self.last[book.uri] = version
        self.done[action] += 1

    def _poison(self, book: Book, action: str) -> str:
        """A poisoned document is so from its first version on;
        half of its later ones are mended."""
        if book.uri not in self._poisoned or (action == "edit" and self._chance.random() < 0.5):
            return ""
        return self._chance.choice(POISONS)

    def _do(self, statement: str, arguments: list[str]) -> None:
        while True:
            try:
                with psycopg.connect(self._dsn, autocommit=True, connect_timeout=5) as connection:
                    connection.execute(statement, arguments)
                return
            except (
                psycopg.OperationalError,
                ReadOnlySqlTransaction,
            ):  # whether it was committed is not known: once more
                self.retries += 1
                time.sleep(0.2)
