"""A statement of an answer -> what the sources that the model was shown say of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag_pg.answer.attribution.scores import Checker, Cited, Verdicts
from rag_pg.answer.attribution.veto import foreign_names
from rag_pg.answer.reading.statements import Statement, read_statements
from rag_pg.answer.reading.talk import Talk
from rag_pg.protocols import Embedder
from rag_pg.text import drop_near_duplicates, word_set
from rag_pg.types import CheckedQuote, Citation, ToolResult

Locate = Callable[[Sequence[Citation]], Sequence[tuple[Citation, CheckedQuote | None]]]

_QUOTED = re.compile(r"[\"“”„«]([^\"“”„«»]{12,1000})[\"“”»]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Grounded:
    """A statement with what its sources say of it: see `Verdicts`. quoted: what it has in quotation
    marks. is_claim: False where it states nothing of the documents (see `Talk`), and is not
    judged."""

    statement: Statement
    citations: Sequence[Citation] = ()
    supports: Mapping[int, bool | None] = field(default_factory=dict)
    is_supported: bool | None = None
    quoted: Sequence[str] = ()
    is_claim: bool = True


class Judge:
    """Tells of statements whether the sources of a question say them, of each once.

    A verdict is a function of the statement, the question and the sources, and of whether pairs of
    words may still be compared, so that a stream meets the same ones as the whole answer.

    Args:
        shown: all that the model was shown, whether or not it is cited. denied: statements that a
            model took back by itself. locate: where quotes stand. note: is told of what was not
            compared as a provider fails.
    """

    def __init__(
        self,
        question: str,
        shown: Sequence[Citation | ToolResult],
        *,
        embedder: Callable[[], Embedder | None] | None,
        denied: Sequence[str] = (),
        locate: Locate,
        note: Callable[[str], object] = str,
    ) -> None:
        self.shown = shown
        self._by_number = {s.number: s for s in shown if isinstance(s, Citation)}
        self._sources = [_cited(source) for source in shown]
        texts = (question, *(f"{source.above} {source.text}" for source in self._sources))
        self._known = {word for text in texts for word in word_set(text)}
        self._talk = Talk(self._known)
        self._checker = Checker(embedder=embedder, question=question, known=self._known, note=note)
        self._denied = [_plain(s.claim) for text in denied for s in read_statements(text)]
        self.locate = locate
        self._found: dict[tuple[str, bool], Grounded] = {}

    def has(self, sources: Iterable[Citation | ToolResult]) -> bool:
        """Whether these sources are some of those that were shown, under the same numbers."""
        numbers = {_name(source) for source in self.shown}
        return all(_name(source) in numbers for source in sources)

    def ground(self, statement: Statement) -> Grounded:
        """Return what the sources say of a statement: those that it cites, else all of them."""
        key = (statement.text, statement.is_label)
        if key not in self._found:
            self._found[key] = self._ground(statement)
        return replace(self._found[key], statement=statement)

    def sources_of(self, statement: Statement) -> list[Citation | ToolResult]:
        """Return the sources that a statement is compared with."""
        cited = [source for source in self.shown if source.number in statement.numbers]
        return cited or [*self.shown]

    def refutes(self, statement: Statement) -> bool:
        """Whether no source can have meant a statement: by a figure, a name or a denial, which no
        quotation of them undoes."""
        claim = statement.claim
        if foreign_names(claim, "", self._known):  # whatever the sources write in capitals
            return True
        here = [source for source in self._sources if source.number in statement.numbers]
        return replace(self._checker, embedder=None).refutes(claim, here or self._sources, True)

    def _ground(self, statement: Statement) -> Grounded:
        cited = [self._by_number[n] for n in statement.numbers if n in self._by_number]
        claim = self._talk.claim(statement)
        if claim is None:
            return Grounded(statement=statement, citations=cited, is_claim=False)
        found = self._verdicts(replace(statement, claim=claim))
        if self._is_denied(statement):
            found = replace(found, is_supported=False)
        quoted = _quoted(statement, cited)
        citations = [
            replace(citation, quote=quote, supports=found.supports.get(citation.number))
            for citation in cited
            for quote in quoted or [found.quotes.get(citation.number) or citation.quote]
        ]
        one = Grounded(
            statement=statement,
            citations=citations,
            supports=found.supports,
            is_supported=found.is_supported,
            quoted=quoted,
        )
        if quoted and citations:
            told = with_quotes(replace(one, citations=[c for c, _ in self.locate(citations)]))
            one = replace(one, is_supported=told.is_supported)
        return one

    def _verdicts(self, statement: Statement) -> Verdicts:
        here = [source for source in self._sources if source.number in statement.numbers]
        found = self._checker.verdicts(statement, here or self._sources)
        by_tool = [source for source in self._sources if source.by_tool and source not in here]
        if found.is_supported is False and here and by_tool:  # calculated from what is cited
            more = replace(statement, numbers=())
            joined = self._checker.verdicts(more, [*here, *by_tool])
            if joined.is_supported:
                return replace(found, is_supported=True, supports=dict.fromkeys(found.supports))
        return found

    def _is_denied(self, statement: Statement) -> bool:
        claim = _plain(statement.claim)
        return any(drop_near_duplicates([one, claim]) == [0] for one in self._denied)


def with_quotes(one: Grounded) -> Grounded:
    """Return a statement that quotes with the verdicts of its quotes: a source supports it where
    one of them stands, and does not where others have them all; a quote is cited of those sources
    alone that have it, where there are any."""
    if not one.quoted or not one.citations or any(c.status is None for c in one.citations):
        return one
    proven = {(c.number, c.quote) for c in one.citations if c.is_proven}
    found = {quote for _, quote in proven}
    has_all = found >= set(one.quoted)
    supports = dict(one.supports)
    for number in {citation.number for citation in one.citations}:
        if any(n == number for n, _ in proven):
            supports[number] = True
        elif has_all or not proven:
            supports[number] = False
    kept = [
        replace(citation, supports=supports[citation.number])
        for citation in one.citations
        if citation.is_proven
        or citation.quote not in found
        or all(n != citation.number for n, _ in proven)
    ]
    return replace(one, citations=kept, supports=supports, is_supported=has_all)


def _quoted(statement: Statement, cited: Sequence[Citation]) -> list[str]:
    """Return what a statement quotes of its sources; their titles are no part of the text."""
    names = " ".join(f"{citation.title} {citation.heading}" for citation in cited).casefold()
    return [q for q in _QUOTED.findall(statement.text) if q.strip(" .,;:").casefold() not in names]


def _cited(source: Citation | ToolResult) -> Cited:
    if isinstance(source, Citation):
        above = f"{source.title} {source.heading} {source.uri}"
        return Cited(number=source.number, text=source.quote, above=above)
    return Cited(number=source.number, text=source.text, by_tool=True)


def _name(source: Citation | ToolResult) -> tuple[int, object]:
    return source.number, source.chunk_id if isinstance(source, Citation) else source.text


def _plain(claim: str) -> str:
    return claim.strip("*_ \t").rstrip(".!。")
