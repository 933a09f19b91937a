"""60 questions over 2,000 documents, answered through tools by a scripted model, against plain SQL.

The model knows no figure: it reads each result out of the message that it gets, and the next call
and the answer are made of what it read. As a role that sees one city it answers from that city.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import Call, HashEmbedder, ScriptedLLM
from prompts import quoted
from psycopg.conninfo import make_conninfo
from tool_calls import calling

from rag_pg import Collection, Rag, Settings
from rag_pg.text import estimate_tokens
from rag_pg.types import Answer, Completion

QUESTIONS = [
    json.loads(line)
    for line in Path(__file__).with_name("questions.jsonl").read_text(encoding="utf-8").splitlines()
]
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
FIRST = ("Anna", "José", "Noor", "Liam", "Zoë", "Ravi", "Mei", "Omar", "Ida", "Tom")
LAST = ("Müller", "García", "Haddad", "O'Brien")
CUSTOMERS = [f"{first} {last}" for first in FIRST for last in LAST]
AUTHORS = CUSTOMERS[2::5]
CITIES = ("Zürich", "Bern", "Basel", "Genève", "Lugano")
TAGS = ("urgent", "draft", "confidential", "archive")
TABLES = """
CREATE TABLE papers (uri text PRIMARY KEY, kind text, customer text, author text, city text,
    pages integer, amount numeric, signed date, due date, paid boolean, tags text[]);
CREATE TABLE customers (name text PRIMARY KEY, country text, segment text, credit_limit numeric,
    joined date, secret text);
"""


def make_papers() -> list[dict[str, Any]]:
    """Return 2,000 documents' metadata, the same each time."""
    chance = random.Random(13)
    papers = []
    for number in range(2000):
        kind = chance.choice(["contract", "invoice", "invoice", "report", "letter"])
        signed = date(2023, 1, 1) + timedelta(chance.randrange(1420))
        invoice = kind == "invoice"
        papers.append(
            {
                "uri": f"{kind}/{number:04}",
                "kind": kind,
                "customer": chance.choice(CUSTOMERS),
                "author": chance.choice(AUTHORS),
                "city": chance.choice(CITIES),
                "pages": chance.randrange(1, 40),
                "amount": None if kind == "letter" else chance.randrange(1000, 1_000_000) / 100,
                "signed": None if chance.random() < 0.1 else signed,
                "due": signed + timedelta(chance.randrange(10, 90)) if invoice else None,
                "paid": chance.random() < 0.6 if invoice else None,
                "tags": chance.sample(TAGS, chance.randrange(3)),
            }
        )
    papers[7]["signed"] = date(2024, 2, 29)
    return papers


def metadata_of(paper: Mapping[str, Any]) -> dict[str, Any]:
    found = {k: v for k, v in paper.items() if v is not None and k not in ("uri", "author")}
    found |= {k: v.isoformat() for k, v in found.items() if isinstance(v, date)}
    return {**found, "author": {"name": paper["author"]}}


@dataclass
class Archive:
    dsn: str
    rag: Rag
    docs: Collection
    connection: psycopg.Connection[Any]


@pytest.fixture(scope="module")
def archive(
    new_database: Any, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Archive]:
    dsn = new_database(template)
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    embedder = HashEmbedder("hash:8")
    papers = make_papers()
    chance = random.Random(14)
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        Rag(dsn, settings=settings, embedders={"hash": lambda name: embedder}) as rag,
    ):
        connection.execute(TABLES)
        with connection.cursor().copy("COPY papers FROM STDIN") as copy:
            for paper in papers:
                copy.write_row(list(paper.values()))
        with connection.cursor().copy("COPY customers FROM STDIN") as copy:
            for name in CUSTOMERS:
                joined = date(2010, 1, 1) + timedelta(chance.randrange(5000))
                copy.write_row([
                    name, chance.choice(["CH", "DE", "FR"]), chance.choice(["gold", "silver"]),
                    chance.randrange(10, 500) * 100, joined, f"secret of {name}",
                ])  # fmt: skip
        docs = rag.collection("docs", model="hash:8")
        docs.add_chunks(
            {
                "uri": paper["uri"],
                "content": f"{paper['kind']} {number} for {paper['customer']}",
                "embedding": [1.0, *[0.0] * 7],
                "metadata": metadata_of(paper),
            }
            for number, paper in enumerate(papers)
        )
        rag.views.expose(
            "public.customers",
            "The customers, with country (CH, DE, FR), segment (gold, silver) and credit limit.",
            columns=["name", "country", "segment", "credit_limit", "joined"],
        )
        yield Archive(dsn, rag, docs, connection)


# --- the model


def read_table(message: str) -> list[dict[str, str]]:
    """Return the rows of a result as a model reads them."""
    (text,) = quoted(message)
    lines = text.split("\n")
    if len(lines) == 1:
        return [{"result": text}]
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines[1:]]


def fill(value: Any, tables: Sequence[Sequence[Mapping[str, str]]]) -> Any:
    """Return arguments with what was read instead of @1.name (its first) and @1.name[] (all)."""
    if isinstance(value, dict):
        return {key: fill(item, tables) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, tables) for item in value]
    if not isinstance(value, str):
        return value
    if every := re.fullmatch(r"@(\d)\.(\w+)\[\]", value):
        return [row[every[2]] for row in tables[int(every[1]) - 1]]
    return re.sub(r"@(\d)\.(\w+)", lambda m: tables[int(m[1]) - 1][0][m[2]], value)


