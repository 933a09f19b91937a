"""Sections made smaller by what they say: one for each sentence, or one for each topic.

Also windows of a fixed size, which heed nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from rag_pg.chunk.blocks import Block, Unit
from rag_pg.chunk.packer import Chunk, Packer
from rag_pg.chunk.sections import HeadingPath, Section
from rag_pg.text import split_sentences
from rag_pg.types import Vectors

_WORD = re.compile(r"\S{1,24}")  # what has no spaces, such as Chinese, is cut anyway
_EMBEDDED = 2_000  # characters of a sentence, or of a table, that its topic is judged by
_BESIDE = 2  # sentences on each side of a gap that are compared
_EDGE = 0.2  # of a section: a topic that is cut for its size is not cut nearer to its ends


def by_sentence(packer: Packer, text: str, sections: Iterable[Section]) -> list[Section]:
    """Return a section for each sentence, list item, table or code block, with the headings that
    stand above it."""
    found: list[Section] = []
    for section in sections:
        run: list[Unit] = []
        for unit in packer.measure(list(_sentences(text, section.units))):
            run.append(unit)
            if unit.kind != "heading":
                found.append(_section(section.path, run))
                run = []
        if run:
            found.append(_section(section.path, run))
    return found


def by_topic(
    sentences: Sequence[Section],
    budgets: Mapping[HeadingPath, int],
    text: str,
    embed: Callable[[Sequence[str]], Vectors],
    breakpoint: float,
) -> list[Section]:
    """Join `sentences` again, up to where the topic changes: where the mean vectors of the two
    before and the two after are far apart.

    Distances above the quantile `breakpoint` of the text's own end a section; so does the largest
    distance within one that is larger than its budget.
    After Hearst, Computational Linguistics 1997.
    """
    if not sentences:
        return []
    texts = [text[s.units[0].start : s.units[-1].stop][:_EMBEDDED] for s in sentences]
    gaps = _distances(np.asarray(embed(texts), dtype=np.float32))
    limit = float(np.quantile(gaps, breakpoint)) if len(gaps) else 0.0
    found: list[Section] = []
    for first, last in _runs(sentences, gaps, limit):
        for start, stop in _split_to_budget(
            sentences, gaps, first, last, budgets[sentences[first].path]
        ):
            units = [unit for section in sentences[start:stop] for unit in section.units]
            found.append(_section(sentences[start].path, units))
    return found


def fixed_windows(
    text: str, size: Callable[[Sequence[str]], list[int]], budget: int, overlap: float
) -> Iterator[Chunk]:
    """Yield windows of at most `budget` tokens, each as full as whole words make it; the share
    `overlap` of a window repeats the end of the one before."""
    words = [match.span() for match in _WORD.finditer(text)]
    sizes = size([text[start:stop] for start, stop in words])
    total = np.concatenate([[0], np.cumsum(sizes)])
    first = 0
    while first < len(words):
        last = max(first + 1, int(np.searchsorted(total, total[first] + budget, "right")) - 1)
        tokens = int(total[last] - total[first])
        unit = Unit(start=words[first][0], stop=words[last - 1][1], kind="rigid", tokens=tokens)
        yield Chunk(units=[unit])
        if last == len(words):
            return
        again = int(np.searchsorted(total, total[last] - int(budget * overlap), "left"))
        first = max(first + 1, min(again, last))


# --- sentences -----------------------------------------------------------------------------------


def _sentences(text: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks, with prose cut into sentences; together they hold all of it."""
    for block in blocks:
        if block.children:
            yield from _sentences(text, block.children)
        elif block.kind != "prose":
            yield block
        else:
            found = split_sentences(text[block.start : block.stop])
            starts = [block.start, *(block.start + sentence.start for sentence in found[1:])]
            for start, stop in zip(starts, [*starts[1:], block.stop], strict=True):
                yield Block(start=start, stop=stop, kind="prose", path=block.path)


def _section(path: HeadingPath, units: Sequence[Unit]) -> Section:
    section = Section(path=path, floor=len(path))
    for unit in units:
        section.add(unit)
    return section


# --- topics --------------------------------------------------------------------------------------


def _distances(vectors: Vectors) -> Vectors:
    """Return the cosine distance across each gap between neighbours."""
    count = len(vectors)
    total = np.concatenate([np.zeros((1, vectors.shape[1]), np.float32), vectors.cumsum(axis=0)])
    gaps = np.arange(1, count)
    before = total[gaps] - total[np.maximum(gaps - _BESIDE, 0)]
    after = total[np.minimum(gaps + _BESIDE, count)] - total[gaps]
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    found: Vectors = 1 - (before * after).sum(axis=1) / np.maximum(norms, 1e-9)
    return found


def _runs(sentences: Sequence[Section], gaps: Vectors, limit: float) -> Iterator[tuple[int, int]]:
    """Yield [first, last) of neighbours with the same path and no distance above `limit`."""
    first = 0
    for stop in range(1, len(sentences) + 1):
        ends = stop == len(sentences)
        if ends or gaps[stop - 1] > limit or sentences[stop].path != sentences[first].path:
            yield first, stop
            first = stop


def _split_to_budget(
    sentences: Sequence[Section], gaps: Vectors, first: int, last: int, budget: int
) -> Iterator[tuple[int, int]]:
    """Yield [first, last), or, where it has more than `budget` tokens, the parts of it, cut at the
    largest distances."""
    todo = [(first, last)]
    while todo:
        first, last = todo.pop()
        sizes = np.cumsum([section.tokens for section in sentences[first:last]])
        if last - first == 1 or sizes[-1] <= budget:
            yield first, last
            continue
        inner = (sizes[:-1] >= _EDGE * sizes[-1]) & (sizes[:-1] <= (1 - _EDGE) * sizes[-1])
        among = np.where(inner, gaps[first : last - 1], -1.0)
        middle = int(np.argmin(np.abs(sizes[:-1] - sizes[-1] / 2)))
        cut = first + 1 + (int(np.argmax(among)) if inner.any() else middle)
        todo += [(cut, last), (first, cut)]
