"""Packs the blocks of a section into chunks of at most so many tokens, in one pass, in order.

A chunk takes whole blocks while they fit. What is larger than a whole chunk is opened: a list item
into its paragraphs, code and tables into lines, prose into sentences by semantic-text-splitter.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from semantic_text_splitter import TextSplitter

from rag_pg.chunk.blocks import Block, Unit, split_lines

_OPEN = 0.4  # of a chunk: with more than this left, a paragraph that does not fit is cut
_GAP = 200  # characters of white space between two blocks that end a chunk
_SENTENCE_END = re.compile(r"[.!?…][\"')\]’”]*\s+|[。！？]\s*|\n\s*")
_WRAP = re.compile(r"(?<=[^\W\d_]|,)\n(?=[^\W\d_A-Z])")  # a line end within a sentence
_NOT_SPACE = re.compile(r"\S")


@dataclass(kw_only=True, slots=True)
class Chunk:
    """Neighbouring units; `lead` is where the repeated end of the chunk before begins, if any."""

    units: list[Unit] = field(default_factory=list)
    lead: int | None = None

    @property
    def start(self) -> int:
        return self.units[0].start if self.lead is None else self.lead

    @property
    def stop(self) -> int:
        return self.units[-1].stop

    @property
    def bare(self) -> bool:
        """Whether there are headings only."""
        return bool(self.units) and all(unit.kind == "heading" for unit in self.units)


class Packer:
    """Packs units of one text. `size` counts tokens without special tokens; `overlap` is a share
    of a chunk, 0 to 0.5."""

    def __init__(
        self, text: str, size: Callable[[Sequence[str]], list[int]], *, overlap: float
    ) -> None:
        self._text = text
        self._size = size
        self._overlap = overlap

    def measure(self, blocks: Sequence[Block]) -> list[Unit]:
        """Count the blocks, in one call of the tokenizer."""
        sizes = self._size([self._text[block.start : block.stop] for block in blocks])
        return [
            Unit(
                start=block.start,
                stop=block.stop,
                kind=block.kind,
                path=block.path,
                children=block.children,
                tokens=tokens,
            )
            for block, tokens in zip(blocks, sizes, strict=True)
        ]

    def pack(self, units: Iterable[Unit], budget: int) -> Iterator[Chunk]:
        """Yield chunks of at most `budget` tokens, counted as the sum of their units."""
        queue, chunk, used = deque(units), Chunk(), 0
        while queue:
            unit = queue.popleft()
            left = budget - used
            far = chunk.units and unit.start - chunk.stop > _GAP
            if unit.tokens <= left and not far:
                chunk.units.append(unit)
                used += unit.tokens
            elif self._opens(unit, chunk, budget) and (parts := self._open(unit)):
                queue.extendleft(reversed(parts))
            elif unit.tokens <= budget and not chunk.units:  # it is whole only without the lead
                queue.appendleft(unit)
                chunk, used = Chunk(), 0
            else:
                cut = not chunk.units or (unit.kind == "prose" and left > _OPEN * budget)
                if cut and not far:
                    chunk.units.append(self._cut(unit, left, queue))
                else:
                    queue.appendleft(unit)
                yield chunk
                chunk, used = self._follow(chunk, budget)
        if chunk.units:
            yield chunk

    def divide(self, chunk: Chunk) -> list[Chunk]:
        """Return `chunk` in smaller chunks: it was counted as a whole and is too large."""
        if chunk.lead is not None:
            return [Chunk(units=chunk.units)]
        if len(chunk.units) > 1:
            return [Chunk(units=chunk.units[:-1]), Chunk(units=chunk.units[-1:])]
        unit = chunk.units[0]
        chunks = list(self.pack([unit], unit.tokens * 3 // 4)) if unit.tokens > 1 else []
        if len(chunks) > 1:
            return chunks
        middle = (unit.start + unit.stop) // 2
        return [
            Chunk(units=[replace(unit, stop=middle, children=())]),
            Chunk(units=[replace(unit, start=middle, children=())]),
        ]

    @staticmethod
    def _opens(unit: Unit, chunk: Chunk, budget: int) -> bool:
        """Whether `unit`, which does not fit, is taken apart: it fits nowhere, or it is a list
        item under a heading that would be left alone."""
        return unit.tokens > budget or (unit.kind == "group" and chunk.bare)

    def _open(self, unit: Unit) -> list[Unit]:
        """Return the children of a group or the lines of rigid text; [] if there are none."""
        if unit.children:
            return self.measure(unit.children)
        if unit.kind != "rigid":
            return []
        lines = split_lines(self._text, unit.start, unit.stop)
        blocks = [Block(start=start, stop=stop, kind="rigid") for start, stop in lines]
        return self.measure(blocks) if len(blocks) > 1 else []

    def _cut(self, unit: Unit, budget: int, queue: deque[Unit]) -> Unit:
        """Return the beginning of `unit`, at most `budget` tokens; the rest goes to `queue`."""
        start = self._skip_space(unit.start, unit.stop)
        length = max(1, budget * (unit.stop - start) // unit.tokens)
        while True:
            stop = min(start + self._sentences(start, length), unit.stop)
            (tokens,) = self._size([self._text[start:stop]])
            if tokens <= budget or stop - start == 1:
                break
            length = max(1, min((stop - start) * budget // tokens, stop - start - 1))
        rest = self._skip_space(stop, unit.stop)
        if rest < unit.stop:
            left = max(1, unit.tokens - tokens)
            queue.appendleft(replace(unit, start=rest, tokens=left, children=()))
        return replace(unit, start=start, stop=stop, tokens=tokens, children=())

    def _sentences(self, start: int, length: int) -> int:
        """Return how many characters from `start` on, at most `length`, end at a good place.

        The splitter sees no more than it needs: its time grows with the square of the text.
        """
        window = self._unwrapped(start, start + 2 * length)
        offset, piece = TextSplitter(length).chunk_indices(window)[0]
        taken = offset + len(piece)
        rest = self._skip_space(start + taken, start + len(window)) - start
        if taken * 2 < length and rest < min(length, len(window)):  # a heading-like first line
            return rest + self._sentences(start + rest, length - rest)
        return taken

    def _follow(self, chunk: Chunk, budget: int) -> tuple[Chunk, int]:
        """Return the chunk that comes after `chunk`, with its lead, and the lead's tokens."""
        unit, wanted = chunk.units[-1], int(budget * self._overlap)
        if unit.kind != "prose" or wanted < 1:
            return Chunk(), 0
        length = unit.stop - unit.start
        first = self._skip_space(self._tail(unit, wanted * length // unit.tokens), unit.stop)
        if first <= self._skip_space(chunk.units[0].start, unit.stop):  # all of it, lead aside
            return Chunk(), 0
        return Chunk(lead=first), -(-(unit.stop - first) * unit.tokens // length)

    def _tail(self, unit: Unit, length: int) -> int:
        """Return where the last `length` characters of `unit` begin, or, better, the sentence that
        begins nearest to that, not farther away than half of `length`."""
        low = max(unit.start, unit.stop - length * 3 // 2)
        high = max(unit.start, unit.stop - length // 2)
        target = max(unit.start, unit.stop - length)
        window = self._unwrapped(low, high)
        ends = [low + match.end() for match in _SENTENCE_END.finditer(window)]
        if low == unit.start:
            ends.append(unit.start)
        if ends:
            return min(ends, key=lambda end: abs(end - target))
        space = self._text.find(" ", target, high)
        return target if space < 0 else space + 1

    def _unwrapped(self, start: int, stop: int) -> str:
        """Return text[start:stop] with the line ends inside sentences as spaces."""
        return _WRAP.sub(" ", self._text[start:stop])

    def _skip_space(self, start: int, stop: int) -> int:
        match = _NOT_SPACE.search(self._text, start, stop)
        return stop if match is None else match.start()
