"""Rules that give documents and chunks metadata: what they find, who goes first, what is left."""

from __future__ import annotations

import json
import re
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rota import tries

from rag_pg import InvalidInput, Rag
from rag_pg.db.database import Database
from rag_pg.types import Job
from rag_pg.worker import handlers

Connection = psycopg.Connection[Any]

GUIDE = (
    "# Safety\n\nMANDATORY: wear a helmet in the hall.\n\n"
    "# Phase 2\n\nIt was checked on the day. #tools #hall #tools\n\n"
    "Category: Safety at work\n"
)
CRITICAL: dict[str, Any] = {"field": "is_critical", "pattern": "MANDATORY|CRITICAL", "value": True}
RULES: list[dict[str, Any]] = [
    {**CRITICAL, "scope": "chunk"},
    {"field": "phase", "pattern": r"Phase (\d+)", "in": "heading", "type": "number"},
    {"field": "category", "pattern": "^Category: (.+)$"},
    {"field": "tags", "pattern": r"#(\w+)", "all": True},
]
FOUND = {"phase": 2, "category": "Safety at work", "tags": ["tools", "hall"]}


def guide(uri: str = "guide", **metadata: Any) -> dict[str, Any]:
    return {
        "uri": uri,
        "content": GUIDE,
        "media_type": "text/markdown",
        "metadata": metadata,
    }


def metadata(rag: Rag, uri: str = "guide", name: str = "docs") -> dict[str, Any]:
    found = rag.collection(name).get(uri)
    assert found is not None
    return dict(found.metadata)


def critical_chunks(rag: Rag) -> list[str]:
    hits = rag.collection("docs").search("wear helmet checked", filter={"is_critical": True})
    return [hit.content for hit in hits]


def small(rag: Rag) -> Any:
    return rag.collection("docs", model="hash:32", chunking={"max_tokens": 24, "overlap": 0})


def test_rules_give_documents_and_chunks_what_they_find(rag: Rag) -> None:
    docs = small(rag)
    docs.enrichment.set_rules(RULES)
    docs.add(guide())
    assert metadata(rag) == FOUND
    (content,) = critical_chunks(rag)
    assert "MANDATORY" in content
    assert all(hit.metadata["tags"] == FOUND["tags"] for hit in docs.search("checked"))
    assert docs.count(filter={"category": "Safety at work"}) == 1


def test_rules_set_later_reach_documents_without_embedding_any(rag: Rag, embedder: Any) -> None:
    docs = small(rag)
    docs.add(guide())
    embedder.seen.clear()
    assert docs.enrichment.set_rules(RULES) == 1
    assert docs.enrichment.set_rules(RULES) == 0
    assert metadata(rag) == FOUND
    assert len(critical_chunks(rag)) == 1
    assert embedder.seen == ["wear helmet checked"] or embedder.seen == []


def test_what_the_caller_gave_goes_first_and_comes_back(rag: Rag) -> None:
    docs = small(rag)
    docs.enrichment.set_rules(RULES)
    docs.add(guide(category="mine", is_critical=False))
    assert metadata(rag) == {**FOUND, "category": "mine", "is_critical": False}
    assert critical_chunks(rag) == []
    docs.add(guide())  # the same text without metadata: the rules' values show again
    assert metadata(rag) == FOUND
    assert len(critical_chunks(rag)) == 1


def test_rules_that_are_gone_leave_nothing(rag: Rag) -> None:
    docs = small(rag)
    docs.enrichment.set_rules(RULES)
    docs.add(guide(own=1))
    docs.enrichment.set_rules([{"field": "phase", "pattern": "helmet", "value": "hat"}])
    assert metadata(rag) == {"own": 1, "phase": "hat"}
    assert critical_chunks(rag) == []
    docs.enrichment.set_rules([])
    assert metadata(rag) == {"own": 1}
    assert {frozenset(hit.metadata) for hit in docs.search("helmet")} == {frozenset({"own"})}


def test_every_way_in_is_enriched(rag: Rag, connection: Connection) -> None:
    docs = small(rag)
    docs.enrichment.set_rules(RULES)
    connection.execute("SELECT rag.put_document('docs', 'sql', %s)", [GUIDE])
    chunk = {"content": "CRITICAL: no fire. #fire", "metadata": {"own": 1}}
    connection.execute("SELECT rag.put_chunks('docs', 'chunks', %s)", [json.dumps([chunk])])
    docs.add_chunks([{"uri": "bulk", "content": "MANDATORY #bulk"}])
    connection.execute("CREATE TABLE notes (id int PRIMARY KEY, body text)")
    connection.execute("INSERT INTO notes VALUES (1, 'CRITICAL #source')")
    connection.execute("SELECT rag.attach_source('notes', 'docs', '{body}')")
    worker = rag.worker()
    for _ in range(3):
        worker.drain()
    tags = {d.uri: d.metadata.get("tags") for d in docs.list()}
    assert tags == {
        "sql": ["tools", "hall"],
        "chunks": ["fire"],
        "bulk": ["bulk"],
        "public.notes/1": ["source"],
    }
    assert len(docs.search("fire CRITICAL MANDATORY", filter={"is_critical": True})) == 4
    connection.execute(
        "SELECT rag.put_chunks('docs', 'chunks', %s)",
        [json.dumps([{**chunk, "metadata": {"own": 1, "is_critical": "brought"}}])],
    )
    worker.drain()
    (hit,) = docs.search("fire", filter={"own": 1})
    assert hit.metadata["is_critical"] == "brought"


