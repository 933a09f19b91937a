"""Language models by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rag_pg.errors import InvalidInput
from rag_pg.protocols import Embedder
from rag_pg.providers.minilm.embedder import MiniLM
from rag_pg.providers.sentence_transformers import SentenceTransformers

if TYPE_CHECKING:
    pass

import re

from rag_pg.protocols import LLM, Reranker
from rag_pg.providers.gemini.llm import GeminiLLM
from rag_pg.providers.gemini.sdk import SdkChoice
from rag_pg.providers.llm_reranker import (
    LLMReranker,
)
from rag_pg.providers.sentence_transformers import CrossEncoder

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


def open_reranker(name: str, *, llm: str, open_llm: Callable[[str], LLM | None]) -> Reranker:
    """Return the reranker called `name`: cross-encoder:<model or folder>, llm or llm:<language model>.

    Args:
        llm: the language model that "llm" stands for. open_llm: opens one by name; None: it writes nothing.
    Raises: InvalidInput (unknown name, a language model that cannot rank), ModelUnavailable.
    """
    prefix, _, model = name.partition(":")
    if prefix == "cross-encoder" and model:
        return CrossEncoder(model)
    if name == "llm" or (prefix == "llm" and model):
        opened = open_llm(model or llm)
        if opened is None:
            raise InvalidInput(
                f"reranker {name!r} needs a language model, and {model or llm} is none; "
                "use llm:gemini, or set RAG_PG_LLM=gemini"
            )
        return LLMReranker(opened)
    raise InvalidInput(
        f"unknown reranker {name!r}; use cross-encoder:<model or folder>, llm or llm:<language model>"
    )


def open_embedder(
    name: str,
    *,
    cache_dir: Path,
    weights: Path | None = None,
    extra: Mapping[str, Callable[[str], Embedder]] | None = None,
) -> Embedder:
    """Return the embedder called `name`.

    Args:
        cache_dir: where minilm keeps its converted graph (87 MB).
        weights: folder with minilm's weights; other embedders do not use it.
        extra: more embedders, prefix -> factory. {"hash": f} makes "hash:32" call f("hash:32").
    Raises: InvalidInput (unknown name), ModelUnavailable (sentence-transformers).
    """
    prefix, _, model = name.partition(":")
    if extra and prefix in extra:
        return extra[prefix](name)
    if name == MiniLM.name:
        return MiniLM(cache_dir=cache_dir, weights=weights)
    if prefix == "sentence-transformers" and model:
        return SentenceTransformers(model)
    if prefix == "gemini":
        from rag_pg.providers.gemini import embedder as gemini

        return gemini.open_embedder(name)
    supported = ["minilm", "sentence-transformers:<model>", "gemini:<model>[:<dimensions>]"]
    supported += [f"{key}:…" for key in sorted(extra or ())]
    raise InvalidInput(f"unknown embedding model {name!r}; supported: {', '.join(supported)}")
