"""Google's two Python SDKs for Gemini behind one small protocol. Each is imported when first used.

`google-genai` is the maintained one. `google-generativeai` (last release 0.8.6) serves those who
have it already. Both are told neither to retry nor to wait:
`rag_pg.providers.connection` does that.
"""

from __future__ import annotations

import importlib.util
import logging
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol

from rag_pg.errors import InvalidInput, ModelUnavailable
from rag_pg.providers.chat import ChatRequest
from rag_pg.providers.interrupt import guard_client
from rag_pg.types import Message, Tool, ToolCall

SdkChoice = Literal["auto", "genai", "generativeai"]

THOUGHTS = 8192  # tokens: what the models that think by default may use before they answer

_PACKAGES = {"genai": "google.genai", "generativeai": "google.generativeai"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a model returned, or a piece of it. `finish` is the API's finishReason,
    `blocked` its blockReason or "".

    `total_tokens` includes thoughts, which are billed as answer tokens.
    """

    text: str
    calls: Sequence[ToolCall] = ()
    finish: str
    blocked: str
    prompt_tokens: int
    total_tokens: int


def _contents(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The turns as the API has them: results of tools are one turn of the user,
    under their tool's name."""
    contents: list[dict[str, Any]] = []
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    for message in messages:
        parts: list[dict[str, Any]] = [{"text": message.content}] if message.content else []
        if message.role == "system":
            continue
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            response = {"id": call_id, "name": names.get(call_id, call_id)}
            part = {"function_response": {**response, "response": {"result": message.content}}}
            if contents and "function_response" in contents[-1]["parts"][0]:
                contents[-1]["parts"].append(part)
                continue
            parts = [part]
        for call in message.tool_calls:
            part = {
                "function_call": {"id": call.id, "name": call.name, "args": dict(call.arguments)}
            }
            if call.signature:
                part["thought_signature"] = call.signature  # type: ignore[assignment]
            parts.append(part)
        role = "model" if message.role == "assistant" else "user"
        contents.append({"role": role, "parts": parts or [{"text": ""}]})
    return contents


class Sdk(Protocol):
    """One SDK, bound to a key, an address and a time-out. Errors are the SDK's own."""

    def generate(self, request: ChatRequest, model: str, *, stream: bool) -> Generator[Reply]:
        """Yield the reply, in pieces where it is streamed."""
        ...

    def embed(
        self, texts: Sequence[str], *, model: str, task: str, dimensions: int
    ) -> list[list[float]]: ...

    def close(self) -> None: ...


def is_installed(package: str) -> bool:
    """Whether a package such as google.genai can be imported, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def choose_sdk(choice: str, installed: Callable[[str], bool] = is_installed) -> str:
    """Return genai or generativeai. auto: the maintained SDK wherever it is installed.

    Raises: InvalidInput (unknown choice), ModelUnavailable (not installed).
    """
    if choice not in ("auto", *_PACKAGES):
        raise InvalidInput(f"unknown sdk {choice!r}; use auto, genai or generativeai")
    wanted = list(_PACKAGES) if choice == "auto" else [choice]
    for sdk in wanted:
        if installed(_PACKAGES[sdk]):
            return sdk
    package, extra = (
        ("google-generativeai", "gemini-legacy")
        if choice == "generativeai"
        else ("google-genai", "gemini")
    )
    raise ModelUnavailable(f"gemini needs {package}: pip install 'rag-pg[{extra}]'")


def open_sdk(choice: str, *, api_key: str, base_url: str, timeout: float) -> Sdk:
    """Return the chosen SDK, ready for calls from any thread. `timeout` in seconds per request.

    Raises: InvalidInput, ModelUnavailable (see choose_sdk).
    """
    adapter = _GenAI if choose_sdk(choice) == "genai" else _GenerativeAI
    return adapter(api_key=api_key, base_url=base_url, timeout=timeout)


def _can_stop_thinking(model: str) -> bool:
    return model.startswith("gemini-2.5-flash")


def _temperature(model: str, temperature: float) -> float | None:
    """Models after 2.5 are meant to run at their default."""
    return temperature if model.startswith(("gemini-1", "gemini-2", "gemma")) else None


def _output_limit(model: str, max_tokens: int, *, thinks: bool) -> int:
    """Thoughts count towards the limit: leave room for them, or the answer comes out empty."""
    old = model.startswith(("gemini-1", "gemini-2.0", "gemma"))
    return max_tokens + (THOUGHTS if thinks and not old else 0)


def thought_tokens(model: str, sdk: SdkChoice) -> int:
    """Return what a model may use before it answers: only google-genai can tell it not to."""
    return _output_limit(model, 0, thinks=sdk == "generativeai" or not _can_stop_thinking(model))


def _name(reason: Any) -> str:
    """The name of an enum value; of a value newer than the SDK, its number."""
    return str(getattr(reason, "name", reason) or "")


def _closing(replies: Iterator[Reply], close: Callable[[], None] | None) -> Iterator[Reply]:
    """Yield the pieces of a stream, and end the request with the iterator."""
    try:
        yield from replies
    finally:
        if close:
            close()


class _GenAI:
    def __init__(self, *, api_key: str, base_url: str, timeout: float) -> None:
        from google import genai
        from google.genai import types

        self._types = types
        self._client = genai.Client(
            api_key=api_key,
            vertexai=False,  # whatever GOOGLE_GENAI_USE_VERTEXAI says
            http_options=types.HttpOptions(
                base_url=base_url,
                api_version="v1beta",  # what the other SDK uses, and where new models come first
                timeout=max(1, int(timeout * 1000)),  # milliseconds
            ),
        )
        guard_client(self._client._api_client._httpx_client)

    def close(self) -> None:
        self._client.close()

    def generate(self, request: ChatRequest, model: str, *, stream: bool) -> Generator[Reply]:
        types, quick = self._types, _can_stop_thinking(model)
        tools = [
            types.FunctionDeclaration(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
            )
            for tool in request.tools
        ]
        config = types.GenerateContentConfig(
            system_instruction=request.system or None,
            temperature=_temperature(model, request.temperature),
            max_output_tokens=_output_limit(model, request.max_tokens, thinks=not quick),
            thinking_config=types.ThinkingConfig(thinking_budget=0) if quick else None,
            response_mime_type=None if request.schema is None else "application/json",
            response_json_schema=request.schema,
            tools=[types.Tool(function_declarations=tools)] if tools else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            http_options=types.HttpOptions(timeout=max(1, int(request.timeout * 1000))),
        )
        contents: Any = _contents(request.messages)
        models = self._client.models
        if stream:
            pieces = models.generate_content_stream(model=model, contents=contents, config=config)
            yield from _closing(map(self._reply, pieces), getattr(pieces, "close", None))
        else:
            got = models.generate_content(model=model, contents=contents, config=config)
            yield self._reply(got)

    def _reply(self, got: Any) -> Reply:
        candidate = got.candidates[0] if got.candidates else None
        content = candidate.content if candidate else None
        parts = (content.parts if content else None) or []
        usage, feedback = got.usage_metadata, got.prompt_feedback
        return Reply(
            text="".join(part.text or "" for part in parts if not part.thought),
            calls=[
                ToolCall(
                    id=part.function_call.id or "",
                    name=part.function_call.name or "",
                    arguments=part.function_call.args or {},
                    signature=part.thought_signature,
                )
                for part in parts
                if part.function_call
            ],
            finish=_name(candidate.finish_reason) if candidate else "",
            blocked=_name(feedback.block_reason) if feedback else "",
            prompt_tokens=(usage.prompt_token_count if usage else None) or 0,
            total_tokens=(usage.total_token_count if usage else None) or 0,
        )

    def embed(
        self, texts: Sequence[str], *, model: str, task: str, dimensions: int
    ) -> list[list[float]]:
        config = self._types.EmbedContentConfig(task_type=task, output_dimensionality=dimensions)
        contents: list[Any] = list(texts)  # also images, where Pillow is installed
        got = self._client.models.embed_content(model=model, contents=contents, config=config)
        return [list(embedding.values or ()) for embedding in got.embeddings or ()]


@cache
def _import_generativeai() -> Any:
    """Import google.generativeai without the warnings it gives its users; one log line instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import google.generativeai as generativeai
    _log.warning(
        "gemini through google-generativeai, which is no longer maintained; "
        "pip install 'rag-pg[gemini]' for google-genai"
    )
    return generativeai


class _GenerativeAI:
    def __init__(self, *, api_key: str, base_url: str, timeout: float) -> None:
        self._genai = _import_generativeai()
        from google.ai import generativelanguage

        # A client of our own: configure() would change the key of the whole process.
        self._client = generativelanguage.GenerativeServiceClient(
            transport="rest", client_options={"api_key": api_key, "api_endpoint": base_url}
        )
        self._options = {"retry": None, "timeout": timeout}

    def close(self) -> None:
        self._client.transport.close()  # type: ignore[no-untyped-call]

    def generate(self, request: ChatRequest, model: str, *, stream: bool) -> Generator[Reply]:
        config = {
            "max_output_tokens": _output_limit(model, request.max_tokens, thinks=True),
            "temperature": _temperature(model, request.temperature),
        }
        if request.schema is not None:
            config["response_mime_type"] = "application/json"  # type: ignore[assignment]
            config["response_schema"] = _old_schema(request.schema)  # type: ignore[assignment]
        chat = self._genai.GenerativeModel(
            model,
            generation_config={key: value for key, value in config.items() if value is not None},
            system_instruction=request.system or None,
            tools=_old_tools(request.tools),
        )
        chat._client = self._client  # the only way in, and the last release: it will not change
        got = chat.generate_content(
            [_without_signatures(content) for content in _contents(request.messages)],
            request_options={**self._options, "timeout": request.timeout},
            stream=stream,
        )
        if stream:
            yield from _closing(map(self._reply, got), getattr(got._iterator, "cancel", None))
        else:
            yield self._reply(got)

    def _reply(self, got: Any) -> Reply:
        candidate = got.candidates[0] if got.candidates else None
        parts = candidate.content.parts if candidate else ()
        calls = [
            type(part.function_call).to_dict(part.function_call)
            for part in parts
            if part.function_call
        ]
        return Reply(
            text="".join(part.text for part in parts),
            calls=[
                ToolCall(id=call["id"], name=call["name"], arguments=_whole_numbers(call["args"]))
                for call in calls
            ],
            finish=_name(candidate.finish_reason or "") if candidate else "",
            blocked=_name(got.prompt_feedback.block_reason or ""),
            prompt_tokens=got.usage_metadata.prompt_token_count,
            total_tokens=got.usage_metadata.total_token_count,
        )

    def embed(
        self, texts: Sequence[str], *, model: str, task: str, dimensions: int
    ) -> list[list[float]]:
        got = self._genai.embed_content(
            model=model if "/" in model else f"models/{model}",
            content=list(texts),
            task_type=task.lower(),
            output_dimensionality=dimensions,
            client=self._client,
            request_options=self._options,
        )
        return [list(values) for values in got["embedding"]]


_OLD_FIELDS = {
    "type": "type_",
    "format": "format_",
    "maxItems": "max_items",
    "minItems": "min_items",
}
_OLD_SAME = ("description", "nullable", "enum", "required")


def _old_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a JSON schema that the old SDK can say;
    the rest is left to whoever validates the answer."""
    kind = schema.get("type")
    nullable = isinstance(kind, list) and "null" in kind
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "string")
    old = {name: schema[name] for name in _OLD_SAME if name in schema}
    old |= {new: schema[name] for name, new in _OLD_FIELDS.items() if name in schema}
    if kind:
        old["type_"] = str(kind).upper()
    if nullable:
        old["nullable"] = True
    if "enum" in old:
        old["enum"] = [str(value) for value in old["enum"]]
    if "items" in schema:
        old["items"] = _old_schema(schema["items"])
    if "properties" in schema:
        old["properties"] = {k: _old_schema(v) for k, v in schema["properties"].items()}
    return old


def _old_tools(tools: Sequence[Tool]) -> list[dict[str, Any]] | None:
    declared = [
        {
            "name": tool.name,
            "description": tool.description,
            # The API refuses an object without properties.
            "parameters": _old_schema(tool.parameters)
            if tool.parameters.get("properties")
            else None,
        }
        for tool in tools
    ]
    return [{"function_declarations": declared}] if declared else None


def _without_signatures(content: dict[str, Any]) -> dict[str, Any]:
    """The old SDK knows none; only models that it does not know either ask for them."""
    parts = [{k: v for k, v in p.items() if k != "thought_signature"} for p in content["parts"]]
    return {**content, "parts": parts}


def _whole_numbers(value: Any) -> Any:
    """The value with 5.0 as 5: the old SDK has no integers."""
    if isinstance(value, dict):
        return {name: _whole_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