def test_a_chunk_that_stays_keeps_its_fields_while_its_document_is_stored(
    rag: Rag, connection: Connection
) -> None:
    docs = small(rag)
    docs.enrichment.set_rules(RULES)
    docs.add(guide())
    docs.add({**guide(), "content": GUIDE + "\n# More\n\nOne more section.\n"}, wait=False)
    rag.worker().drain()
    connection.execute("UPDATE rag.jobs SET run_at = now() + interval '1 day'")
    assert len(critical_chunks(rag)) == 1


def test_a_hostile_rule_fails_its_document_alone_and_runs_once_for_each_attempt(
    rag: Rag, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = small(rag)
    connection.execute("ALTER TABLE rag.jobs ALTER max_attempts SET DEFAULT 2")
    docs.add({"uri": "long", "content": "x" * 60_000}, guide())
    runs = []
    enrich_document = Database.enrich_document

    def counted(database: Database, job: Job, seconds: float) -> str:
        runs.append(job.document_id)
        return enrich_document(database, job, seconds)

    monkeypatch.setattr(Database, "enrich_document", counted)
    monkeypatch.setattr(handlers, "RULES_SECONDS", 1.0)
    docs.enrichment.set_rules([*RULES, {"field": "slow", "pattern": "x(?=x*y)"}])
    assert metadata(rag) == FOUND
    assert metadata(rag, "long") == {}
    (job,) = rag.database.list_jobs("docs", "dead", 10)
    assert (job["uri"], job["kind"]) == ("long", "enrich")
    assert "took more than 1 s" in job["last_error"]
    assert runs.count(job["document_id"]) == job["attempts"] == 2
    assert docs.search("helmet")


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("x", "rule 1 is a JSON string"),
        ({}, "names no metadata field"),
        ({"field": "a.b", "pattern": "x"}, "names no metadata field"),
        ({"field": "a", "pattern": "("}, r'field "a"\) has a pattern that cannot be read'),
        ({"field": "a", "pattern": r"\bx"}, r"\\b in its pattern.*\\y"),
        ({"field": "a", "pattern": r"(x)\1"}, "back reference"),
        ({"field": "a", "pattern": "(((x{1,200}){1,200}){1,200})"}, "cannot be read"),
        ({"field": "a", "pattern": "((x{0,50}){0,50}){0,50}"}, "is too complex"),
        ({"field": "a", "pattern": "(.{1,200}){1,200}"}, "cannot be read: invalid memory alloc"),
        ({"field": "a", "pattern": ""}, "1 to 1000 characters"),
        ({"field": "a", "pattern": "x", "in": "body"}, 'in "body"; take content, heading'),
        ({"field": "a", "pattern": "x", "scope": 5}, "scope 5; take document, chunk"),
        ({"field": "a", "pattern": "x", "type": "uuid"}, "take text, number, boolean, date"),
        ({"field": "a", "pattern": "x", "value": 1, "all": True}, "neither type nor all"),
        ({"field": "a", "pattern": "x", "in": "uri", "scope": "chunk"}, "take the scope document"),
        ({"field": "a", "pattern": "x", "flags": "i"}, "unknown key 'flags'"),
    ],
)
@pytest.mark.few(6)
def test_a_wrong_rule_is_named(rag: Rag, rule: Any, message: str) -> None:
    docs = small(rag)
    with pytest.raises(InvalidInput, match=message) as caught:
        docs.enrichment.set_rules([rule])
    assert "\n" not in str(caught.value)
    assert docs.enrichment.list() == []


def test_a_preview_stores_nothing(rag: Rag) -> None:
    docs = small(rag)
    docs.add(guide(category="mine"), {"uri": "b", "content": "#tools CRITICAL"})
    found = {p.field: p for p in docs.enrichment.preview_rules(RULES)}
    assert (found["tags"].documents, found["tags"].examples[0]) == (2, ["tools"])
    assert (found["is_critical"].documents, found["is_critical"].chunks) == (2, 2)
    assert (found["category"].overridden, found["category"].of_documents) == (1, 2)
    assert metadata(rag) == {"category": "mine"}
    assert docs.enrichment.list() == []


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("number", "n: 12.50", 12.5),
        ("number", "n: twelve", None),
        ("boolean", "n: Yes", True),
        ("boolean", "n: maybe", None),
        ("date", "n: 2024-02-29", "2024-02-29"),
        ("date", "n: 2023-02-29", None),
        ("text", "n:   ", None),
        ("text", "n: " + "y" * 3000, "y" * 1000),
    ],
)
def test_a_value_is_of_its_type_or_none(
    connection: Connection, type_: str, text: str, value: Any
) -> None:
    rule = json.dumps({"field": "n", "pattern": "n: (.*)$", "type": type_})
    found = connection.execute("SELECT rag._match_rule(%s, %s)", [rule, text]).fetchone()
    assert found == (value,)


@settings(max_examples=tries(60, 24))
@given(text=st.text("ab#\n 1", max_size=30), every=st.booleans())
def test_matches_are_those_of_another_engine(keyword_dsn: str, text: str, every: bool) -> None:
    rule: dict[str, Any] = {"field": "t", "pattern": r"^([ab]+)#|#([ab1]+)$", "all": every}
    found = [a or b for a, b in re.findall(rule["pattern"], text, re.MULTILINE)]
    expected: Any = list(dict.fromkeys(found)) or None
    with psycopg.connect(keyword_dsn) as connection:
        (value,) = connection.execute(  # type: ignore[misc]
            "SELECT rag._match_rule(%s, %s)", [json.dumps(rule), text]
        ).fetchone()
    assert value == (expected if every or expected is None else expected[0])
