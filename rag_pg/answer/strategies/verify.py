"""Strategy verify: draft, check against the sources, final, in one call of the model."""

from __future__ import annotations

from dataclasses import replace

from rag_pg.answer.citations import show_numbers
from rag_pg.answer.context import AnswerContext
from rag_pg.answer.write import not_found, prompt_for, read_answer, refuse
from rag_pg.tools import TEXT, listed, row
from rag_pg.types import Answer, Completion, Message

INSTRUCTIONS = """\
Work in three parts, all in one JSON object. draft: the answer by the rules above. unsupported: \
each statement of the draft that the source it cites does not say, word for word as in the draft; \
an empty list if all are supported. final: the draft without these statements, corrected where the \
sources say otherwise, by the same rules."""
SCHEMA = row(draft=TEXT, unsupported=listed(TEXT), final=TEXT)


def verify(question: str, context: AnswerContext) -> Answer:
    """One search, one call."""
    hits = context.search(question)
    if refused := refuse(question, hits, context):
        return refused
    prompt = prompt_for(question, hits, context, around=INSTRUCTIONS)
    if not prompt.sources:
        return not_found(context, "the search found nothing")
    got = context.asker.complete(
        [
            Message(role="system", content=f"{prompt.system}\n{INSTRUCTIONS}"),
            Message(role="user", content=prompt.text),
        ],
        purpose="draft, check, final",
        schema=SCHEMA,
    )
    parts = got.parsed
    unsupported = [show_numbers(text, prompt.keys) for text in parts["unsupported"]]
    context.trace.step("check", unsupported=unsupported)
    context.denied += unsupported
    if unsupported:
        context.trace.note(
            f"{len(unsupported)} statements of the draft were taken out: no source supports them"
        )
    final = Completion(text=parts["final"], finish=got.finish)
    answer = read_answer(lambda show: final, prompt.sources, prompt.keys, context)
    return replace(answer, sufficient=answer.found)
