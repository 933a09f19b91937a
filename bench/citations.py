"""How often rag.check_citation accepts what its source does not say, refuses what it says, and how
long it takes.

    python bench/citations.py [--cases 10000]

Quotations are made from real paragraphs in many scripts by tests/support/citation_cases.py: true
ones as a PDF and a model leave them, false ones altered, stitched, misattributed and superseded.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from lib import data
from lib.clock import Timer, percentile, scalar
from psycopg.types.json import Jsonb
from rich.console import Console
from rich.table import Table

from rag_pg import NotFound, Rag
from rag_pg.types import PROVEN

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from citation_cases import Case, make_cases
from citation_texts import TEXTS

SETS = {"en": "xquad-en", "de": "xquad-de", "es": "xquad-es", "ru": "xquad-ru", "zh": "xquad-zh",
        "fr": "piaf-fr"}  # fmt: skip
WARM_UP = 100  # cases, before anything is measured
SLOWEST = 50  # cases that are measured again: others work on the machine, too
SHARE = 0.5  # of the cases in the six languages, the rest in the scripts of TEXTS
Row = tuple[str, float, float]  # status, CPU and wall milliseconds
CHECK = "SELECT status FROM rag.check_citation('citations', %s, %s, NULL, %s::bigint[])"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    count = parser.parse_args().cases
    sets = [
        (language, " ".join(text.split()))
        for language, name in SETS.items()
        for text in [d["text"] for d in data.read(name, limit=150).documents.values()]
    ]
    cases = [
        *make_cases(sets, int(count * SHARE), seed=1),
        *make_cases(TEXTS, count - int(count * SHARE), seed=2),
    ]
    with Rag() as rag, rag.database.connection() as connection:
        connection.autocommit = True
        with suppress(NotFound):  # of a run that was stopped
            rag.drop_collection("citations")
        ids = _store(connection, cases)
        for case in cases[:WARM_UP]:
            _check(connection, case, ids)
        rows = [_check(connection, case, ids) for case in cases]
        slow = sorted(zip(cases, rows, strict=True), key=lambda one: -one[1][1])[:SLOWEST]
        again = [median(_check(connection, case, ids)[1] for _ in range(5)) for case, _ in slow]
        hostile = _hostile(connection)
        rag.drop_collection("citations")
    _report(cases, rows, again, hostile)


def _store(connection: psycopg.Connection[Any], cases: Sequence[Case]) -> dict[str, int]:
    """Store every source as a chunk of a document of its own; return its id."""
    connection.execute("SELECT rag.create_collection('citations', 'none', 3)")
    texts = list(dict.fromkeys(t for case in cases for t in (case.source, *case.others)))
    for number, text in enumerate(texts):
        connection.execute(
            "SELECT rag.put_chunks('citations', %s, %s)", [str(number), Jsonb([{"content": text}])]
        )
    connection.execute("ANALYZE rag.chunks")
    rows = connection.execute(
        """SELECT d.uri, c.chunk_id FROM rag.chunks AS c
           JOIN rag.documents AS d USING (collection_id, document_id)
           WHERE c.collection_id = (rag._require_collection('citations')).collection_id"""
    ).fetchall()
    return {texts[int(uri)]: chunk_id for uri, chunk_id in rows}


def _check(connection: psycopg.Connection[Any], case: Case, ids: Mapping[str, int]) -> Row:
    others = [ids[text] for text in case.others]
    with Timer(connection) as timer:
        status = scalar(connection, CHECK, [ids[case.source], case.quote, others])
    return status, timer.cpu, timer.wall


def _hostile(connection: psycopg.Connection[Any]) -> list[tuple[str, float]]:
    """Return the CPU milliseconds of quotations that are made to be slow, in a long chunk."""
    prose = (TEXTS[0][1] + " ") * 20
    chunks = {"prose": prose[:8000], "one letter": "a" * 8000, "ab": "ab" * 4000,
              "cyrillic": (TEXTS[2][1] * 30)[:8000], "hyphens": "ab-\n" * 2000}  # fmt: skip
    quotes = {
        "a sentence": "Copies are made on the first Monday of each month and stored in two well",
        "1 MB": "x" * 1_000_000, "1 MB of spaces": " " * 999_000 + "a long quotation",
        "7,000 letters": "a" * 7000, "7,000, another in the middle": "a" * 3500 + "b" + "a" * 3500,
        "ab, 6,000": "ab" * 3000 + "c", "hyphens": "ab-" * 2000, "broken": "ab-\n" * 1500 + "c",
        "cyrillic": TEXTS[2][1][60:200].upper(),
    }  # fmt: skip
    found = []
    for name, text in chunks.items():
        connection.execute("SELECT rag.put_chunks('citations', %s, %s)",
                           [name, Jsonb([{"content": text}])])  # fmt: skip
        chunk = scalar(connection, "SELECT max(chunk_id) FROM rag.chunks")
        for what, quote in quotes.items():
            times = []
            for _ in range(5):
                with Timer(connection) as timer:
                    scalar(connection, CHECK, [chunk, quote, []])
                times.append(timer.cpu)
            found.append((f"{what} in {name}", median(times)))
    return found


def _report(
    cases: Sequence[Case],
    rows: Sequence[Row],
    again: Sequence[float],
    hostile: Sequence[tuple[str, float]],
) -> None:
    table = Table("kind", "cases", "wrong", "statuses")
    wrong = Counter[tuple[bool, str]]()
    for honest in (True, False):
        for kind in sorted({c.kind for c in cases if c.honest == honest}):
            found = [r[0] for c, r in zip(cases, rows, strict=True)
                     if c.kind == kind and c.honest == honest]  # fmt: skip
            wrong[honest, kind] = sum((status in PROVEN) != honest for status in found)
            counts = ", ".join(f"{n} {status}" for status, n in Counter(found).most_common())
            table.add_row(kind, str(len(found)), str(wrong[honest, kind]), counts)
    Console().print(table)
    honest_cases = sum(c.honest for c in cases)
    refused = sum(n for (honest, _), n in wrong.items() if honest)
    accepted = sum(n for (honest, _), n in wrong.items() if not honest)
    cpu = [row[1] for row in rows]
    slowest = sorted(hostile, key=lambda one: -one[1])[:5]
    print(f"{accepted} of {len(cases) - honest_cases} false ones accepted")
    print(f"{refused} of {honest_cases} true ones refused ({100 * refused / honest_cases:.2f} %)")
    print(f"CPU ms: mean {sum(cpu) / len(cpu):.2f}, p95 {percentile(cpu, 0.95):.2f}, "
          f"most {max(cpu):.2f}; of the {SLOWEST} slowest, five times again, "
          f"the largest median {max(again):.2f}")  # fmt: skip
    print("hostile, chunks of 8,000 characters, CPU ms:",
          "; ".join(f"{name} {ms:.1f}" for name, ms in slowest))  # fmt: skip
    for case, row in zip(cases, rows, strict=True):
        if (row[0] in PROVEN) != case.honest:
            print(f"{case.kind}: {row[0]}: {case.quote!r:.300}", file=sys.stderr)
    data.keep("citations", {"accepted": accepted, "refused": refused, "honest": honest_cases,
                            "cases": len(cases), "cpu": cpu, "again": again,
                            "hostile": hostile})  # fmt: skip


if __name__ == "__main__":
    main()
