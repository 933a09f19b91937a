"""An answer -> the same with every statement led to the sentence of its source that supports it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.edit import EditedText, without_support
from rag_pg.answer.freshness import find_freshness
from rag_pg.answer.markers import cited_numbers, without_false_markers
from rag_pg.answer.statements import Statement, Unsupported, read_statements
from rag_pg.answer.verdicts import Cited, find_verdicts
from rag_pg.answer.write import not_found
from rag_pg.types import Answer, CheckedQuote, Citation

OWN_WORDS = ("extractive", "metadata")  # models of answers that are the documents' own text
_QUOTED = re.compile(r"[\"“”„«]([^\"“”„«»]{12,1000})[\"“”»]")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Grounded:
    """A statement with what its sources say of it: see `Verdicts`. quoted: what it has in quotation
    marks."""

    statement: Statement
    citations: Sequence[Citation]
    supports: Mapping[int, bool | None] = field(default_factory=dict)
    is_supported: bool | None = None
    quoted: Sequence[str] = ()


def ground_answer(
    answer: Answer,
    context: AnswerContext,
    *,
    unsupported: Unsupported = "keep",
    is_judged: bool = False,
) -> Answer:
    """Return the answer with a citation for each statement and source that it cites.

    A citation's quote is what the statement quotes, in quotation marks, else the sentence of its
    source that says it best; the database says where it stands. Each citation has its verdict, see
    `find_verdicts`. Statements without support, and citations that are none beside others that are,
    are treated as the caller wants, and told.

    Args:
        is_judged: another has judged the statements, or they are the documents' own words.
    """
    if answer.model not in OWN_WORDS:
        answer = _without_false_markers(answer, context)
    if not answer.found or not (answer.citations or answer.tool_results):
        return answer
    by_number = {citation.number: citation for citation in answer.citations}
    results = {result.number: result.text for result in answer.tool_results}
    own_words = answer.model in OWN_WORDS
    grounded: list[_Grounded] = [
        _ground(statement, by_number, results, context, own_words)
        for statement in read_statements(answer.text)
    ]
    numbers = {citation.number for one in grounded for citation in one.citations}
    loose = [c for c in answer.citations if c.number not in numbers]  # in code, or a heading
    found = [*(c for one in grounded for c in one.citations), *loose]
    checked = _located(found, {c.number: c.quote for c in answer.citations}, context)
    told = iter(checked)
    grounded = [
        _with_quotes(replace(one, citations=[next(told)[0] for _ in one.citations]))
        for one in grounded
    ]
    if own_words:
        grounded = [replace(one, citations=[*map(_own, one.citations)]) for one in grounded]
    elif is_judged:
        grounded = [one if True in one.supports.values() else _left_open(one) for one in grounded]
    freshness = find_freshness(checked, context.now(), [*context.retrieved.values()])
    answer = replace(answer, freshness=freshness)
    for reason in answer.freshness.reasons if answer.freshness else ():
        context.note(reason)
    wrong: set[int] = set()
    if not (is_judged or own_words):
        wrong = {n for n, one in enumerate(grounded) if one.is_supported is False}
    first = {citation.number: citation for citation, _ in reversed(checked)}
    loose = [replace(first[citation.number], supports=None) for citation in answer.citations]
    return _treated(answer, grounded, loose, wrong, unsupported, context)


def _without_false_markers(answer: Answer, context: AnswerContext) -> Answer:
    numbers = {citation.number for citation in answer.citations}
    numbers |= {result.number for result in answer.tool_results}
    text = without_false_markers(answer.text, numbers)
    if text == answer.text:
        return answer
    context.note("taken out of the answer: what looks like a citation and is none")
    return replace(answer, text=text)


def _ground(
    statement: Statement,
    by_number: dict[int, Citation],
    results: dict[int, str],
    context: AnswerContext,
    own_words: bool,
) -> _Grounded:
    cited = [by_number[number] for number in statement.numbers if number in by_number]
    if own_words:
        for citation in cited:
            del by_number[citation.number]  # its quote is one, wherever it is cited again
    if own_words or not (cited or results or by_number):
        return _Grounded(statement=statement, citations=cited)
    sources = [
        *(Cited(number=c.number, text=c.quote, above=f"{c.title} {c.heading}")
          for c in by_number.values()),
        *(Cited(number=n, text=text, by_tool=True) for n, text in results.items()),
    ]  # fmt: skip
    here = [source for source in sources if source.number in statement.numbers]
    found = find_verdicts(statement, here or sources, context.embedder)
    quoted = _quoted(statement, cited)
    citations = [
        replace(citation, quote=quote, supports=found.supports.get(citation.number))
        for citation in cited
        for quote in quoted or [found.quotes[citation.number] or citation.quote]
    ]
    return _Grounded(
        statement=statement,
        citations=citations,
        supports=found.supports,
        is_supported=found.is_supported,
        quoted=quoted,
    )


def _quoted(statement: Statement, cited: Sequence[Citation]) -> list[str]:
    """Return what a statement quotes of its sources; their titles are no part of the text."""
    names = " ".join(f"{citation.title} {citation.heading}" for citation in cited).casefold()
    return [q for q in _QUOTED.findall(statement.text) if q.strip(" .,;:").casefold() not in names]


def _with_quotes(one: _Grounded) -> _Grounded:
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


def _left_open(one: _Grounded) -> _Grounded:
    """A statement that a model found supported, and words did not: nothing is told of its
    sources."""
    citations = [replace(citation, supports=None) for citation in one.citations]
    return replace(one, citations=citations, supports={})


def _own(citation: Citation) -> Citation:
    """A citation of the documents' own words: its quote is the statement."""
    return replace(citation, supports=citation.is_proven if citation.status else None)


