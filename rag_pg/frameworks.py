"""Documents of LangChain, LlamaIndex and Haystack, and what the adapters to them share."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from rag_pg.client import Collection, Rag
from rag_pg.errors import AlreadyExists, InvalidInput, InvalidQuery
from rag_pg.threads import Threads
from rag_pg.types import Document, Hit, Vectors

P = ParamSpec("P")
T = TypeVar("T")
Found = Document | Hit  # what a store reads back: its uri, content and metadata
THREADS = Threads(32, "rag-pg-framework")
NO_TEXT = "\u2060"  # a word joiner after a text that is blank, which rag_pg stores none of
# The metadata in which their loaders name what a document was read from, the most telling first.
URI_KEYS = ("file_path", "source", "url", "uri", "source_id", "link", "path", "file_name")


def in_thread(call: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return the asynchronous form of a method: the same call in a thread."""

    @wraps(call)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.wrap_future(THREADS.submit(call, *args, **kwargs))

    return run


@cache
def environment_client() -> Rag:
    """The client of RAG_PG_DSN, opened once per process, for what is made from a serialised form.

    Raises: DatabaseUnavailable, SchemaMismatch.
    """
    rag = Rag()
    rag.open()
    return rag


class ForeignEmbedder:
    """What makes vectors for LangChain, as an embedder of rag_pg; they may have any length, and are
    normalised here.

    Args:
        name: is stored as the model; other vectors need another name. None: see `model_name`.
    """

    provider = None
    max_tokens = 1_000_000  # they do not tell; what is too long is theirs to cut

    def __init__(self, embedding: Any, name: str | None = None) -> None:
        self.name = self.fingerprint = name or model_name("langchain", embedding)
        self._embedding = embedding
        self.dimensions = len(embedding.embed_query("dimensions"))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        found = np.array(self._embedding.embed_documents([*texts]), np.float32)
        return _unit(found.reshape(len(texts), self.dimensions))

    def embed_query(self, text: str) -> Vectors:
        return _unit(np.array(self._embedding.embed_query(text), np.float32))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) // 4 + 2 for text in texts]  # an estimate, for the sizes of chunks


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return found


def put(
    collection: Collection, rows: Iterable[dict[str, Any]], *, embed: bool = False, **options: Any
) -> int:
    """Put documents of one chunk each, as `Collection.add_chunks` takes them, with its options, and
    return how many; of equal uris one counts, as `existing` says: by default the last.

    Args:
        embed: by the collection's model, before anything is put.
    """
    last: dict[str, dict[str, Any]] = {}
    existing = options.get("existing")
    for row in rows:
        if existing == "error" and row["uri"] in last:
            raise AlreadyExists(f"document {row['uri']!r} comes twice")
        if existing != "skip" or row["uri"] not in last:
            last[row["uri"]] = row
    for row in last.values():
        if isinstance(row["content"], str) and not row["content"].strip():
            row["content"] += NO_TEXT
    if embed and last:
        vectors = collection.embedder.embed_documents([row["content"] for row in last.values()])
        for row, vector in zip(last.values(), vectors, strict=True):
            row["embedding"] = vector
    return int(collection.add_chunks(last.values(), **options)) if last else 0


def listed(given: Iterable[T], what: str = "ids") -> list[T]:
    """Return what a caller gave as a list. Raises: InvalidInput (one text, which is no list)."""
    if isinstance(given, str):
        raise InvalidInput(f"{what} are a list, not the text {given!r:.100}")
    return [*given]


def text_of(found: Found) -> str:
    """Return a text as it was put, blank ones without what `put` gave them."""
    content = found.content or ""
    blank = content.removesuffix(NO_TEXT)
    return content if blank.strip() else blank


def model_name(framework: str, embedding: Any) -> str:
    """A name for what makes vectors: the framework, the class, and its model where it tells one."""
    model = getattr(embedding, "model", None) or getattr(embedding, "model_name", None)
    return ":".join([framework, type(embedding).__name__, *([str(model)] if model else [])])


def hit_metadata(hit: Hit) -> dict[str, Any]:
    """Return the metadata of a hit, and what a citation of it needs, under the names of `Citation`;
    source is the uri, as frameworks call it."""
    return {
        **hit.metadata,
        "source": hit.uri,
        "uri": hit.uri,
        "title": hit.title,
        "heading": hit.heading,
        "score": hit.score,
        "chunk_id": hit.chunk_id,
        "document_id": str(hit.document_id),
    }


