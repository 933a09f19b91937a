"""OpenAI and every server that speaks its protocol: Ollama, vLLM, llama.cpp and others.

The address is that of RAG_PG_OPENAI_BASE_URL, such as http://localhost:11434/v1; the key that of
OPENAI_API_KEY, which a server of one's own may do without.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Unpack

from rag_pg.errors import InvalidInput, ProviderUnavailable, UnusableReply
from rag_pg.extras import extra
from rag_pg.providers.chat import ChatRequest, ProviderModel
from rag_pg.providers.checks import check_texts, unit_vectors
from rag_pg.providers.connection import Access, Connection, ConnectionOptions, Provider
from rag_pg.providers.interrupt import guard_client
from rag_pg.providers.limits import ModelFacts, find_model
from rag_pg.text import estimate_tokens
from rag_pg.types import Completion, Finish, Message, ToolCall, Usage, Vectors

OPENAI = Provider(
    name="openai",
    url="https://api.openai.com/v1",
    url_setting="RAG_PG_OPENAI_BASE_URL",
    key_settings=("OPENAI_API_KEY",),
    free_elsewhere=True,
)
FINISH: Mapping[str | None, Finish] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "blocked",
}
# What a model of OpenAI's may refuse with a 400: it is left out then, and not sent again.
OPTIONAL = ("temperature", "reasoning_effort")
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}
BATCH = 256  # texts per request
MAX_TOKENS = 8192  # of a text to embed


def open_client(access: Access) -> Any:
    """Return an OpenAI client, told neither to repeat nor to wait. Raises: ModelUnavailable."""
    with extra("openai", "a model of OpenAI's protocol needs"):
        import openai

    client = openai.OpenAI(
        api_key=access.key or "none",
        base_url=access.url,
        timeout=access.timeout,
        max_retries=0,
    )
    guard_client(client._client)
    return client


class OpenAIChat:
    """One model over chat completions, the part of the protocol that all servers have."""

    def __init__(self, model: str, access: Access) -> None:
        self._model = model
        self._own = access.own
        self._client = open_client(access)
        self._facts = find_model(f"openai:{model}") if access.own else None
        self._refused: set[str] = set()

    def close(self) -> None:
        self._client.close()

    def complete(self, request: ChatRequest) -> Completion:
        got = self._create(request)
        if isinstance(got, Completion):
            return got
        choice = got.choices[0]
        message = choice.message
        refusal = getattr(message, "refusal", None)
        return _completion(
            text=message.content or "",
            calls=[
                (call.id, call.function.name, call.function.arguments)
                for call in message.tool_calls or ()
            ],
            reason=choice.finish_reason,
            refused=bool(refusal),
            usage=got.usage,
            reply=got,
        )

    def stream(self, request: ChatRequest) -> Iterator[str | Completion]:
        got = self._create(request, stream=True, stream_options={"include_usage": True})
        if isinstance(got, Completion):
            yield got
            return
        texts: list[str] = []
        calls: dict[int, list[str]] = {}
        reason, refused, usage = None, False, None
        with closing(got) as chunks:
            for chunk in chunks:
                usage = chunk.usage or usage
                for choice in chunk.choices or ():
                    delta = choice.delta
                    reason = choice.finish_reason or reason
                    refused = refused or bool(getattr(delta, "refusal", None))
                    for call in delta.tool_calls or ():
                        known = calls.setdefault(call.index, ["", "", ""])
                        known[0] = known[0] or call.id or ""
                        known[1] = known[1] or (call.function and call.function.name) or ""
                        known[2] += (call.function and call.function.arguments) or ""
                    if delta.content:
                        texts.append(delta.content)
                        yield delta.content
        if reason is None:
            raise ProviderUnavailable(f"openai:{self._model} broke off its answer; ask again")
        found = [(call[0], call[1], call[2]) for _, call in sorted(calls.items())]
        yield _completion(
            text="".join(texts),
            calls=found,
            reason=reason,
            refused=refused,
            usage=usage,
            reply=chunk,
        )

    def _create(self, request: ChatRequest, **more: Any) -> Any:
        """Return the SDK's answer, or a Completion where the prompt itself was blocked."""
        import openai

        while True:
            arguments = self._arguments(request)
            try:
                return self._client.chat.completions.create(**arguments, **more)
            except openai.BadRequestError as exc:
                if exc.code == "content_filter":  # as Azure says that the prompt is blocked
                    return Completion(text="", finish="blocked", reason="content_filter")
                if exc.param not in OPTIONAL or exc.param not in arguments:
                    raise
                self._refused.add(exc.param)

    def _arguments(self, request: ChatRequest) -> dict[str, Any]:
        facts = self._facts or ModelFacts()
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": [_message(message) for message in request.messages],
            # Only OpenAI's own models know the newer name, and some of them only that.
            "max_completion_tokens" if self._own else "max_tokens": (
                request.max_tokens + facts.thoughts
            ),
            "temperature": request.temperature if facts.temperature else None,
            "reasoning_effort": facts.reasoning_effort,
            "timeout": request.timeout,
        }
        if request.schema is not None:
            schema = dict(request.schema)
            answer = {"name": "answer", "schema": schema, "strict": _is_strict(schema)}
            arguments["response_format"] = {"type": "json_schema", "json_schema": answer}
        if request.tools:
            arguments["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.parameters),
                    },
                }
                for tool in request.tools
            ]
        return {k: v for k, v in arguments.items() if v is not None and k not in self._refused}


