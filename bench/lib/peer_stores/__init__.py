"""One short adapter per hybrid search that bench/peers.py compares;
each module has PACKAGES and a class Store.

`Store(address, tuned)` connects, `fill(documents, vectors)` loads and indexes, and
`searches(limit)` gives, by name, functions of a question and its vector that give at most `limit`
ids, best first. "As documented" copies the peer's own example but for the limit; "tuned" is what
its documentation offers beyond that, a vector index included.
Nothing was tried out on the questions to choose it.
"""

from __future__ import annotations

from collections.abc import Callable

DIMENSIONS = 384
Documents = dict[str, dict[str, str]]
Vectors = dict[str, list[float]]
Search = Callable[[str, list[float]], list[str]]

# what the table calls it: its module (and class, where it has several), tuned
STORES = {
    "rag_pg": ("ours", False),
    "langchain-postgres, as documented": ("langchain", False),
    "langchain-postgres, tuned": ("langchain", True),
    "llama-index, as documented": ("llama_index", False),
    "llama-index, tuned": ("llama_index", True),
    "haystack, as documented": ("haystack", False),
    "haystack, tuned": ("haystack", True),
    "rag_pg in LangChain": ("ours_in.LangChain", False),
    "rag_pg in LlamaIndex": ("ours_in.LlamaIndex", False),
    "rag_pg in Haystack": ("ours_in.Haystack", False),
    "SQL by hand, no vector index": ("by_hand", False),
    "SQL by hand, HNSW": ("by_hand", True),
    "lancedb, no vector index": ("lance", False),
    "lancedb, vector index": ("lance", True),
}
SHORT = ["rag_pg", "SQL by hand, HNSW", "lancedb, no vector index", "lancedb, vector index"]


def full_text(document: dict[str, str]) -> str:
    """What the vectors were made of."""
    return f"{document.get('title') or ''}\n{document['text']}".strip()
