"""Over random histories, what is kept equals what is found without the cache at the same moment."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from fakes import Call, HashEmbedder, ScriptedLLM
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from psycopg.conninfo import make_conninfo
from rota import tries

from rag_pg import Cache, Rag, Settings

WORDS = ("red", "blue", "fish", "bird", "sea")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
uris = st.sampled_from(["a", "b", "c"])
tenants = st.sampled_from(["x", "y"])
EXECUTE = "EXECUTE ON ALL ROUTINES IN SCHEMA rag"


class Quoting(ScriptedLLM):
    """Cites the source that its prompt has first; says which model it is."""

    def __init__(self, number: int) -> None:
        self.fingerprint = f"quoting/{number}"
        super().__init__(self._reply, name="quoting")

    def _reply(self, call: Call) -> str:
        return f"{self.fingerprint}: it says {hash_of(call)} [1]."


def hash_of(call: Call) -> int:
    """Of the words of the sources, whose marks and keys are other ones in every prompt."""
    return sum(call.prompt.count(word) * 7**n for n, word in enumerate(WORDS))


class Histories(RuleBasedStateMachine):
    """A reader's client with the cache and one without, while others change all they depend on."""

    make: Callable[[], str]

    @initialize()
    def begin(self) -> None:
        self.dsn = self.make()
        self.role = f"history_{os.getpid()}"
        self.owner = psycopg.connect(self.dsn, autocommit=True)
        self.other = psycopg.connect(self.dsn)  # its changes are seen once it commits
        self.owner.execute(
            f"""DO $$ BEGIN CREATE ROLE {self.role} LOGIN;
                EXCEPTION WHEN duplicate_object THEN NULL; END $$;
                GRANT USAGE ON SCHEMA rag TO {self.role};
                GRANT {EXECUTE} TO {self.role};
                GRANT SELECT ON ALL TABLES IN SCHEMA rag TO {self.role};
                GRANT INSERT, UPDATE, DELETE ON rag.cache_entries, rag.cache_uses
                    TO {self.role}""".encode()
        )
        self.embedders = {name: HashEmbedder(name) for name in ("hash:8", "hash:16")}
        self.llm = Quoting(0)
        self.owner.execute("SELECT rag.create_collection('c', 'hash:8', 8)")
        self.rag = Rag(
            make_conninfo(self.dsn, user=self.role),
            settings=Settings(cache="off"),
            embedders={"hash": lambda name: self.embedders[name]},
        )
        self.rag.open()
        self.docs = self.rag.collection("c")
        self.hits = 0

    def teardown(self) -> None:
        if hasattr(self, "rag"):
            self.rag.close()
            self.other.close()
            self.owner.execute(f"DROP OWNED BY {self.role} CASCADE".encode())
            self.owner.close()

    def put(self, connection: Any, uri: str, text: str, tenant: str) -> None:
        vectors = [e.embed_query(text).tolist() for e in self.embedders.values()]
        connection.execute(
            "SELECT rag.put_chunks('c', %s, pg_catalog.jsonb_build_array("
            " pg_catalog.jsonb_build_object('content', %s::text)), metadata => "
            " pg_catalog.jsonb_build_object('tenant', %s::text))",
            [uri, text, tenant],
        )
        for name, vector in zip(self.embedders, vectors, strict=True):
            connection.execute(
                """SELECT rag._store_vectors(s, ARRAY[c.chunk_id], ARRAY[%s::public.halfvec]),
                       rag._note_change(s.collection_id)
                   FROM rag.spaces AS s, rag.chunks AS c
                   JOIN rag.documents AS d USING (collection_id, document_id)
                   WHERE s.model = %s AND s.dropped_at IS NULL AND d.uri = %s""",
                [str(vector), name, uri],
            )

    @rule(uri=uris, text=texts, tenant=tenants)
    def change(self, uri: str, text: str, tenant: str) -> None:
        if self.other.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self.put(self.owner, uri, text, tenant)

    @rule(uri=uris)
    def delete(self, uri: str) -> None:
        if self.other.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self.owner.execute("SELECT rag.delete_document('c', %s)", [uri])

    @rule(uri=uris, text=texts, tenant=tenants)
    def change_and_leave_open(self, uri: str, text: str, tenant: str) -> None:
        self.put(self.other, uri, text, tenant)

    @rule(commits=st.booleans())
    def end_the_other(self, commits: bool) -> None:
        self.other.commit() if commits else self.other.rollback()

    @rule(b=st.sampled_from([0.0, 0.75]), field=st.booleans())
    def alter_settings(self, b: float, field: bool) -> None:
        if self.other.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self.owner.execute("UPDATE rag.collections SET b = %s", [b])
            self.owner.execute(
                "SELECT rag.index_field('c', 'tenant', 'text')"
                if field
                else "SELECT rag.unindex_field('c', 'tenant')"
            )

    @rule()
    def change_space(self) -> None:
        if self.other.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            return
        spaces = self.owner.execute(
            "SELECT count(*) FROM rag.spaces WHERE dropped_at IS NULL"
        ).fetchone()
        if spaces == (1,):
            self.owner.execute(
                "SELECT rag.activate_space(rag.create_space('c', 'hash:16', 16), force => true)"
            )
        else:
            self.owner.execute("SELECT rag.rollback_space('c', force => true)")

    @rule(number=st.integers(0, 1))
    def change_model(self, number: int) -> None:
        self.llm = Quoting(number)

    @rule(right=st.sampled_from(["SELECT ON rag.chunks", "SELECT ON rag.documents", EXECUTE]))
    def revoke(self, right: str) -> None:
        self.owner.execute(f"REVOKE {right} FROM {self.role}".encode())

    @rule()
    def grant(self) -> None:
        self.owner.execute(
            f"GRANT SELECT ON rag.chunks, rag.documents TO {self.role};"
            f"GRANT {EXECUTE} TO {self.role}".encode()
        )

    @rule(table=st.sampled_from(["chunks", "documents"]), tenant=tenants)
    def add_policy(self, table: str, tenant: str) -> None:
        if self.other.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self.owner.execute(
                f"""ALTER TABLE rag.{table} ENABLE ROW LEVEL SECURITY;
                    DROP POLICY IF EXISTS p ON rag.{table};
                    CREATE POLICY p ON rag.{table} TO {self.role}
                    USING (metadata ->> 'tenant' = '{tenant}')""".encode()
            )

    @rule(table=st.sampled_from(["chunks", "documents"]))
    def remove_policies(self, table: str) -> None:
        if self.other.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self.owner.execute(f"ALTER TABLE rag.{table} DISABLE ROW LEVEL SECURITY".encode())

    @rule()
    def maintain(self) -> None:
        if self.other.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self.owner.execute("SELECT rag._fold_changes(1)")
            self.owner.execute("CALL rag.maintain()")

    @precondition(lambda self: hasattr(self, "rag"))
    @invariant()
    def what_is_kept_is_what_is_found(self) -> None:
        self.embedders["hash:8"].fingerprint = "hash:8/1"
        cache = Cache(completions=True, searches=True, answers=True)
        for _ in range(2):  # the second meets what the first has kept
            for kind, text in (("search", "red fish"), ("search", "sea"), ("ask", "red fish?")):
                kept, again = self.outcome(kind, text, cache)
                found, _ = self.outcome(kind, text, False)
                assert kept == found
                self.hits += again

    def outcome(self, kind: str, text: str, cache: Cache | bool) -> tuple[object, bool]:
        """What a call gave, or its error; and whether it was kept."""
        try:
            if kind == "search":
                hits = self.docs.search(text, cache=cache)
                return list(hits), hits.cached
            answer = self.docs.ask(text, llm=self.llm, cache=cache)
        except Exception as exc:
            return (type(exc).__name__, str(exc)), False
        return (answer.text, answer.found, list(answer.citations), answer.strategy), answer.cached


@pytest.mark.minutes
@pytest.mark.longer
def test_a_history_never_meets_what_was_kept_before_a_change(
    new_database: Callable[..., str], template: str
) -> None:
    met: list[int] = []

    class Here(Histories):
        def make(self) -> str:
            return new_database(template)

        def teardown(self) -> None:
            met.append(getattr(self, "hits", 0))
            super().teardown()

    run_state_machine_as_test(
        Here, settings=settings(max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None)
    )
    assert sum(met) > len(met)  # or nothing was shown


EXAMPLES = int(os.environ.get("RAG_PG_TEST_HISTORIES", tries(6, 3)))
STEPS = 15
