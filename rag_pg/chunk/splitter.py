"""Cuts a text into chunks for embedding: text in, spans out, nothing else is touched.

A text is divided into sections by its headings, or by its classes and functions (`sections`,
`code`), a section into blocks (`blocks`), and blocks are packed into chunks that fill the model's
limit (`packer`). Code and tables are kept whole while they fit; prose is cut between sentences,
with some overlap. Other methods regroup the sections first (`conversation`, `boundaries`). Every
block is counted once in the model's own tokens, and every chunk once more together with the header
it is embedded under: that count is never above the maximum.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import groupby

from rag_pg.chunk.blocks import Block, outline_markdown, outline_plain, outline_rest
from rag_pg.chunk.boundaries import by_sentence, by_topic, fixed_windows
from rag_pg.chunk.code import outline_code, require_grammar
from rag_pg.chunk.conversation import outline_turns
from rag_pg.chunk.grammars import CUT_BY_FUNCTION, GRAMMARS
from rag_pg.chunk.header import Header
from rag_pg.chunk.packer import Chunk, Packer
from rag_pg.chunk.sections import HeadingPath, Section, divide, join, shared
from rag_pg.chunk.settings import OVERLAPPING, Chunking
from rag_pg.errors import InvalidInput
from rag_pg.protocols import Embedder
from rag_pg.text import embedded_text
from rag_pg.types import Span, Vectors

log = logging.getLogger(__name__)

_CHARACTERS_PER_TOKEN = 16  # at most: a tokenizer may count a megabyte without spaces as one word
_SMALL = 0.25  # of the maximum: sections below it are joined with their neighbours


@dataclass(frozen=True, kw_only=True, slots=True)
class _Draft:
    """A chunk that is not yet counted with its header."""

    heading: str
    chunk: Chunk
    parent: tuple[int, int] | None = None


class Splitter:
    """Cuts texts into chunks of at most `max_tokens`, header and special tokens included.

    Args:
        count_tokens: the lengths of texts in the model's tokens, special tokens included.
        chunking: the settings; see `Chunking`.
        embed: the embedder's embed_documents; only the method "semantic" needs it.
    Raises: InvalidInput (the method needs what is not there).
    """

    def __init__(
        self,
        count_tokens: Callable[[Sequence[str]], list[int]],
        chunking: Chunking | None = None,
        *,
        embed: Callable[[Sequence[str]], Vectors] | None = None,
    ) -> None:
        self._chunking = chunking or Chunking()
        self._count = count_tokens
        self._embed = embed
        self._max = self._chunking.max_tokens
        self._special = count_tokens([""])[0]
        self._header = Header(count_tokens, self._size, self._max)
        if self._chunking.method == "code":
            require_grammar(next(iter(GRAMMARS)))
        if self._chunking.method == "semantic" and embed is None:
            raise InvalidInput("the chunking method semantic needs an embedder; take another")

    @classmethod
    def from_settings(
        cls,
        settings: Mapping[str, object],
        count_tokens: Callable[[Sequence[str]], list[int]],
        *,
        embed: Callable[[Sequence[str]], Vectors] | None = None,
        longest: int = 8192,
    ) -> Splitter:
        """Return a splitter with a collection's `chunking` settings; see `Chunking.read`."""
        return cls(count_tokens, Chunking.read(settings, longest), embed=embed)

    def split(self, text: str, *, media_type: str, title: str = "") -> list[Span]:
        """Return the chunks of `text`, in order; [] where there is nothing but white space.

        Each span is free of white space at its ends, and only white space is left between spans.
        `heading` is the path of headings in force at the chunk's first line that is no heading,
        "Guide > Install"; small sections that were joined have the path they share. A path longer
        than a quarter of `max_tokens` loses its outermost headings. In code it is the names of
        classes and functions, in a conversation the speaker where a chunk has only one.

        Raises: InvalidInput (the title leaves no room for content).
        """
        overlap = self._chunking.overlap if self._chunking.method in OVERLAPPING else 0
        packer = Packer(text, self._size, overlap=overlap)
        sections = divide(packer.measure(self._outline(text, media_type)))
        headings, budgets = self._header.headings(title, [section.path for section in sections])
        drafts = [
            replace(draft, heading=headings[path])
            for path, draft in self._drafts(text, packer, sections, budgets)
        ]
        return self._verified(text, title, drafts, packer)

    def _outline(self, text: str, media_type: str) -> list[Block]:
        method = self._chunking.method
        if method == "fixed":
            return []
        if method == "conversation":
            return outline_turns(text)
        if method == "markdown" or (method != "text" and media_type == "text/markdown"):
            return outline_markdown(text)
        if method != "text" and media_type == "text/x-rst":
            return outline_rest(text)
        if method == "text" or media_type not in CUT_BY_FUNCTION:
            return outline_plain(text)
        try:
            return outline_code(text, media_type)
        except InvalidInput as exc:
            if method == "code":
                raise
            _announce(media_type, str(exc))
            return outline_plain(text)

    def _drafts(
        self,
        text: str,
        packer: Packer,
        sections: list[Section],
        budgets: Mapping[HeadingPath, int],
    ) -> Iterator[tuple[HeadingPath, _Draft]]:
        """Yield the chunks, each with its path, as the method wants them."""
        method, chunking = self._chunking.method, self._chunking
        small, more = int(self._max * _SMALL), 0
        if method == "fixed":
            for chunk in fixed_windows(text, self._size, budgets[()], chunking.overlap):
                yield (), _draft(chunk)
            return
        if method == "conversation":
            units = [unit for section in sections for unit in section.units]
            budget = min(budgets.values())
            # A turn that has to be cut shares no chunk with another.
            for _, run in groupby(units, lambda unit: unit.start if unit.tokens > budget else -1):
                for chunk in packer.pack(run, budget):
                    speakers = [unit.path for unit in chunk.units if unit.path]
                    yield reduce(shared, speakers) if speakers else (), _draft(chunk)
            return
        if method == "small-to-big":
            more = chunking.parent_tokens - self._max
            small = int(chunking.parent_tokens * _SMALL)
        if method != "sentence":
            parent_budgets = {path: budget + more for path, budget in budgets.items()}
            sections = join(sections, parent_budgets, small=small)
        if method in ("sentence", "semantic"):
            sections = by_sentence(packer, text, sections)
        if method == "semantic" and self._embed is not None:
            sections = by_topic(sections, budgets, text, self._embed, chunking.breakpoint)
            sections = join(sections, budgets, small=small)
        for section in sections:
            budget = budgets[section.path]
            for chunk in packer.pack(section.units, budget + more):
                if method != "small-to-big":
                    yield section.path, _draft(chunk)
                    continue
                for part in packer.pack(chunk.units, budget):
                    yield section.path, _draft(part, parent=(chunk.start, chunk.stop))

    def _verified(self, text: str, title: str, drafts: list[_Draft], packer: Packer) -> list[Span]:
        """Return the drafts as spans, after making smaller those that exceed the maximum."""
        spans: list[Span] = []
        while drafts:
            candidates = [_span(text, draft) for draft in drafts]
            counts = self._count(
                [embedded_text(title, span.heading, span.text) for span in candidates]
            )
            smaller: list[_Draft] = []
            for draft, span, count in zip(drafts, candidates, counts, strict=True):
                if count <= self._max or len(span.text) <= 1:
                    spans.append(span)
                else:
                    smaller += [replace(draft, chunk=c) for c in packer.divide(draft.chunk)]
            drafts = smaller
        return _ordered(spans)

    def _size(self, texts: Sequence[str]) -> list[int]:
        """Return sizes in tokens without special tokens; never 0."""
        return [
            max(1, count - self._special, -(-len(text) // _CHARACTERS_PER_TOKEN))
            for text, count in zip(texts, self._count(texts), strict=True)
        ]


def _ordered(spans: list[Span]) -> list[Span]:
    """Return the spans in order, without those that lie in another one: after a chunk was made
    smaller, its last part can be all that the next chunk repeats."""
    ordered: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.stop)):
        if span.text and (not ordered or span.stop > ordered[-1].stop):
            ordered.append(span)
    return ordered


