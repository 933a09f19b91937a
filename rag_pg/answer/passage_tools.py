"""Tools over passages and documents: search, get_document, expand, compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.prompt import source_block
from rag_pg.answer.tools.numbered import Numbered
from rag_pg.answer.tools.render import CountTokens, render
from rag_pg.errors import InvalidInput
from rag_pg.text import split_sentences
from rag_pg.tools import make_tool
from rag_pg.types import AgentTool, Hit

READ_CHARACTERS = 6000  # of a document at once
_COMPARED = 500  # sentences of a text
_MOST_LINES = 60  # that only one of two texts has
_KEY_OR_URI: dict[str, Any] = {"type": "string", "minLength": 1, "description": "a key or a uri"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A result that is made into a text, with keys, where results are put in order. show: called
    with the tokens that it may have."""

    show: Callable[[int], str]


class PassageTools:
    """The tools that find and show the documents' own text."""

    def __init__(self, context: AnswerContext, numbered: Numbered, count: CountTokens) -> None:
        self._context, self._numbered, self._count = context, numbered, count

    def tools(self) -> list[AgentTool]:
        """Return them as a model is offered them."""
        return [
            make_tool(
                "search",
                "Search the passages of the documents by keywords and meaning.",
                self.search,
                query={"type": "string", "minLength": 1, "maxLength": 1000},
            ),
            make_tool(
                "get_document",
                f"Read a document, {READ_CHARACTERS} characters from start.",
                self.get_document,
                uri=_KEY_OR_URI,
                start={"type": "integer", "minimum": 0, "default": 0},
            ),
            make_tool(
                "expand",
                "Read what stands around a passage that was found.",
                self.expand,
                key={"type": "string", "minLength": 1},
            ),
            make_tool(
                "compare",
                "Compare two passages or documents: what only one of them has.",
                self.compare,
                first=_KEY_OR_URI,
                second=_KEY_OR_URI,
            ),
        ]

    def search(self, query: str) -> Shown:
        hits = self._context.retriever.expand(self._context.search(query))
        return Shown(lambda most: _show_hits(hits, self._numbered, most, self._count))

    def get_document(self, uri: str, start: int = 0) -> Shown:
        source = self._numbered.passage(uri)
        known = self._numbered.of_document(uri if source is None else source.uri)
        document = self._context.retriever.read(known[0][0].uri if known else uri)
        if document is None:
            raise InvalidInput(f"there is no document with the uri {uri!r:.300}; search, or select")
        whole = document.content or ""
        text = whole[start : start + READ_CHARACTERS]
        rest = len(whole) - start - len(text)

        def show(max_tokens: int) -> str:
            shown = render(text, max_tokens=max_tokens, count_tokens=self._count)
            more = rest + shown.left_out
            note = f"\n{more} characters follow." if more else ""
            if not known:
                return self._numbered.add_result("get_document", {"uri": uri}, shown.text) + note
            keys = "".join(f"[{key}]" for _, key in known)
            return self._numbered.fence.quote(f"document of {keys}", shown.text) + note

        return Shown(show)

    def expand(self, key: str) -> str:
        source = self._numbered.passage(key)
        around = self._context.retriever.read_around(source.chunk_id) if source else None
        if around is None:
            raise InvalidInput(f"no source with the key {key!r:.100} was found; search first")
        return around.content

    def compare(self, first: str, second: str) -> str:
        return compare_texts(self._text_of(first), self._text_of(second))

    def _text_of(self, which: str) -> str:
        source = self._numbered.passage(which)
        if source is not None:
            return source.quote
        known = self._numbered.of_document(which)
        document = self._context.retriever.read(known[0][0].uri if known else which)
        if document is None:
            raise InvalidInput(
                f"{which!r:.300} is neither the key of a source nor a document's uri"
            )
        return document.content or ""


def _show_hits(hits: Sequence[Hit], numbered: Numbered, max_tokens: int, count: CountTokens) -> str:
    blocks: list[str] = []
    for hit in hits:
        source, key = numbered.add_hit(hit)
        blocks.append(source_block(source, key, numbered.fence, with_uri=True))
        max_tokens -= count([blocks[-1]])[0]
        if max_tokens < 0:
            break
    return "\n\n".join(blocks) or "nothing found"


def compare_texts(first: str, second: str) -> str:
    """Return how alike two texts are, 0 to 1 by their sentences, and the sentences of only one."""
    one, other = _sentences(first), _sentences(second)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    lines = [f"similarity: {matcher.ratio():.2f}"]
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            lines += [f"only in the first: {text}" for text in one[a:b]]
            lines += [f"only in the second: {text}" for text in other[c:d]]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"… {len(lines) - _MOST_LINES} more differences"]
    return "\n".join(lines) if len(lines) > 1 else "the two texts are the same"


def _sentences(text: str) -> list[str]:
    return [" ".join(s.text.split()) for s in split_sentences(text)][:_COMPARED]
