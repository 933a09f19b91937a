"""The guide to structured questions: its SQL, Python and commands run as they stand."""

import datetime
import os
import shlex
from pathlib import Path
from typing import Any

import psycopg
from command_line import run
from paths import ROOT, blocks

from rag_pg import Rag

GUIDE = (ROOT / "docs" / "guides" / "structured.md").read_text(encoding="utf-8")
CONTRACTS = [
    {"uri": f"contracts/{n}.md", "content": f"Contract {n}",
     "metadata": {"kind": "contract", "parties": ["us", party], "amount": 100 * n,
                  "signed": f"202{n}-02-29" if n == 4 else f"202{n}-03-01",
                  "due": f"20{n}9-01-01"}}
    for n, party in enumerate(["Hall Ltd", "Brush & Co", "Hall Ltd", "Safe AG", "Hall Ltd"])
]  # fmt: skip


def test_every_example_of_the_guide_runs(
    rag: Rag, dsn: str, connection: psycopg.Connection[Any], tmp_path: Path
) -> None:
    docs = rag.collection("kb", model="hash:32")
    docs.add(*CONTRACTS, wait=False)
    role = f"guide_reader_{os.getpid()}"
    connection.execute(
        f"""CREATE ROLE {role}; CREATE SCHEMA app;
            CREATE TABLE app.customers (id integer, name text);
            CREATE TABLE app.orders (id integer, customer_id integer, total numeric,
                                     ordered_at timestamptz);
            INSERT INTO app.customers VALUES (1, 'Ann'), (2, 'Bob');
            INSERT INTO app.orders VALUES (1, 1, 50, now()), (2, 1, 150, now()), (3, 2, 200, now())
        """.encode()
    )
    try:
        for block in blocks(GUIDE, "sql"):
            connection.execute(block.replace("rag_reader", role).encode())
        statement = blocks(GUIDE, "sql")[1]
        found = [row for (row,) in connection.execute(statement.encode())]
        assert found == [
            {"contracts": 1, "total": 100 * year, "year(signed)": 2020 + year}
            for year in (4, 3, 2, 1)
        ]
        for block in blocks(GUIDE, "python"):
            exec(compile(block, "structured.md", "exec"), {
                "rag": rag, "docs": docs, "date": datetime.date,
            })  # fmt: skip
        assert docs.metadata.find_values("parties", "hal ldt")[0].value == "Hall Ltd"
        environment = {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(tmp_path), "PATH": os.defpath}
        for line in "".join(blocks(GUIDE, "bash")).replace("\\\n", "").splitlines():
            arguments = shlex.split(line)[1:]
            done = run(*arguments, environment=environment, cwd=tmp_path)
            assert done.returncode == 0 and done.stdout, (line, done.stderr)
    finally:
        connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())
