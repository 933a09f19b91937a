"""Embedding spaces and re-chunking, in SQL and through a worker with two models
that need no weights."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from fakes import HashEmbedder
from patience import wait_until
from psycopg.conninfo import make_conninfo

from rag_pg import InvalidInput, NotFound, NotReady, Rag, Settings, SpaceChanged
from rag_pg.client.collection import Collection

Connection = psycopg.Connection[Any]
WORDS = [
    "river",
    "mountain",
    "valley",
    "harbour",
    "bridge",
    "castle",
    "forest",
    "meadow",
    "island",
    "desert",
    "canyon",
    "glacier",
]


@pytest.fixture
def models() -> dict[str, HashEmbedder]:
    return {name: HashEmbedder(name) for name in ("hash:32", "hash:16", "hash:24")}


@pytest.fixture
def rag(dsn: str, models: dict[str, HashEmbedder], tmp_path: Path) -> Iterator[Rag]:
    with Rag(
        dsn, settings=Settings(home=tmp_path), embedders={"hash": models.__getitem__}
    ) as opened:
        yield opened


@pytest.fixture
def docs(rag: Rag) -> Collection:
    """Twelve documents of some chunks each, searchable by hash:32."""
    docs = rag.collection("docs", model="hash:32", chunking={"max_tokens": 24, "overlap": 0})
    docs.add(*(document(i) for i in range(12)))
    return docs


def document(number: int, note: str = "first") -> dict[str, Any]:
    word = WORDS[number % len(WORDS)]
    lines = [f"The {word} of section {part} in document {number} is old. " for part in range(6)]
    return {"uri": f"d{number:02}", "content": f"{note}. " + "".join(lines)}


def one(connection: Connection, query: str, *values: object) -> Any:
    row = connection.execute(query.encode(), values).fetchone()
    return row[0] if row and len(row) == 1 else row


def sqlstate(connection: Connection, query: str, *values: object) -> str | None:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(query.encode(), values)
    return caught.value.sqlstate


def break_index(connection: Connection, space_id: int) -> None:
    """Leave the index as an interrupted CREATE INDEX CONCURRENTLY does."""
    connection.execute(
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::text::regclass",
        [f"rag.embeddings_{space_id}_hnsw"],
    )


def spaces(rag: Rag) -> list[tuple[str, str, float]]:
    return [(s.model, s.state, s.share) for s in rag.database.list_spaces("docs")]


# --- building


def test_a_second_model_is_built_beside_the_active_one_and_activated(
    rag: Rag, docs: Collection, models: dict[str, HashEmbedder]
) -> None:
    before = [hit.chunk_id for hit in docs.search("river", limit=5)]
    space = docs.spaces.create("hash:16", wait=False)
    assert (space.state, space.share, space.index_state) == ("building", 0, "missing")
    assert [hit.chunk_id for hit in docs.search("river", limit=5)] == before
    assert models["hash:16"].seen == []
    with pytest.raises(NotReady, match=r"chunks have no vector yet, 0 embed jobs failed; let the"):
        docs.spaces.activate(space.space_id)
    ready = docs.spaces.create("hash:16", activate=True)
    assert ready.space_id == space.space_id
    assert (ready.state, ready.share, ready.index_state) == ("active", 1, "ready")
    assert ready.fingerprint == "hash:16/1"
    assert sorted(models["hash:16"].seen) == sorted(set(models["hash:32"].seen))
    assert docs.search("river", limit=5)[0].vector_rank is not None
    assert docs.info.dimensions == docs.embedder.dimensions == 16
    assert spaces(rag) == [("hash:32", "retired", 1), ("hash:16", "active", 1)]


def test_a_space_that_is_begun_again_is_the_same_and_the_active_model_is_refused(
    rag: Rag, docs: Collection
) -> None:
    ids = {docs.spaces.create("hash:16", wait=False).space_id for _ in range(2)}
    assert len(ids) == 1
    with pytest.raises(InvalidInput, match="has the vectors of 'hash:32' already"):
        docs.spaces.create("hash:32")
    with pytest.raises(InvalidInput, match="unknown embedding model 'nope'"):
        docs.spaces.create("nope")
    assert len(docs.spaces.list()) == 2


def test_a_model_that_cannot_read_the_chunks_whole_is_refused(
    rag: Rag, docs: Collection, models: dict[str, HashEmbedder]
) -> None:
    models["hash:16"].max_tokens = 20
    with pytest.raises(InvalidInput, match="max_tokens is 24, but model 'hash:16' reads 20"):
        docs.spaces.create("hash:16")


def test_documents_put_changed_and_deleted_while_a_space_is_built_are_in_both(
    rag: Rag, docs: Collection, models: dict[str, HashEmbedder]
) -> None:
    docs.spaces.create("hash:16", wait=False)
    docs.add(document(0, "second"), document(20), wait=False)
    docs.delete("d01")
    docs.spaces.create("hash:16")
    docs.add(document(1, "back"), document(2, "third"))  # when it is complete, too
    assert [(m, share) for m, _, share in spaces(rag)] == [("hash:32", 1), ("hash:16", 1)]
    twice = {t for t in models["hash:16"].seen if models["hash:16"].seen.count(t) > 1}
    assert twice == set()
    assert "second" in " ".join(models["hash:16"].seen)


def test_new_documents_do_not_wait_for_a_space_that_is_built(
    rag: Rag, docs: Collection, models: dict[str, HashEmbedder]
) -> None:
    docs.spaces.create("hash:16", wait=False)
    rag.database.queue_backlog(None)
    docs.add(document(30), wait=False)
    (job, *_) = rag.database.take_jobs(limit=1, lease_seconds=9, collections=None, worker="w")
    assert job.kind == "ingest"


def test_a_failing_model_of_a_space_hurts_neither_searches_nor_states(
    rag: Rag, docs: Collection, models: dict[str, HashEmbedder], connection: Connection
) -> None:
    def refuse(texts: Any) -> None:
        raise InvalidInput("this model takes no text")

    models["hash:16"].fail = refuse
    with pytest.raises(NotReady, match="embed jobs failed: this model takes no text; mend"):
        docs.spaces.create("hash:16")
    assert docs.add(document(40)).failures == ()
    assert {d.state for d in docs.list()} == {"ready"}
    assert docs.stats().lag == 0
    models["hash:16"].fail = lambda texts: None
    rag.database.value(int, "retry_jobs", collection="docs")
    assert docs.spaces.create("hash:16").share == 1


def test_a_writer_that_began_before_the_space_is_embedded_in_it_too(
    rag: Rag, docs: Collection, dsn: str
) -> None:
    chunk = json.dumps([{"content": "late", "embedding": [1.0] * 32}])
    with psycopg.connect(dsn) as writer:
        writer.execute("SELECT rag.put_chunks('docs', 'late', %s)", [chunk])
        space = docs.spaces.create("hash:16", wait=False)
        worker = rag.worker()
        worker.drain()
        assert docs.spaces.list()[1].share == 1
        writer.commit()
    assert docs.spaces.list()[1].share < 1
    worker.drain()  # the documents are passed again
    worker.drain()
    assert docs.spaces.list()[1].share == 1
    assert rag.database.build_indexes(None) == 1
    assert docs.spaces.activate(space.space_id) == 0


def test_a_large_corpus_is_queued_bit_by_bit(
    rag: Rag, docs: Collection, connection: Connection
) -> None:
    docs.spaces.create("hash:16", wait=False)
    passed = []
    while count := one(connection, "SELECT rag.queue_backlog(5)"):
        passed.append(count)
    assert passed == [5, 5, 2]
    assert one(connection, "SELECT count(*) FROM rag.jobs WHERE kind = 'embed'") == 12


def test_two_workers_queue_a_backlog_once(rag: Rag, docs: Collection, dsn: str) -> None:
    docs.spaces.create("hash:16", wait=False)
    with psycopg.connect(dsn) as one_, psycopg.connect(dsn) as two:
        assert one_.execute("SELECT rag.queue_backlog(5)").fetchone() == (5,)
        assert two.execute("SELECT rag.queue_backlog(5)").fetchone() == (0,)


def test_vectors_stay_with_their_model_when_another_space_is_activated_meanwhile(
    rag: Rag, docs: Collection, connection: Connection
) -> None:
    space = docs.spaces.create("hash:16")
    docs.add(document(0, "changed"), wait=False)
    (job,) = rag.database.take_jobs(limit=1, lease_seconds=60, collections=None, worker="w")
    work = rag.database.read_job(job)
    assert work is not None
    docs.spaces.activate(space.space_id)
    vectors = {0: np.full(32, 0.5, np.float32)}
    assert rag.database.store_chunks(job, work, [{"content": "changed it"}], vectors) == "stored"
    assert one(connection, "SELECT count(*) FROM rag.jobs WHERE space_id = %s", space.space_id) == 1
    rag.worker().drain()
    assert [share for *_, share in spaces(rag)] == [1, 1]


def test_the_index_is_made_after_the_vectors_beside_writers(
    rag: Rag, docs: Collection, connection: Connection
) -> None:
    space = docs.spaces.create("hash:16", wait=False)
    assert rag.database.build_indexes(None) == 0  # its vectors are not in
    rag.worker().drain()
    rag.worker().drain()
    (found, statement, memory) = one(connection, "SELECT * FROM rag.pending_indexes()")
    assert found == space.space_id
    assert memory == "65536kB"  # what is set: there is little to build
    assert statement.startswith("CREATE INDEX CONCURRENTLY")
    assert rag.database.build_indexes(["docs"]) == 1
    assert docs.spaces.list()[1].index_state == "ready"
    break_index(connection, space.space_id)
    assert docs.spaces.list()[1].index_state == "invalid"  # as after a crash
    assert rag.database.build_indexes(None) == 2  # dropped and made again
    assert docs.spaces.list()[1].index_state == "ready"


def test_without_shared_memory_an_index_is_made_by_one_process_beside_writers(
    rag: Rag, docs: Collection, connection: Connection, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    space = docs.spaces.create("hash:16", wait=False)
    rag.worker().drain()
    rag.worker().drain()
    connection.execute(f"ALTER TABLE rag.embeddings_{space.space_id} SET (parallel_workers = 2)")
    more_than_there_is = make_conninfo(dsn, options="-c maintenance_work_mem=2000GB")
    with Rag(more_than_there_is, settings=rag.settings) as other:
        assert other.database.build_indexes(None) == 2  # half-made, dropped, and made again
    assert "one process: could not resize shared memory" in caplog.text
    assert docs.spaces.list()[1].index_state == "ready"


@pytest.mark.parametrize("before", ["missing", "invalid"])
@pytest.mark.few(1)
def test_activating_makes_an_index_that_no_worker_has_made(
    rag: Rag, docs: Collection, connection: Connection, before: str
) -> None:
    space = docs.spaces.create("hash:16", wait=False)
    rag.worker().drain()
    if before == "invalid":
        rag.worker().drain()
        assert rag.database.build_indexes(None) == 1
        break_index(connection, space.space_id)
    assert docs.spaces.list()[1].index_state == before
    docs.spaces.activate(space.space_id)
    assert docs.spaces.list()[1].index_state == "ready"
    connection.execute("SET enable_seqscan = off; SET enable_sort = off")
    plan = connection.execute(
        """EXPLAIN SELECT chunk_id FROM rag.embeddings WHERE space_id = %s
           ORDER BY (embedding::halfvec(16)) <=> %s::text::halfvec(16) LIMIT 3""",
        [space.space_id, str([0.5] * 16)],
    ).fetchall()
    assert "_hnsw" in str(plan)


# --- switching


def test_an_incomplete_space_is_activated_only_by_force_and_completed_then(
    rag: Rag, docs: Collection
) -> None:
    space = docs.spaces.create("hash:16", wait=False)
    chunks = docs.stats().chunks
    assert docs.spaces.activate(space.space_id, force=True) == chunks
    assert docs.search("river")[0].keyword_rank == 1
    rag.worker().drain()
    assert docs.spaces.list()[1].share == 1
    assert docs.search("river")[0].vector_rank is not None


def test_rolling_back_is_instant_since_the_retired_space_is_kept_up_to_date(
    rag: Rag, docs: Collection, models: dict[str, HashEmbedder]
) -> None:
    docs.spaces.create("hash:16", activate=True)
    docs.add(document(0, "after the switch"), document(50))
    assert spaces(rag) == [("hash:32", "retired", 1), ("hash:16", "active", 1)]
    old = docs.spaces.list()[0].space_id
    assert docs.spaces.rollback() == old
    assert spaces(rag) == [("hash:32", "active", 1), ("hash:16", "retired", 1)]
    assert docs.search("after the switch")[0].uri == "d00"
    assert docs.spaces.rollback() != old  # and forward again


def test_rolling_back_says_what_is_missing(rag: Rag, docs: Collection) -> None:
    with pytest.raises(NotFound, match="no earlier space to go back to"):
        docs.spaces.rollback()
    docs.spaces.create("hash:16", activate=True)
    chunk = {"uri": "ready", "content": "made elsewhere", "embedding": [0.5] * 16}
    docs.add_chunks([chunk], wait=False)
    with pytest.raises(NotReady, match="1 chunks have no vector yet"):
        docs.spaces.rollback()
    rag.worker().drain()
    docs.spaces.rollback()


def test_a_client_that_was_open_embeds_by_the_model_that_is_active_now(
    rag: Rag, docs: Collection, connection: Connection
) -> None:
    space = docs.spaces.create("hash:16")
    stale = rag.collection("docs")
    stale.search("river")
    connection.execute("SELECT rag.activate_space(%s)", [space.space_id])
    hits = stale.search("river")
    assert hits.notes == () and hits[0].vector_rank is not None
    assert stale.info.model == "hash:16"
    with pytest.raises(SpaceChanged, match="now searches space"):
        rag.database.search(
            "docs", "x", docs.embedder.embed_query("x"), limit=1, filter={}, expected_space=1
        )


def test_a_dropped_space_is_gone_at_once_and_its_partition_later(
    rag: Rag, docs: Collection, connection: Connection
) -> None:
    space = docs.spaces.create("hash:16", wait=False)
    rag.database.queue_backlog(None)
    assert one(connection, "SELECT count(*) > 0 FROM rag.jobs WHERE space_id IS NOT NULL")
    (job, *_) = rag.database.take_jobs(limit=1, lease_seconds=60, collections=None, worker="w")
    docs.spaces.drop(space.space_id)
    assert len(docs.spaces.list()) == 1
    assert one(connection, "SELECT count(*) FROM rag.jobs") == 0
    assert rag.database.extend_jobs([job], 60) == [job.job_id]
    with pytest.raises(NotFound, match="no embedding space"):
        docs.spaces.drop(space.space_id)
    with pytest.raises(InvalidInput, match="is the active one"):
        docs.spaces.drop(docs.spaces.list()[0].space_id)
    docs.add(document(0, "changed"))
    rag.database.remove_dropped()
    assert one(connection, "SELECT to_regclass(%s)", f"rag.embeddings_{space.space_id}") is None
    assert one(connection, "SELECT count(*) FROM rag.spaces") == 1


def test_a_collection_with_several_spaces_is_dropped_whole(
    rag: Rag, docs: Collection, connection: Connection
) -> None:
    docs.spaces.create("hash:16", wait=False)
    rag.drop_collection("docs")
    assert one(connection, "SELECT rag.queue_backlog()") == 0
    assert one(connection, "SELECT rag.remove_dropped()") == 0  # the client has done it
    for table in ("spaces", "backlogs", "jobs"):
        assert one(connection, f"SELECT count(*) FROM rag.{table}") == 0


def test_wrong_arguments_are_refused(connection: Connection, docs: Collection) -> None:
    for query, state in (
        ("SELECT rag.create_space('nope', 'm', 3)", "RG002"),
        ("SELECT rag.create_space('docs', '', 3)", "RG001"),
        ("SELECT rag.create_space('docs', 'm', 0)", "RG001"),
        ("SELECT rag.create_space('docs', 'm', 3, 'hamming')", "RG001"),
        ("SELECT rag.create_space('docs', 'm', 3, index_options => '{\"k1\": 2}')", "RG001"),
        ("SELECT rag.activate_space(99)", "RG002"),
        ("SELECT rag.activate_space(NULL)", "RG002"),
        ("SELECT rag.set_chunking('docs', '[]')", "RG001"),
        ("SELECT rag.queue_backlog(0)", "RG001"),
        ("SELECT rag.compare_spaces('docs', '{}')", "RG001"),
        ("SELECT rag.compare_spaces('docs', '[{\"embeddings\": {\"99\": [1]}}]')", "RG002"),
    ):
        assert sqlstate(connection, query) == state, query


@pytest.mark.one_database
@pytest.mark.parametrize(
    "asked",
    [
        {"embeddings": {"1": "[1, 0]"}},
        {"embeddings": {"1": ["x", 0]}},
        {"embeddings": {"1": [1e9, 0]}},
        {"embeddings": {"1": {}}},
        {"embeddings": {"1": None}},
        {"embeddings": {"1": [1]}},
        {"relevant": {"a": "x"}},
        {"relevant": {"a": -1}},
        {"relevant": {"a": 10**400}},
        {"relevant": {"a": None}},
        {"relevant": [None]},
        {"relevant": [5]},
        {"relevant": [["a"]]},
        {"relevant": "a"},
        {"relevant": 5},
        {"relevant": True},
    ],
)
@pytest.mark.few(6)
def test_queries_that_cannot_be_compared_are_refused(
    connection: Connection, asked: dict[str, Any]
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    connection.execute(
        "SELECT rag.put_chunks('c', 'a', '[{\"content\": \"x\", \"embedding\": [1, 0]}]')"
    )
    good: dict[str, Any] = {"query": "x", "embeddings": {"1": [1, 0]}}
    statement = "SELECT recall FROM rag.compare_spaces('c', %s)"
    for relevant, recall in (([], None), (None, None), (["a"], 1), ({"a": 2.5, "b": 0}, 1)):
        rows = connection.execute(statement, [json.dumps([good | {"relevant": relevant}])])
        assert rows.fetchall() == [(recall,)]
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(statement, [json.dumps([good, good | asked])])
    assert caught.value.sqlstate in ("RG001", "RG004")
    assert caught.value.diag.message_hint


# --- comparing


def test_spaces_are_compared_on_the_same_queries(rag: Rag, docs: Collection) -> None:
    docs.spaces.create("hash:16")
    asked = [{"query": f"the {word}", "relevant": [f"d{i:02}"]} for i, word in enumerate(WORDS)]
    active, other = docs.spaces.compare(asked)
    assert (active.model, active.overlap, active.rank_difference) == ("hash:32", 1, 0)
    assert other.model == "hash:16"
    assert other.overlap is not None and 0 < other.overlap <= 1
    for found in (active, other):
        assert found.ndcg is not None and found.recall is not None
        assert 0 < found.ndcg <= 1 and 0 < found.recall <= 1
        assert [len(ids) for ids in found.hits] == [10] * 12
    (plain, _) = docs.spaces.compare(["river"], limit=3)
    assert plain.recall is None and plain.ndcg is None


def test_measures_are_as_defined(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    for place, uri in enumerate("abcd"):
        chunk = json.dumps([{"content": uri, "embedding": [10, place]}])
        connection.execute("SELECT rag.put_chunks('c', %s, %s)", [uri, chunk])
    other = one(connection, "SELECT rag.create_space('c', 'none2', 2)")
    (active,) = connection.execute("SELECT space_id FROM rag.list_spaces('c')").fetchone() or (0,)
    for place, chunk_id in enumerate((2, 1, 4, 3)):  # b a d c
        connection.execute(
            "INSERT INTO rag.embeddings SELECT %s, chunk_id, %s::text::halfvec FROM rag.chunks"
            " WHERE content = %s",
            [other, f"[10, {place}]", "abcd"[chunk_id - 1]],
        )
    queries = [
        {"query": "x", "embeddings": {active: [1, 0], other: [1, 0]}, "relevant": {"b": 2, "c": 1}}
    ]
    rows = connection.execute(
        "SELECT space_id, overlap, rank_difference, recall, ndcg FROM rag.compare_spaces('c',"
        " %s, 2)",
        [json.dumps(queries)],
    ).fetchall()
    best = 2 + 1 / 1.584962500721156
    assert rows[0] == (active, 1, 0, 0.5, pytest.approx(2 / 1.584962500721156 / best))
    assert rows[1] == (other, 1, 1, 0.5, pytest.approx(2 / best))


# --- cutting anew


def test_a_changed_chunking_cuts_again_and_keeps_what_stays_the_same(
    rag: Rag, docs: Collection, models: dict[str, HashEmbedder], connection: Connection
) -> None:
    docs.add({"uri": "short", "content": "One short text."})
    short = one(connection, "SELECT chunk_id FROM rag.chunks WHERE content ^@ 'One short'")
    docs.add_chunks([{"uri": "ready", "content": "made elsewhere", "embedding": [0.5] * 32}])
    before = docs.stats().chunks
    embedded = len(models["hash:32"].seen)
    chunking = {"max_tokens": 48, "overlap": 0}
    assert docs.rechunk(chunking, wait=False) == 14
    assert docs.search("river")[0].uri == "d00"
    assert docs.stats().lag == 0  # all are searchable
    assert docs.rechunk(chunking) == 0 and docs.info.chunking == chunking
    stats = docs.stats()
    assert stats.chunks < before and (stats.pending, stats.embedded) == (0, stats.chunks)
    assert len(models["hash:32"].seen) - embedded == stats.chunks - 2  # short and ready have theirs
    assert short == one(connection, "SELECT chunk_id FROM rag.chunks WHERE content ^@ 'One short'")
    with pytest.raises(InvalidInput, match="max_tokens is 999, but model 'hash:32' reads 256"):
        docs.rechunk({"max_tokens": 999})
    with pytest.raises(InvalidInput, match="unknown chunking setting"):
        docs.rechunk({"size": 9})


# --- editing


@pytest.mark.minutes
def test_editing_one_document_in_a_hundred_embeds_only_what_changed(
    rag: Rag, models: dict[str, HashEmbedder], connection: Connection
) -> None:
    docs = rag.collection("docs", model="hash:32", chunking={"max_tokens": 24, "overlap": 0})
    docs.add(*(document(i) for i in range(200)))
    ids = dict(connection.execute("SELECT chunk_id, content FROM rag.chunks").fetchall())
    seen = models["hash:32"].seen
    seen.clear()
    edited = []
    for number in (7, 120):
        text = document(number)
        text["content"] = text["content"].replace("section 3", "chapter 3")
        edited.append(text)
    docs.add(*(document(i) for i in range(200) if i not in (7, 120)), *edited)
    assert len(seen) == 2 and all("chapter 3" in text for text in seen)
    after = dict(connection.execute("SELECT chunk_id, content FROM rag.chunks").fetchall())
    assert len(after) == len(ids)
    assert len(ids.items() - after.items()) == 2  # all others keep id and text


def test_readers_see_the_old_or_the_new_document_never_a_mixture_or_a_gap(
    rag: Rag, docs: Collection, dsn: str
) -> None:
    marks = ("alpha", "beta")

    def version(number: int) -> dict[str, Any]:
        lines = [f"Marked {marks[number % 2]} paragraph {p} of the story. " for p in range(12)]
        return {"uri": "story", "content": "".join(lines)}

    docs.add(version(0))
    ended = threading.Event()
    seen: list[frozenset[str]] = []
    counts: set[int] = set()

    def read() -> None:
        with psycopg.connect(dsn, autocommit=True) as reader:
            while not ended.is_set():
                rows = reader.execute(
                    "SELECT content FROM rag.search_keyword('docs', 'marked', 100)"
                ).fetchall()
                seen.append(frozenset(m for m in marks for (text,) in rows if m in text))
                counts.add(len(rows))

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for number in range(1, 13):
            docs.add(version(number))
        wait_until(lambda: len(seen) >= 20)
    finally:
        ended.set()
        thread.join()
    assert set(seen) == {frozenset({"alpha"}), frozenset({"beta"})}
    assert len(counts) == 1
