"""The tools of one question, and their calls: side by side, bounded in time and size."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.passage_tools import PassageTools, Shown
from rag_pg.answer.tools.calculate import calculate
from rag_pg.answer.tools.numbered import Numbered
from rag_pg.answer.tools.render import RESULT_TOKENS, render
from rag_pg.deadline import call_within, current_scope, seconds_left
from rag_pg.errors import InvalidInput, RagError
from rag_pg.text import neutralise
from rag_pg.threads import start_thread
from rag_pg.tools import describe_error, make_tool, read_arguments
from rag_pg.tracing import span
from rag_pg.types import AgentTool, Tool, ToolCall

AT_ONCE = 4
MOST_CALLS = 8  # of one completion
AUXILIARY = frozenset({"calculate", "dates"})  # they tell nothing of the documents
_ERROR_LENGTH = 1000
_TOLD = 500  # characters of a result in a step


class ToolBox:
    """The tools over one question's context.

    `rules`, `fields`: of the toolset. `numbered`: what they found, by the keys that the model
    cites. `answered`: how often a tool gave a result that is more than a calculation. `texts`: of
    all results.
    """

    def __init__(self, context: AnswerContext) -> None:
        self.context = context
        self.numbered = Numbered()
        self.answered = 0
        self.texts: list[str] = []
        self.result_tokens = RESULT_TOKENS
        self._count = context.asker.counter().count
        toolset = call_within(current_scope(), context.retriever.toolset, "the tools")
        self.rules = toolset.rules
        self.fields = toolset.fields
        for note in toolset.notes:
            context.trace.note(note)
        own = [
            *PassageTools(context, self.numbered, self._count).tools(),
            *toolset.tools,
            make_tool(
                "calculate",
                "Calculate with numbers: + - * / // % **, parentheses, abs, max, min, round, sqrt.",
                lambda expression: f"{calculate(expression):.12g}",
                expression={"type": "string", "minLength": 1},
            ),
        ]
        self._tools = {tool.name: tool for tool in own}
        self._remembered: dict[str, str] = {}
        self._hanging: set[str] = set()

    def offered(self) -> list[Tool]:
        """Return what a model is told of the tools."""
        return [
            Tool(name=t.name, description=self._description(t), parameters=t.parameters)
            for t in self._tools.values()
        ]

    def leave_out(self, name: str) -> None:
        """Offer a tool no more."""
        del self._tools[name]

    def _description(self, tool: AgentTool) -> str:
        if tool.trusted:
            return tool.description
        quoted = self.numbered.fence.quote(f"description of {tool.name}", tool.description)
        return f"\n{quoted}"  # on lines of its own, wherever it stands

    def call(self, calls: Sequence[ToolCall]) -> list[str]:
        """Return the results of calls as texts, in their order; what is wrong with one is a result.

        Those that only read run side by side; one that writes runs alone, after those before it.
        """
        results: list[str] = []
        for group in self._groups(calls[:MOST_CALLS]):
            results += self._call_group(group)
        late = f"error: at most {MOST_CALLS} calls are answered at once"
        return results + [late] * (len(calls) - len(results))

    def _groups(self, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
        group: list[ToolCall] = []
        for call in calls:
            tool = self._tools.get(call.name)
            writes = tool is not None and not tool.read_only
            full = len(group) == AT_ONCE or _same(call) in map(_same, group)
            if group and (writes or full):
                yield group
                group = []
            group.append(call)
            if writes:
                yield group
                group = []
        if group:
            yield group

    def _call_group(self, calls: Sequence[ToolCall]) -> list[str]:
        running: list[_Running | str | InvalidInput] = []
        for call in calls:
            self.context.trace.step("tool_call", name=call.name, arguments=dict(call.arguments))
            running.append(self._start(call))
        return [self._finish(call, run) for call, run in zip(calls, running, strict=True)]

    def _start(self, call: ToolCall) -> _Running | str | InvalidInput:
        """Return a call that runs, what it gave before, or what is wrong with it."""
        tool = self._tools.get(call.name)
        try:
            if tool is None:
                raise InvalidInput(
                    f"there is no tool {call.name:.100}; use {', '.join(self._tools)}"
                )
            arguments = read_arguments(tool, call.arguments)
            if (known := self._remembered.get(_same(call))) is not None:
                return known
            if tool.name in self._hanging:
                raise InvalidInput(f"{tool.name} did not end before; it is not called again")
        except InvalidInput as exc:
            return exc
        return _Running(tool, arguments, call.id)

    def _finish(self, call: ToolCall, run: _Running | str | InvalidInput) -> str:
        seconds, failed = 0.0, True
        if isinstance(run, str):
            text, failed = f"the same call as before gave:\n{run}", False
        elif isinstance(run, InvalidInput):
            text = _error(run)
        else:
            if not run.wait():
                self._hanging.add(call.name)
                run.error = TimeoutError(f"no result within {run.tool.timeout:g} s")
            seconds = run.seconds
            if run.error is not None and not isinstance(run.error, Exception):
                raise run.error  # nobody waits for the answer any more
            if run.error is None:
                try:
                    text, failed = self._show(call, run), False
                except (RagError, ValueError, TypeError) as exc:  # a value that is no JSON
                    run.error = exc
            if run.error is not None:
                text = _error(run.error)
                if not run.tool.trusted:
                    text = self.numbered.fence.quote(f"error of {call.name}", text)
        self.context.trace.step(
            "tool_result", seconds=seconds, name=call.name, result=text[:_TOLD], error=failed
        )
        return text

    def _show(self, call: ToolCall, run: _Running) -> str:
        value = run.value
        if isinstance(value, Shown):
            text = value.show(self.result_tokens)
        else:
            shown = render(value, max_tokens=self.result_tokens, count_tokens=self._count)
            text = self.numbered.add_result(call.name, call.arguments, shown.text)
        if call.name not in AUXILIARY:
            self.answered += 1
        if not run.tool.read_only:
            self._remembered.clear()  # what was read before may be another now
        self._remembered[_same(call)] = text
        self.texts.append(self.numbered.without_marks(text))
        return text


class _Running:
    """A call in a thread of its own, which nobody waits for when it takes too long."""

    def __init__(self, tool: AgentTool, arguments: Mapping[str, Any], call_id: str) -> None:
        self.tool, self._call_id = tool, call_id
        self.value: Any = None
        self.error: BaseException | None = None
        self.seconds = 0.0
        self._arguments = arguments
        self._ended = threading.Event()
        self._started = time.monotonic()
        start_thread(self._run, f"rag-pg-{tool.name}")

    def _run(self) -> None:
        name = self.tool.name
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": self._call_id,
        }
        try:
            with span(f"execute_tool {name}", attributes):
                self.value = self.tool.run(**self._arguments)
        except BaseException as exc:
            self.error = exc
        self._ended.set()

    def wait(self) -> bool:
        """Wait until it ends. False: it did not in its time. Raises: as `Scope.check`."""
        left = seconds_left(max(0.0, self._started + self.tool.timeout - time.monotonic()))
        scope = current_scope()
        with nullcontext() if scope is None else scope.interrupting(self._ended.set):
            ended = self._ended.wait(left)
        if scope is not None:
            scope.check(f"tool {self.tool.name}")
        self.seconds = time.monotonic() - self._started
        return ended


def _same(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(dict(call.arguments), sort_keys=True, default=str)}"


def _error(error: BaseException) -> str:
    if isinstance(error, RagError):
        return f"error: {describe_error(error)}"
    return f"error: {neutralise(f'{type(error).__name__}: {error}')[:_ERROR_LENGTH]}"
