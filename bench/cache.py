"""What a hit of the cache costs and saves, what writers pay for it, and how often a semantic cache
gives an answer to another question.

    python bench/cache.py [hits] [writes] [semantic] [--pairs 3000]

hits: searches and extractive answers over squad2-dev, and query vectors, with and without the
cache. writes: rag.put_document and a bulk load with rag._note_change and without. semantic: pairs
of a question of squad2-dev and the same with a number, a negation, a name or a comparison changed,
and with another question of the same paragraph: how many are as near as the threshold, and how many
of these also have the same words; and the same for rephrasings that ask for the same.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

import numpy as np
import psycopg
from lib import data
from lib.clock import percentile
from rich.console import Console
from rich.table import Table
from scipy.stats import binomtest

from rag_pg import Cache, Rag
from rag_pg.cache import Entries, UseCounter, ask_the_same
from rag_pg.client.collection import Collection
from rag_pg.db import schema

COLLECTION = "bench-cache"
THRESHOLD = 0.95
PARTS = ("hits", "writes", "semantic")
Row = dict[str, object]
Call = Callable[[str, Cache | bool], object]
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_NUMBER = re.compile(r"\d+")
_VERB = re.compile(r"\b(is|are|was|were|did|does|do|can|could|has|have|had|will|would)\b", re.I)
OPPOSITES = {
    "first": "last", "largest": "smallest", "most": "least", "more": "less", "before": "after",
    "highest": "lowest", "oldest": "newest", "above": "below", "with": "without", "north": "south",
    "higher": "lower", "greater": "smaller", "longest": "shortest", "earliest": "latest",
}  # fmt: skip
_OPPOSITE = re.compile(rf"\b({'|'.join(OPPOSITES)})\b")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=PARTS, choices=[*PARTS, []])
    parser.add_argument("--pairs", type=int, default=3000, help="changed questions, at most")
    arguments = parser.parse_args()
    found: dict[str, Sequence[Row]] = {}
    with Rag(cache=False) as rag:
        if "hits" in arguments.parts:
            found["hits"] = hits(rag)
        if "writes" in arguments.parts:
            found["writes"] = writes(rag)
        if "semantic" in arguments.parts:
            found["semantic"] = semantic(rag, arguments.pairs)
    for name, rows in found.items():
        table = Table(*rows[0], title=name)
        for row in rows:
            table.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))
        Console().print(table)
    data.keep("cache", found)


def hits(rag: Rag) -> list[Row]:
    """Milliseconds with a hit, with a miss and without the cache."""
    corpus = data.read("squad2-dev")
    docs = rag.collection(COLLECTION, model="minilm")
    if rag.database.count_documents(COLLECTION, metadata_filter={}) == 0:
        docs.add(*({"uri": key, "content": d["text"]} for key, d in corpus.documents.items()))
    rag.admin.clear_cache()
    questions = list(corpus.queries.values())[:300]
    docs.search(questions[0], cache=False)
    docs.ask(questions[0], cache=False)
    kept = Cache(embeddings=True, searches=True, answers=True)
    rows = []
    calls: Mapping[str, Call] = {
        "search": lambda question, cache: docs.search(question, cache=cache),
        "answer": lambda question, cache: docs.ask(question, cache=cache),
        "embedding": lambda question, cache: _embed(rag, docs, question, cache),
    }
    for name, call in calls.items():
        row: Row = {"what": name}
        for kind, cache in (("none", False), ("miss", kept), ("hit", kept)):
            times = _times(questions, call, cache)
            row |= {f"{kind} p50 ms": median(times), f"{kind} p95 ms": percentile(times, 0.95)}
        rows.append(row)
    rag.drop_collection(COLLECTION)
    return rows


def _embed(rag: Rag, docs: Collection, question: str, cache: Cache | bool) -> object:
    """The vector of a question as a provider's would be looked up: minilm itself is not kept."""
    if cache is False:
        return docs.embedder.embed_query(question)
    entries = Entries(lambda: rag.database, Cache(), UseCounter(lambda: rag.database))
    key = question.encode()
    looked = entries.look("embedding", [key])
    if looked.values[0] is None:
        vector = docs.embedder.embed_query(question)
        entries.keep("embedding", {key: vector.tobytes()}, looked.version)
    return looked


def _times(questions: Sequence[str], call: Call, cache: Cache | bool) -> list[float]:
    times = []
    for question in questions:
        started = time.perf_counter()
        call(question, cache)
        times.append((time.perf_counter() - started) * 1e3)
    return times


