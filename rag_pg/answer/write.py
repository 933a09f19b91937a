"""A prompt's completion -> Answer: the text with its citations, read and checked."""

from __future__ import annotations

from collections.abc import Sequence

from rag_pg.answer.citations import (
    _UNFINISHED,
    _read_citations,
    _strip_marker,
)
from rag_pg.answer.context import AnswerContext
from rag_pg.answer.extractive import NOT_FOUND
from rag_pg.answer.prompt import build_prompt
from rag_pg.errors import AnswerBlocked, ProviderError
from rag_pg.types import Answer, Hit, Message


def write_answer(question: str, hits: Sequence[Hit], context: AnswerContext) -> Answer:
    """Return the model's answer to `question` from `hits`, with the sources it cites.

    Citations in the text are [n], or [n, m]; the numbers are those of `Answer.citations`. A number
    without a source is taken out of the text and noted. Without hits the model is not asked.

    Raises: ProviderError and its kinds, ModelUnavailable, InvalidInput (no language model).
    """
    prompt = build_prompt(
        question, hits, budget_tokens=context.budget_tokens, count_tokens=context.count_tokens
    )
    model = context.llm.name if context.llm else ""
    if not prompt.sources:
        return Answer(text=NOT_FOUND, found=False, model=model, reason="the search found nothing")
    got = context.complete(
        [
            Message(role="system", content=prompt.system),
            Message(role="user", content=prompt.text),
        ],
        purpose="answer",
    )
    if got.finish == "blocked":
        reason = f" ({got.reason})" if got.reason else ""
        raise AnswerBlocked(f"{model} stopped its answer{reason}; rephrase the question")
    if got.finish == "length" and not got.text.strip():
        raise ProviderError(
            f"{model} used up max_tokens ({context.answer_tokens}) before it wrote a word"
        )
    text, found = _strip_marker(got.text.strip())
    was_cut = got.finish == "length"
    if was_cut:
        text = _UNFINISHED.sub("", text)
        context.note(f"the answer was cut at max_tokens ({context.answer_tokens})")
    text, cited, dropped = _read_citations(text, len(prompt.sources))
    for number in dropped:
        context.note(f"dropped citation [{number}]: there is no such source")
    if found and not cited:
        context.note("the answer cites no source")
    reason = "the answer was cut short" if was_cut else ""
    return Answer(
        text=text or NOT_FOUND,
        found=found,
        citations=[source for source in prompt.sources if source.number in cited],
        model=model,
        reason=reason if found else "the documents do not answer",
    )
