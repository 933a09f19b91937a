"""A statement and the sources that it cites -> whether each of them supports it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from rag_pg.answer.attribution.entailment import find_support
from rag_pg.answer.attribution.veto import find_veto, is_about_else
from rag_pg.answer.reading.figures import unfounded_figures
from rag_pg.answer.reading.statements import Statement
from rag_pg.answer.reading.strange import is_english, strange_words
from rag_pg.answer.reading.term_match import are_unlike, near_words
from rag_pg.protocols import Embedder
from rag_pg.text import content_words, is_function_word, words

# Pairs of a word and that in whose place it stands, which are compared in meaning:
MOST_PAIRS = 4  # of a statement
MOST_OF_ANSWER = 16

Verdict = bool | None  # None: it cannot be told


@dataclass(frozen=True, kw_only=True, slots=True)
class Cited:
    """Source [number]: its text, what stands above it (title, headings), and whether a tool gave
    it."""

    number: int
    text: str
    above: str = ""
    by_tool: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdicts:
    """What sources say of a statement. is_supported: by all of them together; supports: by the
    number of each; quotes: the best sentence of each, "" where none has anything of it."""

    is_supported: Verdict
    supports: Mapping[int, Verdict]
    quotes: Mapping[int, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Checker:
    """Tells what sources say of the statements of an answer.

    Args:
        embedder: is opened where words alone do not decide, and for an English word in another's
            place. question: what was asked. known: words of all that was shown. pairs: an item for
            each pair of words that may still be compared. note: is told of a provider that fails.
    """

    embedder: Callable[[], Embedder | None] | None = None
    question: str = ""
    known: Collection[str] = ()
    pairs: Iterator[int] = field(default_factory=lambda: iter(range(MOST_OF_ANSWER)))
    note: Callable[[str], object] = str

    def verdicts(self, statement: Statement, sources: Sequence[Cited]) -> Verdicts:
        """Return whether sources support a statement, together and each by itself: those that it
        cites; where it cites none, all that may support it.

        A source that does not support the clause that it stands behind by itself supports it where
        the others do not without it, and does with them; it does not where the others do without
        it: so citation precision counts in ALCE (Gao et al., EMNLP 2023). What is left open stays
        open.
        """
        claim, each = statement.claim, bool(statement.numbers)
        alone, quotes = self._alone(claim, sources, each=each)
        together = _any([*alone.values()])
        if together is False and len(sources) > 1:  # each source says a part
            together = self._together(claim, sources)
        is_cited = each or statement.leads_in
        if together is not False and self.refutes(
            claim, sources, together, is_cited=is_cited, quotes=[*quotes.values()]
        ):
            denied = dict.fromkeys(alone if each else (), False)
            return Verdicts(is_supported=False, supports=denied, quotes=quotes)
        supports: dict[int, Verdict] = {}
        if each and len(sources) > 1:
            for clause, numbers in statement.clauses:
                by_clause = alone
                if clause != claim:
                    by_clause, _ = self._alone(clause, sources, each=True)
                for number, verdict in self._of_clause(clause, numbers, sources, by_clause):
                    supports[number] = _any([verdict, supports.get(number, False)])
        elif each:
            supports = dict(alone)
        if together is False:
            supports = {number: alone[number] for number in supports}
        elif True not in supports.values():  # the whole is supported, or that cannot be told
            supports = {number: verdict or None for number, verdict in supports.items()}
        return Verdicts(is_supported=together, supports=supports, quotes=quotes)

    def refutes(
        self,
        claim: str,
        sources: Sequence[Cited],
        verdict: Verdict,
        *,
        is_cited: bool = True,
        quotes: Sequence[str] = (),
    ) -> bool:
        """Whether something of a claim is in no source, or it is about something else by its words
        where nothing else tells.

        Args:
            quotes: sentences of the sources that say it best, whose words others may stand for.
        """
        texts = [f"{source.above}\n\n{source.text}" for source in sources if not source.by_tool]
        results = [source.text for source in sources if source.by_tool]
        asked = self.question
        known = self.known or {w for text in (asked, *texts, *results) for w in words(text)}
        unlike = None
        if self.embedder and is_english(claim):
            unlike = partial(self._are_unlike, islice(self.pairs, MOST_PAIRS))
        return (
            bool(find_veto(claim, texts, asked, known, results, unlike))
            or (not is_cited and self._is_strange(claim, known, quotes))
            or (verdict is None and is_about_else(claim, texts, known, is_cited=is_cited))
        )

    def _is_strange(self, claim: str, known: Collection[str], quotes: Sequence[str]) -> bool:
        """Whether a claim has words that neither its sources have nor everybody uses, and that mean
        nothing of what these sentences say."""
        found = strange_words(claim, known)
        if found and self.embedder and is_english(claim):
            others = [w for w in content_words(" ".join(quotes)) if not is_function_word(w)]
            own = [w for w in content_words(claim) if w not in known and not is_function_word(w)]
            near = near_words(own, [*dict.fromkeys(others)], self.embedder, self.note)
            found = strange_words(claim, {*known, *near})
        return bool(found)

    def _are_unlike(self, left: Iterator[int], one: str, other: str, text: str) -> bool | None:
        if not self.embedder or next(left, None) is None:
            return None
        found = are_unlike(one, other, text, self.embedder, self.note)
        if found is None:  # it is not asked again
            deque(self.pairs, maxlen=0)
        return found

    def _of_clause(
        self,
        clause: str,
        numbers: Sequence[int],
        sources: Sequence[Cited],
        alone: Mapping[int, Verdict],
    ) -> list[tuple[int, Verdict]]:
        """Return the verdicts of the numbers behind a clause, in their order."""
        by_number = {source.number: source for source in sources}
        left = list(by_number)
        found: dict[int, Verdict] = {}
        for number in reversed([n for n in numbers if n in by_number]):
            found[number] = alone[number]
            if alone[number] is not False:
                continue
            others = [n for n in left if n != number]
            without = _any([alone[n] for n in others])
            if without is False and others:
                rest = [by_number[n] for n in others]
                without = self._together(clause, rest) if len(rest) > 1 else False
                if without is False and self._together(clause, [*rest, by_number[number]]):
                    found[number] = True
            if without:
                left.remove(number)
            elif without is None:
                found[number] = None
        return [(number, found[number]) for number in numbers if number in found]

    def _alone(
        self, claim: str, sources: Sequence[Cited], *, each: bool
    ) -> tuple[dict[int, Verdict], dict[int, str]]:
        """Return what each source says of a claim, and its best sentence.

        each: each is judged by itself; else it is enough that one supports it."""
        passages = [source for source in sources if not source.by_tool]
        texts = [(source.text, source.above) for source in passages]
        told = find_support(claim, texts, self.embedder, each=each, note=self.note)
        found = dict(zip(passages, told, strict=True))
        verdicts: dict[int, Verdict] = {s.number: one.is_supported for s, one in found.items()}
        verdicts |= {s.number: _told_by(claim, s.text) for s in sources if s.by_tool}
        return verdicts, {s.number: one.quote for s, one in found.items()}

    def _together(self, claim: str, sources: Sequence[Cited]) -> Verdict:
        """Whether several sources say a claim, each a part of it."""
        text = "\n\n".join(source.text for source in sources)
        told = [_told_by(claim, text)] if any(source.by_tool for source in sources) else []
        if all(source.by_tool for source in sources):
            return _any(told)
        above = " ".join(source.above for source in sources)
        (joined,) = find_support(claim, [(text, above)], self.embedder, note=self.note)
        return _any([joined.is_supported, *told])


def _told_by(claim: str, result: str) -> Verdict:
    """Whether results of tools have all figures of a claim; None for one without figures: a table
    has no sentence that could be compared."""
    if not any(character.isdigit() for character in claim):
        return None
    return not unfounded_figures(claim, [result])


def _any(found: Sequence[Verdict]) -> Verdict:
    """True where one says so, False where all deny it, None where it cannot be told."""
    if True in found:
        return True
    return None if None in found or not found else False
