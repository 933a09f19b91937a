"""Advice from statistics: which settings suit a collection, why, and whether that was measured.

A rule names its source: a measurement of this project, by its page, or that there is none. What
runs of question sets show of a collection goes before any rule.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rag_pg.db import Database
from rag_pg.types import Advice

FUSION = "docs/internals/fusion.md"
VECTORS = "docs/internals/vector-search.md"
# nDCG@10 of the hybrid search with minilm and with e5: docs/internals/fusion.md
MODELS = {
    "german": ("xquad-de", "0.956", "0.975"),
    "spanish": ("xquad-es", "0.968", "0.983"),
    "russian": ("xquad-ru", "0.951", "0.977"),
    "chinese": ("xquad-zh", "0.965", "0.981"),
    "french": ("piaf-fr", "0.806", "0.856"),
}
SLOW = 20_000  # chunks: 14 ms of comparisons at 384 dimensions
WORTHWHILE = 10_000  # chunks from which on an index of a field pays
READ = {"minilm": 256, "e5": 512}  # tokens of a chunk that a model reads
STEMMING = (
    "not measured here; Hull, Stemming Algorithms: A Case Study for Detailed Evaluation, JASIS 1996"
)

Traits = Mapping[str, Any]


def advise(database: Database, collection: str) -> list[Advice]:
    """Return which settings suit a collection, a row for each topic; statistics come first.

    Raises: NotFound.
    """
    traits = database.value(dict, "_collection_traits", collection=collection)
    if not traits["documents"]:
        return [
            Advice(
                topic="documents",
                current="0",
                advised="1 or more",
                reason="there is no document that this role may read: nothing to go by",
                evidence="not measured here",
                command=f"rag-pg add PATH --collection {shlex.quote(collection)}",
                figures=traits,
            )
        ]
    rows = [_statistics(traits)]
    for rule in (language, model, chunking, weights, index, fields):
        found = list(rule(collection, traits))
        if rule in (model, chunking, weights):
            ((best, evidence),) = database.tuples(
                ("best", "evidence"), "_measured_settings", collection=collection,
                topic=found[0].topic,
            )  # fmt: skip
            if evidence is not None:
                found[0] = _measured(collection, found[0], best, evidence)
        rows += found
    return rows


def _statistics(traits: Traits) -> Advice:
    words = "no" if traits["words_median"] is None else traits["words_median"]
    return Advice(
        topic="statistics",
        current=f"{traits['chunks']} chunks",
        advised=None,
        reason=f"{traits['documents']} documents and {traits['vectors']} vectors were looked at;"
        f" half of the documents have {traits['bytes_median']} bytes or less, half of the chunks"
        f" {words} words or less",
        evidence=None,
        command=None,
        figures=traits,
    )


def _measured(collection: str, row: Advice, best: str | None, evidence: str) -> Advice:
    """The row as runs of a question set have it; best: None where no gain is shown."""
    name, command = shlex.quote(collection), None
    if best is not None and row.topic == "weights":
        fusion, vector, keyword = best.split()
        command = (
            f"SELECT * FROM rag.search({literal(collection)}, query, embedding, fusion =>"
            f" {literal(fusion)}, vector_weight => {vector}, keyword_weight => {keyword})"
        )
    elif best is not None:
        verb = "reembed {} --model {}" if row.topic == "model" else "rechunk {} --chunking {}"
        command = "rag-pg " + verb.format(name, shlex.quote(best))
    return replace(row, advised=best or row.current, evidence=evidence, command=command)


def _row(
    topic: str,
    current: str,
    reason: str,
    evidence: str,
    *,
    advised: str | None = None,
    command: str | None = None,
) -> Advice:
    """advised: None where nothing is better than what is."""
    return Advice(
        topic=topic,
        current=current,
        advised=current if advised is None else advised,
        reason=reason,
        evidence=evidence,
        command=command,
        figures=None,
    )


def language(collection: str, traits: Traits) -> Iterator[Advice]:
    """The text search configuration, by the languages of the texts."""
    present = traits["settings"]["language"]
    own = present.rpartition(".")[2]
    row = partial(_row, "language", present)
    found = _by_count(traits["languages"])
    total = sum(found.values())
    summary = ", ".join(f"{name.title()} {percent(n, total)}" for name, n in found.items())
    most = next(iter(found), "")
    if total < 5:
        if traits["unspaced"] * 2 > traits["documents"]:
            yield row(
                "a script without spaces is matched by pairs of characters in any language",
                f"measured: {FUSION}, xquad-zh: keyword leg 0.963",
            )
        else:
            yield row(
                f"{total} texts tell their language by their function words: too few",
                "not measured here",
            )
    elif found[most] < 0.9 * total:
        other = next(name for name in found if name != own)
        yield row(
            f"{summary}; a query is matched in every language that a document has",
            STEMMING,
            advised="each document its own",
            command=f"SELECT rag.put_document({literal(collection)}, uri, content, language =>"
            f" {literal(other)})",
        )
    elif most == own:
        yield row(summary, STEMMING)
    elif own == (fits := most if most in traits["lexed"] else "simple") or (
        fits == "simple" and present == "rag.auto"
    ):
        yield row(f"{summary}; no text search configuration fits it", STEMMING)
    else:
        copy = shlex.quote(f"{collection}-{fits}")
        yield row(
            f"{summary}; words are matched by the stems of their own language",
            STEMMING,
            advised=fits,
            command=f"rag-pg add PATH --collection {copy} --language {fits}",
        )


def model(collection: str, traits: Traits) -> Iterator[Advice]:
    """The embedder, by the languages of the texts and by whether vectors tell documents apart."""
    present = traits["settings"]["model"]
    row = partial(_row, "model", present)
    unspaced = {"chinese": traits["unspaced"]} if traits["unspaced"] else {}
    languages = _by_count({**traits["languages"], **unspaced})
    total = sum(languages.values())
    foreign = total - languages.get("english", 0)
    lead = traits["vector_leg"]
    summary = "no text tells its language"
    if total:
        share = percent(foreign, total)
        summary = f"{share} of {total} texts whose language is told are not English"
    nearer = "a chunk is nearer to the next of its document than to one of another in"
    reembed = f"rag-pg reembed {shlex.quote(collection)} --model e5"
    if present == "minilm" and total and foreign >= 0.2 * total:
        most = next(name for name in languages if name != "english")
        evidence = (
            f"not measured here for {most.title()}; five other languages gain 0.015 to 0.050:"
            f" {FUSION}"
        )
        if most in MODELS:
            name, minilm, e5 = MODELS[most]
            evidence = f"measured: {FUSION}, {name}: nDCG@10 {minilm} with minilm, {e5} with e5"
        yield row(
            f"{summary}; minilm knows English alone",
            evidence,
            advised="e5",
            command=reembed,
        )
    elif present in ("minilm", "e5") and total and foreign < 0.2 * total:
        yield row(
            summary,
            f"measured: {FUSION}, nDCG@10 of minilm and e5: anthropic-docs 0.819 and 0.787,"
            " squad2-dev 0.910 and 0.926, xquad-en 0.980 and 0.982: neither is better in English",
        )
    elif present == "e5":
        yield row(summary, f"measured: {FUSION}, eight sets with e5")
    elif lead is not None and lead < 0.6:
        yield row(
            f"{nearer} {percent(lead, 1)} of cases: 50 % is chance",
            "not measured here: minilm and e5 alone were",
            advised="e5",
            command=reembed,
        )
    else:
        told = [] if lead is None else [f"{nearer} {percent(lead, 1)} of cases"]
        yield row(
            "; ".join([summary, *told]),
            "not measured here: minilm and e5 alone were",
        )


def chunking(collection: str, traits: Traits) -> Iterator[Advice]:
    """How texts are cut, by what their lines are, their media types and their chunks' lengths."""
    settings = traits["settings"]
    now = settings["chunking"]
    present = json.dumps(now)
    row = partial(_row, "chunking", present)
    total, plain = traits["documents"], traits.get("plain") or {}
    kinds = _by_count(traits.get("kinds") or {})
    summary = ", ".join(f"{kind} {percent(n, total)}" for kind, n in kinds.items())
    method = now.get("method", "auto")
    limits = [n for n in (now.get("max_tokens"), READ.get(settings["model"])) if n is not None]
    read = min(limits, default=256)

    def changed(**more: object) -> dict[str, str | None]:
        wanted = json.dumps({**now, **more})
        if wanted == present:
            return {}
        command = f"rag-pg rechunk {shlex.quote(collection)} --chunking {shlex.quote(wanted)}"
        return {"advised": wanted, "command": command}

    if (traits.get("words_p95") or 0) > read:
        yield row(
            f"one chunk in 20 has {traits['words_p95']} words or more, and {read} tokens are read:"
            " the rest is not embedded",
            "not measured here: rag.audit names the chunks",
            **changed(max_tokens=read),
        )
    elif method in ("auto", "text") and plain.get("markdown", 0) > 0.5 * total:
        yield row(
            f"{summary}; {percent(plain['markdown'], total)} are Markdown stored as text/plain, so"
            " their headings are cut as prose",
            "measured: docs/decisions: title and headings in front of a chunk change recall by"
            " 0.007 at most; they are shown with a hit",
            **changed(method="markdown"),
        )
    elif method in ("auto", "code") and plain.get("code", 0) > 0.5 * total:
        yield row(
            f"{summary}; {percent(plain['code'], total)} are code stored as text/plain, so"
            " functions are cut like paragraphs",
            "not measured here",
            advised="a media type that names the language",
            command=f"SELECT rag.put_document({literal(collection)}, uri, content, media_type =>"
            " 'text/x-python')",
        )
    elif method != "auto":
        yield row(
            f"{summary}; the method was chosen",
            "not measured here: bench/chunking.py compares the methods on one set",
        )
    else:
        evidence = "measured: docs/guides/enrich.md: no other setting found more"
        if kinds.get("conversation", 0) > 0.5 * total:
            evidence = (
                "measured: docs/decisions, chat logs: recall 0.973 by auto, 0.979 by"
                " conversation (standard error 0.02): no difference is shown"
            )
        elif kinds.get("code", 0) > 0.5 * total:
            evidence = "not measured here"
        yield row(summary, evidence)


