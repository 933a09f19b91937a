"""An answer -> the same with every statement led to the sentence of its source that supports it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.freshness import find_freshness
from rag_pg.answer.markers import without_false_markers
from rag_pg.answer.statements import (
    Statement,
    Unsupported,
    cited_numbers,
    read_statements,
    without_support,
)
from rag_pg.answer.support import find_support
from rag_pg.answer.tools import unfounded_figures
from rag_pg.answer.write import not_found
from rag_pg.types import PROVEN, Answer, CheckedQuote, Citation

OWN_WORDS = ("extractive", "metadata")  # models of answers that are the documents' own text
_QUOTED = re.compile(r"[\"“”„«]([^\"“”„«»]{12,1000})[\"“”»]")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Grounded:
    """A statement with what its sources say of it."""

    statement: Statement
    citations: Sequence[Citation]
    is_supported: bool | None


def ground_answer(
    answer: Answer,
    context: AnswerContext,
    *,
    unsupported: Unsupported = "keep",
    is_judged: bool = False,
) -> Answer:
    """Return the answer with a citation for each statement and source that it cites.

    A citation's quote is what the statement quotes, in quotation marks, else the sentence of its
    source that says it best; the database says where it stands. Statements without support are
    treated as the caller wants, and told.

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
    checked = _located([c for one in grounded for c in one.citations], context)
    told = iter(checked)
    grounded = [replace(one, citations=[next(told)[0] for _ in one.citations]) for one in grounded]
    freshness = find_freshness(checked, context.now(), [*context.retrieved.values()])
    answer = replace(answer, freshness=freshness)
    for reason in answer.freshness.reasons if answer.freshness else ():
        context.note(reason)
    wrong: set[int] = set()
    if not (is_judged or own_words):
        wrong = {n for n, one in enumerate(grounded) if _is_wrong(one)}
    return _treated(answer, grounded, wrong, unsupported, context)


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
        return _Grounded(statement=statement, citations=cited, is_supported=None)
    told = [results[number] for number in statement.numbers if number in results]
    if not cited and not told:
        cited_here, told = [*by_number.values()], [*results.values()]
    else:
        cited_here = cited
    above = [f"{c.title} {c.heading}" for c in cited_here]
    sources = [(c.quote, head) for c, head in zip(cited_here, above, strict=True)]
    found = find_support(statement.claim, sources, context.embedder)
    supported = _any([*(one.is_supported for one in found), *_told_by(statement.claim, told)])
    if supported is False and len(sources) > 1:  # each source says a part
        joined = ("\n\n".join(text for text, _ in sources), " ".join(above))
        supported = find_support(statement.claim, [joined], context.embedder)[0].is_supported
    quoted = _QUOTED.findall(statement.text)
    citations = [
        replace(citation, quote=quote)
        for citation, support in zip(cited_here, found, strict=False)
        if cited
        for quote in quoted or [support.quote or citation.quote]
    ]
    return _Grounded(statement=statement, citations=citations, is_supported=supported)


def _told_by(claim: str, results: Sequence[str]) -> list[bool | None]:
    """Whether results of tools have all figures of a statement; None for one without figures: a
    table has no sentence that could be compared."""
    if not results:
        return []
    if not any(character.isdigit() for character in claim):
        return [None]
    return [not unfounded_figures(claim, results)]


def _any(found: Sequence[bool | None]) -> bool | None:
    """True where one says so, False where all deny it, None where it cannot be told."""
    if True in found:
        return True
    return None if None in found or not found else False


def _is_wrong(one: _Grounded) -> bool:
    """Whether nothing supports a statement: neither a sentence, nor what it quotes."""
    if _QUOTED.search(one.statement.text) and one.citations:
        return not any(citation.status in (*PROVEN, None) for citation in one.citations)
    return one.is_supported is False


def _located(
    citations: Sequence[Citation], context: AnswerContext
) -> list[tuple[Citation, CheckedQuote | None]]:
    """Return the citations with where they stand, in one call of the database."""
    if not citations or context.check_citations is None:
        return [(citation, None) for citation in citations]
    found = context.check_citations(citations, [*context.retrieved])
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
    wrong: set[int],
    unsupported: Unsupported,
    context: AnswerContext,
) -> Answer:
    """Return the answer after the wrong statements were treated, its citations with their spans."""
    told = [grounded[position].statement.text for position in sorted(wrong)]
    if told:
        context.step("support", statements=len(grounded), unsupported=told)
        done = {"drop": "were taken out", "mark": "are marked", "keep": "may be unsupported"}
        context.note(
            f"{len(told)} of {len(grounded)} statements {done[unsupported]}: no sentence of their "
            "sources was found that says them"
        )
    if unsupported == "drop" and told and len(told) == len(grounded):
        reason = "no source supports the answer that was written"
        return replace(not_found(context, reason), unsupported=told)
    statements = [one.statement for one in grounded]
    text = without_support(answer.text, statements, wrong, unsupported)
    dropped = wrong if unsupported == "drop" else set()
    kept = [one for position, one in enumerate(grounded) if position not in dropped]
    cited = cited_numbers(text)
    placed = [*_spans(text, kept)]
    loose = [c for c in answer.citations if c.number not in {p.number for p in placed}]
    return replace(
        answer,
        text=text,
        citations=[*placed, *(c for c in loose if c.number in cited)],
        tool_results=[result for result in answer.tool_results if result.number in cited],
        unsupported=[*answer.unsupported, *told],
        sufficient=False if told and unsupported != "keep" else answer.sufficient,
        reason=answer.reason
        or ("statements without support were taken out" if told and unsupported == "drop" else ""),
    )


def _spans(text: str, grounded: Sequence[_Grounded]) -> Iterator[Citation]:
    """Yield the citations with the span of their statement in the text as it is now."""
    at = 0
    for one in grounded:
        claim = one.statement.text[: one.statement.claim_stop - one.statement.start]
        start = text.find(claim, at)
        for citation in one.citations:
            if start < 0:
                yield citation
            else:
                yield replace(citation, start=start, stop=start + len(claim))
        at = at if start < 0 else start + len(claim)
