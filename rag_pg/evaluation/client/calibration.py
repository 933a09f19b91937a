"""Calibration of a collection: measured and stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from rag_pg.answer import PASSAGES
from rag_pg.client import OpenCollection
from rag_pg.db import Database
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.calibrate import Observation, distinct_questions, observe
from rag_pg.evaluation.calibrate import calibrate as fit
from rag_pg.evaluation.generate import Estimate
from rag_pg.evaluation.judgement import estimate_judgements, judge_observations
from rag_pg.protocols import LLM, Reranker
from rag_pg.search import Scorer, SearchOptions, accounted, open_helper
from rag_pg.text import estimate_tokens
from rag_pg.types import Calibration, EvalQuery
from rag_pg.version import __version__

STORED = ("set_name", "settings", "features", "answerable_weights", "right_weights",
    "evidence_floor", "thresholds", "answered", "correct", "question_count", "answerable_count",
    "refuse_below", "answer_from", "context_ratio", "figures", "judge_model",
    "judge_version")  # fmt: skip
UNJUDGED = 0.05  # share of the questions whose judgement may fail


def calibrate(
    opened: OpenCollection,
    set_name: str,
    *,
    off_corpus: str | None,
    accuracy: float,
    judge: bool,
    llm: str | LLM | None,
    max_tokens: int | None,
    max_cost: float | None,
    rerank: str | Reranker | None,
    progress: Callable[[int, int], None] | None,
) -> None:
    """See `CollectionEvaluation.calibrate`."""
    from rag_pg.answer import JUDGEMENT_VERSION

    if not 0 < accuracy < 1:
        raise InvalidInput(f"accuracy is {accuracy}; use a share between 0 and 1, as 0.9")
    model = _judge(opened, llm) if judge or llm is not None else None
    database = opened.rag.database
    database.require_insert("calibrations")
    if model is not None:
        database.require_insert("eval_verdicts")
    own, others, repeated = _questions(opened, set_name, off_corpus)
    items = []
    scorer = opened.searcher.scorer({"rerank": rerank, "rerank_timeout": None})
    if rerank is not None and scorer is None:
        raise InvalidInput(
            "to rerank, a language model is called for each question: name a cross-encoder, or let"
            " the model judge"
        )
    for done, item in enumerate(
        chain(
            observe_questions(opened, set_name, own, scorer=scorer),
            observe_questions(opened, off_corpus or "", others, off_corpus=True, scorer=scorer),
        ),
        1,
    ):
        if item is not None:
            items.append(item)
        if progress is not None:
            progress(done, len(own) + len(others))
    settings = {"limit": PASSAGES, "accuracy": accuracy, "release": __version__,
        "off_corpus": off_corpus, "repeated_questions": repeated}  # fmt: skip
    if scorer is not None:
        settings["rerank"] = scorer.reranker.name
    plain = fit(items, set_name=set_name, settings=settings)
    found = _with_zones(database, plain, accuracy)
    if model is not None:
        with accounted(
            database, opened.name, "evaluation", max_tokens=max_tokens, max_cost=max_cost
        ) as account:
            judged, failures = judge_observations(
                items, account.meter(model, "judge"), database, progress=progress
            )
        if len(failures) > UNJUDGED * len(items):
            raise InvalidInput(
                f"{model.name} judged {len(judged)} of {len(items)} questions, too few to"
                f" calibrate with: {failures[0]}; call again, what was judged is kept"
            )
        by_model = _with_zones(
            database, fit(judged, set_name=set_name, settings=settings), accuracy
        )
        by_model = replace(
            by_model,
            judge_model=model.name,
            judge_version=JUDGEMENT_VERSION,
            figures={**by_model.figures, "unjudged_questions": len(failures)},
        )
        found = replace(found, judged=by_model)
    database.put_calibration(opened.name, stored_values(found))


def estimate_calibration(
    opened: OpenCollection, set_name: str, *, off_corpus: str | None, llm: str | LLM | None
) -> Estimate:
    """See `CollectionEvaluation.estimate_calibration`."""
    own, others, _ = _questions(opened, set_name, off_corpus)
    return estimate_judgements(
        opened.rag.database,
        opened.name,
        _judge(opened, llm),
        questions=len(own) + len(others),
        passages=PASSAGES,
    )


def _questions(
    opened: OpenCollection, set_name: str, off_corpus: str | None
) -> tuple[list[EvalQuery], list[EvalQuery], int]:
    """The different questions of both sets, and how many of the first are repeated."""
    database = opened.rag.database
    queries = database.list_eval_queries(set_name)
    own = distinct_questions(queries)
    others = distinct_questions(database.list_eval_queries(off_corpus)) if off_corpus else []
    return own, others, len(queries) - len(own)


def _judge(opened: OpenCollection, llm: str | LLM | None) -> LLM:
    """The model that judges passages. Raises: InvalidInput."""
    model = open_helper(opened.rag.models, llm)
    if model is None:
        raise InvalidInput(
            "passages are judged by a language model: name one, or set RAG_PG_HELPER_LLM"
        )
    return model


def _with_zones(database: Database, found: Calibration, accuracy: float) -> Calibration:
    """Return a calibration with its bounds, and the support from which on answers are right as
    often as wanted; 1: nothing shows that."""
    bounds = database.lower_bounds(found.correct, found.answered)
    found = replace(found, lower_bounds=bounds)
    threshold = found.threshold_for(accuracy)
    return replace(found, answer_from=1.0 if threshold is None else threshold)


def stored_values(found: Calibration) -> dict[str, Any]:
    """Return what rag.put_calibration is given."""
    values = {name: getattr(found, name) for name in STORED}
    if found.judged is not None:
        values["judged"] = stored_values(found.judged)
    return values


def observe_questions(
    opened: OpenCollection,
    set_name: str,
    queries: Sequence[EvalQuery],
    *,
    off_corpus: bool = False,
    scorer: Scorer | None = None,
) -> Iterator[Observation | None]:
    """Yield what each question of a set shows about when answers are right; None: nothing was
    found.

    Args:
        off_corpus: the questions are about other matters than the documents.
        scorer: the reranker of the searches.
    Raises: InvalidInput (the embedder or the reranker does not answer), and as `search`.
    """
    from rag_pg.answer import Retriever

    database = opened.rag.database
    searcher = opened.unsampled().searcher
    options: SearchOptions = {"limit": PASSAGES, "cache": False}
    if scorer is not None:
        options |= {"rerank": scorer.reranker, "rerank_timeout": scorer.timeout}
    retriever = Retriever(searcher, options, now=datetime.now(UTC))
    for query in queries:
        hits = searcher.search(query.question, **options)
        if "vector" in hits.skipped:
            raise InvalidInput(
                f"the embedder did not answer ({'; '.join(hits.notes)}): calibrate when it does"
            )
        if "rerank" in hits.skipped:
            raise InvalidInput(f"{'; '.join(hits.notes)}: calibrate when the reranker answers")
        evidence = retriever.examine(query.question, hits)
        if scorer is not None and evidence is not None and not evidence.reranker:
            raise InvalidInput(f"{'; '.join(evidence.notes)}: calibrate when the reranker answers")
        relevant: list[int] = []
        if query.relevant and hits:
            relevant = database.values(
                int, "_relevant_chunks", of_collection=opened.name, of_set=set_name,
                of_query=query.query_id, found_chunks=[hit.chunk_id for hit in hits],
            )  # fmt: skip
        yield observe(
            query,
            hits,
            evidence,
            estimate_tokens,
            relevant=relevant,
            off_corpus=off_corpus,
            read_around=retriever.read_around,
        )