def _located(
    citations: Sequence[Citation], passages: Mapping[int, str], context: AnswerContext
) -> list[tuple[Citation, CheckedQuote | None]]:
    """Return the citations with where they stand, in one call of the database."""
    if not citations or context.check_citations is None:
        return [(citation, None) for citation in citations]
    found = context.check_citations(citations, [*context.retrieved], passages)
    return [
        (
            replace(
                citation,
                chunk_id=row.chunk_key if row.chunk_key is not None else citation.chunk_id,
                chunk_start=row.chunk_start,
                chunk_stop=row.chunk_stop,
                document_start=row.document_start,
                document_stop=row.document_stop,
                version=row.document_version,
                page=row.page,
                page_kind=row.page_kind,
                status=row.status,
                similarity=row.similarity,
            )
            if row.status != "misattributed"
            else replace(citation, status=row.status, similarity=row.similarity),
            row,
        )
        for citation, row in zip(citations, found, strict=True)
    ]


def _treated(
    answer: Answer,
    grounded: Sequence[_Grounded],
    loose: Sequence[Citation],
    wrong: set[int],
    unsupported: Unsupported,
    context: AnswerContext,
) -> Answer:
    """Return the answer after what has no support was treated, its citations with their spans.

    loose: a citation of each source, for one that no statement cites."""
    told = [grounded[position].statement.text for position in sorted(wrong)]
    alone = {
        position: numbers
        for position, one in enumerate(grounded)
        if position not in wrong
        and True in one.supports.values()
        and (numbers := [n for n, verdict in one.supports.items() if verdict is False])
    }
    done = {"drop": "were taken out", "mark": "are marked", "keep": "may be unsupported"}
    if told:
        context.note(
            f"{len(told)} of {len(grounded)} statements {done[unsupported]}: no sentence of their "
            "sources was found that says them"
        )
    if alone:
        done["keep"] = "are no support"
        number = sum(map(len, alone.values()))
        of = sum(len(one.statement.numbers) for one in grounded)
        context.note(
            f"{number} of {of} citations {done[unsupported]}: what is cited beside them says the "
            "statement, they do not"
        )
    if told or alone:
        context.step(
            "support",
            statements=len(grounded),
            unsupported=told,
            citations=[
                {"statement": grounded[position].statement.text, "numbers": numbers}
                for position, numbers in alone.items()
            ],
        )
    if unsupported == "drop" and told and len(told) == len(grounded):
        reason = "no source supports the answer that was written"
        return replace(not_found(context, reason), unsupported=told)
    statements = [one.statement for one in grounded]
    edited = without_support(answer.text, statements, wrong, unsupported, alone)
    placed = [
        citation
        for position, one in enumerate(grounded)
        if unsupported != "drop" or position not in wrong
        for citation in _spans(one, edited)
        if unsupported != "drop" or citation.number not in alone.get(position, ())
    ]
    cited = cited_numbers(edited.text)
    behind = {citation.number for citation in placed}
    return replace(
        answer,
        text=edited.text,
        citations=[*placed, *(c for c in loose if c.number in cited - behind)],
        tool_results=[result for result in answer.tool_results if result.number in cited],
        unsupported=[*answer.unsupported, *told],
        sufficient=False if told and unsupported != "keep" else answer.sufficient,
        reason=answer.reason
        or ("statements without support were taken out" if told and unsupported == "drop" else ""),
    )


def _spans(one: _Grounded, edited: EditedText) -> Iterator[Citation]:
    """Yield the citations with the span of their statement in the text as it is now."""
    start, stop = edited.span(one.statement.start, one.statement.claim_stop)
    for citation in one.citations:
        yield replace(citation, start=start, stop=stop)
