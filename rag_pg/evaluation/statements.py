"""Rows of evaluation's functions, and statements that more than one place makes."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pg.db import Database
from rag_pg.errors import RagError


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedQuery:
    """What became of an entry: a row of rag.put_eval_queries."""

    entry_number: int
    query_id: str | None
    state: str
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SampledChunk:
    """A chunk to make a question of."""

    chunk_id: int
    uri: str
    title: str
    heading: str
    content: str
    start_offset: int | None
    stop_offset: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultRow:
    """What a run found for a question."""

    query_id: str
    category: str
    hits: Sequence[Mapping[str, Any]]
    ndcg: float | None
    seconds: float | None
    error: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class EqualRun:
    """A run that would find the same again."""

    run_id: int
    kind: str
    settings: Mapping[str, Any]
    model_fingerprint: str | None
    chunking: Mapping[str, Any]


def line_of(exc: Exception) -> str:
    """An error on one line; with its class where it is not ours."""
    text = " ".join(str(exc).split())
    return (
        text if isinstance(exc, RagError) and text else f"{type(exc).__name__}: {text}".rstrip(": ")
    )


def kept_verdict(
    database: Database,
    judged: Sequence[object],
    judge_version: str,
    since: float,
    ask: Callable[[], Mapping[str, Any]],
) -> Mapping[str, Any]:
    """Return what a judging model said of the same before, else what it is asked now, which is
    kept. since: `time.monotonic()` before what is judged was read."""
    key = hashlib.sha256(json.dumps(judged, ensure_ascii=False).encode()).digest()
    known: Mapping[str, Any] | None = database.optional(
        dict, "_read_verdict", wanted_hash=key, wanted_version=judge_version
    )
    if known is None:
        known = ask()
        database.call(
            "_keep_verdict", given_hash=key, given_version=judge_version, given_verdict=known,
            age=time.monotonic() - since,
        )  # fmt: skip
    return known


def sample_chunks(
    database: Database, collection: str, count: int, shortest: int, seed: int
) -> list[SampledChunk]:
    return database.rows(
        SampledChunk,
        "_sample_chunks",
        of_collection=collection,
        sample_size=count,
        shortest=shortest,
        seed=seed,
    )