def weights(collection: str, traits: Traits) -> Iterator[Advice]:
    """How the two legs are fused, by identifiers, the spread of the cosines and the lengths of the
    vectors."""
    settings = traits["settings"]
    spread = settings["similarity_spread"]
    identifiers = traits["identifiers"] or 0
    name = literal(collection)
    if traits["vectors"] >= 10 and spread is None and settings["model"] != "minilm":
        yield _row(
            "weights",
            "auto, unmeasured",
            "the spread of the cosines was never measured, so the vector leg weighs too little or"
            " too much",
            f"measured: {FUSION}, e5: 0.962, 0.955 and 0.810 unmeasured, 0.975, 0.977 and 0.856"
            " measured (xquad-de, xquad-ru, piaf-fr)",
            advised="auto",
            command=f"SELECT rag.measure_spaces(ARRAY[{name}])",
        )
    elif settings["distance"] != "cosine" and (traits["length_spread"] or 0) > 0.05:
        yield _row(
            "weights",
            "auto",
            f"the vectors differ in length by {percent(traits['length_spread'], 1)}, and auto"
            f" orders by the cosine, not by {settings['distance']}",
            f"not measured here: {FUSION} says how each orders",
            advised="rrf",
            command=f"SELECT * FROM rag.search({name}, query, embedding, fusion => 'rrf')",
        )
    else:
        told = [f"{percent(identifiers, 1)} of the words are numbers or identifiers"]
        if spread is not None:
            told.append(f"spread of cosines {spread:.3f}")
        evidence = (
            "for queries of one or two rare words auto is within 0.002 of the better leg"
            if identifiers >= 0.2
            else "auto is not below the better leg on any of 11 sets, rrf loses to the keyword leg"
            " on six"
        )
        yield _row("weights", "auto", "; ".join(told), f"measured: {FUSION}: {evidence}")