class OpenAILLM(ProviderModel):
    """A model of OpenAI's, or of another server at `base_url`. See `ConnectionOptions`."""

    def __init__(self, model: str, **reached: Unpack[ConnectionOptions]) -> None:
        super().__init__(OPENAI, model, lambda access: OpenAIChat(model, access), reached)


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        content = {"tool_call_id": message.tool_call_id, "content": message.content}
        return {"role": "tool", **content}
    result: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        result["content"] = message.content or None
        result["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in message.tool_calls
        ]
    return result


def _completion(
    *,
    text: str,
    calls: Sequence[tuple[str, str, str]],
    reason: str | None,
    refused: bool,
    usage: Any,
    reply: Any,
) -> Completion:
    finish: Finish = "blocked" if refused else FINISH.get(reason, "stop")
    if calls and finish == "stop":  # as some servers say
        finish = "tool_calls"
    return Completion(
        text=text,
        tool_calls=[
            ToolCall(id=call_id or f"call-{n}", name=name, arguments=_arguments_of(arguments))
            for n, (call_id, name, arguments) in enumerate(calls, 1)
        ],
        finish=finish,
        reason=("refusal" if refused else reason or "") if finish == "blocked" else "",
        usage=Usage(
            prompt_tokens=(usage and usage.prompt_tokens) or 0,
            answer_tokens=(usage and usage.completion_tokens) or 0,
        ),
        model=getattr(reply, "model", None) or "",
        response_id=getattr(reply, "id", None) or "",
    )


def _arguments_of(text: str) -> Mapping[str, Any]:
    """The arguments of a call; {} where a model wrote what is no JSON object:
    its tool then refuses it."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _is_strict(schema: Any) -> bool:
    """Whether OpenAI can hold a model to the schema:
    every object is closed, every property required."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if "properties" in schema or schema.get("type") == "object":
        closed = schema.get("additionalProperties") is False
        names = set(schema.get("properties", {}))
        if not closed or names != set(schema.get("required", ())):
            return False
    return all(map(_is_strict, schema.values()))


class OpenAIEmbedder:
    """An embedding model over OpenAI's protocol: L2-normalised vectors.

    Args:
        dimensions: of the vectors; None: as the model gives them, which is asked for once where it
            is not known. Only models that can be shortened take another number.
        timeout: seconds per request of at most 256 texts.
    Raises: InvalidInput (dimensions), and as `embed_query` where the model has to be asked.
    """

    provider: str | None = "openai"
    max_tokens = MAX_TOKENS

    def __init__(
        self,
        model: str,
        *,
        dimensions: int | None = None,
        **reached: Unpack[ConnectionOptions],
    ) -> None:
        if dimensions is not None and dimensions < 1:
            raise InvalidInput(f"dimensions must be at least 1, not {dimensions}")
        self._model = model
        self._asked = dimensions
        self.name = f"openai:{model}" + ("" if dimensions is None else f":{dimensions}")
        self._connection: Connection[Any] = Connection(
            OPENAI,
            open_client,
            patience=0,  # a refusal is the business of who plans the calls: the worker's budget
            **reached,
        )
        self.dimensions = dimensions or DIMENSIONS.get(model) or len(self._request(["word"])[0])
        self.fingerprint = f"openai/{model}/dimensions={self.dimensions}/l2"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), dimensions). Raises:
        as `ChatModel.complete`, InvalidInput."""
        given = check_texts(texts)
        rows: list[Sequence[float]] = []
        for at in range(0, len(given), BATCH):
            rows += self._request(given[at : at + BATCH])
        return unit_vectors(rows, count=len(given), dimensions=self.dimensions, name=self.name)

    def embed_query(self, text: str) -> Vectors:
        """Return float32 (dimensions,). Raises: as `embed_documents`."""
        query: Vectors = self.embed_documents([text])[0]
        return query

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), dimensions). Raises: as `embed_documents`."""
        return self.embed_documents(texts)

    def check(self) -> None:
        """Embed a word: the key, the model and its dimensions are right.
        Raises: as `embed_query`."""
        self.embed_query("check")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return an estimate that errs on the high side:
        which tokenizer a server has is not known."""
        return estimate_tokens(texts)

    def _request(self, texts: list[str]) -> list[Sequence[float]]:
        # An empty text is refused by OpenAI; a space has as little to say.
        texts = [text or " " for text in texts]
        more = {} if self._asked is None else {"dimensions": self._asked}

        def ask(client: Any) -> list[Sequence[float]]:
            got = client.embeddings.create(
                model=self._model, input=texts, encoding_format="float", **more
            )
            rows = {item.index: item.embedding for item in got.data}
            if not len(rows) == len(got.data) == len(texts):
                raise UnusableReply(
                    f"{self.name} gave {len(got.data)} vectors with {len(rows)} different indexes"
                    f" for {len(texts)} texts"
                )
            if not all(isinstance(row, list) for row in rows.values()):
                raise UnusableReply(f"{self.name} gave a vector that is no list of numbers")
            return [rows[index] for index in sorted(rows)]

        return self._connection.call(ask)


def open_embedder(name: str) -> OpenAIEmbedder:
    """Return the embedder called "openai:<model>" or "openai:<model>:<dimensions>".

    A model's own name may hold a colon, as Ollama's tags do: "openai:bge-m3:latest".

    Raises: InvalidInput, and as OpenAIEmbedder.
    """
    match = re.fullmatch(r"openai:([\w./@:-]+?)(?::(\d{1,5}))?", name)
    if match is None:
        raise InvalidInput(f"{name!r} is not openai:MODEL or openai:MODEL:DIMENSIONS")
    return OpenAIEmbedder(match[1], dimensions=int(match[2]) if match[2] else None)
