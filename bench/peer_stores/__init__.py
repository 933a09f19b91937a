"""One short adapter per hybrid search that bench/peers.py compares; each module has PACKAGES and a class Store.

`Store(place, tuned)` connects, `fill(documents, vectors)` loads and indexes, and then `searches` holds, by name,
functions of a question, its vector and a limit that give ids, best first. "As documented" copies the peer's own example
but for the limit; "tuned" is what its documentation offers beyond that. Nothing was tried out on the questions to choose it.
"""

from __future__ import annotations

from collections.abc import Callable

LIMIT = 100  # asked of every search, for Recall@100
DIMENSIONS = 384
Documents = dict[str, dict[str, str]]
Vectors = dict[str, list[float]]
Search = Callable[[str, list[float], int], list[str]]

# what the table calls it: its module, tuned
STORES = {
    "rag_pg": ("ours", False),
    "langchain-postgres, as documented": ("langchain", False),
    "langchain-postgres, tuned": ("langchain", True),
    "llama-index, as documented": ("llama_index", False),
    "llama-index, tuned": ("llama_index", True),
    "haystack, as documented": ("haystack", False),
    "haystack, tuned": ("haystack", True),
    "SQL by hand": ("by_hand", False),
    "lancedb": ("lance", False),
}


def full_text(document: dict[str, str]) -> str:
    """What the vectors were made of."""
    return f"{document.get('title') or ''}\n{document['text']}".strip()
