"""A set is run: each question is asked, and what was found is recorded as it comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rag_pg.answer import OWN_WORDS, read_statements, without_marks
from rag_pg.db import Database
from rag_pg.errors import (
    InvalidInput,
    ModelUnavailable,
    NotFound,
    ProviderAuth,
    ProviderError,
    ProviderUnavailable,
    RagError,
    SchemaMismatch,
)
from rag_pg.evaluation.types import EvalRun
from rag_pg.providers import LEFT_OUT
from rag_pg.threads import Threads
from rag_pg.types import Answer, EvalQuery, Hits

BATCH = 100
# Questions that fail one after another, at first and after some were answered: what is asked is
# down, or wrong for all.
AT_FIRST, IN_A_ROW = 5, 10
_OF_THE_CALL = (InvalidInput, NotFound, SchemaMismatch)  # where all fail by it: it leaves no run

Result = Mapping[str, Any]
Report = Callable[[int, int], None]


def run_set(
    database: Database,
    set_name: str,
    collection: str,
    ask: Callable[[str], tuple[Result, Sequence[str]]],
    *,
    kind: str,
    settings: Mapping[str, Any],
    name: str = "",
    at_once: int = 1,
    progress: Report | None = None,
) -> EvalRun:
    """Ask each question of a set, record the results a batch at a time, and return the run.

    A question that fails is recorded with its error, and the others are asked all the same. One
    whose embedder, reranker, helper or model gave no answer is among them, though words, the search
    as it was asked or the documents' own text answered it: a run measures its settings. What a
    helper answered that is of no use is measured. Where the first `AT_FIRST` fail, or
    `IN_A_ROW` one after another, the run ends unfinished, with what was recorded.

    Args:
        ask: a question to what rag.put_eval_results takes of it, and notes on what was degraded.
        at_once: how many questions are asked side by side.
        progress: called with how many were asked, of how many.
    Raises: NotFound (no such set), InvalidInput (the set is empty, all questions fail by the
        options), and what stands in the way of every question, such as a key that is refused.
    """
    queries = database.list_eval_queries(set_name)
    if not queries:
        raise InvalidInput(f"evaluation set {set_name!r} has no questions: import some")
    run_id = database.value(
        int, "start_eval_run", set_name=set_name, collection=collection, kind=kind,
        settings=plain_settings(settings), run_name=name,
    )  # fmt: skip
    notes: Counter[str] = Counter()
    results: list[Result] = []
    failed: list[RagError] = []  # one after another
    for done, (query, found) in enumerate(_ask_all(queries, ask, at_once), 1):
        if isinstance(found, RagError):
            failed.append(found)
            results.append({"query_id": query.query_id, "error": str(found)})
        else:
            result, remarks = found
            error = next(filter(LEFT_OUT.match, remarks), None)
            failed = [] if error is None else [*failed, ProviderError(error)]
            results.append({**result, "query_id": query.query_id, "error": error})
            notes.update(remarks)
        none_answered = done == len(failed)
        if none_answered:
            is_over = done == min(AT_FIRST, len(queries))
        else:
            is_over = len(failed) == IN_A_ROW and done < len(queries)
        if is_over and none_answered and isinstance(failed[0], _OF_THE_CALL):
            database.call("drop_eval_run", run_id=run_id)
            raise failed[0]
        if is_over or len(results) == BATCH or done == len(queries):
            database.call("put_eval_results", run_id=run_id, results=results)
            results = []
        if progress is not None:
            progress(done, len(queries))
        if is_over:
            raise _ended(failed, run_id, done, len(queries)) from failed[0]
    told = [text if n == 1 else f"{text} ({n} questions)" for text, n in notes.most_common(20)]
    database.call("finish_eval_run", run_id=run_id, notes=told)
    return find_run(database, run_id)


def _ended(failed: Sequence[RagError], run_id: int, done: int, total: int) -> RagError:
    """The error of a run that ends, of a kind that its caller may know."""
    kinds = (ProviderAuth, ProviderUnavailable, ModelUnavailable, ProviderError)
    kind = next((one for one in kinds if isinstance(failed[0], one)), RagError)
    return kind(
        f"{failed[0]}; {len(failed)} questions in a row failed, so run {run_id} ended after {done}"
        f" of {total}: mend it and run the set again"
    )


def find_run(database: Database, run_id: int) -> EvalRun:
    """Raises: NotFound."""
    run = database.row(EvalRun, "list_eval_runs", wanted_run=run_id)
    if run is None:
        raise NotFound(f"there is no evaluation run {run_id}; rag-pg eval show lists them")
    return run


def _ask_all(
    queries: Sequence[EvalQuery],
    ask: Callable[[str], tuple[Result, Sequence[str]]],
    at_once: int,
) -> Iterator[tuple[EvalQuery, tuple[Result, Sequence[str]] | RagError]]:
    """Yield each question with what came of it, in order."""

    def attempt(query: EvalQuery) -> tuple[Result, Sequence[str]] | RagError:
        try:
            return ask(query.question)
        except RagError as exc:
            return exc

    if at_once == 1:
        for query in queries:
            yield query, attempt(query)
        return
    with Threads(at_once, "rag-pg-eval") as threads:
        for start in range(0, len(queries), BATCH):
            batch = queries[start : start + BATCH]
            yield from zip(batch, threads.map(attempt, batch), strict=True)


def search_result(hits: Hits, *, cosine: bool) -> tuple[Result, Sequence[str]]:
    """What a run records of a search.

    The confidence is the best similarity: that of the embeddings, 0 to 1. cosine: whether the
    collection measures by it; elsewhere there is none.
    """
    near = [1 - hit.vector_distance for hit in hits if hit.vector_distance is not None]
    return {
        "hits": [{"chunk_id": hit.chunk_id, "score": hit.score} for hit in hits],
        "confidence": max(near, default=None) if cosine else None,
        "seconds": hits.seconds,
        "prompt_tokens": hits.usage.prompt_tokens,
        "answer_tokens": hits.usage.answer_tokens,
        "cost": hits.cost,
    }, hits.notes


def answer_result(answer: Answer) -> tuple[Result, Sequence[str]]:
    """What a run records of an answer: its hits are those of its searches, in order; the confidence
    is the probability that it is right."""
    hits: dict[int, Mapping[str, Any]] = {}
    for step in answer.steps:
        for hit in step.detail.get("hits", ()) if step.kind == "search" else ():
            hits.setdefault(hit["chunk_id"], {"chunk_id": hit["chunk_id"], "score": hit["score"]})
    return {
        "hits": list(hits.values()),
        **_support(answer),
        "confidence": answer.support,
        "answer": answer.text,
        "answered": answer.found,
        "seconds": answer.seconds,
        "prompt_tokens": answer.usage.prompt_tokens,
        "answer_tokens": answer.usage.answer_tokens,
        "cost": answer.cost,
    }, answer.notes


def _support(answer: Answer) -> dict[str, int]:
    """How many statements and citations the answer has, how many statements are supported by what
    they cite, and how many citations support their statement.

    Citation recall and precision as in ALCE (Gao et al., EMNLP 2023): every statement counts, one
    that cites nothing as not supported; a source counts once for each statement that cites it. Of
    the documents' own words those that are cited count. Nothing where nobody checked the citations.
    """
    if not answer.found or any(citation.status is None for citation in answer.citations):
        return {}
    wrong = {text.strip() for text in answer.unsupported}
    results = {result.number for result in answer.tool_results}
    own_words = answer.model in OWN_WORDS
    statements, supported, citations, supporting = 0, 0, 0, 0
    for one in read_statements(without_marks(answer.text)):
        inside = range(one.start, one.stop)
        cited = [citation for citation in answer.citations if citation.start in inside]
        citations += len({citation.number for citation in cited})
        is_cited = bool(cited) or not results.isdisjoint(one.numbers)
        statements += is_cited or not own_words
        if one.text.strip() in wrong:
            continue
        proven = {c.number for c in cited if c.is_proven and c.supports is not False}
        supported += bool(proven) or not results.isdisjoint(one.numbers)
        supporting += len(proven)
    return {
        "statements": statements,
        "supported_statements": supported,
        "citations": citations,
        "supporting_citations": supporting,
    }


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Options as JSON: a model or a function stands by its name."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): plain(one) for key, one in value.items()}
        if isinstance(value, list | tuple | set):
            return [plain(one) for one in value]
        if value is None or isinstance(value, str | int | float | bool):
            return value
        return str(getattr(value, "name", None) or getattr(value, "__name__", None) or value)

    return {key: plain(value) for key, value in settings.items()}
