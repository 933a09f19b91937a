"""A program that no extra is installed for: what it stores and asks has vectors of its own. What
needs an extra says in one line which.

python tests/package/core.py DSN      prints what it found, as JSON
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rag_pg import McpTools, Rag, RagError, function_tool
from rag_pg.cli.serve import serve
from rag_pg.db import EmbeddedServer, schema
from rag_pg.load import load_bytes
from rag_pg.otel import begin

PAGE = "---\ntitle: Colours\nyear: 2026\n---\n# Red\n\nA red word.\n\n# Green\n\nA green word.\n"
COLOURS = ("red", "green", "blue")


class Colours:
    """Texts are near each other that have the same colours."""

    name, dimensions, max_tokens, fingerprint = "colours:3", 3, 100, "colours/1"
    provider: str | None = None

    def embed_query(self, text: str) -> Any:
        vector = np.array([1 + 9 * (colour in text.lower()) for colour in COLOURS], np.float32)
        return vector / np.linalg.norm(vector)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.array([self.embed_query(text) for text in texts]).reshape(-1, 3)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) + 2 for text in texts]


def question(text: str) -> str:
    """A tool."""
    return text


def search(rag: Rag, folder: Path) -> list[str]:
    """Store a folder and ready-made chunks; return what searches found and what an answer says."""
    (folder / ".gitignore").write_text("left.md\n")
    (folder / "left.md").write_text("Blue, and left out.")
    (folder / "page.md").write_text(PAGE)
    (folder / "plain.txt").write_text("A word without a colour.")
    docs = rag.collection("docs", model=Colours.name)
    added = docs.add(folder)
    vector = Colours().embed_query("blue")
    docs.add_chunks([{"uri": "ready", "content": "Made elsewhere.", "embedding": vector}])
    hits = [docs.search(text, limit=1)[0] for text in ("green", "blue")]
    answer = docs.ask("Which word is green?")
    return [
        *(Path(hit.uri).name for hit in hits),
        f"{added.added} added",
        Path(docs.search("word", filter={"year": 2026})[0].uri).name,
        Path(answer.sources[0].uri).name,
    ]


def missing(rag: Rag, folder: Path) -> dict[str, list[str]]:
    """What is said, by the extra that is missing."""
    cases: Mapping[str, Sequence[Callable[[], object]]] = {
        "embedded": [lambda: EmbeddedServer(folder / "server").start()],
        "onnx": [
            lambda: rag.embedder("minilm").embed_query("x"),
            lambda: rag.embedder("onnx:some/model").embed_query("x"),
        ],
        "multilingual": [lambda: rag.embedder("e5").embed_query("x")],
        "sentence-transformers": [lambda: rag.embedder("sentence-transformers:x")],
        "files": [
            lambda: load_bytes("a.html", b"<p>x</p>"),
            lambda: load_bytes("a.eml", b"Content-Type: text/html\n\n<p>x</p>"),
            lambda: load_bytes("a.txt", "Съешь ещё этих мягких французских булок".encode("cp1251")),
            lambda: load_bytes("a.pdf", b"%PDF-1.4"),
        ],
        "export": [
            lambda: rag.export_collection("docs", folder / "out"),
            lambda: rag.import_collection(folder / "out"),
        ],
        "sources": [lambda: rag.get_collection("docs").sync("memory://shop")],
        "tools": [lambda: rag.get_collection("docs").ask("x", tools=[function_tool(question)])],
        "mcp": [lambda: rag.get_collection("docs").ask("x", tools=[McpTools("stdio:true")])],
        "serve": [lambda: serve("127.0.0.1:0")],
        "otel": [lambda: begin({})],
        "openai": [lambda: rag.embedder("openai:text-embedding-3-small").embed_query("x")],
        "gemini": [lambda: rag.embedder("gemini:gemini-embedding-001").embed_query("x")],
        "anthropic": [lambda: rag.models.writing_llm("anthropic:claude").complete([])],
        "langchain": [lambda: import_module("rag_pg.langchain")],
        "llama-index": [lambda: import_module("rag_pg.llama_index")],
        "haystack": [lambda: import_module("rag_pg.haystack")],
        "local": [lambda: rag.models.writing_llm("local").complete([])],
    }
    return {extra: [_said(case) for case in each] for extra, each in cases.items()}


def _said(case: Callable[[], object]) -> str:
    try:
        return f"no error: {case()!r:.100}"
    except RagError as exc:
        return str(exc)


def main() -> None:
    dsn = sys.argv[1]
    schema.upgrade(dsn)
    with TemporaryDirectory() as name, Rag(dsn, embedders={"colours": lambda _: Colours()}) as rag:
        (folder := Path(name) / "handbook").mkdir()
        print(json.dumps({"found": search(rag, folder), "missing": missing(rag, Path(name))}))


if __name__ == "__main__":
    main()
