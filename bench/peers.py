"""How good and how fast is the hybrid search beside others'? The same vectors,
server and questions.

    make bench-peers             or: python bench/peers.py [SET[:N] …] [--only STORE …]
    make bench-peers ARGS="scifact arxiv-100k:40000 --short"     8 minutes: without the libraries

SET:N is the first N documents of a set (default: scifact). Needed is a ready vector of every text:
scifact, anthropic-docs, squad2-dev, xquad-en, arxiv-100k:40000 have them.

The peers are installed into a virtual environment of their own, bench/out/peers-venv;
bench/lib/peer_stores/ says how each is set up. Each store has a process and a fresh database,
dropped afterwards. When all are filled, each question is asked of every search of every store in
turn, first for 10 hits, then for 100, so that all of them meet the same load. A store or search
that fails is listed with its error.

wall: the median of a call. CPU: the median of what the call took of the processors: in the
process that asks, all its threads, plus in the server processes of the store's database (where the
server is local). Workers of a parallel query end before they are read: the table tells where some
ran. "found nothing": questions without a hit. "auto - this": the mean by which rag_pg's default
leads in nDCG@10, with its 95 % interval over the questions; one that holds 0 is a tie.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import ir_measures
import psycopg
from ir_measures import R, nDCG
from lib import data
from lib.clock import cpu_ms, percentile, scalar
from lib.peer_stores import SHORT, STORES
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from rich.console import Console
from rich.table import Table
from sqlalchemy import URL

from rag_pg.config import Settings
from rag_pg.db.embedded import EmbeddedServer

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "bench" / "out"
REQUIREMENTS = (
    "langchain-postgres==0.0.19",
    "llama-index-vector-stores-postgres==0.9.0",
    "pgvector-haystack==8.1.2",
    "lancedb==0.40.0",
    "psycopg[binary]>=3.3",
    "numpy>=1.26",
    f"rag-pg @ {ROOT.as_uri()}",
)
MEASURES = (nDCG @ 10, R @ 100)
BASE = ("rag_pg", "auto (default)")
DATABASE = "bench_peers"
LIMITS = (10, 100)
WARM_UP = 6  # questions, not measured: connections open, plans are made and cached
TIMEOUT = 3600  # seconds for one reply; the first of a store comes when it is filled


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", default=["scifact"], metavar="SET")
    parser.add_argument("--dsn", help="default: RAG_PG_DSN, else the embedded server")
    parser.add_argument("--only", nargs="+", choices=STORES, default=list(STORES), metavar="STORE")
    parser.add_argument(
        "--short", action="store_true", help="rag_pg, LanceDB, SQL by hand; no legs; 100 questions"
    )
    parser.add_argument("--questions", type=int, help="the first ones of each set; default: all")
    options = parser.parse_args()
    if options.short:
        options.only, options.questions = SHORT, options.questions or 100
    evaluations = {name: data.read_part(name) for name in options.sets}
    for name, evaluation in evaluations.items():
        bare = len(evaluation.documents.keys() - evaluation.document_vectors.keys())
        bare += len(evaluation.queries.keys() - evaluation.query_vectors.keys())
        if bare:
            sys.exit(f"set {name}: {bare} texts have no ready vector; take SET:N or another set")
    settings = Settings.from_environment()
    dsn = options.dsn or settings.dsn or EmbeddedServer(settings.home / "postgres").start()
    python = install()
    report: dict[str, Any] = {"server": about(dsn), "sets": {}}
    for name, evaluation in evaluations.items():
        asked = list(evaluation.queries)[: options.questions]
        report["sets"][name] = found = measure(
            name, asked, options.only, dsn, python, legs=not options.short
        )
        rows = [scored(row, evaluation, asked) for row in found["rows"]]
        compare(rows)
        Console(width=max(160, Console().width)).print(table(evaluation, asked, rows))
        print(f"load average before and after the questions: {found['load']}")
        for row in rows:
            if "error" in row:
                print(f"{row['store']}, {row['mode']} failed: {row['error']}")
            if row.get("parallel"):
                print(f"{row['store']}: {row['parallel']} parallel workers, whose CPU is not told")
        OUT.mkdir(exist_ok=True)
        (OUT / "peers.json").write_text(json.dumps(report, indent=1))


def install() -> Path:
    """Return the Python of the peers' environment,
    made or made anew when what it should hold has changed."""
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
               SELECT 'pgvector', default_version FROM pg_available_extensions WHERE name = 'vector'
               UNION ALL
               SELECT 'shared_buffers', current_setting('shared_buffers')"""
        )
        return dict(rows.fetchall())


