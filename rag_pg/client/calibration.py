"""Calibration of a collection: measured, stored, read for an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from rag_pg.client.answers import Answers
from rag_pg.client.ask_options import PASSAGES
from rag_pg.client.search import Searching
from rag_pg.errors import InvalidInput
from rag_pg.protocols import Embedder
from rag_pg.text import estimate_tokens
from rag_pg.types import Calibration, EvalQuery, Vectors
from rag_pg.version import __version__

if TYPE_CHECKING:
    from rag_pg.evaluation import Observation

STORED = ("set_name", "settings", "features", "answerable_weights", "right_weights",
    "evidence_floor", "thresholds", "answered", "correct", "question_count", "answerable_count",
    "refuse_below", "answer_from", "context_ratio", "figures")  # fmt: skip


class Calibrating(Searching, Answers):
    """The methods of `Collection` about when its answers are right."""

    def calibrate(
        self,
        set_name: str,
        *,
        off_corpus: str | None = None,
        accuracy: float = 0.9,
        progress: Callable[[int, int], None] | None = None,
    ) -> Calibration:
        """Ask the questions of a set, measure with which evidence their extractive answers are
        right, and store it: `ask` then tells how surely it answers, and refuses by it.

        An answer is right when one of its first two citations holds one of the question's answers;
        of a question without such texts, when its first source is one of the relevant documents.

        Args:
            set_name: some hundreds of questions, with unanswerable ones that come near.
            off_corpus: a set of questions about other matters; they are measured, not fitted to.
            accuracy: 0 to 1; an answer stands without a hedge from the support on at which answers
                are right at least that often, by the exact lower bound.
            progress: called with how many were asked, of how many.
        Raises: NotFound, InvalidInput (too few questions), and as `search`.
        """
        from rag_pg.evaluation import calibrate

        if not 0 < accuracy < 1:
            raise InvalidInput(f"accuracy is {accuracy}; use a share between 0 and 1, as 0.9")
        database = self.rag.database
        database.require_insert("calibrations")
        own = database.list_eval_queries(set_name)
        others = database.list_eval_queries(off_corpus) if off_corpus else []
        items = []
        for done, item in enumerate(
            chain(observe_questions(self, own), observe_questions(self, others, off_corpus=True)), 1
        ):
            if item is not None:
                items.append(item)
            if progress is not None:
                progress(done, len(own) + len(others))
        settings = {"limit": PASSAGES, "accuracy": accuracy, "release": __version__,
            "off_corpus": off_corpus}  # fmt: skip
        found = calibrate(items, set_name=set_name, settings=settings)
        bounds = database.lower_bounds(found.correct, found.answered)
        found = replace(found, lower_bounds=bounds)
        threshold = found.threshold_for(accuracy)
        found = replace(found, answer_from=1.0 if threshold is None else threshold)
        values = asdict(found)
        database.put_calibration(self.name, {name: values[name] for name in STORED})
        stored = self.calibration()
        assert stored is not None  # it was written just now
        return stored

    def calibration(self) -> Calibration | None:
        """What is stored of when this collection's answers are right; None: nothing."""
        return self.rag.database.get_calibration(self.name)

    def drop_calibration(self) -> bool:
        """Forget when answers are right; whether that was stored."""
        return self.rag.database.drop_calibration(self.name)


class RememberedSentences:
    """An embedder that embeds each text once: questions of a set find the same passages."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vectors] = {}
        self.name, self.fingerprint = embedder.name, embedder.fingerprint
        self.dimensions, self.provider = embedder.dimensions, embedder.provider
        self.max_tokens = embedder.max_tokens
        self.count_tokens = embedder.count_tokens

    def embed_query(self, text: str) -> Vectors:
        return self._embedder.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._embedder.embed_documents(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def observe_questions(
    collection: Searching, queries: Sequence[EvalQuery], *, off_corpus: bool = False
) -> Iterator[Observation | None]:
    """Yield what each question shows about when answers are right; None: nothing was found.

    Args:
        off_corpus: the questions are about other matters than the documents.
    Raises: InvalidInput (the embedder does not answer), and as `search`.
    """
    from rag_pg.answer import examine
    from rag_pg.evaluation import observe

    terms = partial(collection.rag.database.match_terms, collection.name)
    spread = collection.rag.database.cosine_spread(collection.info.collection_id)
    embedder: Embedder | None = None
    searching = collection._unsampled()
    for query in queries:
        hits = searching.search(query.question, limit=PASSAGES, cache=False)
        if "vector" in hits.skipped:
            raise InvalidInput(
                f"the embedder did not answer ({'; '.join(hits.notes)}): calibrate when it does"
            )
        embedder = embedder or RememberedSentences(collection.embedder)
        evidence = examine(
            query.question, hits, embedder=embedder, match_terms=terms, spread=spread
        )
        yield observe(query, hits, evidence, estimate_tokens, off_corpus=off_corpus)
