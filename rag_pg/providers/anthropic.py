"""Anthropic's models. The key is that of ANTHROPIC_API_KEY."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack

from rag_pg.errors import ProviderUnavailable
from rag_pg.extras import extra
from rag_pg.providers.chat import ChatRequest, ProviderModel
from rag_pg.providers.connection import Access, ConnectionOptions, Provider
from rag_pg.providers.interrupt import guard_client
from rag_pg.providers.limits import ModelFacts, find_model
from rag_pg.types import Completion, Finish, Message, Source, ToolCall, Usage

ANTHROPIC = Provider(
    name="anthropic",
    url="https://api.anthropic.com",
    url_setting="RAG_PG_ANTHROPIC_BASE_URL",
    key_settings=("ANTHROPIC_API_KEY",),
)
FINISH: Mapping[str | None, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "blocked",
}
THOUGHTS = 8192  # tokens: what a model that is not known may use before it answers


class AnthropicChat:
    """One model over the messages API."""

    def __init__(self, model: str, access: Access) -> None:
        with extra("anthropic", "a model of Anthropic needs"):
            import anthropic

        self._transform_schema = anthropic.transform_schema
        self._model = model
        facts = find_model(f"anthropic:{model}") or ModelFacts(thoughts=THOUGHTS)
        self._thoughts = facts.thoughts
        self._client = anthropic.Anthropic(
            api_key=access.key, base_url=access.url, timeout=access.timeout, max_retries=0
        )
        guard_client(self._client._client)

    def close(self) -> None:
        self._client.close()

    def complete(self, request: ChatRequest) -> Completion:
        with (
            warnings.catch_warnings()
        ):  # that a model will be withdrawn: its provider's mail says it
            warnings.simplefilter("ignore", DeprecationWarning)
            message = self._client.messages.create(**self._arguments(request))
        return _completion(message, _keys(request))

    def stream(self, request: ChatRequest) -> Iterator[str | Completion]:
        keys = _keys(request)
        with self._client.messages.stream(**self._arguments(request)) as stream:
            for event in stream:
                if event.type == "text":
                    yield event.text
                elif event.type == "content_block_stop" and event.content_block.type == "text":
                    yield _cited(event.content_block, keys)
            message = stream.get_final_message()
        if message.stop_reason is None:
            raise ProviderUnavailable(f"anthropic:{self._model} broke off its answer; ask again")
        yield _completion(message, keys)

    def _arguments(self, request: ChatRequest) -> dict[str, Any]:
        """The API has no temperature any more: it is not sent."""
        arguments: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_tokens + self._thoughts,
            "messages": _messages(request.messages),
            "timeout": request.timeout,
        }
        if request.system:
            arguments["system"] = request.system
        if request.tools:
            arguments["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": dict(tool.parameters),
                }
                for tool in request.tools
            ]
        if request.schema is not None:
            schema = self._transform_schema(dict(request.schema))
            arguments["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return arguments


class AnthropicLLM(ProviderModel):
    """A model of Anthropic's; see `ConnectionOptions`."""

    def __init__(self, model: str, **reached: Unpack[ConnectionOptions]) -> None:
        known = find_model(f"anthropic:{model}")
        super().__init__(
            ANTHROPIC,
            model,
            lambda access: AnthropicChat(model, access),
            reached,
            citations=True,
            thought_tokens=known.thoughts if known else THOUGHTS,
        )


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The turns as the API has them: results of tools are blocks of one turn of the user."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            continue
        blocks: list[dict[str, Any]] = []
        if message.role == "tool":
            result = {"tool_use_id": message.tool_call_id, "content": message.content}
            blocks.append({"type": "tool_result", **result})
        blocks += [_source(source) for source in message.sources]
        if message.content and message.role != "tool":
            blocks.append({"type": "text", "text": message.content})
        for call in message.tool_calls:
            if call.signature:  # the thoughts that led to the call stand before it
                blocks = [*json.loads(call.signature), *blocks]
            use = {"id": call.id, "name": call.name, "input": dict(call.arguments)}
            blocks.append({"type": "tool_use", **use})
        role = "assistant" if message.role == "assistant" else "user"
        if message.role == "tool" and turns and turns[-1]["content"][0]["type"] == "tool_result":
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return turns


def _source(source: Source) -> dict[str, Any]:
    """A passage that the API cites. What it says is kept from the instructions by its block."""
    return {
        "type": "search_result",
        "source": source.key,
        "title": source.title or source.key,
        "content": [{"type": "text", "text": source.text}],
        "citations": {"enabled": True},
    }


def _keys(request: ChatRequest) -> list[str]:
    """The keys of all sources, in the order in which the API counts them."""
    return [source.key for message in request.messages for source in message.sources]


def _cited(block: Any, keys: Sequence[str]) -> str:
    """The keys that a block of text cites, such as " [a][b]"; "" for none."""
    found = [
        keys[each.search_result_index]
        for each in block.citations or ()
        if each.type == "search_result_location" and each.search_result_index < len(keys)
    ]
    space = "" if block.text[-1:].isspace() else " "
    return space + "".join(f"[{key}]" for key in dict.fromkeys(found)) if found else ""


def _completion(message: Any, keys: Sequence[str]) -> Completion:
    thoughts = [
        block.model_dump(mode="json", exclude_none=True)
        for block in message.content
        if block.type in ("thinking", "redacted_thinking")
    ]
    signature = json.dumps(thoughts).encode() if thoughts else None
    uses = [block for block in message.content if block.type == "tool_use"]
    finish = FINISH.get(message.stop_reason, "stop")
    usage = message.usage
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    return Completion(
        text="".join(
            block.text + _cited(block, keys) for block in message.content if block.type == "text"
        ),
        tool_calls=[
            ToolCall(
                id=use.id,
                name=use.name,
                arguments=dict(use.input),
                signature=signature if n == 0 else None,
            )
            for n, use in enumerate(uses)
        ],
        finish=finish,
        reason="refusal" if finish == "blocked" else "",
        usage=Usage(prompt_tokens=usage.input_tokens + cached, answer_tokens=usage.output_tokens),
        model=message.model or "",
        response_id=message.id or "",
    )