class Peer:
    """A store in a process of its own, and the server processes that work for it."""

    def __init__(self, store: str, set_name: str, dsn: str, python: Path, number: int) -> None:
        self.store = store
        self.dsn = dsn
        self.folder = tempfile.mkdtemp(prefix="peers-")
        self.database = None if store.startswith("lancedb") else f"{DATABASE}_{number}"
        address = fresh_database(dsn, self.database) if self.database else self.folder
        script = str(Path(__file__).parent / "lib" / "peer_stores" / "run.py")
        interpreter = sys.executable if store == BASE[0] else str(python)
        with (Path(self.folder) / "stderr").open("wb") as errors:
            self.process = subprocess.Popen(
                [interpreter, "-P", script, store, set_name, address],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=os.environ | {"HAYSTACK_TELEMETRY_ENABLED": "False"},
            )
        assert self.process.stdin and self.process.stdout
        self.requests, self.replies = self.process.stdin, self.process.stdout
        self.facts = self.reply()

    def ask(self, **request: object) -> dict[str, Any]:
        """Return the reply to a request; a process that has ended replies with its last words."""
        try:
            self.requests.write(json.dumps(request) + "\n")
            self.requests.flush()
        except BrokenPipeError:
            pass
        return self.reply()

    def reply(self) -> dict[str, Any]:
        if not select.select([self.replies], [], [], TIMEOUT)[0]:
            self.process.kill()
            return {"error": f"no reply in {TIMEOUT} s"}
        line = self.replies.readline()
        if line:
            return dict(json.loads(line))
        words = (Path(self.folder) / "stderr").read_text(errors="replace").strip().splitlines()
        return {"error": words[-1] if words else "the process ended without a message"}

    def backends(self, server: psycopg.Connection[Any]) -> dict[int, float]:
        """Return the milliseconds of CPU of each server process of the store's database."""
        if not self.database:
            return {}
        statement = (
            "SELECT pid FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client"
            " backend'"
        )
        return {pid: cpu_ms(pid) for (pid,) in server.execute(statement, [self.database])}

    def parallel_workers(self, server: psycopg.Connection[Any]) -> int:
        """Return how many workers of parallel queries its database has had (PostgreSQL 18)."""
        if not self.database or server.info.server_version < 180000:
            return 0
        statement = "SELECT parallel_workers_launched FROM pg_stat_database WHERE datname = %s"
        return int(scalar(server, statement, [self.database]))

    def close(self) -> None:
        self.requests.close()
        self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.database:
            drop_database(self.dsn, self.database)


def measure(
    set_name: str, asked: list[str], stores: list[str], dsn: str, python: Path, *, legs: bool
) -> dict[str, Any]:
    """Fill the stores, ask all of them in turn; return a row for each search, and the load.

    legs: whether the legs of the hybrid searches are asked alone, too.
    """
    peers = []
    try:
        for number, store in enumerate(stores):
            print(f"{set_name}: filling {store}", file=sys.stderr)
            peers.append(Peer(store, set_name, dsn, python, number))
        with psycopg.connect(dsn, autocommit=True) as server:
            load = [os.getloadavg()]
            rows: dict[tuple[str, str], dict[str, Any]] = {}
            for limit in LIMITS:
                print(f"{set_name}: asking for {limit} hits", file=sys.stderr)
                ask_in_turn(peers, asked, limit, server, rows, legs=legs)
            load.append(os.getloadavg())
    finally:
        for peer in peers:
            peer.close()
    return {"load": load, "rows": list(rows.values())}


