"""Stand-ins that are handed over as arguments: an embedder, a reranker and a language model."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from prompts import with_keys

from rag_pg.protocols import MAX_TOKENS, CompletionOptions
from rag_pg.providers.chat import parse_json
from rag_pg.types import Capabilities, Completion, Message, Scores, Tool, Usage, Vectors

Reply = str | Completion | BaseException


@dataclass(frozen=True, kw_only=True)
class Call:
    """What a ScriptedLLM was asked."""

    messages: list[Message]
    schema: Mapping[str, Any] | None = None
    tools: Sequence[Tool] = ()
    temperature: float = 0.2
    max_tokens: int = MAX_TOKENS

    @property
    def prompt(self) -> str:
        return self.messages[-1].content


class ScriptedLLM:
    """A language model that gives one reply after the other,
    and keeps what it was asked in `calls`.

    replies: texts, Completions, errors to raise, or functions of a Call that return one of these;
    the last is repeated for ever. A text comes with 9 and 3 tokens of usage,
    and `parsed` where a schema was given.
    cites_by_key: [1] in a reply stands for the key of the best source it was shown, and so on.
    """

    def __init__(
        self,
        *replies: Reply | Callable[[Call], Reply],
        name: str = "scripted",
        capabilities: Capabilities | None = None,
        cites_by_key: bool = True,
    ) -> None:
        self._cites_by_key = cites_by_key
        self.name = name
        self.capabilities = capabilities or Capabilities(schema=True, tools=True)
        self.calls: list[Call] = []
        self._replies = list(replies)
        self._lock = threading.Lock()

    @property
    def prompts(self) -> list[str]:
        """The last message of each call."""
        return [call.prompt for call in self.calls]

    def complete(
        self, messages: Sequence[Message], **options: Unpack[CompletionOptions]
    ) -> Completion:
        call = Call(messages=list(messages), **options)
        with self._lock:
            self.calls.append(call)
            reply = self._replies[0] if len(self._replies) == 1 else self._replies.pop(0)
        if callable(reply):
            reply = reply(call)
        if isinstance(reply, BaseException):
            raise reply
        contents = [message.content for message in call.messages]
        if isinstance(reply, Completion):
            cited = with_keys(reply.text, contents) if self._cites_by_key else reply.text
            return replace(reply, text=cited)
        if self._cites_by_key:
            reply = with_keys(reply, contents)
        return Completion(
            text=reply,
            parsed=None if call.schema is None else parse_json(reply),
            usage=Usage(prompt_tokens=9, answer_tokens=3),
        )

    def stream(
        self, messages: Sequence[Message], **options: Unpack[CompletionOptions]
    ) -> Iterator[str | Completion]:
        whole = self.complete(messages, **options)
        yield from re.findall(r"\S+\s*|\s+", whole.text)
        yield whole


class HashEmbedder:
    """Hashed bags of words: deterministic, cheap, and similar texts have similar vectors.

    `seen` holds every text that was embedded; `fail` is called with each batch first and may raise.
    """

    provider: str | None = "hash"
    max_tokens = 256

    def __init__(self, name: str = "hash:32") -> None:
        self.name = name
        self.dimensions = int(name.partition(":")[2] or 32)
        self.fingerprint = f"{name}/1"
        self.seen: list[str] = []
        self.fail: Callable[[Sequence[str]], object] = lambda texts: None
        self._lock = threading.Lock()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.fail(texts)
        with self._lock:
            self.seen += texts
        return np.array([self._vector(t) for t in texts], np.float32).reshape(-1, self.dimensions)

    def embed_query(self, text: str) -> Vectors:
        self.fail([text])
        return self._vector(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) + 2 for text in texts]

    def _vector(self, text: str) -> Vectors:
        vector = np.zeros(self.dimensions, np.float32)
        vector[0] = 0.1
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            vector[int.from_bytes(digest[:4], "little") % self.dimensions] += 1
        return vector / np.linalg.norm(vector)


class WordReranker:
    """Scores a text by how many of its words are the query's. `seen` holds every call.

    `act` is called first, with the query and the texts: it may raise, wait, or return other scores.
    """

    name = "words"

    def __init__(self, act: Callable[[str, Sequence[str]], Any] | None = None) -> None:
        self.seen: list[tuple[str, list[str]]] = []
        self._act = act

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        self.seen.append((query, list(texts)))
        if self._act and (given := self._act(query, texts)) is not None:
            return np.asarray(given)
        asked = set(re.findall(r"\w+", query.lower()))
        found = [re.findall(r"\w+", text.lower()) for text in texts]
        return np.array([sum(word in asked for word in w) / (len(w) or 1) for w in found])
