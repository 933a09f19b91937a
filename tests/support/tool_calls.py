"""A scripted model that calls tools over a search that finds one passage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contexts import context_of
from fakes import ScriptedLLM
from passages import hits

from rag_pg.answer import AnswerContext, answer_question
from rag_pg.types import AgentTool, Answer, Completion, Hits, ToolCall, Toolset


def calling(*asked: tuple[str, dict[str, Any]]) -> Completion:
    """Return a reply that calls tools by their names, with arguments."""
    calls = [ToolCall(id=str(n), name=name, arguments=a) for n, (name, a) in enumerate(asked)]
    return Completion(text="", tool_calls=calls, finish="tool_calls")


def context_with(llm: ScriptedLLM, tools: Sequence[AgentTool], **options: Any) -> AnswerContext:
    """Return what the strategy agent has at hand."""
    options.setdefault("find", lambda query, **o: Hits(hits("the red fish")))
    return context_of("How many?", llm=llm, tools=Toolset(tools=tools), **options)


def ask_with_tools(
    *replies: Any, tools: Sequence[AgentTool], **options: Any
) -> tuple[Answer, ScriptedLLM]:
    """Return the answer of the strategy agent to "How many?", and the model that gave it."""
    llm = ScriptedLLM(*replies, name="main", capabilities=options.pop("capabilities", None))
    context = context_with(llm, tools, **options)
    return answer_question(context, "agent"), llm