def ask_in_turn(
    peers: list[Peer],
    asked: list[str],
    limit: int,
    server: psycopg.Connection[Any],
    rows: dict[tuple[str, str], dict[str, Any]],
    *,
    legs: bool,
) -> None:
    """Ask each question of every search; add ids, wall and CPU by limit and question to `rows`."""
    turns = []
    workers = {peer.store: peer.parallel_workers(server) for peer in peers}
    for peer in peers:
        reply = peer.facts if "error" in peer.facts else peer.ask(limit=limit)
        facts = {"store": peer.store, **peer.facts}
        if "error" in reply:
            rows[peer.store, "-"] = facts | {"mode": "-", "error": reply["error"]}
            continue
        for mode in reply["modes"]:
            if mode.endswith(" alone") and not legs:
                continue
            rows.setdefault((peer.store, mode), facts | {"mode": mode, "answers": {}})
            turns.append((peer, mode))
    for number, key in enumerate(asked[:WARM_UP] + asked):
        first = number % len(turns)
        for peer, mode in turns[first:] + turns[:first]:
            row = rows[peer.store, mode]
            if "error" in row:
                continue
            before = peer.backends(server)
            reply = peer.ask(mode=mode, query=key)
            if "error" in reply:
                row["error"] = reply["error"]
            elif number >= WARM_UP:
                after = peer.backends(server)
                reply["cpu"] += sum(ms - before.get(pid, 0.0) for pid, ms in after.items())
                reply["ids"] = reply["ids"][:limit]
                row["answers"].setdefault(limit, {})[key] = reply
    for peer, mode in turns:
        more = peer.parallel_workers(server) - workers[peer.store]
        rows[peer.store, mode]["parallel"] = rows[peer.store, mode].get("parallel", 0) + more


def fresh_database(dsn: str, name: str) -> str:
    """Make the database anew; return its URL, the form that every peer reads."""
    drop_database(dsn, name)
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    parts: dict[str, Any] = conninfo_to_dict(dsn) | {"dbname": name}
    known = {"username": "user", "password": "password", "port": "port", "database": "dbname"}
    given = {theirs: parts.pop(ours, None) for theirs, ours in known.items()}
    given["port"] = int(given["port"] or 5432)
    return URL.create("postgresql", **given, query=parts).render_as_string(hide_password=False)


def drop_database(dsn: str, name: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )


def scored(row: dict[str, Any], evaluation: data.EvalSet, asked: list[str]) -> dict[str, Any]:
    """Return what a search's answers come to; nDCG and recall are those of the longest list."""
    answers = row.pop("answers", {})
    if "error" in row:
        return row
    for limit in LIMITS:
        for what in ("wall", "cpu"):
            times = [answer[what] for answer in answers[limit].values()]
            row[f"{what} {limit}"] = statistics.median(times)
            row[f"{what} {limit} p95"] = percentile(times, 0.95)
    judgements = [
        ir_measures.Qrel(query, document, score)
        for query in asked
        for document, score in evaluation.qrels[query].items()
    ]
    ranking = [
        ir_measures.ScoredDoc(query, key, -rank)
        for query, answer in answers[LIMITS[-1]].items()
        for rank, key in enumerate(answer["ids"])
    ]
    values = ir_measures.calc_aggregate(MEASURES, judgements, ranking)
    single = ir_measures.iter_calc([nDCG @ 10], judgements, ranking)
    row |= {str(measure): float(values[measure]) for measure in MEASURES}
    row["per_query"] = {metric.query_id: metric.value for metric in single}
    row["nothing"] = sum(not answer["ids"] for answer in answers[LIMITS[-1]].values())
    return row


def compare(rows: list[dict[str, Any]]) -> None:
    """Add to each row by how much rag_pg's default leads it, question by question."""
    base = next((r.get("per_query") for r in rows if (r["store"], r["mode"]) == BASE), None)
    for row in rows:
        own = row.pop("per_query", None)
        if base and own and (row["store"], row["mode"]) != BASE:
            leads = [base[query] - own.get(query, 0.0) for query in base]
            row["lead"] = statistics.fmean(leads)
            row["lead_interval"] = 1.96 * statistics.stdev(leads) / math.sqrt(len(leads))


def table(evaluation: data.EvalSet, asked: list[str], rows: list[dict[str, Any]]) -> Table:
    title = f"{evaluation.name}: {len(evaluation.documents)} documents, {len(asked)} questions"
    title += "; wall / CPU in ms"
    shown = Table("store", "search", title=title, box=None)
    hits = [f"{limit} hits" for limit in LIMITS]
    for name in (*map(str, MEASURES), "auto - this", *hits, "ingest s", "found nothing"):
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
            *(f"{row[f'wall {limit}']:.1f} / {row[f'cpu {limit}']:.1f}" for limit in LIMITS),
            f"{row['ingest']:.1f}",
            str(row["nothing"]),
        )
    return shown


if __name__ == "__main__":
    main()
