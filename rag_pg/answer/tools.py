"""What a language model may call while it answers: search, get_document, calculate.

A model that can call no tools by itself is told of a small text protocol instead: one line
TOOL_CALL: name({"argument": value}).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema

from rag_pg.answer.calculate import calculate
from rag_pg.answer.context import AnswerContext
from rag_pg.answer.prompt import SYSTEM, cite, one_line, source_block
from rag_pg.errors import InvalidInput, InvalidQuery
from rag_pg.text import Fence, neutralise, new_keys
from rag_pg.types import Citation, Hit, Tool, ToolCall

RESULT_CHARACTERS = 6000  # of a document, and of all results of a search


def _tool(name: str, description: str, **parameters: Mapping[str, Any]) -> Tool:
    required = [key for key, value in parameters.items() if "default" not in value]
    schema = {
        "type": "object",
        "properties": parameters,
        "required": required,
        "additionalProperties": False,
    }
    return Tool(name=name, description=description, parameters=schema)


TOOLS = (
    _tool(
        "search",
        "Search the documents by keywords and meaning. Returns sources, with the keys to cite.",
        query={"type": "string", "minLength": 1, "maxLength": 1000},
    ),
    _tool(
        "get_document",
        f"Read a document of which a source was found, {RESULT_CHARACTERS} characters from start.",
        uri={"type": "string", "minLength": 1},
        start={"type": "integer", "minimum": 0, "default": 0},
    ),
    _tool(
        "calculate",
        "Calculate with numbers: + - * / // % **, parentheses, abs, max, min, round, sqrt.",
        expression={"type": "string", "minLength": 1},
    ),
)

_CALL = re.compile(r"^[ \t]*TOOL_CALL:(.*)$", re.MULTILINE)
_FORM = re.compile(r"[ \t]*([a-z_]+)[ \t]*\((.*)\)[ \t]*")
PROTOCOL = """\
To call a tool, answer with one line and nothing else: TOOL_CALL: name({{"argument": value}}), for \
example TOOL_CALL: search({{"query": "opening hours"}}). You are then told its result. The tools:
{tools}"""


def describe_tools(tools: Sequence[Tool]) -> str:
    """Return what a model has to be told that calls tools by text."""
    lines = [
        f"- {t.name}({json.dumps(t.parameters['properties'])}): {t.description}" for t in tools
    ]
    return PROTOCOL.format(tools="\n".join(lines))


def parse_call(text: str) -> ToolCall | None:
    """Return the call that a text is, None where it is none. Raises: InvalidInput for half a
    call."""
    lines = _CALL.findall(text)
    if not lines:
        return None
    form = _FORM.fullmatch(lines[0])
    if len(lines) > 1 or form is None:
        raise InvalidInput('write one line, TOOL_CALL: name({"argument": value}), and nothing else')
    try:
        arguments = json.loads(form[2] or "{}")
    except ValueError as exc:
        raise InvalidInput(f"the arguments of {form[1]} are not JSON: {exc}") from exc
    if not isinstance(arguments, dict):
        raise InvalidInput(f"the arguments of {form[1]} are no JSON object")
    return ToolCall(id="call", name=form[1], arguments=arguments)


@dataclass(slots=True)
class ToolBox:
    """The tools over one question's context. `sources` are what they found, numbered from 1;
    `keys`: by which the model cites them; `fence`: what their results are quoted by."""

    context: AnswerContext
    sources: list[Citation] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    fence: Fence = field(default_factory=Fence)

    def call(self, call: ToolCall) -> str:
        """Return a tool's result as a text; what is wrong with a call is a result, too."""
        self.context.step("tool_call", name=call.name, arguments=dict(call.arguments))
        tool = next((tool for tool in TOOLS if tool.name == call.name), None)
        try:
            if tool is None:
                raise InvalidInput(
                    f"there is no tool {call.name}; use search, get_document, calculate"
                )
            error = jsonschema.Draft202012Validator(tool.parameters)
            wrong = next(error.iter_errors(dict(call.arguments)), None)
            if wrong is not None:
                raise InvalidInput(f"{wrong.json_path}: {wrong.message}")
            run: Callable[..., str] = getattr(self, f"_{tool.name}")
            result = run(**call.arguments)
        except (InvalidInput, InvalidQuery) as exc:
            result = f"error: {neutralise(str(exc))}"
        self.context.step("tool_result", name=call.name, result=result[:500])
        return result

    def _search(self, query: str) -> str:
        blocks: list[str] = []
        for hit in self.context.expand(self.context.search(query)):
            source, key = self._source(hit)
            blocks.append(source_block(source, key, self.fence, with_uri=True))
            if sum(map(len, blocks)) > RESULT_CHARACTERS:
                break
        return "\n\n".join(blocks) or "nothing found"

    def _source(self, hit: Hit) -> tuple[Citation, str]:
        """Return the source of a hit and its key, the same when it was found before."""
        for source, key in zip(self.sources, self.keys, strict=True):
            if source.chunk_id == hit.chunk_id:
                return source, key
        source = cite(len(self.sources) + 1, hit, hit.content)
        self.sources.append(source)
        self.keys += new_keys(1, [SYSTEM, hit.content, *self.keys])
        return source, self.keys[-1]

    def _get_document(self, uri: str, start: int = 0) -> str:
        known = [
            (source, key)
            for source, key in zip(self.sources, self.keys, strict=True)
            if uri in (source.uri, one_line(source.uri))
        ]
        document = self.context.read(known[0][0].uri) if known else None
        if document is None:
            raise InvalidInput(f"no source with the uri {uri!r} was found; search first")
        text = (document.content or "")[start : start + RESULT_CHARACTERS]
        keys = "".join(f"[{key}]" for _, key in known)
        rest = len(document.content or "") - start - len(text)
        more = f"\n{rest} characters follow." if rest > 0 else ""
        return f"{self.fence.quote(f'document of {keys}', text)}{more}"

    def _calculate(self, expression: str) -> str:
        return f"{calculate(expression):.12g}"
