"""The sections of a text: a heading and what stands under it, small neighbours joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rag_pg.chunk.blocks import Unit

HeadingPath = tuple[str, ...]


@dataclass(kw_only=True, slots=True)
class Section:
    """Neighbouring blocks under the headings `path`, outermost first; tokens: their sum.

    bare: there are only headings. floor: how many headings `path` keeps when sections are joined.
    """

    path: HeadingPath
    floor: int
    units: list[Unit] = field(default_factory=list)
    tokens: int = 0
    bare: bool = True

    def add(self, unit: Unit) -> None:
        self.units.append(unit)
        self.tokens += unit.tokens
        self.bare = self.bare and unit.kind == "heading"


def divide(units: Iterable[Unit]) -> list[Section]:
    """Return the sections of a text: they begin at headings, and where the path changes. A heading
    with nothing under it but deeper headings belongs to the first section of those."""
    sections: list[Section] = []
    for unit in units:
        if not sections or _begins(sections[-1], unit):
            sections.append(Section(path=unit.path, floor=0))
        section = sections[-1]
        section.path, section.floor = unit.path, max(0, len(unit.path) - 1)
        section.add(unit)
    return sections


def join(
    sections: Iterable[Section], budgets: Mapping[HeadingPath, int], *, small: int
) -> list[Section]:
    """Join neighbours of which one has fewer than `small` tokens.

    Both have to fit in one chunk, and to stand under the same parent, or one under the other. They
    get the path they share; `budgets` has the tokens it leaves for content.
    """
    joined: list[Section] = []
    for section in sections:
        last = joined[-1] if joined else None
        if last is not None and min(last.tokens, section.tokens) < small:
            path = shared(last.path, section.path)
            if len(path) >= last.floor and last.tokens + section.tokens <= budgets[path]:
                last.path = path
                for unit in section.units:
                    last.add(unit)
                continue
        joined.append(section)
    return joined


def _begins(section: Section, unit: Unit) -> bool:
    if unit.kind != "heading":
        return unit.path != section.path
    return not (section.bare and unit.path[: len(section.path)] == section.path)


def shared(left: HeadingPath, right: HeadingPath) -> HeadingPath:
    """Return the beginning that two paths have in common."""
    pairs = zip(left, right, strict=False)
    depth = next((number for number, (one, other) in enumerate(pairs) if one != other), None)
    return left[:depth] if depth is not None else left[: min(len(left), len(right))]
