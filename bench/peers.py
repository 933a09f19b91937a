"""How good is the hybrid search beside others'? Quality, time and empty answers on the same vectors and the same server.

    make bench-peers        or: python bench/peers.py [SET …] [--dsn postgresql://…] [--only STORE …]      default: scifact

The peers are installed into a virtual environment of their own, bench/out/peers-venv; bench/peer_stores/ says how
each is set up. Every store gets a fresh database, dropped afterwards, and every search is asked for 100 hits. A store
that fails is listed with its error. Sets: those with a ready vector of every text (scifact, anthropic-docs, squad2-dev,
xquad-en).

"found nothing": questions that got no hit at all. "auto - this": the mean by which rag_pg's default leads in nDCG@10, with
its 95 % interval over the questions; an interval that holds 0 is a tie.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import data
import ir_measures
import psycopg
from ir_measures import R, nDCG
from peer_stores import STORES
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from rich.console import Console
from rich.table import Table
from sqlalchemy import URL

from rag_pg.config import Settings
from rag_pg.db.embedded import EmbeddedServer

OUT = Path(__file__).parent / "out"
REQUIREMENTS = (
    "langchain-postgres==0.0.19",
    "llama-index-vector-stores-postgres==0.9.0",
    "pgvector-haystack==8.1.2",
    "lancedb==0.40.0",
    "psycopg[binary]>=3.3",
    "numpy>=1.26",
)
MEASURES = (nDCG @ 10, R @ 100)
BASE = ("rag_pg", "auto (default)")
DATABASE = "bench_peers"
TIMEOUT = 3600  # seconds for one store


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", default=["scifact"])
    parser.add_argument("--dsn", help="default: RAG_PG_DSN, else the embedded server")
    parser.add_argument("--only", nargs="+", choices=STORES, default=list(STORES), metavar="STORE")
    options = parser.parse_args()
    evaluations = [data.read(name) for name in options.sets]
    for evaluation in evaluations:
        bare = len(evaluation.documents.keys() - evaluation.document_vectors.keys())
        bare += len(evaluation.queries.keys() - evaluation.query_vectors.keys())
        if bare:
            sys.exit(f"set {evaluation.name}: {bare} texts have no ready vector; take another set")
    settings = Settings.from_environment()
    dsn = options.dsn or settings.dsn or EmbeddedServer(settings.home / "postgres").start()
    python = install()
    report: dict[str, Any] = {"server": about(dsn), "sets": {}}
    for evaluation in evaluations:
        rows = []
        for store in options.only:
            print(f"{evaluation.name}: {store}", file=sys.stderr)
            rows += scored(store, run(store, evaluation.name, dsn, python), evaluation)
        compare(rows)
        report["sets"][evaluation.name] = rows
        Console(width=max(150, Console().width)).print(table(evaluation, rows))
        for row in rows:
            if "error" in row:
                print(f"{row['store']}, {row['mode']} failed: {row['error']}")
        OUT.mkdir(exist_ok=True)
        (OUT / "peers.json").write_text(json.dumps(report, indent=1))


def install() -> Path:
    """Return the Python of the peers' environment, made or made anew when what it should hold has changed."""
    folder = OUT / "peers-venv"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = folder / "requirements.txt"
    wanted = "\n".join(REQUIREMENTS)
    if not done.exists() or done.read_text() != wanted:
        print(f"installing the peers into {folder}", file=sys.stderr)
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        done.write_text(wanted)
    return python


def about(dsn: str) -> dict[str, str]:
    with psycopg.connect(dsn) as db:
        rows = db.execute(
            """SELECT 'postgresql', current_setting('server_version') UNION ALL
               SELECT 'pgvector', default_version FROM pg_available_extensions WHERE name = 'vector' UNION ALL
               SELECT 'shared_buffers', current_setting('shared_buffers')"""
        )
        return dict(rows.fetchall())


