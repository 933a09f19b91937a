"""Language models by name."""

from __future__ import annotations

import re

from rag_pg.errors import InvalidInput
from rag_pg.providers.gemini.llm import GeminiLLM
from rag_pg.providers.gemini.sdk import SdkChoice
from rag_pg.types import LLM

EXTRACTIVE = "extractive"


def open_llm(
    name: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    sdk: SdkChoice = "auto",
    timeout: float = 60.0,
) -> LLM | None:
    """Return the model called "gemini" or "gemini:<model>"; None for "extractive", which needs none.

    Nothing is imported or connected before the model is first asked.

    Args:
        api_key, base_url, sdk, timeout: see rag_pg.providers.gemini.llm; timeout in seconds per request.
    Raises: InvalidInput (unknown name, timeout not above 0).
    """
    if name == EXTRACTIVE:
        return None
    if name == "gemini":
        return GeminiLLM(api_key=api_key, base_url=base_url, sdk=sdk, timeout=timeout)
    match = re.fullmatch(r"gemini:([\w./-]+)", name)
    if match is None:
        raise InvalidInput(
            f"unknown language model {name!r}; use extractive, gemini or gemini:<model>"
        )
    return GeminiLLM(match[1], api_key=api_key, base_url=base_url, sdk=sdk, timeout=timeout)