def index(collection: str, traits: Traits) -> Iterator[Advice]:
    """The kind of vector index, its memory, and dead rows in it."""
    settings = traits["settings"]
    kind, dimensions, chunks = settings["kind"], settings["dimensions"], traits["chunks"]
    name = literal(collection)
    compared = chunks <= traits["compared"]  # so few are, without an index
    hnsw = chunks * (2 * dimensions + 430.0)  # 117 MB: 100,000 of 384
    size = traits.get("index_bytes")
    if size is None:
        size = {"hnsw": hnsw, "binary": chunks * (dimensions / 8 + 320.0)}.get(kind, 0)
    buffers = traits["shared_buffers"]
    what = f"{chunks} chunks of {dimensions} dimensions"
    wanted = kind
    if not compared and kind == "exact" and chunks > SLOW:
        wanted = "binary" if dimensions > 4000 else "hnsw"
    elif not compared and kind == "binary" and dimensions <= 4000 and hnsw < 0.5 * buffers:
        wanted = "hnsw"
    measured = f"measured: {VECTORS}, 100,000 chunks of 384 dimensions"
    if compared:
        reason = f"{what}: every vector is compared, without an index"
        evidence = f"measured: {VECTORS}"
    elif kind == "exact":
        reason = f"{what}, each compared by every search"
        evidence = (
            f"{measured}: recall@10 1.000 in 72 ms exact, 0.973 in 3.5 ms by hnsw with ef_search"
            " 100"
        )
    else:
        reason = f"{what}; the index has {megabytes(size)}"
        evidence = (
            f"{measured}, ef_search 100: recall@10 0.973 by hnsw (117 MB), 0.897 by binary (35 MB)"
        )
    options = literal(json.dumps({"kind": wanted}))
    yield _row(
        "index",
        kind,
        reason,
        evidence,
        advised=wanted,
        command=None
        if wanted == kind
        else f"SELECT rag.create_space({name}, {literal(settings['model'])}, {dimensions},"
        f" {literal(settings['distance'])}, {options})",
    )
    if kind != "exact" and not compared and not traits["indexed"]:
        yield _row(
            "missing index",
            "none",
            f"{what}, each compared by every search",
            f"measured: {VECTORS}",
            advised=kind,
            command=f"SELECT rag.build_vector_index({name})",
        )
    large = size > 0.75 * buffers
    yield _row(
        "memory",
        megabytes(buffers),
        f"the index takes {percent(size, buffers)} of shared_buffers",
        "not measured here: an index that is not in memory is read from disk at random",
        advised=megabytes(2 * size) if large else None,
        command=f"ALTER SYSTEM SET shared_buffers = '{int(2 * size / 1048576) + 1}MB'"
        if large
        else None,
    )
    if (traits.get("dead_vectors") or 0) > 0.2 and not compared:
        yield _row(
            "vacuum",
            f"{percent(traits['dead_vectors'], 1)} of vectors are dead",
            f"{percent(traits['put_again'] or 0, 1)} of documents were put again; searches walk"
            " past what is dead",
            f"not measured here: {VECTORS} says what a walk does",
            advised="a vacuum",
            command=f"VACUUM rag.embeddings_{settings['space_id']}",
        )


