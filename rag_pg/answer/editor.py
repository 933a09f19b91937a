"""A text that a model is writing -> what of it is fit to show by now."""

from __future__ import annotations

import re
from collections.abc import Callable

from rag_pg.answer.attribution.judge import Judge
from rag_pg.answer.citations import CitedText
from rag_pg.answer.fit import clean_text, fit_text, ground_text
from rag_pg.answer.question import Unsupported
from rag_pg.answer.reading.addresses import NOTHING, Known
from rag_pg.answer.reading.markers import cited_numbers
from rag_pg.answer.reading.statements import read_statements
from rag_pg.types import Answer, Citation, Event

_NEWS = re.compile(r"[.!?…:|\n。！？｡．؟۔।]")  # that may end a statement
_OPEN = re.compile(
    r"\[[^\]]*\Z|\([^)]*\Z|<[A-Za-z/][^>]*\Z|<(sup|a)\b(?:(?!</\1).)*\Z", re.I | re.S
)

# A text is read whole each time, so a long one not for each statement, but when it has grown by as
# much: one of 4,000 characters by 125.
_GROWTH = 33 / 32


class Editor:
    """Tells a listener the text of an answer while it is written, in statements that were judged.

    A statement is told when the next one has begun and the one that stands was judged as it is in
    the whole answer, with what leads in to it, in a text of many pages several at once. So all that
    was told is the beginning of the answer's text, unless a strategy fails over or the answer is
    refused as a whole. What speaks of no document is told with the next statement that stands, or
    at the end.

    Args:
        tell: the listener; None: nobody listens. unsupported: what becomes of statements without
            support. is_gated: nothing is told before all was judged.

    judge: of what is written from the sources that a model was shown last; None: of nothing yet.
    """

    def __init__(
        self,
        tell: Callable[[Event], None] | None = None,
        unsupported: Unsupported = "mark",
        *,
        is_gated: bool = False,
    ) -> None:
        self.judge: Judge | None = None
        self._listener = tell
        self._unsupported = unsupported
        self._is_gated = is_gated
        self._shown = ""
        self._told: set[int] = set()
        self._read = 0

    def feed(self, text: CitedText, known: Known = NOTHING) -> None:
        """Take the text as far as it is written; tell what of it is fit to show.

        known: what the sources say, whose links stay."""
        whole, judge = text.text, self.judge
        if self._listener is None or self._is_gated or not _NEWS.search(whole, self._read):
            return
        if len(whole) < self._read * _GROWTH:
            return
        assert judge is not None  # who writes opens it first
        self._read = len(whole)
        written = whole[: _settled(whole)]
        shown = clean_text(written, text.cited if text.found else (), known)
        fit = fit_text(shown, ground_text(shown, judge, is_written=False), self._unsupported)
        standing = [
            position
            for position in fit.claims
            if self._unsupported != "drop" or position not in fit.wrong
        ]
        if standing:
            last = fit.grounded[standing[-1]].statement
            self._tell(fit.edited.text[: fit.edited.end(last.stop)], judge)

    def close(self, answer: Answer) -> None:
        """Tell the rest of an answer, once it is whole; what nobody judged is told by no piece."""
        if self.judge is not None:
            self._tell(answer.text, self.judge)

    def _tell(self, text: str, judge: Judge) -> None:
        listener = self._listener
        if listener is None or len(text) <= len(self._shown) or not text.startswith(self._shown):
            return
        listener(Event(kind="token", text=text[len(self._shown) :]))
        self._shown = text
        new = cited_numbers(text) - self._told
        self._told |= new
        for source in judge.shown:
            if source.number in new:
                if isinstance(source, Citation):
                    listener(Event(kind="citation", citation=source))
                else:
                    listener(Event(kind="citation", tool_result=source))


def _settled(text: str) -> int:
    """Return up to where a text reads the same whatever follows, but for its last statement: that
    is one letter of the first that may become another."""
    for statement in reversed(read_statements(text)[1:]):
        paragraph = text.rfind("\n\n", 0, statement.start) + 1
        if not _OPEN.search(text[paragraph : statement.start]):
            return statement.start + 1
    return 0