def writes(rag: Rag) -> list[Row]:
    """Microseconds a document with its change noted and not, turn about."""
    assert rag.dsn is not None
    seconds: dict[tuple[str, bool], list[float]] = {}
    chunk = " ".join(f"word{number}" for number in range(150))
    with psycopg.connect(rag.dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection(%s, 'none', 384)", [COLLECTION])
        number = 0
        for turn in range(20):
            noted = turn % 2 == 1
            if not noted:
                connection.execute(
                    "CREATE OR REPLACE FUNCTION rag._note_change(collection_id integer)"
                    " RETURNS void LANGUAGE sql AS ''"
                )
            else:
                schema.upgrade(rag.dsn)
            for name, statement, count in WRITES:
                started = time.perf_counter()
                for _ in range(count):
                    number += 1
                    connection.execute(statement, [COLLECTION, f"{number}", chunk])
                seconds.setdefault((name, noted), []).append(
                    (time.perf_counter() - started) / count
                )
        schema.upgrade(rag.dsn)
        connection.execute("SELECT rag.drop_collection(%s)", [COLLECTION])
    return [
        {
            "what": name,
            "without us": median(seconds[name, False]) * 1e6,
            "with us": median(seconds[name, True]) * 1e6,
            "least without us": min(seconds[name, False]) * 1e6,
            "least with us": min(seconds[name, True]) * 1e6,
        }
        for name, _, _ in WRITES
    ]


WRITES = (
    ("rag.put_document", "SELECT rag.put_document(%s, %s, %s)", 100),
    (
        "rag.put_chunks",
        "SELECT rag.put_chunks(%s, %s, pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object("
        "'content', %s::text, 'embedding', array_fill(0.1, ARRAY[384]))))",
        50,
    ),
)


def semantic(rag: Rag, count: int) -> list[Row]:
    """How many pairs are near, and how many of those would be given the same answer."""
    corpus = data.read("squad2-dev")
    questions = list(corpus.queries.values())
    paragraph = {key: next(iter(judged)) for key, judged in corpus.qrels.items()}
    chance = random.Random(1)
    changed = [pair for q in questions for pair in _changed(q, questions, chance)]
    chance.shuffle(changed)
    neighbours = [
        ("another of the paragraph", one, other)
        for (a, one), (b, other) in zip(
            list(corpus.queries.items()), list(corpus.queries.items())[1:], strict=False
        )
        if paragraph.get(a) == paragraph.get(b) and one != other
    ]
    same = [pair for q in questions[:1000] for pair in _rephrased(q)]
    embedder = rag.embedder("minilm")
    rows = []
    for group, pairs in (
        ("other", changed[:count]),
        ("other", neighbours),
        ("the same", same),
    ):
        one = np.stack([embedder.embed_query(q) for _, q, _ in pairs])
        other = np.stack([embedder.embed_query(q) for _, _, q in pairs])
        near = (one * other).sum(axis=1) >= THRESHOLD
        equal = np.array([ask_the_same(a, b) for _, a, b in pairs])
        kinds = [kind for kind, _, _ in pairs]
        names = list(dict.fromkeys(kinds))
        for kind in [*names, "all"] if len(names) > 1 else names:
            chosen = np.array([kind in (k, "all") for k in kinds])
            hit = int((near & equal & chosen).sum())
            interval = binomtest(hit, int(chosen.sum())).proportion_ci(0.95, "exact")
            rows.append(
                {
                    "asks for": group,
                    "pairs": kind,
                    "count": int(chosen.sum()),
                    "near": float(near[chosen].mean()),
                    "given": hit / int(chosen.sum()),
                    "95 % interval": f"{interval.low:.4f} to {interval.high:.4f}",
                }
            )
    return rows


def _changed(
    question: str, questions: Sequence[str], chance: random.Random
) -> Iterator[tuple[str, str, str]]:
    """The question with one thing changed, as written and in small letters."""
    found: list[tuple[str, str]] = []
    if number := _NUMBER.search(question):
        other = str(int(number[0]) + chance.choice([1, 10, 100]))
        found.append(("number", question[: number.start()] + other + question[number.end() :]))
    if verb := _VERB.search(question):
        found.append(("negation", f"{question[: verb.end()]} not{question[verb.end() :]}"))
    names = _NAME.findall(question)
    if names:
        others = _NAME.findall(chance.choice(questions))
        if others and others[0] not in names:
            found.append(("name", question.replace(names[0], others[0], 1)))
        if len(set(names)) > 1:
            swapped = question.replace(names[0], "\0").replace(names[1], names[0])
            found.append(("names swapped", swapped.replace("\0", names[1])))
    if word := _OPPOSITE.search(question):
        other = OPPOSITES[word[0]]
        found.append(("comparison", question[: word.start()] + other + question[word.end() :]))
    for kind, other in found:
        if other != question:
            yield kind, question, other
            yield f"{kind}, small letters", question.lower(), other.lower()


def _rephrased(question: str) -> Iterator[tuple[str, str, str]]:
    """The question in other forms that ask for the same."""
    yield "small letters, no mark", question, question.lower().rstrip("?")
    yield "please", question, f"Please tell me: {question}"
    without = re.sub(r"\b(?:the|a|an) ", "", question)
    if without != question:
        yield "no articles", question, without
    short = re.sub(r"^(What|Who|Where) is\b", r"\1's", question)
    if short != question:
        yield "contraction", question, short
    if match := re.match(r"(What|Which) (.+)", question):
        other = "Which" if match[1] == "What" else "What"
        yield "another question word", question, f"{other} {match[2]}"


if __name__ == "__main__":
    main()
