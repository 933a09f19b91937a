"""The evaluation sets: one layout, read through RAG_PG_EVAL_DATA and never copied;
and where figures are kept."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np


def folder(name: str) -> Path:
    """Return the folder of a set, or end the program saying what is missing."""
    root = os.environ.get("RAG_PG_EVAL_DATA")
    if not root or not (Path(root) / name).is_dir():
        sys.exit(
            f"skipped: set RAG_PG_EVAL_DATA to a folder that holds {name}/ (corpus, queries, qrels)"
        )
    return Path(root) / name


def keep(name: str, found: object) -> None:
    """Write what a benchmark found to out/<name>.json, beside what it prints."""
    out = Path(__file__).parents[1] / "out" / f"{name}.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(found, indent=1))


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalSet:
    """Documents, queries and judgements; vectors by id where the set brings them."""

    name: str
    documents: dict[str, dict[str, str]]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]
    document_vectors: dict[str, np.ndarray]
    query_vectors: dict[str, np.ndarray]


def read(name: str, *, limit: int | None = None) -> EvalSet:
    """Read a set; `limit` keeps the first documents and the queries answered by them."""
    path = folder(name)
    documents = {d["_id"]: d for d in islice(lines(path / "corpus.jsonl"), limit)}
    qrels: dict[str, dict[str, int]] = {}
    for line in (path / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, score = line.split("\t")
        if int(score) > 0 and document in documents:
            qrels.setdefault(query, {})[document] = int(score)
    queries = {q["_id"]: q["text"] for q in lines(path / "queries.jsonl") if q["_id"] in qrels}
    vectors: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] = ({}, {})
    if (path / "minilm.npz").exists():
        ready = np.load(path / "minilm.npz")
        vectors = (
            dict(zip(ready["doc_ids"], ready["docs"], strict=True)),
            dict(zip(ready["query_ids"], ready["queries"], strict=True)),
        )
    return EvalSet(
        name=name,
        documents=documents,
        queries=queries,
        qrels=qrels,
        document_vectors=vectors[0],
        query_vectors=vectors[1],
    )


def together(evaluations: Sequence[EvalSet], name: str) -> EvalSet:
    """Sets as one; ids get the set's name in front, and a query's relevant documents stay those of
    its own set."""
    return EvalSet(
        name=name,
        documents={f"{e.name}/{i}": d for e in evaluations for i, d in e.documents.items()},
        queries={f"{e.name}/{i}": q for e in evaluations for i, q in e.queries.items()},
        qrels={
            f"{e.name}/{i}": {f"{e.name}/{d}": grade for d, grade in found.items()}
            for e in evaluations
            for i, found in e.qrels.items()
        },
        document_vectors={
            f"{e.name}/{i}": v for e in evaluations for i, v in e.document_vectors.items()
        },
        query_vectors={f"{e.name}/{i}": v for e in evaluations for i, v in e.query_vectors.items()},
    )


def dealt(evaluations: Sequence[EvalSet]) -> list[EvalSet]:
    """Translations of one set, dealt out: the i-th document stays in one of them, with the queries
    whose relevant documents all stay."""
    parts = []
    for number, one in enumerate(evaluations):
        documents = dict(islice(one.documents.items(), number, None, len(evaluations)))
        queries = {i: q for i, q in one.queries.items() if one.qrels[i].keys() <= documents.keys()}
        parts.append(replace(one, documents=documents, queries=queries))
    return parts


def read_part(text: str) -> EvalSet:
    """Read the set that SET or SET:N names; N keeps its first N documents."""
    name, _, count = text.partition(":")
    return read(name, limit=int(count) if count else None)


def records(evaluation: EvalSet, *, ready: bool = False) -> Iterator[dict[str, object]]:
    """Yield the documents as chunks for Collection.add_chunks, with the set's vectors if wanted."""
    for key, document in evaluation.documents.items():
        record: dict[str, object] = {
            "uri": key,
            "title": document.get("title") or "",
            "content": document["text"] or document.get("title") or "-",
        }
        if ready and key in evaluation.document_vectors:
            record["embedding"] = evaluation.document_vectors[key].astype(np.float32)
        yield record


def lines(path: Path) -> Iterator[dict[str, str]]:
    """Yield the records of a JSON Lines file, or of it with .gz."""
    opener = gzip.open if not path.exists() else open
    source = path if path.exists() else path.with_name(path.name + ".gz")
    with opener(source, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
