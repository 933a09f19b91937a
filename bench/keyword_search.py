"""Keyword search benchmark: rag._rank_keyword beside GIN + ts_rank_cd, GIN + ts_rank,
tantivy and bm25s.

    make bench-keyword-search
    python bench/keyword_search.py [--dsn postgresql://…] --sizes 10000 100000

Corpus: the abstracts of arxiv-100k under RAG_PG_EVAL_DATA. More than 100,000 chunks are
synthesised: the first half of one abstract, the second half of another,
and two pseudo-words drawn from a Zipf-like tail.
Queries: 2-3 words ("short") or 8-15 words ("long") of one sentence of the corpus, stop words left
out. Time is the backend's on-CPU time (/proc/PID/schedstat) where the server is local, and wall
time. tantivy and bm25s run in process when they are installed; their times are wall times of one
thread. Prints a table; writes OUT.json and, with matplotlib, OUT.png.
Leaves its databases (bench_keyword_N) in place.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from lib.clock import Timer, percentile, scalar
from lib.corpus import abstracts, fill, queries

from rag_pg import Settings
from rag_pg.db.embedded import EmbeddedServer


def build(db: psycopg.Connection, texts: list[str], size: int) -> dict[str, Any]:
    """Load `size` chunks and index them; return sizes and rates."""
    fill(db, texts, size)
    with Timer(db) as gin:
        db.execute("CREATE INDEX bench_gin ON rag.chunks_1 USING gin (lexemes)")
    with Timer(db) as index:
        db.execute("SELECT rag._index_chunks(1, (SELECT array_agg(chunk_id) FROM rag.chunks))")
    db.execute("VACUUM ANALYZE")
    size_of = partial(scalar, db)
    return {
        "build_us_per_chunk": index.cpu * 1e3 / size,
        "gin_build_us_per_chunk": gin.cpu * 1e3 / size,
        "index_bytes": size_of(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r' AND"
            " relname ~ '^keyword_.*_1$'"
        ),
        "gin_bytes": size_of("SELECT pg_relation_size('rag.bench_gin')"),
        "tsvector_bytes": size_of("SELECT sum(pg_column_size(lexemes))::bigint FROM rag.chunks"),
    }


def run(db: psycopg.Connection, sql: str, rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    wall, cpu = [], []
    for row in rows[:6]:
        db.execute(sql, row).fetchall()
    for row in rows:
        with Timer(db) as timer:
            db.execute(sql, row).fetchall()
        wall.append(timer.wall)
        cpu.append(timer.cpu)
    return {
        "cpu_p50": percentile(cpu, 0.5),
        "cpu_p95": percentile(cpu, 0.95),
        "wall_p50": percentile(wall, 0.5),
        "wall_p95": percentile(wall, 0.95),
        "queries": len(rows),
    }


def searches(
    db: psycopg.Connection, asked: dict[str, list[str]], slow_queries: int
) -> dict[str, Any]:
    results = {}
    for kind, texts in asked.items():
        for limit in (10, 100):
            results[f"{kind} top-{limit}"] = run(
                db, "SELECT * FROM rag._rank_keyword(1, %s, %s)", [(t, limit) for t in texts]
            )
        for share in (10, 100, 1000):
            results[f"{kind} top-10, 1/{share} pass"] = run(
                db,
                "SELECT * FROM rag._rank_keyword(1, %s, 10, %s)",
                [(t, f"""c.metadata @> '{{"p{share}": 3}}'""") for t in texts],
            )
        either = [
            (
                scalar(
                    db,
                    "SELECT string_agg(rag._term_query(word)::text, ' | ')"
                    " FROM rag._query_terms(1, %s)",
                    (t,),
                ),
            )
            for t in texts[:slow_queries]
        ]
        has_gin = scalar(db, "SELECT to_regclass('rag.bench_gin')")
        for rank in ("ts_rank_cd", "ts_rank") if has_gin else ():
            results[f"{kind} top-10, GIN + {rank}"] = run(
                db,
                f"WITH q AS (SELECT %s::tsquery AS q) SELECT c.chunk_id, {rank}(c.lexemes, q) FROM"
                " rag.chunks AS c, q WHERE c.collection_id = 1 AND c.lexemes @@ q ORDER BY 2 DESC,"
                " 1 LIMIT 10",
                either,
            )
    return results


TUNED = {"shared_buffers": "2GB", "work_mem": "64MB"}


def tuned_searches(
    server: EmbeddedServer, name: str, asked: dict[str, list[str]]
) -> dict[str, Any]:
    """The unfiltered searches once more with TUNED settings;
    the server is restarted before and after."""

    def restart(command: str) -> str:
        with psycopg.connect(server.start(), autocommit=True) as db:
            for setting, value in TUNED.items():
                db.execute(command.format(setting, value))
        server.stop()
        return server.start()

    dsn = restart("ALTER SYSTEM SET {} = '{}'")
    try:
        with psycopg.connect(
            psycopg.conninfo.make_conninfo(dsn, dbname=name), autocommit=True
        ) as db:
            return {
                f"tuned: {kind} top-{limit}": run(
                    db, "SELECT * FROM rag._rank_keyword(1, %s, %s)", [(t, limit) for t in texts]
                )
                for kind, texts in asked.items()
                for limit in (10, 100)
            }
    finally:
        restart("ALTER SYSTEM RESET {}")


def inserts(db: psycopg.Connection, batch: int, chunks: int = 16000) -> dict[str, Any]:
    """Cost per chunk of writing `chunks` more in statements of `batch`:
    with GIN(tsvector), and with this index."""
    result = {}
    db.execute("DROP INDEX IF EXISTS rag.bench_gin")
    db.execute(
        "CREATE TABLE bench_plain (LIKE rag.chunks INCLUDING DEFAULTS INCLUDING STORAGE); CREATE"
        " INDEX ON bench_plain USING gin (lexemes);ALTER TABLE bench_plain ADD PRIMARY KEY"
        " (collection_id, chunk_id)"
    )
    db.execute("INSERT INTO bench_plain SELECT * FROM rag.chunks")
    db.execute("VACUUM bench_plain")
    top = scalar(db, "SELECT max(chunk_id) + 1 FROM rag.chunks")
    copy = """
        INSERT INTO {} (collection_id, chunk_id, content, metadata, lexemes, lexeme_count)
        SELECT 1, chunk_id + %s, content, metadata, lexemes, lexeme_count FROM rag.chunks
        WHERE collection_id = 1 AND chunk_id >= %s AND chunk_id < %s
    """
    for name, table in (("row + GIN(tsvector)", "bench_plain"), ("row + this index", "rag.chunks")):
        with Timer(db) as timer:
            for start in range(0, chunks, batch):
                with db.transaction():
                    db.execute(copy.format(table), (top, start, start + batch))
                    if table == "rag.chunks":
                        db.execute(
                            "SELECT rag._index_chunks(1, %s::bigint[])",
                            (list(range(top + start, top + start + batch)),),
                        )
        result[f"{name}, {batch} per statement"] = timer.cpu * 1e3 / chunks
    db.execute("DROP TABLE bench_plain")
    return result


def in_process(db: psycopg.Connection, asked: dict[str, list[str]]) -> dict[str, Any]:
    """tantivy and bm25s over the same lexemes."""
    results: dict[str, Any] = {}
    try:
        import bm25s
        import numpy as np
        import tantivy
    except ImportError as missing:
        return {"skipped": str(missing)}
    ids: dict[str, int] = {}
    fields = tantivy.SchemaBuilder()
    fields.add_text_field("b", stored=False, tokenizer_name="whitespace", index_option="freq")
    fields.add_unsigned_field("id", stored=True)
    index = tantivy.Index(fields.build())
    writer = index.writer(300_000_000, 1)
    corpus = []
    with psycopg.connect(db.info.dsn) as other, other.cursor(name="all") as rows:
        rows.execute(
            "SELECT chunk_id, array_agg(u.lexeme), array_agg(cardinality(u.positions))"
            " FROM rag.chunks, unnest(lexemes) AS u GROUP BY 1"
        )
        for chunk_id, words, counts in rows:
            tokens = [
                ids.setdefault(w, len(ids))
                for w, n in zip(words, counts, strict=True)
                for _ in range(n)
            ]
            corpus.append(np.array(tokens, dtype=np.int32))
            document = tantivy.Document()
            document.add_text("b", " ".join(f"t{t}" for t in tokens))
            document.add_unsigned("id", chunk_id)
            writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    model.index((corpus, {str(i): i for i in range(len(ids))}), show_progress=False)
    for kind, texts in asked.items():
        lexed = [
            [
                ids[w]
                for (w,) in db.execute("SELECT word FROM rag._query_terms(1, %s)", (t,))
                if w in ids
            ]
            for t in texts
        ]
        for name in ("tantivy", "bm25s"):
            walls = []
            for tokens in lexed:
                start = time.perf_counter()
                if name == "tantivy":
                    searcher.search(index.parse_query(" ".join(f"t{t}" for t in tokens), ["b"]), 10)
                else:
                    np.argpartition(model.get_scores_from_ids(tokens), -10)[-10:]
                walls.append((time.perf_counter() - start) * 1e3)
            results[f"{kind} top-10, {name}"] = {
                "wall_p50": percentile(walls, 0.5),
                "wall_p95": percentile(walls, 0.95),
                "queries": len(walls),
            }
    return results


def plot(report: dict[str, Any], path: Path) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        return
    figure, axes = plt.subplots(
        1, len(report["sizes"]), figsize=(7 * len(report["sizes"]), 6), squeeze=False
    )
    for axis, (size, part) in zip(axes[0], report["sizes"].items(), strict=True):
        shown = {
            n: r.get("cpu_p50", r.get("wall_p50"))
            for n, r in part["searches"].items()
            if isinstance(r, dict)
        }
        axis.barh(list(shown), list(shown.values()), log=True)
        axis.invert_yaxis()
        axis.set_title(f"{int(size):,} chunks: ms, p50")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--dsn",
        help="default: the embedded server under RAG_PG_HOME, then also with tuned settings",
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--slow-queries", type=int, default=8, help="queries for the GIN rankings")
    parser.add_argument("--reuse", action="store_true", help="keep databases built before")
    parser.add_argument("--out", default=str(Path(__file__).parent / "out" / "keyword"))
    options = parser.parse_args()
    server = None if options.dsn else EmbeddedServer(Settings.from_environment().home / "postgres")
    dsn = server.start() if server else options.dsn
    Path(options.out).parent.mkdir(exist_ok=True)
    texts = abstracts()
    asked = queries(texts, options.queries)
    report: dict[str, Any] = {"sizes": {}}
    for size in options.sizes:
        name = f"bench_keyword_{size}"
        with psycopg.connect(dsn, autocommit=True) as admin:
            exists = admin.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", (name,)
            ).fetchone()
            if not (options.reuse and exists):
                admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
                admin.execute(f"CREATE DATABASE {name}")
        part: dict[str, dict[str, Any]] = {}
        with psycopg.connect(
            psycopg.conninfo.make_conninfo(dsn, dbname=name), autocommit=True
        ) as db:
            report["server"] = scalar(db, "SELECT version()")
            report["settings"] = dict(
                db.execute(
                    "SELECT name, current_setting(name) FROM pg_settings WHERE name IN"
                    " ('shared_buffers', 'work_mem', 'jit', 'max_parallel_workers_per_gather')"
                ).fetchall()
            )
            if not (options.reuse and exists):
                part["build"] = build(db, texts, size)
            part["searches"] = searches(db, asked, options.slow_queries if size <= 100_000 else 2)
            if size <= 100_000:
                part["searches"] |= in_process(db, asked)
                if not (options.reuse and exists):
                    part["inserts_us_per_chunk"] = inserts(db, 16) | inserts(db, 1024)
        if server:
            part["searches"] |= tuned_searches(server, name, asked)
        report["sizes"][str(size)] = part
        Path(options.out + ".json").write_text(json.dumps(report, indent=1))
        print(f"\n{size:,} chunks")
        for group in ("build", "inserts_us_per_chunk"):
            for key, value in part.get(group, {}).items():
                print(f"  {key:42} {value:>14,.0f}")
        for key, value in part["searches"].items():
            if isinstance(value, dict):
                print(f"  {key:42}", *(f"{k} {v:9.1f}" for k, v in value.items()))
    plot(report, Path(options.out + ".png"))


if __name__ == "__main__":
    main()
