"""Models by name: `Models` opens each once per process; open_… are what it opens them by."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rag_pg.config import Settings
from rag_pg.errors import CollectionMismatch, InvalidInput, ModelUnavailable, UnknownModel
from rag_pg.protocols import LLM, Embedder, Reranker
from rag_pg.providers.anthropic import AnthropicLLM
from rag_pg.providers.e5.embedder import E5
from rag_pg.providers.e5.weights import is_here
from rag_pg.providers.gemini.embedder import open_embedder as open_gemini_embedder
from rag_pg.providers.gemini.llm import GeminiLLM
from rag_pg.providers.llm_reranker import LLMReranker
from rag_pg.providers.local import open_local
from rag_pg.providers.minilm.embedder import MiniLM
from rag_pg.providers.onnx.embedder import OnnxModel
from rag_pg.providers.onnx.reranker import OnnxReranker
from rag_pg.providers.openai import OpenAILLM
from rag_pg.providers.openai import open_embedder as open_openai_embedder
from rag_pg.providers.sentence_transformers import CrossEncoder, SentenceTransformers

if TYPE_CHECKING:
    from rag_pg.db import Database

EXTRACTIVE = "extractive"
LLMS: Mapping[str, Callable[[str], LLM]] = {  # by provider: what opens its model of that name
    "gemini": lambda model: GeminiLLM(model) if model else GeminiLLM(),
    "openai": OpenAILLM,
    "anthropic": AnthropicLLM,
    "local": open_local,
}
MODEL_OPTIONAL = ("gemini", "local")  # one of their models is the default
LLM_NAMES = "extractive, gemini[:MODEL], openai:MODEL, anthropic:MODEL, local"


def open_llm(name: str) -> LLM | None:
    """Return the language model of that name; None for "extractive", which needs none.

    Nothing is imported or connected before the model is first asked.

    Raises: InvalidInput (unknown name).
    """
    if name == EXTRACTIVE:
        return None
    provider, colon, model = name.partition(":")
    complete = bool(re.fullmatch(r"[\w./@:-]+", model)) if colon else provider in MODEL_OPTIONAL
    if provider not in LLMS or not complete:
        raise InvalidInput(f"unknown language model {name!r}; use {LLM_NAMES}")
    return LLMS[provider](model)


def open_reranker(name: str, *, llm: str, open_llm: Callable[[str], LLM | None]) -> Reranker:
    """Return the reranker called `name`: onnx:<model or folder>, cross-encoder:<model or folder>,
    llm or llm:<language model>.

    Args:
        llm: the language model that "llm" stands for. open_llm: opens one by name;
            None: it writes nothing.
    Raises: InvalidInput (unknown name, a language model that cannot rank), ModelUnavailable.
    """
    prefix, _, model = name.partition(":")
    if prefix == "onnx" and model:
        return OnnxReranker(model)
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
        f"unknown reranker {name!r}; use onnx:MODEL, cross-encoder:MODEL (or a folder), llm "
        "or llm:MODEL"
    )


def open_embedder(
    name: str,
    *,
    cache_dir: Path,
    weights: Path | None = None,
    e5_weights: Path | None = None,
    extra: Mapping[str, Callable[[str], Embedder]] | None = None,
) -> Embedder:
    """Return the embedder called `name`.

    Args:
        cache_dir: where minilm and e5 keep their converted graphs (87 and 84 MB).
        weights: folder with minilm's weights. e5_weights: e5's data file, or its folder.
        extra: more embedders, prefix -> factory. {"hash": f} makes "hash:32" call f("hash:32").
    Raises: UnknownModel, ModelUnavailable (sentence-transformers), ProviderError
        (a model behind OpenAI's protocol whose dimensions are not known is asked for them).
    """
    prefix, _, model = name.partition(":")
    if extra and prefix in extra:
        opened = extra[prefix](name)
        if not hasattr(opened, "provider"):
            raise InvalidInput(
                f"embedder {name!r} does not say its provider; give it provider = None where it "
                "runs here, else the part of its name before the colon"
            )
        return opened
    if name == MiniLM.name:
        return MiniLM(cache_dir=cache_dir, weights=weights)
    if name == E5.name:
        return E5(cache_dir=cache_dir, weights=e5_weights)
    if prefix == "onnx" and model:
        return OnnxModel(model)
    if prefix == "sentence-transformers" and model:
        return SentenceTransformers(model)
    if prefix == "gemini" and model:
        return open_gemini_embedder(name)
    if prefix == "openai" and model:
        return open_openai_embedder(name)
    supported = ["minilm", "e5", "onnx:MODEL", "sentence-transformers:MODEL"]
    supported += [f"{provider}:MODEL[:DIMENSIONS]" for provider in ("gemini", "openai")]
    supported += [f"{key}:…" for key in sorted(extra or ())]
    raise UnknownModel(f"unknown embedding model {name!r}; supported: {', '.join(supported)}")


class Models:
    """The embedders, rerankers and language models of a process, each opened once.

    Args:
        settings: where models lie, and the language model where none is named.
        embedders: further embedders by the prefix of their name, e.g. {"mine": open_mine}.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        embedders: Mapping[str, Callable[[str], Embedder]] | None = None,
    ) -> None:
        self._settings = settings
        self._extra = embedders
        self._embedders: dict[str, Embedder] = {}
        self._rerankers: dict[str, Reranker] = {}
        self._llms: dict[str, LLM | None] = {}

    def embedder(self, name: str) -> Embedder:
        """The embedder of that name. Raises: UnknownModel, ModelUnavailable."""
        if name not in self._embedders:
            self._embedders[name] = open_embedder(
                name,
                cache_dir=self._settings.home / "models",
                weights=self._settings.minilm_path,
                e5_weights=self._settings.e5_path,
                extra=self._extra,
            )
        return self._embedders[name]

    def add_embedder(self, embedder: Embedder) -> None:
        """Let an object be the embedder of its name."""
        self._embedders[embedder.name] = embedder

    def has_e5(self) -> bool:
        """Whether the weights of model e5 are on this machine."""
        return is_here(self._settings.home / "models", self._settings.e5_path)

    def embedder_of(
        self, database: Database, collection: str, space_id: int | None = None
    ) -> Embedder:
        """The embedder of a collection's space (None: the active one).

        Raises: CollectionMismatch when it makes other vectors than those stored, NotFound,
            InvalidInput and ModelUnavailable as `embedder`.
        """
        space = database.space_settings(collection, space_id)
        embedder = self.embedder(space.model)
        if embedder.dimensions != space.dimensions:
            raise CollectionMismatch(
                f"model {space.model!r} gives {embedder.dimensions} dimensions, collection"
                f" {collection!r} stores {space.dimensions}; use the model that made it, or a new"
                " collection"
            )
        if space.fingerprint not in (None, embedder.fingerprint):
            raise CollectionMismatch(
                f"collection {collection!r} holds vectors of {space.fingerprint}, this embedder is"
                f" {embedder.fingerprint}; open it with the same weights and settings, or use a new"
                " collection"
            )
        return embedder

    def reranker(self, name: str) -> Reranker:
        """The reranker of that name; "llm" is the language model of the settings.

        Raises: InvalidInput (unknown name), ModelUnavailable.
        """
        if name not in self._rerankers:
            self._rerankers[name] = open_reranker(name, llm=self._settings.llm, open_llm=self.llm)
        return self._rerankers[name]

    def llm(self, name: str | None = None) -> LLM | None:
        """The language model of that name, else of the settings; None for "extractive".

        Raises: InvalidInput (unknown name).
        """
        name = name or self._settings.llm
        if name not in self._llms:
            self._llms[name] = open_llm(name)
        return self._llms[name]

    def helper_llm(self, name: str | None = None) -> LLM | None:
        """The language model for rewrites, checks and extraction: of that name, else of the
        settings; None: the one that answers does these too. Raises: InvalidInput (unknown name)."""
        name = name or self._settings.helper_llm
        return self.llm(name) if name else None

    def writing_llm(self, name: str | None = None) -> LLM:
        """The language model that reads and writes at ingest: of that name, else the helper model
        of the settings, else the one that answers.

        Raises: InvalidInput (unknown name), ModelUnavailable (none is set).
        """
        llm = self.llm(name) if name else self.helper_llm() or self.llm()
        if llm is None:
            raise ModelUnavailable(
                "no language model is set that could write; set RAG_PG_HELPER_LLM, e.g. to gemini,"
                " or name a model"
            )
        return llm
