"""Cuts a text into chunks for embedding: text in, spans out, nothing else is touched.

A text is divided into sections by its headings, a section into blocks (outline.py), and blocks
are packed into chunks that fill the model's limit. Code and tables are kept whole while they fit;
prose is cut between sentences (semantic-text-splitter), with some overlap. Every block is counted
once in the model's own tokens, and every chunk once more together with the header it is embedded
under: that count is never above the maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rag_pg.errors import InvalidInput
from rag_pg.models import Span
from rag_pg.outline import Block, outline_markdown, outline_plain
from rag_pg.pack import Chunk, Packer
from rag_pg.sections import HeadingPath, divide, join

_CHARACTERS_PER_TOKEN = 16  # at most: a tokenizer may count a megabyte without spaces as one word
_SMALL = 0.25  # of the maximum: sections below it are joined with their neighbours


def embedded_text(title: str, heading: str, content: str) -> str:
    """Return what is embedded for a chunk: title, heading path and content, a line each.

    The title is left out where the heading path begins with it. In SQL: concat_ws(E'\\n',
    CASE WHEN title <> '' AND heading <> title AND NOT starts_with(heading, title || ' > ')
    THEN title END, nullif(heading, ''), nullif(content, '')).
    """
    if heading == title or heading.startswith(f"{title} > "):
        title = ""
    return "\n".join(part for part in (title, heading, content) if part)


class Splitter:
    """Cuts texts into chunks of at most `max_tokens`, header and special tokens included.

    Args:
        count_tokens: the lengths of texts in the model's tokens, special tokens included.
        max_tokens: 16 to 8192. A token also counts for at most 16 characters, which bounds chunks
            of base64, wide tables and the like.
        overlap: 0 to 0.5, the share of a chunk that begins by repeating the end of the prose
            before it, from the sentence start nearest to that share. Sections never overlap.
        method: "text" ignores Markdown, "markdown" always reads it, "auto" asks the media type.
    Raises: InvalidInput naming the setting, its value and its range.
    """

    def __init__(
        self,
        count_tokens: Callable[[Sequence[str]], list[int]],
        *,
        max_tokens: int = 256,
        overlap: float = 0.12,
        method: str = "auto",
    ) -> None:
        _check("max_tokens", max_tokens, (int,), 16, 8192)
        _check("overlap", overlap, (int, float), 0, 0.5)
        if method not in ("auto", "text", "markdown"):
            raise InvalidInput(f"chunking method is {method!r}; take auto, text or markdown")
        self._count = count_tokens
        self._max = max_tokens
        self._overlap = overlap
        self._method = method
        self._special = count_tokens([""])[0]

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, object], count_tokens: Callable[[Sequence[str]], list[int]]
    ) -> Splitter:
        """Return a splitter with a collection's `chunking` settings; what is missing has defaults.

        Raises: InvalidInput (an unknown key, a value of the wrong type or out of range).
        """
        if unknown := sorted(set(settings) - {"max_tokens", "overlap", "method"}):
            raise InvalidInput(
                f"unknown chunking setting {unknown[0]!r}; known: max_tokens, overlap, method"
            )
        return cls(count_tokens, **settings)  # type: ignore[arg-type]

    def split(self, text: str, *, media_type: str, title: str = "") -> list[Span]:
        """Return the chunks of `text`, in order; [] where there is nothing but white space.

        Each span is free of white space at its ends, and only white space is left between spans.
        `heading` is the path of headings in force at the chunk's first line that is no heading,
        "Guide > Install"; small sections that were joined have the path they share. A path longer
        than a quarter of `max_tokens` loses its outermost headings.

        Raises: InvalidInput (the title leaves no room for content; see `short_title`).
        """
        packer = Packer(text, self._size, overlap=self._overlap)
        sections = divide(packer.measure(self._outline(text, media_type)))
        headings, rooms = self._headers(title, [section.path for section in sections])
        drafts = [
            (headings[section.path], chunk)
            for section in join(sections, rooms, small=int(self._max * _SMALL))
            for chunk in packer.pack(section.units, rooms[section.path])
        ]
        return self._verified(text, title, drafts, packer)

    def short_title(self, title: str) -> str:
        """Return `title`, cut between words to a quarter of `max_tokens` where it is longer."""
        return self._shortened(title, self._max // 4)

    def _outline(self, text: str, media_type: str) -> list[Block]:
        markdown = self._method == "markdown" or (
            self._method == "auto" and media_type == "text/markdown"
        )
        return outline_markdown(text) if markdown else outline_plain(text)

    def _verified(
        self, text: str, title: str, drafts: list[tuple[str, Chunk]], packer: Packer
    ) -> list[Span]:
        """Return the drafts as spans, after making smaller those that exceed the maximum."""
        spans: list[Span] = []
        while drafts:
            candidates = [_span(text, heading, chunk) for heading, chunk in drafts]
            counts = self._count(
                [embedded_text(title, span.heading, span.text) for span in candidates]
            )
            smaller: list[tuple[str, Chunk]] = []
            for (heading, chunk), span, count in zip(drafts, candidates, counts, strict=True):
                if count <= self._max or len(span.text) <= 1:
                    spans.append(span)
                else:
                    smaller.extend((heading, part) for part in packer.divide(chunk))
            drafts = smaller
        return _ordered(spans)

    def _size(self, texts: Sequence[str]) -> list[int]:
        """Return sizes in tokens without special tokens; never 0."""
        return [
            max(1, count - self._special, -(-len(text) // _CHARACTERS_PER_TOKEN))
            for text, count in zip(texts, self._count(texts), strict=True)
        ]

    # --- headers ---------------------------------------------------------------------------------

    def _headers(
        self, title: str, paths: Sequence[HeadingPath]
    ) -> tuple[dict[HeadingPath, str], dict[HeadingPath, int]]:
        """Return, for every path and every path above it, the heading as it is stored, and how
        many tokens the header leaves for content."""
        known = sorted({path[:depth] for path in paths for depth in range(len(path) + 1)})
        sizes = self._size([" > ".join(path) for path in known])
        headings = [
            " > ".join(path) if size <= self._max // 4 else self._short_heading(path)
            for path, size in zip(known, sizes, strict=True)
        ]
        counts = self._count([embedded_text(title, heading, "x") for heading in headings])
        rooms = [self._max - count + 1 for count in counts]
        if min(rooms, default=self._max) < self._max // 8:
            raise InvalidInput(
                f"the title has {self._size([title])[0]} tokens, which leaves no room for content "
                f"in chunks of {self._max}; shorten it, or raise the chunking setting max_tokens"
            )
        return dict(zip(known, headings, strict=True)), dict(zip(known, rooms, strict=True))

    def _short_heading(self, path: tuple[str, ...]) -> str:
        limit = self._max // 4
        while len(path) > 1 and self._size([" > ".join(path)])[0] > limit:
            path = path[1:]
        return self._shortened(" > ".join(path), limit)

    def _shortened(self, text: str, limit: int) -> str:
        """Cut `text` to `limit` tokens, between words where there are any."""
        while text and (tokens := self._size([text])[0]) > limit:
            stop = min(len(text) * limit // tokens, len(text) - 1)
            within = not (text[stop].isspace() or text[:stop].endswith(" "))
            text = text[:stop].rstrip()
            if within and " " in text:
                text = text.rsplit(" ", 1)[0]
        return text


def _ordered(spans: list[Span]) -> list[Span]:
    """Return the spans in order, without those that lie in another one: after a chunk was made
    smaller, its last part can be all that the next chunk repeats."""
    ordered: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.stop)):
        if span.text and (not ordered or span.stop > ordered[-1].stop):
            ordered.append(span)
    return ordered


def _span(text: str, heading: str, chunk: Chunk) -> Span:
    content = text[chunk.start : chunk.stop]
    start = chunk.start + len(content) - len(content.lstrip())
    content = content.strip()
    return Span(start=start, stop=start + len(content), text=content, heading=heading)


def _check(key: str, value: object, types: tuple[type, ...], low: float, high: float) -> None:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
    if not fits or not isinstance(value, types):
        raise InvalidInput(f"chunking {key} is {value!r}; it must be {low} to {high}")