class Reader:
    """A model that makes the calls of a question one by one and answers with the last table."""

    def __init__(self, question: Mapping[str, Any]) -> None:
        self.question = question
        self.llm = ScriptedLLM(self.reply, name="reader")

    def reply(self, call: Call) -> Completion | str:
        results = [m.content for m in call.messages if m.role == "tool"]
        assert not [text for text in results if text.startswith("error: ")], results
        tables = [read_table(text) for text in results]
        if len(tables) < len(self.question["calls"]):
            name, arguments = self.question["calls"][len(tables)]
            return calling((name, fill(arguments, tables)))
        key = re.findall(r"--- result \[(\w{6})\]", results[-1])[0]
        rows = [[row.get(column, "") for column in self.question["columns"]] for row in tables[-1]]
        return json.dumps(rows, ensure_ascii=False).translate({91: "(", 93: ")"}) + f" [{key}]."


def rows_of(answer: Answer) -> list[list[str]]:
    """Return the table that an answer's text holds."""
    text = re.sub(r" \[\d+\]\.$", "", answer.text).translate({40: "[", 41: "]"})
    return [list(map(str, row)) for row in json.loads(text)]


def plain(value: Any) -> Any:
    """Return a value as both sides show it."""
    if value is None or value == "null":
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return round(Decimal(str(value)), 6)
    except InvalidOperation:
        return str(value)


def compare(found: Sequence[Sequence[Any]], wanted: Sequence[Sequence[Any]], ordered: bool) -> None:
    one, other = ([[plain(v) for v in row] for row in rows] for rows in (found, wanted))
    if not ordered:
        one, other = sorted(one, key=repr), sorted(other, key=repr)
    assert one == other


# --- the questions


def ask(docs: Collection, question: Mapping[str, Any]) -> tuple[Answer, ScriptedLLM]:
    reader = Reader(question)
    answer = docs.ask(
        question["question"], llm=reader.llm, strategy="agent", now=NOW, time_zone="UTC"
    )
    return answer, reader.llm


@pytest.mark.parametrize("question", QUESTIONS, ids=[q["question"] for q in QUESTIONS])
@pytest.mark.few(20)
def test_a_question_is_answered_as_plain_sql_does(
    archive: Archive, question: Mapping[str, Any]
) -> None:
    answer, _ = ask(archive.docs, question)
    wanted = archive.connection.execute(question["sql"]).fetchall()
    assert wanted and answer.strategy == "agent", answer.notes
    compare(rows_of(answer), wanted, question["ordered"])
    assert answer.tool_results[0].name == question["calls"][-1][0]
    assert not any("figures" in note for note in answer.notes)


def test_there_are_sixty_questions() -> None:
    assert len({question["question"] for question in QUESTIONS}) == 60


@pytest.fixture(scope="module")
def guest(archive: Archive) -> Iterator[tuple[Collection, psycopg.Connection[Any]]]:
    """A role that sees the documents of Bern, and of the customers those of Switzerland."""
    run = archive.connection.execute
    run("CREATE ROLE guest_of_bern LOGIN")
    run("GRANT USAGE ON SCHEMA rag TO guest_of_bern")
    run("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rag TO guest_of_bern")
    run("GRANT SELECT ON ALL TABLES IN SCHEMA rag TO guest_of_bern")
    run("GRANT SELECT ON papers TO guest_of_bern")
    run("GRANT SELECT (name, country, joined) ON customers TO guest_of_bern")
    for table, condition in (
        ("rag.documents", "metadata ->> 'city' = 'Bern'"),
        ("rag.chunks", "metadata ->> 'city' = 'Bern'"),
        ("papers", "city = 'Bern'"),
        ("customers", "country = 'CH'"),
    ):
        run(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY".encode())
        run(f"CREATE POLICY bern ON {table} TO guest_of_bern USING ({condition})".encode())
    dsn = make_conninfo(archive.dsn, user="guest_of_bern")
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        Rag(dsn, settings=archive.rag.settings, embedders={"hash": lambda n: HashEmbedder(n)})
        as rag,
    ):  # fmt: skip
        yield rag.collection("docs"), connection
    for table in ("rag.documents", "rag.chunks", "papers", "customers"):
        run(f"DROP POLICY bern ON {table}".encode())
        run(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())
    run("DROP OWNED BY guest_of_bern")
    run("DROP ROLE guest_of_bern")


def test_a_role_with_fewer_rights_learns_nothing_beyond_them(
    archive: Archive, guest: tuple[Collection, psycopg.Connection[Any]]
) -> None:
    docs, connection = guest
    hidden = ["Zürich", "Basel", "Lugano", "secret of", "gold", "silver", "DE\t", "FR\t"]
    answered = 0
    for question in QUESTIONS:
        asked = json.dumps(question["calls"], ensure_ascii=False) + question["question"]
        try:
            wanted = connection.execute(question["sql"]).fetchall()
            answer, llm = ask(docs, question)
        except (psycopg.errors.InsufficientPrivilege, IndexError, ValueError):
            continue  # plain SQL may not either, or there is nothing to go on with
        told = "\n".join(m.content for call in llm.calls for m in call.messages)
        told += json.dumps([dict(t.parameters) for t in llm.calls[0].tools])
        assert not [word for word in hidden if word in told and word not in asked]
        if answer.strategy == "agent" and wanted:
            compare(rows_of(answer), wanted, question["ordered"])
            answered += 1
    assert answered > 30


def test_what_a_model_is_told_of_the_tools_is_small(archive: Archive) -> None:
    _, llm = ask(archive.docs, QUESTIONS[0])
    (call, *_) = llm.calls
    told = [t.name + t.description + json.dumps(dict(t.parameters)) for t in call.tools]
    assert len(call.tools) >= 11
    assert estimate_tokens(["\n".join([call.messages[0].content, *told])])[0] < 4000
    assert estimate_tokens(["\n".join(told)])[0] < 2500