def fields(collection: str, traits: Traits) -> Iterator[Advice]:
    """Metadata fields that an index would serve. Which filters are used is known to the
    application alone."""
    declared = ", ".join(traits["declared"]) or "none"
    row = partial(_row, "fields", declared)
    evidence = "not measured here: docs/guides/filters.md says which filters an index serves"
    undeclared: Mapping[str, str] = traits["undeclared"]
    if traits["chunks"] < WORTHWHILE:
        reason = f"fewer than {WORTHWHILE} chunks are read quickly by any filter"
        yield row(reason, evidence)
    elif not undeclared:
        yield row("no further field of numbers or dates", evidence)
    else:
        first = sorted(undeclared)[0]
        yield row(
            f"{len(undeclared)} numbers or dates without an index: a filter by a range reads every"
            " chunk; declare those that filters ask for",
            evidence,
            advised=", ".join(sorted(undeclared))[:200],
            command=f"rag-pg call index_field field={shlex.quote(first)} type={undeclared[first]}"
            f" collection={shlex.quote(collection)}",
        )


def _by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """The most frequent first, equal counts by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def literal(text: str) -> str:
    """A text as a string of SQL."""
    doubled = text.replace("'", "''")
    return f"E'{doubled}'".replace("\\", "\\\\") if "\\" in text else f"'{doubled}'"


def percent(part: float, whole: float) -> str:
    return f"{round(100 * part / whole) if whole else 0} %"


def megabytes(size: float) -> str:
    return f"{size / 1048576:.0f} MB"
