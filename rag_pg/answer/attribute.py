"""An answer -> the same with every statement led to the sentence of its source that supports it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from rag_pg.answer.attribution.judge import Grounded, Judge, with_quotes
from rag_pg.answer.context import AnswerContext
from rag_pg.answer.edit import EditedText
from rag_pg.answer.extractive.answer import NOT_FOUND
from rag_pg.answer.fit import Fit, clean_text, fit_text, ground_text, removal_note
from rag_pg.answer.llm_verify import check_statements
from rag_pg.answer.locate import locate_quotes
from rag_pg.answer.prompt import cite
from rag_pg.answer.question import Unsupported, Verify
from rag_pg.answer.reading.freshness import find_freshness
from rag_pg.answer.reading.markers import cited_numbers
from rag_pg.answer.reading.statements import read_statements
from rag_pg.answer.write import not_found, open_judge, shown_text
from rag_pg.types import Answer, Citation, ToolResult

OWN_WORDS = ("extractive", "metadata")  # models of answers that are the documents' own text
_DONE = {"drop": "were taken out", "mark": "are marked", "keep": "may be unsupported"}


def ground_answer(
    answer: Answer,
    context: AnswerContext,
    *,
    unsupported: Unsupported = "mark",
    verify: Verify | None = None,
) -> Answer:
    """Return the answer with a citation for each statement and source that it cites, its statements
    judged, cited or not.

    A citation's quote is what the statement quotes, in quotation marks, else the sentence of its
    source that says it best; the database says where it stands. Each citation has its verdict, see
    `Checker`; a statement that cites nothing is compared with all that the model was shown.
    Statements without support, and citations that are none beside others that are, are treated as
    the caller wants, and told.

    Args:
        verify: the helper judges the statements too, see `check_statements`.
    """
    if answer.model in OWN_WORDS:
        return _own_words(answer, context)
    judge = _judge_of(answer, context)
    answer = _cleaned(answer, context)
    if judge is None or answer.strategy == "none":
        return answer
    grounded = ground_text(answer.text, judge)
    overruled: Mapping[int, bool] = {}
    if verify is not None and answer.found:
        answer, overruled = check_statements(answer, grounded, judge, context, verify)
    fit = fit_text(answer.text, grounded, unsupported, overruled)
    _tell(fit, unsupported, context)
    if not answer.found:
        text = fit.edited.text or NOT_FOUND  # without what it states all the same
        return replace(answer, text=text, unsupported=_told(fit))
    if unsupported == "drop" and fit.wrong and len(fit.wrong) == len(fit.claims):
        reason = "no source supports the answer that was written"
        return replace(not_found(context, reason), unsupported=_told(fit))
    return _placed(answer, fit, unsupported, context, is_verified=verify is not None)


def _judge_of(answer: Answer, context: AnswerContext) -> Judge | None:
    """Return the judge of what an answer says; None where no model wrote it and it cites nothing.

    That is the one of the prompt that it was written from; where a strategy of one's own gives
    sources that are others, of these and all that was retrieved.
    """
    own: list[Citation | ToolResult] = [*answer.citations, *answer.tool_results]
    judge = context.editor.judge
    if judge is not None and judge.has(own):
        return judge
    if not own and not any(step.kind == "llm" for step in context.trace.steps):
        return None
    known = {chunk for citation in answer.citations for chunk in citation.chunk_ids}
    others = [hit for number, hit in context.retrieved.items() if number not in known]
    more = [cite(-n, hit, hit.content) for n, hit in enumerate(others, 1)]
    return open_judge([*own, *more], context)


def _cleaned(answer: Answer, context: AnswerContext) -> Answer:
    sources: list[Citation | ToolResult] = [*answer.citations, *answer.tool_results]
    numbers = {source.number for source in sources}
    known = context.known(map(shown_text, sources))
    told: Counter[str] = Counter()
    text = clean_text(answer.text, numbers, known, told)
    reason = clean_text(answer.reason, (), known, told)
    if note := removal_note(told):
        context.trace.note(note)
    return replace(answer, text=text, reason=reason)


def _tell(fit: Fit, unsupported: Unsupported, context: AnswerContext) -> None:
    """Note what has no support, and write the step of it."""
    told = _told(fit)
    if told:
        context.trace.note(
            f"{len(told)} of {len(fit.claims)} statements {_DONE[unsupported]}: no sentence of "
            "their sources was found that says them"
        )
    if fit.alone:
        done = "are no support" if unsupported == "keep" else _DONE[unsupported]
        number = sum(map(len, fit.alone.values()))
        of = sum(len(one.statement.numbers) for one in fit.grounded)
        context.trace.note(
            f"{number} of {of} citations {done}: what is cited beside them says the "
            "statement, they do not"
        )
    if told or fit.alone:
        context.trace.step(
            "support",
            statements=len(fit.claims),
            unsupported=told,
            citations=[
                {"statement": fit.grounded[position].statement.text, "numbers": numbers}
                for position, numbers in fit.alone.items()
            ],
        )


def _told(fit: Fit) -> list[str]:
    return [fit.grounded[position].statement.text for position in sorted(fit.wrong)]


def _placed(
    answer: Answer,
    fit: Fit,
    unsupported: Unsupported,
    context: AnswerContext,
    *,
    is_verified: bool = False,
) -> Answer:
    """Return the answer after what has no support was treated, its citations with their spans."""
    answer, grounded, loose = _located(answer, fit.grounded, context)
    is_dropped = unsupported == "drop"
    placed = [
        citation
        for position, one in enumerate(grounded)
        if not (is_dropped and position in fit.wrong)
        for citation in _spans(one, fit.edited)
        if not (is_dropped and citation.number in fit.alone.get(position, ()))
    ]
    cited = cited_numbers(fit.edited.text)
    behind = {citation.number for citation in placed}
    told = _told(fit)
    is_told = bool(told) and (is_verified or is_dropped)
    done = {**_DONE, "keep": "are in the answer"}[unsupported]
    return replace(
        answer,
        text=fit.edited.text,
        citations=[*placed, *(c for c in loose if c.number in cited - behind)],
        tool_results=[result for result in answer.tool_results if result.number in cited],
        unsupported=[*answer.unsupported, *told],
        sufficient=False if told else answer.sufficient,
        reason=answer.reason or (f"statements without support {done}" if is_told else ""),
    )


def _located(
    answer: Answer, grounded: Sequence[Grounded], context: AnswerContext
) -> tuple[Answer, list[Grounded], list[Citation]]:
    """Return the answer with how current it is, its statements with where their quotes stand, and
    a citation of each source, for one that no statement cites: in code, or a heading."""
    numbers = {citation.number for one in grounded for citation in one.citations}
    loose = [c for c in answer.citations if c.number not in numbers]
    found = [*(c for one in grounded for c in one.citations), *loose]
    checked = locate_quotes(found, {c.number: c.quote for c in answer.citations}, context)
    stops = [*accumulate(len(one.citations) for one in grounded)]
    grounded = [
        with_quotes(
            replace(one, citations=[c for c, _ in checked[stop - len(one.citations) : stop]])
        )
        for one, stop in zip(grounded, stops, strict=True)
    ]
    freshness = find_freshness(checked, context.question.today, [*context.retrieved.values()])
    for reason in freshness.reasons if freshness else ():
        context.trace.note(reason)
    first = {citation.number: citation for citation, _ in reversed(checked)}
    loose = [replace(first[citation.number], supports=None) for citation in answer.citations]
    return replace(answer, freshness=freshness), grounded, loose


def _spans(one: Grounded, edited: EditedText) -> Iterator[Citation]:
    """Yield the citations with the span of their statement in the text as it is now."""
    start, stop = edited.span(one.statement.start, one.statement.claim_stop)
    for citation in one.citations:
        yield replace(citation, start=start, stop=stop)


def _own_words(answer: Answer, context: AnswerContext) -> Answer:
    """Return an answer of the documents' own text with where it stands; none of it is judged."""
    if not answer.found or not answer.citations:
        return answer
    by_number = {citation.number: citation for citation in answer.citations}
    statements = read_statements(answer.text)
    first = {n: at for at, one in reversed([*enumerate(statements)]) for n in one.numbers}
    grounded = [  # a quote is one, wherever it is cited again
        Grounded(
            statement=statement,
            citations=[
                by_number[n] for n in statement.numbers if n in by_number and first[n] == at
            ],
        )
        for at, statement in enumerate(statements)
    ]
    answer, grounded, loose = _located(answer, grounded, context)
    grounded = [replace(one, citations=[*map(_own, one.citations)]) for one in grounded]
    fit = Fit(edited=EditedText(answer.text), grounded=grounded, wrong=(), alone={})
    placed = [citation for one in grounded for citation in _spans(one, fit.edited)]
    loose_ones = cited_numbers(answer.text) - {citation.number for citation in placed}
    more = [citation for citation in loose if citation.number in loose_ones]
    return replace(answer, citations=[*placed, *more])


def _own(citation: Citation) -> Citation:
    """A citation of the documents' own words: its quote is the statement."""
    return replace(citation, supports=citation.is_proven if citation.status else None)