def run(store: str, set_name: str, dsn: str, python: Path) -> list[dict[str, Any]]:
    """Measure one store in a process of its own; return what it reported, its failure included."""
    script = str(Path(__file__).parent / "peer_stores" / "run.py")
    interpreter = sys.executable if store == BASE[0] else str(python)
    folder = tempfile.mkdtemp(prefix="peers-")
    place = folder
    environment = os.environ | {"HAYSTACK_TELEMETRY_ENABLED": "False"}
    try:
        if store != "lancedb":
            place = fresh_database(dsn)
        done = subprocess.run(
            [interpreter, "-P", script, store, set_name, place],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env=environment,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            lines.append({"mode": "-", "error": reason})
        return lines
    except subprocess.TimeoutExpired:
        return [{"mode": "-", "error": f"not done after {TIMEOUT} s"}]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if store != "lancedb":
            drop_database(dsn)


def fresh_database(dsn: str) -> str:
    """Make the database anew; return its URL, the form that every peer reads."""
    drop_database(dsn)
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
    parts: dict[str, Any] = conninfo_to_dict(dsn) | {"dbname": DATABASE}
    known = {"username": "user", "password": "password", "port": "port", "database": "dbname"}
    given = {theirs: parts.pop(ours, None) for theirs, ours in known.items()}
    given["port"] = int(given["port"] or 5432)
    return URL.create("postgresql", **given, query=parts).render_as_string(hide_password=False)


def drop_database(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(DATABASE))
        )


def scored(
    store: str, lines: list[dict[str, Any]], evaluation: data.EvalSet
) -> list[dict[str, Any]]:
    """Return a row for each search of a store."""
    facts: dict[str, Any] = {"store": store}
    modes: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if "mode" in line:
            modes.setdefault(line.pop("mode"), []).append(line)
        else:
            facts |= line
    judgements = [
        ir_measures.Qrel(query, document, score)
        for query, scores in evaluation.qrels.items()
        for document, score in scores.items()
    ]
    rows = []
    for mode, answers in modes.items():
        row = facts | {"mode": mode}
        rows.append(row)
        if "error" in answers[-1]:
            row["error"] = answers[-1]["error"]
            continue
        ranking = [
            ir_measures.ScoredDoc(answer["query"], key, -place)
            for answer in answers
            for place, key in enumerate(answer["ids"])
        ]
        values = ir_measures.calc_aggregate(MEASURES, judgements, ranking)
        single = ir_measures.iter_calc([nDCG @ 10], judgements, ranking)
        times = sorted(answer["ms"] for answer in answers)
        row |= {str(measure): float(values[measure]) for measure in MEASURES}
        row["per_query"] = {metric.query_id: metric.value for metric in single}
        row["p50"] = statistics.median(times)
        row["p95"] = times[math.ceil(0.95 * len(times)) - 1]
        row["nothing"] = sum(not answer["ids"] for answer in answers)
    return rows


def compare(rows: list[dict[str, Any]]) -> None:
    """Add to each row by how much rag_pg's default leads it, question by question."""
    base = next((r.get("per_query") for r in rows if (r["store"], r["mode"]) == BASE), None)
    for row in rows:
        own = row.pop("per_query", None)
        if base and own and (row["store"], row["mode"]) != BASE:
            leads = [base[query] - own.get(query, 0.0) for query in base]
            row["lead"] = statistics.fmean(leads)
            row["lead_interval"] = 1.96 * statistics.stdev(leads) / math.sqrt(len(leads))


def table(evaluation: data.EvalSet, rows: list[dict[str, Any]]) -> Table:
    title = f"{evaluation.name}: {len(evaluation.documents)} documents, {len(evaluation.queries)} questions"
    shown = Table("store", "search", title=title, box=None)
    for name in (
        *map(str, MEASURES),
        "auto - this",
        "p50 ms",
        "p95 ms",
        "ingest s",
        "found nothing",
    ):
        shown.add_column(name, justify="right")
    for row in rows:
        if "error" in row:
            shown.add_row(row["store"], row["mode"], "failed")
            continue
        lead = f"{row['lead']:+.3f} ± {row['lead_interval']:.3f}" if "lead" in row else ""
        shown.add_row(
            row["store"],
            row["mode"],
            *(f"{row[str(measure)]:.3f}" for measure in MEASURES),
            lead,
            *(f"{row[name]:.1f}" for name in ("p50", "p95", "ingest")),
            str(row["nothing"]),
        )
    return shown


if __name__ == "__main__":
    main()
