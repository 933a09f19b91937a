"""What is kept, for whom, and when it is not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import Call, HashEmbedder, ScriptedLLM, WordReranker
from psycopg.conninfo import make_conninfo

from rag_pg import Cache, Completion, InvalidInput, ProviderUnavailable, Rag, Settings
from rag_pg.cache import parse_cache
from rag_pg.client.collection import Collection

Connection = psycopg.Connection[Any]
QUESTION = "Where does the red fish swim?"
PAGES = [
    {"uri": "fish", "content": "The red fish swims in the warm sea.", "year": 2020},
    {"uri": "bird", "content": "A blue bird flies over the tree.", "year": 2024},
]


class FingerprintedLLM(ScriptedLLM):
    """A scripted model that says what its answers depend on."""

    fingerprint = "scripted/1"


def begin(rag: Rag) -> None:
    collection = rag.collection("docs", model="hash:32")
    collection.add(*PAGES)


@pytest.fixture
def docs(rag: Rag) -> Collection:
    return rag.get_collection("docs")


def cite(call: Call) -> str:
    return "In the sea [1]."


@pytest.mark.parametrize(("query", "notes"), [("red fish", 0), ("red fihs", 1)])
def test_hits_are_found_again_with_their_notes(docs: Collection, query: str, notes: int) -> None:
    first = docs.search(query, cache=True)
    second = docs.search(query, cache=True)
    assert (first.cached, second.cached) == (False, True)
    assert second == first == docs.search(query, cache=False)
    assert len(first.notes) == notes
    assert second.method == first.method and second.notes == first.notes


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 1},
        {"filter": {"year": 2020}},
        {"vector_weight": 0},
        {"keyword_weight": 0},
        {"fusion": "rrf"},
        {"typo_tolerance": False},
        {"boosts": [{"filter": {"year": 2024}, "multiply": 3}]},
        {"per_document": 1},
        {"offset": 1},
    ],
)
@pytest.mark.few(4)
def test_other_options_are_another_search(docs: Collection, options: Any) -> None:
    docs.search("red fish", cache=True)
    hits = docs.search("red fish", cache=True, **options)
    assert not hits.cached
    assert hits == docs.search("red fish", cache=False, **options)


def test_what_depends_on_the_clock_or_an_object_is_not_kept(docs: Collection) -> None:
    recent = [{"recency": "$created_at", "half_life": "1 day"}]
    for options in ({"boosts": recent}, {"rerank": WordReranker()}):
        for _ in range(2):
            assert not docs.search("red fish", cache=True, **options).cached


def test_degraded_hits_are_not_kept(docs: Collection, embedder: HashEmbedder) -> None:
    def fail(texts: object) -> None:
        raise ProviderUnavailable("it is down")

    embedder.fail = fail
    assert docs.search("red fish", cache=True).skipped == {"vector"}
    embedder.fail = lambda texts: None
    hits = docs.search("red fish", cache=True)
    assert not hits.cached and not hits.skipped


def test_vectors_of_queries_are_kept_for_other_clients(
    docs: Collection, rag: Rag, embedder: HashEmbedder
) -> None:
    docs.search("red fish")
    asked: list[object] = []
    embedder.fail = asked.append
    other = rag.collection("docs")
    other.search("red fish")
    assert asked == []
    other.search("red fish", cache=False)
    other.search("blue bird", cache=False)
    assert asked == [["blue bird"]]


def test_another_fingerprint_meets_no_old_vector(dsn: str, docs: Collection) -> None:
    docs.search("red fish")
    changed = HashEmbedder("hash:32")
    changed.fingerprint = "hash:32/2"
    asked: list[object] = []
    changed.fail = asked.append
    with Rag(dsn, embedders={"hash": lambda name: changed}) as rag:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("UPDATE rag.spaces SET fingerprint = 'hash:32/2'")
        rag.collection("docs").search("red fish")
    assert asked == [["red fish"]]


def test_an_answer_is_given_again_and_costs_nothing(docs: Collection) -> None:
    llm = FingerprintedLLM(cite)
    first = docs.ask(QUESTION, llm=llm, cache=True)
    second = docs.ask(QUESTION, llm=llm, cache=True)
    assert len(llm.calls) == 1
    assert (first.cached, second.cached) == (False, True)
    assert (second.text, list(second.citations)) == (first.text, list(first.citations))
    assert second.usage.prompt_tokens == 0 and second.cost == 0
    assert [step.kind for step in second.steps] == ["cache"]
    assert second.steps[0].detail["saved_tokens"] == 12


def test_a_kept_answer_is_streamed(docs: Collection) -> None:
    llm = FingerprintedLLM(cite)
    asked = docs.ask(QUESTION, llm=llm, cache=True)
    events = list(docs.stream(QUESTION, llm=llm, cache=True))
    assert [event.kind for event in events] == ["step", "token", "citation", "answer"]
    assert "".join(event.text for event in events) == asked.text
    assert events[-1].answer is not None and events[-1].answer.cached


@pytest.mark.parametrize(
    "changed",
    [
        {"llm": "other"},
        {"verify": "once"},
        {"strategy": "single"},
        {"limit": 1},
        {"history": [{"role": "user", "content": "I like fish."}]},
        {"time_zone": "Asia/Tokyo"},
        {"now": datetime(2020, 1, 1, tzinfo=UTC)},
        {"max_steps": 2},
    ],
)
@pytest.mark.few(4)
def test_other_options_are_another_answer(docs: Collection, changed: Any) -> None:
    llm = FingerprintedLLM(cite)
    other = FingerprintedLLM(cite)
    other.fingerprint = "scripted/2"
    docs.ask(QUESTION, llm=llm, cache=True)
    options = {"llm": llm, **changed}
    if changed.get("llm") == "other":
        options["llm"] = other
    assert not docs.ask(QUESTION, cache=True, **options).cached


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (QUESTION, {"llm": ScriptedLLM(cite)}),
        (QUESTION, {"strategy": lambda question, context: context.answer}),
        ("What did the red fish do last week?", {"llm": FingerprintedLLM(cite)}),
        (QUESTION, {"llm": FingerprintedLLM(cite), "rewrite": ["filters"]}),
        (QUESTION, {"llm": FingerprintedLLM(Completion(text="In [1]", finish="length"))}),
        (QUESTION, {"llm": FingerprintedLLM("In the sea.")}),
        (QUESTION, {"llm": FingerprintedLLM(cite), "tools": [len]}),
    ],
    ids=["unknown model", "function", "relative date", "filters", "cut", "with a note", "tools"],
)
@pytest.mark.few(3)
def test_what_cannot_be_said_to_stay_true_is_not_kept(
    docs: Collection, question: str, options: Any
) -> None:
    def ask() -> bool:
        try:
            return docs.ask(question, cache=True, **options).cached
        except (AttributeError, InvalidInput):  # of the function, of the tool
            return False

    assert not ask()
    assert not ask()


def test_a_registered_name_is_not_kept_as_one_of_ours(docs: Collection) -> None:
    assert not docs.ask(QUESTION, cache=True).cached
    assert docs.ask(QUESTION, cache=True).cached


def test_a_question_in_another_form_is_given_the_same_answer(docs: Collection) -> None:
    llm = FingerprintedLLM(cite)
    cache = Cache(answers=True, semantic=0.8)
    first = docs.ask(QUESTION, llm=llm, cache=cache)
    assert not docs.ask("where does a red fish swim", llm=llm, cache=True).cached
    again = docs.ask("where does red fish swim", llm=llm, cache=cache)
    assert again.cached and again.text == first.text
    assert not docs.ask("Where does the blue fish swim?", llm=llm, cache=cache).cached
    assert not docs.ask("where does red fish swim", llm=llm, cache=cache, limit=1).cached
    docs.add({"uri": "more", "content": "The red fish swims in a lake."})
    assert not docs.ask("where does red fish swim", llm=llm, cache=cache).cached


def test_a_question_that_is_less_similar_is_asked(docs: Collection) -> None:
    llm = FingerprintedLLM(cite)
    cache = Cache(answers=True, semantic=1.0)
    docs.ask("Where does the red fish swim, please?", llm=llm, cache=cache)
    assert not docs.ask(QUESTION, llm=llm, cache=cache).cached


def test_a_helper_is_asked_once_for_equal_prompts(docs: Collection) -> None:
    helper = FingerprintedLLM('{"queries": ["where do red fish live?"]}')
    for _ in range(2):
        hits = docs.search(QUESTION, rewrite=["multi_query"], helper_llm=helper, cache=True)
        assert hits.steps
    assert len(helper.calls) == 1
    docs.search("Where do birds fly?", rewrite=["multi_query"], helper_llm=helper, cache=True)
    assert len(helper.calls) == 2


def test_uses_are_counted(docs: Collection, rag: Rag) -> None:
    llm = FingerprintedLLM(cite)
    for _ in range(3):
        docs.ask(QUESTION, llm=llm, cache=True)
        docs.search("red fish", cache=True)
    found = {(s.collection, s.kind): s for s in rag.admin.cache_stats()}
    answers = found["docs", "answer"]
    assert (answers.entries, answers.hits, answers.misses) == (1, 2, 1)
    assert answers.saved_tokens == 24 and answers.bytes > 0
    assert found["docs", "search"].hits == 2
    assert found[None, "embedding"].misses == 2
    assert rag.admin.clear_cache("docs") == 3  # the search within the answer too
    assert not docs.search("red fish", cache=True).cached


def test_entries_end_and_give_way(docs: Collection, rag: Rag, connection: Connection) -> None:
    docs.search("red fish", cache=Cache(searches=True, ttl=timedelta(microseconds=1)))
    assert not docs.search("red fish", cache=True).cached
    docs.search("blue bird", cache=True)
    connection.execute(
        "UPDATE rag.cache_entries SET used_at = now() - interval '1 hour' WHERE kind = 'embedding'"
    )
    (bytes_,) = connection.execute(
        "SELECT sum(octet_length(value) + 200) FROM rag.cache_entries WHERE kind = 'search'"
    ).fetchone() or (0,)
    connection.execute("SELECT rag._trim_cache(%s)", [bytes_])
    kinds = connection.execute("SELECT DISTINCT kind FROM rag.cache_entries").fetchall()
    assert kinds == [("search",)]
    assert docs.search("blue bird", cache=True).cached


def test_maintenance_removes_what_has_expired(
    docs: Collection, rag: Rag, connection: Connection
) -> None:
    docs.search("red fish", cache=True)
    connection.execute("UPDATE rag.cache_entries SET expires_at = now() - interval '1 second'")
    connection.execute("CALL rag.maintain()")
    assert connection.execute("SELECT count(*) FROM rag.cache_entries").fetchone() == (0,)


def test_what_was_changed_meanwhile_is_not_kept(connection: Connection, docs: Collection) -> None:
    def version() -> int:
        row = connection.execute("SELECT version FROM rag._read_cache('search', '{}', 'docs')")
        return int((row.fetchone() or [0])[0])

    write = "SELECT rag._write_cache('search', '{a}', '{b}', '1 day', 1000, 'docs', %s)"
    before = version()
    connection.execute("SELECT rag.delete_document('docs', 'bird')")
    assert connection.execute(write, [before]).fetchone() == (False,)
    assert connection.execute(write, [version()]).fetchone() == (True,)


def test_an_entry_that_cannot_be_read_is_none(docs: Collection, connection: Connection) -> None:
    docs.search("red fish", cache=True)
    connection.execute("UPDATE rag.cache_entries SET value = 'nonsense'")
    hits = docs.search("red fish", cache=True)
    assert not hits.cached and hits


# --- rights


@pytest.fixture
def reader(dsn: str, docs: Collection, connection: Connection) -> Iterator[str]:
    """A role with the grants of a reader, and its connection string."""
    name = f"cache_reader_{os.getpid()}"
    connection.execute(f"CREATE ROLE {name} LOGIN".encode())
    connection.execute(
        f"""GRANT USAGE ON SCHEMA rag TO {name};
            GRANT EXECUTE ON ALL ROUTINES IN SCHEMA rag TO {name};
            GRANT SELECT ON ALL TABLES IN SCHEMA rag TO {name};
            GRANT INSERT, UPDATE, DELETE ON rag.cache_entries, rag.cache_uses TO {name}""".encode()
    )
    yield name
    connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}".encode())


@pytest.fixture
def open_as(dsn: str, embedder: HashEmbedder, tmp_path: Path) -> Iterator[Callable[[str], Rag]]:
    opened: list[Rag] = []

    def open_(role: str) -> Rag:
        settings = Settings(home=tmp_path / "home", cache="all")
        rag = Rag(
            make_conninfo(dsn, user=role), settings=settings, embedders={"hash": lambda n: embedder}
        )
        rag.open()
        opened.append(rag)
        return rag

    yield open_
    for rag in opened:
        rag.close()


def test_a_role_reads_its_own_entries_alone(
    docs: Collection, reader: str, open_as: Callable[[str], Rag], dsn: str, connection: Connection
) -> None:
    docs.search("red fish", cache=True)
    theirs = open_as(reader).collection("docs")
    assert not theirs.search("red fish").cached
    assert theirs.search("red fish").cached
    with psycopg.connect(make_conninfo(dsn, user=reader), autocommit=True) as session:
        seen = session.execute("SELECT DISTINCT role_id::regrole::text FROM rag.cache_entries")
        assert seen.fetchall() == [(reader,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("UPDATE rag.cache_entries SET role_id = 10")
        connection.execute(f"REVOKE SELECT ON rag.chunks FROM {reader}".encode())
        assert session.execute("SELECT count(*) FROM rag.cache_entries").fetchone() == (0,)


def test_a_revoked_right_meets_no_old_hits(
    reader: str, open_as: Callable[[str], Rag], connection: Connection
) -> None:
    theirs = open_as(reader).collection("docs")
    theirs.search("red fish")
    assert theirs.search("red fish").cached
    connection.execute(f"REVOKE SELECT ON rag.chunks FROM {reader}".encode())
    with pytest.raises(Exception, match="permission denied"):
        theirs.search("red fish")


def test_a_policy_is_said_to_end_the_cache(
    reader: str, open_as: Callable[[str], Rag], connection: Connection
) -> None:
    theirs = open_as(reader).collection("docs")
    theirs.search("red fish")
    connection.execute(
        """ALTER TABLE rag.chunks ENABLE ROW LEVEL SECURITY;
           CREATE POLICY birds ON rag.chunks USING (metadata ->> 'year' = '2024')"""
    )
    hits = theirs.search("red fish")
    assert [hit.uri for hit in hits] == ["bird"] and not hits.cached
    assert hits.notes[-1].startswith("nothing is cached: a row-level security policy")
    answer = theirs.ask(QUESTION)
    assert answer.notes[-1].startswith("nothing is cached: a row-level security policy")
    with psycopg.connect(open_as(reader).dsn or "", autocommit=True) as session:
        assert session.execute("SELECT count(*) FROM rag.cache_entries").fetchone() == (0,)


def test_without_a_right_to_the_cache_searches_do_without(
    reader: str, open_as: Callable[[str], Rag], connection: Connection
) -> None:
    connection.execute(f"REVOKE ALL ON rag.cache_entries, rag.cache_uses FROM {reader}".encode())
    theirs = open_as(reader).collection("docs")
    hits = theirs.search("red fish")
    assert hits and hits.notes == (
        f"nothing is cached: role {reader} may not read rag.cache_entries",
    )


def test_who_may_not_write_reads_and_searches(
    reader: str, open_as: Callable[[str], Rag], connection: Connection
) -> None:
    theirs = open_as(reader).collection("docs")
    theirs.search("red fish")
    connection.execute(f"ALTER ROLE {reader} SET default_transaction_read_only = on".encode())
    again = open_as(reader).collection("docs")
    assert again.search("red fish").cached
    assert again.search("blue bird").notes == ()


# --- settings


@pytest.mark.parametrize("text", ["", "on", "vectors", "searches,"])
def test_an_unknown_setting_names_those_that_there_are(text: str) -> None:
    with pytest.raises(InvalidInput, match="off, all, or some of embeddings, completions"):
        parse_cache(text)


def test_settings_choose_what_is_kept() -> None:
    assert parse_cache("off") == Cache(embeddings=False)
    assert parse_cache("all").answers
    assert parse_cache("searches, answers") == Cache(embeddings=False, searches=True, answers=True)
    with pytest.raises(InvalidInput, match="semantic"):
        Cache(semantic=2)
    with pytest.raises(InvalidInput, match="ttl"):
        Cache(ttl=timedelta(0))
    with pytest.raises(InvalidInput, match="cache is 'yes'"):
        Rag(cache="yes")  # type: ignore[arg-type]
