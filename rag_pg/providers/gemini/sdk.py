"""Google's two Python SDKs for Gemini behind one small protocol. Each is imported when first used.

`google-genai` is the maintained one. `google-generativeai` (last release 0.8.6) serves those who
have it already. Both are told neither to retry nor to wait: `rag_pg.providers.gemini.llm` does that for both.
"""

from __future__ import annotations

import importlib.util
import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol

from rag_pg.errors import InvalidInput, ModelUnavailable

SdkChoice = Literal["auto", "genai", "generativeai"]

THOUGHTS = 8192  # tokens: what the models that think by default may use before they answer

_PACKAGES = {"genai": "google.genai", "generativeai": "google.generativeai"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a model returned. `finish` is the API's finishReason, `blocked` its blockReason or "".

    `total_tokens` includes thoughts, which are billed as answer tokens.
    """

    text: str
    finish: str
    blocked: str
    prompt_tokens: int
    total_tokens: int


Turn = tuple[Literal["user", "model"], str]  # who speaks, and what


def _contents(turns: Sequence[Turn]) -> Any:
    return [{"role": role, "parts": [{"text": text}]} for role, text in turns]


class Sdk(Protocol):
    """One SDK, bound to a key, an address and a time-out. Errors are the SDK's own."""

    def generate(
        self,
        turns: Sequence[Turn],
        *,
        model: str,
        system: str,
        max_tokens: int,
        temperature: float | None,
    ) -> Reply: ...

    def embed(
        self, texts: Sequence[str], *, model: str, task: str, dimensions: int
    ) -> list[list[float]]: ...


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


def _temperature(model: str) -> float | None:
    """0 for models up to 2.5; later ones are meant to run at their default."""
    return 0.0 if model.startswith(("gemini-1", "gemini-2")) else None


def _output_limit(model: str, max_tokens: int, *, thinks: bool) -> int:
    """Thoughts count towards the limit: leave room for them, or the answer comes out empty."""
    old = model.startswith(("gemini-1", "gemini-2.0", "gemma"))
    return max_tokens + (THOUGHTS if thinks and not old else 0)


def _name(reason: Any) -> str:
    """The name of an enum value; of a value newer than the SDK, its number."""
    return str(getattr(reason, "name", reason) or "")


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

    def generate(
        self,
        turns: Sequence[Turn],
        *,
        model: str,
        system: str,
        max_tokens: int,
        temperature: float | None,
    ) -> Reply:
        types, quick = self._types, _can_stop_thinking(model)
        config = types.GenerateContentConfig(
            system_instruction=system or None,
            temperature=_temperature(model) if temperature is None else temperature,
            max_output_tokens=_output_limit(model, max_tokens, thinks=not quick),
            thinking_config=types.ThinkingConfig(thinking_budget=0) if quick else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        got = self._client.models.generate_content(
            model=model, contents=_contents(turns), config=config
        )
        candidate = got.candidates[0] if got.candidates else None
        content = candidate.content if candidate else None
        parts = (content.parts if content else None) or []
        usage, feedback = got.usage_metadata, got.prompt_feedback
        return Reply(
            text="".join(part.text or "" for part in parts if not part.thought),
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

    def generate(
        self,
        turns: Sequence[Turn],
        *,
        model: str,
        system: str,
        max_tokens: int,
        temperature: float | None,
    ) -> Reply:
        config = {
            "max_output_tokens": _output_limit(model, max_tokens, thinks=True),
            "temperature": _temperature(model) if temperature is None else temperature,
        }
        chat = self._genai.GenerativeModel(
            model,
            generation_config={key: value for key, value in config.items() if value is not None},
            system_instruction=system or None,
        )
        chat._client = self._client  # the only way in, and the last release: it will not change
        got = chat.generate_content(_contents(turns), request_options=self._options)
        candidate = got.candidates[0] if got.candidates else None
        return Reply(
            text="".join(part.text for part in candidate.content.parts) if candidate else "",
            finish=_name(candidate.finish_reason) if candidate else "",
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
