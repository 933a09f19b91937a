"""A ranking that another program made, in TREC's form -> a run of a set."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path

from rag_pg.db import Database
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.run import BATCH, find_run
from rag_pg.evaluation.types import EvalRunImport, Rejected
from rag_pg.text import undecoded
from rag_pg.types import EvalQuery

FIELDS = 6  # query, Q0, document, rank, score, tag


def import_run(
    database: Database, set_name: str, collection: str, path: Path, *, name: str = ""
) -> EvalRunImport:
    """Store a ranking as a run, judged like any other.

    Documents are put in order by score, as trec_eval does, equal ones by rank. One that is not in
    the collection keeps its rank. A question without a line found nothing; one whose passages are
    judged is left out, for the ranking is of documents.

    Args:
        path: lines of query id, Q0, uri, rank, score and tag, parted by tabs or spaces. name: a
            label; default: the tag.
    Raises: InvalidInput (it cannot be read, no line is of the set), NotFound.
    """
    queries = {query.query_id: query for query in database.list_eval_queries(set_name)}
    rejected: list[Rejected] = []
    rankings, tag = _read(path, rejected)
    known = {key: found for key, found in rankings.items() if key in queries}
    if not known:
        first = f"; {rejected[0]}" if rejected else ""
        raise InvalidInput(f"{path}: no line is of a question of set {set_name!r}{first}")
    uris = sorted({uri for found in known.values() for uri in found})
    missing = database.values(str, "_missing_documents", of_collection=collection, uris=uris)
    passages = [key for key, query in queries.items() if _judges_passages(query)]
    judged = [key for key in queries if key not in passages]
    unranked = sum(1 for key in judged if key not in known)
    notes = [
        f"{count} {what}"
        for count, what in (
            (len(missing), "documents of the ranking are not in the collection"),
            (unranked, "questions have no line: nothing was found for them"),
            (len(passages), "questions are left out: passages are judged"),
        )
        if count
    ]
    run_id = database.value(
        int, "start_eval_run", set_name=set_name, collection=collection, kind="search",
        settings={"imported": tag}, run_name=name or tag,
    )  # fmt: skip
    for start in range(0, len(judged), BATCH):
        results = [
            {"query_id": key, "hits": _hits(known.get(key, {}))}
            for key in judged[start : start + BATCH]
        ]
        database.call("put_eval_results", run_id=run_id, results=results)
    database.call("finish_eval_run", run_id=run_id, notes=notes)
    return EvalRunImport(
        run=find_run(database, run_id),
        ranked=sum(len(found) for found in known.values()),
        missing=missing,
        unknown=sorted(rankings.keys() - known.keys()),
        unranked=unranked,
        passages=len(passages),
        rejected=rejected,
    )


def _judges_passages(query: EvalQuery) -> bool:
    return any("quote" in one or "start" in one for one in query.relevant)


def _hits(found: Mapping[str, tuple[float, int]]) -> list[dict[str, object]]:
    ordered = sorted(found.items(), key=lambda item: (-item[1][0], item[1][1]))
    return [{"uri": uri, "score": score} for uri, (score, _) in ordered]


def _read(
    path: Path, rejected: list[Rejected]
) -> tuple[dict[str, dict[str, tuple[float, int]]], str]:
    """Score and rank of each document by question, and the tag of the run."""
    rankings: dict[str, dict[str, tuple[float, int]]] = {}
    tag = ""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
    except OSError as exc:
        raise InvalidInput(f"cannot read {path}: {exc}") from exc
    for number, line in enumerate(text.split("\n"), 1):
        if fault := undecoded(line):
            rejected.append(Rejected(file=path.name, line=number, reason=fault))
            continue
        line = line.rstrip("\r")
        if not line.strip():
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        try:
            query_id, _, uri, rank, score, tag = fields
            found = (float(score), int(rank))
            if not isfinite(found[0]):
                raise ValueError(f"the score is {score}")
        except ValueError as exc:
            reason = f"{len(fields)} fields, not {FIELDS}" if len(fields) != FIELDS else str(exc)
            rejected.append(Rejected(file=path.name, line=number, reason=reason))
            continue
        if uri in rankings.setdefault(query_id, {}):
            rejected.append(
                Rejected(
                    file=path.name, line=number, reason=f"{uri} is ranked twice for {query_id}"
                )
            )
            continue
        rankings[query_id][uri] = found
    return rankings, tag