def _draft(chunk: Chunk, *, parent: tuple[int, int] | None = None) -> _Draft:
    return _Draft(heading="", chunk=chunk, parent=parent)


def _span(text: str, draft: _Draft) -> Span:
    start, content = _stripped(text, draft.chunk.start, draft.chunk.stop)
    parent = None
    if draft.parent is not None:
        first, whole = _stripped(text, *draft.parent)
        parent = (first, first + len(whole))
    return Span(
        start=start,
        stop=start + len(content),
        text=content,
        heading=draft.heading,
        parent=parent,
    )


def _stripped(text: str, start: int, stop: int) -> tuple[int, str]:
    """Return text[start:stop] without white space at its ends, and where it begins then."""
    content = text[start:stop]
    return start + len(content) - len(content.lstrip()), content.strip()


@cache
def _announce(media_type: str, reason: str) -> None:
    """Say once per process that code is cut as text."""
    log.warning("%s is cut as text: %s", media_type, reason)


def check_chunking(settings: Mapping[str, object], embedder: Embedder) -> None:
    """Raise InvalidInput for settings that are wrong,
    or for more tokens than the embedder reads."""
    chunking = Chunking.read(settings, embedder.max_tokens)
    Splitter(embedder.count_tokens, chunking, embed=embedder.embed_documents)
    if chunking.max_tokens > embedder.max_tokens:
        raise InvalidInput(
            f"chunking max_tokens is {chunking.max_tokens}, but model {embedder.name!r} reads "
            f"{embedder.max_tokens}; lower it, or use another model"
        )
