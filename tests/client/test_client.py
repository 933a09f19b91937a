"""The Python client on a real database with an embedder that needs no model."""

import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import psycopg
import pytest
from fakes import HashEmbedder, ScriptedLLM
from psycopg.types.json import Jsonb

from rag_pg import (
    AsyncRag,
    CollectionMismatch,
    DatabaseUnavailable,
    InvalidInput,
    InvalidQuery,
    ModelUnavailable,
    NotFound,
    ProviderError,
    Rag,
    RagError,
    RateLimited,
    Settings,
    load_bytes,
)
from rag_pg.errors import UnusableReply

FISH = {"uri": "fish", "content": "A red fish swims in the sea."}
BIRD = {"uri": "bird", "content": "A blue bird flies over the tree."}


def test_added_documents_are_searchable_when_add_returns(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    report = docs.add(FISH, BIRD)
    assert (report.added, report.unchanged, report.failures) == (2, 0, ())
    (first, _) = docs.search("red fish swims in")
    assert (first.uri, first.vector_rank, first.keyword_rank) == ("fish", 1, 1)
    stats = docs.stats()
    assert (stats.documents, stats.chunks, stats.embedded, stats.pending) == (2, 2, 2, 0)


def test_a_collection_is_told_what_it_holds(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.alter(description="Animals.")
    assert docs.info.description == rag.info("docs").description == "Animals."


def test_a_client_with_settings_sends_them_with_each_statement(rag: Rag) -> None:
    rag.collection("docs", model="hash:32").add(FISH, BIRD)
    reader = rag.with_settings({"transaction_read_only": "on"})
    docs = reader.get_collection("docs")
    assert docs.search("red fish")[0].uri == "fish" and docs.count() == 2
    assert docs.ask("What swims in the sea?", cache=True).found
    assert reader.admin.cache_stats() == []
    with pytest.raises(DatabaseUnavailable, match="takes no writes"):
        docs.delete("fish")
    assert rag.get_collection("docs").delete("fish")


@pytest.mark.parametrize("wrong", [{"dsn": Settings()}, {"dsn": 5}, {"settings": "host=x"}])
def test_what_is_no_dsn_is_refused_in_one_line(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"use Rag\('host="):
        Rag(**wrong)


def test_adding_again_embeds_nothing(rag: Rag, embedder: HashEmbedder) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH, BIRD)
    embedder.seen.clear()
    report = docs.add(FISH, BIRD)
    assert (report.added, report.unchanged) == (0, 2)
    assert embedder.seen == []


def test_one_changed_section_embeds_one_chunk(rag: Rag, embedder: HashEmbedder) -> None:
    docs = rag.collection("docs", model="hash:32", chunking={"max_tokens": 32})
    sections = [
        f"# Part {i}\n\n" + f"Sentence about topic{i} and nothing else at all. " * 3
        for i in range(9)
    ]
    page = {"uri": "p", "media_type": "text/markdown", "content": "\n\n".join(sections)}
    docs.add(page)
    before = {h.chunk_id for h in docs.search("sentence", limit=100)}
    embedder.seen.clear()
    sections[4] = sections[4].replace("nothing", "something")
    docs.add(page | {"content": "\n\n".join(sections)})
    after = {h.chunk_id for h in docs.search("sentence", limit=100)}
    changed = [text for text in embedder.seen if "topic4" in text]
    assert embedder.seen == changed
    assert len(before - after) == len(changed)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that are sent."""
    sent: list[str] = []
    execute = psycopg.Cursor.execute

    def keep(cursor: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        sent.append(str(query))
        return execute(cursor, query, *arguments, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", keep)
    return sent


def test_a_search_is_one_round_trip(rag: Rag, sent: list[str]) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH)
    docs.search("warm up")
    sent.clear()
    assert docs.search("fish", filter={}, limit=3, cache=False)
    assert len(sent) == 1


def test_the_first_search_searches_once(rag: Rag, sent: list[str]) -> None:
    rag.collection("docs", model="hash:32").add(FISH)
    docs = rag.get_collection("docs")
    sent.clear()
    assert docs.search("fish")
    assert len([statement for statement in sent if "rag.search(" in statement]) == 1


def test_a_mistake_in_the_arguments_is_told_before_a_model_that_is_missing(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH)

    def missing(name: str) -> HashEmbedder:
        raise ModelUnavailable("there is no such model")

    with Rag(rag.dsn, embedders={"hash": missing}) as other:
        with pytest.raises(InvalidQuery, match="regex"):
            other.get_collection("docs").search("fish", filter={"a": {"$regex": 1}})
        assert "no such model" in other.get_collection("docs").search("fish").notes[0]


def test_a_query_is_embedded_once(rag: Rag, embedder: HashEmbedder) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH)
    asked: list[Any] = []
    embedder.fail = asked.append
    for _ in range(3):
        docs.search("same question")
    assert asked == [["same question"]]


def test_search_goes_on_by_keyword_when_the_embedder_is_down(
    rag: Rag, embedder: HashEmbedder
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH)

    def down(texts: Any) -> None:
        raise ProviderError("the provider is down")

    embedder.fail = down
    hits = docs.search("fish")
    assert [h.uri for h in hits] == ["fish"]
    assert hits[0].vector_rank is None
    assert hits.notes == ("vector search was skipped: the provider is down",)
    with pytest.raises(ProviderError):
        docs.search("fish", keyword_weight=0)


def test_a_search_does_not_end_with_what_a_model_of_ones_own_raises(
    rag: Rag, embedder: HashEmbedder
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH)

    def wrong(texts: Any) -> None:
        raise KeyError("vectors")

    helper = ScriptedLLM(TypeError("no such thing"))
    hits = docs.search("red fish", rewrite=["multi_query"], helper_llm=helper)
    assert [h.uri for h in hits] == ["fish"]
    assert hits.notes[0].startswith(
        "multi_query was skipped: scripted failed: TypeError: no such thing"
    )
    embedder.fail = wrong
    hits = docs.search("fish swim")
    assert [h.uri for h in hits] == ["fish"]
    assert hits.notes == ("vector search was skipped: hash:32 failed: KeyError: 'vectors'",)


@pytest.mark.parametrize(
    "given",
    [
        np.full(32, np.nan),
        np.full(32, np.inf),
        np.full(32, 1e6),
        np.ones(31),
        np.ones((1, 32)),
        np.zeros(0),
        None,
        7,
        "a text",
        ["a"] * 32,
    ],
    ids=str,
)
@pytest.mark.few(4)
def test_what_is_no_vector_of_a_query_is_neither_searched_by_nor_remembered(
    rag: Rag, given: Any
) -> None:
    class Odd(HashEmbedder):
        odd = True

        def embed_query(self, text: str) -> Any:
            return given if self.odd else super().embed_query(text)

    embedder = Odd("hash:32")
    docs = rag.collection("docs", embedder=embedder)
    docs.add(FISH)
    hits = docs.search("fish")
    assert [h.uri for h in hits] == ["fish"]
    assert hits[0].vector_rank is None
    assert len(hits.notes) == 1
    assert hits.notes[0].startswith("vector search was skipped: hash:32 returned ")
    with pytest.raises(UnusableReply, match="^hash:32 returned "):
        docs.search("fish", keyword_weight=0)
    embedder.odd = False
    again = docs.search("fish")
    assert (again[0].vector_rank, again.notes) == (1, ())


def test_a_poison_document_fails_alone(rag: Rag, embedder: HashEmbedder) -> None:
    docs = rag.collection("docs", model="hash:32")

    def choke(texts: Any) -> None:
        if any("POISON" in text for text in texts):
            raise InvalidInput("cannot embed this")

    embedder.fail = choke
    web = "https://example.com/faq"
    good = [{"uri": str(i), "content": f"good text {i}"} for i in range(20)]
    report = docs.add(*good[:10], {"uri": web, "content": "POISON"}, *good[10:])
    assert report.added == 20
    assert [(f.uri, f.error) for f in report.failures] == [
        (web, "cannot embed this; to try again: rag-pg jobs --retry")
    ]
    assert str(report.failures[0]) == (
        "https://example.com/faq: cannot embed this; to try again: rag-pg jobs --retry"
    )
    assert docs.stats().failed == 1
    embedder.fail = lambda texts: None
    rag.database.value(int, "retry_jobs", collection="docs")
    rag.worker(["docs"]).drain()
    assert docs.stats().failed == 0
    assert docs.search("POISON")[0].uri == web


def test_a_rate_limit_is_waited_for(rag: Rag, embedder: HashEmbedder) -> None:
    docs = rag.collection("docs", model="hash:32")
    refusals = [RateLimited("slow down", 0.1), RateLimited("slow down", 0.1)]

    def limited(texts: Any) -> None:
        if refusals:
            raise refusals.pop()

    embedder.fail = limited
    assert docs.add(FISH).added == 1


def test_wrong_dimensions_of_an_embedder_are_refused(dsn: str, rag: Rag, tmp_path: Path) -> None:
    rag.collection("docs", model="hash:32")
    other = {"hash": lambda name: HashEmbedder("hash:16")}
    message = "'hash:32' gives 16 dimensions.*stores 32"
    with (
        Rag(dsn, settings=Settings(home=tmp_path), embedders=other) as changed,
        pytest.raises(CollectionMismatch, match=message),
    ):
        changed.collection("docs")


def test_opening_with_another_model_names_both(rag: Rag) -> None:
    rag.collection("docs", model="hash:32")
    with pytest.raises(CollectionMismatch, match="model is 'hash:32', not 'minilm'"):
        rag.collection("docs", model="minilm")


def test_an_embedder_with_other_weights_is_refused(rag: Rag, embedder: HashEmbedder) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH)
    embedder.fingerprint = "other weights"
    with pytest.raises(CollectionMismatch, match="holds vectors of hash:32/1"):
        rag.collection("docs")


def test_an_unknown_model_says_what_is_known(rag: Rag) -> None:
    with pytest.raises((InvalidInput, ModelUnavailable), match="minilm"):
        rag.collection("docs", model="word2vec")


@pytest.mark.parametrize("bad", [{"uri": "x"}, {"content": "x"}, {"uri": "", "content": "x"}])
def test_a_document_without_uri_or_content_is_reported_and_the_rest_goes_in(
    rag: Rag, bad: dict[str, str]
) -> None:
    report = rag.collection("docs", model="hash:32").add(bad, FISH)
    assert report.added == 1
    (failure,) = report.failures
    assert "uri and content" in failure.error


def test_nul_bytes_are_removed_and_reported(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    report = docs.add({"uri": "n", "content": "red\0fish"}, FISH)
    assert report.added == 2
    assert report.removed_characters == {"n": 1}


def test_an_empty_document_fails_and_the_rest_goes_in(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    report = docs.add(FISH, {"uri": "empty", "content": "  "}, BIRD)
    assert report.added == 2
    assert "empty" in report.failures[0].error


def test_bulk_chunks_with_and_without_vectors(rag: Rag, embedder: HashEmbedder) -> None:
    docs = rag.collection("docs", model="hash:32")
    ready = embedder.embed_documents(["a b"])[0]
    embedder.seen.clear()
    loaded = docs.add_chunks(
        [
            {"uri": "1", "content": "a b", "embedding": ready, "metadata": {"lang": "en"}},
            {"uri": "1", "content": "c d", "heading": "H"},
            {"uri": "2", "content": "e f", "embedding": list(ready)},
        ]
    )
    assert loaded == 3
    assert embedder.seen == ["H\nc d"]
    assert docs.stats().embedded == 3
    assert [h.content for h in docs.search("a", filter={"lang": "en"})] == ["a b"]


@pytest.mark.one_database
@pytest.mark.parametrize(
    "bad",
    [
        {"uri": "x"},
        {"uri": "x", "content": " "},
        {"uri": "x", "content": "x", "embedding": np.ones(5)},
    ],
)
def test_a_bad_chunk_is_named_and_nothing_is_loaded(rag: Rag, bad: dict[str, Any]) -> None:
    docs = rag.collection("docs", model="hash:32")
    with pytest.raises(InvalidInput, match="chunk 1"):
        docs.add_chunks([{"uri": "a", "content": "fine"}, bad])
    assert docs.stats().documents == 0


@pytest.mark.one_database
@pytest.mark.parametrize("query", ["", "  ", "\0"])
def test_an_empty_query_is_refused(rag: Rag, query: str) -> None:
    with pytest.raises(InvalidQuery, match="empty"):
        rag.collection("docs", model="hash:32").search(query)


def test_a_100_kb_query_gets_an_answer_or_one_clear_line(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH)
    assert docs.search("fish " * 19_000)[0].uri == "fish"
    with pytest.raises(InvalidQuery, match="100000"):
        docs.search("x" * 100_001)


@pytest.mark.one_database
@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_limit_out_of_range_is_refused(rag: Rag, limit: int) -> None:
    with pytest.raises(InvalidQuery, match="1 to 1000"):
        rag.collection("docs", model="hash:32").search("x", limit=limit)


def test_documents_are_listed_read_and_deleted(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH, BIRD)
    assert [d.uri for d in docs.list()] == ["bird", "fish"]
    assert [d.uri for d in docs.list(limit=1)] == ["bird"]
    assert docs.get("fish").content == FISH["content"]
    assert [d.uri for d in docs.list(uri_prefix="fi")] == ["fish"]
    assert [line.name for line in rag.admin.status(["collection"])] == ["docs"]
    assert docs.delete("bird", "never") == 1
    assert docs.delete("fish")
    assert not docs.delete("fish")
    with pytest.raises(NotFound):
        docs.get("fish")


def test_ask_cites_what_it_says_and_admits_what_it_does_not_know(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH, BIRD)
    answer = docs.ask("Where does the red fish swim?")
    assert answer.found
    assert "sea" in answer.text
    assert answer.citations[0].uri == "fish"
    assert f"[{answer.citations[0].number}]" in answer.text
    unknown = docs.ask("Which mortgage rates does the central bank charge?")
    assert not unknown.found
    assert not unknown.citations


def test_no_transaction_is_open_while_the_embedder_works(
    rag: Rag, embedder: HashEmbedder, connection: psycopg.Connection[Any]
) -> None:
    docs = rag.collection("docs", model="hash:32")
    seen: list[int] = []

    def look(texts: Any) -> None:
        (count,) = connection.execute(
            """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
               AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND state <> 'active'
               AND backend_type = 'client backend'"""
        ).fetchone() or (0,)
        seen.append(count)

    embedder.fail = look
    docs.add(*({"uri": str(i), "content": f"text {i}"} for i in range(100)))
    assert len(seen) > 2
    assert set(seen) == {0}


@pytest.mark.minutes
def test_many_threads_share_one_client(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH, BIRD)
    found: list[str] = []
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            found.extend(docs.search(f"red fish {i}")[0].uri for i in range(10))
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert found == ["fish"] * 80


def test_a_client_that_is_not_open_says_so(dsn: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="with Rag"):
        Rag(dsn, settings=Settings(home=tmp_path)).collection("docs")


def test_a_search_survives_a_killed_connection(
    rag: Rag, connection: psycopg.Connection[Any]
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH)
    docs.search("fish")
    connection.execute(
        """SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()"""
    )
    assert docs.search("fish")[0].uri == "fish"


def test_ask_goes_on_by_keyword_when_the_embedder_is_down(rag: Rag, embedder: HashEmbedder) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(FISH, BIRD)

    def down(texts: Any) -> None:
        raise ProviderError("the provider is down")

    embedder.fail = down
    answer = docs.ask("Where does the red fish swim?")
    assert "sea" in answer.text
    assert any("vector search was skipped" in note for note in answer.notes)


def test_a_reader_without_write_rights_can_search_vectors_others_brought(
    rag: Rag, dsn: str, tmp_path: Path, connection: psycopg.Connection[Any], embedder: HashEmbedder
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add_chunks([{"uri": "a", "content": "red fish", "embedding": embedder.embed_query("red")}])
    rag.evaluation.sets.put("faq", [{"question": "red?", "relevant": ["a"]}])
    run = docs.evaluation.run("faq").run_id
    connection.execute("CREATE ROLE only_reader LOGIN")
    connection.execute("GRANT USAGE ON SCHEMA rag TO only_reader")
    connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA rag TO only_reader")
    connection.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rag TO only_reader")
    settings = Settings(home=tmp_path)
    reader = psycopg.conninfo.make_conninfo(dsn, user="only_reader")
    with Rag(reader, settings=settings, embedders={"hash": lambda name: embedder}) as other:
        read = other.collection("docs")
        assert read.search("red")[0].vector_rank == 1
        llm = ScriptedLLM("{}")
        for ask in (
            lambda: read.evaluation.calibrate("faq", llm=llm),
            lambda: read.evaluation.generate_queries("faq", count=1, llm=llm),
            lambda: other.evaluation.runs.judge(run, "faithfulness", llm=llm),
        ):
            with pytest.raises(RagError, match="this role may not write to rag.*GRANT INSERT"):
                ask()
        assert llm.calls == []
    connection.execute("DROP OWNED BY only_reader")
    connection.execute("DROP ROLE only_reader")


def test_a_worker_that_may_not_drop_tables_leaves_them(
    rag: Rag, dsn: str, connection: psycopg.Connection[Any]
) -> None:
    rag.collection("gone", model="hash:32")
    rag.database.drop_collection("gone")
    connection.execute("CREATE ROLE no_owner LOGIN")
    connection.execute("GRANT USAGE ON SCHEMA rag TO no_owner")
    connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA rag TO no_owner")
    connection.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rag TO no_owner")
    with psycopg.connect(dsn, user="no_owner") as other:
        assert other.execute("SELECT rag.remove_dropped()").fetchone() == (0,)
    assert rag.database.remove_dropped() > 0
    connection.execute("DROP OWNED BY no_owner")
    connection.execute("DROP ROLE no_owner")


def test_the_asynchronous_client_answers_many_at_once(
    dsn: str, tmp_path: Path, embedder: HashEmbedder
) -> None:
    async def life() -> list[str]:
        settings = Settings(home=tmp_path)
        async with AsyncRag(
            dsn, settings=settings, embedders={"hash": lambda name: embedder}
        ) as rag:
            docs = await rag.collection("docs", model="hash:32")
            assert (await docs.add(FISH, BIRD)).added == 2
            answers = await asyncio.gather(*(docs.search(f"red fish {i}") for i in range(20)))
            assert (await docs.ask("Where does the red fish swim?")).found
            assert (await docs.stats()).documents == 2
            assert await docs.delete("bird")
            return [hits[0].uri for hits in answers]

    assert asyncio.run(life()) == ["fish"] * 20


def test_progress_counts_chunks_and_ends_at_their_number(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32", chunking={"max_tokens": 16, "overlap": 0})
    long = {
        "uri": "long",
        "content": "\n\n".join(f"Paragraph {i} of many words." for i in range(300)),
    }
    steps: list[Any] = []
    docs.add(long, FISH, BIRD, progress=steps.append)
    first, last = steps[0], steps[-1]
    assert (first.documents, first.of_documents, first.chunks) == (0, 3, 0) and first.of_chunks > 0
    assert (last.documents, last.chunks, last.of_chunks) == (3, docs.stats().chunks, last.chunks)
    within = [step for step in steps if 0 < step.chunks < last.chunks]
    # It moves while the long document is embedded.
    assert len([step for step in within if step.documents < 3]) > 1
    assert [step.chunks for step in steps] == sorted(step.chunks for step in steps)


def test_pages_are_kept_with_a_chunk_that_short_pages_share(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    pages = "\n\n".join(f"# Page {number}\n\nGasket {number}." for number in range(1, 5))
    docs.add(
        {
            "uri": "short.pdf",
            "content": pages,
            "media_type": "text/markdown",
            "metadata": {"pages": 4},
        }
    )
    (hit,) = docs.search("gasket")
    assert (hit.heading, hit.metadata) == ("", {"pages": 4, "page": 1, "last_page": 4})
    assert docs.search("gasket", filter={"page": {"$lte": 3}, "last_page": {"$gte": 3}}) != []
    docs.add(
        {
            "uri": "short.pdf",
            "content": pages,
            "media_type": "text/markdown",
            "metadata": {"pages": 9},
        }
    )
    assert docs.search("gasket")[0].metadata == {"pages": 9, "page": 1, "last_page": 4}


def test_keys_that_are_not_a_documents_own_are_metadata_everywhere(
    rag: Rag, tmp_path: Path
) -> None:
    docs = rag.collection("docs", model="hash:32")
    record = {"content": "red fish", "meta": {"a": 1}, "lang": "en", "metadata": {"lang": "de"}}
    file = tmp_path / "records.jsonl"
    file.write_text(json.dumps({"uri": "file", **record}) + "\n")
    docs.add({"uri": "add", **record}, file)
    docs.add_chunks([{"uri": "add_chunks", **record}])
    with rag.database.connection() as connection:
        connection.execute(
            "SELECT rag.put_documents('docs', %s)", [Jsonb([{"uri": "put_documents", **record}])]
        )
        connection.execute("SELECT rag.put_chunks('docs', 'put_chunks', %s)", [Jsonb([record])])
    rag.worker(["docs"]).drain()
    found = {hit.uri: hit.metadata for hit in docs.search("red fish", duplicates=True)}
    kept = {"lang": "de", "meta": {"a": 1}}
    ways = ("add", "add_chunks", "file", "put_chunks", "put_documents")
    assert found == dict.fromkeys(ways, kept)


def test_an_upload_is_added_from_its_bytes(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    upload = load_bytes("notes/fish.md", b"---\nlang: en\n---\n# Fish\n\nA red fish.")
    report = docs.add(replace(upload, uri="upload-7"), metadata={"tenant": "a"})
    assert (report.added, report.uris) == (1, ("upload-7",))
    found = docs.get("upload-7")
    assert (found.title, found.metadata) == ("Fish", {"lang": "en", "tenant": "a"})
    with pytest.raises(InvalidInput, match="the type .exe cannot be loaded"):
        load_bytes("setup.exe", b"MZ")
    with pytest.raises(InvalidInput, match="the limit is 3"):
        load_bytes("a.md", b"long", max_bytes=3)


def test_what_is_there_is_replaced_left_or_refused(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    old, new, other = (load_bytes(f"{name}.md", text.encode()) for name, text in (
        ("a", "The old text."), ("a", "The new text."), ("b", "Another.")))  # fmt: skip
    docs.add(old)
    skipped = docs.add(new, other, existing="skip", keep_original=True)
    assert (skipped.added, skipped.unchanged, skipped.failures) == (1, 1, ())
    assert docs.get("a.md").content == "The old text."
    assert docs.original("b.md").data == b"Another."
    with pytest.raises(NotFound):  # the file is not that of the text
        docs.original("a.md")
    refused = docs.add(new, load_bytes("c.md", b"A third."), existing="error")
    assert refused.added == 1 and docs.get("a.md").content == "The old text."
    ((uri, error),) = [(one.uri, one.error) for one in refused.failures]
    assert uri == "a.md" and "has a document 'a.md'" in error
    assert docs.add(new).added == 1 and docs.get("a.md").content == "The new text."
    (wrong,) = docs.add(old, existing=cast(Any, "never")).failures
    assert "existing is 'never'" in wrong.error


def test_the_client_for_asyncio_reads_and_reports_progress(
    rag: Rag, dsn: str, embedder: HashEmbedder
) -> None:
    async def life() -> tuple[list[str], list[int]]:
        steps: list[int] = []
        settings = replace(rag.settings, pool_size=2)
        models = {"hash": lambda name: embedder}
        async with AsyncRag(dsn, settings=settings, embedders=models) as client:
            docs = await client.collection("docs", model="hash:32")
            await docs.add(FISH, BIRD, progress=lambda step: steps.append(step.documents))
            assert (await docs.metadata.fields(), (await client.info("docs")).name) == ({}, "docs")
            return [one.uri async for one in docs.list()], steps

    uris, steps = asyncio.run(life())
    assert (uris, steps[0], steps[-1]) == (["bird", "fish"], 0, 2)
