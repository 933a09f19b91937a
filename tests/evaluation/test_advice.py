"""Advice: each rule speaks where its statistics hold, and runs of a set go before it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
import typer

from rag_pg.cli.app import app
from rag_pg.db.database import Database
from rag_pg.evaluation import advice
from rag_pg.evaluation.cli.audit import write_advice
from rag_pg.types import Advice

Connection = psycopg.Connection[Any]
Rows = dict[str, Advice]
GERMAN = (
    "Der Antrag {n} ist bei der Behörde zu stellen, und sie hat ihn innerhalb von drei Monaten zu"
    " bescheiden, wenn die Unterlagen vollständig sind und nicht mehr ergänzt werden müssen."
)
ENGLISH = (
    "The request {n} is to be sent to the office, and it has to be answered within three months if"
    " all of the papers are there and there is no need for any of them to be sent again."
)
MARKDOWN = f"# Guide {{n}}\n\n## First\n\n{ENGLISH}\n\n## Then\n\n{ENGLISH}"
CODE = (
    "import os\n\ndef read_{n}(path):\n    with open(path) as file:\n        return file.read()\n"
)
BIG = 100_000


def put(connection: Connection, text: str, count: int = 12, **document: str) -> None:
    for n in range(count):
        connection.execute(
            "SELECT rag.put_document('c', %s, %s, media_type => %s, language => %s)",
            [
                f"{text[:3]}{n}",
                text.format(n=n),
                document.get("media_type", "text/plain"),
                document.get("language"),
            ],
        )


def collect(connection: Connection, *, language: str = "english", model: str = "minilm") -> None:
    connection.execute(
        "SELECT rag.create_collection('c', %s, 8, language => %s)", [model, language]
    )


def advise(connection: Connection) -> Rows:
    database = Database(connection.info.dsn)
    database.open()
    try:
        rows = advice.advise(database, "c")
    finally:
        database.close()
    check(connection, [row for row in rows if row.topic not in ("statistics", "documents")])
    return {row.topic: row for row in rows}


def check(connection: Connection, rows: Sequence[Advice]) -> None:
    for row in rows:
        assert (row.command is None) == (row.advised == row.current), row
        assert str(row.evidence).startswith(("measured", "not measured here")), row
        if row.command:
            check_command(connection, row.command)


def check_command(connection: Connection, command: str) -> None:
    """The command exists: its words parse, or its SQL is planned for what it names."""
    if command.startswith("rag-pg "):
        group: Any = typer.main.get_command(app)
        name, *rest = shlex.split(command.removeprefix("rag-pg "))
        group.commands[name].make_context(name, rest)
        return
    if command.startswith(("VACUUM", "ALTER SYSTEM")):
        return
    words_of = {"uri, content": "NULL::text, NULL::text", "query, embedding": "'q', NULL"}
    for placeholder, value in words_of.items():
        command = command.replace(placeholder, value)
    connection.execute(f"EXPLAIN {command}".encode())


def rule(
    connection: Connection, name: str, settings: dict[str, Any], traits: dict[str, Any]
) -> list[Advice]:
    """The rows of one rule, for settings and statistics that are made up."""
    ((real, compared),) = connection.execute(
        "SELECT rag._collection_traits('c'),"
        " rag._exact_search_limit(rag._choose_ef_search(NULL, NULL, %s, 10))",
        [traits.get("chunks", 0)],
    ).fetchall()
    found = {**real, **traits, "compared": compared, "settings": {**real["settings"], **settings}}
    rows = list(getattr(advice, name)("c", found))
    check(connection, rows)
    return rows


def test_english_texts_need_no_change(connection: Connection) -> None:
    collect(connection)
    put(connection, ENGLISH)
    found = advise(connection)
    assert list(found) == [
        "statistics", "language", "model", "chunking", "weights", "index", "memory", "fields",
    ]  # fmt: skip
    assert [topic for topic, row in found.items() if row.command] == []
    figures = found["statistics"].figures
    assert figures is not None
    assert (figures["languages"], figures["documents"]) == ({"english": 12}, 12)


def test_german_texts_want_their_language_and_a_model_that_knows_it(
    connection: Connection,
) -> None:
    collect(connection)
    put(connection, GERMAN)
    found = advise(connection)
    assert (found["language"].advised, found["model"].advised) == ("german", "e5")
    assert found["model"].command == "rag-pg reembed c --model e5"
    assert "xquad-de: nDCG@10 0.956 with minilm, 0.975 with e5" in str(found["model"].evidence)
    put(connection, ENGLISH)
    found = advise(connection)
    assert found["language"].advised == "each document its own"
    assert "German 50 %" in str(found["language"].reason)


def test_markdown_and_code_stored_as_plain_text_are_told(connection: Connection) -> None:
    collect(connection)
    put(connection, MARKDOWN)
    found = advise(connection)["chunking"]
    assert found.command == """rag-pg rechunk c --chunking '{"method": "markdown"}'"""
    put(connection, MARKDOWN, media_type="text/markdown")
    assert advise(connection)["chunking"].command is None
    connection.execute("SELECT rag.delete_document('c', d.uri) FROM rag.documents AS d")
    put(connection, CODE)
    found = advise(connection)["chunking"]
    assert found.advised == "a media type that names the language"


def test_an_empty_collection_has_nothing_to_go_by(connection: Connection) -> None:
    collect(connection)
    found = advise(connection)
    assert [row.topic for row in found.values()] == ["documents"]
    assert found["documents"].command == "rag-pg add PATH --collection c"


def test_the_index_suits_the_size_and_the_memory(connection: Connection) -> None:
    collect(connection)
    traits = {"chunks": BIG, "shared_buffers": 128 << 20, "put_again": 0.5, "dead_vectors": 0.3}

    def index(kind: str, dimensions: int = 384, **changed: int) -> dict[str, str | None]:
        space = {"dimensions": dimensions, "kind": kind}
        rows = rule(connection, "index", space, traits | changed)
        return {row.topic: row.advised for row in rows if row.command}

    assert index("exact")["index"] == "hnsw"
    assert index("exact", 8000)["index"] == "binary"
    connection.execute("SELECT rag.drop_vector_index('c')")
    assert set(index("hnsw")) == {"missing index", "memory", "vacuum"}
    assert "index" in index("binary", shared_buffers=4 << 30)
    assert "index" not in index("binary") and "memory" not in index("binary")
    assert index("exact", chunks=2000) == index("hnsw", chunks=4400) == {}


def test_weights_wait_for_the_spread_of_the_cosines(connection: Connection) -> None:
    collect(connection)
    traits = {"vectors": 300, "identifiers": 0.3, "length_spread": 0.2}

    def weights(**space: Any) -> Advice:
        (row,) = rule(connection, "weights", {"model": "e5", "similarity_spread": None} | space,
                      traits)  # fmt: skip
        return row

    assert weights().command == "SELECT rag.measure_spaces(ARRAY['c'])"
    assert weights(similarity_spread=0.03).command is None
    assert weights(similarity_spread=0.03, distance="ip").advised == "rrf"


def record_run(
    connection: Connection, settings: dict[str, Any], ranks: Sequence[int | None]
) -> int:
    """A run of 12 questions, each with its relevant document at a rank."""
    row = connection.execute(
        "SELECT rag.start_eval_run('faq', 'c', 'search', %s)", [json.dumps(settings)]
    ).fetchone()
    assert row is not None
    ids = dict(
        connection.execute(
            """SELECT d.uri, k.chunk_id FROM rag.chunks AS k
               JOIN rag.documents AS d USING (collection_id, document_id)"""
        ).fetchall()
    )
    results = []
    for n, rank in enumerate(ranks):
        order = [f"d{m}" for m in range(12) if m != n][:9]
        if rank:
            order.insert(rank - 1, f"d{n}")
        hits = [{"chunk_id": ids[uri], "score": -place} for place, uri in enumerate(order)]
        results.append({"query_id": f"q{n}", "hits": hits})
    connection.execute("SELECT rag.put_eval_results(%s, %s)", [row[0], json.dumps(results)])
    connection.execute("SELECT rag.finish_eval_run(%s)", [row[0]])
    return int(row[0])


def collect_questions(connection: Connection) -> None:
    """12 documents of a chunk each, and a set of 12 questions."""
    collect(connection)
    for n in range(12):
        connection.execute(
            "SELECT rag.put_chunks('c', %s, %s)",
            [f"d{n}", json.dumps([{"content": ENGLISH.format(n=n)}])],
        )
    connection.execute("SELECT rag.put_eval_set('faq')")
    queries = [{"id": f"q{n}", "question": f"which {n}?", "relevant": [f"d{n}"]} for n in range(12)]
    connection.execute("SELECT rag.put_eval_queries('faq', %s)", [json.dumps(queries)])


def test_runs_of_a_set_go_before_the_rule_and_are_named(connection: Connection) -> None:
    collect_questions(connection)
    base = record_run(connection, {"limit": 10}, [2] * 12)
    assert "docs/internals/fusion.md" in str(advise(connection)["weights"].evidence)
    record_run(connection, {"limit": 5, "fusion": "weighted"}, [1] * 12)  # differs in two settings
    assert "docs/internals/fusion.md" in str(advise(connection)["weights"].evidence)
    record_run(connection, {"limit": 10, "fusion": "rrf"}, [2] * 11 + [1])
    found = advise(connection)["weights"]
    assert str(found.evidence).endswith(": no gain is shown") and found.command is None
    best = record_run(connection, {"limit": 10, "vector_weight": 0.9, "keyword_weight": 0.10},
                      [1] * 12)  # fmt: skip
    found = advise(connection)["weights"]
    assert found.advised == "auto 0.9 0.1"
    assert f"set faq, 12 questions, nDCG@10 0.631 (run {base})" in str(found.evidence)
    assert f"1.000 with auto 0.9 0.1 (run {best})" in str(found.evidence)
    put(connection, ENGLISH, 1)
    assert "docs/internals/fusion.md" in str(advise(connection)["weights"].evidence)


@pytest.mark.parametrize("failed", ["base", "best"])
@pytest.mark.few(1)
def test_a_run_that_failed_on_questions_advises_nothing(
    connection: Connection, failed: str
) -> None:
    collect_questions(connection)
    other = {"limit": 10, "vector_weight": 0.9, "keyword_weight": 0.1}
    runs = {"base": record_run(connection, {"limit": 10}, [2] * 12),
            "best": record_run(connection, other, [1] * 12)}  # fmt: skip
    assert advise(connection)["weights"].advised == "auto 0.9 0.1"
    connection.execute(
        "UPDATE rag.eval_results SET error = '503' WHERE run_id = %s AND query_id = 'q3'",
        [runs[failed]],
    )
    assert "docs/internals/fusion.md" in str(advise(connection)["weights"].evidence)


def test_the_run_of_another_chunking_that_a_sweep_filed_is_compared(connection: Connection) -> None:
    collect_questions(connection)
    base = record_run(connection, {"limit": 10}, [2] * 12)
    best = record_run(connection, {"limit": 10}, [1] * 12)
    record_run(connection, {"imported": "other"}, [2] * 12)
    imported = record_run(connection, {"imported": "other"}, [1] * 12)
    chunking = {"max_tokens": 99}
    connection.execute(
        "UPDATE rag.eval_runs SET chunking = %s WHERE run_id IN (%s, %s)",
        [json.dumps(chunking), imported, best],
    )
    connection.execute(
        "SELECT rag._file_eval_run(%s, 'c', %s, 1)",
        [best, json.dumps({"limit": 10, "cache": False, "chunking": chunking})],
    )
    found = advise(connection)["chunking"]
    assert found.command == """rag-pg rechunk c --chunking '{"max_tokens": 99}'"""
    assert f"(run {base})" in str(found.evidence) and f"(run {best})" in str(found.evidence)
    connection.execute("UPDATE rag.eval_runs SET collection = 'a copy'")
    assert advise(connection)["chunking"] == found


def test_five_other_settings_are_compared_whatever_their_number(connection: Connection) -> None:
    collect_questions(connection)
    record_run(connection, {"limit": 10}, [2] * 12)
    for tenth in range(1, 8):
        record_run(connection, {"limit": 10, "vector_weight": tenth / 10}, [1] * 12)
    with connection.transaction():
        connection.execute("SET LOCAL track_functions = 'pl'")
        connection.execute("SELECT rag._measured_settings('c', 'weights')")
        calls = connection.execute(
            "SELECT calls FROM pg_stat_xact_user_functions WHERE funcname = 'compare_runs'"
        )
        assert calls.fetchall() == [(5,)]


def test_chunks_of_the_size_that_was_chosen_leave_nothing_to_change(connection: Connection) -> None:
    collect(connection)
    connection.execute("UPDATE rag.collections SET chunking = '{\"max_tokens\": 99}'")
    (row,) = rule(connection, "chunking", {}, {"documents": 12, "words_p95": 120})
    assert row.advised == row.current and row.command is None


def test_a_role_under_a_policy_is_advised_by_what_it_sees(connection: Connection) -> None:
    collect(connection)
    put(connection, ENGLISH)
    put(connection, GERMAN)
    with connection.transaction(force_rollback=True):
        connection.execute(
            """CREATE ROLE advised;
               GRANT USAGE ON SCHEMA rag TO advised;
               GRANT SELECT ON ALL TABLES IN SCHEMA rag TO advised;
               GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rag TO advised;
               ALTER TABLE rag.documents ENABLE ROW LEVEL SECURITY;
               ALTER TABLE rag.chunks ENABLE ROW LEVEL SECURITY;
               CREATE POLICY own ON rag.documents USING (content !~ 'Behörde');
               CREATE POLICY own ON rag.chunks USING (content !~ 'Behörde')"""
        )
        connection.execute("SET LOCAL ROLE advised")
        ((figures,),) = connection.execute("SELECT rag._collection_traits('c')").fetchall()
    assert (figures["documents"], figures["languages"]) == (12, {"english": 12})
    assert figures["index_bytes"] is None and "erman" not in str(figures)


def test_advice_fits_80_columns_and_a_pipe_has_a_line_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Advice(
        topic="index", current="hnsw", advised="hnsw", reason="many words " * 20,
        evidence="measured: there", command=None, figures=None,
    )  # fmt: skip
    change = Advice(
        topic="model", current="minilm", advised="e5", reason="evil\x1b[2J", evidence=None,
        command="rag-pg reembed docs --model e5", figures=None,
    )  # fmt: skip
    write_advice([keep, change])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split("\t")[:3] == ["model", "minilm", "e5"] and len(lines) == 2
    for name, value in (("FORCE_COLOR", "1"), ("NO_COLOR", "1"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    write_advice([keep, change])
    shown = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in shown) and "\x1b" not in "".join(shown)
    assert shown[-3] == "→     model: minilm → e5"
