"""Strategy auto: chooses the way in which a question is answered, and tells why."""

from __future__ import annotations

from dataclasses import replace

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.metadata import metadata_answer
from rag_pg.answer.strategies.extractive import extractive
from rag_pg.answer.strategies.full_context import full_context
from rag_pg.answer.strategies.single import single
from rag_pg.errors import InvalidInput
from rag_pg.types import Answer, Message, Route

INVITATION = "Ask a question about the documents."
SMALL_TALK = """\
You are the assistant of a collection of documents. The last message needs no document. Answer it in
one or two sentences, state no facts about anything, and offer to answer questions about the
documents."""


def auto(question: str, context: AnswerContext) -> Answer:
    """Small talk without documents; counts and lists from the metadata; a look-up by the passage
    that was found; a small collection by `full_context`; else `single`, or without a model
    `extractive`."""
    route = _route(question, context)
    if route.name == "none":
        return _small_talk(question, context, route)
    if route.name == "metadata" and route.query is not None:
        try:
            return metadata_answer(context.retriever.ask_metadata(route.query))
        except InvalidInput as exc:
            context.trace.note(
                f"the metadata could not be asked: {exc}; passages were searched for"
            )
    if context.asker.llm is None or route.name == "search":
        chosen = extractive
    else:
        chosen = full_context if route.name == "full_context" else single
    answer = chosen(question, context)
    return replace(answer, strategy=answer.strategy or chosen.__name__)


def _route(question: str, context: AnswerContext) -> Route:
    llm = context.asker.llm
    route = context.retriever.route(
        question,
        helper_llm=context.asker.metered("route"),
        reads=None if llm is None else llm.capabilities.context_tokens,
    )
    for text in route.notes:
        context.trace.note(text)
    context.trace.step(
        "route", usage=route.usage, route=route.name, reason=route.reason, by=route.by
    )
    return route


def _small_talk(question: str, context: AnswerContext, route: Route) -> Answer:
    if context.asker.llm is None:
        return Answer(text=INVITATION, found=False, reason=route.reason, strategy="none")
    messages = [
        Message(role="system", content=SMALL_TALK),
        *context.question.history,
        Message(role="user", content=question),
    ]
    got = context.asker.complete(messages, purpose="answer")
    return Answer(
        text=got.text,
        found=False,
        reason=route.reason,
        model=context.asker.llm.name,
        strategy="none",
    )