def passages(hits: Iterable[Hit]) -> Iterator[tuple[str, str, dict[str, Any], float]]:
    """Yield of each hit the id of its chunk, its text, `hit_metadata` and its score."""
    for hit in hits:
        yield str(hit.chunk_id), text_of(hit), hit_metadata(hit), hit.score


def field_path(key: str) -> str:
    """Return the name that a filter has for a key of the metadata, whatever characters it has."""
    path = key.replace("\\", r"\\").replace(".", r"\.")
    return "\\" + path if path.startswith("$") else path


def combined(how: str, filters: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return filters as one. how: and, or, not (that all of them hold)."""
    return {"$not": combined("and", filters)} if how == "not" else {f"${how}": [*filters]}


def one_of(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """Return the filter of a field that is one of some values as a whole: $eq and $in of rag_pg
    look at the elements of an array, too."""
    lists = [value for value in values if isinstance(value, list | tuple)]
    plain = [value for value in values if value not in lists]
    whole = [{name: {"$eq": value, "$not": {"$contains": [value]}}} for value in lists]
    return {"$or": [{name: {"$in": plain, "$not": {"$contains": []}}}, *whole]}


def without_between(filter: Any) -> Any:
    """Return a filter with $between as the two operators that it stands for.

    Raises: InvalidQuery ($between with other than two values, or beside one of those operators).
    """
    if isinstance(filter, Mapping):
        plain = {key: without_between(value) for key, value in filter.items()}
        if "$between" in plain:
            bounds = plain.pop("$between")
            if not isinstance(bounds, list | tuple) or len(bounds) != 2:
                raise InvalidQuery(f"$between takes a list of two values, not {bounds!r:.100}")
            if beside := {"$gte", "$lte"} & plain.keys():
                raise InvalidQuery(f"$between stands beside {min(beside)}; use one of them")
            plain["$gte"], plain["$lte"] = bounds
        return plain
    return [without_between(one) for one in filter] if isinstance(filter, list | tuple) else filter


def substring_pattern(text: str) -> str:
    """Return the pattern of $like and $ilike that finds a text anywhere."""
    for character in ("\\", "%", "_"):
        text = text.replace(character, "\\" + character)
    return f"%{text}%"


def foreign_documents(
    documents: Iterable[Any], *, media_type: str = "text/plain"
) -> Iterator[Mapping[str, Any]]:
    """Yield documents of LangChain, LlamaIndex or Haystack, as their loaders give them, as
    `Collection.add` takes them: `docs.add(foreign_documents(loader.lazy_load()))`.

    The uri is the first of the metadata file_path, source, url, uri, source_id, link, path and
    file_name that is a text, else the document's id; what comes again under a uri, such as the next
    page of a file, gets #2, #3 and so on. A document without text is left out.

    Args:
        media_type: of the texts: text/plain or text/markdown.
    Raises: InvalidInput (an object of another kind, a document without any uri).
    """
    seen: Counter[str] = Counter()
    for document in documents:
        content, metadata, key = _parts(document)
        if not (content and content.strip()):
            continue
        named = (metadata.get(name) for name in URI_KEYS)
        uri = next((one for one in named if isinstance(one, str) and one.strip()), key)
        if not uri:
            raise InvalidInput(
                f"a document has neither an id nor metadata that names it: {', '.join(URI_KEYS)}"
            )
        seen[uri] += 1
        yield {
            "uri": uri if seen[uri] == 1 else f"{uri}#{seen[uri]}",
            "content": content,
            "title": str(metadata.get("title") or metadata.get("file_name") or ""),
            "media_type": media_type,
            "metadata": metadata,
        }


def _parts(document: Any) -> tuple[str | None, dict[str, Any], str | None]:
    """The text, the metadata and the id of a document of any of the frameworks."""
    if hasattr(document, "page_content"):
        return document.page_content, dict(document.metadata), document.id
    if hasattr(document, "get_content") and hasattr(document, "node_id"):
        return document.get_content(), dict(document.metadata), document.node_id
    if hasattr(document, "content") and hasattr(document, "meta"):
        return document.content, dict(document.meta), document.id
    raise InvalidInput(
        f"a {type(document).__name__} is no document of LangChain, LlamaIndex or Haystack"
    )
